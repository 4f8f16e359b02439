/* Tests derive/convert/partial.c on shared PDBs: stacks of random addresses, in files of which nothing is present at
 * first. The answers equal those of the GSYM of the whole PDB, and few bytes of the file are read. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "derive/convert/make.h"
#include "derive/convert/partial.h"
#include "derive/convert/worker.h"
#include "formats/gsym/gsym.h"
#include "unit.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOP "../shared/fixtures/pdb/fixtures"
#define STACKS 25
#define FRAMES 20
#define PAGE 4096u

/* A file with holes. */
struct holes {
	struct span file;
	uint8_t *pages; /* 1: present */
	size_t n_present;
	unsigned rounds;
};

static bool has(const void *ctx, uint64_t off, uint64_t n)
{
	const struct holes *h = ctx;

	for (uint64_t i = off / PAGE; i * PAGE < off + n; i++)
		if (!h->pages[i])
			return false;
	return true;
}

static int fill(void *ctx, const struct msf_lack *lacks, unsigned n)
{
	struct holes *h = ctx;

	h->rounds++;
	for (unsigned k = 0; k < n; k++) {
		ck_assert(lacks[k].off <= h->file.n && lacks[k].n <= h->file.n - lacks[k].off);
		for (uint64_t i = lacks[k].off / PAGE; i * PAGE < lacks[k].off + lacks[k].n; i++) {
			h->n_present += !h->pages[i];
			h->pages[i] = 1;
		}
	}
	return 0;
}

static int write_gsym(struct gsym_writer *w, struct buf *bytes, struct gsym *g)
{
	struct err e = {0};
	int r = gsym_write(w, GSYM_V1, false, "", bytes, NULL, &e);

	return r < 0 ? r : gsym_open(g, (struct span){(const uint8_t *)bytes->p, bytes->n}, &e);
}

static int whole(struct span file, struct buf *bytes, struct gsym *g)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_make_opts o = {0};
	struct gsym_made made;
	struct err e = {0};
	int r = gsym_writer_new(&w);

	if (r == 0)
		r = gsym_make(w, file, &o, &made, &e);
	return r < 0 ? r : write_gsym(w, bytes, g);
}

/* All that /symbolicate prints of an address. */
static const char *text_of(const struct gsym *g, uint32_t addr, struct buf *out)
{
	struct gsym_hit *hit = malloc(sizeof(*hit));
	char path[4096];

	ck_assert_ptr_nonnull(hit);
	buf_clear(out);
	if (gsym_lookup(g, addr, hit, NULL) < 0)
		buf_adds(out, "-");
	else
		for (unsigned i = 0; i < hit->n; i++)
			buf_addf(out, "%s|%s|%u|%llx\n", hit->frame[i].name,
				gsym_path_text(hit->frame[i].dir, hit->frame[i].base, path, sizeof(path)),
				hit->frame[i].line, i + 1 == hit->n ? (unsigned long long)hit->frame[i].offset : 0);
	free(hit);
	return buf_text(out);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static int gsym_partial(struct gsym_writer *w, const struct view *v, const uint32_t *addrs, size_t n,
	partial_fill *fetch, void *ctx, struct err *e)
{
	struct partial_pdb *p;
	int r = partial_open(&p, v, false, fetch, ctx, e);

	if (r == 0)
		r = partial_write(p, w, addrs, n, e);
	partial_free(p);
	return r;
}

struct totals {
	unsigned files, addrs, rounds_most;
	uint64_t bytes, read;
};

static void one_stack(const char *name, struct span file, const struct gsym *all, uint32_t *state, struct totals *t)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct holes h = {.file = file, .pages = calloc(file.n / PAGE + 2, 1)};
	struct buf bytes = BUF_UP_TO(16u << 20), a = BUF_UP_TO(1u << 20), b = BUF_UP_TO(1u << 20);
	struct view v = view_of_mem(file.p, file.n);
	uint32_t addrs[FRAMES], n = all->count;
	struct err e = {0};
	struct gsym g;
	int r;

	v.has = has;
	v.ctx = &h;
	for (unsigned i = 0; i < FRAMES; i++)
		addrs[i] = (uint32_t)gsym_addr(all, next_random(state) % n) + next_random(state) % 300;
	ck_assert_int_eq(gsym_writer_new(&w), 0);
	r = gsym_partial(w, &v, addrs, FRAMES, fill, &h, &e);
	ck_assert_msg(r == 0, "%s: %s", name, e.text);
	ck_assert_int_eq(write_gsym(w, &bytes, &g), 0);
	for (unsigned i = 0; i < FRAMES; i++)
		ck_assert_msg(strcmp(text_of(all, addrs[i], &a), text_of(&g, addrs[i], &b)) == 0,
			"%s %x:\nall\n%s\npart\n%s", name, addrs[i], buf_text(&a), buf_text(&b));
	t->addrs += FRAMES;
	t->bytes += file.n;
	t->read += h.n_present * PAGE;
	t->rounds_most = MAX(t->rounds_most, h.rounds);
	free(h.pages);
	buf_release(&bytes);
	buf_release(&a);
	buf_release(&b);
}

static void one_file(const char *dir, const char *name, uint32_t *state, struct totals *t)
{
	struct buf bytes = BUF_UP_TO(256u << 20);
	char path[4096];
	struct span file;
	struct gsym g;
	struct err e = {0};

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(map_file(&file, path, &e), 0);
	ck_assert_int_eq(whole(file, &bytes, &g), 0);
	t->files++;
	for (unsigned i = 0; i < STACKS; i++)
		one_stack(name, file, &g, state, t);
	buf_release(&bytes);
	map_release(&file);
}

START_TEST(equals_the_whole)
{
	const char *top = getenv("top_srcdir") ? getenv("top_srcdir") : ".";
	uint32_t state = unit_seed(1);
	struct totals t = {0};
	struct dirent *d;
	char dir[3000];
	DIR *all;

	snprintf(dir, sizeof(dir), "%s/" TOP, top);
	all = opendir(dir);
	while (all && (d = readdir(all)))
		if (strstr(d->d_name, ".pdb"))
			one_file(dir, d->d_name, &state, &t);
	if (all)
		closedir(all);
	else
		unit_part_skipped("no " TOP ": PDBs of compilers");
	printf("# %u files, %u addresses; %llu of %llu KiB in at most %u rounds\n", t.files, t.addrs,
		(unsigned long long)t.read >> 10, (unsigned long long)t.bytes >> 10, t.rounds_most);
	ck_assert(!all || t.addrs >= 10000);
}
END_TEST

/* Bytes that never come end the call, and so does a PDB of types alone. */
static int fill_nothing(void *ctx, const struct msf_lack *lacks, unsigned n)
{
	return ++*(unsigned *)ctx < 3 ? 0 : -EIO;
}

static bool has_nothing(const void *ctx, uint64_t off, uint64_t n)
{
	return false;
}

START_TEST(bytes_that_never_come)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	static const uint8_t zeros[65536];
	struct view v = view_of_mem(zeros, sizeof(zeros));
	uint32_t addr = 4096;
	unsigned rounds = 0;
	struct err e = {0};

	v.has = has_nothing;
	ck_assert_int_eq(gsym_writer_new(&w), 0);
	ck_assert_int_eq(gsym_partial(w, &v, &addr, 1, fill_nothing, &rounds, &e), -EIO);
	ck_assert_str_eq(e.text, "cannot be read: Input/output error");
	v.has = NULL;
	ck_assert_int_eq(gsym_partial(w, &v, &addr, 1, fill_nothing, &rounds, &e), -ENOMSG);
}
END_TEST

/* ---- in a worker ---------------------------------------------------------------------------- */

static int await_ranges(void *ctx, const struct msf_lack *ranges, unsigned n)
{
	return fill(ctx, ranges, n);
}

static int read_range(void *ctx, uint64_t off, void *p, size_t n)
{
	const struct holes *h = ctx;

	ck_assert(has(h, off, n));
	memcpy(p, h->file.p + off, n);
	return 0;
}

static int never(void *ctx, const struct msf_lack *ranges, unsigned n)
{
	return -EIO;
}

START_TEST(in_a_worker)
{
	const char *top = getenv("top_srcdir") ? getenv("top_srcdir") : ".", *built = getenv("top_builddir");
	struct buf bytes = BUF_UP_TO(256u << 20), a = BUF_UP_TO(1u << 20), b = BUF_UP_TO(1u << 20);
	char path[4096], program[4096];
	struct holes h = {0};
	struct partial_file file = {.await = await_ranges, .read = read_range, .ctx = &h};
	struct gsym_work o = {.program = program, .seconds = 60};
	struct gsym all, g;
	struct span made;
	uint32_t addrs[FRAMES];
	struct err e = {0};
	int out = -1, r;

	snprintf(program, sizeof(program), "%s/libexec/convert", built ? built : ".");
	snprintf(path, sizeof(path), "%s/" TOP "/winpty-x64.pdb", top);
	if (access(path, R_OK) < 0) {
		unit_part_skipped("no " TOP ": a PDB for a worker");
		return;
	}
	ck_assert_int_eq(map_file(&h.file, path, &e), 0);
	ck_assert_int_eq(whole(h.file, &bytes, &all), 0);
	h.pages = calloc(h.file.n / PAGE + 2, 1);
	file.size = h.file.n;
	for (unsigned i = 0; i < FRAMES; i++)
		addrs[i] = (uint32_t)gsym_addr(&all, i * 97 % all.count) + i;
	r = gsym_work_partial(&o, &file, addrs, FRAMES, &out, &e);
	ck_assert_msg(r == 0, "%s", e.text);
	ck_assert_int_eq(map_fd(&made, out, &e), 0);
	ck_assert_int_eq(gsym_open(&g, made, &e), 0);
	for (unsigned i = 0; i < FRAMES; i++)
		ck_assert_str_eq(text_of(&all, addrs[i], &a), text_of(&g, addrs[i], &b));
	map_release(&made);
	close(out);
	file.await = never;
	ck_assert_int_eq(gsym_work_partial(&o, &file, addrs, FRAMES, &out, &e), -EIO);
	free(h.pages);
	map_release(&h.file);
	buf_release(&bytes);
	buf_release(&a);
	buf_release(&b);
}
END_TEST

/* A worker that sends what is no list of ranges in the file is ended. */
START_TEST(a_worker_that_lies)
{
	static const char *const lies[] = {"printf x >&3", "printf 0123456789abcdef >&3", "true",
		"dd if=/dev/zero bs=16 count=1 >&3 2>/dev/null"};
	struct partial_file file = {.size = 65536, .await = never};
	uint32_t addr = 4096;

	for (unsigned i = 0; i < ARRAY_SIZE(lies); i++) {
		char path[] = "/tmp/test-pdb-partial.XXXXXX";
		struct gsym_work o = {.program = path, .seconds = 60};
		int fd = mkstemp(path), out = -1, r;
		struct err e = {0};

		ck_assert_int_gt(dprintf(fd, "#!/bin/sh\n%s\n", lies[i]), 0);
		ck_assert_int_eq(fchmod(fd, 0700), 0);
		close(fd);
		r = gsym_work_partial(&o, &file, &addr, 1, &out, &e);
		unlink(path);
		ck_assert_msg(r == -EBADMSG, "%s: %d", lies[i], r);
	}
}
END_TEST

/* ---- damaged files ---------------------------------------------------------------------------- */

/* Ends with an answer or a message, and reads no byte that is not present. */
static int one_damaged(const char *path)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct holes h = {0};
	uint32_t addrs[FRAMES], state = 7;
	struct err e = {0};
	struct view v;
	int r = map_file(&h.file, path, &e);

	if (r < 0)
		return r;
	h.pages = calloc(h.file.n / PAGE + 2, 1);
	for (unsigned i = 0; i < FRAMES; i++)
		addrs[i] = 0x1000 + next_random(&state) % 0x20000;
	v = view_of_mem(h.file.p, h.file.n);
	v.has = has;
	v.ctx = &h;
	if (!h.pages || gsym_writer_new(&w) < 0)
		abort();
	r = gsym_partial(w, &v, addrs, FRAMES, fill, &h, &e);
	if (r < 0 && !e.text[0])
		abort();
	printf("%s: %s, %u rounds\n", path, r < 0 ? e.text : "answered", h.rounds);
	free(h.pages);
	map_release(&h.file);
	return 0;
}

static int run_tests(int argc, char **argv)
{
	const TTest *const tests[] = {equals_the_whole, bytes_that_never_come, in_a_worker, a_worker_that_lies, NULL};
	int r = 0;

	for (int i = 1; r == 0 && i < argc; i++)
		r = one_damaged(argv[i]);
	return argc > 1 ? r < 0 : unit_run("pdb-partial", tests);
}

UNIT_ROW("pdb-partial", run_tests)
