/* Turns words of the command line into artifacts: paths, identifiers, keys and local files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/what.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "formats/obj/obj.h"
#include "names/layout/layout.h"
#include "stacks/dump/dump.h"
#include "store/search.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SLICES_MOST 64

/* ---- the artifacts of a module ------------------------------------------------------- */

static void what_add(struct what *w, enum filetype t, const struct module *m)
{
	struct artifact a = {.type = t, .m = *m};
	struct key k, have;

	if (w->n == WHAT_MOST || key_of(&k, &a) < 0)
		return;
	for (unsigned i = 0; i < w->n; i++)
		if (key_of(&have, &w->files[i]) == 0 && key_equal(&have, &k))
			return;
	w->files[w->n++] = a;
}

/* Whether a type is the type of the debug files of its platform, or the type of Breakpad files. */
static bool is_debug_type(enum filetype t)
{
	return t == FILETYPE_BREAKPAD || object_types[filetypes[t].object].debug == t;
}

static bool is_meant(const struct what_opts *o, enum filetype t)
{
	return o->type != FILETYPE_NONE ? t == o->type : o->every || is_debug_type(t);
}

static int no_such_file(const struct what_opts *o, const char *of, struct err *e)
{
	bool typed = o->type != FILETYPE_NONE;

	return err_set(e, -EINVAL, "%s alone names no file%s%s; a path does, such as symstore/NAME.exe/ID/NAME.exe",
		of, typed ? " of the type " : "", typed ? filetypes[o->type].name : "");
}

/* ---- paths --------------------------------------------------------------------------- */

/* Finds the artifacts of a path. If --type is given, finds the artifacts of that type of the path's module. */
static int path_files(const struct what_opts *o, struct what *w, struct err *e)
{
	const struct tree_hit *hit = w->hit;

	if (hit->n)
		w->m = hit->files[0].m;
	for (unsigned i = 0; i < hit->n; i++) {
		if (o->type == FILETYPE_NONE)
			w->files[w->n++] = hit->files[i];
		else
			what_add(w, o->type, &hit->files[i].m);
	}
	return w->n || !hit->n ? 0 : no_such_file(o, "this path", e);
}

static int named_path(const struct what_opts *o, char *path, what_each *each, void *ctx, struct err *e)
{
	_cleanup_free_ struct what *w = calloc(1, sizeof(*w));
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	int r = w && hit ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	tree_parse(path, hit);
	w->kind = WHAT_PATH;
	w->path = path;
	w->hit = hit;
	r = path_files(o, w, e);
	return r == 0 ? each(ctx, w) : r;
}

/* Whether a word with a slash is a path of some layout. A word without a slash is not tried as one. */
static bool is_layout_path(const char *word)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));

	if (!hit || !strchr(word, '/'))
		return false;
	tree_parse(word, hit);
	return hit->n > 0;
}

/* ---- identifiers and keys ------------------------------------------------------------ */

/* Adds PDBs, or files of the type of --type, by the identifier alone. Paths of such files need a file name, but some
 * servers find the files by the identifier. */
static void add_nameless(const struct what_opts *o, struct what *w, const char *digits)
{
	static const enum filetype types[] = {FILETYPE_PDB, FILETYPE_PORTABLEPDB};
	struct module by_debug = {0}, by_code = {0};

	if (!search_is_pe(digits)) /* an old PDB has an id as short, but a small age at its end */
		debug_id_parse(&by_debug.debug_id, digits, strlen(digits));
	module_set_code_id(&by_code, digits, strlen(digits));
	if (o->type != FILETYPE_NONE) {
		what_add(w, o->type, &by_code);
		what_add(w, o->type, &by_debug);
		return;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		by_debug.object = filetypes[types[i]].object;
		what_add(w, types[i], &by_debug);
	}
}

/* Moves stored files to the front, because a word more probably means a stored file. */
static void stored_first(const struct what_opts *o, struct what *w)
{
	unsigned at = 0;

	for (unsigned i = 0; o->store && i < w->n; i++) {
		struct artifact a = w->files[i];
		struct key k;

		if (key_of(&k, &a) < 0 || !store_has(o->store, &k, NULL))
			continue;
		memmove(&w->files[at + 1], &w->files[at], (i - at) * sizeof(a));
		w->files[at++] = a;
	}
	w->m = w->files[0].m;
	if (!at && w->m.object == OBJECT_ELF && w->m.debug_id.set && !w->m.code_id[0])
		w->m.object = OBJECT_MACHO; /* most identifiers in the form of a UUID are from Mach-O files */
}

static int named_id(const struct what_opts *o, const char *digits, what_each *each, void *ctx, struct err *e)
{
	enum { SEEN_MOST = 48 };
	_cleanup_free_ struct what *w = calloc(1, sizeof(*w));
	_cleanup_free_ struct artifact *seen = calloc(SEEN_MOST, sizeof(*seen));
	struct search found = {o->store, seen, 0, SEEN_MOST};

	if (!w || !seen)
		return -ENOMEM;
	w->kind = WHAT_ID;
	if (o->store)
		search_id(&found, digits);
	for (unsigned i = 0; i < found.n; i++)
		if (is_meant(o, seen[i].type))
			what_add(w, seen[i].type, &seen[i].m);
	add_nameless(o, w, digits);
	if (!w->n)
		return no_such_file(o, search_is_pe(digits) ? "the code id of a PE file" : "this identifier", e);
	stored_first(o, w);
	return each(ctx, w);
}

static int named_key(const struct what_opts *o, const struct key *k, what_each *each, void *ctx, struct err *e)
{
	_cleanup_free_ struct what *w = calloc(1, sizeof(*w));
	struct artifact a;

	if (!w)
		return -ENOMEM;
	w->kind = WHAT_KEY;
	key_artifact(k, &a);
	w->m = a.m;
	if (o->type == FILETYPE_NONE || o->type == a.type)
		w->files[w->n++] = a;
	else
		what_add(w, o->type, &a.m);
	return w->n ? each(ctx, w) : no_such_file(o, "this key", e);
}

/* ---- files --------------------------------------------------------------------------- */

/* The bits of the architecture, 64 or 32, from its name in formats/obj/; 0: unknown. */
static unsigned bits_of(const struct obj_slice *s)
{
	return strstr(s->arch, "64") ? 64 : strcmp(s->arch, "x86") == 0 ? 32 : 0;
}

static int slice_files(const struct what_opts *o, const struct obj_slice *s, struct what *w, struct err *e)
{
	const struct object_row *row = &object_types[s->module.object];
	bool any = o->type == FILETYPE_NONE;

	*w = (struct what){.kind = WHAT_FILE, .m = s->module, .bits = bits_of(s)};
	if (!any)
		what_add(w, o->type, &s->module);
	if (any && row->debug != FILETYPE_NONE)
		what_add(w, row->debug, &s->module);
	for (unsigned i = 0; any && i < s->n_types && (o->every || !w->n); i++)
		what_add(w, s->types[i], &s->module);
	if (any && o->every && row->program != FILETYPE_NONE)
		what_add(w, row->program, &s->module);
	if (any && o->every)
		what_add(w, FILETYPE_BREAKPAD, &s->module);
	if (w->n || o->nameless)
		return 0;
	if (!any)
		return no_such_file(o, "this file", e);
	return err_set(e, -EINVAL, "has no identifier (build id, UUID, debug id), so no server can know its files");
}

struct dumped {
	const struct what_opts *o;
	struct what *w;
	what_each *each;
	void *ctx;
};

static int dumped_module(void *ctx, const struct dump_module *d)
{
	const struct obj_slice s = {.module = d->m, .arch = ""};
	const struct dumped *t = ctx;

	slice_files(t->o, &s, t->w, NULL);
	if (t->o->names && t->o->type == FILETYPE_NONE)
		what_add(t->w, FILETYPE_BREAKPAD, &d->m);
	t->w->kind = WHAT_DUMP;
	t->w->name = d->path[0] ? d->path : d->m.code_file;
	return t->each(t->ctx, t->w);
}

int what_file(const struct what_opts *o, const char *path, what_each *each, void *ctx, struct err *e)
{
	_cleanup_free_ struct what *w = calloc(1, sizeof(*w));
	_cleanup_close_ int fd = -1;
	uint64_t size = 0;
	struct view v;
	int r = w ? path_open_file(path, &fd, &size, e) : -ENOMEM;

	if (r < 0)
		return r;
	v = view_of_fd(fd, size);
	r = o->dumps ? dump_read(&v, dumped_module, &(struct dumped){o, w, each, ctx}, e) : -ENOMSG;
	if (r != -ENOMSG)
		return r;
	r = 0;
	for (unsigned i = 0; r == 0 && i < SLICES_MOST; i++) {
		struct obj_slice s = {0};

		r = obj_identify(&v, i, &s, e);
		if (r == -ENOENT && i > 0)
			return 0;
		if (r == -ENOMSG && obj_unpacker(&v))
			return err_set(e, r, "is packed; unpack it first: %s", obj_unpacker(&v));
		if (r == -ENOMSG)
			return err_set(e, r, "is not a program, library, debug file, core file or minidump");
		if (r == 0) {
			obj_complete(&s, path_base(path));
			r = slice_files(o, &s, w, e);
		}
		if (r == 0)
			r = each(ctx, w);
	}
	return r;
}

/* ---- words --------------------------------------------------------------------------- */

/* The kind of a word, and the path, key or identifier that the word contains. */
struct reading {
	enum what_kind kind;
	char *path; /* set for WHAT_PATH */
	struct key key;
	char digits[MODULE_ID_TEXT];
};

static bool forces_file(const char *word)
{
	return word[0] == '/' || strncmp(word, "./", 2) == 0 || strncmp(word, "../", 3) == 0;
}

/* Reads a path of a layout. Accepts "buildid/…", the form of debuginfod's clients, for "debuginfod/buildid/…". */
static int read_path(const char *word, char **path)
{
	if (is_layout_path(word))
		return (*path = strdup(word)) ? 0 : -ENOMEM;
	if (strncmp(word, "buildid/", 8) != 0)
		return -ENOENT;
	return asprintf(path, "debuginfod/%s", word) < 0 ? -ENOMEM : 0;
}

static int found(struct reading *out, enum what_kind kind)
{
	out->kind = kind;
	return 0;
}

/* Finds the kind of a word. The caller frees out->path, also after an error. 0, -errno. */
static int read_word(const char *word, struct reading *out, struct err *e)
{
	int r;

	if (word[0] == '/' && app_tree_path(word, &out->path) == 0)
		return found(out, WHAT_PATH);
	if (forces_file(word) && access(word, F_OK) == 0)
		return found(out, WHAT_FILE);
	if (word[0] == '/')
		return err_set(e, -ENOENT, "not inside a symfs mount, and there is no such file");
	r = read_path(word, &out->path);
	if (r != -ENOENT)
		return r < 0 ? r : found(out, WHAT_PATH);
	if (search_digits(word, out->digits))
		return found(out, WHAT_ID);
	if (key_parse(&out->key, word) == 0)
		return found(out, WHAT_KEY);
	if (access(word, F_OK) == 0)
		return found(out, WHAT_FILE);
	if (strchr(word, '/')) /* a path such as a directory of a layout, or a text that the mount generates */
		return err_set(e, -ENOENT, "no layout can mean this path, and there is no such file");
	return err_set(e, -ENOENT, "neither a path of a layout, an identifier, a key nor a file");
}

bool what_is_file(const char *word)
{
	struct reading w = {.path = NULL};
	struct err e;
	int r = read_word(word, &w, &e);

	free(w.path);
	return r == 0 && w.kind == WHAT_FILE;
}

bool what_is_dir(const char *word)
{
	return what_is_file(word) && path_is_dir(word);
}

int what_named(const struct what_opts *o, const char *word, what_each *each, void *ctx, struct err *e)
{
	struct reading w = {.path = NULL};
	int r = read_word(word, &w, e);

	if (r == 0 && w.kind == WHAT_PATH)
		r = named_path(o, w.path, each, ctx, e);
	else if (r == 0 && w.kind == WHAT_ID)
		r = named_id(o, w.digits, each, ctx, e);
	else if (r == 0 && w.kind == WHAT_KEY)
		r = named_key(o, &w.key, each, ctx, e);
	else if (r == 0)
		r = what_file(o, word, each, ctx, e);
	free(w.path);
	return r;
}

int what_exit(int error)
{
	return error == -ENOENT || error == -EINVAL || error == -ENOMSG || error == -EBADMSG ? EXIT_NO : EXIT_LOCAL;
}

int what_type(const char *word, enum filetype *out, struct err *e)
{
	_cleanup_buf_ struct buf known = BUF_UP_TO(400);

	*out = word ? filetype_find(word) : FILETYPE_NONE;
	if (!word || *out != FILETYPE_NONE)
		return 0;
	for (unsigned t = 1; t < FILETYPES; t++)
		buf_addf(&known, " %s", filetypes[t].name);
	return err_set(e, -EINVAL, "--type %.60s: expected one of%s", word, buf_text(&known));
}

int what_tree_path(const struct artifact *a, char **out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(3 * MODULE_PATH_MAX);
	int r = tree_path(a, &path);

	if (r == 0)
		*out = strdup(buf_text(&path));
	return r < 0 || *out ? r : -ENOMEM;
}
