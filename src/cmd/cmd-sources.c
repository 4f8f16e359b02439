/* symfs sources: which sources are in force, in order; and whether they are there. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/check-sources.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "id/filetype.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static struct json_object *types_json(const struct source *s)
{
	struct json_object *list;

	if (s->types == UINT64_MAX)
		return NULL;
	list = json_object_new_array();
	for (unsigned t = 1; t < FILETYPES; t++)
		if (s->types >> t & 1)
			json_object_array_add(list, json_object_new_string(filetype_name(t)));
	return list;
}

static int print_json(const struct sources *so)
{
	static const char *const casings[] = {"default", "lowercase", "uppercase"};
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < so->n; i++) {
		const struct source *s = so->list[i];
		struct json_object *o = json_object_new_object();

		json_add_text(o, "name", s->name);
		json_add_text(o, "type", s->kind->name);
		json_add_text(o, "layout", s->layout->name);
		json_add_text(o, "casing", casings[s->casing]);
		json_add_text(o, s->kind->local ? "path" : "url", s->shown);
		json_object_object_add(o, "filetypes", types_json(s));
		json_add_number(o, "miss_lifetime", s->o.miss_seconds);
		json_object_array_add(list, o);
	}
	return json_print(list);
}

static int print_text(const struct sources *so)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);

	for (unsigned i = 0; i < so->n; i++) {
		const struct source *s = so->list[i];

		printf("%2u. %-30s %-10s %-16s %s\n", i + 1, s->name, s->kind->name,
			s->layout->name, text_shown(s->shown, true, &room));
	}
	if (so->n == 0)
		printf("no source is configured: see symfs.conf(5), --source, DEBUGINFOD_URLS\n");
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_LOCAL;
}

/* ---- check -------------------------------------------------------------------------- */

static void add_answer(struct json_object *o, const char *name, int answer)
{
	json_object_object_add(o, name, answer < 0 ? NULL : json_object_new_boolean(answer));
}

static void add_checked(struct json_object *o, const char *name, long long n)
{
	json_object_object_add(o, name, n ? json_object_new_int64(n) : NULL);
}

static int print_check_json(const struct sources *so, const struct check_row *rows)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < so->n; i++) {
		const struct source *s = so->list[i];
		struct json_object *o = json_object_new_object();

		json_add_text(o, "name", s->name);
		json_add_text(o, "type", s->kind->name);
		json_add_text(o, s->kind->local ? "path" : "url", s->shown);
		json_add_text(o, "state", rows[i].state);
		add_checked(o, "status", rows[i].status);
		add_checked(o, "http", rows[i].http);
		json_object_object_add(
			o, "ms", rows[i].status ? json_object_new_int64(rows[i].ms) : NULL);
		add_answer(o, "ranges", rows[i].ranges);
		add_answer(o, "two_tier", rows[i].two_tier);
		json_add_text(o, "text", rows[i].text);
		json_object_array_add(list, o);
	}
	return json_print(list);
}

static void say_http(const struct check_row *row, char out[static 40])
{
	if (!row->status)
		out[0] = '\0';
	else if (row->http == 20 || row->http == 30)
		snprintf(out, 40, "HTTP/%d, %u ms", row->http / 10, row->ms);
	else
		snprintf(out, 40, "HTTP/%d.%d, %u ms", row->http / 10, row->http % 10, row->ms);
}

static int print_check_text(const struct sources *so, const struct check_row *rows)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);

	for (unsigned i = 0; i < so->n; i++) {
		const struct check_row *row = &rows[i];
		char http[40];

		say_http(row, http);
		printf("%2u. %-30s %-12s %-17s%s%s%s%s\n", i + 1, so->list[i]->name, row->state,
			http, row->ranges == 1 ? " ranges" : "",
			row->two_tier == 1 ? " two-tier" : "", row->text[0] ? " " : "",
			text_shown(row->text, true, &room));
	}
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_LOCAL;
}

/* Nobody is asked twice, and nothing is remembered: neither a miss nor that a host is down. */
static int run_check(const struct app *app, const struct sources *so)
{
	_cleanup_free_ struct check_row *rows = calloc(so->n ? so->n : 1, sizeof(*rows));
	struct err e = {0};
	int status;

	if (!rows || check_sources(so, app->settings.lookup_deadline_ms, rows, &e) < 0) {
		fprintf(stderr, "symfs sources: %s\n", rows ? e.text : "out of memory");
		return EXIT_LOCAL;
	}
	status = app->args.json ? print_check_json(so, rows) : print_check_text(so, rows);
	for (unsigned i = 0; status == EXIT_DONE && i < so->n; i++)
		if (!rows[i].good)
			status = EXIT_UNASKED;
	return status;
}

static int run_sources(int argc, char **argv)
{
	struct app_args args;
	struct sources *so;
	struct app app;
	struct err e = {0};
	int status = app_options(&args, &cmd_sources, NULL, &argc, argv), r;

	if (status >= 0)
		return status;
	if (argc > 2 || (argc == 2 && strcmp(argv[1], "check") != 0)) {
		fprintf(stderr,
			"symfs sources: expected check, or no word; try: symfs sources --help\n");
		return EXIT_USAGE;
	}
	r = app_configure(&app, &args, &e);
	if (r == 0)
		r = app_sources(&app, &so, &e);
	if (r < 0) {
		fprintf(stderr, "symfs sources: %s\n", e.text);
		status = app_exit(r);
	} else {
		status = argc == 2   ? run_check(&app, so)
			 : args.json ? print_json(so)
				     : print_text(so);
		sources_unref(so);
	}
	app_close(&app);
	return status;
}

const struct cmd cmd_sources = {
	.name = "sources",
	.args = "[check] [--json]",
	.help = "Lists the sources in use, in order; or checks whether each is reachable",
	.run = run_sources,
};
