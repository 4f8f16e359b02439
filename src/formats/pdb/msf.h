/* The container of a PDB: numbered streams of bytes. There are two forms: MSF 7.00, whose streams consist of
 * blocks, and MSFZ, whose streams consist of fragments that can be compressed. microsoft-pdb and
 * microsoft/pdb-rs specify them.
 *
 * A struct msf is constant once it is open, and any number of threads may read it, each through a struct
 * msf_io of its own. A download of the file can still be running. A function that needs missing bytes returns
 * -EAGAIN, and the msf_io lists those bytes. The same call succeeds once the bytes are downloaded. */
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

/* The bytes of a decompressed chunk. */
struct msf_expanded {
	uint8_t *bytes; /* NULL: an empty entry */
	uint32_t chunk;
	size_t size;
};

#define MSF_CHUNKS_KEPT 8

/* One thread's access to the bytes of a file. */
struct msf_io {
	struct view v;
	unsigned n_lacks; /* entries in `lacks`, added by any number of calls; the caller resets this number to 0 */
	struct msf_lack lacks[MSF_LACKS_MOST];
	struct msf_expanded chunks[MSF_CHUNKS_KEPT]; /* MSFZ: the latest first */
	uint64_t expanded; /* bytes that were decompressed in all */
};

void msf_io_init(struct msf_io *io, const struct view *v);
void msf_io_release(struct msf_io *io);

struct msf_stream {
	uint32_t size;
	uint32_t first; /* MSF: index of the directory's 32-bit word with the stream's first block number; MSFZ:
			   index of the stream's first fragment */
	uint32_t end; /* MSFZ: index behind the stream's last fragment */
};

struct msf_fragment {
	uint32_t size;
	uint32_t from; /* offset in the stream */
	uint64_t where; /* place of the fragment's bytes, in the directory's encoding: see msfz_read() */
};

struct msf_chunk {
	uint64_t off;
	uint32_t how, packed, size;
	uint64_t from; /* decompressed bytes of the chunks before this one */
};

struct msf {
	uint64_t file_size;
	uint32_t n_streams;
	struct msf_stream *streams;

	/* MSF 7.00 */
	uint32_t block_size, n_blocks;
	unsigned block_bits; /* block_size is 1 << block_bits */
	uint8_t *directory;
	size_t directory_n;

	/* MSFZ; the pointers are NULL for MSF 7.00 */
	struct msf_fragment *fragments;
	size_t n_fragments;
	struct msf_chunk *chunks;
	uint32_t n_chunks;
	uint64_t expanded; /* decompressed bytes of all chunks */
};

/* Whether `head`, the first `n` bytes of a file, begins a container that msf_open() reads. False if `n` is less
 * than 32. */
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

/* Returns a pointer to the bytes in the memory of the view, valid as long as that memory. NULL: the view is not of
 * memory, the bytes are not in one piece there, or the stream is too short; call msf_read(). */
const uint8_t *msf_bytes(const struct msf *m, const struct msf_io *io, uint32_t stream, uint32_t off, size_t n);

/* Sets `*out` to the bytes: by msf_bytes(), or else by msf_load(). `*copy` is the loaded memory, which the caller
 * frees; NULL: nothing was loaded. Returns 0, or an error of msf_load(). */
int msf_borrow(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, size_t n, const uint8_t **out,
	uint8_t **copy, const char *what, struct err *e);
