/* symfs status: what mounts are doing, read from their .symfs files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mounts.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

struct statuses {
	const char *only; /* this mount; NULL: all */
	bool json;
	struct json_object *list;
	unsigned seen;
	int status;
};

static char *read_state(const char *mount, const char *name)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(8192);
	char *text = NULL;

	buf_addf(&path, "%s/.symfs/%s", mount, name);
	return path_read(AT_FDCWD, buf_text(&path), 4 << 20, &text, NULL) == 0 ? text : NULL;
}

/* "name value" lines become members. */
static struct json_object *stats_json(char *text)
{
	struct json_object *o = json_object_new_object();
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *blank = strchr(line, ' ');

		if (!blank)
			continue;
		*blank = '\0';
		json_add_number(o, line, strtoll(blank + 1, NULL, 10));
	}
	return o;
}

static struct json_object *lines_json(char *text)
{
	struct json_object *list = json_object_new_array();
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		json_object_array_add(list, json_object_new_string(text_shown(line, false, &room)));
	return list;
}

static void add_json(struct statuses *s, const char *point, const char *version, char *stats,
	char *activity, char *sources)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "mount", point);
	json_add_text(o, "version", version);
	json_object_object_add(o, "stats", stats_json(stats));
	json_object_object_add(o, "activity", lines_json(activity));
	json_object_object_add(o, "sources", lines_json(sources));
	json_object_array_add(s->list, o);
}

static void print_text(const char *point, const char *version, const char *stats,
	const char *activity, const char *sources)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(16 << 10);

	printf("%s: %s\n", text_shown(point, true, &room), version);
	printf("\nunder way:\n%s", activity[0] ? activity : "nothing\n");
	printf("\nsources:\n%s", sources[0] ? sources : "none\n");
	printf("\ncounters:\n%s", stats);
}

static int show_mount(void *ctx, const struct mount_row *m)
{
	struct statuses *s = ctx;
	_cleanup_free_ char *version = NULL, *stats = NULL, *activity = NULL, *sources = NULL;

	if (strncmp(m->type, "fuse.symfs", 10) != 0 || (s->only && strcmp(s->only, m->point) != 0))
		return 0;
	s->seen++;
	version = read_state(m->point, "version");
	stats = read_state(m->point, "stats");
	activity = read_state(m->point, "activity");
	sources = read_state(m->point, "sources");
	if (!version || !stats || !activity || !sources) {
		fprintf(stderr, "symfs status: %s does not answer: is its daemon gone?\n",
			m->point);
		s->status = EXIT_UNASKED;
		return 0;
	}
	version[strcspn(version, "\n")] = '\0';
	if (s->json)
		add_json(s, m->point, version, stats, activity, sources);
	else
		print_text(m->point, version, stats, activity, sources);
	return 0;
}

static int run_status(int argc, char **argv)
{
	struct statuses s = {0};
	struct app_args args;
	_cleanup_free_ char *only = NULL;
	int status = app_options(&args, &cmd_status, NULL, &argc, argv);

	if (status >= 0)
		return status;
	if (argc > 2) {
		fprintf(stderr, "symfs status: one DIR at most; try: symfs status --help\n");
		return EXIT_USAGE;
	}
	only = argc == 2 ? path_absolute(argv[1]) : NULL;
	s.only = only;
	s.json = args.json;
	if (s.json)
		s.list = json_object_new_array();
	mounts_each(show_mount, &s);
	if (s.seen == 0) {
		fprintf(stderr, "symfs status: %s\n",
			only ? "not a symfs mount" : "no symfs is mounted");
		s.status = EXIT_NO;
	}
	if (s.json && json_print(s.list) != EXIT_DONE)
		return EXIT_LOCAL;
	return s.status;
}

const struct cmd cmd_status = {
	.name = "status",
	.args = "[--json] [DIR]",
	.help = "Shows what a mount is doing: downloads under way, sources, counters. Without\n"
		"DIR, every symfs mount",
	.run = run_status,
};
