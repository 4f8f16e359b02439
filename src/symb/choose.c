/* Finds the best file of a module for a purpose: fetches all candidates and judges what they contain. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symb/choose.h"
#include "base/util.h"
#include "formats/obj/obj.h"
#include "names/layout/name.h"
#include "store/files/blob.h"
#include "symb/wait.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum object_type best_object(const struct module *m)
{
	size_t code = strlen(m->code_id);
	const char *name = m->code_file[0] ? m->code_file : m->debug_file;

	if (m->object != OBJECT_UNKNOWN)
		return m->object;
	if (name_ends(name, ".wasm"))
		return OBJECT_WASM;
	if (name_ends(m->debug_file, ".pdb") || (m->debug_id.set && m->debug_id.age))
		return OBJECT_PE;
	if (code && code != 32)
		return code <= 16 ? OBJECT_PE : OBJECT_ELF;
	return name_ends(name, ".dylib")				? OBJECT_MACHO
	       : name_ends(name, ".so") || strstr(name, ".so.") != NULL ? OBJECT_ELF
									: OBJECT_UNKNOWN;
}

bool best_wants_ids(const struct module *m)
{
	enum object_type o = best_object(m);

	return (o == OBJECT_PE || o == OBJECT_PE_DOTNET) && m->code_id[0] && !m->debug_id.set;
}

void best_take_ids(struct module *m, const struct module *program)
{
	if (!program->debug_id.set)
		return;
	m->debug_id = program->debug_id;
	memcpy(m->debug_file, program->debug_file, sizeof(m->debug_file));
	memcpy(m->checksum, program->checksum, sizeof(m->checksum));
	m->object = program->object; /* a path does not say whether a program is of .NET */
}

static unsigned bits_of(const char *arch)
{
	static const char *const narrow[] = {"x86", "arm", "mips", "ppc"};

	if (strstr(arch, "64"))
		return 64;
	for (size_t i = 0; i < ARRAY_SIZE(narrow); i++)
		if (strncmp(arch, narrow[i], strlen(narrow[i])) == 0)
			return 32;
	return 0;
}

/* ---- asking ------------------------------------------------------------------------- */

/* The requests for files: at most one for each file type in the platform's rows of best_rows. */
struct asked {
	struct question *q[FILETYPES];
	struct obj_slice slice[FILETYPES];
	bool known[FILETYPES]; /* whether `slice` is known */
};

static int ask_one(struct asked *a, struct waits *w, struct fetch *f, const struct module *m, enum filetype t)
{
	struct artifact want = {.type = t, .m = *m};
	struct key k;

	if (t == FILETYPE_NONE || a->q[t] || key_of(&k, &want) < 0)
		return 0;
	a->q[t] = question_new(w);
	if (!a->q[t])
		return -ENOMEM;
	question_fetch(a->q[t], f, &want, 1);
	return 0;
}

/* Asks for the candidates of all rows of the platform, because only the PE file itself shows which of its rows
 * applies. */
static int ask_all(struct asked *a, struct waits *w, struct fetch *f, const struct module *m, enum best_purpose p)
{
	int r = 0;

	for (const struct best_row *row = best_rows; row->object != OBJECT_UNKNOWN; row++)
		for (unsigned i = 0; r == 0 && i < BEST_CHOICES; i++)
			if (row->purpose == p && row->object == m->object)
				r = ask_one(a, w, f, m, row->choice[i]);
	return r;
}

static void identify_file(struct asked *a, enum filetype t)
{
	struct question *q = a->q[t];
	struct view v;

	if (!q || !q->done || q->r < 0 || !q->blob)
		return;
	v = view_of_fd(blob_fd(q->blob), blob_size(q->blob));
	a->known[t] = obj_check(&v, &q->key, &a->slice[t], NULL) == 1;
}

/* Reads in the program which debug file it has. */
static int ask_ids(struct asked *a, struct waits *w, struct fetch *f, struct module *m, const atomic_bool *stop)
{
	int r = ask_one(a, w, f, m, FILETYPE_PE);

	if (r == 0)
		r = wait_all(w, stop);
	identify_file(a, FILETYPE_PE);
	if (a->known[FILETYPE_PE])
		best_take_ids(m, &a->slice[FILETYPE_PE].module);
	return r;
}

static void cancel_all(struct asked *a)
{
	for (unsigned t = 0; t < FILETYPES; t++)
		question_cancel(a->q[t]);
}

/* ---- judging ------------------------------------------------------------------------ */

static const char *const wanted_words[BEST_PURPOSES] = {
	[BEST_SYMTAB] = "symbol table",
	[BEST_DEBUG] = "debug information",
	[BEST_UNWIND] = "unwind information",
};

/* Judges one candidate: sets its verdict and the reason. Returns its grade; 0: it cannot be chosen. */
static unsigned judge(struct best_candidate *c, const struct asked *a, enum best_purpose p)
{
	const struct question *q = a->q[c->type];
	unsigned grade = 0;
	const char *why = q && q->why[0] ? q->why : "";

	if (!q) {
		c->verdict = BEST_NAMELESS;
		why = "the request lacks the identifier or name of such a file";
	} else if (q->r == -ENOENT) {
		c->verdict = BEST_MISSING;
		why = why[0] ? why : "no source has it";
	} else if (q->r < 0 || !q->blob) {
		c->verdict = BEST_FAILED;
		c->error = q->r < 0 ? q->r : -EIO;
		why = why[0] ? why : err_text(c->error);
	} else {
		if (a->known[c->type])
			c->worth = a->slice[c->type].worth;
		grade = best_grade(p, &c->worth);
		c->verdict = grade ? BEST_AFTER : BEST_LACKS;
		if (!grade)
			snprintf(c->why, sizeof(c->why), "it has no %s", wanted_words[p]);
		return grade;
	}
	snprintf(c->why, sizeof(c->why), "%s", why);
	return 0;
}

/* Chooses the candidate of the highest grade; of equal grades, the first candidate. */
static void choose(struct best_choice *out, const unsigned grades[static BEST_CHOICES], enum best_purpose p)
{
	for (unsigned i = 0; i < out->n; i++)
		if (grades[i] && (out->chosen < 0 || grades[i] > grades[out->chosen]))
			out->chosen = (int)i;
	for (unsigned i = 0; i < out->n; i++) {
		struct best_candidate *c = &out->all[i];

		if (c->verdict != BEST_AFTER)
			continue;
		if ((int)i == out->chosen) {
			c->verdict = BEST_CHOSEN;
			snprintf(c->why, sizeof(c->why), "the first candidate that has it%s",
				c->blob && blob_is_made(blob_facts(c->blob)) ? "; another symfs made it" : "");
		} else if ((int)i < out->chosen) {
			snprintf(c->why, sizeof(c->why), "a later candidate has more %s", wanted_words[p]);
		} else {
			snprintf(c->why, sizeof(c->why), "an earlier candidate is better");
		}
	}
}

static void judge_all(struct best_choice *out, const struct best_row *row, const struct asked *a,
	enum best_purpose p)
{
	unsigned grades[BEST_CHOICES] = {0};

	for (unsigned i = 0; row && i < BEST_CHOICES && row->choice[i] != FILETYPE_NONE; i++) {
		struct best_candidate *c = &out->all[out->n];

		c->type = row->choice[i];
		grades[out->n] = judge(c, a, p);
		if (a->q[c->type] && a->q[c->type]->blob)
			c->blob = blob_ref(a->q[c->type]->blob);
		out->n++;
	}
	choose(out, grades, p);
}

/* ---- the Breakpad file that symfs makes --------------------------------------------- */

/* Makes the file and waits for it. 0: c->error or c->blob is the answer. */
static int make_and_wait(struct derive *d, const struct artifact *a, const atomic_bool *stop,
	struct best_candidate *c)
{
	struct waits *w = waits_new();
	struct question *q = w ? question_new(w) : NULL;
	int r = q ? derive_open(d, a, question_answered, q, &q->making) : -ENOMEM;

	if (r == 0)
		r = wait_all(w, stop);
	if (r == 0) {
		c->error = q->r < 0 ? q->r : q->blob ? 0 : -EIO;
		c->blob = q->blob ? blob_ref(q->blob) : NULL;
		snprintf(c->why, sizeof(c->why), "%s", q->why[0] ? q->why : err_text(c->error));
	}
	question_cancel(q);
	if (w)
		waits_unref(w);
	return r;
}

/* Takes the file if it is stored. Otherwise makes it, but only if nothing else serves the purpose. */
static int find_or_make(struct derive *d, const struct artifact *a, const atomic_bool *stop, bool wanted,
	struct best_candidate *c)
{
	struct fetched f = {0};
	int r = derive_try(d, a, NULL, &f);

	if (r == -EAGAIN && wanted)
		return make_and_wait(d, a, stop, c);
	c->verdict = BEST_AFTER;
	snprintf(c->why, sizeof(c->why), "not made yet: an earlier candidate is better");
	if (r == -EAGAIN)
		return 0;
	c->error = r < 0 ? r : f.r;
	c->blob = r < 0 ? NULL : f.blob;
	snprintf(c->why, sizeof(c->why), "%s", c->error ? err_text(c->error) : "an earlier candidate is better");
	return 0;
}

/* Judges the file that find_or_make() found. Without blob and error it stays as it is. */
static void judge_made(struct best_choice *out, unsigned i, enum best_purpose p)
{
	struct best_candidate *c = &out->all[i];
	struct obj_slice s;
	struct view v;

	if (c->error) {
		c->verdict = c->error == -ENOENT ? BEST_MISSING : BEST_FAILED;
		if (c->error == -ENOENT) {
			c->error = 0;
			snprintf(c->why, sizeof(c->why), "no source has its debug file or program");
		}
		return;
	}
	if (!c->blob)
		return;
	v = view_of_fd(blob_fd(c->blob), blob_size(c->blob));
	if (obj_identify(&v, 0, &s, NULL) == 0)
		c->worth = s.worth;
	c->verdict = BEST_AFTER;
	if (!best_grade(p, &c->worth)) {
		c->verdict = BEST_LACKS;
		snprintf(c->why, sizeof(c->why), "it has no %s", wanted_words[p]);
	} else if (out->chosen < 0) {
		c->verdict = BEST_CHOSEN;
		out->chosen = (int)i;
		snprintf(c->why, sizeof(c->why), "made by symfs; no other candidate has it");
	}
}

/* Answers for the candidate `i`, the Breakpad file that symfs makes of the module. */
static int ask_made(struct best_choice *out, unsigned i, struct fetch *f, const struct module *m, enum best_purpose p,
	const atomic_bool *stop)
{
	struct best_candidate *c = &out->all[i];
	struct artifact sym = {.type = FILETYPE_BREAKPAD, .m = *m}, a;
	struct derive *d = NULL;
	int r = derive_new(&d, f);

	if (r < 0)
		return r;
	sym.m.object = out->object;
	if (!sym.m.debug_id.set)
		sym.m.debug_id.set = module_debug_id(m, false, &sym.m.debug_id) == 0;
	if (derive_breakpad(d, &sym, &a) == 0) {
		r = find_or_make(d, &a, stop, out->chosen < 0, c);
		judge_made(out, i, p);
	} else {
		snprintf(c->why, sizeof(c->why), "none is made: the debug id is not known, or synthesize = no");
	}
	derive_free(d);
	return r;
}

/* ---- the choice --------------------------------------------------------------------- */

int best_choose(struct fetch *f, const struct module *m, enum best_purpose p, unsigned bits,
	const atomic_bool *stop, struct best_choice *out)
{
	_cleanup_free_ struct asked *a = calloc(1, sizeof(*a));
	_cleanup_free_ struct module *whole = malloc(sizeof(*whole));
	struct waits *w = waits_new();
	int r = a && w && whole ? 0 : -ENOMEM;

	*out = (struct best_choice){.bits = bits, .chosen = -1};
	if (r == 0) {
		*whole = *m;
		if (best_wants_ids(whole))
			r = ask_ids(a, w, f, whole, stop);
		out->object = whole->object = best_object(whole);
	}
	if (r == 0)
		r = ask_all(a, w, f, whole, p);
	if (r == 0)
		r = wait_all(w, stop);
	for (unsigned t = 0; r == 0 && t < FILETYPES; t++)
		identify_file(a, t);
	if (r == 0 && !out->bits && a->known[FILETYPE_PE])
		out->bits = bits_of(a->slice[FILETYPE_PE].arch);
	if (r == 0)
		judge_all(out, best_row(p, out->object, out->bits), a, p);
	for (unsigned i = 0; r == 0 && i < out->n; i++)
		if (out->all[i].type == FILETYPE_SYM)
			r = ask_made(out, i, f, whole, p, stop);
	if (a)
		cancel_all(a);
	if (w)
		waits_unref(w);
	return r;
}

void best_release(struct best_choice *c)
{
	for (unsigned i = 0; i < c->n; i++)
		blob_unref(c->all[i].blob);
	c->n = 0;
}

const char *best_verdict_name(enum best_verdict v)
{
	static const char *const names[] = {
		[BEST_CHOSEN] = "chosen",
		[BEST_AFTER] = "not needed",
		[BEST_LACKS] = "lacks it",
		[BEST_MISSING] = "not there",
		[BEST_FAILED] = "could not be fetched",
		[BEST_NAMELESS] = "not asked",
	};

	return names[v];
}
