/* Shared code of the tests of the store: a directory for each test, artifacts made from a number,
 * child processes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/util.h"
#include "store/store.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char scratch[256]; /* one for each test: libcheck forks */

static inline int scratch_rm(const char *path, const struct stat *st, int type, struct FTW *f)
{
	return remove(path);
}

static inline void scratch_end(void)
{
	if (scratch[0])
		nftw(scratch, scratch_rm, 16, FTW_DEPTH | FTW_PHYS);
}

static inline const char *scratch_dir(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(scratch, sizeof(scratch), "%s/symfs-test-XXXXXX", base ? base : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
	return scratch;
}

/* "SCRATCH/rest", in a few buffers that take turns. */
static inline const char *in_scratch(const char *rest)
{
	static char room[4][512];
	static unsigned turn;
	char *p = room[turn++ % 4];

	snprintf(p, sizeof(room[0]), "%s/%s", scratch, rest);
	return p;
}

static inline struct store *open_with(uint64_t quota, uint64_t min_free)
{
	struct store_opts o = {.dir = scratch, .quota = quota, .min_free = min_free};
	struct store *s = NULL;
	struct err e = {0};
	int r = store_open(&s, &o, &e);

	ck_assert_msg(r == 0, "store_open: %d %s", r, e.text);
	return s;
}

static inline struct store *open_scratch(void)
{
	return open_with(0, 0);
}

static inline struct key key_nth(unsigned n)
{
	struct key k = {.type = FILETYPE_ELF_DEBUG};

	snprintf(k.id, sizeof(k.id), "%08x00112233445566778899aabbccddeeff", n);
	return k;
}

static inline struct key key_of_text(const char *text)
{
	struct key k;

	ck_assert_int_eq(key_parse(&k, text), 0);
	return k;
}

#define FACTS                                                                                      \
	((struct blob_facts){.source = "test",                                                     \
		.url = "http://127.0.0.1/x",                                                       \
		.verified = true,                                                                  \
		.fetched = 1000})

/* The bytes of content number n: `size` of them. */
static inline void fill_bytes(unsigned char *p, size_t size, unsigned n)
{
	for (size_t i = 0; i < size; i++)
		p[i] = (unsigned char)(i * 7 + n * 31 + i / 251 * n);
	if (size >= 4)
		memcpy(p, &n, 4);
}

static inline int publish_facts(struct store *s, const struct key *k, unsigned content, size_t size,
	const struct blob_facts *f, struct blob **out)
{
	_cleanup_free_ unsigned char *p = malloc(size + 1);
	_cleanup_blob_ struct blob *b = NULL;
	struct draft *d;
	int r;

	fill_bytes(p, size, content);
	r = draft_new(&d, s, NULL);
	if (r < 0)
		return r;
	r = draft_write(d, 0, p, size);
	if (r < 0) {
		draft_discard(d);
		return r;
	}
	r = store_publish(s, d, k, f, &b, NULL);
	if (r == 0 && out)
		*out = blob_ref(b);
	return r;
}

static inline int publish(struct store *s, const struct key *k, unsigned content, size_t size)
{
	return publish_facts(s, k, content, size, &FACTS, NULL);
}

static inline bool has_bytes(struct blob *b, unsigned content, size_t size)
{
	_cleanup_free_ unsigned char *want = malloc(size + 1), *have = malloc(size + 1);

	fill_bytes(want, size, content);
	return blob_size(b) == size && blob_read(b, 0, have, size + 1) == (ssize_t)size &&
	       memcmp(want, have, size) == 0;
}

static inline bool finds(struct store *s, const struct key *k, unsigned content, size_t size)
{
	_cleanup_blob_ struct blob *b = NULL;

	return store_find(s, k, &b) == 0 && has_bytes(b, content, size);
}

static inline int verify_quiet(struct store *s)
{
	return store_verify(s, NULL, NULL);
}

static inline void write_file(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	ck_assert_int_eq(write(fd, p, n), (ssize_t)n);
	close(fd);
}

static inline bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static inline unsigned count_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	unsigned n = 0;

	ck_assert_ptr_nonnull(d);
	while ((entry = readdir(d)))
		n += entry->d_name[0] != '.';
	closedir(d);
	return n;
}

static struct {
	unsigned files;
	uint64_t bytes;
} below;

static inline int below_add(const char *path, const struct stat *st, int type, struct FTW *f)
{
	below.files += type == FTW_F;
	below.bytes += type == FTW_F ? (uint64_t)st->st_size : 0;
	return 0;
}

/* Counts the files below a directory, and their bytes, in `below`. */
static inline void count_below(const char *dir)
{
	memset(&below, 0, sizeof(below));
	nftw(dir, below_add, 16, FTW_PHYS);
}

/* Runs fn in a process of its own, which ends without the parent's exit handlers. */
static inline pid_t in_child(void (*fn)(void *ctx), void *ctx)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		fn(ctx);
		_exit(0);
	}
	return pid;
}

static inline int child_status(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}
