/* The inside of unpack/: what a packing is, and what each of them is given. A file for each ends in
 * its row; unpack.c has the table. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"
#include "unpack/unpack.h"

#define UNPACK_CHUNK (64u << 10) /* packed bytes that are read at once, and bytes made at once */

struct packing {
	const char *name;
	bool streams; /* else its view must be whole */
	bool (*begins)(const uint8_t *p, size_t n);
	int (*open)(struct unpack *u);	 /* 0, -ENOMEM; sets u->state, may be NULL */
	void (*close)(struct unpack *u); /* may be NULL */
	/* Of a stream: the next bytes of the file, all of which are taken. 0: u->ended says whether
	 * the file may end here. */
	int (*feed)(struct unpack *u, struct span in, struct err *e);
	/* Of others: the whole file at once. */
	int (*whole)(struct unpack *u, struct view *v, struct err *e);
	/* Of others: what the first bytes of a file have of what is inside, at most `room`; how much.
	 * NULL: that cannot be seen without more of it. */
	size_t (*peek)(struct span head, uint8_t *out, size_t room);
};

struct unpack {
	const struct packing *packing;
	unpack_write *write;
	void *ctx;
	uint64_t most;
	uint64_t at;	/* of the file: what was fed */
	uint64_t taken; /* packed bytes that were looked at: what `made` is compared with */
	uint64_t made;
	bool ended;
	void *state;
	uint8_t in[UNPACK_CHUNK], out[UNPACK_CHUNK];
};

extern const struct packing packing_cab, packing_gzip, packing_zip, packing_zlib, packing_zstd;

/* Bytes that come out: checked against the bounds, and written. */
int unpack_out(struct unpack *u, const void *p, size_t n, struct err *e);

size_t cab_peek(struct span head, uint8_t *out, size_t room);
size_t zip_peek(struct span head, uint8_t *out, size_t room);

/* Whether as many bytes as a file says it has may come out of all that it has packed. */
int unpack_announced(const struct unpack *u, uint64_t size, uint64_t packed, struct err *e);
