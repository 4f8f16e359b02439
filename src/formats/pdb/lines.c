/* Reads the line tables of a module (the format C13), and the files and lines of inlined functions; sorts and
 * searches ranges of addresses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/little.h"
#include "base/search.h"
#include "base/util.h"
#include "formats/pdb/module-private.h"

#include <stdlib.h>
#include <string.h>

enum { PART_IGNORE = 0x80000000, PART_LINES = 0xf2, PART_CHECKSUMS = 0xf4, PART_INLINEES = 0xf6,
	PART_IMPORTS = 0xf7 };
enum { LINES_HEADER = 12, BLOCK_HEADER = 12, LINE_SIZE = 8, COLUMN_SIZE = 4, CHECKSUM_HEADER = 6 };
enum { HIDDEN_1 = 0xfeefee, HIDDEN_2 = 0xf00f00, LINE_MASK = 0xffffff };

/* ---- ranges ------------------------------------------------------------------------------- */

/* The sorted ranges can overlap each other. Because a broken file can have many ranges at one address, a search does
 * not visit all of them. */

static int compare_ranges(const void *a, const void *b)
{
	const struct pdb_range *x = a, *y = b;

	return COMPARE(x->section, y->section) ?: COMPARE(x->from, y->from) ?: COMPARE(x->which, y->which);
}

/* The ranges are a binary tree: the root of [a, b) is the range in the middle. */
static uint64_t set_reach(struct pdb_range *all, size_t a, size_t b)
{
	size_t mid = a + (b - a) / 2;
	uint64_t left, right;

	if (a >= b)
		return 0;
	left = set_reach(all, a, mid);
	right = set_reach(all, mid + 1, b);
	all[mid].reach = MAX(all[mid].to, MAX(left, right));
	return all[mid].reach;
}

void pdb_ranges_sort(struct pdb_range *all, size_t n)
{
	sort_array(all, n, sizeof(*all), compare_ranges);
	set_reach(all, 0, n);
}

size_t pdb_ranges_end(const struct pdb_range *all, size_t n, unsigned section, uint64_t to)
{
	return search_first(i, 0, n,
		all[i].section < section || (all[i].section == section && all[i].from < to));
}

/* The last range of the tree [a, b) that is in [low, high) of the list, and extends past `from`. SIZE_MAX: there is
 * no such range. */
static size_t last_past(const struct pdb_range *all, size_t a, size_t b, size_t low, size_t high, uint64_t from)
{
	size_t mid = a + (b - a) / 2, found;

	if (a >= b || b <= low || a >= high || all[mid].reach <= from)
		return SIZE_MAX;
	found = last_past(all, mid + 1, b, low, high, from);
	if (found != SIZE_MAX)
		return found;
	if (mid >= low && mid < high && all[mid].to > from)
		return mid;
	return last_past(all, a, mid, low, high, from);
}

/* Moves *i back to the nearest earlier range of the section that extends past `from`. False: there is no
 * such range. */
static bool ranges_back(const struct pdb_range *all, size_t n, size_t *i, unsigned section, uint64_t from)
{
	size_t found = last_past(all, 0, n, pdb_ranges_end(all, n, section, 0), *i, from);

	if (found == SIZE_MAX)
		return false;
	*i = found;
	return true;
}

/* ---- the parts ------------------------------------------------------------------------------ */

static int index_fragments(struct pdb_code *c)
{
	c->by_fragment = calloc(c->n_fragments + 1, sizeof(*c->by_fragment));
	if (!c->by_fragment)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_fragments; i++)
		c->by_fragment[i] = (struct pdb_range){.section = c->fragments[i].section,
			.from = c->fragments[i].off, .which = (uint32_t)i,
			.to = (uint64_t)c->fragments[i].off + c->fragments[i].size};
	pdb_ranges_sort(c->by_fragment, c->n_fragments);
	return 0;
}

static int add_fragment(struct pdb_code *c, struct span part)
{
	struct pdb_fragment f;

	if (part.n < LINES_HEADER)
		return 0;
	f = (struct pdb_fragment){.off = le32(part.p), .section = (uint16_t)le16(part.p + 4),
		.columns = le16(part.p + 6) & 1, .size = le32(part.p + 8),
		.blocks = {part.p + LINES_HEADER, part.n - LINES_HEADER}};
	return APPEND(c->fragments, c->fragments_room, c->n_fragments, f);
}

static int add_inlinees(struct pdb_code *c, struct span part)
{
	bool extra = part.n >= 4 && le32(part.p) == 1;
	size_t at = 4;
	const uint8_t *h;

	while ((h = span_at(part, at, extra ? 16 : 12))) {
		struct pdb_inlinee x = {le32(h), le32(h + 4), le32(h + 8), (uint32_t)c->n_inlinees};

		if (APPEND(c->inlinees, c->inlinees_room, c->n_inlinees, x) < 0)
			return -ENOMEM;
		at += 12;
		if (extra)
			at += 4 + 4 * (size_t)le32(h + 12);
	}
	return 0;
}

static int compare_inlinees(const void *a, const void *b)
{
	const struct pdb_inlinee *x = a, *y = b;

	return COMPARE(x->id, y->id) ?: COMPARE(x->order, y->order);
}

/* The parts can be in any order. */
int pdb_read_lines(struct pdb_code *c)
{
	size_t at = 0;
	const uint8_t *h;
	int r = 0;

	while (r == 0 && (h = span_at(c->lines, at, 8))) {
		uint32_t kind = le32(h), n = le32(h + 4);
		struct span part = {span_at(c->lines, at + 8, n), n};

		if (!part.p)
			break;
		if (kind == PART_LINES)
			r = add_fragment(c, part);
		else if (kind == PART_INLINEES)
			r = add_inlinees(c, part);
		else if (kind == PART_CHECKSUMS)
			c->checksums = part;
		else if (kind == PART_IMPORTS)
			c->imports = part;
		at += 8 + (((size_t)n + 3) & ~(size_t)3);
	}
	sort_array(c->inlinees, c->n_inlinees, sizeof(*c->inlinees), compare_inlinees);
	return r < 0 ? r : index_fragments(c);
}

uint32_t pdb_file_name(const struct pdb_code *c, uint32_t file)
{
	const uint8_t *h = span_at(c->checksums, file, CHECKSUM_HEADER);

	return h ? le32(h) : 0;
}

/* ---- lines of a fragment -------------------------------------------------------------------- */

struct pdb_entry {
	uint32_t off, file, line, order;
};

static int compare_entries(const void *a, const void *b)
{
	const struct pdb_entry *x = a, *y = b;

	return COMPARE(x->off, y->off) ?: COMPARE(x->order, y->order);
}

static bool is_hidden(uint32_t line)
{
	return line == HIDDEN_1 || line == HIDDEN_2;
}

/* Collects the lines of all blocks of a fragment. Each block is of one file and can begin again at a low
 * offset, so the result may not be sorted. */
static size_t take_entries(const struct pdb_fragment *f, struct pdb_entry *out)
{
	size_t at = 0, n = 0;
	const uint8_t *h;

	while ((h = span_at(f->blocks, at, BLOCK_HEADER))) {
		uint32_t lines = le32(h + 4), size = le32(h + 8);
		size_t most = (MIN((size_t)size, f->blocks.n - at) - MIN((size_t)size, (size_t)BLOCK_HEADER)) /
			LINE_SIZE;

		for (size_t i = 0; i < lines && i < most; i++) {
			const uint8_t *l = h + BLOCK_HEADER + i * LINE_SIZE;

			if (!is_hidden(le32(l + 4) & LINE_MASK))
				out[n] = (struct pdb_entry){le32(l), le32(h), le32(l + 4) & LINE_MASK, (uint32_t)n},
					n++;
		}
		if (size < BLOCK_HEADER)
			break;
		at += size;
	}
	return n;
}

static int add_row(struct pdb_rows *rows, uint32_t from, uint32_t to, uint32_t file, uint32_t line)
{
	if (from >= to)
		return 0;
	return APPEND(rows->at, rows->room, rows->n, (struct pdb_row){from, to, file, line});
}

/* Reads and sorts the lines of a fragment, the first time that they are needed. Of several entries at one offset
 * the last counts: the others cover no bytes. 0; -ENOMEM. */
static int read_entries(struct pdb_fragment *f)
{
	struct pdb_entry *all, *less;
	size_t n, kept = 0;

	if (f->entries)
		return 0;
	all = malloc((f->blocks.n / LINE_SIZE + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = take_entries(f, all);
	sort_array(all, n, sizeof(*all), compare_entries);
	for (size_t i = 0; i < n; i++) {
		kept -= kept && all[kept - 1].off == all[i].off;
		all[kept++] = all[i];
	}
	less = realloc(all, (kept + 1) * sizeof(*all));
	f->entries = less ? less : all;
	f->n_entries = kept;
	return 0;
}

/* Adds the part of a fragment's lines in [from, to). */
static int add_fragment_rows(struct pdb_fragment *f, uint32_t from, uint32_t to, struct pdb_rows *out)
{
	int r = read_entries(f);
	size_t after = search_first(i, 0, r == 0 ? f->n_entries : 0, (uint64_t)f->off + f->entries[i].off <= from);

	for (size_t i = after ? after - 1 : 0; r == 0 && i < f->n_entries; i++) {
		const struct pdb_entry *at = &f->entries[i];
		uint64_t a = (uint64_t)f->off + at->off;
		uint64_t b = (uint64_t)f->off + (i + 1 < f->n_entries ? MIN(at[1].off, f->size) : f->size);

		if (a >= to || at->off >= f->size)
			break;
		r = add_row(out, (uint32_t)MAX(a, from), (uint32_t)MIN(b, to), at->file, at->line);
	}
	return r;
}

/* ---- lines of a range ----------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
	const struct pdb_row *x = a, *y = b;

	return COMPARE(x->from, y->from);
}

/* Adds to the ranges that earlier fragments cover, ascending. */
static int cover(struct pdb_rows *c, uint32_t from, uint32_t to)
{
	size_t i = c->n;
	struct pdb_row *at;
	int r = add_row(c, from, to, 0, 0);

	if (r < 0 || c->n == i)
		return r;
	for (at = c->at; i && at[i - 1].from > from; i--)
		at[i] = at[i - 1];
	at[i] = (struct pdb_row){from, to, 0, 0};
	return 0;
}

/* Adds the lines of the part of a fragment that no earlier fragment covers. */
static int add_uncovered(struct pdb_rows *c, struct pdb_fragment *f, uint32_t from, uint32_t to,
	struct pdb_rows *out)
{
	uint32_t at = from;
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->n && at < to; i++) {
		const struct pdb_row *k = &c->at[i];

		if (k->to <= at)
			continue;
		if (k->from > at)
			r = add_fragment_rows(f, at, MIN(k->from, to), out);
		at = MAX(at, k->to);
	}
	if (r == 0 && at < to)
		r = add_fragment_rows(f, at, to, out);
	return r == 0 ? cover(c, from, to) : r;
}

#define FRAGMENTS_MOST 64 /* the most fragments of one function */

/* Lists the fragments that overlap [from, to), in the order of the stream. */
static unsigned fragments_of(const struct pdb_code *c, unsigned section, uint64_t from, uint64_t to, uint32_t *out)
{
	size_t i = pdb_ranges_end(c->by_fragment, c->n_fragments, section, to);
	unsigned n = 0;

	while (n < FRAGMENTS_MOST && ranges_back(c->by_fragment, c->n_fragments, &i, section, from))
		out[n++] = c->by_fragment[i].which;
	sort_array(out, n, sizeof(*out), compare_u32);
	return n;
}

int pdb_lines_of(const struct pdb_code *c, unsigned section, uint32_t off, uint32_t size, struct pdb_rows *out)
{
	struct pdb_rows covered = {0};
	uint32_t which[FRAGMENTS_MOST];
	uint64_t end = MIN((uint64_t)off + size, UINT32_MAX);
	unsigned n = fragments_of(c, section, off, end, which);
	int r = 0;

	*out = (struct pdb_rows){0};
	for (unsigned i = 0; r == 0 && i < n; i++) {
		struct pdb_fragment *f = &c->fragments[which[i]];
		uint32_t to = (uint32_t)MIN(end, (uint64_t)f->off + f->size);

		r = n == 1 ? add_fragment_rows(f, MAX(off, f->off), to, out)
			   : add_uncovered(&covered, f, MAX(off, f->off), to, out);
	}
	pdb_rows_release(&covered);
	sort_array(out->at, out->n, sizeof(*out->at), compare_rows);
	return r;
}

bool pdb_has_lines(const struct pdb_code *c, unsigned section, uint32_t off, uint32_t size)
{
	struct pdb_rows rows;
	bool any = false;
	int r = pdb_lines_of(c, section, off, size, &rows);

	for (size_t i = 0; r == 0 && i < rows.n; i++)
		any |= rows.at[i].line != 0;
	pdb_rows_release(&rows);
	return any;
}
