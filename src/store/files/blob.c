/* Blobs: the bytes of one artifact, open for reading. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/files/blob.h"
#include "base/clock.h"
#include "base/util.h"
#include "base/view.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MADE_BY "#synthesized="
#define LOOK_EVERY_MS 1000 /* how often a file in place is checked for changes */

struct blob {
	atomic_uint refs;
	int fd;
	uint64_t size, number;
	char *path;
	char sha256[SHA256_TEXT]; /* "": a file in place, which the next fields identify */
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
	atomic_uint_fast64_t looked;

	struct blob_facts facts;
};

struct blob *blob_ref(struct blob *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

void blob_unref(struct blob *b)
{
	if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (b->fd >= 0)
		close(b->fd);
	free(b->path);
	free(b);
}

/* Takes over `fd`, also on error. */
static int blob_new(struct blob **out, int fd, const char *path, const struct blob_facts *facts)
{
	struct blob *b = calloc(1, sizeof(*b));

	if (b)
		b->path = strdup(path);
	if (!b || !b->path) {
		close(fd);
		free(b);
		return -ENOMEM;
	}
	atomic_init(&b->refs, 1);
	atomic_init(&b->looked, clock_ms());
	b->fd = fd;
	b->facts = *facts;
	*out = b;
	return 0;
}

int blob_of_file(struct blob **out, int fd, const char *path, const struct blob_facts *facts)
{
	struct stat st;
	struct blob *b;
	uint8_t raw[32];
	int r;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		r = S_ISREG(st.st_mode) ? -errno : -EINVAL;
		close(fd);
		return r;
	}
	r = blob_new(&b, fd, path, facts);
	if (r < 0)
		return r;
	b->size = (uint64_t)st.st_size;
	b->dev = st.st_dev;
	b->ino = st.st_ino;
	b->mtime = st.st_mtim;
	{
		uint64_t words[] = {st.st_dev, st.st_ino, (uint64_t)st.st_mtim.tv_sec,
			(uint64_t)st.st_mtim.tv_nsec, b->size};

		sha256_of(words, sizeof(words), raw);
	}
	b->number = digest_number(raw);
	*out = b;
	return 0;
}

int blob_of_store(struct blob **out, int fd, const char *path, const char *sha256, const struct stat *st,
	const struct blob_facts *facts)
{
	uint8_t raw[8];
	struct blob *b;
	int r;

	r = blob_new(&b, fd, path, facts);
	if (r < 0)
		return r;
	b->size = (uint64_t)st->st_size;
	b->mtime = st->st_mtim;
	snprintf(b->sha256, sizeof(b->sha256), "%s", sha256);
	hex_read(sha256, 16, raw);
	b->number = digest_number(raw);
	*out = b;
	return 0;
}

int blob_fd(const struct blob *b)
{
	return b->fd;
}

int blob_take_fd(struct blob *b)
{
	return atomic_load(&b->refs) == 1 ? take_fd(&b->fd) : fcntl(b->fd, F_DUPFD_CLOEXEC, 0);
}

int64_t blob_changed(const struct blob *b)
{
	return b->mtime.tv_sec;
}

uint64_t blob_size(const struct blob *b)
{
	return b->size;
}

const char *blob_path(const struct blob *b)
{
	return b->path;
}

const char *blob_sha256(const struct blob *b)
{
	return b->sha256;
}

const struct blob_facts *blob_facts(const struct blob *b)
{
	return &b->facts;
}

uint64_t blob_number(const struct blob *b)
{
	return b->number;
}

bool blob_has_changed(const struct blob *b)
{
	struct stat st;

	if (b->sha256[0])
		return false;
	return fstat(b->fd, &st) < 0 || st.st_dev != b->dev || st.st_ino != b->ino ||
	       (uint64_t)st.st_size != b->size || st.st_mtim.tv_sec != b->mtime.tv_sec ||
	       st.st_mtim.tv_nsec != b->mtime.tv_nsec;
}

/* Whether a file in place changed: symfs does not control such files. A check once a second is cheap; a
 * check for each read would not be. */
static bool is_stale(struct blob *b)
{
	uint64_t now, looked;

	if (b->sha256[0])
		return false;
	now = clock_ms();
	looked = atomic_load_explicit(&b->looked, memory_order_relaxed);
	if (now - looked < LOOK_EVERY_MS)
		return false;
	if (blob_has_changed(b))
		return true;
	atomic_store_explicit(&b->looked, now, memory_order_relaxed);
	return false;
}

ssize_t blob_read(struct blob *b, uint64_t off, void *p, size_t n)
{
	int r;

	if (off >= b->size)
		return 0;
	n = (size_t)MIN((uint64_t)n, b->size - off);
	n = MIN(n, (size_t)SSIZE_MAX);
	if (is_stale(b))
		return -ESTALE;
	r = pread_all(b->fd, off, p, n);
	return r == 0 ? (ssize_t)n : blob_has_changed(b) ? -ESTALE : -EIO;
}

/* ---- files that another symfs made ------------------------------------------------------ */

void blob_set_maker(struct blob_facts *f, const char *maker)
{
	size_t at = strnlen(f->url, sizeof(f->url) - sizeof(MADE_BY) - BLOB_MAKER);

	memcpy(f->url + at, MADE_BY, strlen(MADE_BY));
	at += strlen(MADE_BY);
	for (size_t i = 0; maker[i] && i + 1 < BLOB_MAKER; i++) {
		bool word = (maker[i] >= 'a' && maker[i] <= 'z') || (maker[i] >= 'A' && maker[i] <= 'Z') ||
			    (maker[i] >= '0' && maker[i] <= '9') || maker[i] == '.';

		f->url[at++] = word ? maker[i] : '+';
	}
	f->url[at] = '\0';
}

/* The name of a file in a directory can have these words, too. */
bool blob_is_made(const struct blob_facts *f)
{
	return f->url[0] != '/' && strstr(f->url, MADE_BY);
}

const char *blob_maker(const struct blob_facts *f, char out[static BLOB_MAKER])
{
	const char *at = blob_is_made(f) ? strstr(f->url, MADE_BY) + strlen(MADE_BY) : "";

	snprintf(out, BLOB_MAKER, "%.*s", BLOB_MAKER - 1, at);
	for (char *p = out; *p; p++)
		*p = *p == '+' ? ' ' : *p;
	return out;
}
