/* Converts PDBs: each of several threads takes the next module, and has a writer of its own. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/from-pdb.h"
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "derive/convert/from-pdb-private.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_EACH 4 /* fewer threads are started if each would have fewer modules */

/* Whether the function is to be written. When a linker folds identical functions, the symbols of the dropped
 * functions stay. They then lie in code of another module. Of several functions of a module at one address,
 * the first is written. */
static bool is_wanted(const struct job *j, const struct pdb_code *c, const struct pdb_func *f)
{
	const struct pdb_contrib *k = pdb_contrib_of(&j->pdb, f->section, f->off);

	if (j->pdb.n_contribs && (!k || k->module != c->module))
		return false;
	return pdb_func_at(c, f->section, f->off) == f;
}

/* ---- public symbols --------------------------------------------------------------------------- */

static size_t first_public(const struct job *j, unsigned section, uint32_t off)
{
	const struct pdb_public *all = j->publics.at;

	return search_first(i, 0, j->publics.n,
		all[i].section < section || (all[i].section == section && all[i].off < off));
}

/* Writes a public symbol: from its address, or from the end of a function that covers its address, up to
 * the next function. */
static int write_public(struct part *p, const struct pdb_code *c, const struct pdb_public *pub, uint32_t end)
{
	const struct pdb_func *f = pdb_func_from(c, pub->section, pub->off, end);
	struct pdb_func own = {.section = pub->section, .off = pub->off, .name = pub->name};

	if (f)
		end = f->off;
	f = pdb_func_at(c, pub->section, pub->off);
	if (f && f->kind != PDB_TRAMPOLINE)
		own.off = f->off + f->size;
	if (own.off >= end)
		return 0;
	own.size = end - own.off;
	return pdb_part_write(p, c, &own, GSYM_GLOBAL);
}

static int write_publics(struct part *p, const struct pdb_code *c, unsigned section, uint32_t off, uint32_t end)
{
	const struct job *j = p->job;
	int r = 0;

	for (size_t i = first_public(j, section, off); r == 0 && i < j->publics.n; i++) {
		const struct pdb_public *pub = &j->publics.at[i];
		bool more = i + 1 < j->publics.n && pub[1].section == section;

		if (pub->section != section || pub->off >= end)
			break;
		r = write_public(p, c, pub, more ? MIN(pub[1].off, end) : end);
	}
	return r;
}

/* ---- code without a name ------------------------------------------------------------------------ */

/* Where the first public symbol in [off, end) begins; `end` when no public symbol does. */
static uint32_t public_from(const struct job *j, unsigned section, uint32_t off, uint32_t end)
{
	size_t i = first_public(j, section, off);

	return i < j->publics.n && j->publics.at[i].section == section ? MIN(j->publics.at[i].off, end) : end;
}

static int write_unnamed(struct part *p, const struct pdb_code *c, unsigned section, uint32_t from, uint32_t to)
{
	struct pdb_func own = {.section = (uint16_t)section, .off = from, .size = to - from};

	if (from >= to || !pdb_has_lines(c, section, from, to - from))
		return 0;
	return pdb_part_write(p, c, &own, GSYM_LOCAL);
}

/* Writes code that has lines but neither a function nor a public symbol. A linker that
 * writes a partial PDB leaves only lines. */
static int write_rest(struct part *p, const struct pdb_code *c, unsigned section, uint32_t off, uint32_t end)
{
	uint32_t at = off, since = off; /* a public symbol in [since, at] names the code at `at` */
	int r = 0;

	while (r == 0 && at < end) {
		const struct pdb_func *f = pdb_func_at(c, section, at), *next;
		uint32_t stop;

		if (f && f->kind != PDB_TRAMPOLINE) {
			since = MAX(f->off + 1, since);
			at = f->off + f->size;
			continue;
		}
		next = pdb_func_from(c, section, at, end);
		stop = next ? next->off : end;
		if (public_from(p->job, section, since, at + 1) == at + 1)
			r = write_unnamed(p, c, section, at, public_from(p->job, section, at, stop));
		since = at = MAX(stop, at + 1);
	}
	return r;
}

/* Whether a trampoline gets the name of its target: only if neither a public symbol nor lines cover it. */
static bool is_jump(const struct job *j, const struct pdb_code *c, const struct pdb_func *f)
{
	size_t i = first_public(j, f->section, f->off + 1);
	const struct pdb_public *pub = i ? &j->publics.at[i - 1] : NULL;
	const struct pdb_contrib *k = pdb_contrib_of(&j->pdb, f->section, f->off);

	if (pub && pub->section == f->section && pdb_contrib_of(&j->pdb, pub->section, pub->off) == k &&
		!pdb_func_from(c, f->section, pub->off, f->off + 1))
		return false;
	return k && j->pdb.incremental && !pdb_has_lines(c, f->section, f->off, f->size);
}

/* ---- modules ---------------------------------------------------------------------------------- */

/* Writes the functions and public symbols of a module. `contrib`: the index in by_module of the module's first
 * contribution, if it has any. */
static int write_module(struct part *p, unsigned module, size_t contrib, struct err *e)
{
	const struct job *j = p->job;
	struct pdb_code c;
	int r = pdb_code_open(&c, &j->pdb, &p->io, module, e);

	if (r == -ENOENT) { /* the module has only public symbols */
		pdb_code_release(&c);
		c = (struct pdb_code){.p = &j->pdb, .module = module};
		r = 0;
	}
	pdb_part_begin(p, &c);
	for (size_t i = 0; r == 0 && i < c.n_funcs; i++)
		if (is_wanted(j, &c, &c.funcs[i]))
			r = c.funcs[i].kind != PDB_TRAMPOLINE ? pdb_part_write(p, &c, &c.funcs[i], GSYM_DEBUG)
			    : is_jump(j, &c, &c.funcs[i])     ? pdb_part_keep_jump(p, &c.funcs[i])
							      : 0;
	for (; contrib < j->pdb.n_contribs && j->by_module[contrib].module == module; contrib++) {
		const struct pdb_contrib *k = &j->by_module[contrib];

		if (r == 0)
			r = write_publics(p, &c, k->section, k->off, k->off + k->size);
		if (r == 0 && c.n_fragments)
			r = write_rest(p, &c, k->section, k->off, k->off + k->size);
	}
	pdb_code_release(&c);
	return r == -E2BIG ? err_set(e, -EBADMSG, "is broken: its names take more than %u times its size",
				    PDB_TEXTS_EACH)
			  : r;
}

/* Writes the public symbols of a PDB without section contributions: each reaches up to the next one. */
static int write_other_publics(struct part *p)
{
	const struct job *j = p->job;
	struct pdb_code none = {.p = &j->pdb, .module = j->pdb.n_modules};
	int r = 0;

	pdb_part_begin(p, &none);
	for (size_t i = 0; r == 0 && !j->pdb.n_contribs && i < j->publics.n; i++) {
		const struct pdb_public *pub = &j->publics.at[i];
		bool more = i + 1 < j->publics.n && pub[1].section == pub->section;

		r = write_public(p, &none, pub, more ? pub[1].off : pub->off + 1);
	}
	return r;
}

/* ---- threads ---------------------------------------------------------------------------------- */

/* Keeps the error of the first module that has one, whichever thread is faster. Called under lock. */
static void note_failure(struct job *j, uint32_t module, int r, const struct err *e)
{
	if (j->failed && j->failed_at < module)
		return;
	j->failed = r;
	j->failed_at = module;
	j->e = *e;
}

static void write_modules(struct part *p, bool caller)
{
	struct job *j = p->job;

	pthread_mutex_lock(&j->lock);
	while (!j->failed && j->next < j->pdb.n_modules) {
		uint32_t module = j->next++;
		size_t contrib;
		struct err e = {0};
		int r;

		while (j->contrib < j->pdb.n_contribs && j->by_module[j->contrib].module < module)
			j->contrib++;
		contrib = j->contrib;
		pthread_mutex_unlock(&j->lock);
		r = write_module(p, module, contrib, &e);
		if (caller && j->o->progress)
			j->o->progress(j->o->ctx, (unsigned)((uint64_t)module * 1000 / j->pdb.n_modules));
		pthread_mutex_lock(&j->lock);
		if (r < 0)
			note_failure(j, module, r, &e);
	}
	pthread_mutex_unlock(&j->lock);
}

static void *write_on_thread(void *part)
{
	write_modules(part, false);
	return NULL;
}

/* The caller is the first of the threads. It is the only one if no other can be started. */
static int write_all(struct job *j, struct part *parts, const struct view *v)
{
	unsigned n = gsym_threads(j->o, j->pdb.n_modules / MODULES_EACH + 1), made = 1, started = 1;
	pthread_t threads[GSYM_THREADS_MOST];
	int r = pdb_part_init(&parts[0], j, j->w, v);

	for (; r == 0 && made < n; made++) {
		struct gsym_writer *w;

		r = gsym_split(j->w, &w);
		if (r == 0)
			r = pdb_part_init(&parts[made], j, w, v);
	}
	while (r == 0 && started < n &&
		pthread_create(&threads[started], NULL, write_on_thread, &parts[started]) == 0)
		started++;
	if (r == 0)
		write_modules(&parts[0], true);
	while (started > 1)
		pthread_join(threads[--started], NULL);
	r = r < 0 ? r : j->failed;
	if (r == 0)
		r = write_other_publics(&parts[0]);
	return r < 0 ? r : pdb_parts_write_jumps(parts, made);
}

/* ---- the interface ---------------------------------------------------------------------------- */

static int compare_modules(const void *a, const void *b)
{
	const struct pdb_contrib *x = a, *y = b;

	return COMPARE(x->module, y->module) ?: COMPARE(x->section, y->section) ?: COMPARE(x->off, y->off);
}

static int prepare(struct job *j, struct msf_io *io, struct err *e)
{
	int r = pdb_index_texts(&j->pdb, io, e);

	if (r == 0)
		r = pdb_publics(&j->pdb, io, &j->publics, e);
	if (r < 0 || !j->pdb.n_contribs)
		return r;
	j->by_module = malloc(j->pdb.n_contribs * sizeof(*j->by_module));
	if (!j->by_module)
		return -ENOMEM;
	memcpy(j->by_module, j->pdb.contribs, j->pdb.n_contribs * sizeof(*j->by_module));
	qsort(j->by_module, j->pdb.n_contribs, sizeof(*j->by_module), compare_modules);
	return 0;
}

static int convert(struct job *j, const struct view *v, struct err *e)
{
	struct part *parts = calloc(GSYM_THREADS_MOST, sizeof(*parts));
	struct msf_io *io = parts ? &parts[0].io : NULL;
	int r;

	if (!parts)
		return -ENOMEM;
	msf_io_init(io, v);
	r = pdb_open(&j->pdb, io, e);
	if (r == 0)
		r = pdb_has_symbols(&j->pdb, e);
	if (r == 0)
		r = prepare(j, io, e);
	msf_io_release(io);
	if (r == 0) {
		gsym_set_base(j->w, 0);
		gsym_set_id(j->w, j->pdb.guid, sizeof(j->pdb.guid));
		r = write_all(j, parts, v);
		if (j->failed)
			*e = j->e;
	}
	for (unsigned i = 0; i < GSYM_THREADS_MOST; i++)
		pdb_part_release(&parts[i]);
	free(parts);
	return r;
}

int gsym_from_pdb(struct gsym_writer *w, struct span file, const struct gsym_make_opts *o, struct err *e)
{
	struct job j = {.w = w, .o = o, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct view v = view_of_mem(file.p, file.n);
	int r = convert(&j, &v, e);

	pdb_publics_release(&j.publics);
	pdb_release(&j.pdb);
	free(j.by_module);
	malloc_trim(0); /* the output needs the memory next, as one large block */
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}
