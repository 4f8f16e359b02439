/* Tests sparse files: present and missing bytes, as threads, processes, killed processes and lost
 * indexes leave them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "behind.h"
#include "scratch.h"
#include "store/sparse.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#define B SPARSE_BLOCK

static struct sparse_validator tag(uint64_t size, const char *etag)
{
	struct sparse_validator v = {.size = size, .source = "test"};

	snprintf(v.etag, sizeof(v.etag), "%s", etag);
	return v;
}

static struct sparse *open_tagged(struct store *s, unsigned key, uint64_t size, const char *etag)
{
	struct sparse_validator v = tag(size, etag);
	struct key k = key_nth(key);
	struct sparse *f = NULL;
	struct err e = {0};
	int r = sparse_open(s, &k, &v, "http://127.0.0.1/x", &f, &e);

	ck_assert_msg(r == 0, "sparse_open: %d %s", r, e.text);
	return f;
}

static int try_open(struct store *s, unsigned key, uint64_t size, const char *etag)
{
	struct sparse_validator v = tag(size, etag);
	_cleanup_sparse_ struct sparse *f = NULL;
	struct key k = key_nth(key);

	return sparse_open(s, &k, &v, "", &f, NULL);
}

/* Byte i of content n: no two blocks are alike. */
static uint8_t byte_at(uint64_t i, unsigned n)
{
	return (uint8_t)((i + n * 77) * 2654435761u >> 13);
}

static int put(struct sparse *f, uint64_t off, size_t n, unsigned content)
{
	uint8_t *p = malloc(n + 1);
	int r;

	for (size_t i = 0; i < n; i++)
		p[i] = byte_at(off + i, content);
	r = sparse_write(f, off, p, n);
	free(p);
	return r;
}

/* Reads bytes as the product does: only those that are present. */
static ssize_t read_present(struct sparse *f, uint64_t off, void *p, size_t n, struct sparse_hole *hole)
{
	return sparse_missing(f, off, n, hole) ? -EAGAIN : pread(sparse_fd(f), p, n, (off_t)off);
}

static bool reads(struct sparse *f, uint64_t off, size_t n, unsigned content)
{
	uint8_t *p = malloc(n + 1);
	struct sparse_hole hole;
	bool same = read_present(f, off, p, n, &hole) == (ssize_t)n;

	for (size_t i = 0; i < n && same; i++)
		same = p[i] == byte_at(off + i, content);
	free(p);
	return same;
}

/* ---- what is here ---------------------------------------------------------------------- */

START_TEST(holes_are_never_read)
{
	uint64_t size = 10 * (uint64_t)B + 100;
	struct sparse_hole hole;
	struct sparse *f;
	struct store *s;
	uint8_t byte;

	scratch_dir();
	s = open_scratch();
	f = open_tagged(s, 1, size, "\"a\"");
	ck_assert(sparse_size(f) == size && sparse_present(f) == 0);
	ck_assert(sparse_number(f) > 1 && sparse_number(f) <= INT64_MAX);
	ck_assert_int_eq(read_present(f, 5, &byte, 1, &hole), -EAGAIN);
	ck_assert(hole.off == 0 && hole.n == B);
	ck_assert_int_eq(read_present(f, size, &byte, 1, &hole), 0);
	ck_assert(!sparse_missing(f, UINT64_MAX, 1, &hole));
	ck_assert_int_eq(put(f, 3 * B, 2 * B, 1), 0);
	ck_assert_int_eq(put(f, 10 * (uint64_t)B, 100, 1), 0); /* the short one at the end */
	ck_assert(sparse_present(f) == 2 * B + 100 && !sparse_is_full(f));
	ck_assert(sparse_has(f, 3 * B, 2 * B) && sparse_has(f, size - 100, 100));
	ck_assert(sparse_has(f, size - 1, 1000) && sparse_has(f, size, 1) && sparse_has(f, 0, 0));
	ck_assert(!sparse_has(f, 3 * B - 1, 2) && !sparse_has(f, 5 * B - 1, 2));
	ck_assert(!sparse_has(f, 0, UINT64_MAX));
	ck_assert(reads(f, 3 * B, 2 * B, 1) && reads(f, 3 * B + 7, 100, 1));
	ck_assert_int_eq(read_present(f, size - 1, &byte, 1, &hole), 1);
	ck_assert(sparse_missing(f, 3 * B, 4 * B, &hole));
	ck_assert(hole.off == 5 * B && hole.n == 2 * B);
	ck_assert(sparse_missing(f, 5 * B, UINT64_MAX, &hole));
	ck_assert(hole.off == 5 * B && hole.n == 5 * B);
	ck_assert(sparse_missing(f, 1, 1, &hole) && hole.off == 0 && hole.n == B);
	ck_assert_int_eq(put(f, size, 1, 1), -EFBIG);
	ck_assert_int_eq(put(f, size - 50, 51, 1), -EFBIG);
	ck_assert_int_eq(sparse_write(f, UINT64_MAX, &byte, 1), -EFBIG);
	sparse_unref(f);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(parts_of_blocks)
{
	struct sparse *f;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	f = open_tagged(s, 1, 4 * (uint64_t)B, "\"a\"");
	ck_assert_int_eq(put(f, 100, B - 100, 1), 0);
	ck_assert(!sparse_has(f, 100, 1));
	ck_assert_int_eq(put(f, 0, 99, 1), 0);
	ck_assert(!sparse_has(f, 0, 1)); /* one byte is missing */
	ck_assert_int_eq(put(f, 99, 1, 1), 0);
	ck_assert(sparse_has(f, 0, B) && reads(f, 0, B, 1));
	/* Backwards, overlapping, and across blocks. */
	ck_assert_int_eq(put(f, B + 60000, 20000, 1), 0);
	ck_assert_int_eq(put(f, B + 40000, 30000, 1), 0);
	ck_assert_int_eq(put(f, B + 50000, 100, 1), 0);
	ck_assert(!sparse_has(f, B, 1) && !sparse_has(f, 2 * B, 1));
	/* What was written of it can be read. */
	ck_assert(sparse_has_pieces(f, B + 40000, B - 40000 + 14464) && reads(f, 0, B, 1));
	ck_assert(sparse_has_pieces(f, 100, 200) && sparse_has_pieces(f, 5 * B, 1));
	ck_assert(!sparse_has_pieces(f, B + 39999, 10) && !sparse_has_pieces(f, 2 * B + 14464, 1));
	ck_assert(!sparse_has_pieces(f, B - 1, 2) && !sparse_has_pieces(f, 2 * B + 14000, 465));
	ck_assert_uint_eq(sparse_piece(f, B + 40000, 100), 100);
	ck_assert_uint_eq(sparse_piece(f, B + 40000, B), B - 40000);
	ck_assert_uint_eq(sparse_piece(f, 2 * B + 14000, B), 464);
	ck_assert_uint_eq(sparse_piece(f, B + 39999, 10) + sparse_piece(f, 2 * B + 14464, 1), 0);
	ck_assert_uint_eq(sparse_piece(f, 10, 2 * B), B - 10);
	ck_assert_uint_eq(sparse_piece(f, 4 * B, 1) + sparse_piece(f, 0, 0), 0);
	ck_assert_int_eq(put(f, B, 40000, 1), 0);
	ck_assert(sparse_has(f, B, B) && !sparse_has(f, 2 * B, 1));
	ck_assert_int_eq(put(f, 2 * B + 14464, B - 14464, 1), 0);
	ck_assert(sparse_has(f, 2 * B, B) && reads(f, 0, 3 * B, 1));
	/* More gaps than are kept in mind: absent until it was written again. */
	for (unsigned i = 0; i < 100; i++) {
		ck_assert_int_eq(put(f, 3 * B + 2 * i * 300, 300, 1), 0);
		ck_assert(sparse_has_pieces(f, 3 * B + 2 * i * 300, 300));
		ck_assert(!sparse_has_pieces(f, 3 * B + 2 * i * 300 + 150, 300));
	}
	for (unsigned i = 0; i < 100; i++)
		ck_assert_int_eq(put(f, 3 * B + (2 * i + 1) * 300, 300, 1), 0);
	ck_assert(!sparse_has(f, 3 * B, 1));
	for (uint64_t off = 3 * B; off < 4 * B; off += 1000)
		ck_assert_int_eq(put(f, off, MIN(1000, 4 * B - off), 1), 0);
	ck_assert(sparse_is_full(f) && reads(f, 0, 4 * B, 1));
	/* What is here never changes. */
	ck_assert_int_eq(put(f, 0, 4 * B, 2), 0);
	ck_assert(reads(f, 0, 4 * B, 1));
	sparse_unref(f);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- what stays ------------------------------------------------------------------------ */

START_TEST(committed_stays)
{
	uint64_t size = 1500 * (uint64_t)B + 9, number; /* three parts of the index */
	struct store_sparse_row row;
	struct sparse *f;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	f = open_tagged(s, 1, size, "\"a\"");
	number = sparse_number(f);
	ck_assert_int_eq(put(f, 0, 3 * B, 1), 0);
	ck_assert_int_eq(put(f, 700 * (uint64_t)B, B, 1), 0);
	ck_assert_int_eq(put(f, 1500 * (uint64_t)B, 9, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	ck_assert(!sparse_is_due(f));
	ck_assert_int_eq(put(f, 5 * B, B, 1), 0); /* and never committed */
	ck_assert_int_eq(store_list_sparse(s, 0, &row, 1), 1);
	ck_assert(row.present == 4 * B + 9 && row.validator.size == size);
	ck_assert(row.allocated >= 4 * B && row.allocated < 8 * B);
	ck_assert_str_eq(row.validator.etag, "\"a\"");
	ck_assert_str_eq(row.url, "http://127.0.0.1/x");
	ck_assert_uint_eq(totals(s).sparse, 1);
	ck_assert_uint_eq(totals(s).sparse_bytes, row.allocated);
	sparse_unref(f);
	store_close(s);
	s = open_scratch();
	f = open_tagged(s, 1, size, "\"a\"");
	ck_assert(sparse_number(f) == number && sparse_present(f) == 4 * B + 9);
	ck_assert(reads(f, 0, 3 * B, 1) && reads(f, 700 * (uint64_t)B, B, 1));
	ck_assert(reads(f, 1500 * (uint64_t)B, 9, 1) && !sparse_has(f, 5 * B, 1));
	ck_assert_int_eq(put(f, 5 * B, B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	sparse_unref(f);
	f = open_tagged(s, 1, size, "\"a\"");
	ck_assert(sparse_has(f, 5 * B, B) && sparse_present(f) == 5 * B + 9);
	sparse_unref(f);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(versions_never_mix)
{
	struct sparse *old, *new, *third;
	struct sparse_validator date = tag(4 * B, ""), none = tag(4 * B, ""), weak = tag(4 * B, "W/\"a\"");
	struct key k = key_nth(1);
	struct store *s;

	scratch_dir();
	s = open_scratch();
	old = open_tagged(s, 1, 4 * B, "\"a\"");
	ck_assert_int_eq(put(old, 0, B, 1), 0);
	ck_assert_int_eq(sparse_commit(old), 0);
	third = open_tagged(s, 1, 4 * B, "\"a\"");
	ck_assert_ptr_eq(third, old);
	sparse_unref(third);
	new = open_tagged(s, 1, 4 * B, "\"b\"");
	ck_assert(new != old && sparse_number(new) != sparse_number(old));
	ck_assert(sparse_present(new) == 0 && sparse_is_stale(old) && !sparse_is_stale(new));
	ck_assert(reads(old, 0, B, 1)); /* the old version stays readable while it is open */
	ck_assert_int_eq(put(old, B, B, 1), 0); /* its readers also get new blocks, which are not kept */
	ck_assert(reads(old, B, B, 1));
	ck_assert_int_eq(sparse_commit(old), -ESTALE);
	ck_assert_int_eq(put(new, 0, B, 2), 0);
	ck_assert_int_eq(sparse_commit(new), 0);
	sparse_unref(old);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 1);
	sparse_unref(new);
	new = open_tagged(s, 1, 4 * B, "\"b\"");
	ck_assert(reads(new, 0, B, 2) && sparse_present(new) == B);
	sparse_unref(new);
	/* Another size, too; and without a validator nothing is the same. */
	new = open_tagged(s, 1, 4 * B + 1, "\"b\"");
	ck_assert(sparse_present(new) == 0);
	sparse_unref(new);
	snprintf(date.last_modified, sizeof(date.last_modified), "Mon, 04 May 2026 10:20:30 GMT");
	ck_assert(sparse_same(&date, &date) && !sparse_same(&none, &none));
	ck_assert(!sparse_same(&weak, &weak) && !sparse_same(&date, &none));
	ck_assert_int_eq(sparse_open(s, &k, &none, "", &old, NULL), 0);
	ck_assert_int_eq(put(old, 0, B, 1), 0);
	ck_assert_int_eq(sparse_commit(old), 0);
	sparse_unref(old);
	ck_assert_int_eq(sparse_open(s, &k, &none, "", &old, NULL), 0);
	ck_assert_uint_eq(sparse_present(old), 0);
	sparse_unref(old);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 1);
	date.size = SPARSE_SIZE_MOST + 1;
	ck_assert_int_eq(sparse_open(s, &k, &date, "", &old, NULL), -EFBIG);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(finishes)
{
	struct key k = key_nth(1), other = key_nth(2);
	struct store_learned l = {.n = 1, .keys = {other}};
	uint64_t size = 6 * (uint64_t)B + 77;
	_cleanup_free_ uint8_t *want = malloc(size), *have = malloc(size);
	struct stat before, after;
	struct blob *b = NULL, *again = NULL;
	struct sparse *f;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	f = open_tagged(s, 1, size, "\"a\"");
	ck_assert_int_eq(put(f, B, size - B, 3), 0);
	ck_assert_int_eq(sparse_finish(f, &FACTS, &l, &b, NULL), -ENODATA);
	ck_assert_int_eq(sparse_commit(f), 0);
	ck_assert_int_eq(put(f, 0, B, 3), 0);
	ck_assert_int_eq(fstat(sparse_fd(f), &before), 0);
	ck_assert_int_eq(sparse_finish(f, &FACTS, &l, &b, NULL), 0);
	ck_assert_int_eq(sparse_finish(f, &FACTS, &l, &b, NULL), -EALREADY);
	ck_assert_int_eq(fstat(blob_fd(b), &after), 0);
	ck_assert(before.st_ino == after.st_ino && (after.st_mode & 07777) == 0400);
	for (uint64_t i = 0; i < size; i++)
		want[i] = byte_at(i, 3);
	ck_assert_int_eq(blob_read(b, 0, have, size), (ssize_t)size);
	ck_assert(memcmp(want, have, size) == 0 && reads(f, 0, size, 3));
	ck_assert_int_eq(store_find(s, &other, &again), 0);
	ck_assert_str_eq(blob_sha256(again), blob_sha256(b));
	ck_assert_uint_eq(totals(s).sparse + totals(s).sparse_bytes, 0);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	ck_assert_int_eq(sparse_drop(f), 0);
	ck_assert(store_has(s, &k, NULL));
	ck_assert_int_eq(verify_quiet(s), 0);
	sparse_unref(f);
	blob_unref(b);
	blob_unref(again);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(goes_with_what_replaces_it)
{
	struct key k = key_nth(1);
	struct sparse *f;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	f = open_tagged(s, 1, 4 * B, "\"a\"");
	ck_assert_int_eq(put(f, 0, B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	ck_assert_int_eq(publish(s, &k, 1, 4 * B), 0); /* it came whole, by another way */
	ck_assert_uint_eq(totals(s).sparse, 0);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 0);
	ck_assert_int_eq(put(f, B, B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), -ESTALE);
	ck_assert(sparse_is_stale(f) && reads(f, 0, B, 1));
	ck_assert_int_eq(put(f, 2 * B, 2 * B, 1), 0);
	ck_assert(sparse_is_full(f) && reads(f, 0, 4 * B, 1));
	ck_assert_int_eq(sparse_finish(f, &FACTS, NULL, NULL, NULL), -ESTALE);
	sparse_unref(f);
	/* The same, and nothing was committed since. */
	ck_assert_int_eq(store_remove_file(s, &k), 0);
	f = open_tagged(s, 1, 4 * B, "\"a\"");
	ck_assert_int_eq(put(f, 0, 4 * B, 1), 0);
	ck_assert_int_eq(publish(s, &k, 1, 4 * B), 0);
	ck_assert_int_eq(sparse_finish(f, &FACTS, NULL, NULL, NULL), -ESTALE);
	sparse_unref(f);
	ck_assert_int_eq(store_remove_file(s, &k), 0);
	f = open_tagged(s, 1, 4 * B, "\"a\"");
	ck_assert_int_eq(put(f, 0, B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	ck_assert_int_eq(store_remove_file(s, &k), 0); /* `symfs cache rm` */
	ck_assert_int_eq(store_remove_file(s, &k), -ENOENT);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 0);
	ck_assert_int_eq(put(f, B, B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), -ESTALE);
	sparse_unref(f);
	f = open_tagged(s, 1, 4 * B, "\"a\"");
	ck_assert_uint_eq(sparse_present(f), 0);
	ck_assert_int_eq(sparse_drop(f), 0);
	ck_assert_int_eq(put(f, 0, B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), -ESTALE);
	ck_assert_uint_eq(totals(s).sparse + totals(s).sparse_bytes, 0);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 0);
	sparse_unref(f);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- threads --------------------------------------------------------------------------- */

#define THREAD_BLOCKS 256

struct together {
	struct sparse *f;
	unsigned first;
	atomic_bool *end;
	unsigned long wrong, seen;
};

static void *fill_some(void *arg)
{
	struct together *t = arg;

	for (unsigned i = 0; i < THREAD_BLOCKS; i++) {
		uint64_t block = (i * 7 + t->first) % THREAD_BLOCKS;

		t->wrong += put(t->f, block * B, 20000, 5) != 0;
		t->wrong += put(t->f, block * B + 20000, B - 20000, 5) != 0;
	}
	return NULL;
}

static void *read_some(void *arg)
{
	struct together *t = arg;

	for (uint64_t i = 0; !atomic_load(t->end); i++) {
		uint64_t block = i * 31 % THREAD_BLOCKS;

		if (sparse_has(t->f, block * B, B)) {
			t->seen++;
			t->wrong += !reads(t->f, block * B + 19000, 3000, 5);
		}
	}
	return NULL;
}

static void *commit_some(void *arg)
{
	struct together *t = arg;

	do
		t->wrong += sparse_commit(t->f) != 0;
	while (!atomic_load(t->end));
	return NULL;
}

START_TEST(threads_fill_and_read)
{
	void *(*const what[])(void *) = {read_some, read_some, commit_some, fill_some, fill_some, fill_some};
	struct together t[ARRAY_SIZE(what)] = {0};
	pthread_t threads[ARRAY_SIZE(what)];
	atomic_bool end = false;
	struct sparse *f;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	f = open_tagged(s, 1, THREAD_BLOCKS * (uint64_t)B, "\"a\"");
	for (unsigned i = 0; i < ARRAY_SIZE(what); i++) {
		t[i] = (struct together){.f = f, .first = i * 85, .end = &end};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, what[i], &t[i]), 0);
	}
	for (unsigned i = ARRAY_SIZE(what); i-- > 0;) {
		if (i == 2)
			atomic_store(&end, true); /* the filling thread is done */
		pthread_join(threads[i], NULL);
		ck_assert_uint_eq(t[i].wrong, 0);
	}
	ck_assert(sparse_is_full(f));
	ck_assert_int_eq(sparse_commit(f), 0);
	sparse_unref(f);
	f = open_tagged(s, 1, THREAD_BLOCKS * (uint64_t)B, "\"a\"");
	ck_assert(sparse_is_full(f) && reads(f, 0, THREAD_BLOCKS * (size_t)B, 5));
	sparse_unref(f);
	store_close(s);
	scratch_end();
}
END_TEST

static void *open_and_close(void *arg)
{
	struct store *s = arg;

	for (unsigned i = 0; i < 40; i++) {
		struct sparse *f = open_tagged(s, 1, 4 * B, "\"a\"");

		if (put(f, i % 4 * B, B, 1) != 0 || sparse_commit(f) != 0)
			return f;
		sparse_unref(f);
	}
	return NULL;
}

/* One closes the last while another opens: never "another process fills it". */
START_TEST(threads_open_and_close)
{
	pthread_t threads[4];
	struct store *s;
	void *wrong;

	scratch_dir();
	s = open_scratch();
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, open_and_close, s), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], &wrong);
		ck_assert_ptr_null(wrong);
	}
	ck_assert_uint_eq(totals(s).sparse, 1);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- processes ------------------------------------------------------------------------- */

struct talk {
	int say[2], hear[2];
};

static void tell(int fd)
{
	ck_assert_int_eq(write(fd, "x", 1), 1);
}

static void wait_for(int fd)
{
	char c;

	ck_assert_int_eq(read(fd, &c, 1), 1);
}

static void other_writer(void *ctx)
{
	struct talk *t = ctx;
	struct store *s = open_scratch();
	struct sparse *f = open_tagged(s, 1, 8 * B, "\"a\"");

	put(f, 0, B, 1);
	sparse_commit(f);
	put(f, 4 * B, B, 1); /* here, and not committed */
	tell(t->say[1]);
	wait_for(t->hear[0]);
	put(f, B, B, 1);
	sparse_commit(f);
	put(f, 5 * B, B, 1);
	tell(t->say[1]);
	wait_for(t->hear[0]); /* and is killed */
}

START_TEST(two_processes)
{
	struct key k = key_nth(1);
	struct sparse_hole hole;
	struct sparse *f;
	struct store *s;
	struct talk t;
	pid_t pid;
	uint8_t byte;

	scratch_dir();
	ck_assert(pipe(t.say) == 0 && pipe(t.hear) == 0);
	pid = in_child(other_writer, &t);
	wait_for(t.say[0]);
	s = open_scratch();
	ck_assert_int_eq(try_open(s, 1, 8 * B, "\"a\""), -EBUSY);
	ck_assert_int_eq(try_open(s, 1, 8 * B, "\"b\""), -EBUSY); /* nor is it taken from under it */
	ck_assert_int_eq(sparse_peek(s, &k, &f), 0);
	ck_assert(sparse_present(f) == B && reads(f, 0, B, 1));
	ck_assert_int_eq(put(f, B, B, 1), -EBADF);
	ck_assert_int_eq(sparse_commit(f), -EBADF);
	ck_assert_int_eq(read_present(f, 4 * B, &byte, 1, &hole), -EAGAIN);
	tell(t.hear[1]);
	wait_for(t.say[0]);
	ck_assert(!sparse_has(f, B, B));
	sparse_unref(f);
	ck_assert_int_eq(sparse_peek(s, &k, &f), 0);
	ck_assert(reads(f, 0, 2 * B, 1) && reads(f, 4 * B, B, 1) && sparse_present(f) == 3 * B);
	kill(pid, SIGKILL);
	ck_assert(WIFSIGNALED(child_status(pid)));
	{
		struct sparse *mine = open_tagged(s, 1, 8 * B, "\"a\"");

		/* Its uncommitted block is absent, though its bytes may be there. */
		ck_assert(sparse_present(mine) == 3 * B && !sparse_has(mine, 5 * B, 1));
		ck_assert_int_eq(put(mine, 2 * B, 6 * B, 1), 0);
		ck_assert_int_eq(sparse_finish(mine, &FACTS, NULL, NULL, NULL), 0);
		sparse_unref(mine);
	}
	ck_assert(reads(f, 0, B, 1));
	ck_assert(store_has(s, &k, NULL));
	sparse_unref(f);
	ck_assert_int_eq(sparse_peek(s, &k, &f), -ENOENT);
	store_close(s);
	scratch_end();
}
END_TEST

static void writer_to_be_killed(void *ctx)
{
	struct store *s = open_scratch();
	unsigned n = *(unsigned *)ctx;
	struct sparse *f = open_tagged(s, 1, 64 * B, "\"a\"");

	for (unsigned i = 0;; i++) {
		put(f, (i * 5 + n) % 64 * B, B, 1);
		if (i % 3 == 0)
			sparse_commit(f);
		if (i % 200 == 199)
			sparse_drop(f);
		if (sparse_is_stale(f)) {
			sparse_unref(f);
			f = open_tagged(s, 1, 64 * B, "\"a\"");
		}
	}
}

START_TEST(killed_writers)
{
	struct timespec pause = {0};

	scratch_dir();
	for (unsigned n = 0; n < 20; n++) {
		pid_t pid = in_child(writer_to_be_killed, &n);
		struct sparse *f;
		struct store *s;

		pause.tv_nsec = (long)(n * 7919 % 60) * 1000000;
		nanosleep(&pause, NULL); /* anywhere in its work, or before, or after: each must do */
		kill(pid, SIGKILL);
		child_status(pid);
		s = open_scratch();
		f = open_tagged(s, 1, 64 * B, "\"a\"");
		for (uint64_t i = 0; i < 64; i++)
			ck_assert(!sparse_has(f, i * B, B) || reads(f, i * B, B, 1));
		ck_assert_int_eq(verify_quiet(s), 0);
		sparse_unref(f);
		ck_assert_uint_eq(count_files(in_scratch("sparse")), 1);
		store_close(s);
	}
	scratch_end();
}
END_TEST

/* ---- trouble --------------------------------------------------------------------------- */

START_TEST(the_index_goes)
{
	struct sparse *f;
	struct store *s, *other;

	scratch_dir();
	s = open_scratch();
	f = open_tagged(s, 1, 8 * B, "\"a\"");
	ck_assert_int_eq(put(f, 0, 2 * B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	/* While the file is open, its process adds it to the new index with all of its blocks. */
	ck_assert_int_eq(unlink(in_scratch("index.sqlite")), 0);
	ck_assert_int_eq(put(f, 4 * B, B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	sparse_unref(f);
	f = open_tagged(s, 1, 8 * B, "\"a\"");
	ck_assert(sparse_present(f) == 3 * B && reads(f, 0, 2 * B, 1) && reads(f, 4 * B, B, 1));
	sparse_unref(f);
	store_close(s);
	/* While no process has it open, the file goes. Files with other names stay. */
	write_file(in_scratch("sparse/notes.txt"), "x", 1);
	ck_assert_int_eq(unlink(in_scratch("index.sqlite")), 0);
	s = open_scratch();
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 1);
	ck_assert(is_there(in_scratch("sparse/notes.txt")));
	f = open_tagged(s, 1, 8 * B, "\"a\"");
	ck_assert_uint_eq(sparse_present(f), 0);
	/* Another process that opens the store leaves alone what is open and has no row yet. */
	sql("DELETE FROM sparse");
	other = open_scratch();
	store_close(other);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 2);
	/* The same while the download only waits for its next reader. */
	sparse_set_idle(f, true);
	other = open_scratch();
	store_close(other);
	ck_assert(!sparse_is_gone(f));
	sparse_set_idle(f, false);
	ck_assert_int_eq(put(f, 0, B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	sparse_unref(f);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(rows_that_lie)
{
	struct sparse *f;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	f = open_tagged(s, 1, 8 * B, "\"a\"");
	ck_assert_int_eq(put(f, 0, 2 * B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	sparse_unref(f);
	/* Bits past the end, and of parts that no file has. */
	sql("UPDATE sparse_parts SET bits = zeroblob(0) || CAST(x'"
	    "ffffffffffffffff" "ffffffffffffffff" "ffffffffffffffff" "ffffffffffffffff"
	    "ffffffffffffffff" "ffffffffffffffff" "ffffffffffffffff" "ffffffffffffffff' AS BLOB)");
	sql("UPDATE sparse_parts SET bits = CAST(bits AS BLOB)");
	sql("INSERT INTO sparse_parts SELECT sparse_id, 9000000000000000000, bits, sums"
	    " FROM sparse_parts");
	f = open_tagged(s, 1, 8 * B, "\"a\"");
	ck_assert_uint_eq(sparse_present(f), 8 * B);
	sparse_unref(f);
	/* A part that cannot be one: the index is damaged, and made anew. */
	sql("UPDATE sparse_parts SET sums = x'00'");
	f = open_tagged(s, 1, 8 * B, "\"a\"");
	ck_assert_uint_eq(sparse_present(f), 0);
	sparse_unref(f);
	/* The file is shorter than it should be, or gone. */
	f = open_tagged(s, 1, 8 * B, "\"a\"");
	ck_assert_int_eq(put(f, 0, 2 * B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	ck_assert_int_eq(ftruncate(sparse_fd(f), B), 0);
	sparse_unref(f);
	f = open_tagged(s, 1, 8 * B, "\"a\"");
	ck_assert_uint_eq(sparse_present(f), 0);
	sparse_unref(f);
	store_close(s);
	s = open_scratch();
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert_uint_eq(totals(s).sparse, 1);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 1);
	sql("UPDATE sparse SET name = '../../etc/passwd'");
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert_uint_eq(totals(s).sparse, 0);
	/* Opening the store drops a row without its file, too. */
	sparse_unref(open_tagged(s, 1, 8 * B, "\"a\""));
	sql("UPDATE sparse SET name = '0123456789abcdef'");
	store_close(s);
	s = open_scratch();
	ck_assert_uint_eq(totals(s).sparse, 0);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(evicted_when_idle)
{
	struct sparse *open, *idle;
	struct store *s;

	scratch_dir();
	s = open_with(20 * (uint64_t)B, 0);
	idle = open_tagged(s, 1, 100 * B, "\"a\"");
	ck_assert_int_eq(put(idle, 0, 8 * B, 1), 0);
	ck_assert_int_eq(sparse_commit(idle), 0);
	sparse_unref(idle);
	open = open_tagged(s, 2, 100 * B, "\"a\"");
	ck_assert_int_eq(put(open, 0, 8 * B, 1), 0);
	ck_assert_int_eq(sparse_commit(open), 0);
	ck_assert_uint_eq(totals(s).sparse, 2); /* 100 blocks each, if holes counted */
	sql("UPDATE sparse SET used = id");
	ck_assert_int_eq(put(open, 20 * B, 8 * B, 1), 0);
	ck_assert_int_eq(sparse_commit(open), 0);
	ck_assert_uint_eq(totals(s).sparse, 1);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 1);
	/* What is open stays, also when the store is over its quota by it alone. */
	ck_assert_int_eq(put(open, 40 * B, 20 * B, 1), 0);
	ck_assert_int_eq(sparse_commit(open), 0);
	ck_assert_uint_eq(totals(s).sparse, 1);
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert(reads(open, 40 * B, 20 * B, 1));
	ck_assert_int_eq(put(open, 80 * B, B, 1), 0);
	ck_assert_int_eq(sparse_commit(open), 0);
	sparse_unref(open);
	/* Found open or not: at once. */
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert_uint_eq(totals(s).sparse + totals(s).sparse_bytes, 0);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* A download that waits for its next reader: eviction takes the file, and the bytes can still be read. */
START_TEST(evicted_without_readers)
{
	struct sparse *f, *again;
	struct store *s;

	scratch_dir();
	s = open_with(20 * (uint64_t)B, 0);
	f = open_tagged(s, 1, 100 * B, "\"a\"");
	ck_assert_int_eq(put(f, 0, 30 * B, 1), 0); /* not committed: the index does not count it */
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert(!sparse_is_gone(f) && totals(s).sparse == 1);
	ck_assert_uint_ge(totals(s).sparse_bytes, 30 * B);
	sparse_set_idle(f, true);
	sparse_set_idle(f, false);
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert(!sparse_is_gone(f) && !sparse_is_stale(f));
	sparse_set_idle(f, true);
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert_uint_eq(totals(s).sparse + totals(s).sparse_bytes, 0);
	ck_assert_uint_eq(count_files(in_scratch("sparse")), 0);
	ck_assert(sparse_is_gone(f) && sparse_is_stale(f));
	ck_assert(reads(f, 0, 30 * B, 1));
	ck_assert_int_eq(sparse_commit(f), -ESTALE);
	again = open_tagged(s, 1, 100 * B, "\"a\"");
	ck_assert(again != f && sparse_present(again) == 0);
	sparse_unref(f);
	sparse_unref(again);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(keeps_min_free)
{
	struct sparse *f;
	struct store *s;
	struct err e = {0};
	struct sparse_validator v = tag(100 * B, "\"a\"");
	struct key k = key_nth(1);

	scratch_dir();
	s = open_scratch();
	f = open_tagged(s, 1, 100 * B, "\"a\"");
	ck_assert_int_eq(put(f, 0, B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	sparse_unref(f);
	store_close(s);
	s = open_with(0, UINT64_MAX / 2);
	ck_assert_int_eq(sparse_open(s, &k, &v, "", &f, &e), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(e.text, "min-free"));
	store_close(s);
	scratch_end();
}
END_TEST

/* A disk that fails to write back says so once, and what it lost reads as anything. */
static bool no_sync;

int fdatasync(int fd)
{
	if (no_sync) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

START_TEST(a_failed_sync_loses)
{
	struct sparse *f, *again;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	f = open_tagged(s, 1, 8 * B, "\"a\"");
	ck_assert_int_eq(put(f, 0, 2 * B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	ck_assert_int_eq(put(f, 2 * B, 6 * B, 1), 0);
	ck_assert(sparse_is_full(f));
	no_sync = true;
	ck_assert_int_eq(sparse_commit(f), -EIO);
	no_sync = false;
	ck_assert_int_eq(sparse_commit(f), -ESTALE); /* not "all is well" */
	ck_assert(reads(f, 0, 2 * B, 1) && sparse_present(f) == 2 * B && !sparse_is_full(f));
	ck_assert(!sparse_has(f, 2 * B, 1));
	ck_assert_int_eq(sparse_finish(f, &FACTS, NULL, NULL, NULL), -ESTALE);
	ck_assert_int_eq(put(f, 2 * B, B, 1), -ESTALE);
	again = open_tagged(s, 1, 8 * B, "\"a\""); /* while it is held: from the start */
	ck_assert(again != f && sparse_present(again) == 0 && !sparse_is_stale(again));
	ck_assert_int_eq(put(again, 0, B, 1), 0);
	ck_assert_int_eq(sparse_commit(again), 0);
	ck_assert(reads(f, 0, 2 * B, 1));
	sparse_unref(f);
	ck_assert_int_eq(put(again, B, 7 * B, 1), 0);
	no_sync = true;
	ck_assert_int_eq(sparse_finish(again, &FACTS, NULL, NULL, NULL), -EIO);
	no_sync = false;
	ck_assert_int_eq(sparse_finish(again, &FACTS, NULL, NULL, NULL), -ESTALE);
	sparse_unref(again);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(full_disk)
{
	struct key other = key_nth(9);
	struct sparse *f;
	struct store *s;
	uint64_t off = 0;
	int r = 0;

	scratch_dir();
	if (geteuid() != 0 || mount("none", scratch, "tmpfs", 0, "size=16m,mode=700") < 0) {
		fprintf(stderr, "full_disk: skipped, no tmpfs can be mounted\n");
		scratch_end();
		return;
	}
	s = open_scratch();
	ck_assert_int_eq(publish(s, &other, 9, 4 << 20), 0);
	f = open_tagged(s, 1, 400 * (uint64_t)B, "\"a\""); /* more than there is: holes cost nothing */
	for (; r == 0; off += r == 0 ? B : 0)
		r = put(f, off, B, 1);
	ck_assert_int_eq(r, -ENOSPC);
	ck_assert(!sparse_has(f, off, B) && reads(f, 0, off, 1));
	ck_assert_int_eq(store_make_room(s, 2 * B, NULL), 0); /* of the other one */
	ck_assert(!store_has(s, &other, NULL));
	ck_assert_int_eq(put(f, off, B, 1), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	/* Nothing else can go, and what is open stays. */
	for (r = 0, off += B; r == 0; off += r == 0 ? B : 0)
		r = put(f, off, B, 1);
	ck_assert_int_eq(r, -ENOSPC);
	ck_assert_int_eq(store_make_room(s, 4 << 20, NULL), -ENOSPC);
	ck_assert(reads(f, 0, off, 1) && !sparse_is_stale(f));
	ck_assert_int_eq(sparse_drop(f), 0);
	sparse_unref(f);
	ck_assert_int_eq(publish(s, &other, 9, 4 << 20), 0);
	ck_assert_uint_eq(totals(s).sparse, 0);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	umount2(scratch, MNT_DETACH);
	scratch_end();
}
END_TEST

static void writer_without_commit(void *ctx)
{
	struct store *s = open_scratch();
	struct sparse *f = open_tagged(s, 1, 100 * B, "\"a\"");

	ck_assert_int_eq(put(f, 0, 100 * B, 1), 0);
	_exit(0);
}

/* The blocks that a process wrote but did not commit are room that eviction can make. */
START_TEST(uncommitted_blocks_are_room)
{
	struct store_sparse_row row;
	struct store *s;

	scratch_dir();
	if (geteuid() != 0 || mount("none", scratch, "tmpfs", 0, "size=16m,mode=700") < 0) {
		fprintf(stderr, "uncommitted_blocks_are_room: skipped, no tmpfs can be mounted\n");
		scratch_end();
		return;
	}
	s = open_scratch();
	ck_assert_int_eq(child_status(in_child(writer_without_commit, NULL)), 0);
	ck_assert_int_eq(store_list_sparse(s, 0, &row, 1), 1);
	ck_assert_uint_eq(row.allocated, 0);
	ck_assert_int_eq(store_make_room(s, 12 << 20, NULL), 0);
	ck_assert_uint_eq(totals(s).sparse, 0);
	store_close(s);
	umount2(scratch, MNT_DETACH);
	scratch_end();
}
END_TEST

UNIT_MAIN("sparse", holes_are_never_read, parts_of_blocks, committed_stays, versions_never_mix, finishes,
	goes_with_what_replaces_it, threads_fill_and_read, threads_open_and_close, two_processes,
	killed_writers, the_index_goes, rows_that_lie, evicted_when_idle, evicted_without_readers,
	keeps_min_free, a_failed_sync_loses, full_disk, uncommitted_blocks_are_room)
