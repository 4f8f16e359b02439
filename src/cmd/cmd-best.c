/* symfs best: reports which file of a module is the best for a purpose, and why the others are not. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/what.h"
#include "store/files/blob.h"
#include "symb/choose.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static atomic_bool stop;

static void on_interrupt(int signal)
{
	atomic_store(&stop, true);
}

struct wishes {
	struct app app;
	struct app_args args;
	enum best_purpose purpose;
	enum object_type object; /* OBJECT_UNKNOWN: the object type of the module */
	struct json *json; /* NULL: text */
};

/* ---- the module ------------------------------------------------------------------- */

struct meant {
	struct module *m;
	unsigned bits;
};

/* Takes the module that a word names. Returns 1, so that only the first slice of a fat file is taken. */
static int take_module(void *ctx, const struct what *w)
{
	struct meant *out = ctx;

	if (w->kind == WHAT_PATH && !w->n)
		return -ENOENT;
	*out->m = w->m;
	out->bits = w->bits;
	if (w->kind != WHAT_FILE)
		out->m->path[0] = '\0';
	return 1;
}

static int module_of(struct store *s, const char *word, struct module *m, unsigned *bits, struct err *e)
{
	const struct what_opts o = {.store = s, .every = true};
	struct meant meant = {m, 0};
	int r = what_named(&o, word, take_module, &meant, e);

	*bits = meant.bits;
	return r == -ENOENT && !e->text[0] ? err_set(e, r, "no layout can mean this path") : MIN(r, 0);
}

/* ---- the output --------------------------------------------------------------------- */

static const char *module_text(const struct module *m, char room[static 512])
{
	char id[MODULE_ID_TEXT];
	const char *name = m->code_file[0] ? m->code_file : m->debug_file;

	if (!module_code_text(m, id)[0])
		module_debug_text(m, id);
	snprintf(room, 512, "%s%s%s", name, name[0] && id[0] ? " " : "", id);
	return room;
}

static void print_text(const struct wishes *w, const char *word, const struct module *m,
	const struct best_choice *c)
{
	struct buf room = BUF_UP_TO(64 << 10);
	char text[512], worth[WORTH_PHRASE];

	printf("%s: ", text_shown(word, true, &room));
	printf("%s, %s", best_purpose_name(w->purpose), object_types[c->object].name);
	printf("%s%s", c->bits == 32 ? ", 32 bits" : "",
		c->n ? "" : ": no file type of this platform serves this purpose");
	printf("\n  module %s\n", text_shown(module_text(m, text), true, &room));
	for (unsigned i = 0; i < c->n; i++) {
		const struct best_candidate *x = &c->all[i];

		printf("  %u. %-12s %s: %s\n", i + 1, filetypes[x->type].name, best_verdict_name(x->verdict),
			text_shown(x->why, true, &room));
		if (x->blob)
			printf("     %s\n     from %s: %s\n", text_shown(blob_path(x->blob), true, &room),
				blob_facts(x->blob)->source, worth_phrase(&x->worth, worth));
	}
	buf_release(&room);
}

static void add_json(const struct wishes *w, const char *word, const struct module *m,
	const struct best_choice *c)
{
	struct json *j = w->json;
	char text[512], worth[WORTH_TEXT];

	json_begin_object(j, NULL);
	json_text(j, "module", word);
	json_text(j, "name", module_text(m, text));
	json_text(j, "for", best_purpose_name(w->purpose));
	json_text(j, "platform", object_types[c->object].name);
	json_text(j, "chosen", c->chosen < 0 ? NULL : filetypes[c->all[c->chosen].type].name);
	json_text(j, "path", c->chosen < 0 ? NULL : blob_path(c->all[c->chosen].blob));
	json_begin_array(j, "candidates");
	for (unsigned i = 0; i < c->n; i++) {
		const struct best_candidate *x = &c->all[i];

		json_begin_object(j, NULL);
		json_text(j, "type", filetypes[x->type].name);
		json_text(j, "verdict", best_verdict_name(x->verdict));
		json_text(j, "why", x->why);
		json_text(j, "path", x->blob ? blob_path(x->blob) : NULL);
		json_text(j, "source", x->blob ? blob_facts(x->blob)->source : NULL);
		json_text(j, "worth", x->blob ? worth_text(&x->worth, worth) : NULL);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

/* The exit status. The status for a failed source takes precedence over EXIT_NO: the source may have the file. */
static int status_of(const struct best_choice *c)
{
	int status = EXIT_NO;

	if (c->chosen >= 0)
		return EXIT_DONE;
	for (unsigned i = 0; i < c->n; i++)
		if (c->all[i].verdict == BEST_FAILED)
			status = app_exit(c->all[i].error);
	return status;
}

static int one_module(struct wishes *w, const char *word)
{
	_cleanup_free_ struct module *m = calloc(1, sizeof(*m));
	_cleanup_free_ struct best_choice *c = calloc(1, sizeof(*c));
	struct err e = {0};
	unsigned bits = 0;
	int r = m && c ? module_of(w->app.store, word, m, &bits, &e) : -ENOMEM, status;

	if (r < 0)
		return cmd_say(what_exit(r), "%s: %s", word, err_why(&e, r));
	if (w->object != OBJECT_UNKNOWN)
		m->object = w->object;
	r = best_choose(w->app.fetch, m, w->purpose, bits, &stop, c);
	if (r < 0 && r != -EINTR)
		cmd_say(0, "%s: %s", word, err_text(r));
	if (r == 0 && w->json)
		add_json(w, word, m, c);
	else if (r == 0)
		print_text(w, word, m, c);
	status = r == -EINTR ? EXIT_INTERRUPTED : r < 0 ? EXIT_LOCAL : status_of(c);
	best_release(c);
	return status;
}

/* ---- the command -------------------------------------------------------------------- */

static int take_words(struct wishes *w, const char *purpose, const char *object, int argc)
{
	int p = purpose ? best_purpose_find(purpose) : -EINVAL;

	if (p < 0)
		return cmd_usage("%s", purpose ? "--for: expected symtab, debug or unwind"
			: "expected --for debug (names and lines), symtab (names) or unwind");
	w->purpose = (enum best_purpose)p;
	w->object = object ? object_type_find(object) : OBJECT_UNKNOWN;
	if (object && w->object == OBJECT_UNKNOWN)
		return cmd_usage("--object-type: expected elf, macho, pe, pe_dotnet or wasm");
	return argc < 2 ? cmd_usage("expected a MODULE") : EXIT_DONE;
}

static int all_modules(struct wishes *w, int argc, char **argv)
{
	int worst = EXIT_DONE;
	struct json j;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	w->json = w->args.json ? &j : NULL;
	for (int i = 1; i < argc && !atomic_load(&stop); i++) {
		int one = one_module(w, argv[i]);

		worst = MAX(worst, one);
	}
	return json_finish(&j, w->args.json, worst);
}

static int run_best(int argc, char **argv)
{
	_cleanup_free_ struct wishes *w = calloc(1, sizeof(*w));
	const char *purpose = NULL, *object = NULL;
	const struct opt own[] = {
		{"for", 0, "symtab|debug|unwind", "the purpose of the file", &purpose},
		{"object-type", 0, "OBJECT", "the platform, if the path does not show it", &object}, {0}};
	struct sigaction act = {.sa_handler = on_interrupt};
	struct err e = {0};
	int status;

	if (!w)
		return EXIT_LOCAL;
	status = app_options(&w->args, &cmd_best, own, &argc, argv);
	if (status >= 0)
		return status;
	status = take_words(w, purpose, object, argc);
	if (status != EXIT_DONE)
		return status;
	app_adopt_mount(&w->args, argv[1]);
	status = app_open(&w->app, &w->args, &e);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	status = status < 0 ? cmd_say(app_exit(status), "%s", e.text) : all_modules(w, argc, argv);
	app_close(&w->app);
	return status;
}

const struct cmd cmd_best = {
	.name = "best",
	.args = "--for symtab|debug|unwind MODULE...",
	.help = "Reports which file of a module is the best for a purpose, and why the others\n"
		"are not chosen. A MODULE is what `symfs get` takes: a path, an identifier, a key\n"
		"or a file. For a path in a mount, the command asks the sources of that mount",
	.examples = {"symfs best --for debug ./prog",
		"symfs best --for unwind symstore/a.dll/5ab380779000/a.dll"},
	.configured = true,
	.json = true,
	.run = run_best,
};
