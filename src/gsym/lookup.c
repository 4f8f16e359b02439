/* From an address to frames. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsym/gsym.h"
#include "gsym/walk.h"

#include "base/banned.h"

#define NOBODY UINT32_MAX

/* ---- which function ------------------------------------------------------------------ */

/* How many functions begin at or before the offset. The loop has no branch that depends on what it
 * reads, so that a lookup does not pay for wrong guesses. */
#define DEFINE_COUNT(bits, type, load)                                                             \
	static uint32_t count_##bits(const struct gsym *g, uint64_t wanted)                        \
	{                                                                                          \
		const uint8_t *base = g->offsets;                                                  \
		uint32_t n = g->count;                                                             \
                                                                                                   \
		if (wanted > (type)-1)                                                             \
			return n;                                                                  \
		while (n > 1) {                                                                    \
			uint32_t half = n / 2;                                                     \
			const uint8_t *mid = base + (size_t)half * sizeof(type);                   \
                                                                                                   \
			base = load(mid, g->swap) <= wanted ? mid : base;                          \
			n -= half;                                                                 \
			if (n - 9 < 8) /* where the function lies is needed next */                \
				__builtin_prefetch(                                                \
					g->infos + (base - g->offsets) / sizeof(type) * 4);        \
		}                                                                                  \
		if (!n)                                                                            \
			return 0;                                                                  \
		return (uint32_t)((size_t)(base - g->offsets) / sizeof(type)) +                    \
		       (load(base, g->swap) <= wanted);                                            \
	}

static inline uint8_t load8(const uint8_t *p, bool swap)
{
	return *p;
}

DEFINE_COUNT(8, uint8_t, load8)
DEFINE_COUNT(16, uint16_t, load16)
DEFINE_COUNT(32, uint32_t, load32)
DEFINE_COUNT(64, uint64_t, load64)

static uint32_t count_before(const struct gsym *g, uint64_t addr)
{
	if (addr < g->base)
		return 0;
	switch (g->off_size) {
	case 1:
		return count_8(g, addr - g->base);
	case 2:
		return count_16(g, addr - g->base);
	case 4:
		return count_32(g, addr - g->base);
	default:
		return count_64(g, addr - g->base);
	}
}

/* Behind the last address of function i. -EBADMSG: it lies outside. */
static int end_of(const struct gsym *g, uint32_t i, uint64_t *end)
{
	const uint8_t *h = span_at(g->data, load32(g->infos + (size_t)i * 4, g->swap), 4);
	uint32_t size = h ? load32(h, g->swap) : 0;

	*end = gsym_addr(g, i) + (size ? size : 1);
	return h ? 0 : -EBADMSG;
}

/* Of the functions that begin where function *i does, the first that covers the address. When none
 * does, *i is the first of them. */
static int among_equals(const struct gsym *g, uint32_t *i, uint64_t addr)
{
	uint64_t start = gsym_addr(g, *i), end;

	while (*i && gsym_addr(g, *i - 1) == start)
		--*i;
	for (uint32_t at = *i; at < g->count && gsym_addr(g, at) == start; at++) {
		if (end_of(g, at, &end) < 0)
			return -EBADMSG;
		if (addr < end) {
			*i = at;
			return 0;
		}
	}
	return -ENOENT;
}

static uint32_t before(const struct gsym *g, uint32_t i)
{
	if (!g->prepared)
		return i ? i - 1 : NOBODY;
	return g->outer ? g->outer[i] : NOBODY;
}

/* The nearest function that covers the address: the last that begins before it, or one that reaches
 * over those between. */
static int find_function(const struct gsym *g, uint64_t addr, uint32_t *out)
{
	uint32_t i = count_before(g, addr);
	int r = -ENOENT;

	for (i = i ? i - 1 : NOBODY; i != NOBODY; i = before(g, i)) {
		r = among_equals(g, &i, addr);
		if (r != -ENOENT)
			break;
	}
	*out = i;
	return r;
}

/* ---- frames -------------------------------------------------------------------------- */

/* The last row at or before the address. 1: there is one. */
static int find_row(const struct gsym_func *f, uint64_t addr, struct gsym_row *out,
	const char **bad)
{
	struct gsym_rows it;
	struct gsym_row row;
	int r = gsym_rows_begin(&it, f), found = 0;

	while (r >= 0 && (r = rows_step(&it, &row)) > 0) {
		if (row.addr > addr)
			return found;
		*out = row;
		found = 1;
	}
	*bad = it.bad;
	return r < 0 ? r : found;
}

static bool covers(const struct gsym_node *node, uint64_t addr)
{
	uint64_t start, size;

	for (size_t at = 0; gsym_node_range(node, &at, &start, &size);)
		if (addr >= start && addr - start < size)
			return true;
	return false;
}

static bool first_start(const struct gsym_node *node, uint64_t addr, uint64_t *offset)
{
	uint64_t start, size;
	size_t at = 0;

	if (!gsym_node_range(node, &at, &start, &size))
		return false;
	*offset = addr - node->first;
	return true;
}

/* An inlined call on the way down, as it is put at the front of what was found: its name and
 * offset belong to the innermost, its call site to the frame around it. */
static const char *enter(const struct gsym *g, const struct gsym_node *node, uint64_t addr,
	struct gsym_hit *out)
{
	struct gsym_frame *inner = out->frame + out->n, *around = inner - 1;
	const char *name = gsym_string(g, node->name), *dir, *base;

	if (!name)
		return "an inlined call without a name";
	if (call_site(g, node->call_file, &dir, &base) < 0)
		return "an inlined call from a file that is not there";
	if (!node->call_file || (node->call_file < g->n_files && !dir[0] && !base[0]))
		return NULL;
	if (node->call_line > UINT32_MAX)
		return "an inlined call from a line that is no number";
	*inner = *around;
	inner->name = name;
	first_start(node, addr, &inner->offset);
	around->dir = dir;
	around->base = base;
	around->line = (uint32_t)node->call_line;
	out->n++;
	return NULL;
}

/* Frames come outermost first. The first child that covers the address is the one that is meant. */
static const char *find_inlines(const struct gsym *g, const struct gsym_func *f, uint64_t addr,
	struct gsym_hit *out)
{
	struct gsym_nodes it;
	struct gsym_node node;
	unsigned inside = 0;
	const char *bad;
	int r;

	gsym_nodes_begin(&it, g, f);
	while ((r = gsym_nodes_next(&it, &node)) > 0) {
		if (node.depth < inside)
			return NULL;
		if (node.depth > inside || !covers(&node, addr))
			continue;
		bad = enter(g, &node, addr, out);
		if (bad)
			return bad;
		inside++;
		if (!node.children)
			return NULL;
	}
	return r < 0 ? it.bad : NULL;
}

static void turn_round(struct gsym_hit *out)
{
	for (unsigned i = 0, k = out->n - 1; i < k; i++, k--) {
		struct gsym_frame f = out->frame[i];

		out->frame[i] = out->frame[k];
		out->frame[k] = f;
	}
}

static const char *frames_of(const struct gsym *g, const struct gsym_func *f, uint64_t addr,
	struct gsym_hit *out)
{
	struct gsym_frame *own = out->frame;
	struct gsym_row row;
	const char *bad = NULL;
	int r = find_row(f, addr, &row, &bad);

	if (r < 0)
		return bad;
	out->n = 1;
	*own = (struct gsym_frame){f->name, "", "", 0, addr - f->addr};
	if (!r)
		return NULL;
	own->line = row.line;
	if (gsym_file(g, row.file, &own->dir, &own->base) < 0)
		return "a line of a file that is not there";
	if (f->inlines.n)
		bad = find_inlines(g, f, addr, out);
	turn_round(out);
	return bad;
}

int gsym_lookup(const struct gsym *g, uint64_t addr, struct gsym_hit *out, struct err *e)
{
	struct gsym_func f;
	const char *bad;
	uint32_t i;
	int r = find_function(g, addr, &i);

	if (r == -ENOENT)
		return err_set(e, r, "no function has the address");
	if (r < 0)
		return err_set(e, r, "is broken at function %u: it lies outside", i);
	bad = func_read(g, i, &f);
	if (!bad) {
		out->start = f.addr;
		out->size = f.size;
		out->index = i;
		bad = frames_of(g, &f, addr, out);
	}
	return bad ? err_set(e, -EBADMSG, "is broken at function %u: %s", i, bad) : 0;
}

/* ---- for many lookups ---------------------------------------------------------------- */

/* Once a function ends before one begins, it ends before all that follow: each is passed over
 * once. */
static int chain(const struct gsym *g, uint32_t *outer, bool *nested, struct err *e)
{
	uint64_t end;

	for (uint32_t i = 0; i < g->count; i++) {
		uint64_t start = gsym_addr(g, i);
		uint32_t at = i ? i - 1 : NOBODY;

		if (i && start < gsym_addr(g, at))
			return err_set(e, -EBADMSG, "is broken: address %u is out of order", i);
		while (at != NOBODY) {
			if (end_of(g, at, &end) < 0)
				return err_set(e, -EBADMSG,
					"is broken at function %u: it lies outside", at);
			if (end > start)
				break;
			at = outer[at];
		}
		outer[i] = at;
		*nested = *nested || at != NOBODY;
	}
	return 0;
}

int gsym_prepare(struct gsym *g, struct err *e)
{
	uint32_t *outer;
	bool nested = false;
	int r;

	if (g->prepared)
		return 0;
	outer = malloc(g->count ? (size_t)g->count * sizeof(*outer) : 1);
	if (!outer)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	r = chain(g, outer, &nested, e);
	if (r < 0 || !nested) {
		free(outer);
		outer = NULL;
	}
	g->outer = outer;
	g->prepared = r == 0;
	return r;
}

void gsym_release(struct gsym *g)
{
	free(g->outer);
	g->outer = NULL;
	g->prepared = false;
}
