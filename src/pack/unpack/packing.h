/* Private to pack/unpack/: the interface of a packing. The file of each packing ends with the packing's row;
 * unpack.c has the table of rows, and packing.c the functions that packings call. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"
#include "pack/unpack/unpack.h"

#define UNPACK_CHUNK (64u << 10) /* size of the buffers for packed and for unpacked bytes */

struct packing {
	const char *name;
	bool streams; /* the packing unpacks piece by piece; else the view must be complete */
	bool (*begins)(const uint8_t *p, size_t n);
	int (*open)(struct unpack *u);	 /* 0, -ENOMEM; sets u->state; the pointer may be NULL */
	void (*close)(struct unpack *u); /* may be NULL */
	/* Only if `streams`. Consumes all of `in`, the next bytes of the file. Sets u->ended: whether the
	 * file may end here. 0, -errno. */
	int (*feed)(struct unpack *u, struct span in, struct err *e);
	/* Only if not `streams`. Unpacks the whole file at once. */
	int (*whole)(struct unpack *u, struct view *v, struct err *e);
	/* Only if not `streams`. Unpacks up to `room` bytes from the first bytes of a file, and returns
	 * their number. NULL: the packing cannot do this. */
	size_t (*peek)(struct span head, uint8_t *out, size_t room);
};

struct unpack {
	const struct packing *packing;
	unpack_write *write;
	void *ctx;
	uint64_t most;
	uint64_t at;	/* number of bytes of the file that feed() consumed */
	uint64_t taken; /* number of packed bytes read; the ratio is made / taken */
	uint64_t made;
	bool ended, trusted;
	void *state;
	uint8_t in[UNPACK_CHUNK], out[UNPACK_CHUNK];
};

extern const struct packing packing_cab, packing_gzip, packing_zip, packing_zlib, packing_zstd;

/* Writes unpacked bytes, within the bounds. 0; -EFBIG: too many; else the result of the write function. */
int unpack_out(struct unpack *u, const void *p, size_t n, struct err *e);

size_t cab_peek(struct span head, uint8_t *out, size_t room);
size_t zip_peek(struct span head, uint8_t *out, size_t room);

/* Checks the size that an archive announces for `packed` bytes against the bounds. 0, -EFBIG. */
int unpack_announced(const struct unpack *u, uint64_t size, uint64_t packed, struct err *e);
