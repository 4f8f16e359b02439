/* The pieces of files that clients upload by Sentry's protocol, on disk until a file is assembled from them.
 * Each chunk has the name of its SHA-1, which is checked when it arrives. A chunk that no request mentions
 * for a day is removed, and so is a chunk an hour after its file was stored.
 *
 *	DIR/uploads/chunks/ab/REST	a chunk, named by the SHA-1 of its bytes
 *	DIR/uploads/new/		chunks that are arriving
 *	DIR/uploads/files/ab/REST	what became of a file, named by the file's SHA-1 (filed.h)
 *
 * Several processes may use the directory of one store. Any thread; each struct chunk belongs to one thread at
 * a time. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA1_TEXT 41 /* 40 hex digits and NUL */
struct sha1 {
	uint8_t bytes[20];
};

int sha1_read(const char *text, struct sha1 *out); /* 40 hex digits; 0, -EINVAL */
const char *sha1_text(const struct sha1 *s, char out[static SHA1_TEXT]); /* lower case; returns `out` */
bool sha1_equal(const struct sha1 *a, const struct sha1 *b);

#define CHUNK_MOST (8u << 20) /* bytes of one chunk: Sentry's own size */
#define CHUNKS_MOST (64ull << 30) /* bytes of all chunks of a store; a small chunk counts as CHUNK_LEAST */
#define CHUNK_LEAST (16u << 10)
#define CHUNKS_SECONDS (24 * 3600) /* the lifetime of a chunk that no request mentions */
#define CHUNKS_GRACE 3600 /* seconds for which a chunk stays after its file was stored: another file may
			     consist of it, too */
#define FILED_SECONDS (90 * 24 * 3600) /* the lifetime of a record that no request asks for (filed.h) */

struct chunks;
struct chunk;

/* `dir` is the directory of the store. `most`: bytes of all chunks; 0: CHUNKS_MOST. 0; -errno with a message
 * in `e`. (waits for the disk) */
int chunks_open(struct chunks **out, const char *dir, uint64_t most, struct err *e);
void chunks_close(struct chunks *c); /* NULL is fine */
const char *chunks_dir(const struct chunks *c); /* DIR/uploads */

/* ---- arrival ------------------------------------------------------------------------- */

/* Begins to take a chunk. `gzip`: the bytes come compressed, and `name` is the digest of the unpacked bytes.
 * 0; -ENOSPC: the chunks take as much as they may, or the disk is full; other -errno. */
int chunk_begin(struct chunk **out, struct chunks *c, const struct sha1 *name, bool gzip);
/* Takes the next n bytes. 0; -EFBIG: more than CHUNK_MOST; -EBADMSG: not gzip, or broken; -ENOSPC; other
 * -errno. */
int chunk_add(struct chunk *k, const void *p, size_t n);
/* Checks the digest and keeps the chunk; frees `k`. 0; -EBADMSG: the bytes have another digest, or end in the
 * middle of the compressed data; -ENOSPC; other -errno. */
int chunk_end(struct chunk *k);
void chunk_discard(struct chunk *k); /* NULL is fine */

/* ---- use ----------------------------------------------------------------------------- */

/* Whether the chunk is there. If so, its lifetime begins anew. */
bool chunks_have(struct chunks *c, const struct sha1 *name);
/* The size of a chunk. 0; -ENOENT; other -errno. */
int chunks_size(const struct chunks *c, const struct sha1 *name, uint64_t *size);
/* Opens a chunk for reading: the caller closes *fd. 0; -ENOENT; other -errno. */
int chunks_open_one(struct chunks *c, const struct sha1 *name, int *fd, uint64_t *size);
/* Reads a chunk, and removes it if its bytes have another digest (after a power failure). True: removed. */
bool chunks_drop_damaged(struct chunks *c, const struct sha1 *name);
/* The file of these chunks is stored: they go CHUNKS_GRACE seconds from now, unless another request
 * mentions them. */
void chunks_used(struct chunks *c, const struct sha1 *names, size_t n);

/* Removes the chunks whose lifetime has ended, and counts the rest. `now`: seconds since 1970. Returns the
 * number of removed chunks. (waits for the disk) */
unsigned chunks_sweep(struct chunks *c, int64_t now);
/* chunks_sweep(), if the last one was an hour ago. */
void chunks_sweep_sometimes(struct chunks *c);
