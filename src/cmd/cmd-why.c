/* symfs why: prints the key that a path means, the plan, and the answer of each source. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/no-source.h"
#include "cmd/what.h"
#include "derive/derive.h"
#include "fetch/fetch.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define ROWS_MOST 256

#define MOUNTS_MOST 16

/* The last answers that a mount on the same store got. */
struct view_of_mount {
	char *mount, *text; /* `text` has lines in the format of .symfs/why */
};

struct answer {
	const char *path; /* the word of the command line */
	char *tree; /* path below the mount; NULL: no layout has a path for the file */
	const char *none; /* the reason why the word names nothing; used if `key` has no type */
	const char *unnamed; /* why no source can be asked; NULL: one can */
	struct view_of_mount mounts[MOUNTS_MOST];
	unsigned n_mounts;
	struct key key;
	char file[4096];
	struct blob_facts from; /* of `file` */
	struct worth worth; /* the worth of `file` */
	bool best;	    /* no source has a better file than `file`, by their earlier answers */
	char made[4096]; /* of a Breakpad file: whether it is made, if no source has it */
	struct store_tomb ended; /* when and why the file was removed, if `when` is not 0 */
	int n;
	struct fetch_attempt rows[ROWS_MOST];
};

static void add_row(struct json *j, const struct fetch_attempt *row)
{
	char until[24] = "";

	if (row->remembered_until)
		clock_print(row->remembered_until, until);
	json_begin_object(j, NULL);
	json_text(j, "source", row->source);
	json_text(j, "url", row->url);
	json_text(j, "spelling", row->spelling);
	json_text(j, "verdict", row->verdict);
	json_number_or_null(j, "status", row->status);
	json_text(j, "remembered_until", until);
	json_text(j, "error", row->error);
	json_end(j);
}

static void add_mounts(struct json *j, const struct answer *a)
{
	json_begin_array(j, "mounts");
	for (unsigned i = 0; i < a->n_mounts; i++) {
		json_begin_object(j, NULL);
		json_text(j, "mount", a->mounts[i].mount);
		json_text(j, "saw", a->mounts[i].text);
		json_end(j);
	}
	json_end(j);
}

static void add_answer(struct json *j, const struct answer *a)
{
	char room[KEY_TEXT], worth[WORTH_TEXT], when[24] = "";

	json_begin_object(j, NULL);
	json_text(j, "path", a->path);
	json_text(j, "key", a->key.type ? key_text(&a->key, room) : NULL);
	json_text(j, "stored", a->file);
	json_text(j, "made", a->made);
	json_text(j, "worth", a->file[0] ? worth_text(&a->worth, worth) : NULL);
	if (a->ended.when)
		clock_print(a->ended.when, when);
	json_text(j, "ended", when);
	json_text(j, "ended_why", a->ended.when ? a->ended.why : NULL);
	json_begin_array(j, "plan");
	for (int i = 0; i < a->n; i++)
		add_row(j, &a->rows[i]);
	json_end(j);
	add_mounts(j, a);
	json_end(j);
}

static void print_until(const struct fetch_attempt *row)
{
	char until[24];

	clock_print(row->remembered_until, until);
	printf("%s%s", row->remembered_until ? ", remembered until " : "", row->remembered_until ? until : "");
}

/* Prints a line of a module in a dump: its name, its identifier, and what each source answered. */
static void print_module(const struct answer *a, const struct what *w)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	char id[MODULE_ID_TEXT];
	const char *said = "";

	printf("%s%s%s  ", paint(PAINT_HEAD), text_shown(w->name, true, &room), paint(PAINT_END));
	printf("%s  ", module_code_text(&w->m, id)[0] || module_debug_text(&w->m, id)[0] ? id : "-");
	if (a->file[0])
		said = text_shown(a->file, true, &room);
	else if (!a->key.type)
		said = "no identifier";
	else if (a->unnamed)
		said = a->unnamed;
	printf("%s%s", a->file[0] ? "stored " : "", said);
	for (int i = 0; !said[0] && i < a->n; i++) {
		const struct fetch_attempt *row = &a->rows[i];
		bool found = strcmp(row->verdict, "found") == 0;
		const char *more = found ? path_base(path_base(row->url)[0] ? row->url : row->error) : row->error;

		if (i && strcmp(row->source, row[-1].source) == 0 && strcmp(row->verdict, row[-1].verdict) == 0)
			continue; /* the other spellings have the same answer most often */
		printf("%s%s: %s", i ? ", " : "", row->source, row->verdict);
		if (more[0] && (!row->status || strcmp(row->verdict, "missing") != 0))
			printf("%s %s", found ? "" : ":", text_shown(more, true, &room));
		print_until(row);
	}
	printf("\n");
}

static void print_row(const struct fetch_attempt *row, int nth, struct buf *room)
{
	printf("%d. %s%s%s  [%s]  %s\n", nth, paint(PAINT_HEAD), row->source, paint(PAINT_END), row->spelling,
		text_shown(row->url, true, room));
	printf("   %s%s%s", paint_word(row->verdict), row->verdict, paint(PAINT_END));
	print_until(row);
	printf("%s%s\n", row->error[0] ? ": " : "", text_shown(row->error, true, room));
}

static void print_mount(const struct view_of_mount *m, struct buf *room)
{
	printf("the mount %s last saw:\n", text_shown(m->mount, true, room));
	for (const char *line = m->text; *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
		_cleanup_free_ char *one = strndup(line, strcspn(line, "\n"));

		if (strncmp(line, "path ", 5) == 0 || strncmp(line, "key ", 4) == 0)
			continue; /* printed before */
		buf_clear(room);
		printf("   %s\n", one ? text_shown(one, true, room) : "");
	}
}

/* Whether the stored file is all that a reader can get: no source has to be asked. */
static bool is_enough(const struct answer *a)
{
	return a->file[0] && (a->best || !a->worth.known || worth_suffices(&a->worth, a->key.type));
}

/* What to do, by the verdicts of the sources: the first that a row has counts. */
#define FAILED "a source could not be asked: `symfs sources check` says why, `symfs why --ask WHAT` asks again"
static const struct advice {
	const char *verdict, *text;
} outcomes[] = {
	{"found", "a source has it: `symfs get WHAT` downloads and checks it"},
	{"refused", NO_SOURCE_REFUSED},
	{"not asked", "symfs why --ask WHAT asks each source now"},
	{"failed", FAILED},
	{"skipped", FAILED},
	{"mismatch", "a source has another file in its place: tell its owner, or add another source with --source"},
	{"loop", "a source leads back to this symfs: `symfs sources` lists the sources"},
};

/* Prints the last sentence: what to do. */
static void print_advice(const struct answer *a, const struct app *app)
{
	if (is_enough(a)) {
		printf("it is stored, so no source has to be asked\n");
		return;
	}
	for (size_t k = 0; k < ARRAY_SIZE(outcomes); k++)
		for (int i = 0; i < a->n; i++)
			if (strcmp(a->rows[i].verdict, outcomes[k].verdict) == 0) {
				printf("%s\n", outcomes[k].text);
				return;
			}
	if (a->n)
		printf("no source has %s; %s%s%s\n", a->file[0] ? "a better file" : "it",
			no_source_advice(&app->args),
			a->key.name[0] ? "; a server may distinguish letter case: see casing in symfs.conf(5)" : "",
			a->rows[0].remembered_until ? "; `symfs why --ask WHAT` asks again" : "");
	if (!a->unnamed)
		return;
	printf("%s%s%s\n", a->unnamed, strcmp(a->unnamed, FETCH_UNNAMED) == 0 ? "; " : "",
		strcmp(a->unnamed, FETCH_UNNAMED) == 0 ? no_source_advice(&app->args) : "");
	no_source_mounts(stdout, "why", app->settings.cache_dir);
}

static void print_worth(const struct answer *a)
{
	char text[WORTH_PHRASE];

	if (!a->file[0] || !a->worth.known)
		return;
	printf("worth   %s\n", worth_phrase(&a->worth, text));
	if (!worth_suffices(&a->worth, a->key.type))
		printf("        %s%s; %s\n", a->worth.made ? "another symfs made it" : "no ",
			a->worth.made ? "" : worth_wanted(a->key.type),
			a->best ? "no source has a better file"
			: "the next request asks the sources for a better file");
}

/* A file that was here, and expired or was purged. */
static void print_ended(const struct answer *a, struct buf *room)
{
	char when[24];

	if (!a->ended.when)
		return;
	clock_print(a->ended.when, when);
	printf("ended   %s: %s\n", when, text_shown(a->ended.why, true, room));
}

static int print_text(const struct answer *a, const struct app *app)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	char text[KEY_TEXT];

	printf("path    %s\n", text_shown(a->path, true, &room));
	if (a->key.type)
		printf("key     %s\n", text_shown(key_text(&a->key, text), true, &room));
	else
		printf("key     none: %s\n", a->none);
	printf("stored  %s%s%s\n", a->file[0] ? paint(PAINT_GOOD) : paint(PAINT_WARN),
		a->file[0] ? text_shown(a->file, true, &room) : "no", paint(PAINT_END));
	if (a->file[0])
		printf("from    %s  %s\n", a->from.source, text_shown(a->from.url, true, &room));
	if (a->made[0])
		printf("made    %s\n", text_shown(a->made, true, &room));
	print_worth(a);
	print_ended(a, &room);
	for (int i = 0; i < a->n; i++)
		print_row(&a->rows[i], i + 1, &room);
	for (unsigned i = 0; i < a->n_mounts && !is_enough(a); i++)
		print_mount(&a->mounts[i], &room);
	print_advice(a, app);
	return cmd_flush(EXIT_DONE);
}

/* ---- mounts that use the same store ---------------------------------------------------- */

static void ask_mount(void *ctx, const char *mount)
{
	_cleanup_free_ char *name = NULL;
	struct answer *a = ctx;
	struct view_of_mount *m = &a->mounts[a->n_mounts];

	if (a->n_mounts == MOUNTS_MOST || asprintf(&name, "why/%s", a->tree) < 0)
		return;
	if (mount_state(mount, name, &m->text) < 0)
		return;
	m->mount = strdup(mount);
	if (m->mount)
		a->n_mounts++;
	else
		free(take(m->text));
}

static void cleanup_answer(struct answer **at)
{
	struct answer *a = *at;

	for (unsigned i = 0; a && i < a->n_mounts; i++) {
		free(a->mounts[i].mount);
		free(a->mounts[i].text);
	}
	if (a)
		free(a->tree);
	free(a);
}

/* ---- the plan -------------------------------------------------------------------------- */

/* Finds the stored file, also by identifiers of the module that only other stored files contain. */
static void find_stored(struct app *app, const struct artifact *best, struct answer *a)
{
	struct fetched f;

	if (fetch_stored(app->fetch, best, 1, &f) < 0 || f.r < 0)
		return;
	snprintf(a->file, sizeof(a->file), "%s", blob_path(f.blob));
	a->worth = blob_facts(f.blob)->worth;
	a->from = *blob_facts(f.blob);
	a->best = !fetch_may_improve(app->fetch, &f.key, f.blob);
	blob_unref(f.blob);
}

/* Writes whether the Breakpad file is made, from what is stored. */
static void find_made(struct app *app, const struct artifact *sym, struct answer *a)
{
	struct fetched f = {0};
	struct derive *d;
	struct artifact made;
	int r;

	if (sym->type != FILETYPE_BREAKPAD || a->file[0] || derive_new(&d, app->fetch) < 0)
		return;
	r = derive_breakpad(d, sym, &made);
	if (r == 0)
		r = derive_try(d, &made, NULL, &f);
	if (r == 0 && f.blob)
		snprintf(a->made, sizeof(a->made), "%s", blob_path(f.blob));
	else if (r == 0)
		snprintf(a->made, sizeof(a->made), "no: a recent attempt failed: %s", err_text(f.r));
	else if (r == -EAGAIN && made.m.object != OBJECT_UNKNOWN)
		snprintf(a->made, sizeof(a->made), "when it is read, from its debug file or program");
	else if (r == -EAGAIN)
		snprintf(a->made, sizeof(a->made), "only of a file in a directory source: %s",
			derive_breakpad_why(&made));
	else if (!app->settings.synthesize)
		snprintf(a->made, sizeof(a->made), "no: synthesize = no");
	blob_unref(f.blob);
	derive_free(d);
}

struct why {
	struct app *app;
	struct answer *a;
	bool ask;
	struct json *json; /* NULL: text */
	bool dump; /* modules of a dump were printed, or are in `json` */
};

/* Adds n rows at the end, but no place of a source twice: a scanned tree is asked for each type at the same place.
 * Then the row of the type that it has counts. */
static void take_rows(struct answer *a, int n)
{
	for (int i = a->n, end = i + n; i < end; i++) {
		const struct fetch_attempt *row = &a->rows[i];
		int at = 0;

		while (at < a->n && (strcmp(row->url, a->rows[at].url) != 0 ||
			strcmp(row->source, a->rows[at].source) != 0))
			at++;
		if (at == a->n || strcmp(row->verdict, "found") == 0)
			a->rows[at] = *row;
		a->n += at == a->n;
	}
}

/* Collects the rows of every candidate, and the key of the best candidate. */
static int explain(const struct why *y, const struct what *w)
{
	const atomic_bool never = false;
	const struct fetch_asking asking = {.until = UINT64_MAX, .stop = &never}; /* every transfer has time limits */
	struct answer *a = y->a;
	struct key k;

	for (unsigned i = 0; i < w->n && a->n < ROWS_MOST; i++) {
		int n = fetch_why(y->app->fetch, &w->files[i], y->ask ? &asking : NULL, a->rows + a->n,
			(unsigned)(ROWS_MOST - a->n));

		if (n < 0)
			continue;
		if (!a->key.type)
			key_of(&a->key, &w->files[i]);
		if (!a->file[0])
			find_stored(y->app, &w->files[i], a);
		if (i == 0)
			find_made(y->app, &w->files[i], a);
		if (!a->file[0] && !a->ended.when && key_of(&k, &w->files[i]) == 0)
			store_tomb(y->app->store, &k, &a->ended);
		take_rows(a, n);
	}
	if (a->key.type && a->n == 0)
		a->unnamed = fetch_unnamed(y->app->fetch, &w->files[0]);
	return a->key.type ? 0 : -ENOENT;
}

static int why_module(struct why *y, const struct what *w)
{
	memset(y->a, 0, offsetof(struct answer, rows));
	explain(y, w);
	y->a->path = w->name;
	if (!y->dump && y->json)
		json_begin_array(y->json, NULL);
	y->dump = true;
	if (y->json)
		add_answer(y->json, y->a);
	else
		print_module(y->a, w);
	return 0;
}

/* Explains what a word names. Returns 1, so that only the first slice of a fat file is explained. */
static int why_what(void *ctx, const struct what *w)
{
	struct why *y = ctx;

	if (w->kind == WHAT_DUMP)
		return why_module(y, w);
	if (explain(y, w) < 0)
		return 1;
	if (w->path)
		y->a->tree = strdup(w->path);
	else if (what_tree_path(&w->files[0], &y->a->tree) == -ENOMEM)
		return -ENOMEM;
	return 1;
}

static int why_word(struct app *app, const struct what_opts *o, const char *word, bool ask, bool json)
{
	_cleanup_(cleanup_answer) struct answer *a = calloc(1, sizeof(*a));
	struct json j;
	struct why y = {app, a, ask, json ? &j : NULL, false};
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10), again = room;
	struct err e = {0};
	int r, status = EXIT_DONE;

	json_init(&j, false);
	r = a ? what_named(o, word, why_what, &y, &e) : -ENOMEM;
	if (y.dump && json)
		status = json_print(&j);
	if (r < 0 && r != -ENOENT)
		return cmd_say(what_exit(r), "%s: %s", word, err_why(&e, r));
	if (y.dump && !ask)
		fprintf(stderr, "symfs why --ask%s %s asks each source now\n", app_options_again(&app->args, &again),
			app_word_again(word, &room));
	if (y.dump)
		return cmd_flush(status);
	app_stop_fetching(app); /* a mount is asked by a forked process, so there must be no threads */
	if (a->tree && !ask)
		mounts_of_store(app->settings.cache_dir, ask_mount, a);
	a->path = word;
	a->none = r < 0 && e.text[0] ? e.text : "no layout can mean this path";
	if (json)
		add_answer(&j, a);
	status = json ? json_print(&j) : print_text(a, app);
	return status != EXIT_DONE ? status : a->key.type ? EXIT_DONE : EXIT_NO;
}

static int run_why(int argc, char **argv)
{
	bool ask = false;
	const char *type = NULL, *purpose; /* of another command, which command_run() runs */
	const struct opt own[] = {
		{"ask", 0, NULL, "ask every source now and print the answers", &ask},
		{"for", 0, "symtab|debug|unwind", "which file is the best: symfs best --help", &purpose},
		{"type", 0, "TYPE", WHAT_TYPE_HELP, &type}, {0}};
	struct what_opts o = {.type = FILETYPE_NONE, .dumps = true, .names = true};
	struct app_args args;
	struct app app;
	struct err e = {0};
	int status = app_options(&args, &cmd_why, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc != 2 || what_type(type, &o.type, &e) < 0)
		return cmd_usage("%s", argc != 2 ? "expected one path, identifier, key or file" : e.text);
	app_adopt_mount(&args, argv[1]);
	status = app_open(&app, &args, &e);
	o.store = app.store;
	status = status < 0 ? cmd_say(app_exit(status), "%s", e.text) : why_word(&app, &o, argv[1], ask, args.json);
	app_close(&app);
	return status;
}

const struct cmd cmd_why = {
	.name = "why",
	.args = "[--ask] [--json] [--type TYPE] WHAT",
	.help = "Explains which file is meant, and why the file is not there: what each source\n"
		"would be asked, its last answers, and what mounts on the same store last saw.\n"
		"Asks no source without --ask. WHAT is as for `symfs get`",
	.examples = {"symfs why ./prog",
		"symfs why --ask --source debian /usr/bin/ls"},
	.configured = true,
	.json = true,
	.run = run_why,
};
