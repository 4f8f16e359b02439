/* Looks an address up: the function, its line and its inlined calls. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "formats/gsym/gsym.h"
#include "formats/gsym/walk.h"

#define NO_FUNCTION UINT32_MAX

/* ---- which function ------------------------------------------------------------------ */

/* How many functions begin at or before the offset `wanted`. The caller knows that the first `lo` functions
 * do, and that the functions from `hi` on do not. No branch of the loop depends on the bytes read, so that
 * branch misprediction does not slow a lookup. */
#define DEFINE_COUNT(bits, type, load)                                                             \
	static uint32_t count_##bits(                                                              \
		const struct gsym *g, uint64_t wanted, uint32_t lo, uint32_t hi)                   \
	{                                                                                          \
		const uint8_t *base = g->offsets + (size_t)lo * sizeof(type);                      \
		uint32_t n = hi - lo;                                                              \
                                                                                                   \
		if (wanted > (type)-1)                                                             \
			return hi;                                                                 \
		if (!n)                                                                            \
			return lo;                                                                 \
		while (n > 1) {                                                                    \
			uint32_t half = n / 2;                                                     \
			const uint8_t *mid = base + (size_t)half * sizeof(type);                   \
                                                                                                   \
			base = load(mid, g->swap) <= wanted ? mid : base;                          \
			n -= half;                                                                 \
			if (n - 9 < 8) /* the offset of the function */                \
				__builtin_prefetch(                                                \
					g->infos + (base - g->offsets) / sizeof(type) * 4);        \
		}                                                                                  \
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
	uint64_t wanted = addr - g->base, slice;
	uint32_t lo = 0, hi = g->count;

	if (addr < g->base)
		return 0;
	if (g->slices) {
		slice = wanted >> g->slice_bits;
		if (slice >= g->n_slices)
			return hi;
		lo = g->slices[slice];
		hi = g->slices[slice + 1];
		__builtin_prefetch(g->infos + (size_t)lo * 4);
	}
	switch (g->off_size) {
	case 1:
		return count_8(g, wanted, lo, hi);
	case 2:
		return count_16(g, wanted, lo, hi);
	case 4:
		return count_32(g, wanted, lo, hi);
	default:
		return count_64(g, wanted, lo, hi);
	}
}

/* Among the functions that begin where function *i does, finds the first that covers the address. -ENOENT:
 * none covers it, and *i is now the first function that begins there. */
static int among_equals(const struct gsym *g, uint32_t *i, uint64_t addr)
{
	uint64_t start = gsym_addr(g, *i), end;

	while (*i && gsym_addr(g, *i - 1) == start)
		--*i;
	for (uint32_t at = *i; at < g->count && gsym_addr(g, at) == start; at++) {
		if (gsym_func_end(g, at, &end) < 0)
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
		return i ? i - 1 : NO_FUNCTION;
	return g->outer ? g->outer[i] : NO_FUNCTION;
}

/* Finds the nearest function that covers the address: the last that begins before it, or an earlier one
 * that reaches over the later ones. */
static int find_function(const struct gsym *g, uint64_t addr, uint32_t *out)
{
	uint32_t i = count_before(g, addr);
	int r = -ENOENT;

	for (i = i ? i - 1 : NO_FUNCTION; i != NO_FUNCTION; i = before(g, i)) {
		r = among_equals(g, &i, addr);
		if (r != -ENOENT)
			break;
	}
	*out = i;
	return r;
}

/* ---- frames -------------------------------------------------------------------------- */

/* Finds the last row at or before the address, which lies in the function. 1: found; 0: the function has no
 * such row; -EBADMSG: *bad says why. This is rows_step() with its state in registers, and it checks only
 * the row that it returns. */
static int find_row(const struct gsym_func *f, uint64_t addr, struct gsym_row *out,
	const char **bad)
{
	struct gsym_rows it;
	uint64_t left = addr - f->addr, more, line, file = 1;
	const uint8_t *p, *end;
	int64_t lines;
	uint32_t range, inverse, found = 0;

	if (gsym_rows_begin(&it, f) < 0) {
		*bad = it.bad;
		return -EBADMSG;
	}
	if (!f->lines.n)
		return 0;
	p = it.p;
	end = it.end;
	line = (uint64_t)it.line; /* unsigned: a broken table cannot overflow it */
	range = it.range;
	inverse = it.inverse;
	*bad = "a line table that is cut short";
	for (;;) {
		unsigned op;

		if (p == end)
			return -EBADMSG;
		op = *p++;
		if (op >= ROW_SPECIAL) {
			uint32_t adjust = op - ROW_SPECIAL, steps = adjust * inverse >> 16;

			if (steps > left)
				break;
			left -= steps;
			line += (uint64_t)it.min + adjust - steps * range;
		} else if (op == ROW_PC) {
			if (!take_uleb(&p, end, &more))
				return -EBADMSG;
			if (more > left)
				break;
			left -= more;
		} else if (op == ROW_LINE) {
			if (!take_sleb(&p, end, &lines))
				return -EBADMSG;
			line += (uint64_t)lines;
			continue;
		} else if (op == ROW_FILE) {
			if (!take_uleb(&p, end, &file))
				return -EBADMSG;
			continue;
		} else {
			break;
		}
		found = 1;
		it.line = (int64_t)line;
		it.file = file;
	}
	if (!found)
		return 0;
	*bad = "an invalid line or file number";
	if (it.line < 0 || it.line > UINT32_MAX || it.file > UINT32_MAX || it.file < it.biased)
		return -EBADMSG;
	*out = (struct gsym_row){addr - left, (uint32_t)it.file - it.biased, (uint32_t)it.line};
	return 1;
}

/* A call, on the way down the tree. */
struct call {
	uint64_t first;	    /* base of the ranges of its children */
	bool covers, children;
	uint32_t name;
	uint64_t file, line;
};

/* Ranges of children count from a range of their parent: in LLVM's files from the lowest range, in the
 * prototype's from the first range. */
static bool read_call(const struct gsym *g, const uint8_t **at, const uint8_t *end, uint64_t n,
	uint64_t base, uint64_t addr, struct call *c)
{
	const uint8_t *p = *at;
	uint64_t start, size;

	c->covers = false;
	for (uint64_t i = 0; i < n; i++) {
		if (!take_uleb(&p, end, &start) || !take_uleb(&p, end, &size))
			return false;
		start += base;
		if (!i || (g->form == GSYM_V1 && start < c->first))
			c->first = start;
		c->covers |= addr - start < size;
	}
	if (end - p < 5)
		return false;
	c->children = p[0];
	c->name = load32(p + 1, g->swap);
	*at = p + 5;
	return take_uleb(at, end, &c->file) && take_uleb(at, end, &c->line);
}

static inline bool pass_ulebs(const uint8_t **at, const uint8_t *end, uint64_t n)
{
	const uint8_t *p = *at;

	for (; n && end - p >= 8; p += 8) { /* the last byte of each number has a clear high bit */
		uint64_t last = ~le64(p) & 0x8080808080808080;

		for (; last; last &= last - 1)
			if (!--n) {
				*at = p + __builtin_ctzll(last) / 8 + 1;
				return true;
			}
	}
	for (; n && p < end; p++)
		n -= !(*p & 0x80);
	*at = p;
	return !n;
}

/* Skips the calls inside a call that does not cover the address. */
static bool pass_calls(const uint8_t **at, const uint8_t *end)
{
	uint64_t n;

	for (unsigned deep = 1; deep;) {
		if (!take_uleb(at, end, &n))
			return false;
		if (!n) {
			deep--;
			continue;
		}
		if (n > (uint64_t)(end - *at) || !pass_ulebs(at, end, 2 * n) || end - *at < 5)
			return false;
		deep += **at != 0;
		*at += 5;
		if (!pass_ulebs(at, end, 2))
			return false;
	}
	return true;
}

/* Adds the frame of a call. The name and offset of the call belong to the new, innermost frame; its call
 * site belongs to the frame around that. */
static const char *enter(
	const struct gsym *g, const struct call *c, uint64_t addr, struct gsym_hit *out)
{
	struct gsym_frame *inner = out->frame + out->n, *around = inner - 1;
	const char *name = gsym_string(g, c->name), *dir, *base;

	if (!name)
		return "an inlined call without a name";
	if (call_site(g, c->file, &dir, &base) < 0)
		return "an inlined call from a file that is not there";
	if (!c->file || (c->file < g->n_files && file_is_none(g, (uint32_t)c->file)))
		return NULL;
	if (c->line > UINT32_MAX)
		return "an inlined call from an invalid line number";
	*inner = *around;
	inner->name = name;
	inner->offset = addr - c->first;
	around->dir = dir;
	around->base = base;
	around->line = (uint32_t)c->line;
	out->n++;
	return NULL;
}

/* Adds the frames of inlined calls, outermost first. At each depth the first call that covers the address
 * counts. */
static const char *find_inlines(const struct gsym *g, const struct gsym_func *f, uint64_t addr,
	struct gsym_hit *out)
{
	const uint8_t *p = f->inlines.p, *end = p + f->inlines.n;
	uint64_t base = f->addr, n;
	unsigned depth = 0;
	struct call c;

	for (;;) {
		const char *bad;

		if (!take_uleb(&p, end, &n))
			return "inlined calls that are cut short";
		if (!n)
			return depth ? NULL : "inlined calls without a function";
		if (!read_call(g, &p, end, n, base, addr, &c))
			return "an inlined call that is cut short";
		if (c.covers) {
			bad = enter(g, &c, addr, out);
			if (bad || !c.children)
				return bad;
			if (depth++ == GSYM_DEPTH_MOST)
				return "inlined calls that nest too deep";
			base = c.first;
			continue;
		}
		if (!depth)
			return NULL;
		if (c.children && !pass_calls(&p, end))
			return "inlined calls that are cut short";
	}
}

static void reverse_frames(struct gsym_hit *out)
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
	const char *bad;
	int r = find_row(f, addr, &row, &bad);

	if (r < 0)
		return bad;
	bad = NULL;
	out->n = 1;
	*own = (struct gsym_frame){f->name, "", "", 0, addr - f->addr};
	if (!r)
		return NULL;
	own->line = row.line;
	if (gsym_file(g, row.file, &own->dir, &own->base) < 0)
		return "a line of a file that is not there";
	if (f->inlines.n)
		bad = find_inlines(g, f, addr, out);
	reverse_frames(out);
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
	bad = func_read(g, i, false, &f);
	if (!bad) {
		out->start = f.addr;
		out->size = f.size;
		out->index = i;
		bad = frames_of(g, &f, addr, out);
	}
	return bad ? err_set(e, -EBADMSG, "is broken at function %u: %s", i, bad) : 0;
}

/* ---- for many lookups ---------------------------------------------------------------- */

/* Sets `outer`. A function that ends before another one begins covers no later function either, so the walk
 * skips it only once. */
static int chain(const struct gsym *g, uint32_t *outer, bool *nested, struct err *e)
{
	uint64_t end;

	for (uint32_t i = 0; i < g->count; i++) {
		uint64_t start = gsym_addr(g, i);
		uint32_t at = i ? i - 1 : NO_FUNCTION;

		if (i && start < gsym_addr(g, at))
			return err_set(e, -EBADMSG, "is broken: address %u is out of order", i);
		while (at != NO_FUNCTION) {
			if (gsym_func_end(g, at, &end) < 0)
				return err_set(e, -EBADMSG,
					"is broken at function %u: it lies outside", at);
			if (end > start)
				break;
			at = outer[at];
		}
		outer[i] = at;
		*nested = *nested || at != NO_FUNCTION;
	}
	return 0;
}

/* Divides the addresses into slices of about eight functions, or more where functions are dense. */
static void slice_up(struct gsym *g)
{
	uint64_t span = g->count ? gsym_addr(g, g->count - 1) - g->base : 0;
	uint32_t i = 0, n;

	for (g->slice_bits = 0; g->slice_bits < 63 && span >> g->slice_bits > g->count / 8;)
		g->slice_bits++;
	n = (uint32_t)(span >> g->slice_bits) + 1;
	g->slices = malloc(((size_t)n + 1) * sizeof(*g->slices));
	if (!g->slices)
		return; /* lookups are only slower */
	g->n_slices = n;
	for (uint32_t slice = 0; slice <= n; slice++) {
		while (i < g->count && (gsym_addr(g, i) - g->base) >> g->slice_bits < slice)
			i++;
		g->slices[slice] = i;
	}
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
	if (r == 0)
		slice_up(g);
	return r;
}

void gsym_release(struct gsym *g)
{
	free(g->outer);
	free(g->slices);
	g->outer = g->slices = NULL;
	g->n_slices = 0;
	g->prepared = false;
}
