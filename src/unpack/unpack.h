/* Files that hold one other file, packed: gzip, zlib, zstd, a cabinet (MSZIP, LZX, Quantum) or zip
 * archive with one member. They are known by their first bytes, whatever their names say, and names
 * inside of them are ignored. The packed bytes are read through a view, so it may still grow; what
 * comes out goes to a function. Bounded: in bytes, in the ratio of both, and so in time. One
 * thread at a time for each. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"

#include <sys/types.h>

#define UNPACK_HEAD 4 /* so many first bytes tell */
/* A packed byte may become so many, on average over all that were read; but not before so many
 * bytes came out in all: a few zeros more are nothing to fear. */
#define UNPACK_RATIO 1000
#define UNPACK_FREE (16u << 20)

struct packing;
struct unpack;

/* What the first bytes of a file are those of; NULL: of nothing that is unpacked here. */
const struct packing *packing_of(const void *head, size_t n);
const char *packing_name(const struct packing *p); /* "gzip" "zlib" "zstd" "cab" "zip": static */

/* The next bytes that came out. Not 0: unpack_more() ends with it. */
typedef int unpack_write(void *ctx, const void *p, size_t n);

/* At most `most` bytes come out. 0, -ENOMEM. */
int unpack_new(struct unpack **out, const struct packing *p, uint64_t most, unpack_write *write,
	void *ctx);
void unpack_free(struct unpack *u); /* NULL is fine */
#define _cleanup_unpack_ __attribute__((cleanup(cleanup_unpack)))
static inline void cleanup_unpack(struct unpack **u)
{
	unpack_free(*u);
}

/* Goes on with what is in the view since the last time; always the same file. After any answer but
 * -EAGAIN there is no more to ask.
 *	0		that was all, and its checksums, where it has any, are right
 *	-EAGAIN		the view lacks bytes; cab and zip want the whole
 *	-EBADMSG	it is broken or cut short
 *	-EFBIG		more comes out than may
 *	-ENOTSUP	it has several members or none, is encrypted, or is packed in an unknown way
 *	others		memory, the disk, or what the write function said
 * All but the first two with words in `e`, that follow a subject: "is cut short". */
int unpack_more(struct unpack *u, struct view *v, struct err *e);

uint64_t unpack_made(const struct unpack *u); /* bytes that came out so far */

/* The first bytes of what is inside, as far as the first bytes of the packed file tell them: how
 * many. 0 also where they cannot, such as of cabinets packed by LZX, and when it is broken. Costs
 * little. */
size_t unpack_peek(const struct packing *p, const void *head, size_t n, void *out, size_t room);

/* What the inside of the packed file at `path` is called: "foo.debug" of "a/foo.debug.gz", "foo.pdb" of
 * "foo.pdb/ID/foo.pd_"; its own name where nothing is known. Cut to `room`. */
void unpack_name(const char *path, char *out, size_t room);
