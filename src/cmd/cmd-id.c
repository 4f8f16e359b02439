/* symfs id: identifies files. Prints one object for each slice of each file, so that a fat file shows all
 * of its identifiers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/bundle.h"
#include "cmd/json.h"
#include "stacks/dump/dump.h"
#include "formats/obj/obj.h"
#include "formats/obj/ppdb.h"

#include <stdio.h>
#include <string.h>

#define SLICES_MOST 256 /* slices of one file */

struct run {
	struct json *json; /* NULL: text */
	unsigned modules;  /* of the dump that is being read */
	int status;
};

static const char *name_of(const struct module *m)
{
	return m->debug_file[0] ? m->debug_file : m->code_file;
}

/* The key of the slice for its type `i`. If the key includes a name, and the file's bytes contain no name, uses the
 * file's own name. */
static int slice_key(const struct obj_slice *s, const char *path, unsigned i,
	char room[static KEY_TEXT])
{
	struct artifact a = {.type = s->types[i], .m = s->module};
	struct key k;
	int r = key_of(&k, &a);

	if (r < 0 && !a.m.code_file[0]) {
		snprintf(a.m.code_file, sizeof(a.m.code_file), "%.255s", path_base(path));
		r = key_of(&k, &a);
	}
	if (r == 0)
		key_text(&k, room);
	return r;
}

/* ---- JSON --------------------------------------------------------------------------- */

/* Adds the member `features`: the content of the file (its worth), in the words that other tools use. */
static void add_features(struct json *j, const struct worth *w)
{
	const struct {
		const char *word;
		bool has;
	} rows[] = {{"symtab", w->symbols}, {"debug", w->debug}, {"unwind", w->unwind}, {"sources", w->sources}};

	json_begin_array(j, "features");
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].has)
			json_string(j, NULL, rows[i].word);
	json_end(j);
}

static void add_keys(struct json *j, const struct obj_slice *s, const char *path)
{
	char room[KEY_TEXT];

	json_begin_array(j, "keys");
	for (unsigned i = 0; s && i < s->n_types; i++)
		if (slice_key(s, path, i, room) == 0)
			json_string(j, NULL, room);
	json_end(j);
}

/* Adds an object with all members. `s` is NULL if the file was not identified. */
static void add_json(struct run *run, const char *path, unsigned index, const struct obj_slice *s,
	const char *error)
{
	struct json *j = run->json;
	bool id = s && !debug_id_is_nil(&s->module.debug_id);
	char text[DEBUG_ID_TEXT], breakpad[DEBUG_ID_TEXT], worth[WORTH_TEXT];

	json_begin_object(j, NULL);
	json_text(j, "path", path);
	json_number(j, "index", index);
	json_text(j, "format", s ? s->format : NULL);
	json_text(j, "type", s ? object_types[s->module.object].name : NULL);
	json_text(j, "kind", s ? obj_kind_name(s->kind) : NULL);
	json_text(j, "arch", s ? s->arch : NULL);
	json_text(j, "code_id", s ? s->module.code_id : NULL);
	json_text(j, "debug_id", id ? debug_id_text(&s->module.debug_id, text) : NULL);
	json_text(j, "breakpad_id", id ? debug_id_breakpad(&s->module.debug_id, breakpad) : NULL);
	json_text(j, "checksum", s ? s->module.checksum : NULL);
	json_text(j, "name", s ? name_of(&s->module) : NULL);
	add_features(j, s ? &s->worth : &(struct worth){.known = false});
	json_text(j, "worth", s ? worth_text(&s->worth, worth) : NULL);
	add_keys(j, s, path);
	json_text(j, "error", error);
	json_end(j);
}

/* ---- text --------------------------------------------------------------------------- */

static void print_line(const char *what, const char *text)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(16 << 10);

	if (text && text[0])
		printf("    %-12s%s\n", what, text_shown(text, true, &room));
}

static void print_slice(const char *path, unsigned index, const struct obj_slice *s)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(16 << 10);
	char text[DEBUG_ID_TEXT], worth[WORTH_PHRASE], key[KEY_TEXT];

	printf("%s%s", paint(PAINT_HEAD), text_shown(path, true, &room));
	if (index)
		printf(" (slice %u)", index);
	printf("%s: %s %s, %s\n", paint(PAINT_END), s->format, obj_kind_name(s->kind), s->arch);
	print_line("code id", s->module.code_id);
	if (!debug_id_is_nil(&s->module.debug_id)) {
		print_line("debug id", debug_id_text(&s->module.debug_id, text));
		print_line("breakpad id", debug_id_breakpad(&s->module.debug_id, text));
	}
	if (s->module.object == OBJECT_PE_DOTNET)
		print_line("type", object_types[s->module.object].name);
	print_line("checksum", s->module.checksum);
	print_line("name", name_of(&s->module));
	print_line("worth", worth_phrase(&s->worth, worth));
	for (unsigned i = 0; i < s->n_types; i++)
		if (slice_key(s, path, i, key) == 0)
			print_line("serves", key);
}

/* ---- files -------------------------------------------------------------------------- */

static void report_slice(struct run *run, const char *path, unsigned index, const struct obj_slice *s)
{
	if (run->json)
		add_json(run, path, index, s, NULL);
	else
		print_slice(path, index, s);
}

static void report_failure(struct run *run, const char *path, unsigned index, int status, const char *why)
{
	/* The status for an unreadable file takes precedence over the status for an unidentified file. */
	run->status = MAX(run->status, status);
	if (run->json)
		add_json(run, path, index, NULL, why);
	else
		cmd_say(0, "%s: %s", path, why);
}

/* Computes the checksum of a Portable PDB from its bytes. For a program, formats/obj/ has read the checksum of its
 * PDB. */
static int take_checksum(struct obj_slice *s, struct view *v, struct err *e)
{
	return strcmp(s->format, "portablepdb") == 0 ? ppdb_make_checksum(v, s->module.checksum, e) : 0;
}

/* A module of a core file or a minidump: a line, or an object. */
static int id_module(void *ctx, const struct dump_module *d)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(16 << 10);
	const struct obj_slice s = {.module = d->m, .arch = ""};
	const char *path = d->path[0] ? d->path : d->m.code_file;
	bool id = !debug_id_is_nil(&d->m.debug_id);
	char text[DEBUG_ID_TEXT];
	struct run *run = ctx;

	run->modules++;
	if (run->json)
		add_json(run, path, run->modules - 1, &s, NULL);
	else
		printf("%s  %s  %s\n", text_shown(path, true, &room), d->m.code_id[0] ? d->m.code_id : "-",
			id ? debug_id_breakpad(&d->m.debug_id, text) : "-");
	return 0;
}

static void id_file(struct run *run, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct obj_slice s;
	struct err e = {0};
	uint64_t size = 0;
	struct view v;
	int r;

	if (path_open_file(path, &fd, &size, &e) < 0) {
		report_failure(run, path, 0, EXIT_LOCAL, e.text);
		return;
	}
	v = view_of_fd(fd, size);
	run->modules = 0;
	r = dump_read(&v, id_module, run, &e);
	if (run->modules) {
		if (r < 0)
			report_failure(run, path, run->modules, EXIT_NO, e.text);
		return;
	}
	for (unsigned i = 0; i < SLICES_MOST; i++) {
		r = obj_identify(&v, i, &s, &e);
		if (r == -ENOENT)
			return;
		if (r == -ENOMSG && obj_unpacker(&v))
			err_set(&e, r, "is packed; unpack it first: %s", obj_unpacker(&v));
		if (r < 0) {
			report_failure(run, path, i,
				r == -ENOMSG || r == -EBADMSG ? EXIT_NO : EXIT_LOCAL,
				err_why(&e, r));
			return;
		}
		obj_take_uuid(&s, path_base(path));
		r = take_checksum(&s, &v, &e);
		if (r < 0) {
			report_failure(run, path, i, EXIT_LOCAL, err_why(&e, r));
			return;
		}
		report_slice(run, path, i, &s);
	}
}

static void id_word(struct run *run, const char *word)
{
	_cleanup_bundle_ struct bundle b = {0};
	struct err e = {0};
	int r = bundle_open(&b, word, &e);

	if (r < 0)
		report_failure(run, word, 0, r == -ENOENT ? EXIT_NO : EXIT_LOCAL, err_why(&e, r));
	for (unsigned i = 0; r == 0 && i < b.n; i++)
		id_file(run, b.files[i]);
}

static int run_id(int argc, char **argv)
{
	bool pdb; /* command_run() runs another command */
	const struct opt own[] = {{"pdb", 0, NULL, "print what is in a PDB: symfs pdb --help", &pdb}, {0}};
	struct app_args args;
	struct run run = {0};
	struct json j;
	int status = app_options(&args, &cmd_id, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc < 2)
		return cmd_usage("expected a file");
	json_init(&j, false);
	json_begin_array(&j, NULL);
	run.json = args.json ? &j : NULL;
	for (int i = 1; i < argc; i++)
		id_word(&run, argv[i]);
	return json_finish(&j, args.json, run.status);
}

const struct cmd cmd_id = {
	.name = "id",
	.args = "[--json] [--pdb] FILE...",
	.help = "Identifies files: format, kind, identifiers, and the keys that fit them. A\n"
		".dSYM bundle stands for the files in it, a core file or a minidump for its\n"
		"modules. The exit status is 1 if a file cannot be identified",
	.examples = {"symfs id ./prog",
		"symfs id --json App.dSYM | jq ."},
	.json = true,
	.run = run_id,
};
