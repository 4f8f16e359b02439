/* Shared by the formats of embed.h: the copy that is being made. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "convert/embed.h"

struct embed {
	struct image m;
	struct gsym_writer *w;
	struct buf *out; /* keeps the first error */
	struct buf main, strings;
	struct image_section host; /* the section whose strings GSYM shares; bytes.n 0: there is no such section */
	/* ELF only: bytes from offset `end` on move by `delta`; `names` is the section of section names. */
	uint64_t end, delta;
	uint32_t names;
};

/* An insertion of `n` bytes at offset `at` of the old file. All bytes from `at` on move. */
struct embed_gap {
	uint64_t at, n;
};

/* The offset in the copy of the byte at offset `v` of the old file. */
static inline uint64_t embed_moved(const struct embed_gap gaps[2], uint64_t v)
{
	return v + (v >= gaps[0].at ? gaps[0].n : 0) + (v >= gaps[1].at ? gaps[1].n : 0);
}

void embed_zeros(struct embed *x, uint64_t n);
void embed_pad(struct embed *x, uint64_t align);
/* Appends the first `n` bytes of the old file, with zeros in the gaps. */
void embed_copy(struct embed *x, const struct embed_gap gaps[2], uint64_t n);
/* Writes a number of `n` bytes at `p`, in the byte order of the file. */
void embed_set(const struct embed *x, uint8_t *p, uint64_t v, unsigned n);
/* Whether all bytes of the old file from `from` to `to` are zero. */
bool embed_is_zero(const struct embed *x, uint64_t from, uint64_t to);

/* Writes GSYM to x->main, and to x->strings the strings that `host` lacks. `host` NULL: x->strings gets all
 * strings, for a section named `own`. Returns as gsym_write(). */
int embed_write(struct embed *x, const struct image_section *host, const char *own, struct err *e);

/* Write the copy of a file of one format to x->out. 0, -ENOTSUP, -EFBIG, -EBADMSG, or an error of gsym_write(). */
int embed_macho(struct embed *x, struct err *e);
int embed_coff(struct embed *x, struct err *e);
