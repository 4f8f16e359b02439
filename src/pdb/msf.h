/* The container of a PDB: numbered streams of bytes. Two forms are read: MSF 7.00, whose streams lie in
 * blocks, and MSFZ, whose streams lie in fragments that may be compressed. microsoft-pdb and
 * microsoft/pdb-rs specify them.
 *
 * A struct msf is constant once it is open, and any number of threads may read it, each through a
 * struct msf_io of its own. Bytes that are not here yet are not an error of the file: every function
 * then returns -EAGAIN, the io lists what was missing, and the same call succeeds once that has come. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MSF_NO_STREAM 0xffffu /* a stream number that says: there is none */

/* Bytes of the file that a call lacked. */
struct msf_lack {
	uint64_t off, n;
};

#define MSF_LACKS_MOST 1024

/* One thread's way to the bytes. */
struct msf_io {
	struct view v;
	unsigned n_lacks; /* of this call and those before; the caller sets it back to 0 */
	struct msf_lack lacks[MSF_LACKS_MOST];
	uint8_t *chunk; /* MSFZ: the chunk that was decompressed last, */
	uint32_t chunk_n;
	bool has_chunk;
	size_t chunk_size;
};

void msf_io_init(struct msf_io *io, const struct view *v);
void msf_io_release(struct msf_io *io);

struct msf_stream {
	uint32_t size;
	uint32_t first; /* which word of the directory (MSF) or which fragment (MSFZ) is its first */
};

struct msf_fragment {
	uint32_t size;
	uint64_t where; /* as the directory has it */
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

/* Whether the first bytes are those of a container that msf_open() reads. `n` of at least 32. */
bool msf_is(const void *head, size_t n);

/* Reads the directory. 0; -EAGAIN; -ENOTSUP: a PDB 2.0, or an MSFZ of a later version; -ENOMSG: not a
 * PDB; -EBADMSG: broken; -ENOMEM; `e` says so. msf_release() in every case. */
int msf_open(struct msf *m, struct msf_io *io, struct err *e);
void msf_release(struct msf *m);

/* Bytes of a stream; 0 when there is no such stream. */
uint32_t msf_size(const struct msf *m, uint32_t stream);

/* `n` bytes at `off` of a stream. 0; -EAGAIN; -EBADMSG: the stream ends before, or lies outside of the
 * file. `what` names the stream in `e`. */
int msf_read(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, void *p, size_t n,
	const char *what, struct err *e);

/* The same into memory that the caller frees; NULL for no bytes. -ENOMEM. */
int msf_load(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, size_t n, uint8_t **out,
	const char *what, struct err *e);
