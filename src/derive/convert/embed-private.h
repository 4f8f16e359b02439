/* Shared by the formats of embed.h: the copy that is being made. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/util.h"
#include "derive/convert/embed.h"

#include <stdio.h>
#include <string.h>

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

static inline void embed_zeros(struct embed *x, uint64_t n)
{
	static const uint8_t zeros[4096];

	for (; x->out->r == 0 && n; n -= MIN(n, sizeof(zeros)))
		buf_add(x->out, zeros, MIN(n, sizeof(zeros)));
}

static inline void embed_pad(struct embed *x, uint64_t align)
{
	embed_zeros(x, (align - x->out->n % align) % align);
}

/* Appends the first `n` bytes of the old file, with zeros in the gaps. */
static inline void embed_copy(struct embed *x, const struct embed_gap gaps[2], uint64_t n)
{
	const uint8_t *p = x->m.file.p;
	uint64_t at = 0;

	for (unsigned i = 0; i < 2; i++) {
		uint64_t to = MIN(gaps[i].at, n);

		if (to < at)
			continue;
		buf_add(x->out, p + at, to - at);
		embed_zeros(x, gaps[i].n);
		at = to;
	}
	buf_add(x->out, p + at, n - at);
}

/* Writes a number of `n` bytes at `p`, in the byte order of the file. */
static inline void embed_set(const struct embed *x, uint8_t *p, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * (x->m.big ? n - 1 - i : i));
}

/* Whether all bytes of the old file from `from` to `to` are zero. */
static inline bool embed_is_zero(const struct embed *x, uint64_t from, uint64_t to)
{
	for (; from < to && from < x->m.file.n; from++)
		if (x->m.file.p[from])
			return false;
	return from >= to;
}

/* Writes GSYM to x->main, and to x->strings the strings that `host` lacks. `host` NULL: x->strings gets all
 * strings, for a section named `own`. Returns as gsym_write(). */
static inline int embed_write(struct embed *x, const struct image_section *host, const char *own, struct err *e)
{
	char name[32];
	int r;

	snprintf(name, sizeof(name), "%.*s", host ? (int)host->name_len : (int)strlen(own),
		host ? host->name : own);
	gsym_share(x->w, host ? host->bytes : (struct span){0});
	r = gsym_write(x->w, GSYM_SECT0, x->m.big, name, &x->main, &x->strings, e);
	gsym_share(x->w, (struct span){0});
	return r;
}

/* Write the copy of a file of one format to x->out. 0, -ENOTSUP, -EFBIG, -EBADMSG, or an error of gsym_write(). */
int embed_macho(struct embed *x, struct err *e);
int embed_coff(struct embed *x, struct err *e);
