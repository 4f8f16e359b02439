/* Embeds GSYM in a copy of the file that it was made from: the formats, and the check of the copy. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/embed-private.h"
#include "base/bytes.h"
#include "base/util.h"

#include <string.h>

/* Embeds GSYM in a copy of an ELF file. Sections that are not loaded can move, because debuggers find them by
 * their headers. */

enum {
	SHT_PROGBITS = 1, SHF_ALLOC = 2, SHF_COMPRESSED = 0x800, SHN_LORESERVE = 0xff00
};

#define GSYM_NAME ".gsym"
#define STRINGS_NAME ".gsymstrtab"
#define ALIGN 16 /* at least; a section that moves keeps its alignment */
#define ALIGN_MOST 4096

/* ---- a section that can grow ------------------------------------------------------------- */

static uint64_t offset_of(const struct image *m, uint32_t i)
{
	const uint8_t *h = m->file.p + m->at + (uint64_t)i * m->entry;

	return m->is64 ? load64(h + 24, m->swap) : load32(h + 16, m->swap);
}

/* Whether no segment reaches beyond `end`. */
static bool segments_end_before(const struct image *m, uint64_t end)
{
	for (uint32_t i = 0; i < m->n_segments; i++) {
		const uint8_t *h = span_at(m->file, m->segments_at + (uint64_t)i * m->segment_entry,
			m->is64 ? 56 : 32);
		uint64_t off, n;

		if (!h)
			return false;
		off = m->is64 ? load64(h + 8, m->swap) : load32(h + 4, m->swap);
		n = m->is64 ? load64(h + 32, m->swap) : load32(h + 16, m->swap);
		if (n && (off > end || n > end - off))
			return false;
	}
	return m->segments_at < end;
}

/* Whether the host section can grow, because all sections behind it can move. `*align`: the largest alignment of
 * these sections. */
static bool can_grow(const struct image *m, const struct image_section *host, uint64_t *align)
{
	uint64_t end = offset_of(m, host->index) + host->bytes.n;

	*align = ALIGN;
	if (!host->bytes.n || host->flags & (SHF_ALLOC | SHF_COMPRESSED) ||
		host->bytes.p[host->bytes.n - 1] || !segments_end_before(m, end))
		return false;
	for (uint32_t i = 0; i < m->n_sections; i++) {
		struct image_section s;
		uint64_t off = offset_of(m, i);

		if (image_section(m, i, &s) < 0)
			return false;
		if (i == host->index || !s.bytes.n || off + s.bytes.n <= end)
			continue;
		if (off < end || s.flags & SHF_ALLOC || s.align > ALIGN_MOST || (s.align & (s.align - 1)))
			return false;
		*align = MAX(*align, s.align);
	}
	return true;
}

/* ---- GSYM that shares the strings of a section -------------------------------------------- */

/* Writes GSYM that shares the strings of a section. Chooses the section that lacks the fewest bytes of strings. */
static int write_shared(struct embed *x, struct err *e)
{
	static const char *const hosts[] = {".debug_str", ".strtab"};
	struct image_section best = {0}, s;
	uint64_t align = 0, best_align = 1;
	size_t least = SIZE_MAX;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(hosts); i++) {
		if (image_find(&x->m, hosts[i], &s) < 0 || !can_grow(&x->m, &s, &align))
			continue;
		r = embed_write(x, &s, STRINGS_NAME, e);
		if (r == 0 && x->strings.n < least) {
			least = x->strings.n;
			best = s;
			best_align = align;
		}
	}
	if (r == 0)
		r = embed_write(x, best.bytes.n ? &best : NULL, STRINGS_NAME, e);
	if (r < 0)
		return r;
	x->host = best;
	x->end = x->m.file.n;
	if (!best.bytes.n)
		return 0;
	if (best.index == x->names && buf_add(&x->strings, GSYM_NAME, sizeof(GSYM_NAME)) < 0)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	x->end = offset_of(&x->m, best.index) + best.bytes.n;
	x->delta = (x->strings.n + best_align - 1) / best_align * best_align;
	return 0;
}

/* ---- the file ----------------------------------------------------------------------------- */

/* Writes the old file. A section header table at its end is omitted, because a new table follows. */
static void put_old(struct embed *x)
{
	const struct image *m = &x->m;
	uint64_t n = m->file.n;

	if (m->at + (uint64_t)m->n_sections * m->entry == n &&
		(!x->host.bytes.n || m->at >= x->end))
		n = m->at;
	buf_add(x->out, m->file.p, MIN(x->end, n));
	if (!x->delta)
		return;
	buf_add(x->out, x->strings.p, x->strings.n);
	embed_zeros(x, x->delta - x->strings.n);
	buf_add(x->out, m->file.p + x->end, n - x->end);
}

static void set_word(const struct embed *x, uint8_t *h, unsigned at64, unsigned at32, uint64_t v)
{
	embed_set(x, h + (x->m.is64 ? at64 : at32), v, x->m.is64 ? 8 : 4);
}

/* Writes the header of section i with its new offset and size. */
static void put_header(struct embed *x, uint32_t i, uint64_t names_at, uint64_t names_n)
{
	const struct image *m = &x->m;
	uint64_t off = offset_of(m, i);
	uint8_t h[64];

	memcpy(h, m->file.p + m->at + (uint64_t)i * m->entry, m->entry);
	if (load32(h, m->swap) >= m->names.n) /* the section has no name; a longer name table must not give it one */
		embed_set(x, h, 0, 4);
	if (x->delta && off >= x->end && i != x->host.index)
		set_word(x, h, 24, 16, off + x->delta);
	if (x->host.bytes.n && i == x->host.index)
		set_word(x, h, 32, 20, x->host.size + x->strings.n);
	if (names_at && i == x->names) {
		set_word(x, h, 24, 16, names_at);
		set_word(x, h, 32, 20, names_n);
	}
	buf_add(x->out, h, m->entry);
}

static void put_new(struct embed *x, uint64_t name, uint64_t off, uint64_t n, unsigned align)
{
	uint8_t h[64] = {0};

	embed_set(x, h, name, 4);
	embed_set(x, h + 4, SHT_PROGBITS, 4);
	set_word(x, h, 24, 16, off);
	set_word(x, h, 32, 20, n);
	set_word(x, h, 48, 32, align);
	buf_add(x->out, h, x->m.entry);
}

/* Counts that are too large for the file header are stored in the first section header. */
static void set_head(struct embed *x, uint64_t headers, uint32_t count)
{
	uint8_t *h = (uint8_t *)x->out->p, *first = h + headers;

	set_word(x, h, 40, 32, headers);
	h += x->m.is64 ? 60 : 48;
	if (count < SHN_LORESERVE) {
		embed_set(x, h, count, 2);
		return;
	}
	embed_set(x, h, 0, 2);
	set_word(x, first, 32, 20, count);
}

static int put_all(struct embed *x)
{
	bool own = !x->host.bytes.n, in_host = x->host.bytes.n && x->host.index == x->names;
	uint64_t names_at = 0, names_n = 0, name, gsym_at, strings_at = 0, headers;

	put_old(x);
	embed_pad(x, 8);
	gsym_at = x->out->n;
	buf_add(x->out, x->main.p, x->main.n);
	if (own) {
		strings_at = x->out->n;
		buf_add(x->out, x->strings.p, x->strings.n);
	}
	name = in_host ? x->host.bytes.n + x->strings.n - sizeof(GSYM_NAME) : x->m.names.n;
	if (!in_host) {
		names_at = x->out->n;
		buf_add(x->out, x->m.names.p, x->m.names.n);
		buf_add(x->out, GSYM_NAME, sizeof(GSYM_NAME));
		buf_add(x->out, STRINGS_NAME, own ? sizeof(STRINGS_NAME) : 0);
		names_n = x->out->n - names_at;
	}
	embed_pad(x, 8);
	headers = x->out->n;
	for (uint32_t i = 0; i < x->m.n_sections; i++)
		put_header(x, i, names_at, names_n);
	put_new(x, name, gsym_at, x->main.n, 8);
	if (own)
		put_new(x, name + sizeof(GSYM_NAME), strings_at, x->strings.n, 1);
	if (x->out->r < 0)
		return x->out->r;
	if (!x->m.is64 && x->out->n > UINT32_MAX)
		return -EFBIG;
	set_head(x, headers, x->m.n_sections + 1 + own);
	return 0;
}

/* Finds the section that holds the names of sections. */
static int find_names(struct embed *x)
{
	if (!x->m.names.n || x->m.names.p[x->m.names.n - 1])
		return -EBADMSG;
	for (uint32_t i = 0; i < x->m.n_sections; i++) {
		struct image_section s;

		if (image_section(&x->m, i, &s) == 0 && s.bytes.n && s.bytes.p == x->m.names.p &&
			s.bytes.n == x->m.names.n) {
			x->names = i;
			return 0;
		}
	}
	return -EBADMSG;
}

static int embed_elf(struct embed *x, struct err *e)
{
	int r;

	if (find_names(x) < 0)
		return err_set(e, -ENOTSUP, "has no section table to add a section to");
	r = write_shared(x, e);
	if (r < 0)
		return r;
	return put_all(x);
}

/* Checks the copy. If parts of the old file overlap, moving one may have damaged another. */
static int check(const struct embed *x, struct err *e)
{
	struct err ignored = {0};
	struct gsym g;
	int r = gsym_open(&g, (struct span){(uint8_t *)x->out->p, x->out->n}, &ignored);

	if (r == 0)
		r = gsym_check(&g, &ignored);
	return r < 0 ? err_set(e, -EBADMSG, "is broken: its sections overlap") : 0;
}

static int embed(struct embed *x, struct span file, struct err *e)
{
	static int (*const formats[])(struct embed *x, struct err *e) = {
		[IMAGE_ELF] = embed_elf, [IMAGE_MACHO] = embed_macho, [IMAGE_COFF] = embed_coff};
	struct image_section s;
	int r = image_open(&x->m, file, e);
	bool macho = x->m.kind == IMAGE_MACHO;

	if (r == 0 && x->m.kind == IMAGE_WASM)
		r = -ENOMSG;
	if (r < 0)
		return r != -ENOMSG ? r
				    : err_set(e, -ENOTSUP, "is not an object file: no section can be added to it");
	if (image_find(&x->m, macho ? "__gsym" : ".gsym", &s) != -ENOENT)
		return err_set(e, -ENOTSUP, "has a section %s already", macho ? "__gsym" : ".gsym");
	buf_clear(x->out);
	r = formats[x->m.kind](x, e);
	if (r < 0)
		return e->text[0] ? r : err_set(e, r, "%s", err_text(r));
	return check(x, e);
}

int gsym_embed(struct gsym_writer *w, const struct gsym_made *made, struct span file, struct buf *out,
	struct err *e)
{
	struct embed x = {
		.w = w, .out = out, .main = BUF_UP_TO(UINT32_MAX), .strings = BUF_UP_TO(UINT32_MAX)};
	int r = strcmp(made->from, "gsym") == 0 ? err_set(e, -ENOTSUP, "is GSYM already, or contains it")
						 : embed(&x, file, e);

	buf_release(&x.main);
	buf_release(&x.strings);
	return r;
}
