/* symfs sources: lists the sources in use, in order, and checks whether each is reachable. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/check-sources.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/no-source.h"
#include "fetch/fetch.h"
#include "id/filetype.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void add_types(struct json *j, const struct source *s)
{
	if (s->types == UINT64_MAX) {
		json_null(j, "filetypes");
		return;
	}
	json_begin_array(j, "filetypes");
	for (unsigned t = 1; t < FILETYPES; t++)
		if (s->types >> t & 1)
			json_string(j, NULL, filetype_name(t));
	json_end(j);
}

static void add_source(struct json *j, const struct source *s)
{
	static const char *const casings[] = {"default", "lowercase", "uppercase"};

	json_begin_object(j, NULL);
	json_text(j, "name", s->name);
	json_text(j, "type", s->kind->name);
	json_text(j, "layout", s->layout->name);
	json_text(j, "casing", casings[s->casing]);
	json_text(j, s->kind->local ? "path" : "url", s->shown);
	add_types(j, s);
	json_number(j, "miss_lifetime", s->o.miss_seconds);
	json_end(j);
}

/* The width of a column with the names. */
static int name_width(const struct sources *so)
{
	size_t width = 14;

	for (unsigned i = 0; i < so->n; i++)
		width = MAX(width, strlen(so->list[i]->name));
	return (int)width;
}

static int print_list(const struct sources *so, bool as_json)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	int width = name_width(so);
	struct json j;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	/* The output for scripts has only lines of sources. */
	if (!as_json && so->n && paint_terminal())
		printf("    %s%-*s %-10s %-16s %s%s\n", paint_head(), width, "NAME", "TYPE", "LAYOUT", "WHERE",
			paint_end());
	for (unsigned i = 0; i < so->n; i++) {
		const struct source *s = so->list[i];

		if (as_json)
			add_source(&j, s);
		else
			printf("%2u. %-*s %-10s %-16s %s\n", i + 1, width, s->name, s->kind->name,
				s->layout->name, text_shown(s->shown, true, &room));
	}
	if (!as_json && so->n == 0)
		printf("no source is configured; to add one:\n%s", no_source_help);
	return json_finish(&j, as_json, EXIT_DONE);
}

/* ---- check -------------------------------------------------------------------------- */

static void add_answer(struct json *j, const char *name, int answer)
{
	if (answer < 0)
		json_null(j, name);
	else
		json_boolean(j, name, answer);
}

static void add_check(struct json *j, const struct source *s, const struct check_row *row)
{
	json_begin_object(j, NULL);
	json_text(j, "name", s->name);
	json_text(j, "type", s->kind->name);
	json_text(j, s->kind->local ? "path" : "url", s->shown);
	json_text(j, "state", row->state);
	json_number_or_null(j, "status", row->status);
	json_number_or_null(j, "http", row->http);
	if (row->status)
		json_number(j, "ms", row->ms);
	else
		json_null(j, "ms");
	add_answer(j, "ranges", row->ranges);
	add_answer(j, "two_tier", row->two_tier);
	json_text(j, "text", row->text);
	json_end(j);
}

static void print_check(unsigned nth, int width, const struct source *s, const struct check_row *row)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	char http[40] = "";

	if (row->status && (row->http == 20 || row->http == 30))
		snprintf(http, sizeof(http), "HTTP/%d, %u ms", row->http / 10, row->ms);
	else if (row->status)
		snprintf(http, sizeof(http), "HTTP/%d.%d, %u ms", row->http / 10, row->http % 10, row->ms);
	printf("%2u. %-*s %s%-12s%s %-17s%s%s%s%s\n", nth, width, s->name, paint_word(row->state), row->state,
		paint_end(), http, row->ranges == 1 ? " ranges" : "", row->two_tier == 1 ? " two-tier" : "",
		row->text[0] ? " " : "", text_shown(row->text, true, &room));
}

static int print_checks(const struct sources *so, const struct check_row *rows, bool as_json)
{
	int width = name_width(so);
	struct json j;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	if (!as_json && so->n && paint_terminal())
		printf("    %s%-*s %-12s %s%s\n", paint_head(), width, "NAME", "STATE", "ANSWER", paint_end());
	for (unsigned i = 0; i < so->n; i++)
		if (as_json)
			add_check(&j, so->list[i], &rows[i]);
		else
			print_check(i + 1, width, so->list[i], &rows[i]);
	return json_finish(&j, as_json, EXIT_DONE);
}

/* Asks each source once. Records neither misses nor hosts that are down. */
static int run_check(const struct app *app, const struct sources *so)
{
	_cleanup_free_ struct check_row *rows = calloc(so->n ? so->n : 1, sizeof(*rows));
	struct err e = {0};
	int status;

	if (!rows || check_sources(so, app->settings.lookup_deadline_ms, rows, &e) < 0)
		return cmd_say(EXIT_LOCAL, "%s", rows ? e.text : "out of memory");
	for (unsigned i = 0; i < so->n; i++)
		if (rows[i].good && !rows[i].text[0])
			fetch_scan_saved(app->settings.cache_dir, so->list[i], rows[i].text);
	status = print_checks(so, rows, app->args.json);
	for (unsigned i = 0; !app->args.json && i < so->n; i++)
		if (strcmp(rows[i].state, "refused") == 0) {
			cmd_say(0, NO_SOURCE_REFUSED);
			break;
		}
	for (unsigned i = 0; status == EXIT_DONE && i < so->n; i++)
		if (!rows[i].good)
			status = EXIT_UNASKED;
	return status;
}

/* ---- presets ------------------------------------------------------------------------ */

static bool is_off(const struct conf_section *s)
{
	const char *enabled = conf_get(s, "enabled");

	return enabled && strcasecmp(enabled, "no") == 0;
}

static void add_preset(struct json *j, const struct conf_section *s, const char *where, bool enabled)
{
	json_begin_object(j, NULL);
	json_text(j, "name", s->name);
	json_text(j, "url", where);
	json_boolean(j, "enabled", enabled);
	json_end(j);
}

/* The servers that `--source NAME` enables. */
static int print_presets(const struct conf *c, bool as_json)
{
	unsigned n = 0;
	struct json j;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));) {
		_cleanup_buf_ struct buf where = BUF_UP_TO(8192), room = BUF_UP_TO(64 << 10);
		const char *url = conf_get(s, "url");
		const struct conf_section *used = conf_find(c, "source", s->name); /* the first one of a name */
		bool enabled = !is_off(used);

		if (!s->preset && (!is_off(s) || used != s))
			continue;
		url_without_credentials(url ? url : conf_get(s, "path") ? conf_get(s, "path") : "", &where);
		n++;
		if (as_json)
			add_preset(&j, s, buf_text(&where), enabled);
		else
			printf("%-14s %s%s\n", s->name, text_shown(buf_text(&where), true, &room),
				enabled ? "  (enabled)" : "");
	}
	if (!n && !as_json)
		cmd_say(0, "no preset is installed");
	return json_finish(&j, as_json, n || as_json ? EXIT_DONE : EXIT_NO);
}

static int run_sources(int argc, char **argv)
{
	struct app_args args;
	struct sources *so;
	struct app app;
	struct err e = {0};
	bool presets;
	int status = app_options(&args, &cmd_sources, NULL, &argc, argv), r;

	if (status >= 0)
		return status;
	presets = argc == 2 && strcmp(argv[1], "presets") == 0;
	if (argc > 2 || (argc == 2 && !presets && strcmp(argv[1], "check") != 0))
		return cmd_usage("expected check, presets, or no word");
	r = app_configure(&app, &args, &e);
	if (r == 0 && !presets)
		r = app_sources(&app, &so, &e);
	if (r < 0) {
		status = cmd_say(app_exit(r), "%s", e.text);
	} else if (presets) {
		status = print_presets(app.conf, args.json);
	} else {
		status = argc == 2 ? run_check(&app, so) : print_list(so, args.json);
		sources_unref(so);
	}
	app_close(&app);
	return status;
}

const struct cmd cmd_sources = {
	.name = "sources",
	.args = "[check|presets] [--json]",
	.help = "Lists the sources in use, in order; or checks whether each is reachable.\n"
		"presets lists the servers that `--source NAME` enables",
	.examples = {"symfs sources",
		"symfs sources check"},
	.configured = true,
	.json = true,
	.run = run_sources,
};
