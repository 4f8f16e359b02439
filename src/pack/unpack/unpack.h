/* Unpacks files that hold one other file: gzip, zlib, zstd, and cabinets (MSZIP, LZX, Quantum) or zip
 * archives with one member. The first bytes of a file say how it is packed; its name does not count, and
 * names inside it are ignored. The packed file is read through a view, so it may still be growing. The
 * output is bounded in bytes and in its ratio to the input, which also bounds the time. Any thread; one
 * thread at a time for each struct unpack. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"

#include <sys/types.h>

#define UNPACK_HEAD 4 /* first bytes that packing_of() needs */
/* The maximum number of unpacked bytes for each packed byte, on average. The first UNPACK_FREE bytes are
 * exempt: a small file of zeros is harmless. */
#define UNPACK_RATIO 1000
#define UNPACK_FREE (16u << 20)

struct packing;
struct unpack;

/* The packing of a file that begins with `head`. NULL: the file is not packed, or packed in an unknown
 * way. */
const struct packing *packing_of(const void *head, size_t n);
const char *packing_name(const struct packing *p); /* "gzip" "zlib" "zstd" "cab" "zip": static */

/* Receives the next unpacked bytes. 0; any other value ends unpack_more(), which returns it. */
typedef int unpack_write(void *ctx, const void *p, size_t n);

/* Begins to unpack a file into `write`, at most `most` bytes. 0, -ENOMEM. */
int unpack_new(struct unpack **out, const struct packing *p, uint64_t most, unpack_write *write,
	void *ctx);
/* Lifts the bound of the ratio, for gzip and zstd: a core file is mostly zeros. */
void unpack_trust(struct unpack *u);
void unpack_free(struct unpack *u); /* NULL is fine */
#define _cleanup_unpack_ __attribute__((cleanup(cleanup_unpack)))
static inline void cleanup_unpack(struct unpack **u)
{
	unpack_free(*u);
}

/* Unpacks the bytes that the view gained since the last call; the view must be of the same file. Call it
 * again after -EAGAIN only.
 *	0		the file is unpacked, and its checksums (if any) are right
 *	-EAGAIN		the view lacks bytes; cab and zip need the whole file
 *	-EBADMSG	the file is broken or cut short
 *	-EFBIG		the output exceeds a bound
 *	-ENOTSUP	several members or none, encrypted, or packed by an unknown method
 *	others		memory, the disk, or what the write function returned
 * All but the first two set `e` to text that follows a subject: "is cut short". */
int unpack_more(struct unpack *u, struct view *v, struct err *e);

uint64_t unpack_made(const struct unpack *u); /* bytes written so far */

/* Unpacks as many bytes as `head`, the first bytes of the packed file, allows. Returns the number of
 * unpacked bytes: 0 also if the file is broken, or is a cabinet packed by LZX or Quantum. Cheap. */
size_t unpack_peek(const struct packing *p, const void *head, size_t n, void *out, size_t room);

/* Names the unpacked file by the path of the packed file: "foo.debug" for "a/foo.debug.gz", "foo.pdb" for
 * "foo.pdb/ID/foo.pd_"; the packed file's own name if no rule fits. Cut to `room`. */
void unpack_name(const char *path, char *out, size_t room);
