/* symfs symbolicate: reads a request of Mozilla's symbolication service from a file, and prints the
 * answer. Other inputs have files of their own (symbolicate.h). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/local-files.h"
#include "cmd/symbolicate-text.h"
#include "cmd/symbolicate.h"
#include "recognize/recognize.h"
#include "symb/symb.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define CHUNK (64 << 10)

/* Reads up to and just past the limit `most`, so that symb_answer() sees that a longer request is too long. */
static int read_all(int fd, uint64_t most, struct buf *out)
{
	char chunk[CHUNK];
	ssize_t n;
	int r = 0;

	while (r == 0 && out->n <= most && (n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR && !atomic_load(&symbolicate_stopped))
			continue;
		r = n < 0 ? -errno : buf_add(out, chunk, (size_t)n);
	}
	return r;
}

static int read_request(const char *path, uint64_t most, struct buf *out)
{
	_cleanup_close_ int fd = -1;

	if (!path || strcmp(path, "-") == 0)
		return read_all(STDIN_FILENO, most, out);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : read_all(fd, most, out);
}

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
	struct symb_flags flags;
	bool text;
	const char *path;
	struct buf in; /* of --text, what was read before the configuration */
};

static void say_error(const struct wishes *w, const struct buf *body)
{
	_cleanup_jtext_ struct jtext j = {0};
	struct showing s = {.j = &j, .text = BUF_UP_TO(1u << 20)};
	const char *title = NULL;

	if (jtext_read(&j, (struct span){(const uint8_t *)buf_text(body), body->n}, 64, NULL) == 0)
		title = shown(&s, 0, "title");
	fprintf(stderr, "symfs symbolicate: %s: %s\n", w->path ? w->path : "stdin", title ? title : "no answer");
	buf_release(&s.text);
}

static int fail_read(const struct wishes *w, int r)
{
	fprintf(stderr, "symfs symbolicate: %s: %s\n", w->path ? w->path : "stdin", err_text(r));
	return atomic_load(&symbolicate_stopped) ? EXIT_INTERRUPTED : EXIT_LOCAL;
}

static int symbolicate(struct app *app, struct wishes *w)
{
	uint64_t most = app->limits.bytes ? app->limits.bytes : symb_limits_default.bytes;
	_cleanup_buf_ struct buf in = w->text ? w->in : BUF_UP_TO(most + CHUNK), out = BUF_UP_TO(SYMB_REPLY_MOST);
	struct symb *symb = NULL;
	struct err e = {0};
	int r = w->text ? 0 : read_request(w->path, most, &in), status;

	w->in = (struct buf){0};
	if (r < 0)
		return fail_read(w, r);
	r = symb_new(&symb, app->fetch, &app->limits, &e);
	if (r < 0) {
		fprintf(stderr, "symfs symbolicate: %s\n", e.text);
		return EXIT_LOCAL;
	}
	symbolicate_running(symb);
	status = symb_answer(symb, w->api, (struct span){(const uint8_t *)buf_text(&in), in.n}, &w->flags, &out);
	symbolicate_running(NULL);
	symb_free(symb);
	if (atomic_load(&symbolicate_stopped))
		return EXIT_INTERRUPTED;
	if (status == 200 && w->text)
		return show_text(&out);
	if (w->text)
		say_error(w, &out);
	else
		printf("%s\n", buf_text(&out));
	return status == 200 ? EXIT_DONE : status < 500 ? EXIT_NO : EXIT_LOCAL;
}

/* Reads the file of --text. A negative result: it is a request, and the command goes on. */
static int symbolicate_text(struct app_args *args, struct wishes *w)
{
	const char *shown = w->path ? w->path : "stdin";
	struct span text;
	int r;

	w->in = BUF_UP_TO(RECOGNIZE_MOST + CHUNK);
	r = read_request(w->path, RECOGNIZE_MOST, &w->in);
	text = (struct span){(const uint8_t *)buf_text(&w->in), w->in.n};
	if (r == 0 && text_is_request(text))
		return -1;
	r = r < 0 ? fail_read(w, r) : text_symbolicate(args, shown, &w->flags, text);
	buf_release(&w->in);
	return r;
}

/* Whether the word names an input without a text of its own. */
static bool has_stacks(const char *word)
{
	return symbolicate_is_minidump(word) || symbolicate_is_core(word) || symbolicate_process(word);
}

/* Everything but text. */
static int run_opened(struct wishes *w, struct app_args *args)
{
	_cleanup_local_files_ struct local_files files = {0};
	pid_t pid = symbolicate_process(w->path);
	bool core = pid || symbolicate_is_core(w->path);
	struct err e = {0};
	struct app app;
	int status;

	if (core)
		symbolicate_core_files(args, w->path, pid, &files);
	status = app_open(&app, args, &e);
	if (status < 0)
		fprintf(stderr, "symfs symbolicate: %s\n", e.text);
	if (status < 0)
		status = app_exit(status);
	else if (core)
		status = symbolicate_core(&app, w->path, pid, &w->flags);
	else if (symbolicate_is_minidump(w->path))
		status = symbolicate_minidump(&app, w->path, &w->flags);
	else
		status = symbolicate(&app, w);
	app_close(&app);
	return status;
}

static int run_symbolicate(int argc, char **argv)
{
	struct wishes w = {0};
	const char *api = "v5";
	const struct opt own[] = {
		{"api", 0, "v4|v5", "the version of the request (v5)", &api},
		{"debug", 0, NULL, "v5: add downloads and times", &w.flags.debug},
		{"lenient", 0, NULL, "skip bad lines of a .sym file", &w.flags.lenient},
		{"demangle", 0, NULL, "demangle names of C++ and Rust", &w.flags.demangle},
		{"function-size", 0, NULL, "v5: add the sizes of functions", &w.flags.function_size},
		{"module-errors", 0, NULL, "v5: add why a module was not found", &w.flags.module_errors},
		{"text", 0, NULL, "print text: FILE with names, or the answer", &w.text},
		{0}};
	struct app_args args;
	int status = app_options(&args, &cmd_symbolicate, own, &argc, argv);

	if (status >= 0)
		return status;
	w.api = symb_api_find(api);
	w.path = argc > 1 ? argv[1] : NULL;
	if (!w.api || argc > 2) {
		fprintf(stderr, "symfs symbolicate: %s; try: symfs symbolicate --help\n",
			w.api ? "expected at most one FILE" : "--api: expected v4 or v5");
		return EXIT_USAGE;
	}
	symbolicate_catch();
	status = w.text && !has_stacks(w.path) ? symbolicate_text(&args, &w) : -1;
	if (status < 0)
		status = run_opened(&w, &args);
	buf_release(&w.in);
	if (fflush(stdout) != 0)
		status = status == EXIT_DONE ? EXIT_LOCAL : status;
	symbolicate_end();
	return status;
}

const struct cmd cmd_symbolicate = {
	.name = "symbolicate",
	.args = "[--api v4|v5] [--text] [FILE|PID]",
	.help = "Answers a request of Mozilla's symbolication service: JSON with modules and\n"
		"stacks, from FILE or stdin. Prints the stacks of a minidump, core or process.\n"
		"With --text, FILE may be a backtrace or a crash report, printed with names",
	.examples = {"symfs symbolicate core",
		"symfs symbolicate --source mozilla --text <request.json"},
	.configured = true,
	.json = true,
	.run = run_symbolicate,
};
