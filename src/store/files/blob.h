/* The bytes of one artifact, whole and verified, open for reading: a sealed file of the store, or a file of a
 * directory source, read in place. A sealed file never changes. If a file in place changes, reads fail with
 * -ESTALE, after a second at most. Refcounted; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/hash.h"
#include "names/id/worth.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct blob;
struct stat;

/* Facts about an artifact other than its bytes. */
struct blob_facts {
	char source[64];	/* name of the source it came from */
	char url[2048];		/* the URL or path of the file at the source; without credentials */
	bool verified;		/* the identity in the file is the requested identity */
	int64_t fetched;	/* download time: seconds since 1970 */
	int64_t modified;	/* time of the file at its origin: seconds since 1970; 0: unknown */
	struct worth worth;
	bool pinned;		/* the user's own file; set by the store */
	uint32_t generation;	/* how many other files had the key before; set by the store */
};

/* The time of the file that users see. */
static inline int64_t blob_time(const struct blob_facts *f)
{
	return f->modified ? f->modified : f->fetched;
}

struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b); /* NULL is fine */
static inline void cleanup_blob(struct blob **b)
{
	blob_unref(*b);
}
#define _cleanup_blob_ __attribute__((cleanup(cleanup_blob)))

/* Makes a blob of a file in place, which is served without a copy. Takes the descriptor, also on error. 0,
 * -errno. */
int blob_of_file(struct blob **out, int fd, const char *path, const struct blob_facts *facts);

/* A sealed file of the store, for src/store/ only. Takes the descriptor, also on error. 0, -ENOMEM. */
int blob_of_store(struct blob **out, int fd, const char *path, const char *sha256, const struct stat *st,
	const struct blob_facts *facts);

int blob_fd(const struct blob *b);	     /* the blob keeps the descriptor */
/* The caller owns the descriptor: that of the blob, which cannot be read any more, or a duplicate if the blob has
 * other holders. -1: too many descriptors. */
int blob_take_fd(struct blob *b);
int64_t blob_changed(const struct blob *b); /* when the file was changed last, as it was opened: wall clock */
uint64_t blob_size(const struct blob *b);
const char *blob_path(const struct blob *b); /* absolute, at the time of the open */
const char *blob_sha256(const struct blob *b); /* "" for a file in place */
const struct blob_facts *blob_facts(const struct blob *b);

/* Blobs with the same number hold the same bytes. The number comes from the digest, or (dev, ino, mtime, size). */
uint64_t blob_number(const struct blob *b);

/* Whether a file in place is another than when it was opened. */
bool blob_has_changed(const struct blob *b);
/* Reads bytes at `off`; fewer than `n` only at the end. -EIO; -ESTALE: a file in place changed. */
ssize_t blob_read(struct blob *b, uint64_t off, void *p, size_t n);

/* ---- files that another symfs made, and not their publisher: their URL ends in the maker, "symfs sym 3" ---- */

#define BLOB_MAKER 48

/* Adds the maker to the URL, which is cut if it is long. */
void blob_set_maker(struct blob_facts *f, const char *maker);
/* Writes the maker; "": the file is as published. Returns `out`. */
const char *blob_maker(const struct blob_facts *f, char out[static BLOB_MAKER]);
bool blob_is_made(const struct blob_facts *f);
