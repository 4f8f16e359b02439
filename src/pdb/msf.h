/* The container of a PDB: numbered streams of bytes. There are two forms: MSF 7.00, whose streams consist of
 * blocks, and MSFZ, whose streams consist of fragments that may be compressed. microsoft-pdb and
 * microsoft/pdb-rs specify them.
 *
 * A struct msf is constant once it is open, and any number of threads may read it, each through a struct
 * msf_io of its own. The file may still be downloading. If bytes are missing, every function returns
 * -EAGAIN, and the msf_io lists them. The same call succeeds once they have come. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MSF_NO_STREAM 0xffffu /* in place of a stream number: there is no such stream */

/* A range of the file that a call needed but that is not downloaded yet. */
struct msf_lack {
	uint64_t off, n;
};

#define MSF_LACKS_MOST 1024

/* One thread's access to the bytes of a file. */
struct msf_io {
	struct view v;
	unsigned n_lacks; /* number of `lacks`, of this call and earlier ones; the caller resets it to 0 */
	struct msf_lack lacks[MSF_LACKS_MOST];
	uint8_t *chunk; /* MSFZ: the bytes of the last decompressed chunk; the next fields describe it */
	uint32_t chunk_n;
	bool has_chunk;
	size_t chunk_size;
};

void msf_io_init(struct msf_io *io, const struct view *v);
void msf_io_release(struct msf_io *io);

struct msf_stream {
	uint32_t size;
	uint32_t first; /* index of its first block number in the directory (MSF), or of its first fragment
			   (MSFZ) */
};

struct msf_fragment {
	uint32_t size;
	uint64_t where; /* place of its bytes, as in the directory: see msfz.c */
};

struct msf_chunk {
	uint64_t off;
	uint32_t how, packed, size;
};

struct msf {
	uint64_t file_size;
	uint32_t n_streams;
	struct msf_stream *streams;

	/* MSF 7.00 */
	uint32_t block_size, n_blocks;
	uint8_t *directory;
	size_t directory_n;

	/* MSFZ; NULL otherwise */
	struct msf_fragment *fragments;
	size_t n_fragments;
	struct msf_chunk *chunks;
	uint32_t n_chunks;
};

/* Whether the first bytes are those of a container that msf_open() reads. False if `n` is less than 32. */
bool msf_is(const void *head, size_t n);

/* Reads the directory. 0; -EAGAIN; -ENOTSUP: a PDB 2.0, or an MSFZ of a later version; -ENOMSG: not a PDB;
 * -EBADMSG: broken; -ENOMEM; with the reason in `e`. Call msf_release() in every case. */
int msf_open(struct msf *m, struct msf_io *io, struct err *e);
void msf_release(struct msf *m);

/* The size of a stream in bytes; 0 if there is no such stream. */
uint32_t msf_size(const struct msf *m, uint32_t stream);

/* Reads `n` bytes at offset `off` of a stream. 0; -EAGAIN; -EBADMSG: the stream is too short, or is not
 * inside the file. `what` names the stream in `e`. */
int msf_read(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, void *p, size_t n,
	const char *what, struct err *e);

/* Like msf_read(), into memory that the caller frees; `*out` is NULL if `n` is 0. Also -ENOMEM. */
int msf_load(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, size_t n, uint8_t **out,
	const char *what, struct err *e);

/* Returns the bytes in place, if the view is of memory and they lie there in one piece. They live as long as the
 * memory of the view. NULL: they do not, or the stream ends before; call msf_read(). */
const uint8_t *msf_bytes(const struct msf *m, const struct msf_io *io, uint32_t stream, uint32_t off, size_t n);

/* msf_bytes(), or else msf_load() into *copy, which the caller frees; NULL: there is no copy. */
int msf_borrow(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, size_t n, const uint8_t **out,
	uint8_t **copy, const char *what, struct err *e);
