/* Opens the GSYM for a word of the command line: a GSYM file, or a GSYM that is made at once from a debug file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/downloads.h"
#include "cmd/gsym/gsym-command.h"
#include "cmd/json.h"
#include "cmd/what.h"
#include "derive/derive.h"
#include "formats/obj/obj.h"
#include "formats/pdb/msf.h"
#include "symb/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a local file -------------------------------------------------------------------- */

/* Whether the file is a program without debug information, so that its debug file is wanted. Also false for a file
 * that cannot be identified. *pdb: its PDB; without a name if the program names no PDB. Only the type is set of
 * WebAssembly. */
static bool lacks_debug(const char *path, struct artifact *pdb, struct gsym_file *o)
{
	_cleanup_close_ int fd = -1;
	struct obj_slice s = {0};
	struct err e = {0};
	uint64_t size = 0;
	struct view v;

	if (path_open_file(path, &fd, &size, &e) < 0)
		return false;
	v = view_of_fd(fd, size);
	if (obj_identify(&v, 0, &s, &e) < 0 || !s.worth.known || s.worth.debug != WORTH_NO_DEBUG || !s.n_types ||
		!(filetypes[s.types[0]].flags & TYPE_PROGRAM))
		return false;
	if (s.module.object == OBJECT_PE)
		*pdb = (struct artifact){.type = FILETYPE_PDB, .m = s.module};
	if (pdb->m.debug_file[0] && obj_link_base(&v, &o->base) == 0) /* a code id is a time and a size */
		o->size = strtoull(&s.module.code_id[MIN(strlen(s.module.code_id), 8u)], NULL, 16);
	if (s.module.object == OBJECT_WASM)
		*pdb = (struct artifact){.type = FILETYPE_WASM_DEBUG};
	return true;
}

static int make_here(struct gsym_run *run, struct gsym_file *o, const char *path, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_made made;
	int r = gsym_run_make(run, path, &w, &made, e);

	o->made = BUF_UP_TO(1ull << 36);
	if (r == 0)
		r = gsym_write(w, GSYM_V1, made.big, NULL, &o->made, NULL, e);
	return r == 0 ? gsym_open(&o->g, (struct span){(const uint8_t *)o->made.p, o->made.n}, e) : r;
}

/* Opens a GSYM file, or maps a PDB without converting it. -ENOMSG: the file is neither. */
static int open_as_is(struct gsym_file *o, const char *path, struct err *e)
{
	int r = map_file(&o->file, path, e);

	o->is_pdb = r == 0 && msf_is(o->file.p, o->file.n);
	if (r == 0 && !o->is_pdb)
		r = gsym_open(&o->g, o->file, e);
	if (r == -ENOMSG)
		map_release(&o->file);
	return r;
}

/* Opens the PDB beside a program, or makes GSYM of the debug file that a module of WebAssembly names. -ENOENT: there
 * is no such file, or the file is of another build. */
static int open_beside(struct gsym_run *run, struct gsym_file *o, const char *path, const struct artifact *pdb)
{
	_cleanup_free_ char *beside = NULL;
	_cleanup_close_ int fd = -1;
	struct obj_slice s;
	struct err e = {0};
	uint64_t size;
	struct view v;
	struct key k;

	if (pdb->type == FILETYPE_WASM_DEBUG) {
		if (make_here(run, o, path, &e) == 0 && o->g.n_files > 1) /* file 0 stands for no file */
			return 0;
		gsym_file_release(o);
		*o = (struct gsym_file){0};
		return -ENOENT;
	}
	if (!pdb->m.debug_file[0] || key_of(&k, pdb) < 0 ||
		asprintf(&beside, "%.*s%s", (int)(path_base(path) - path), path, pdb->m.debug_file) < 0 ||
		path_open_file(beside, &fd, &size, &e) < 0)
		return -ENOENT;
	v = view_of_fd(fd, size);
	return obj_check(&v, &k, &s, &e) == 1 ? open_as_is(o, beside, &e) : -ENOENT;
}

/* ---- a file that is fetched ---------------------------------------------------------- */

struct fetching {
	struct gsym_run *run;
	struct gsym_file *out;
	const char *word;
	struct app app;
	struct downloads all;
	int r; /* 0, or the error of the download or of the conversion */
	struct err *e;
};

/* Opens the GSYM that derive/ makes and stores for an input. -ENOENT: derive/ makes no GSYM of such files. */
static int open_derived(struct fetching *f, const struct key *k)
{
	struct waits *w = waits_new();
	struct question *q = w ? question_new(w) : NULL;
	struct derive *d = NULL;
	struct artifact input, made;
	int r = q ? derive_new(&d, f->app.fetch) : -ENOMEM;

	key_artifact(k, &input);
	if (r == 0)
		r = derive_artifact(&input, false, &made);
	if (r == 0)
		r = derive_open(d, &made, question_answered, q, &q->making);
	if (r < 0 && q)
		question_fail(q, r);
	if (r == 0)
		r = wait_all(w, NULL);
	if (r == 0)
		r = q->r < 0 ? err_set(f->e, q->r == -ENOENT ? -ENODATA : q->r, "%s",
			q->why[0] ? q->why : err_text(q->r))
			     : map_file(&f->out->file, blob_path(q->blob), f->e);
	if (r == 0)
		r = gsym_open(&f->out->g, f->out->file, f->e);
	question_cancel(q);
	if (w)
		waits_unref(w);
	derive_free(d);
	return r;
}

static void fetched_one(void *ctx, struct download *one)
{
	struct fetching *f = ctx;

	struct key k;

	/* GSYM may be kept alone (symfs warm --as gsym). */
	if (one->r == -ENOENT && key_of(&k, &one->cands[0]) == 0 && open_derived(f, &k) == 0)
		return;
	if (one->r < 0) {
		f->r = err_set(f->e, one->r, "%s%s", one->r == -ENOENT ? "not there: " : "",
			one->why[0] ? one->why : err_text(one->r));
		return;
	}
	if (one->key.type == FILETYPE_PDB) {
		f->r = open_as_is(f->out, blob_path(one->blob), f->e);
		return;
	}
	f->r = open_derived(f, &one->key);
	if (f->r == -ENOENT)
		f->r = make_here(f->run, f->out, blob_path(one->blob), f->e);
	/* No source may have the module, without which its debug file cannot be converted. */
	if (f->r == -ENODATA && one->key.type == FILETYPE_WASM_DEBUG && what_is_file(f->word)) {
		f->run->debug = blob_path(one->blob);
		f->r = make_here(f->run, f->out, f->word, f->e);
		f->run->debug = NULL;
	}
}

/* Adds the debug file of the module that a word names. Returns 1, so that only the first slice of a fat file is
 * used. */
static int fetch_what(void *ctx, const struct what *w)
{
	struct fetching *f = ctx;
	int r;

	if (!w->n)
		return err_set(f->e, -ENOENT, "no layout can mean this path");
	r = downloads_add(&f->all, w->files, w->n, NULL);
	return r < 0 ? r : 1;
}

/* Fetches and opens the debug file for a word. 0; -errno: `e` has the reason, and `status` the exit status. */
static int open_fetched(struct gsym_run *run, struct gsym_file *o, const char *word, int *status, struct err *e)
{
	_cleanup_free_ struct fetching *f = calloc(1, sizeof(*f));
	struct what_opts what = {.type = run->type};
	int r;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	*f = (struct fetching){.run = run, .out = o, .word = word, .e = e};
	app_adopt_mount(&run->args, word);
	r = app_open(&f->app, &run->args, e);
	*status = app_exit(r);
	what.store = f->app.store;
	downloads_init(&f->all, f->app.fetch);
	if (r == 0) {
		r = what_named(&what, word, fetch_what, f, e);
		*status = what_exit(r);
	}
	if (r >= 0) {
		r = downloads_run(&f->all, fetched_one, f) ? err_set(e, -EINTR, "interrupted") : f->r;
		*status = r == -EBADMSG ? EXIT_LOCAL
			: r == -ENODATA || r == -ENOMSG || r == -ENOTSUP ? EXIT_NO : app_exit(r);
	}
	app_close(&f->app);
	downloads_release(&f->all);
	return r;
}

/* ---- words --------------------------------------------------------------------------- */

/* Prints that a program's debug file is missing. `so` follows. */
static void say_missing(const char *word, const struct artifact *pdb, const struct err *e, const char *so)
{
	_cleanup_buf_ struct buf file = BUF_UP_TO(4096);
	char id[MODULE_ID_TEXT];

	if (pdb->m.debug_file[0])
		buf_addf(&file, " %s (%s)", pdb->m.debug_file, module_debug_text(&pdb->m, id));
	cmd_say(0, "%s has no debug information, and its debug file%s cannot be had (%s): %s", word,
		buf_text(&file), e->text, so);
}

/* Makes and opens GSYM of a local file. -1: the GSYM is open; otherwise the exit status. */
static int open_made(struct gsym_run *run, struct gsym_file *o, const char *word)
{
	struct err e = {0};

	return make_here(run, o, word, &e) < 0 ? cmd_fail(word, &e) : -1;
}

/* Opens GSYM of the symbols that a program has itself. Returns as open_made(). */
static int open_own(struct gsym_run *run, struct gsym_file *o, const char *word, const struct artifact *pdb,
	const struct err *missing, int status)
{
	struct err e = {0};

	if (make_here(run, o, word, &e) < 0) {
		say_missing(word, pdb, missing, "it has no symbols either; name the "
			"debug file in its place, or a source that has it");
		return status;
	}
	if (pdb->m.debug_file[0])
		o->shift = o->g.base; /* addresses mean the same with and without the PDB */
	say_missing(word, pdb, missing, "names come from its own symbols");
	return -1;
}

int gsym_word_open(struct gsym_run *run, struct gsym_file *o, const char *word)
{
	bool file = what_is_file(word);
	struct artifact pdb = {0};
	struct err e = {0};
	int r = file ? open_as_is(o, word, &e) : -ENOMSG, status = EXIT_LOCAL;

	if (r != -ENOMSG)
		return r < 0 ? cmd_fail(word, &e) : -1;
	if (file && !lacks_debug(word, &pdb, o))
		return open_made(run, o, word);
	if (open_beside(run, o, word, &pdb) == 0 || open_fetched(run, o, word, &status, &e) == 0)
		return -1;
	if (file && e.code != -EINTR)
		return open_own(run, o, word, &pdb, &e, status);
	cmd_fail(word, &e);
	return status;
}

void gsym_file_release(struct gsym_file *o)
{
	gsym_release(&o->g);
	map_release(&o->file);
	buf_release(&o->made);
}
