/* symfs paths: prints the paths of a file in each layout, in the order of requests to a server. The command
 * reads the file, or takes its identifiers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/bundle.h"
#include "cmd/json.h"
#include "names/layout/layout.h"
#include "formats/obj/obj.h"

#include <stdio.h>
#include <string.h>

#define SLICES_MOST 256

struct words {
	const char *casing, *type, *object, *code_file, *code_id, *debug_file, *debug_id;
	bool big_endian;
	struct opt_words layouts;
};

struct run {
	const struct layout *layouts[32];
	unsigned n_layouts;
	enum casing casing;
	unsigned printed;
};

/* Prints the paths of `a` but those that `before` has, too. NULL: all of them. */
static int print_layout(struct run *run, const struct layout *l, const struct artifact *a,
	const struct artifact *before)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX), other = BUF_UP_TO(LAYOUT_PATH_MAX),
				 room = BUF_UP_TO(4 * LAYOUT_PATH_MAX);
	int r = 0;

	for (unsigned nth = 0; r == 0; nth++) {
		buf_clear(&path);
		buf_clear(&other);
		r = layout_server_path(l, a, run->casing, nth, &path, NULL);
		if (r < 0)
			break;
		if (before && layout_server_path(l, before, run->casing, nth, &other, NULL) == 0 &&
			strcmp(buf_text(&path), buf_text(&other)) == 0)
			continue;
		printf("%s\t%s\t%s\n", l->name, filetypes[a->type].name,
			text_shown(buf_text(&path), true, &room));
		run->printed++;
	}
	return r == -ENOENT ? 0 : r;
}

static int print_artifact(struct run *run, const struct artifact *a)
{
	struct artifact padded = *a;
	char id[MODULE_ID_TEXT];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < run->n_layouts; i++)
		r = print_layout(run, run->layouts[i], a, NULL);
	if (r < 0 || a->m.object != OBJECT_ELF)
		return r;
	/* a server can have a short build id in 20 bytes */
	memcpy(padded.m.code_id, module_code_text(&a->m, id), sizeof(padded.m.code_id));
	for (unsigned i = 0; r == 0 && i < run->n_layouts; i++)
		r = print_layout(run, run->layouts[i], &padded, a);
	return r;
}

/* ---- from identifiers --------------------------------------------------------------- */

static int take_name(const char *option, const char *path, char out[static MODULE_NAME_MAX])
{
	const char *name = path ? path_base(path) : "";

	if (strlen(name) >= MODULE_NAME_MAX)
		return cmd_say(EXIT_USAGE, "--%s: the name is too long", option);
	snprintf(out, MODULE_NAME_MAX, "%s", name);
	return EXIT_DONE;
}

static bool has_identifiers(const struct words *w)
{
	return w->object || w->code_file || w->code_id || w->debug_file || w->debug_id || w->big_endian;
}

static int take_ids(const struct words *w, struct module *m)
{
	if (w->code_id && module_set_code_id(m, w->code_id, strlen(w->code_id)) < 0)
		return cmd_say(EXIT_USAGE, "--code-id: expected up to 128 hexadecimal digits");
	if (m->object == OBJECT_PE || m->object == OBJECT_PE_DOTNET)
		pe_id_trim(m->code_id);
	if (w->debug_id && debug_id_parse(&m->debug_id, w->debug_id, strlen(w->debug_id)) < 0)
		return cmd_say(EXIT_USAGE, "--debug-id: expected a GUID, optionally with an age");
	/* The command line can omit a debug id that is derived from the code id. */
	if (!m->debug_id.set)
		module_debug_id(m, w->big_endian, &m->debug_id);
	return EXIT_DONE;
}

static int take_words(const struct words *w, struct artifact *a)
{
	int status;

	a->type = filetype_find(w->type);
	a->m.object = w->object ? object_type_find(w->object) : OBJECT_UNKNOWN;
	if (a->type == FILETYPE_NONE)
		return cmd_say(EXIT_USAGE, "--type: no such type");
	if (w->object && a->m.object == OBJECT_UNKNOWN && strcmp(w->object, "unknown") != 0)
		return cmd_say(EXIT_USAGE, "--object-type: expected elf, macho, pe, pe_dotnet, wasm or unknown");
	status = take_name("code-file", w->code_file, a->m.code_file);
	if (status == EXIT_DONE)
		status = take_name("debug-file", w->debug_file, a->m.debug_file);
	return status == EXIT_DONE ? take_ids(w, &a->m) : status;
}

static int paths_of_words(struct run *run, const struct words *w)
{
	struct artifact a = {0};
	int status = take_words(w, &a), r;

	if (status != EXIT_DONE)
		return status;
	r = print_artifact(run, &a);
	if (r < 0)
		return cmd_say(EXIT_LOCAL, "%s: %s", w->type, err_text(r));
	return run->printed ? EXIT_DONE : EXIT_NO;
}

/* ---- from files --------------------------------------------------------------------- */

static int print_slice(struct run *run, const struct obj_slice *s)
{
	struct artifact a = {.m = s->module};
	int r = 0;

	if (!a.m.debug_id.set)
		module_debug_id(&a.m, s->big_endian, &a.m.debug_id);
	for (unsigned i = 0; r == 0 && i < s->n_types; i++) {
		a.type = s->types[i];
		r = print_artifact(run, &a);
	}
	return r;
}

static int paths_of_view(struct run *run, const char *path, struct view *v)
{
	struct obj_slice s;
	struct err e = {0};
	int r = 0;

	for (unsigned i = 0; r == 0 && i < SLICES_MOST; i++) {
		r = obj_identify(v, i, &s, &e);
		if (r == -ENOENT)
			return EXIT_DONE;
		if (r == 0) {
			/* Use the same name as `symfs add`, so that the mount lists the printed paths. */
			obj_take_name(&s, path_base(path));
			r = print_slice(run, &s);
		}
	}
	return r == 0 ? EXIT_DONE
		: cmd_say(r == -ENOMSG || r == -EBADMSG ? EXIT_NO : EXIT_LOCAL, "%s: %s", path, err_why(&e, r));
}

static int paths_of_file(struct run *run, const char *path)
{
	_cleanup_close_ int fd = -1;
	unsigned before = run->printed;
	struct err e = {0};
	uint64_t size = 0;
	struct view v;
	int status;

	if (path_open_file(path, &fd, &size, &e) < 0)
		return cmd_say(EXIT_LOCAL, "%s: %s", path, e.text);
	v = view_of_fd(fd, size);
	status = paths_of_view(run, path, &v);
	return status == EXIT_DONE && run->printed == before ? EXIT_NO : status;
}

static int paths_of_word(struct run *run, const char *word)
{
	_cleanup_bundle_ struct bundle b = {0};
	int status = EXIT_DONE, r;
	struct err e = {0};

	r = bundle_open(&b, word, &e);
	if (r < 0)
		return cmd_say(r == -ENOENT ? EXIT_NO : EXIT_LOCAL, "%s: %s", word, err_why(&e, r));
	for (unsigned i = 0; i < b.n; i++) {
		int one = paths_of_file(run, b.files[i]);

		status = MAX(status, one);
	}
	return status;
}

/* ---- the command -------------------------------------------------------------------- */

static int take_layouts(const struct words *w, struct run *run)
{
	int c = w->casing ? casing_find(w->casing) : CASING_DEFAULT;

	if (c < 0)
		return cmd_say(EXIT_USAGE, "--casing: expected default, lowercase or uppercase");
	run->casing = (enum casing)c;
	for (unsigned i = 0; i < w->layouts.n; i++) {
		run->layouts[i] = layout_find(w->layouts.word[i]);
		if (!run->layouts[i])
			return cmd_say(EXIT_USAGE, "%s: no such layout", w->layouts.word[i]);
	}
	run->n_layouts = w->layouts.n;
	for (unsigned i = 0; !w->layouts.n && layout_at(i) && i < ARRAY_SIZE(run->layouts); i++)
		if (!(layout_at(i)->flags & LAYOUT_MOUNT_ONLY))
			run->layouts[run->n_layouts++] = layout_at(i);
	return EXIT_DONE;
}

static int print_all(struct run *run, const struct words *w, int argc, char **argv)
{
	int status = w->type ? paths_of_words(run, w) : EXIT_DONE;

	for (int i = 1; i < argc; i++) {
		int r = paths_of_word(run, argv[i]);

		/* The status for an unreadable file takes precedence over the status for an unidentified file. */
		status = MAX(status, r);
	}
	return cmd_flush(status);
}

static int run_paths(int argc, char **argv)
{
	struct words w = {0};
	bool parse; /* command_run() runs another command */
	const struct opt own[] = {
		{"layout", 0, "LAYOUT", "only this layout; may be repeated", NULL, &w.layouts},
		{"casing", 0, "CASING", "default, lowercase or uppercase", &w.casing, NULL},
		{"type", 0, "TYPE", "the type of a file given by identifiers", &w.type, NULL},
		{"object-type", 0, "OBJECT", "elf, macho, pe, pe_dotnet, wasm, unknown", &w.object,
			NULL},
		{"code-file", 0, "FILE", "the name of the program or library", &w.code_file, NULL},
		{"code-id", 0, "ID", "its build id, UUID, or time and size", &w.code_id, NULL},
		{"debug-file", 0, "FILE", "the name of the debug file", &w.debug_file, NULL},
		{"debug-id", 0, "ID", "the id of the debug file", &w.debug_id, NULL},
		{"big-endian", 0, NULL, "the program is big-endian: for derived ids", &w.big_endian, NULL},
		{"parse", 0, NULL, "print what LAYOUT PATH means: symfs parse", &parse, NULL},
		{0},
	};
	struct app_args args;
	struct run run = {0};
	int status = app_options(&args, &cmd_paths, own, &argc, argv);

	if (status >= 0)
		return status;
	if ((argc > 1) == (w.type != NULL) || (!w.type && has_identifiers(&w)))
		return cmd_usage("expected either files, or --type and identifiers");
	status = take_layouts(&w, &run);
	return status == EXIT_DONE ? print_all(&run, &w, argc, argv) : status;
}

const struct cmd cmd_paths = {
	.name = "paths",
	.args = "[--layout LAYOUT]... [--casing CASING] FILE...|--type ...",
	.help = "Prints the paths of files in layouts: LAYOUT, TYPE and PATH a line, in the\n"
		"order of the requests to a server. A .dSYM bundle stands for the files in it.\n"
		"The exit status is 1 if there is no path",
	.examples = {"symfs paths --layout symstore crash.pdb",
		"symfs paths --type elf_debug --code-id dfb85de42daffd09640c8fe377d572de3"},
	.run = run_paths,
};
