/* Loads the modules of a request: finds the files of each, converts the best one to GSYM, and maps it. The
 * caller's thread waits here for all modules at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "formats/obj/obj.h"
#include "formats/obj/ppdb.h"
#include "store/files/blob.h"
#include "symb/choose.h"
#include "symb/private.h"
#include "symb/wait.h"

#include <stdio.h>
#include <string.h>

/* the largest number of candidates that one module can have */
#define CANDIDATES_MOST 6

/* ---- candidates --------------------------------------------------------------------- */

/* A file type to request for a module. The candidates of one stage are requested at the same time. */
struct candidate {
	enum filetype type;
	unsigned stage; /* a later stage is requested if the earlier ones are not enough */
};

struct loading {
	struct wanted *w;
	const struct symb_request *request;
	bool program; /* looks for the program only */
	struct candidate cands[CANDIDATES_MOST];
	unsigned n_cands; /* in order of stage */
	unsigned n_tried; /* candidates requested so far */
	struct question *asked[CANDIDATES_MOST];
	unsigned waits; /* questions without an answer */
	struct found {
		struct blob *blob;
		enum filetype type;
		unsigned rank;
	} found[CANDIDATES_MOST];
	unsigned n_found;
	enum filetype making;
	struct key made;
	struct question *make;
	bool over;
};

static void add_candidate(struct loading *l, enum filetype t, unsigned stage)
{
	l->cands[l->n_cands++] = (struct candidate){t, stage};
}

/* Chooses the candidates of a module and their order. A program is requested when its debug file lacks debug
 * information, or first when the request lacks the debug id, which the program has. If the request gives only a
 * debug id, the Breakpad file comes first: such requests mean that file, and every symbol server has it under that
 * id. A PDB is large, so it is requested only when no smaller file has debug information. */
static void plan(struct loading *l)
{
	const struct module *m = &l->w->m;
	enum object_type o = best_object(m);
	bool known = m->code_id[0] || m->object == OBJECT_MACHO;
	bool elf = o == OBJECT_ELF || o == OBJECT_UNKNOWN, macho = o == OBJECT_MACHO || o == OBJECT_UNKNOWN;
	unsigned first = known ? 0 : 1, after = best_wants_ids(m);

	if (l->program) {
		add_candidate(l, FILETYPE_PE, 0);
		return;
	}
	if (after)
		add_candidate(l, FILETYPE_PE, 0);
	if (o == OBJECT_PE_DOTNET) {
		add_candidate(l, FILETYPE_PORTABLEPDB, after);
		if (!after)
			add_candidate(l, FILETYPE_PE, 1);
		return;
	}
	if (o == OBJECT_WASM) {
		add_candidate(l, FILETYPE_WASM_DEBUG, 0);
		add_candidate(l, FILETYPE_WASM_CODE, 1);
		return;
	}
	add_candidate(l, FILETYPE_BREAKPAD, after);
	if (elf)
		add_candidate(l, FILETYPE_ELF_DEBUG, first);
	if (macho)
		add_candidate(l, FILETYPE_MACH_DEBUG, first);
	if (elf)
		add_candidate(l, FILETYPE_ELF_CODE, first + 1);
	if (macho)
		add_candidate(l, FILETYPE_MACH_CODE, first + 1);
	if (o == OBJECT_PE && known && !after)
		add_candidate(l, FILETYPE_PE, 0);
	if (o == OBJECT_PE)
		add_candidate(l, FILETYPE_PDB, 1 + after);
	if (o == OBJECT_PE && !known)
		add_candidate(l, FILETYPE_PE, 2);
}

static bool artifact_of(const struct module *m, enum filetype t, struct artifact *out)
{
	struct key k;

	*out = (struct artifact){.type = t, .m = *m};
	out->m.object = m->object == OBJECT_PE_DOTNET ? m->object : filetypes[t].object;
	return t != FILETYPE_NONE && key_of(&k, out) == 0;
}

/* The form of the GSYM file that is made of a file. The exact form (eliot.h) is for a Breakpad file, which must give
 * the same answers as at Mozilla, and for a Portable PDB. */
static enum loaded_form form_of(const struct module *m, enum filetype t)
{
	if (m->object == OBJECT_PE_DOTNET || t == FILETYPE_BREAKPAD)
		return LOADED_EXACT;
	return t == FILETYPE_PDB ? LOADED_PDB : LOADED_IMAGE;
}

/* Names the GSYM file that is made from a file of type `t`. 0; -ENOENT: such a file cannot be
 * converted. */
static int made_of(struct symb *s, const struct module *m, enum filetype t, const struct symb_flags *flags,
	struct artifact *out)
{
	struct artifact in;

	if (!artifact_of(m, t, &in))
		return -ENOENT;
	return form_of(m, t) == LOADED_EXACT
		       ? derive_exact(s->derive, &in, flags->lenient && t == FILETYPE_BREAKPAD, out)
		       : derive_artifact(&in, false, out);
}

/* ---- stored GSYM files -------------------------------------------------------------- */

/* `again` as in is_here(). */
static bool find_made(struct symb *s, const struct artifact *a, enum loaded_form form, bool *again,
	struct loaded **out)
{
	char canon[KEY_TEXT];
	struct fetched f;
	struct key k;
	bool found;

	if (derive_key(a, &k) < 0)
		return false;
	*out = loaded_find(s, key_canon(&k, canon));
	if (*out && !loaded_is_stale(s, *out, a))
		return true;
	if (*out)
		loaded_unref(s, take(*out));
	found = derive_try(s->derive, a, NULL, &f) == 0 && f.r == 0;
	if (found && again)
		*again = true;
	found = found && !again && loaded_new(s, &k, form, f.blob, out, NULL) == 0;
	blob_unref(f.blob);
	return found;
}

/* Whether a file of type `t` could have lines that the stored GSYM files lack. False if an earlier request has
 * converted such a file, or did not find it. */
static bool may_say_more(struct symb *s, const struct loading *l, enum filetype t)
{
	struct artifact in, made;
	struct fetched f = {0};
	int r;

	if (!artifact_of(&l->w->m, t, &in) || made_of(s, &l->w->m, t, &l->request->flags, &made) < 0)
		return false;
	r = derive_try(s->derive, &made, NULL, &f);
	blob_unref(f.blob);
	if (r == 0)
		return false;
	r = fetch_try(s->fetch, &in, 1, FETCH_WHOLE, &f);
	r = r < 0 || (f.r == 0 && blob_facts(f.blob)->worth.debug) ? 1 : 0;
	blob_unref(f.blob);
	return r;
}

static bool others_may_say_more(struct symb *s, const struct loading *l)
{
	bool more = false;

	for (unsigned i = 0; !more && i < l->n_cands; i++)
		more = may_say_more(s, l, l->cands[i].type);
	return more;
}

/* Looks for a stored GSYM file. A file without lines is taken only if no other file could
 * have more. `again`: maps no file, and sets *again if a file should be mapped; NULL: maps files. */
static bool is_here(struct symb *s, struct loading *l, bool *again)
{
	struct loaded *symbols = NULL, *file;
	struct artifact a;

	for (unsigned i = 0; i < l->n_cands; i++) {
		enum filetype t = l->cands[i].type;

		/* A Portable PDB must be compared with the checksum of each request, so its GSYM alone is
		 * not enough. */
		if (t == FILETYPE_PORTABLEPDB && l->w->m.checksum[0])
			continue;
		if (made_of(s, &l->w->m, t, &l->request->flags, &a) < 0 ||
			!find_made(s, &a, form_of(&l->w->m, t), again, &file))
			continue;
		if (symbols && !loaded_has_lines(file)) {
			loaded_unref(s, file);
			continue;
		}
		if (symbols)
			loaded_unref(s, symbols);
		symbols = file;
		if (loaded_has_lines(file))
			break;
	}
	if (symbols && !loaded_has_lines(symbols) && others_may_say_more(s, l))
		loaded_unref(s, take(symbols));
	l->w->file = symbols;
	return symbols;
}

/* ---- fetching ----------------------------------------------------------------------- */

/* Asks for the file of a candidate. `whole`: requests the whole file, even of a PDB. */
static int ask(struct symb *s, struct loading *l, unsigned i, struct waits *w, bool whole)
{
	_cleanup_free_ struct artifact *want = calloc(1, sizeof(*want));

	if (!want)
		return -ENOMEM;
	if (!artifact_of(&l->w->m, l->cands[i].type, want))
		return 0;
	l->asked[i] = question_new(w);
	if (!l->asked[i])
		return -ENOMEM;
	l->asked[i]->of = l;
	l->waits++;
	if (want->type == FILETYPE_PDB && !whole && !l->request->flags.function_size &&
		partial_ask(l->request, l->w, want, l->asked[i]))
		return 0;
	l->w->fetched |= question_fetch(l->asked[i], s->fetch, want, 1);
	return 0;
}

enum { RANK_LINES = 10, RANK_SYMBOLS = 20, RANK_NOTHING = 30 };

/* The rank of a file; a lower rank is better. The contents count first, then the type's place in best_rows. */
static unsigned rank_of(struct blob *b, const struct key *k)
{
	const struct best_row *row = best_row(BEST_DEBUG, filetypes[k->type].object, 0);
	const struct worth *w = &blob_facts(b)->worth;
	unsigned rank = 0;

	if (w->known && w->debug != WORTH_DEBUG)
		rank = w->debug ? RANK_LINES : w->symbols ? RANK_SYMBOLS : RANK_NOTHING;
	for (unsigned i = 0; row && i < BEST_CHOICES && row->choice[i] != k->type; i++)
		rank++;
	return rank;
}

/* Whether the error means that no usable file exists, rather than that a source or this machine failed. */
static bool is_certain(int r)
{
	return r == 0 || r == -ENOENT || r == -EBADMSG || r == -EFBIG;
}

static void add_reason(struct wanted *w, const char *what, int r, const char *why)
{
	size_t n = strlen(w->why);

	w->unsure |= !is_certain(r);
	if (n + 1 < sizeof(w->why))
		snprintf(w->why + n, sizeof(w->why) - n, "%s%s: %s", n ? "; " : "", what,
			why[0] ? why : err_text(r));
}

/* Like add_reason(), for a file that was found but could not be converted. The reason goes before the reasons of
 * files that were not found. */
static void add_failure(struct wanted *w, const char *what, int r, const char *why)
{
	char others[sizeof(w->why)];

	memcpy(others, w->why, sizeof(others));
	w->why[0] = '\0';
	add_reason(w, what, r, why);
	if (others[0])
		snprintf(w->why + strlen(w->why), sizeof(w->why) - strlen(w->why), "; %s", others);
}

/* Compares the file with the checksum in the request. 0: the checksums are equal or cannot be compared;
 * otherwise -errno, with the reason in `e`. */
static int check_sum(const struct wanted *w, const struct question *q, struct err *e)
{
	struct view v;
	int r;

	if (!w->m.checksum[0] || q->key.type != FILETYPE_PORTABLEPDB)
		return 0;
	v = view_of_fd(blob_fd(q->blob), blob_size(q->blob));
	r = ppdb_checksum(&v, w->m.checksum, e);
	return MIN(r, 0);
}

/* Takes the GSYM file made from a part of a PDB. If it has no lines, a file that was found before is used
 * instead. */
static int take_part(struct symb *s, struct loading *l, unsigned i, struct question *q, struct waits *w)
{
	struct loaded *file;
	int r = q->r == 0 ? loaded_new(s, NULL, LOADED_PDB, q->blob, &file, NULL) : q->r;

	if (r == -ENOMEM || (q->r == 0 && r < 0) || r == -EALREADY)
		return ask(s, l, i, w, true);
	if (r < 0) {
		add_reason(l->w, filetypes[FILETYPE_PDB].name, r, q->why);
	} else if (l->n_found && !loaded_has_lines(file)) {
		loaded_unref(s, file);
	} else {
		l->w->file = file;
		l->over = true;
	}
	return 0;
}

/* Reads in a program which debug file it has. That of a .NET program is of another type than was planned. */
static void take_ids(struct loading *l, struct blob *b)
{
	struct view v = view_of_fd(blob_fd(b), blob_size(b));
	bool net = l->w->m.object == OBJECT_PE_DOTNET;
	struct obj_slice s;

	if (obj_identify(&v, 0, &s, NULL) == 0)
		best_take_ids(&l->w->m, &s.module);
	if (!net && l->w->m.object == OBJECT_PE_DOTNET) {
		l->n_cands = l->n_tried;
		add_candidate(l, FILETYPE_PORTABLEPDB, 1);
	}
}

static int take_answer(struct symb *s, struct loading *l, unsigned i, struct waits *waits)
{
	struct question *q = l->asked[i];
	struct wanted *w = l->w;
	struct err e = {0};
	int r;

	l->asked[i] = NULL;
	l->waits--;
	w->fetch_seconds += q->ended - q->begun;
	if (q->partial) {
		r = take_part(s, l, i, q, waits);
		question_unref(q);
		return r;
	}
	if (q->r == 0 && q->blob && (r = check_sum(w, q, &e)) < 0) {
		add_reason(w, filetypes[q->key.type].name, r, e.text);
	} else if (q->r == 0 && q->blob && blob_is_made(blob_facts(q->blob))) {
		add_reason(w, filetypes[q->key.type].name, -ENOENT, "another symfs made it");
	} else if (q->r == 0 && q->blob) {
		if (q->key.type == FILETYPE_PE && best_wants_ids(&w->m))
			take_ids(l, q->blob);
		l->found[l->n_found].blob = blob_ref(q->blob);
		l->found[l->n_found].type = q->key.type;
		l->found[l->n_found++].rank = rank_of(q->blob, &q->key);
		w->size += w->fetched ? blob_size(q->blob) : 0;
	} else {
		add_reason(w, filetypes[l->cands[i].type].name, q->r, q->why);
		if (!is_certain(q->r) && !w->failed[0])
			memcpy(w->failed, q->why, sizeof(w->failed));
	}
	question_unref(q);
	return 0;
}

/* ---- converting --------------------------------------------------------------------- */

static void drop_found(struct loading *l, unsigned i)
{
	blob_unref(l->found[i].blob);
	l->found[i] = l->found[--l->n_found];
}

/* Records for the answer which file the module's names come from. */
static void note_used(struct wanted *w, const struct blob *b, enum filetype t)
{
	w->used = t;
	w->used_worth = blob_facts(b)->worth;
	snprintf(w->used_source, sizeof(w->used_source), "%s", blob_facts(b)->source);
}

/* Asks for GSYM of the request's frames only, of a Breakpad file. False: the whole file must be converted, or was. */
static bool make_part(struct symb *s, struct loading *l, struct blob *b, const struct artifact *made)
{
	struct fetched f = {0};
	struct artifact in;
	int r;

	if (l->making != FILETYPE_BREAKPAD || l->request->flags.lenient || l->request->flags.function_size ||
		!artifact_of(&l->w->m, l->making, &in))
		return false;
	r = derive_try(s->derive, made, b, &f);
	blob_unref(f.blob);
	return r == -EAGAIN && partial_ask_breakpad(l->request, l->w, &in, b, l->make);
}

/* Converts a file of the type l->making. derive/ opens that file again, in the store or in its place on disk. `b`:
 * the file, of which a part may do; NULL: converts the whole. */
static int make_of(struct symb *s, struct loading *l, struct blob *b, struct waits *w)
{
	struct artifact a;
	int r = made_of(s, &l->w->m, l->making, &l->request->flags, &a);

	if (r < 0) {
		add_reason(l->w, filetypes[l->making].name, r, "files of this type cannot be converted");
		return 0;
	}
	derive_key(&a, &l->made);
	l->make = question_new(w);
	if (!l->make)
		return -ENOMEM;
	l->make->of = l;
	l->w->made = true;
	if (b && make_part(s, l, b, &a))
		return 0;
	r = derive_open(s->derive, &a, question_answered, l->make, &l->make->making);
	if (r < 0)
		question_fail(l->make, r);
	return 0;
}

/* Converts the best of the files found. */
static int make(struct symb *s, struct loading *l, struct waits *w)
{
	struct blob *b;
	unsigned best = 0;
	int r;

	for (unsigned i = 1; i < l->n_found; i++)
		if (l->found[i].rank < l->found[best].rank)
			best = i;
	l->making = l->found[best].type;
	b = blob_ref(l->found[best].blob);
	note_used(l->w, b, l->making);
	drop_found(l, best);
	r = make_of(s, l, b, w);
	blob_unref(b);
	return r;
}

static int take_made(struct symb *s, struct loading *l, struct waits *w)
{
	struct question *q = l->make;
	bool part = q->partial;
	struct err e = {0};
	int r;

	l->make = NULL;
	l->w->make_seconds += q->ended - q->begun;
	r = q->r == 0 && !q->blob ? -EIO : q->r;
	if (r < 0)
		err_set(&e, r, "%s", q->why);
	else
		r = loaded_new(s, part ? NULL : &l->made, form_of(&l->w->m, l->making), q->blob, &l->w->file, &e);
	question_unref(q);
	if (r < 0 && part) /* the conversion of the whole file finds the reason, which the store remembers */
		return make_of(s, l, NULL, w);
	if (r < 0)
		add_failure(l->w, filetypes[l->making].name, r, e.text);
	l->over = r == 0;
	return 0;
}

/* ---- all modules -------------------------------------------------------------------- */

struct batch {
	struct symb *s;
	const struct symb_request *request;
	struct waits *w;
	struct loading *all;
	size_t n;
	/* The programs of .NET modules, beside the modules of the request, so that a missing program is no missing
	 * module. */
	struct wanted *programs;
};

/* Requests the candidates of the next stage. */
static int ask_more(struct batch *b, struct loading *l)
{
	unsigned stage = l->cands[l->n_tried].stage;
	int r = 0;

	while (r == 0 && l->n_tried < l->n_cands && l->cands[l->n_tried].stage == stage)
		r = ask(b->s, l, l->n_tried++, b->w, false);
	return r;
}

/* Whether to convert the best file found instead of requesting the next stage: a file has all debug information, or
 * no candidate is left. */
static bool is_enough(const struct loading *l)
{
	bool debug = false;

	for (unsigned i = 0; i < l->n_found; i++)
		debug |= l->found[i].rank < RANK_LINES;
	return l->n_found && (debug || l->n_tried == l->n_cands);
}

/* Continues until the module waits for an answer, has a file, or has no candidate left. Modules do not
 * wait for each other: one is fetched while another is converted. */
static int load_step(struct batch *b, struct loading *l)
{
	int r = 0;

	while (r == 0 && !l->over && !l->make && !l->waits) {
		if (is_enough(l))
			r = make(b->s, l, b->w);
		else if (l->n_tried < l->n_cands)
			r = ask_more(b, l);
		else
			break;
	}
	return r;
}

/* Cancels downloads and conversions that are still running, and frees the batch. */
static void batch_release(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct loading *l = &b->all[i];

		for (unsigned c = 0; c < l->n_cands; c++)
			question_cancel(l->asked[c]);
		question_cancel(l->make);
		while (l->n_found)
			drop_found(l, 0);
	}
	free(b->all);
	free(b->programs);
	if (b->w)
		waits_unref(b->w);
}

/* Whether a source can have the module. False if the module's name has a newline, or its id is not valid. A file with
 * a code id can have a path without its name. */
static bool can_be_asked(const struct wanted *w)
{
	struct key k;
	struct artifact a;

	if (w->m.code_id[0])
		return !strpbrk(w->name, "\n");
	return !strpbrk(w->name, "\n") && (w->m.debug_file[0] || !w->name[0]) &&
	       (artifact_of(&w->m, FILETYPE_BREAKPAD, &a) || key_of(&k, &a) == 0);
}

/* Takes the identifiers of the debug file from what stored programs state. */
static void complete(struct symb *s, struct module *m)
{
	struct artifact a = {.type = FILETYPE_PE, .m = *m};

	a.m.object = OBJECT_UNKNOWN;
	a.m.debug_file[0] = a.m.checksum[0] = '\0';
	pe_id_trim(a.m.code_id);
	if (fetch_complete(s->fetch, &a))
		best_take_ids(m, &a.m);
}

/* Looks for the module's file, or with `program` for its program. */
static void begin(struct symb *s, struct batch *b, struct wanted *w, bool program,
	bool *again)
{
	struct loading *l = &b->all[b->n];
	double begun;

	w->asked = true;
	if (!can_be_asked(w)) {
		add_reason(w, "identifier", 0, "not valid");
		return;
	}
	if (best_wants_ids(&w->m))
		complete(s, &w->m);
	*l = (struct loading){.w = w, .request = b->request, .program = program};
	plan(l);
	begun = clock_seconds();
	w->hit = is_here(s, l, again);
	w->look_seconds = clock_seconds() - begun;
	b->n += !w->hit;
}

/* Begins with the program of a .NET module: only the program has the names of methods. */
static void begin_program(struct symb *s, struct batch *b, const struct wanted *w, bool *again)
{
	struct wanted *program = &b->programs[w - b->request->wanted];

	if (w->m.object != OBJECT_PE_DOTNET || program->asked)
		return;
	*program = (struct wanted){.name = w->name, .id = w->id, .m = w->m};
	begin(s, b, program, true, again);
}

static void begin_both(struct symb *s, struct batch *b, struct wanted *w, bool *again)
{
	if (!w->referenced || !(w->name[0] || w->m.code_id[0] || w->m.debug_id.set) || !w->id[0])
		return;
	begin(s, b, w, false, again);
	begin_program(s, b, w, again);
}

static int load_answer(struct batch *b, struct loading *l, const struct question *q)
{
	if (q == l->make)
		return take_made(b->s, l, b->w);
	for (unsigned i = 0; i < l->n_cands; i++)
		if (l->asked[i] == q) {
			size_t n = b->n;
			int r = take_answer(b->s, l, i, b->w);

			if (!l->program) /* the answer may have shown that it is a .NET module */
				begin_program(b->s, b, l->w, NULL);
			return r == 0 && b->n > n ? load_step(b, &b->all[n]) : r;
		}
	return 0;
}

static int load_all(struct batch *b)
{
	struct question *q = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->n; i++)
		r = load_step(b, &b->all[i]);
	while (r == 0 && (r = wait_next(b->w, &b->s->stop, b->request->flags.gone, &q)) == 0 && q) {
		struct loading *l = q->of;

		r = load_answer(b, l, q);
		if (r == 0)
			r = load_step(b, l);
	}
	return r;
}

int load_modules(struct symb_request *q, bool now)
{
	struct batch b = {.s = q->symb, .request = q};
	bool again = false;
	int r;

	b.w = waits_new();
	b.all = calloc(2 * q->n_wanted + 1, sizeof(*b.all));
	b.programs = calloc(q->n_wanted + 1, sizeof(*b.programs));
	r = b.w && b.all && b.programs ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < q->n_wanted; i++) {
		begin_both(b.s, &b, &q->wanted[i], now ? &again : NULL);
		r = now && (again || b.n) ? -EAGAIN : 0;
	}
	if (r == 0)
		r = load_all(&b);
	if (r == 0)
		r = base_find(q, b.w, now);
	for (size_t i = 0; b.programs && i < q->n_wanted; i++)
		q->wanted[i].names = b.programs[i].file;
	batch_release(&b);
	return r;
}
