/* Makes GSYM of a few addresses of a PDB, in rounds: all bytes that are missing are requested at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/partial.h"
#include "base/grow.h"
#include "base/util.h"
#include "derive/convert/from-pdb-private.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS_MOST 256 /* each round requests further bytes; names of nested types take the most rounds */

struct partial_pdb {
	struct gsym_make_opts o;
	struct job job;
	struct part part;
	partial_fill *fill;
	void *ctx;
	unsigned rounds;
	struct pdb_code code; /* the module of the last look-up, if has_code */
	bool has_code;
	/* of this round: the last function of `code`, and the last range of code without one (size 0: none), with
	 * what pdb_part_write() returned */
	const struct pdb_func *func;
	struct pdb_func unnamed;
	int func_r, unnamed_r;
};

/* An address, in its section. */
struct spot {
	unsigned section;
	uint32_t off;
	bool target; /* a jump leads here; a second jump is not followed */
};

/* Requests the bytes that the calls of this round lacked. */
static int next_round(struct partial_pdb *p, struct err *e)
{
	struct msf_io *io = &p->part.io;
	int r;

	if (!io->n_lacks || !p->fill || ++p->rounds > ROUNDS_MOST)
		return err_set(e, -EBADMSG, "is broken: its names need more bytes each time");
	r = p->fill(p->ctx, io->lacks, io->n_lacks);
	io->n_lacks = 0;
	return r < 0 ? err_set(e, r, "cannot be read: %s", err_text(r)) : 0;
}

/* ---- the function of an address ------------------------------------------------------------- */

/* The function at an address. NULL: the address is in no function, or in a trampoline, whose frames come rather from
 * a public symbol or from lines. */
static const struct pdb_func *func_of(const struct pdb_code *c, unsigned section, uint32_t off)
{
	const struct pdb_func *f = pdb_func_at(c, section, off);

	return f && f->kind != PDB_TRAMPOLINE ? f : NULL;
}

/* Writes a function, with the frames of all wanted addresses in it. */
static int write_func(struct partial_pdb *p, const struct pdb_func *f)
{
	if (f == p->func)
		return p->func_r;
	p->func = f;
	pdb_part_begin(&p->part, &p->code);
	return p->func_r = pdb_part_write(&p->part, &p->code, f, GSYM_DEBUG);
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

/* Writes the public symbol of an address, up to the address. Such a symbol extends to the next one, or to the next
 * function if the function begins earlier. If the symbol's own address lies in a function, the symbol begins at the
 * end of that function. Lines come from the module: assemblers write lines without functions. Code that has only
 * lines gets an empty name. `c` NULL: no module has the address. */
static int write_public(struct partial_pdb *p, const struct pdb_code *c, const struct spot *at, struct err *e)
{
	const struct pdb *pdb = &p->job.pdb;
	struct pdb_code empty = {.p = pdb};
	struct pdb_func f = {.section = (uint16_t)at->section, .off = at->off};
	const struct pdb_func *over;
	struct pdb_public pub;
	int r;

	/* Addresses come in descending order, so the range that was written last has all bytes up to its end. */
	if (p->unnamed.section == at->section && at->off - p->unnamed.off < p->unnamed.size)
		return p->unnamed_r;
	r = pdb_public_before(pdb, &p->part.io, at->section, at->off, &pub, e);
	if (r == 0 && pdb_contrib_of(pdb, at->section, pub.off) != pdb_contrib_of(pdb, at->section, at->off))
		r = -ENOENT;
	if (r == 0 && c && pdb_func_from(c, at->section, pub.off, at->off + 1))
		r = -ENOENT;
	f.name = r == 0 ? pub.name : "";
	if (r == 0) {
		over = c ? func_of(c, at->section, pub.off) : NULL;
		f.off = over ? MIN(over->off + over->size, at->off) : pub.off;
	} else if (r == -ENOENT && c && pdb_has_lines(c, at->section, at->off, 1)) {
		f.off = unnamed_start(c, at);
		r = 0;
	}
	f.size = at->off + 1 - f.off;
	if (r == 0) {
		pdb_part_begin(&p->part, c ? c : &empty);
		r = p->unnamed_r = pdb_part_write(&p->part, c ? c : &empty, &f, GSYM_DEBUG);
		p->unnamed = f;
	}
	pdb_public_release(&pub);
	return r;
}

/* Opens a module, unless it is open already. Returns as pdb_code_open(). */
static int open_code(struct partial_pdb *p, unsigned module, struct err *e)
{
	int r;

	if (p->has_code && p->code.module == module)
		return 0;
	p->func = NULL;
	pdb_code_release(&p->code);
	r = pdb_code_open(&p->code, &p->job.pdb, &p->part.io, module, e);
	p->has_code = r == 0;
	if (r < 0)
		pdb_code_release(&p->code);
	return r;
}

static int write_in_module(struct partial_pdb *p, int module, const struct spot *at, struct err *e);

/* Names a jump of incremental links after the function that it leads to, which is written, too. The jump itself has
 * no lines. */
static int write_jump(struct partial_pdb *p, struct pdb_func f, struct err *e)
{
	struct spot to = {.section = f.target_section, .off = f.target, .target = true};
	const struct pdb_contrib *c = pdb_contrib_of(&p->job.pdb, to.section, to.off);
	int r = c ? write_in_module(p, c->module, &to, e) : -ENOENT;

	return r < 0 ? r : pdb_part_keep_jump(&p->part, &f);
}

/* Writes the function of an address. `module` -1: no module has the address. */
static int write_in_module(struct partial_pdb *p, int module, const struct spot *at, struct err *e)
{
	const struct pdb_func *f = NULL;
	int r = module >= 0 ? open_code(p, (unsigned)module, e) : -ENOENT;

	if (r == 0)
		f = pdb_func_at(&p->code, at->section, at->off);
	if (f && f->kind != PDB_TRAMPOLINE)
		return write_func(p, f);
	if (r == 0 || r == -ENOENT)
		r = write_public(p, r == 0 ? &p->code : NULL, at, e);
	if (r == -ENOENT && f && p->job.pdb.incremental && !at->target)
		r = write_jump(p, *f, e);
	return r;
}

/* Searches every module for the address, for a PDB without contributions. */
static int write_anywhere(struct partial_pdb *p, const struct spot *at, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; (r == 0 || r == -ENOENT) && i < p->job.pdb.n_modules; i++) {
		const struct pdb_func *f;

		r = open_code(p, i, e);
		f = r == 0 ? func_of(&p->code, at->section, at->off) : NULL;
		if (f)
			return write_func(p, f);
	}
	return r == 0 || r == -ENOENT ? write_in_module(p, -1, at, e) : r;
}

/* ---- all addresses -------------------------------------------------------------------------- */

static int write_at(struct partial_pdb *p, uint64_t addr, struct err *e)
{
	const struct spot at = {.section = (unsigned)(addr >> 32), .off = (uint32_t)addr};
	const struct pdb_contrib *c = pdb_contrib_of(&p->job.pdb, at.section, at.off);

	return p->job.pdb.n_contribs ? write_in_module(p, c ? c->module : -1, &at, e) : write_anywhere(p, &at, e);
}

/* Writes what is not done yet, in descending order of address, because each look-up leaves its module open for the
 * next. -EAGAIN: bytes are missing. */
static int write_round(struct partial_pdb *p, bool *done, struct err *e)
{
	bool again = false;

	p->func = NULL;
	p->unnamed.size = 0;
	for (size_t i = p->part.n_wanted; i-- > 0;) {
		int r = done[i] ? 0 : write_at(p, p->part.wanted[i], e);

		done[i] = r == 0 || r == -ENOENT;
		again |= r == -EAGAIN;
		if (!done[i] && r != -EAGAIN)
			return r;
	}
	return again ? -EAGAIN : 0;
}

/* Writes a function at an address that was not asked for. */
static void write_none(struct gsym_writer *w, const uint32_t *addrs, size_t n)
{
	uint32_t addr = UINT32_MAX;

	for (size_t i = 0; i < n;)
		if (addrs[i++] == addr) {
			addr--;
			i = 0;
		}
	gsym_begin(w, addr, 1, gsym_no_name(w), GSYM_DEBUG);
	gsym_end(w);
}

/* The sorted source addresses, for part.wanted. Returns their number. */
static size_t list_wanted(const struct pdb *pdb, const uint32_t *addrs, size_t n, uint64_t *wanted)
{
	size_t n_wanted = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t source, off;
		unsigned section;

		if (pdb_source(pdb, addrs[i], &source) && pdb_section_of(pdb, source, &section, &off))
			wanted[n_wanted++] = (uint64_t)section << 32 | off;
	}
	sort_array(wanted, n_wanted, sizeof(*wanted), compare_u64);
	return n_wanted;
}

/* Forgets what belongs to the last writer. */
static void begin(struct partial_pdb *p, struct gsym_writer *w)
{
	struct part *part = &p->part;

	memset(part->files, 0, KNOWN_SLOTS * sizeof(*part->files));
	memset(part->inlinees, 0, KNOWN_SLOTS * sizeof(*part->inlinees));
	part->w = w;
	part->n_targets = part->n_jumps = 0;
	p->rounds = 0;
	gsym_set_base(w, 0);
	gsym_set_id(w, p->job.pdb.guid, sizeof(p->job.pdb.guid));
}

int partial_write(struct partial_pdb *p, struct gsym_writer *w, const uint32_t *addrs, size_t n, struct err *e)
{
	_cleanup_free_ uint64_t *wanted = malloc((n + 1) * sizeof(*wanted));
	_cleanup_free_ bool *done = calloc(n + 1, sizeof(*done));
	uint64_t most = p->part.texts_left;
	int r = wanted && done ? 0 : -ENOMEM;

	if (r == 0) {
		begin(p, w);
		p->part.wanted = wanted;
		p->part.n_wanted = list_wanted(&p->job.pdb, addrs, n, wanted);
		while ((r = write_round(p, done, e)) == -EAGAIN && (r = next_round(p, e)) == 0)
			p->part.texts_left = most;
	}
	p->part.texts_left = most;
	if (r == 0)
		r = pdb_parts_write_jumps(&p->part, 1);
	if (r == 0 && !gsym_functions(w))
		write_none(w, addrs, n);
	r = r < 0 ? r : gsym_error(w);
	return r == -ENOMEM ? err_set(e, r, "out of memory")
		: r == -E2BIG ? err_set(e, -EBADMSG, "is broken: its names take more than %u times its size",
					PDB_TEXTS_EACH)
			      : r;
}

int partial_open(struct partial_pdb **out, const struct view *v, bool plain, partial_fill *fill, void *ctx,
	struct err *e)
{
	struct partial_pdb *p = *out = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->o.plain_names = plain;
	p->job.o = &p->o;
	p->fill = fill;
	p->ctx = ctx;
	r = pdb_part_init(&p->part, &p->job, NULL, v);
	while (r == 0 && (r = pdb_open(&p->job.pdb, &p->part.io, e)) == -EAGAIN) {
		pdb_release(&p->job.pdb);
		r = next_round(p, e);
	}
	if (r == 0)
		r = pdb_has_symbols(&p->job.pdb, e);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

void partial_free(struct partial_pdb *p)
{
	if (!p)
		return;
	pdb_code_release(&p->code);
	pdb_part_release(&p->part);
	pdb_release(&p->job.pdb);
	free(p);
}
