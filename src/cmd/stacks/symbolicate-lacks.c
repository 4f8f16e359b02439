/* What a result of symfs symbolicate lacks: collects the modules without symbols while names are asked for, and
 * prints after the result which these are and what to do. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/utf8.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/no-source.h"
#include "cmd/stacks/symbolicate.h"
#include "fetch/fetch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAMED_MOST 4 /* modules that the sentence names */
#define TEXT_LACKS ": the text does not say where its modules were loaded; beside a backtrace of gdb, paste what " \
	"`info proc mappings` prints (symfs-symbolicate(1))"

/* Adds a line for a source that failed, once. `failed` begins with the source's name and ": ". */
static void note_failed(struct symbolicating *g, const char *failed)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10), line = room, again = room;
	const char *why = strstr(failed, ": "), *shown;
	char head[200] = "";

	if (why)
		snprintf(head, sizeof(head), "could not be asked: %.*s", (int)(why - failed), failed);
	shown = text_shown(head, true, &line);
	if (why && !strstr(buf_text(&g->failed), shown))
		buf_addf(&g->failed, "symfs symbolicate: %s%s; try: symfs sources check%s\n", shown,
			text_shown(why, true, &room), app_options_again(g->args, &again));
}

static void note_missing(void *ctx, const struct module *m, bool exports, const char *why, const char *failed)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(16 << 10);
	const char *name = m->code_file[0] ? m->code_file : m->debug_file[0] ? m->debug_file : "<unknown>";
	char debug[MODULE_ID_TEXT], other[280] = "";
	struct symbolicating *g = ctx;
	const char *id = m->code_id[0] ? m->code_id : module_debug_text(m, debug);

	/* The code id of a PE file alone names no file. */
	if (!g->id[0] && m->object == OBJECT_PE && m->debug_file[0] && module_debug_text(m, debug)[0])
		snprintf(g->id, sizeof(g->id), "%s/%s/%s", m->debug_file, debug, m->debug_file);
	else if (!g->id[0])
		snprintf(g->id, sizeof(g->id), "%s", id);
	name = text_shown(name, true, &room);
	if (g->n_missing++ < NAMED_MOST) {
		buf_addf(&g->names, "%s%s%s", g->n_missing > 1 ? ", " : "", name, exports ? " (only exports)" : "");
		fetch_named(symb_fetch(g->symb), m, other);
	}
	if (g->flags.module_errors)
		buf_addf(&g->lines, "  %s  %s  %s\n", name, id, why);
	if (other[0])
		buf_addf(&g->failed, "symfs symbolicate: %s\n", text_shown(other, true, &room));
	if (failed)
		note_failed(g, failed);
	g->known |= strstr(why, FETCH_KNOWN) != NULL;
	g->refused |= strstr(why, "HTTP 401") || strstr(why, "HTTP 403");
}

void symbolicate_unknown(struct symbolicating *g, const char *path)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(16 << 10);

	if (g->n_unknown++ < NAMED_MOST)
		buf_addf(&g->unknown, "%s%s", g->n_unknown > 1 ? ", " : "", text_shown(path, true, &room));
}

int symbolicate_begin(struct symbolicating *g, struct app *app, const struct symb_limits *most,
	const struct symb_flags *flags)
{
	struct err e = {0};
	int r;

	*g = (struct symbolicating){.flags = *flags, .names = BUF_UP_TO(64 << 10), .lines = BUF_UP_TO(64u << 20),
		.unknown = BUF_UP_TO(64 << 10), .failed = BUF_UP_TO(64 << 10), .args = &app->args};
	g->flags.missing = note_missing;
	g->flags.ctx = g;
	r = symb_new(&g->symb, app->fetch, most, &e);
	if (r < 0)
		cmd_say(0, "%s", e.text);
	else
		symbolicate_running(g->symb);
	return r;
}

static uint64_t stat_of(const struct symb *s, const char *name)
{
	const struct symb_stat_row *row = symb_stat_rows;

	while (strcmp(row->name, name) != 0)
		row++;
	return symb_stat(s, row);
}

void symbolicate_finish(struct symbolicating *g)
{
	symbolicate_running(NULL);
	g->frames = stat_of(g->symb, "symbolicate_frames");
	g->named = stat_of(g->symb, "symbolicate_named");
	g->modules = stat_of(g->symb, "symbolicate_modules");
	symb_free(take(g->symb));
}

/* Adds a server that is known to fail: if several fail for one file, its reason names only one. */
static void note_failing(struct symbolicating *g, struct app *app, const struct source *s)
{
	char state[240], line[320];

	if (s->kind->local)
		return;
	fetch_source_state(app->fetch, s, state);
	snprintf(line, sizeof(line), "%s: %s", s->name, state);
	if (strncmp(state, "failing", 7) == 0)
		note_failed(g, line);
}

/* Starts child processes, so the threads of fetch/ end first. */
static void advise(struct symbolicating *g, struct app *app)
{
	struct sources *so = NULL;
	struct err e;
	/* no source but the links to local files */
	bool none = app_sources(app, &so, &e) == 0 && so->n == (app->args.links != NULL);

	for (unsigned i = 0; so && i < so->n; i++)
		note_failing(g, app, so->list[i]);
	sources_unref(so);
	fputs(buf_text(&g->failed), stderr);
	if (g->refused)
		cmd_say(0, NO_SOURCE_REFUSED);
	if (!none) {
		no_source_hint(app->args.sources, app->args.n_sources);
		return;
	}
	cmd_say(0, "no source is in use; %s", no_source_advice(&app->args));
	app_stop_fetching(app);
	no_source_mounts(stderr, "symbolicate", app->settings.cache_dir);
}

int symbolicate_close(struct symbolicating *g, struct app *app, int status)
{
	_cleanup_buf_ struct buf hint = BUF_UP_TO(64 << 10);
	bool nameless = status == EXIT_DONE && (g->frames || g->dump) && !g->named;
	bool quiet = status != EXIT_DONE || app->args.json;
	bool memory = g->known && !fetch_stats(app->fetch)->requests;

	buf_addf(&hint, "%s; symfs why --ask ", memory ? "; misses are remembered, to ask again" : "");
	app_word_again(g->id, &hint);
	if (!quiet && g->n_missing)
		fprintf(stderr, "symfs symbolicate: %u of %" PRIu64 " module%s no symbols: %s%s%s\n%s", g->n_missing,
			g->modules, g->modules == 1 ? " has" : "s have", buf_text(&g->names),
			g->n_missing > NAMED_MOST ? ", …" : "",
			g->id[0] ? app_options_again(g->args, &hint) : "", buf_text(&g->lines));
	else if (!quiet && nameless)
		cmd_say(0, "no frame got a name%s", g->dump || g->modules || g->n_unknown ? "" : TEXT_LACKS);
	if (!quiet && g->n_unknown)
		cmd_say(0, "neither an id in the text nor a file with one on this machine for: %s%s",
			buf_text(&g->unknown), g->n_unknown > NAMED_MOST ? ", …" : "");
	if (!quiet && (g->n_missing || nameless))
		advise(g, app);
	buf_release(&g->names);
	buf_release(&g->lines);
	buf_release(&g->failed);
	buf_release(&g->unknown);
	return nameless ? EXIT_NO : status;
}
