/* Finds the frames of one address in a PDB, and reads only the parts of the PDB that are needed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pdb/find.h"
#include "base/search.h"
#include "base/util.h"
#include "pdb/frames.h"
#include "pdb/publics.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MOST (64u << 10)

void pdb_found_release(struct pdb_found *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		free(take(f->frame[i].name));
		free(take(f->frame[i].file));
	}
	f->n = 0;
}

/* Records -EAGAIN but continues, so that one call finds as many missing bytes as possible. */
static int note_missing(int r, bool *again)
{
	*again |= r == -EAGAIN;
	return r == -EAGAIN ? 0 : r;
}

/* ---- starts of functions and inlined calls ------------------------------------------------- */

/* An address, in its section and in the image. */
struct spot {
	unsigned section;
	uint32_t off, rva;
	bool target; /* a jump leads here; a second jump is not followed */
};

/* The start of a function. If OMAP tables moved parts of the function to different places, this is the start of
 * the part that contains the address. */
struct origin {
	uint32_t off, rva;
};

static struct origin origin_of(const struct pdb *p, const struct spot *at, uint32_t start)
{
	struct origin o = {start, at->rva - (at->off - start)};
	uint32_t source;
	struct pdb_moves it;
	struct pdb_moved m;

	if (!p->moved || !pdb_source_of(p, at->section, start, &source))
		return o;
	pdb_moves(&it, p, source, at->off - start + 1);
	while (pdb_moves_next(&it, &m))
		if (at->rva >= m.target && at->rva - m.target < m.size &&
			source + (at->off - start) - m.source == at->rva - m.target)
			o = (struct origin){start + (m.source - source), m.target};
	return o;
}

/* An inlined call as GSYM has it: a series of pieces in which a call site has the same caller and the same line of
 * the call. `start`: offset of the call's first byte at or after the origin; UINT32_MAX: not known yet. */
struct call {
	uint32_t number, caller, file, line, start;
};

/* Follows the calls of one piece, outermost first; writes the start of each of its cells. */
static void follow_calls(const struct pdb_code *c, const struct pdb_pieces_of *cut, const struct pdb_piece *p,
	uint32_t from, struct call *calls, uint32_t *number, uint32_t *starts)
{
	int chain[PDB_DEPTH_MOST], n = 0;
	uint32_t file = p->file, line = p->line, caller = 0;

	for (int cell = p->cell; cell >= 0 && n < PDB_DEPTH_MOST; cell = cut->cells[cell].parent)
		chain[n++] = cell;
	while (n-- > 0) {
		const struct pdb_cell *cell = &cut->cells[chain[n]];
		struct call *k = &calls[cell->site];

		file = line ? pdb_file_name(c, file) : 0;
		if (!k->number || k->caller != caller || k->file != file || k->line != line)
			*k = (struct call){++*number, caller, file, line, UINT32_MAX};
		if (k->start == UINT32_MAX && p->to > from)
			k->start = MAX(p->from, from);
		starts[chain[n]] = k->start;
		caller = k->number;
		file = cell->file;
		line = cell->line;
	}
}

/* Finds the starts of all calls, at or after `from`. 0; -ENOMEM. */
static int find_starts(const struct pdb_code *c, struct pdb_kept *k, uint32_t from)
{
	struct call *calls;
	uint32_t number = 0;

	if (k->starts && k->from == from)
		return 0;
	free(take(k->starts));
	calls = calloc(k->cut.sites.n + 1, sizeof(*calls));
	k->starts = malloc((k->cut.n_cells + 1) * sizeof(*k->starts));
	k->from = from;
	for (size_t i = 0; calls && k->starts && i < k->cut.n; i++)
		follow_calls(c, &k->cut, &k->cut.at[i], from, calls, &number, k->starts);
	if (!calls)
		free(take(k->starts));
	free(calls);
	return k->starts ? 0 : -ENOMEM;
}

/* ---- frames ------------------------------------------------------------------------------- */

static int add_frame(struct pdb_namer *names, const struct pdb_code *c, struct pdb_found *out, struct buf *name,
	uint32_t file, uint32_t line, uint32_t offset, bool *again)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(TEXT_MOST);
	struct pdb_frame *f = &out->frame[out->n];
	uint32_t number = line ? pdb_file_name(c, file) : 0;
	int r = 0;

	if (out->n == PDB_FRAMES_MOST)
		return 0;
	if (number)
		r = note_missing(pdb_name(names->p, names->io, number, &path, NULL), again);
	if (r == -EBADMSG || r == -EFBIG) {
		buf_clear(&path);
		r = 0;
	}
	if (r < 0)
		return r;
	*f = (struct pdb_frame){strdup(buf_text(name)), strdup(buf_text(&path)), line, offset};
	out->n++;
	return f->name && f->file ? 0 : -ENOMEM;
}

/* Adds the calls of piece `i`, innermost first, then the function. */
static int add_frames(struct pdb_namer *names, const struct pdb_code *c, const struct pdb_func *f,
	struct pdb_kept *kept, size_t i, const struct spot *at, const struct origin *o, struct pdb_found *out,
	bool *again)
{
	_cleanup_buf_ struct buf own = BUF_UP_TO(TEXT_MOST);
	const struct pdb_pieces_of *cut = &kept->cut;
	const struct pdb_piece *p = &cut->at[i];
	int r = p->cell >= 0 ? find_starts(c, kept, o->off) : 0;

	for (int cell = p->cell; r == 0 && cell >= 0; cell = cut->cells[cell].parent) {
		_cleanup_buf_ struct buf name = BUF_UP_TO(TEXT_MOST);
		const struct pdb_cell *k = &cut->cells[cell];

		r = note_missing(pdb_inlinee_name(names, c, cut->sites.at[k->site].inlinee, &name), again);
		if (r == 0)
			r = add_frame(names, c, out, &name, k->file, k->line, at->off - kept->starts[cell], again);
	}
	if (r == 0)
		r = note_missing(pdb_func_name(names, c, f->name ? f->name : "", f->type, &own), again);
	return r < 0 ? r : add_frame(names, c, out, &own, p->file, p->line, at->rva - o->rva, again);
}

/* Finds the frames of the address in `f`. The function begins at `start`. For a public symbol, `f` is
 * only the byte at the address, so `start` can be lower than f->off. */
static int find_in_func(struct pdb_namer *names, const struct pdb_code *c, const struct pdb_func *f, uint32_t start,
	const struct spot *at, struct pdb_found *out)
{
	bool keep = c == &names->code && c->n_funcs && f >= c->funcs && f < c->funcs + c->n_funcs, again = false;
	struct pdb_kept own = {0}, *k = keep ? &names->kept : &own;
	struct origin o = origin_of(c->p, at, start);
	size_t i;
	int r = 0;

	if (k->func != f) {
		pdb_kept_release(k);
		r = pdb_cut(c, f, &k->cut);
		k->func = r == 0 ? f : NULL;
	}
	i = search_first(p, 0, r == 0 ? k->cut.n : 0, k->cut.at[p].to <= at->off);
	if (r == 0)
		r = i < k->cut.n ? add_frames(names, c, f, k, i, at, &o, out, &again) : -ENOENT;
	if (!keep)
		pdb_kept_release(k);
	return r == 0 && again ? -EAGAIN : r;
}

/* The function at an address. NULL: the address is in no function, or in a trampoline, whose frames come rather from
 * a public symbol or from lines. */
static const struct pdb_func *func_of(const struct pdb_code *c, unsigned section, uint32_t off)
{
	const struct pdb_func *f = pdb_func_at(c, section, off);

	return f && f->kind != PDB_TRAMPOLINE ? f : NULL;
}

/* The start of the unnamed code at an address: the end of the function before the address, or else the start of
 * the contribution. */
static uint32_t unnamed_start(const struct pdb_code *c, const struct spot *at)
{
	const struct pdb_contrib *k = pdb_contrib_of(c->p, at->section, at->off);
	uint32_t start = k ? k->off : at->off;

	for (uint32_t off = start; off < at->off;) {
		const struct pdb_func *f = func_of(c, at->section, off);

		if (f) {
			start = off = f->off + f->size;
			continue;
		}
		f = pdb_func_from(c, at->section, off + 1, at->off);
		off = f ? f->off : at->off;
	}
	return MIN(start, at->off);
}

/* Finds the public symbol for an address. Such a symbol extends to the next one, or to the next function if the
 * function begins earlier. If the symbol's own address lies in a function, the symbol begins at the end of that
 * function. Lines come from the module: assemblers write lines without functions. Code that has only lines gets
 * an empty name. */
static int find_public(const struct pdb *p, struct pdb_namer *names, const struct pdb_code *c, const struct spot *at,
	struct pdb_found *out, struct err *e)
{
	struct pdb_code empty = {.p = p};
	struct pdb_func f = {.section = (uint16_t)at->section, .off = at->off, .size = 1};
	const struct pdb_func *over;
	struct pdb_public pub;
	uint32_t start = at->off;
	int r = pdb_public_before(p, names->io, at->section, at->off, &pub, e);

	if (r == 0 && pdb_contrib_of(p, at->section, pub.off) != pdb_contrib_of(p, at->section, at->off))
		r = -ENOENT;
	if (r == 0 && c && pdb_func_from(c, at->section, pub.off, at->off + 1))
		r = -ENOENT;
	f.name = r == 0 ? pub.name : "";
	if (r == 0) {
		over = c ? func_of(c, at->section, pub.off) : NULL;
		start = over ? MIN(over->off + over->size, at->off) : pub.off;
	} else if (r == -ENOENT && c && pdb_has_lines(c, at->section, at->off, 1)) {
		start = unnamed_start(c, at);
		r = 0;
	}
	if (r == 0)
		r = find_in_func(names, c ? c : &empty, &f, start, at, out);
	pdb_public_release(&pub);
	return r;
}

static int find_in_module(const struct pdb *p, struct pdb_namer *names, int module, const struct spot *at,
	struct pdb_found *out, struct err *e);

/* Opens a module, unless the last look-up was in it. Frees the module of the last look-up. *out is valid until the
 * next call. Returns as pdb_code_open(). */
static int open_code(const struct pdb *p, struct pdb_namer *names, unsigned module, const struct pdb_code **out,
	struct err *e)
{
	struct pdb_code *c = &names->code;
	int r;

	*out = c;
	if (names->has_code && c->module == module)
		return 0;
	pdb_kept_release(&names->kept);
	pdb_code_release(c);
	r = pdb_code_open(c, p, names->io, module, e);
	names->has_code = r == 0;
	if (r < 0)
		pdb_code_release(c);
	return r;
}

/* Names a jump of incremental links after the function that it leads to. The jump itself has no lines. Frees the
 * module of the jump. */
static int find_trampoline(const struct pdb *p, struct pdb_namer *names, const struct pdb_func *f,
	const struct spot *at, struct pdb_found *out, struct err *e)
{
	struct spot to = {.section = f->target_section, .off = f->target, .target = true};
	const struct pdb_contrib *c = pdb_contrib_of(p, to.section, to.off);
	struct origin o = origin_of(p, at, f->off);
	struct pdb_frame *last;
	int r;

	if (!c || !pdb_address(p, to.section, to.off, &to.rva))
		return -ENOENT;
	r = find_in_module(p, names, c->module, &to, out, e);
	if (r < 0 || !out->n)
		return r < 0 ? r : -ENOENT;
	last = &out->frame[out->n - 1];
	for (unsigned i = 0; i + 1 < out->n; i++) {
		free(out->frame[i].name);
		free(out->frame[i].file);
	}
	out->frame[0] = *last;
	out->frame[0].file[0] = '\0';
	out->frame[0].line = 0;
	out->frame[0].offset = at->rva - o.rva;
	out->n = 1;
	return out->frame[0].name[0] ? 0 : -ENOENT;
}

static int find_in_module(const struct pdb *p, struct pdb_namer *names, int module, const struct spot *at,
	struct pdb_found *out, struct err *e)
{
	const struct pdb_code *c = NULL;
	const struct pdb_func *f = NULL;
	int r = module >= 0 ? open_code(p, names, (unsigned)module, &c, e) : -ENOENT;

	if (r == 0)
		f = pdb_func_at(c, at->section, at->off);
	if (f && f->kind != PDB_TRAMPOLINE)
		return find_in_func(names, c, f, f->off, at, out);
	if (r == 0 || r == -ENOENT)
		r = find_public(p, names, r == 0 ? c : NULL, at, out, e);
	if (r == -ENOENT && f && p->incremental && !at->target)
		r = find_trampoline(p, names, f, at, out, e);
	return r;
}

/* Searches every module for the address, for a PDB without contributions. */
static int find_anywhere(const struct pdb *p, struct pdb_namer *names, const struct spot *at, struct pdb_found *out,
	struct err *e)
{
	int r = 0;

	for (unsigned i = 0; (r == 0 || r == -ENOENT) && i < p->n_modules; i++) {
		struct pdb_code c;
		const struct pdb_func *f;

		r = pdb_code_open(&c, p, names->io, i, e);
		f = r == 0 ? func_of(&c, at->section, at->off) : NULL;
		if (f)
			r = find_in_func(names, &c, f, f->off, at, out);
		pdb_code_release(&c);
		if (f)
			return r;
	}
	return r == 0 || r == -ENOENT ? find_in_module(p, names, -1, at, out, e) : r;
}

int pdb_find(const struct pdb *p, struct pdb_namer *names, uint32_t rva, struct pdb_found *out, struct err *e)
{
	const struct pdb_contrib *c;
	struct spot at = {.rva = rva};
	uint32_t source;
	int r;

	out->n = 0;
	if (!pdb_source(p, rva, &source) || !pdb_section_of(p, source, &at.section, &at.off))
		return -ENOENT;
	c = pdb_contrib_of(p, at.section, at.off);
	r = p->n_contribs ? find_in_module(p, names, c ? c->module : -1, &at, out, e)
			  : find_anywhere(p, names, &at, out, e);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}
