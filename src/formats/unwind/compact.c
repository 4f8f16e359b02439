/* Reads Mach-O's compact unwind information: each function has a word of 32 bits that says how its frame looks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "base/grow.h"
#include "base/util.h"
#include "formats/unwind/entries.h"

enum {
	PAGE_REGULAR = 2, PAGE_COMPRESSED = 3,
	X86_FRAME = 1, X86_STACK = 2, X86_STACK_INDIRECT = 3, X86_DWARF = 4,
	ARM64_FRAMELESS = 2, ARM64_DWARF = 3, ARM64_FRAME = 4
};
#define ENTRIES_MOST (1u << 24)

struct list {
	struct span s; /* __unwind_info */
	bool swap;
	struct unwind_entries *out;
	size_t room;
};

static bool word_at(const struct list *l, uint64_t at, uint32_t *v)
{
	const uint8_t *p = span_at(l->s, at, 4);

	*v = p ? load32(p, l->swap) : 0;
	return p != NULL;
}

static bool half_at(const struct list *l, uint64_t at, uint32_t *v)
{
	const uint8_t *p = span_at(l->s, at, 2);

	*v = p ? load16(p, l->swap) : 0;
	return p != NULL;
}

/* Adds an entry, which ends where the next one begins. */
static int add(struct list *l, uint32_t off, uint32_t encoding)
{
	struct unwind_entries *out = l->out;
	uint64_t start = out->base + off;

	if (out->n == ENTRIES_MOST)
		return -EBADMSG;
	if (out->n) {
		if (start < out->all[out->n - 1].start)
			return -EBADMSG;
		out->all[out->n - 1].end = start;
	}
	return APPEND(out->all, l->room, out->n, (struct unwind_entry){start, start, encoding});
}

static int regular_page(struct list *l, uint64_t page)
{
	uint32_t first, n, off, encoding;
	int r = 0;

	if (!half_at(l, page + 4, &first) || !half_at(l, page + 6, &n))
		return -EBADMSG;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = word_at(l, page + first + 8ull * i, &off) && word_at(l, page + first + 8ull * i + 4, &encoding)
			? add(l, off, encoding) : -EBADMSG;
	return r;
}

/* Offsets of 24 bits from the page's first function, and the number of the encoding: of the file's common ones, then
 * of the page's own. */
static int compressed_page(struct list *l, uint64_t page, uint32_t base, uint32_t common, uint32_t n_common)
{
	uint32_t first, n, own, n_own, word, encoding;
	int r = 0;

	if (!half_at(l, page + 4, &first) || !half_at(l, page + 6, &n) || !half_at(l, page + 8, &own) ||
		!half_at(l, page + 10, &n_own))
		return -EBADMSG;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		uint32_t number;

		if (!word_at(l, page + first + 4ull * i, &word))
			return -EBADMSG;
		number = word >> 24;
		if (number >= n_common + n_own)
			return -EBADMSG;
		if (!word_at(l, number < n_common ? common + 4ull * number : page + own + 4ull * (number - n_common),
			    &encoding))
			return -EBADMSG;
		r = add(l, base + (word & 0xffffff), encoding);
	}
	return r;
}

static int read_pages(struct list *l)
{
	uint32_t version, common, n_common, index, n_index, off, page, kind;
	int r = 0;

	if (!word_at(l, 0, &version) || version != 1 || !word_at(l, 4, &common) || !word_at(l, 8, &n_common) ||
		!word_at(l, 20, &index) || !word_at(l, 24, &n_index) || n_common > 127)
		return -EBADMSG;
	for (uint32_t i = 0; r == 0 && i < n_index; i++) {
		if (!word_at(l, index + 12ull * i, &off) || !word_at(l, index + 12ull * i + 4, &page))
			return -EBADMSG;
		if (!page) /* the last one has the end of the last function */
			r = add(l, off, 0);
		else if (!word_at(l, page, &kind))
			r = -EBADMSG;
		else if (kind == PAGE_REGULAR)
			r = regular_page(l, page);
		else if (kind == PAGE_COMPRESSED)
			r = compressed_page(l, page, off, common, n_common);
		else
			r = -EBADMSG;
	}
	return r;
}

/* ---- what a word says ------------------------------------------------------------------ */

static struct unwind_rule at(int64_t off)
{
	return (struct unwind_rule){.kind = UNWIND_AT, .off = off};
}

static void set_cfa(struct unwind_row *row, unsigned reg, int64_t off)
{
	row->cfa = (struct unwind_rule){.kind = UNWIND_REGISTER, .reg = (uint16_t)reg, .off = off};
}

/* The registers that words for x86 number 1 to 6, by their numbers in DWARF. */
static const uint8_t amd64_of[8] = {0, 3, 12, 13, 14, 15, 6, 0}, i386_of[8] = {0, 3, 1, 2, 7, 6, 4, 0};

/* rbp is saved below the return address, and up to five registers below `locals` words. */
static bool x86_frame(const struct unwind_arch *a, uint32_t word, struct unwind_row *row)
{
	int64_t size = a->bytes, locals = word >> 16 & 0xff;
	bool wide = size == 8;

	set_cfa(row, wide ? 6 : 4, 2 * size);
	row->regs[wide ? 6 : 4] = at(-2 * size);
	for (unsigned i = 0; i < 5; i++) {
		unsigned number = word >> (3 * i) & 7;

		if (number == 7)
			return false;
		if (number)
			row->regs[(wide ? amd64_of : i386_of)[number]] = at((-2 - locals + (int)i) * size);
	}
	return true;
}

/* The order in which `n` of six registers were pushed, packed as a number in a system with mixed radices. */
static bool x86_order(unsigned n, uint32_t packed, uint8_t order[static 6])
{
	static const uint16_t weights[7][6] = {{0}, {1}, {5, 1}, {20, 4, 1}, {60, 12, 3, 1}, {120, 24, 6, 2, 1},
		{120, 24, 6, 2, 1, 1}};
	bool used[7] = {false};

	for (unsigned i = 0; i < n; i++) {
		unsigned left = n == 6 && i == 5 ? 0 : packed / weights[n][i], number = 1;

		if (!(n == 6 && i == 5))
			packed %= weights[n][i];
		for (; number < 7; number++)
			if (!used[number] && left-- == 0)
				break;
		if (number == 7)
			return false;
		used[number] = true;
		order[i] = (uint8_t)number;
	}
	return true;
}

/* The size of the frame is in the word, or in an instruction of the function that subtracts it. */
static bool x86_stack(const struct unwind_entries *l, const struct unwind_arch *a, const struct unwind_entry *e,
	struct unwind_row *row)
{
	int64_t size = a->bytes, frame = (e->info >> 16 & 0xff) * size;
	unsigned n = e->info >> 10 & 7;
	bool wide = size == 8;
	uint8_t order[6];

	if ((e->info >> 24 & 15) == X86_STACK_INDIRECT) {
		const uint8_t *p = e->start >= l->text_at
			? span_at(l->text, e->start - l->text_at + (e->info >> 16 & 0xff), 4) : NULL;

		if (!p)
			return false;
		frame = load32(p, l->image->swap) + (e->info >> 13 & 7) * size;
	}
	if (n > 6 || !x86_order(n, e->info & 0x3ff, order))
		return false;
	set_cfa(row, wide ? 7 : 5, frame);
	for (unsigned i = 0; i < n; i++)
		row->regs[(wide ? amd64_of : i386_of)[order[i]]] = at((-1 - (int64_t)n + i) * size);
	return true;
}

/* Pairs of registers are saved downwards, those of integers before those of floating point. */
static void arm64_pairs(uint32_t word, int64_t below, struct unwind_row *row)
{
	for (unsigned pair = 0; pair < 5; pair++)
		if (word >> pair & 1) {
			row->regs[19 + 2 * pair] = at(below - 8);
			row->regs[20 + 2 * pair] = at(below - 16);
			below -= 16;
		}
}

static bool arm64_row(uint32_t word, struct unwind_row *row)
{
	unsigned mode = word >> 24 & 15;

	if (mode == ARM64_FRAME) {
		set_cfa(row, 29, 16);
		row->ra = at(-8);
		row->regs[29] = at(-16);
		arm64_pairs(word, -16, row);
		return true;
	}
	set_cfa(row, 31, 16 * (int64_t)(word >> 12 & 0xfff)); /* the return address stays in x30 */
	arm64_pairs(word, 0, row);
	return mode == ARM64_FRAMELESS;
}

static void compact_write(const struct unwind_entries *l, const struct unwind_entry *e, struct unwind_text *to)
{
	const struct unwind_arch *a = unwind_arch_macho(l->image->machine, true);
	struct unwind_row row = {.ra_column = a->ra};
	unsigned mode = e->info >> 24 & 15;
	bool sound;

	/* DWARF: __eh_frame has the function, and comes first. */
	if (!mode || mode == (a->link ? ARM64_DWARF : X86_DWARF)) {
		unwind_gap(to, e->start, UNWIND_GAP_NONE);
		return;
	}
	if (!a->link)
		row.ra = at(-(int64_t)a->bytes);
	sound = a->link ? arm64_row(e->info, &row)
		: mode == X86_FRAME ? x86_frame(a, e->info, &row) : mode < X86_DWARF && x86_stack(l, a, e, &row);
	if (!sound) {
		unwind_gap(to, e->start, UNWIND_GAP_BROKEN);
		return;
	}
	unwind_text_counts(to)->at_calls++;
	unwind_row(to, e->start, e->end, &row);
}

int unwind_compact(const struct image *m, struct unwind_entries *out)
{
	const struct unwind_arch *a = m->kind == IMAGE_MACHO ? unwind_arch_macho(m->machine, true) : NULL;
	struct image_section s, text;
	struct image_macho macho;
	struct list l = {.swap = m->swap, .out = out};
	int r;

	memset(out, 0, sizeof(*out));
	if (!a || (a->link && a->bytes == 4) || image_find(m, "__unwind_info", &s) < 0 || !s.bytes.n)
		return -ENODATA;
	r = image_macho(m, &macho);
	if (r < 0)
		return r;
	out->image = m;
	out->base = macho.base;
	if (image_find(m, "__text", &text) == 0) {
		out->text = text.bytes;
		out->text_at = text.addr;
	}
	out->write = compact_write;
	l.s = s.bytes;
	r = read_pages(&l);
	if (out->n && out->all[out->n - 1].end <= out->all[out->n - 1].start)
		out->n--; /* only the end of the last function */
	if (r == 0 && !out->n)
		r = -ENODATA;
	if (r < 0)
		unwind_entries_release(out);
	return r;
}
