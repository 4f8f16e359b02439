/* Finds the frames of one address in a PDB, and reads only the parts of the PDB that are needed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pdb/find.h"
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

static int add_frame(struct pdb_namer *names, const struct pdb_code *c, struct pdb_found *out, struct buf *name,
	uint32_t file, uint32_t line, bool *again)
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
	*f = (struct pdb_frame){strdup(buf_text(name)), strdup(buf_text(&path)), line};
	out->n++;
	return f->name && f->file ? 0 : -ENOMEM;
}

/* Adds the inlined calls of a piece, the innermost first, then the function. */
static int add_frames(struct pdb_namer *names, const struct pdb_code *c, const struct pdb_func *f,
	const struct pdb_pieces_of *cut, const struct pdb_piece *p, struct pdb_found *out, bool *again)
{
	_cleanup_buf_ struct buf own = BUF_UP_TO(TEXT_MOST);
	int r = 0;

	for (int cell = p->cell; r == 0 && cell >= 0; cell = cut->cells[cell].parent) {
		_cleanup_buf_ struct buf name = BUF_UP_TO(TEXT_MOST);
		const struct pdb_cell *at = &cut->cells[cell];

		r = note_missing(pdb_inlinee_name(names, c, cut->sites.at[at->site].inlinee, &name), again);
		if (r == 0)
			r = add_frame(names, c, out, &name, at->file, at->line, again);
	}
	if (r == 0)
		r = note_missing(pdb_func_name(names, c, f->name ? f->name : "", f->type, &own), again);
	return r < 0 ? r : add_frame(names, c, out, &own, p->file, p->line, again);
}

static int find_in_func(struct pdb_namer *names, const struct pdb_code *c, const struct pdb_func *f, uint32_t off,
	struct pdb_found *out)
{
	struct pdb_pieces_of cut;
	bool again = false;
	size_t i = 0;
	int r = pdb_cut(c, f, &cut);

	if (r < 0)
		return r;
	while (i < cut.n && cut.at[i].to <= off)
		i++;
	r = i < cut.n ? add_frames(names, c, f, &cut, &cut.at[i], out, &again) : -ENOENT;
	pdb_cut_release(&cut);
	return r == 0 && again ? -EAGAIN : r;
}

/* The function at an address; NULL for trampolines, which get the name of their public symbol. */
static const struct pdb_func *func_of(const struct pdb_code *c, unsigned section, uint32_t off)
{
	const struct pdb_func *f = pdb_func_at(c, section, off);

	return f && f->kind != PDB_TRAMPOLINE ? f : NULL;
}

/* Finds the public symbol for an address. Such a symbol extends up to the next one, or to a function that
 * begins earlier. Its lines are those of the code, which assemblers list without functions. */
static int find_public(const struct pdb *p, struct pdb_namer *names, const struct pdb_code *c, unsigned section,
	uint32_t off, struct pdb_found *out, struct err *e)
{
	struct pdb_code empty = {.p = p};
	struct pdb_func f = {.section = (uint16_t)section, .off = off, .size = 1};
	struct pdb_public pub;
	int r = pdb_public_before(p, names->io, section, off, &pub, e);

	if (r == 0 && pdb_contrib_of(p, section, pub.off) != pdb_contrib_of(p, section, off))
		r = -ENOENT;
	if (r == 0 && c && pdb_func_from(c, section, pub.off, off + 1))
		r = -ENOENT;
	f.name = r == 0 ? pub.name : "";
	if (r == -ENOENT && c && pdb_has_lines(c, section, off, 1))
		r = 0; /* a function without a name */
	if (r == 0)
		r = find_in_func(names, c ? c : &empty, &f, off, out);
	pdb_public_release(&pub);
	return r;
}

static int find_in_module(const struct pdb *p, struct pdb_namer *names, int module, unsigned section, uint32_t off,
	struct pdb_found *out, struct err *e)
{
	struct pdb_code c = {0};
	const struct pdb_func *f = NULL;
	int r = module >= 0 ? pdb_code_open(&c, p, names->io, (unsigned)module, e) : -ENOENT;

	if (r == 0)
		f = func_of(&c, section, off);
	if (f)
		r = find_in_func(names, &c, f, off, out);
	else if (r == 0 || r == -ENOENT)
		r = find_public(p, names, r == 0 ? &c : NULL, section, off, out, e);
	pdb_code_release(&c);
	return r;
}

/* Without contributions, searches every module for the address. */
static int find_anywhere(const struct pdb *p, struct pdb_namer *names, unsigned section, uint32_t off,
	struct pdb_found *out, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; (r == 0 || r == -ENOENT) && i < p->n_modules; i++) {
		struct pdb_code c;
		const struct pdb_func *f;

		r = pdb_code_open(&c, p, names->io, i, e);
		f = r == 0 ? func_of(&c, section, off) : NULL;
		if (f)
			r = find_in_func(names, &c, f, off, out);
		pdb_code_release(&c);
		if (f)
			return r;
	}
	return r == 0 || r == -ENOENT ? find_in_module(p, names, -1, section, off, out, e) : r;
}

int pdb_find(const struct pdb *p, struct pdb_namer *names, uint32_t rva, struct pdb_found *out, struct err *e)
{
	const struct pdb_contrib *c;
	uint32_t source, off;
	unsigned section;
	int r;

	out->n = 0;
	if (!pdb_source(p, rva, &source) || !pdb_section_of(p, source, &section, &off))
		return -ENOENT;
	c = pdb_contrib_of(p, section, off);
	r = p->n_contribs ? find_in_module(p, names, c ? c->module : -1, section, off, out, e)
			  : find_anywhere(p, names, section, off, out, e);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}
