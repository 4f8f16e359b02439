/* One conversion a file, whoever asks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/derive.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "base/workers.h"
#include "fetch/fetch-private.h"
#include "fetch/follow.h"
#include "convert/worker.h"
#include "obj/obj.h"
#include "store/flights.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Grows when other bytes are made of the same file, or another file is refused; then what is stored is made
 * anew, and what is remembered of files that were refused does not count. */
#define MAKER_NUMBER "5"
#define MAKER "symfs gsym " MAKER_NUMBER
/* Of misses: nothing to say; broken; and those for which the machine may be to blame: slow, and short
 * of memory. */
#define NOTHING "gsym-" MAKER_NUMBER
#define BROKEN "gsym-failed-" MAKER_NUMBER
#define SLOW "gsym-slow"
#define SHORT "gsym-memory"
#define REMEMBER_SECONDS 86400
#define SLOW_SECONDS 300
#define SHORT_SECONDS 300
#define THREADS_MOST 4
#define SECONDS 120

/* What GSYM is made of: of several files of one module the first that there is. */
static const struct family {
	enum object_type object;
	enum filetype inputs[2];
	bool exact; /* in no other form */
} families[] = {
	{OBJECT_PE_DOTNET, {FILETYPE_PORTABLEPDB, FILETYPE_PE}, true},
	{OBJECT_ELF, {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE}, false},
	{OBJECT_MACHO, {FILETYPE_MACH_DEBUG, FILETYPE_MACH_CODE}, false},
	{OBJECT_PE, {FILETYPE_PE}, false},
	{OBJECT_UNKNOWN, {FILETYPE_BREAKPAD}, false},
};
#define INPUTS ARRAY_SIZE(families[0].inputs)

/* Who waits. */
struct making {
	struct derive *d;
	atomic_uint refs;
	/* under lock */
	struct job *job; /* NULL: it was called back, or is being */
	struct making *next;
	/* constant */
	fetch_ready *ready;
	void *ctx;
};

enum lack_state { LACK_UNKNOWN, LACK_NONE, LACK_HERE };

/* Another file that the input's debug information is in. */
struct lack {
	enum lack_state state;
	struct blob *blob;
};

struct job {
	struct derive *d;
	struct artifact a; /* what is made */
	struct key name;   /* of what is made, of whichever input */
	struct job *next;  /* under lock */
	atomic_bool stop;  /* nobody waits any longer */
	/* under lock */
	struct making *askers;
	struct ticket *ticket;
	bool abandoned;
	/* of whoever has the job: the ticket's callback, then one worker after the other */
	struct blob *in;
	struct key key;	   /* of what is made of `in` */
	struct follow follow; /* which process makes it; under lock */
	enum filetype of;  /* `in` */
	struct lack alt, package, units;
	uint64_t *ids; /* of split units that are asked for, one after the other */
	size_t n_ids, next_id;
	struct draft *found; /* those that there are, as gsym_work_unit says */
	struct blob *unit;   /* the last answer */
	int r; /* of the input */
	struct err e;
};

struct derive {
	struct fetch *fetch;
	struct store *store;
	struct workers *workers;
	pthread_t pulse;
	atomic_bool bare_told; /* the log knows that workers have no filter */
	pthread_mutex_t lock;
	pthread_cond_t moved, ended;
	/* under lock */
	struct job *jobs;
	unsigned asking; /* tickets whose callback has not run */
	bool stopped;
	bool pulses, over; /* `pulse` was started, and is to end */
};

/* One for each processor, and one while another waits for the disk. */
static unsigned threads(void)
{
	return 1 + (unsigned)MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L), THREADS_MOST - 1L);
}

int derive_new(struct derive **out, struct fetch *f)
{
	struct derive *d = calloc(1, sizeof(*d));
	int r = d ? workers_new(&d->workers, threads()) : -ENOMEM;
	pthread_condattr_t by_clock;

	if (r < 0) {
		free(d);
		return r;
	}
	d->fetch = f;
	d->store = fetch_store(f);
	atomic_fetch_add(&f->derives, 1);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->moved, NULL);
	pthread_condattr_init(&by_clock);
	pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	pthread_cond_init(&d->ended, &by_clock);
	pthread_condattr_destroy(&by_clock);
	*out = d;
	return 0;
}

/* ---- signs of life --------------------------------------------------------------------- */

static void *pulse_main(void *arg)
{
	struct derive *d = arg;
	LOCK_SCOPE(&d->lock);

	while (!d->over) {
		struct timespec until = clock_after(CLOCK_MONOTONIC, FLIGHTS_BEAT_MS);

		for (struct job *j = d->jobs; j; j = j->next)
			if (j->follow.leads)
				follow_beat(&j->follow, d->store, key_number(&j->key));
		while (!d->over && pthread_cond_timedwait(&d->ended, &d->lock, &until) == 0)
			;
	}
	return NULL;
}

static void pulse_end(struct derive *d)
{
	pthread_mutex_lock(&d->lock);
	d->over = true;
	pthread_cond_signal(&d->ended);
	pthread_mutex_unlock(&d->lock);
	if (d->pulses)
		pthread_join(d->pulse, NULL);
}

/* Called under lock. */
static void give_up(struct job *j)
{
	j->abandoned = true;
	atomic_store(&j->stop, true);
	if (j->ticket)
		ticket_cancel(j->ticket);
}

void derive_stop(struct derive *d)
{
	if (!d)
		return;
	LOCK_SCOPE(&d->lock);
	if (d->stopped)
		return;
	d->stopped = true;
	for (struct job *j = d->jobs; j; j = j->next)
		give_up(j);
}

void derive_free(struct derive *d)
{
	if (!d)
		return;
	derive_stop(d);
	pthread_mutex_lock(&d->lock);
	while (d->asking)
		pthread_cond_wait(&d->moved, &d->lock);
	pthread_mutex_unlock(&d->lock);
	workers_free(d->workers);
	pulse_end(d);
	pthread_cond_destroy(&d->ended);
	pthread_cond_destroy(&d->moved);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* ---- names ----------------------------------------------------------------------------- */

static const struct family *family_of(enum filetype t, enum gsym_work_form form)
{
	for (unsigned i = 0; i < ARRAY_SIZE(families); i++)
		for (unsigned k = 0; k < INPUTS; k++)
			if (families[i].inputs[k] == t && t != FILETYPE_NONE &&
				(!families[i].exact || form == GSYM_WORK_EXACT))
				return &families[i];
	return NULL;
}

/* The last two are for look-ups of ours alone. */
static const char *const form_names[] = {
	[GSYM_WORK_V1] = ".gsym", [GSYM_WORK_OBJECT] = ".gsym.o", [GSYM_WORK_EXACT] = ".exact",
	[GSYM_WORK_LENIENT] = ".lenient"};

/* What is made of which file, in which form, is the name: "elf_debug.gsym.o". */
static void set_name(struct artifact *a, enum filetype of, enum gsym_work_form form)
{
	snprintf(a->m.path, sizeof(a->m.path), "%s%s", filetype_name(of), form_names[form]);
}

/* With this behind it, the input is one of several files of its id: key_by_name(). */
#define BY_NAME "="

static bool is_by_name(const struct artifact *a)
{
	return strstr(a->m.path, BY_NAME) != NULL;
}

static enum gsym_work_form form_of(const struct artifact *a)
{
	const char *tail = strchr(a->m.path, '.');
	size_t n = tail ? strcspn(tail, BY_NAME) : 0;

	for (unsigned i = 0; tail && i < ARRAY_SIZE(form_names); i++)
		if (strlen(form_names[i]) == n && strncmp(tail, form_names[i], n) == 0)
			return i;
	return GSYM_WORK_V1;
}

static const struct family *family_of_made(const struct artifact *a)
{
	char word[32];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(a->m.path, "."), a->m.path);
	return family_of(filetype_find(word), form_of(a));
}

/* The input's own identifier, and the name where that is part of it. */
static int name_made(const struct artifact *input, enum gsym_work_form form, bool by_name, struct key *out)
{
	char canon[KEY_TEXT], folded[MODULE_NAME_MAX];
	struct artifact made = *input;
	struct key k, named;
	int r = key_of(&k, input);

	if (r < 0)
		return r;
	if (by_name && key_by_name(&k, &named))
		k = named;
	set_name(&made, input->type, form);
	memset(out, 0, sizeof(*out));
	out->type = FILETYPE_GSYM;
	snprintf(out->id, sizeof(out->id), "%s", k.id);
	snprintf(out->name, sizeof(out->name), "%s", made.m.path);
	if (strchr(key_canon(&k, canon), ' ') != strrchr(canon, ' '))
		snprintf(out->name, sizeof(out->name), "%.60s of %s", made.m.path, key_folded(&k, folded));
	return 0;
}

/* The key that it is stored under when it is made of a file of this type. */
static int key_made_of(const struct artifact *a, enum filetype of, struct key *out)
{
	struct artifact input = *a;

	input.type = of;
	input.m.path[0] = '\0';
	return name_made(&input, form_of(a), is_by_name(a), out);
}

int derive_key(const struct artifact *a, struct key *out)
{
	const struct family *f = family_of_made(a);

	for (unsigned i = 0; f && i < INPUTS && f->inputs[i] != FILETYPE_NONE; i++)
		if (key_made_of(a, f->inputs[i], out) == 0)
			return 0;
	return -ENOENT;
}

static int made_of(const struct artifact *input, enum gsym_work_form form, bool by_name, struct artifact *out)
{
	const struct family *f = family_of(input->type, form);
	struct key k;

	*out = *input;
	if (!f)
		return -ENOENT;
	out->type = FILETYPE_GSYM;
	if (f->object != OBJECT_UNKNOWN)
		out->m.object = f->object;
	set_name(out, f->inputs[0], form);
	if (by_name)
		snprintf(out->m.path + strlen(out->m.path), sizeof(BY_NAME), BY_NAME);
	return derive_key(out, &k);
}

int derive_artifact(const struct artifact *input, bool object, struct artifact *out)
{
	return made_of(input, object ? GSYM_WORK_OBJECT : GSYM_WORK_V1, false, out);
}

int derive_exact(struct derive *d, const struct artifact *input, bool lenient, struct artifact *out)
{
	struct key k;
	bool by_name = key_of(&k, input) == 0 && store_key(d->store, &k).named;

	return made_of(input, lenient ? GSYM_WORK_LENIENT : GSYM_WORK_EXACT, by_name, out);
}

static unsigned inputs_of(const struct artifact *a, struct artifact out[static INPUTS])
{
	const struct family *f = family_of_made(a);
	unsigned n = 0;

	for (unsigned i = 0; f && i < INPUTS && f->inputs[i] != FILETYPE_NONE; i++) {
		struct key k;

		out[n] = *a;
		out[n].type = f->inputs[i];
		out[n].m.path[0] = '\0';
		n += key_of(&k, &out[n]) == 0;
	}
	return n;
}

/* ---- what is here ---------------------------------------------------------------------- */

/* 0; -EAGAIN: it is not stored. -ENOENT, -EBADMSG, -ETIMEDOUT, -ENOMEM: it was tried. */
static int find_made(struct derive *d, const struct key *k, struct blob **out)
{
	int64_t now = clock_wall();
	struct blob *b;

	if (store_find(d->store, k, &b) == 0) {
		if (strncmp(blob_facts(b)->url, MAKER " ", strlen(MAKER) + 1) == 0) {
			*out = b;
			return 0;
		}
		blob_unref(b);
	}
	if (store_miss_until(d->store, k, "", NOTHING) > now)
		return -ENOENT;
	if (store_miss_until(d->store, k, "", SLOW) > now)
		return -ETIMEDOUT;
	if (store_miss_until(d->store, k, "", SHORT) > now)
		return -ENOMEM;
	return store_miss_until(d->store, k, "", BROKEN) > now ? -EBADMSG : -EAGAIN;
}

/* What was made of the best input is the answer, of another one only when the best is not to be
 * had, which takes asking. */
int derive_try(struct derive *d, const struct artifact *a, struct fetched *f)
{
	int r;

	memset(f, 0, sizeof(*f));
	f->why = "";
	if (derive_key(a, &f->key) < 0)
		return -ENOENT;
	r = find_made(d, &f->key, &f->blob);
	if (r == -EAGAIN)
		return r;
	f->r = r;
	if (f->blob)
		f->size = blob_size(f->blob);
	return 0;
}

/* Of whichever input, when none can be got. */
static int find_any(struct job *j, struct blob **out)
{
	const struct family *f = family_of_made(&j->a);

	for (unsigned i = 0; f && i < INPUTS && f->inputs[i] != FILETYPE_NONE; i++)
		if (key_made_of(&j->a, f->inputs[i], &j->key) == 0 &&
			find_made(j->d, &j->key, out) == 0)
			return 0;
	return -ENOENT;
}

/* ---- the end of a job ------------------------------------------------------------------ */

/* No caller joins it from now on, and other processes may make it. */
static struct making *leave_list(struct job *j)
{
	LOCK_SCOPE(&j->d->lock);
	struct job **at = &j->d->jobs;

	follow_end(&j->follow, j->d->store, key_number(&j->key));

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	for (struct making *m = j->askers; m; m = m->next)
		m->job = NULL;
	return j->askers;
}

void making_unref(struct making *m)
{
	if (m && atomic_fetch_sub(&m->refs, 1) == 1)
		free(m);
}

static void finish(struct job *j, int r, struct blob *b)
{
	struct fetched f = {.r = r, .key = j->key, .blob = r < 0 ? NULL : b, .miss_ms = 2000,
		.size = b ? blob_size(b) : FETCH_SIZE_UNKNOWN};
	struct making *m, *next;

	m = leave_list(j);
	f.why = j->e.text[0] ? j->e.text : err_text(r);
	for (; m; m = next) {
		next = m->next;
		m->ready(m->ctx, &f);
		making_unref(m);
	}
	blob_unref(j->in);
	blob_unref(j->alt.blob);
	blob_unref(j->package.blob);
	blob_unref(j->unit);
	draft_discard(j->found);
	free(j->ids);
	free(j);
}

/* ---- one of them ----------------------------------------------------------------------- */

static int publish(struct job *j, int fd, struct blob **out, struct err *e)
{
	struct blob_facts facts = {.source = "gsym", .verified = true, .fetched = clock_wall()};
	char room[KEY_TEXT];
	struct draft *draft;
	off_t size = lseek(fd, 0, SEEK_END);
	int r = size < 0 ? -errno : draft_new(&draft, j->d->store, e);

	if (r < 0)
		return r;
	snprintf(facts.url, sizeof(facts.url), MAKER " of %s", blob_sha256(j->in));
	r = draft_copy(draft, fd, 0, (uint64_t)size);
	if (r < 0) {
		draft_discard(draft);
		return err_set(e, r, "%s", err_text(r));
	}
	r = store_publish(j->d->store, draft, &j->key, &facts, out, e);
	if (r == 0)
		log_info("%s was made of %s", key_text(&j->key, room), blob_path(j->in));
	return r;
}

/* Sets what the worker is told of another file. */
static void offer(const struct lack *l, struct gsym_work_file *out)
{
	out->ask = l->state == LACK_UNKNOWN;
	out->fd = l->state == LACK_HERE ? blob_fd(l->blob) : -1;
}

static int make(struct job *j, struct blob **out, struct gsym_work_lack *lack, struct err *e)
{
	struct fetch *f = j->d->fetch;
	bool bare = false;
	struct gsym_work o = {.seconds = SECONDS, .stop = &j->stop, .form = form_of(&j->a),
		.memory = gsym_work_memory() / (threads() * MAX(atomic_load(&f->derives), 1u)),
		.unsandboxed = f->opts.allow_unsandboxed, .bare = &bare, .lack = lack};
	_cleanup_close_ int fd = -1;
	int r;

	offer(&j->alt, &o.alt);
	offer(&j->package, &o.package);
	o.units = (struct gsym_work_file){.ask = j->units.state == LACK_UNKNOWN,
		.fd = j->found ? draft_fd(j->found) : -1};
	r = gsym_work(&o, blob_fd(j->in), &fd, e);
	if (bare && !atomic_exchange(&j->d->bare_told, true))
		log_warn("workers convert without a system-call filter, which cannot be set here: "
			"allow-unsandboxed = yes");
	return r < 0 ? r : publish(j, fd, out, e);
}

/* What the input is to blame for is remembered; what happened here is not. */
static int judge(struct job *j, int r)
{
	bool nothing = r == -ENOMSG || r == -ENODATA || r == -ENOTSUP;
	bool broken = r == -EBADMSG || r == -ETIMEDOUT || r == -EFBIG;
	char room[KEY_TEXT];

	if (r < 0 && r != -EINTR)
		log_warn("%s cannot be made of %s, which %s", key_text(&j->key, room),
			blob_path(j->in), j->e.text[0] ? j->e.text : err_text(r));
	if (r == -ETIME) {
		store_miss_add(j->d->store, &j->key, "", SLOW, SLOW_SECONDS, j->e.text);
		return -ETIMEDOUT;
	}
	if (r == -ENOMEM)
		store_miss_add(j->d->store, &j->key, "", SHORT, SHORT_SECONDS, j->e.text);
	if (!nothing && !broken)
		return r;
	store_miss_add(j->d->store, &j->key, "", nothing ? NOTHING : BROKEN, REMEMBER_SECONDS,
		j->e.text);
	return nothing ? -ENOENT : -EBADMSG;
}

/* Under lock: whether an earlier job of this process, which nobody waits for any longer, still makes it. */
static bool made_here(const struct job *j)
{
	for (const struct job *other = j->d->jobs; other; other = other->next)
		if (other != j && (other->follow.leads || other->follow.alone) && key_equal(&other->key, &j->key))
			return true;
	return false;
}

/* Under lock. Without this thread the conversion would seem stalled to other processes: they would do the
 * same work, which is no harm. */
static void pulse_begin(struct derive *d)
{
	if (!d->pulses)
		d->pulses = pthread_create(&d->pulse, NULL, pulse_main, d) == 0;
}

/* As follow_look(). A lock would not keep out another conversion of this process. */
static int may_make(struct job *j)
{
	int r;
	LOCK_SCOPE(&j->d->lock);

	if (made_here(j))
		return -EAGAIN;
	r = follow_look(&j->follow, j->d->store, key_number(&j->key), 0);
	if (j->follow.leads)
		pulse_begin(j->d);
	return r;
}

/* 0: it is there, made by somebody else. -EAGAIN: it is ours to make. As find_made(); -EINTR. */
static int lead_or_follow(struct job *j, struct blob **out)
{
	const struct timespec pause = {.tv_nsec = FOLLOW_LOOK_MS * 1000000L};
	char room[KEY_TEXT];
	int r;

	for (;;) {
		r = find_made(j->d, &j->key, out);
		if (r != -EAGAIN || j->follow.leads || j->follow.alone)
			return r;
		if (atomic_load(&j->stop))
			return -EINTR;
		r = may_make(j);
		if (r == -EAGAIN)
			nanosleep(&pause, NULL);
		else if (r < 0)
			return err_set(&j->e, r, "the store's lock file: %s", err_text(r));
		else if (j->follow.alone)
			log_warn("%s: the process converting it has stalled; converting it here too",
				key_text(&j->key, room));
	}
}

static void run(void *ctx);
static int ask(struct job *j, const struct artifact *a, unsigned n, fetch_ready *ready);

static void lack_ready(void *ctx, const struct fetched *f);
static void program_ready(void *ctx, const struct fetched *f);
static void unit_ready(void *ctx, const struct fetched *f);

/* The file that dwz moved what several share into is the debug file of a build id. 0: it is asked
 * for. */
static int ask_for_alt(struct job *j, const struct gsym_work_lack *lack)
{
	struct artifact a = {.type = FILETYPE_ELF_DEBUG, .m = {.object = OBJECT_ELF}};

	j->alt.state = LACK_NONE;
	for (size_t i = 0; i < lack->id_len && 2 * i + 2 < sizeof(a.m.code_id); i++)
		snprintf(a.m.code_id + 2 * i, 3, "%02x", lack->id[i]);
	return a.m.code_id[0] ? ask(j, &a, 1, lack_ready) : -ENOENT;
}

/* A package of split debug information has no name that a server could be asked for. It may lie
 * beside a file that is served in place. */
static void look_for_package(struct job *j)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(16 << 10);
	struct blob_facts facts = *blob_facts(j->in);
	const char *name = blob_path(j->in);
	size_t n;
	int fd;

	j->package.state = LACK_NONE;
	if (blob_sha256(j->in)[0])
		return;
	n = strlen(name);
	if (n > 6 && strcmp(name + n - 6, ".debug") == 0)
		n -= 6;
	if (buf_add(&path, name, n) < 0 || buf_adds(&path, ".dwp") < 0)
		return;
	/* It bears no identity that could be compared. */
	if (fetch_in_place(j->d->fetch, facts.source, buf_text(&path), FILETYPE_COMPANION, &fd) < 0)
		return;
	if (blob_of_file(&j->package.blob, fd, buf_text(&path), &facts) == 0)
		j->package.state = LACK_HERE;
}

/* ---- split units ----------------------------------------------------------------------- */

/* Read, not mapped: what lies in a tree of somebody's may become shorter under our hands. */
static bool is_package(const struct blob *b)
{
	struct view v = view_of_fd(blob_fd(b), blob_size(b));
	struct obj_slice s;

	return obj_identify(&v, 0, &s, NULL) == 0 && s.package;
}

/* A file with one, behind those that there are; or all of them, in a package. */
static int keep_unit(struct job *j, struct blob *b)
{
	struct gsym_work_unit h = {j->ids[j->next_id - 1], blob_size(b)};
	static const char zeros[8];
	int r = 0;

	if (is_package(b)) {
		blob_unref(j->package.blob);
		j->package = (struct lack){LACK_HERE, blob_ref(b)};
		j->next_id = j->n_ids;
		return 0;
	}
	if (!j->found)
		r = draft_new(&j->found, j->d->store, &j->e);
	if (r == 0)
		r = draft_write(j->found, draft_size(j->found), &h, sizeof(h));
	if (r == 0)
		r = draft_copy(j->found, blob_fd(b), 0, h.size);
	return r < 0 ? r : draft_write(j->found, draft_size(j->found), zeros, (size_t)(-h.size & 7));
}

/* No server has a name for them: trees of this machine that are scanned have, and what was added.
 * 0: one is asked for. -ENOENT: all were. */
static int next_unit(struct job *j)
{
	struct artifact a = {.type = FILETYPE_ELF_DWO};
	struct blob *b = take(j->unit);
	int r = b ? keep_unit(j, b) : 0;

	blob_unref(b);
	if (r < 0)
		return err_set(&j->e, r == -ENOENT ? -EIO : r, "its split units cannot be kept: %s", err_text(r));
	for (r = -ENOENT; r == -ENOENT && j->next_id < j->n_ids;) {
		snprintf(a.m.code_id, sizeof(a.m.code_id), "%016llx", (unsigned long long)j->ids[j->next_id++]);
		r = ask(j, &a, 1, unit_ready);
	}
	if (r == -ENOENT)
		j->units.state = j->found ? LACK_HERE : LACK_NONE;
	return r;
}

static int ask_for_units(struct job *j, const struct gsym_work_lack *lack)
{
	j->ids = lack->units;
	j->n_ids = lack->n_units;
	return next_unit(j);
}

/* A debug file that has nothing to say may be a package of split debug information, or have been
 * stripped of it: the program may have more. 0: it is asked for. */
static int ask_for_program(struct job *j)
{
	struct artifact inputs[INPUTS];
	unsigned n = inputs_of(&j->a, inputs);

	if (n < 2 || j->of != inputs[0].type)
		return -ENODATA;
	return ask(j, &inputs[1], 1, program_ready);
}

/* -EINPROGRESS: something else is asked for. */
static int make_with_all(struct job *j, struct blob **out)
{
	for (;;) {
		struct gsym_work_lack lack = {0};
		int r = make(j, out, &lack, &j->e);

		if (r == -ENODATA || r == -ENOTSUP)
			r = ask_for_program(j);
		else if (r == -EAGAIN && lack.kind == GSYM_ALT)
			r = ask_for_alt(j, &lack);
		else if (r == -EAGAIN && lack.kind == GSYM_DWO)
			r = ask_for_units(j, &lack);
		else if (r == -EAGAIN)
			look_for_package(j);
		else
			return r;
		if (r == 0)
			return -EINPROGRESS;
		if (r != -ENOENT && r != -EAGAIN)
			return r;
	}
}

/* On a worker: the input is here, or what it lacked. */
static void run(void *ctx)
{
	struct job *j = ctx;
	struct blob *b = NULL;
	int r = j->r;

	if (r < 0 && r != -EINTR && !j->in && find_any(j, &b) == 0)
		r = 0;
	if (r == 0 && j->ids && j->units.state == LACK_UNKNOWN) {
		r = next_unit(j);
		if (r == 0)
			return; /* unit_ready() has it */
		r = r == -ENOENT ? 0 : r;
	}
	if (r == 0 && !b)
		r = atomic_load(&j->stop) ? -EINTR : lead_or_follow(j, &b);
	if (r == -EAGAIN) {
		r = make_with_all(j, &b);
		if (r == -EINPROGRESS)
			return; /* lack_ready() has it */
		r = judge(j, r);
	}
	finish(j, r, b);
	blob_unref(b);
}

/* ---- asking ---------------------------------------------------------------------------- */

static void go_on(struct job *j)
{
	if (workers_post(j->d->workers, run, j) < 0)
		finish(j, -ENOMEM, NULL);
}

/* From the ticket's callback, before the job goes on: then it may be gone. */
static void answered(struct job *j)
{
	LOCK_SCOPE(&j->d->lock);

	ticket_unref(take(j->ticket));
}

/* The last that a callback does: derive_free() waits for it. */
static void told(struct derive *d)
{
	LOCK_SCOPE(&d->lock);

	d->asking--;
	pthread_cond_broadcast(&d->moved);
}

/* It may be there another time, and what is made without it would stay. */
static void not_whole(struct job *j, const struct fetched *f)
{
	j->r = f->r < 0 ? f->r : -EIO;
	err_set(&j->e, j->r, "it is not whole: %s", f->why);
}

static void lack_ready(void *ctx, const struct fetched *f)
{
	struct job *j = ctx;
	struct derive *d = j->d;

	answered(j);
	if (f->r == 0 && f->blob) {
		j->alt.blob = blob_ref(f->blob);
		j->alt.state = LACK_HERE;
	} else if (f->r != -ENOENT) {
		not_whole(j, f);
	}
	go_on(j);
	told(d);
}

static void unit_ready(void *ctx, const struct fetched *f)
{
	struct job *j = ctx;
	struct derive *d = j->d;

	answered(j);
	if (f->r == 0 && f->blob)
		j->unit = blob_ref(f->blob);
	else if (f->r != -ENOENT)
		not_whole(j, f);
	go_on(j);
	told(d);
}

static void program_ready(void *ctx, const struct fetched *f)
{
	struct job *j = ctx;
	struct derive *d = j->d;

	answered(j);
	j->of = FILETYPE_NONE; /* there is no third */
	if (f->r == 0 && f->blob) {
		blob_unref(j->package.blob);
		j->package = (struct lack){LACK_HERE, j->in};
		j->in = blob_ref(f->blob);
	} else if (f->r != -ENOENT) {
		not_whole(j, f);
	}
	go_on(j);
	told(d);
}

static void input_ready(void *ctx, const struct fetched *f)
{
	struct job *j = ctx;
	struct derive *d = j->d;

	answered(j);
	j->r = f->r < 0 ? f->r : f->blob ? key_made_of(&j->a, f->key.type, &j->key) : -EIO;
	j->of = f->key.type;
	if (j->r == 0)
		j->in = blob_ref(f->blob);
	else
		err_set(&j->e, j->r, "%s", f->why);
	go_on(j);
	told(d);
}

/* 0: `ready` will run. */
static int ask(struct job *j, const struct artifact *a, unsigned n, fetch_ready *ready)
{
	struct derive *d = j->d;
	int r;

	LOCK_SCOPE(&d->lock);
	if (d->stopped || j->abandoned)
		return -EINTR;
	d->asking++;
	r = fetch_open(d->fetch, a, n, FETCH_WHOLE, ready, j, &j->ticket);
	if (r < 0)
		d->asking--;
	return r;
}

/* ---- who waits ------------------------------------------------------------------------- */

/* Called under lock. */
static struct job *find_job(struct derive *d, const struct key *name)
{
	struct job *j = d->jobs;

	while (j && (j->abandoned || !key_equal(&j->name, name)))
		j = j->next;
	return j;
}

/* Into the list, with its first asker, if nobody makes it yet. Whether it is new. */
static bool join(struct derive *d, struct making *m, struct job *fresh)
{
	LOCK_SCOPE(&d->lock);
	struct job *j = find_job(d, &fresh->name);

	m->job = j ? j : fresh;
	m->next = m->job->askers;
	m->job->askers = m;
	if (j)
		return false;
	fresh->next = d->jobs;
	d->jobs = fresh;
	return true;
}

int derive_open(struct derive *d, const struct artifact *a, fetch_ready *ready, void *ctx,
	struct making **out)
{
	struct artifact inputs[INPUTS];
	unsigned n = inputs_of(a, inputs);
	struct making *m;
	struct job *j;
	int r;

	if (!n)
		return -ENOENT;
	m = calloc(1, sizeof(*m));
	j = calloc(1, sizeof(*j));
	if (!m || !j) {
		free(m);
		free(j);
		return -ENOMEM;
	}
	*m = (struct making){.d = d, .ready = ready, .ctx = ctx};
	atomic_init(&m->refs, 2); /* one for who calls back */
	j->d = d;
	j->a = *a;
	derive_key(a, &j->name);
	j->key = j->name;
	*out = m;
	if (!join(d, m, j)) {
		free(j);
		return 0;
	}
	r = ask(j, inputs, n, input_ready);
	if (r < 0) {
		j->r = r;
		go_on(j); /* tells all who joined meanwhile */
	}
	return 0;
}

void making_cancel(struct making *m)
{
	struct fetched f = {.r = -EINTR, .why = "interrupted", .size = FETCH_SIZE_UNKNOWN};
	struct job *j;

	pthread_mutex_lock(&m->d->lock);
	j = m->job;
	if (j) {
		struct making **at = &j->askers;

		while (*at != m)
			at = &(*at)->next;
		*at = m->next;
		m->job = NULL;
		f.key = j->name;
		if (!j->askers && !j->abandoned)
			give_up(j);
	}
	pthread_mutex_unlock(&m->d->lock);
	if (!j)
		return;
	m->ready(m->ctx, &f);
	making_unref(m);
}
