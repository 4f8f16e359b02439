/* Shared by the files that write GSYM: the output, and the encoding of numbers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/bytes.h"
#include "formats/gsym/walk.h"
#include "formats/gsym/writer-private.h"

/* An existing string section. GSYM refers to its strings, so that they need not be stored twice. */
struct shared {
	struct span all;
	uint32_t *slot; /* where strings begin, by hash */
	size_t room;
	uint32_t empty; /* the offset of an empty string */
};

struct output {
	struct gsym_writer *w;
	enum gsym_form form;
	bool swap;
	struct buf *main, *strings;
	struct shared shared; /* existing strings; empty with GSYM_V1 */
	const struct entry **all; /* sorted; one for each range of addresses */
	size_t n;
	uint32_t *text_at;   /* offset of a text, by its number; 0: not known yet */
	uint32_t *named;     /* GSYM_V1: the texts in the order of the output, until they are added to `main` */
	size_t n_named, n_strings; /* texts in `named`; bytes of the string table so far */
	uint32_t *file_at;   /* by number of the file */
	struct pair *files;  /* in the order of the output */
	uint32_t n_files;
	uint64_t base;
	unsigned off_size;
	struct buf payload;
	int failed;	     /* the first error of put(), which then does nothing */
};

static inline void put(struct output *o, struct buf *b, const void *p, size_t n)
{
	if (!o->failed)
		o->failed = buf_add(b, p, n);
}

static inline void put8(struct output *o, struct buf *b, uint8_t v)
{
	if (o->failed || !buf_fits(b, 1)) {
		put(o, b, &v, 1);
		return;
	}
	b->p[b->n++] = (char)v;
	b->p[b->n] = '\0';
}

static inline void put16(struct output *o, struct buf *b, uint16_t v)
{
	v = o->swap ? bswap_16(v) : v;
	put(o, b, &v, sizeof(v));
}

static inline void put32(struct output *o, struct buf *b, uint32_t v)
{
	v = o->swap ? bswap_32(v) : v;
	put(o, b, &v, sizeof(v));
}

static inline void put64(struct output *o, struct buf *b, uint64_t v)
{
	v = o->swap ? bswap_64(v) : v;
	put(o, b, &v, sizeof(v));
}

static inline void put_off(struct output *o, uint64_t v)
{
	if (o->off_size == 1)
		put8(o, o->main, (uint8_t)v);
	else if (o->off_size == 2)
		put16(o, o->main, (uint16_t)v);
	else if (o->off_size == 4)
		put32(o, o->main, (uint32_t)v);
	else
		put64(o, o->main, v);
}

#define ULEB_MOST 10

static inline size_t uleb(uint64_t v, uint8_t *to)
{
	size_t n = 0;

	do {
		to[n] = v & 0x7f;
		v >>= 7;
		to[n++] |= v ? 0x80 : 0;
	} while (v);
	return n;
}

static inline void put_uleb(struct output *o, struct buf *b, uint64_t v)
{
	uint8_t room[ULEB_MOST];

	if (o->failed || !buf_fits(b, ULEB_MOST)) {
		put(o, b, room, uleb(v, room));
		return;
	}
	b->n += uleb(v, (uint8_t *)b->p + b->n);
	b->p[b->n] = '\0';
}

/* Writes a number in `pad` bytes more than necessary. */
static inline void put_padded(struct output *o, struct buf *b, uint64_t v, unsigned pad)
{
	put_uleb(o, b, v);
	if (o->failed || !pad)
		return;
	b->p[b->n - 1] |= (char)0x80;
	while (--pad)
		put8(o, b, 0x80);
	put8(o, b, 0);
}

static inline void put_sleb(struct output *o, struct buf *b, int64_t v)
{
	bool more;

	do {
		uint8_t c = v & 0x7f;

		v >>= 7;
		more = !((v == 0 && !(c & 0x40)) || (v == -1 && (c & 0x40)));
		put8(o, b, more ? c | 0x80 : c);
	} while (more);
}

static inline void align_to(struct output *o, unsigned n)
{
	while (!o->failed && o->main->n % n)
		put8(o, o->main, 0);
}

/* Lists all functions of a writer and of those that were split from it, sorted as the file has them, and with those
 * that another function replaces: they come directly after it. The caller frees *out. 0, -ENOMEM, or the first error
 * of a writer. */
int write_sort_all(const struct gsym_writer *w, const struct entry ***out, size_t *n);
/* Appends one function to o->main. */
void write_function(struct output *o, const struct entry *x);
