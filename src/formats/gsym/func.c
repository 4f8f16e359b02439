/* One function of a GSYM file: where its parts lie, its line rows, its tree of inlined calls. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "formats/gsym/gsym.h"
#include "formats/gsym/walk.h"

/* ---- records of the prototype --------------------------------------------------------- */

/* The prototype's manual defines a record's length as that of the data, but its code writes a length that is
 * 4 larger. So only decoding the data shows where the data ends. */
static const char *end_of_lines(struct gsym_func *f, struct span *data)
{
	struct gsym_rows it;
	struct gsym_row row;
	int r;

	f->lines = *data;
	r = gsym_rows_begin(&it, f);
	while (r >= 0 && (r = rows_step(&it, &row)) > 0)
		;
	if (r < 0)
		return it.bad;
	data->n = (size_t)(it.p - data->p);
	f->lines = *data;
	return NULL;
}

static const char *end_of_inlines(const struct gsym *g, struct gsym_func *f, struct span *data)
{
	struct gsym_nodes it;
	struct gsym_node node;
	int r;

	f->inlines = *data;
	gsym_nodes_begin(&it, g, f);
	while ((r = gsym_nodes_next(&it, &node)) > 0)
		;
	if (r < 0)
		return it.bad;
	data->n = (size_t)(it.p - data->p);
	f->inlines = *data;
	return NULL;
}

/* Whether records follow each other from `at` to the record that ends the function. `extra`: by how many
 * bytes their lengths are too large. */
static bool ends_from(const struct gsym *g, uint64_t at, uint32_t extra)
{
	for (;;) {
		const uint8_t *h = span_at(g->data, at, 4);
		uint32_t len;

		if (!h || load32(h, g->swap) == INFO_END)
			return h;
		h = span_at(g->data, at, 8);
		len = h ? load32(h + 4, g->swap) : 0;
		if (!h || len < extra || len - extra > g->data.n - at - 8)
			return false;
		at += 8 + len - extra;
	}
}

/* Skips a record of unknown kind. The record does not show which of the two lengths it has; the records
 * before or after it do. */
static const char *end_of_unknown(const struct gsym *g, uint64_t at, uint32_t len, int *extra, struct span *data)
{
	if (data->n != len)
		return "a function that reaches outside";
	if (*extra < 0)
		*extra = !ends_from(g, at + 8 + len, 0) && len >= 4 && ends_from(g, at + 8 + len - 4, 4) ? 4 : 0;
	if (len < (uint32_t)*extra)
		return "a record with a wrong length";
	data->n -= (uint32_t)*extra;
	return NULL;
}

/* Reads one record and finds the end of its data. `*extra`: 0 or 4; -1: not known yet. */
static const char *part_old(const struct gsym *g, uint64_t at, uint32_t type, int *extra, struct gsym_func *f,
	struct span *data)
{
	const uint8_t *h = span_at(g->data, at, 8);
	uint32_t len = h ? load32(h + 4, g->swap) : 0;
	const char *bad;

	if (!h)
		return "a function that reaches outside";
	*data = (struct span){h + 8, MIN(len, g->data.n - at - 8)};
	if (type != INFO_LINES && type != INFO_INLINES)
		return end_of_unknown(g, at, len, extra, data);
	bad = type == INFO_LINES ? end_of_lines(f, data) : end_of_inlines(g, f, data);
	if (bad)
		return bad;
	if (data->n != len && data->n + 4 != len)
		return "a record with a wrong length";
	*extra = (int)(len - data->n);
	if (type == INFO_LINES)
		f->biased = data->n != len;
	return NULL;
}

static const char *parts_old(const struct gsym *g, uint64_t at, struct gsym_func *f)
{
	int extra = -1;

	for (;;) {
		const uint8_t *h = span_at(g->data, at, 4);
		uint32_t type = h ? load32(h, g->swap) : 0;
		struct span data;
		const char *bad;

		if (!h)
			return "a function without an end";
		if (type == INFO_END)
			return NULL;
		bad = part_old(g, at, type, &extra, f, &data);
		if (bad)
			return bad;
		at += 8 + data.n;
	}
}

/* Reads the parts of a record of version 1, whose parts begin at `at`. NULL, or what is wrong. Unknown parts
 * are skipped by their length, as the format intends. If several parts have the same kind, the first counts.
 * `all`: reads to the end of the record; otherwise only until lines and inlined calls were found, which is
 * enough for a lookup. */
static const char *parts_v1(const struct gsym *g, uint64_t at, struct gsym_func *f, bool all)
{
	bool lines = false, inlines = false;

	while (all || !lines || !inlines) {
		const uint8_t *h = span_at(g->data, at, 8);
		uint32_t type = h ? load32(h, g->swap) : 0, len = h ? load32(h + 4, g->swap) : 0;

		if (!h)
			return "a function without an end";
		if (type == INFO_END)
			return NULL;
		if (!span_at(g->data, at + 8, len))
			return "a function that reaches outside";
		if (type == INFO_LINES && !lines) {
			f->lines = (struct span){h + 8, len};
			lines = true;
		} else if (type == INFO_INLINES && !inlines) {
			f->inlines = (struct span){h + 8, len};
			inlines = true;
		}
		at += 8 + (uint64_t)len;
	}
	return NULL;
}

/* ---- any form ------------------------------------------------------------------------ */

const char *func_read(const struct gsym *g, uint32_t i, bool all, struct gsym_func *out)
{
	uint32_t at = gsym_info_at(g, i);
	const uint8_t *h = span_at(g->data, at, 8);
	uint32_t name;

	if (!h)
		return "a function that lies outside";
	out->addr = gsym_addr(g, i);
	out->size = load32(h, g->swap);
	name = load32(h + 4, g->swap);
	out->name = gsym_string(g, name);
	out->lines = out->inlines = (struct span){h, 0};
	out->biased = false;
	/* Text 0 means "no name". Code whose name is unknown has another text, which is empty. */
	if (!out->name || (g->form == GSYM_V1 && !name && !out->name[0]))
		return "a function without a name";
	if (out->addr + out->size < out->addr)
		return "a function that ends beyond the last address";
	return g->form == GSYM_V1 ? parts_v1(g, (uint64_t)at + 8, out, all)
				  : parts_old(g, (uint64_t)at + 8, out);
}

int gsym_func_at(const struct gsym *g, uint32_t i, struct gsym_func *out, struct err *e)
{
	const char *bad = func_read(g, i, true, out);

	return bad ? err_set(e, -EBADMSG, "is broken at function %u: %s", i, bad) : 0;
}

/* ---- line rows ----------------------------------------------------------------------- */

int gsym_rows_begin(struct gsym_rows *it, const struct gsym_func *f)
{
	int64_t min, max;
	uint64_t line;

	memset(it, 0, sizeof(*it));
	it->p = f->lines.p;
	it->end = f->lines.p + f->lines.n;
	it->biased = f->biased;
	it->addr = f->addr;
	it->file = 1;
	if (!f->lines.n)
		return 0;
	it->bad = "a line table without a head";
	if (!take_sleb(&it->p, it->end, &min) || !take_sleb(&it->p, it->end, &max) ||
		!take_uleb(&it->p, it->end, &line))
		return -EBADMSG;
	it->bad = "a line table with an invalid range of line steps";
	if (min < INT32_MIN || max < min || max > INT32_MAX || max - min >= UINT32_MAX ||
		line > UINT32_MAX)
		return -EBADMSG;
	it->bad = NULL;
	it->min = min;
	it->line = (int64_t)line;
	it->range = (uint32_t)(max - min + 1);
	/* Opcodes are below 256. For such numbers, a multiplication by the inverse divides exactly. */
	it->inverse = it->range < 256 ? (65536 + it->range - 1) / it->range : 0;
	return 0;
}

int gsym_rows_next(struct gsym_rows *it, struct gsym_row *row)
{
	return rows_step(it, row);
}

/* ---- inlined calls ------------------------------------------------------------------- */

void gsym_nodes_begin(struct gsym_nodes *it, const struct gsym *g, const struct gsym_func *f)
{
	it->g = g;
	it->p = f->inlines.p;
	it->end = f->inlines.p + f->inlines.n;
	it->depth = 0;
	it->begun = false;
	it->bad = NULL;
	it->base[0] = f->addr;
}

static int nodes_bad(struct gsym_nodes *it, const char *why)
{
	it->bad = why;
	return -EBADMSG;
}

/* Addresses of children count from a range of their parent: LLVM's from the lowest range, the prototype's
 * from the range that it wrote first. */
static bool read_ranges(struct gsym_nodes *it, struct gsym_node *node)
{
	bool lowest = it->g->form == GSYM_V1;

	node->ranges = it->p;
	for (uint64_t i = 0; i < node->n_ranges; i++) {
		uint64_t start, size;

		if (!take_uleb(&it->p, it->end, &start) || !take_uleb(&it->p, it->end, &size))
			return false;
		start += node->base;
		if (!i || (lowest && start < node->first))
			node->first = start;
	}
	node->ranges_end = it->p;
	return true;
}

int gsym_nodes_next(struct gsym_nodes *it, struct gsym_node *node)
{
	const uint8_t *p;

	for (;;) {
		if (!it->depth && (it->begun || it->p == it->end))
			return 0;
		if (!take_uleb(&it->p, it->end, &node->n_ranges))
			return nodes_bad(it, "inlined calls that are cut short");
		if (node->n_ranges)
			break;
		if (!it->depth)
			return nodes_bad(it, "inlined calls without a function");
		it->depth--;
	}
	it->begun = true;
	node->depth = it->depth;
	node->base = it->base[it->depth];
	if (!read_ranges(it, node) || it->end - it->p < 5)
		return nodes_bad(it, "an inlined call that is cut short");
	p = it->p;
	it->p += 5;
	node->children = p[0];
	node->name = load32(p + 1, it->g->swap);
	if (!take_uleb(&it->p, it->end, &node->call_file) ||
		!take_uleb(&it->p, it->end, &node->call_line))
		return nodes_bad(it, "an inlined call that is cut short");
	if (!node->children)
		return 1;
	if (it->depth == GSYM_DEPTH_MOST)
		return nodes_bad(it, "inlined calls that nest too deep");
	it->base[++it->depth] = node->first;
	return 1;
}

bool gsym_node_range(const struct gsym_node *node, size_t *at, uint64_t *start, uint64_t *size)
{
	const uint8_t *p = node->ranges + *at;

	if (p >= node->ranges_end || !take_uleb(&p, node->ranges_end, start) ||
		!take_uleb(&p, node->ranges_end, size))
		return false;
	*start += node->base;
	*at = (size_t)(p - node->ranges);
	return true;
}

int call_site(const struct gsym *g, uint64_t index, const char **dir, const char **base)
{
	if (g->form == GSYM_V1 || index < g->n_files)
		return gsym_file(g, index, dir, base);
	*dir = *base = "";
	return 0;
}

/* ---- everything, once: the damage that a look-up would meet ---------------------------- */

static const char *check_lines(const struct gsym *g, const struct gsym_func *f)
{
	const char *dir, *base;
	struct gsym_rows it;
	struct gsym_row row;
	int r = gsym_rows_begin(&it, f);

	while (r >= 0 && (r = rows_step(&it, &row)) > 0)
		if (gsym_file(g, row.file, &dir, &base) < 0)
			return "a line of a file that is not there";
	if (r < 0)
		return it.bad;
	return it.p == it.end ? NULL : "a line table that ends too soon";
}

static const char *check_inlines(const struct gsym *g, const struct gsym_func *f)
{
	const char *dir, *base;
	struct gsym_nodes it;
	struct gsym_node node;
	int r;

	gsym_nodes_begin(&it, g, f);
	while ((r = gsym_nodes_next(&it, &node)) > 0) {
		if (!gsym_string(g, node.name))
			return "an inlined call without a name";
		if (call_site(g, node.call_file, &dir, &base) < 0)
			return "an inlined call from a file that is not there";
		if (node.call_line > UINT32_MAX)
			return "an inlined call from an invalid line number";
	}
	if (r < 0)
		return it.bad;
	return it.p == it.end ? NULL : "inlined calls that end too soon";
}

int gsym_check(const struct gsym *g, struct err *e)
{
	const char *dir, *base;

	for (uint32_t i = 0; i < g->n_files; i++)
		if (gsym_file(g, i, &dir, &base) < 0)
			return err_set(e, -EBADMSG, "is broken: file %u has no name", i);
	for (uint32_t i = 0; i < g->count; i++) {
		struct gsym_func f;
		const char *bad = func_read(g, i, true, &f);

		if (!bad && i && f.addr < gsym_addr(g, i - 1))
			bad = "its address is out of order";
		if (!bad)
			bad = check_lines(g, &f);
		if (!bad)
			bad = check_inlines(g, &f);
		if (bad)
			return err_set(e, -EBADMSG, "is broken at function %u: %s", i, bad);
	}
	return 0;
}
