/* symfs sources: which sources are in force, in order. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "id/filetype.h"

#include <json-c/json.h>
#include <stdio.h>

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

static int run_sources(int argc, char **argv)
{
	struct app_args args;
	struct sources *so;
	struct app app;
	struct err e = {0};
	int status = app_options(&args, &cmd_sources, NULL, &argc, argv), r;

	if (status >= 0)
		return status;
	if (argc != 1) {
		fprintf(stderr,
			"symfs sources: no words are expected; try: symfs sources --help\n");
		return EXIT_USAGE;
	}
	r = app_configure(&app, &args, &e);
	if (r == 0)
		r = app_sources(&app, &so, &e);
	if (r < 0) {
		fprintf(stderr, "symfs sources: %s\n", e.text);
		status = app_exit(r);
	} else {
		status = args.json ? print_json(so) : print_text(so);
		sources_unref(so);
	}
	app_close(&app);
	return status;
}

const struct cmd cmd_sources = {
	.name = "sources",
	.args = "[--json]",
	.help = "Lists the sources that are in force, in the order of their priority",
	.run = run_sources,
};
