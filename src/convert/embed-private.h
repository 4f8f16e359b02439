/* What the formats of embed.h share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "convert/embed.h"

struct embed {
	struct image m;
	struct gsym_writer *w;
	struct buf *out;
	struct buf main, strings;
	struct image_section host; /* whose strings are shared; bytes.n is 0: none */
	int failed;
	/* ELF's: what begins at `end` or behind moves so far; the section that has the names of sections. */
	uint64_t end, delta;
	uint32_t names;
};

/* A place in the old file where bytes come in between; what begins there or behind moves. */
struct embed_gap {
	uint64_t at, n;
};

/* Where what was at `v` is now. */
static inline uint64_t embed_moved(const struct embed_gap gaps[2], uint64_t v)
{
	return v + (v >= gaps[0].at ? gaps[0].n : 0) + (v >= gaps[1].at ? gaps[1].n : 0);
}

void embed_put(struct embed *x, const void *p, size_t n);
void embed_zeros(struct embed *x, uint64_t n);
void embed_pad(struct embed *x, uint64_t align);
/* The first `n` bytes of the old file, with zeros in the gaps. */
void embed_copy(struct embed *x, const struct embed_gap gaps[2], uint64_t n);
/* A number in the file's byte order at `p`. */
void embed_set(const struct embed *x, uint8_t *p, uint64_t v, unsigned n);
/* All bytes of the old file from `from` to `to` are zero. */
bool embed_is_zero(const struct embed *x, uint64_t from, uint64_t to);

/* GSYM into x->main, with what the strings of `host` lack in x->strings; NULL: with all of them there,
 * for a section of the name `own`. As gsym_write(). */
int embed_write(struct embed *x, const struct image_section *host, const char *own, struct err *e);

/* The copy of each format, into x->out. -ENOTSUP, -EFBIG, -EBADMSG; as gsym_write(). */
int embed_elf(struct embed *x, struct err *e);
int embed_macho(struct embed *x, struct err *e);
int embed_coff(struct embed *x, struct err *e);
