/* symfs symbolicate: finds the reader of its input (symbolicate.h), and answers requests of Mozilla's symbolication
 * service. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/map.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/local-files.h"
#include "cmd/symbolicate.h"
#include "recognize/recognize.h"
#include "symb/symb.h"

#include <stdio.h>
#include <string.h>

/* ---- text for people ---------------------------------------------------------------- */

struct showing {
	const struct jtext *j;
	struct buf text, room;
};

/* The text of a string member, safe for a terminal. NULL: there is no such member. */
static const char *shown(struct showing *s, uint32_t object, const char *name)
{
	uint32_t t = jtext_member(s->j, object, name);
	char *text;

	if (!t || s->j->token[t].kind != JTEXT_STRING)
		return NULL;
	buf_clear(&s->text);
	text = malloc((size_t)s->j->token[t].len + 1);
	if (!text || jtext_string(s->j, t, text, (size_t)s->j->token[t].len + 1) < 0)
		snprintf(text ? text : (char[1]){0}, 1, "%s", "");
	text_shown(text ? text : "", true, &s->text);
	free(text);
	return buf_text(&s->text);
}

static void show_member(struct showing *s, uint32_t object, const char *name, const char *before)
{
	const char *text = shown(s, object, name);

	if (text)
		printf("%s%s", before, text);
}

static void show_place(struct showing *s, uint32_t object)
{
	uint32_t line = jtext_member(s->j, object, "line");
	const struct jtoken *t = &s->j->token[line];

	show_member(s, object, "file", " at ");
	if (line)
		printf(":%.*s", (int)t->len, (const char *)s->j->text.p + t->at);
}

static void show_frame(struct showing *s, uint32_t n, uint32_t frame)
{
	uint32_t inlines = jtext_member(s->j, frame, "inlines"), at = inlines + 1;
	const char *function;

	for (uint32_t i = 0; inlines && i < s->j->token[inlines].n; i++, at = s->j->token[at].next) {
		printf("%3u  ", n);
		show_member(s, frame, "module", "");
		show_member(s, at, "function", "  ");
		printf(" (inlined)");
		show_place(s, at);
		printf("\n");
	}
	printf("%3u  ", n);
	show_member(s, frame, "module", "");
	function = shown(s, frame, "function");
	if (function) {
		printf("  %s", function);
		show_member(s, frame, jtext_member(s->j, frame, "function_id") ? "module_offset" : "function_offset",
			" + ");
	} else {
		show_member(s, frame, "function_id", "  method ");
		show_member(s, frame, "module_offset", " + ");
	}
	show_place(s, frame);
	show_member(s, frame, "language", " [");
	printf("%s\n", jtext_member(s->j, frame, "language") ? "]" : "");
}

/* Prints the frames of a stack. In version 4 of the API, each frame is a string. */
static void show_stack(struct showing *s, uint32_t stack)
{
	uint32_t at = stack + 1;

	for (uint32_t i = 0; i < s->j->token[stack].n; i++, at = s->j->token[at].next) {
		const struct jtoken *t = &s->j->token[at];
		_cleanup_free_ char *text = NULL;

		if (t->kind == JTEXT_OBJECT) {
			show_frame(s, i, at);
			continue;
		}
		text = malloc((size_t)t->len + 1);
		if (text && jtext_string(s->j, at, text, (size_t)t->len + 1) >= 0)
			printf("%3u  %s\n", i, text_shown(text, true, &s->text));
	}
}

static void show_stacks(struct showing *s, uint32_t stacks, unsigned *seen)
{
	uint32_t at = stacks + 1;

	for (uint32_t i = 0; i < s->j->token[stacks].n; i++, at = s->j->token[at].next) {
		if ((*seen)++)
			printf("\n");
		show_stack(s, at);
	}
}

static int show_text(const struct buf *body)
{
	_cleanup_jtext_ struct jtext j = {0};
	struct showing s = {.j = &j, .text = BUF_UP_TO(64u << 20), .room = BUF_UP_TO(64u << 20)};
	uint32_t results, stacks, at;
	unsigned seen = 0;

	if (jtext_read(&j, (struct span){(const uint8_t *)buf_text(body), body->n}, UINT32_MAX, NULL) < 0)
		return EXIT_LOCAL;
	results = jtext_member(&j, 0, "results");
	stacks = jtext_member(&j, 0, "symbolicatedStacks");
	at = results + 1;
	if (stacks)
		show_stacks(&s, stacks, &seen);
	for (uint32_t i = 0; results && i < j.token[results].n; i++, at = j.token[at].next)
		show_stacks(&s, jtext_member(&j, at, "stacks"), &seen);
	buf_release(&s.text);
	buf_release(&s.room);
	return EXIT_DONE;
}

/* ---- the command -------------------------------------------------------------------- */

struct wishes {
	const struct symb_api *api;
	/* of answers to a request or a minidump in JSON, as from a server; all else has demangled names */
	struct symb_flags flags;
	bool text, mangled;
	bool request; /* the input can be nothing else */
};

static int symbolicate(struct app *app, const struct wishes *w, const char *shown_name, struct span request)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(SYMB_REPLY_MOST);
	char title[SYMB_TITLE];
	struct symbolicating g;
	int status;

	if (symbolicate_begin(&g, app, &app->limits, &w->flags) < 0)
		return EXIT_LOCAL;
	status = symb_answer(g.symb, w->api, request, w->text ? &g.flags : &w->flags, &out);
	symbolicate_finish(&g);
	if (atomic_load(&symbolicate_stopped))
		return symbolicate_close(&g, app, EXIT_INTERRUPTED);
	if (w->text && status == 200)
		return symbolicate_close(&g, app, show_text(&out));
	if (w->text)
		fprintf(stderr, "symfs symbolicate: %s: %s\n", shown_name, symb_title(&out, title));
	else
		printf("%s\n", buf_text(&out));
	return status == 200 ? EXIT_DONE : status < 500 ? EXIT_NO : EXIT_LOCAL;
}

/* Everything but text. */
static int run_opened(const struct wishes *w, struct app_args *args, const struct symbolicate_input *in,
	struct span request)
{
	_cleanup_local_files_ struct local_files files = {0};
	struct err e = {0};
	struct app app;
	int status;

	if (in->kind == INPUT_CORE || in->kind == INPUT_PROCESS)
		symbolicate_core_files(args, in, &files);
	status = app_open(&app, args, &e);
	if (status < 0)
		fprintf(stderr, "symfs symbolicate: %s\n", e.text);
	status = status < 0 ? app_exit(status)
		 : in->kind == INPUT_TEXT ? symbolicate(&app, w, in->shown, request)
					  : symbolicate_stacks(&app, in, &w->flags);
	app_close(&app);
	return status;
}

/* Finds out whether the input is a request or text, unless that is known. */
static int run_input(struct wishes *w, struct app_args *args, const struct symbolicate_input *in)
{
	struct symb_flags names = w->flags;
	struct span bytes = {0};
	struct err e = {0};
	int status = in->kind == INPUT_TEXT ? map_fd(&bytes, in->fd, &e) : 0;

	if (status < 0) {
		fprintf(stderr, "symfs symbolicate: %s: %s\n", in->shown, e.text);
		return EXIT_LOCAL;
	}
	names.demangle = !w->mangled;
	if (in->kind == INPUT_TEXT ? w->text : in->kind != INPUT_MINIDUMP || !args->json)
		w->flags = names;
	status = -1;
	if (in->kind == INPUT_TEXT && !w->request && !text_is_request(bytes))
		status = text_symbolicate(args, in->shown, &names, bytes);
	if (status < 0)
		status = run_opened(w, args, in, bytes);
	map_release(&bytes);
	return status;
}

static int run_symbolicate(int argc, char **argv)
{
	struct wishes w = {0};
	const char *api = NULL;
	const struct opt own[] = {
		{"api", 0, "v4|v5", "FILE is a request of this version (v5)", &api},
		{"debug", 0, NULL, "v5: add downloads and times", &w.flags.debug},
		{"lenient", 0, NULL, "skip bad lines of a .sym file", &w.flags.lenient},
		{"demangle", 0, NULL, "demangle names in the answer to a request, too", &w.flags.demangle},
		{"mangled", 0, NULL, "print names as the files have them", &w.mangled},
		{"function-size", 0, NULL, "v5: add the sizes of functions", &w.flags.function_size},
		{"module-errors", 0, NULL, "add why a module was not found", &w.flags.module_errors},
		{"text", 0, NULL, "print the answer to a request as text", &w.text},
		{0}};
	struct symbolicate_input in;
	struct app_args args;
	int status = app_options(&args, &cmd_symbolicate, own, &argc, argv);

	if (status >= 0)
		return status;
	w.api = symb_api_find(api ? api : "v5");
	if (!w.api || argc > 2) {
		fprintf(stderr, "symfs symbolicate: %s; try: symfs symbolicate --help\n",
			w.api ? "expected at most one FILE" : "--api: expected v4 or v5");
		return EXIT_USAGE;
	}
	w.request = (api || args.json) && !w.text;
	symbolicate_catch();
	status = symbolicate_open(&in, argc > 1 ? argv[1] : NULL, w.request);
	if (status < 0)
		status = run_input(&w, &args, &in);
	if (in.fd >= 0)
		close(in.fd);
	if (fflush(stdout) != 0)
		status = status == EXIT_DONE ? EXIT_LOCAL : status;
	symbolicate_end();
	return status;
}

const struct cmd cmd_symbolicate = {
	.name = "symbolicate",
	.args = "[--json] [--mangled] [FILE|PID|-]",
	.help = "Names the functions in a core, a minidump, a process, or a text such as a log,\n"
		"a backtrace or a crash report; also packed by gzip or zstd, and from stdin. A\n"
		"request of Mozilla's symbolication service is answered in JSON",
	.examples = {"symfs symbolicate --source ./build core",
		"symfs symbolicate --source debian <report.txt"},
	.configured = true,
	.json = true,
	.run = run_symbolicate,
};
