/* Shared code of the tests of fetch/: two real upstreams, a real store, and requests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/clock.h"
#include "base/hash.h"
#include "fetch/fetch-private.h"
#include "scratch.h"
#include "source/sources.h"
#include "store/flights.h"
#include "times.h"
#include "upstream.h"

#include <elf.h>

#define BIG (4u << 20) /* more than a parked flight takes */

/* ---- files -------------------------------------------------------------------------- */

struct tiny_elf {
	Elf64_Ehdr head;
	Elf64_Phdr load, note;
	Elf64_Nhdr nhdr;
	char gnu[4];
	uint8_t id[20];
};

static inline void id_nth(unsigned n, uint8_t id[static 20], char text[static 41])
{
	for (unsigned i = 0; i < 20; i++)
		id[i] = (uint8_t)(0x11 * (i + 1) + n);
	hex_print(id, 20, text);
}

static inline const char *id_text(unsigned n)
{
	static char room[8][41];
	uint8_t id[20];

	id_nth(n, id, room[n % 8]);
	return room[n % 8];
}

/* An executable with the nth build id (id_bytes of it), filled up to a size. */
static inline void write_elf(const char *path, unsigned n, uint32_t id_bytes, size_t size)
{
	struct tiny_elf e = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			.e_phoff = offsetof(struct tiny_elf, load), .e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2},
		.load = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x400000, .p_filesz = size,
			.p_memsz = size, .p_align = 0x1000},
		.note = {.p_type = PT_NOTE, .p_flags = PF_R, .p_offset = offsetof(struct tiny_elf, nhdr),
			.p_filesz = sizeof(Elf64_Nhdr) + 4 + id_bytes,
			.p_memsz = sizeof(Elf64_Nhdr) + 4 + id_bytes, .p_align = 4},
		.nhdr = {4, id_bytes, NT_GNU_BUILD_ID},
		.gnu = "GNU",
	};
	_cleanup_free_ unsigned char *p = malloc(size);
	char text[41];

	id_nth(n, e.id, text);
	fill_bytes(p, size, n);
	memcpy(p, &e, sizeof(e));
	write_file(path, p, size);
}

static inline void make_dir(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void make_dir(const char *fmt, ...)
{
	char path[512], *at;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	for (at = path + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0700);
	}
	ck_assert_msg(mkdir(path, 0700) == 0 || errno == EEXIST, "%s", path);
}

/* The nth artifact below an upstream's root, as debuginfod names it. */
static inline void put(const char *root, unsigned n, size_t size)
{
	char path[512];

	make_dir("%s/%s/buildid/%s", scratch, root, id_text(n));
	snprintf(path, sizeof(path), "%s/%s/buildid/%.40s/executable", scratch, root, id_text(n));
	write_elf(path, n, 20, size);
}

static inline struct artifact nth(unsigned n)
{
	struct artifact a = {.type = FILETYPE_ELF_CODE, .m.object = OBJECT_ELF};
	uint8_t id[20];
	char text[41];

	id_nth(n, id, text); /* any thread: id_text() has few rooms */
	snprintf(a.m.code_id, sizeof(a.m.code_id), "%s", text);
	return a;
}

/* What a world's requests wait for at most: longer than any case takes. A case that waits for the end of one of these
 * times makes it short, before world_begin(). */
static struct {
	unsigned lookup_ms, park_ms, silence_ms, grace_ms, stall_ms;
} waits = {UNIT_HOUR_MS, UNIT_HOUR_MS, UNIT_HOUR_MS, UNIT_HOUR_MS, UNIT_HOUR_MS};

/* Files here are so small that whole they would take less time. Before world_begin(). */
static enum fetch_ranges byte_ranges = RANGES_ALWAYS;

/* ---- one world: two upstreams, a store, a fetch ------------------------------------- */

struct world {
	struct upstream one, two;
	struct store *store;
	struct fetch *fetch;
};

/* `rate`: bytes a second, or NULL. */
static inline void upstream_below(struct upstream *u, const char *root, const char *rate)
{
	char path[512];

	make_dir("%s/%s", scratch, root);
	snprintf(path, sizeof(path), "%s/%s", scratch, root);
	upstream_start(u, (const char *const[]){"--root", path, rate ? "--rate" : NULL, rate, NULL});
}

static inline struct sources *sources_of(const char *text)
{
	struct source_opts defaults = {.connect_ms = UNIT_HOUR_MS, .stall_ms = waits.stall_ms,
		.miss_seconds = 3600};
	struct sources *so = NULL;
	struct conf *c = NULL;
	struct err e = {0};

	ck_assert_int_eq(conf_new(&c), 0);
	ck_assert_msg(conf_read(c, "test", text, strlen(text), &e) == 0, "%s", e.text);
	ck_assert_msg(sources_new(&so, c, &defaults, &e) == 0, "%s", e.text);
	conf_free(c);
	return so;
}

static inline struct sources *both(const struct world *w)
{
	char text[512];

	snprintf(text, sizeof(text), "[source \"one\"]\nurl=%s\nlayout=debuginfod\n"
		"[source \"two\"]\nurl=%s\nlayout=debuginfod\n", w->one.url, w->two.url);
	return sources_of(text);
}

static inline struct sources *only(const struct upstream *u, const char *name)
{
	char text[512];

	snprintf(text, sizeof(text), "[source \"%s\"]\nurl=%s\nlayout=debuginfod\n", name, u->url);
	return sources_of(text);
}

static inline struct store *open_cache(void)
{
	struct store_opts o = {.dir = in_scratch("cache")};
	struct store *s = NULL;
	struct err e = {0};

	ck_assert_msg(store_open(&s, &o, &e) == 0, "%s", e.text);
	return s;
}

static inline struct fetch *fetch_with(struct store *s, struct sources *so)
{
	struct fetch_opts o = {.lookup_deadline_ms = waits.lookup_ms, .park_ms = waits.park_ms,
		.silence_ms = waits.silence_ms, .grace_ms = waits.grace_ms, .breaker_ms = UNIT_HOUR_MS,
		.max_file_size = 1ull << 30, .ranges = byte_ranges};
	struct fetch *f = NULL;
	struct err e = {0};

	ck_assert_msg(fetch_new(&f, s, so, &o, &e) == 0, "%s", e.text);
	return f;
}

static inline void world_begin_slow(struct world *w, const char *rate)
{
	scratch_dir();
	upstream_below(&w->one, "one", rate);
	upstream_below(&w->two, "two", rate);
	w->store = open_cache();
	w->fetch = fetch_with(w->store, both(w));
}

static inline void world_begin(struct world *w)
{
	world_begin_slow(w, NULL);
}

static inline void world_end(struct world *w)
{
	fetch_free(w->fetch);
	ck_assert_int_eq(verify_quiet(w->store), 0);
	store_close(w->store);
	upstream_stop(&w->one);
	upstream_stop(&w->two);
	scratch_end();
}

static inline void world_sources(struct world *w, struct sources *so)
{
	fetch_set_sources(w->fetch, so);
}

static inline void world_waits_set(void *ctx)
{
	struct fetch *f = ctx;

	f->opts.lookup_deadline_ms = waits.lookup_ms;
	f->opts.park_ms = waits.park_ms;
	f->opts.grace_ms = waits.grace_ms;
}

/* Changes the lookup deadline, the time of parked downloads and the grace time: for what begins from now on. */
static inline void world_waits(struct world *w)
{
	net_call(w->fetch->net, world_waits_set, w->fetch);
}

/* ---- one asker ---------------------------------------------------------------------- */

struct asker {
	pthread_mutex_t lock;
	pthread_cond_t told;
	unsigned times; /* under lock, also what follows */
	int r;
	bool blob;
	uint64_t size;
	unsigned miss_ms;
	char source[64], why[200];
	struct ticket *ticket;
};

static inline void on_ready(void *ctx, const struct fetched *f)
{
	struct asker *a = ctx;
	LOCK_SCOPE(&a->lock);

	a->times++;
	a->r = f->r;
	a->blob = f->blob != NULL;
	a->size = f->size;
	a->miss_ms = f->miss_ms;
	snprintf(a->why, sizeof(a->why), "%s", f->why);
	if (f->blob)
		snprintf(a->source, sizeof(a->source), "%s", blob_facts(f->blob)->source);
	pthread_cond_signal(&a->told);
}

static inline void ask_for(struct asker *a, struct fetch *f, const struct artifact *cands, unsigned n,
	enum fetch_need need)
{
	*a = (struct asker){.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
	ck_assert_int_eq(fetch_open(f, cands, n, need, on_ready, a, &a->ticket), 0);
}

static inline void ask(struct asker *a, struct fetch *f, unsigned n, enum fetch_need need)
{
	struct artifact one = nth(n);

	ask_for(a, f, &one, 1, need);
}

/* Waits for the answer; a second one is looked for at the end of fetch_free(). */
static inline int answer_of(struct asker *a)
{
	pthread_mutex_lock(&a->lock);
	while (!a->times)
		pthread_cond_wait(&a->told, &a->lock);
	pthread_mutex_unlock(&a->lock);
	ck_assert_uint_eq(a->times, 1);
	if (a->ticket)
		ticket_unref(take(a->ticket));
	return a->r;
}

static inline int ask_and_wait(struct asker *a, struct fetch *f, unsigned n, enum fetch_need need)
{
	ask(a, f, n, need);
	return answer_of(a);
}

static inline int try_artifact(struct fetch *f, const struct artifact *a)
{
	struct fetched out;
	int r = fetch_try(f, a, 1, FETCH_WHOLE, &out);

	if (r < 0)
		return r;
	if (out.r == 0)
		blob_unref(out.blob);
	return out.r;
}

static inline int try_now(struct fetch *f, unsigned n)
{
	struct artifact a = nth(n);

	return try_artifact(f, &a);
}
