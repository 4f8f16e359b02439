/* symfs status: what mounts are doing, read from their .symfs files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "cmd/json.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define ASK_MS 2000	    /* all mounts are asked at once */
#define FILE_MOST (4 << 20) /* of one file */
#define MOUNTS_MOST 64
#define POINTS_MOST 16384 /* bytes of a mount point, escaped */

enum { VERSION, STATS, ACTIVITY, SOURCES, FILES };
static const char *const names[FILES] = {"version", "stats", "activity", "sources"};

/* What the child writes for each file, in the order of `names`: a letter, the bytes, a NUL. */
#define READ 'r'
#define DENIED 'd'

struct mount {
	char *point;
	struct ask ask;
};

struct statuses {
	const char *only; /* this mount; NULL: all of root and of the caller */
	bool json;
	struct json_object *list;
	unsigned n, more; /* those that are asked, and those beyond MOUNTS_MOST */
	unsigned seen;	  /* those that the caller may look at */
	struct mount mounts[MOUNTS_MOST];
	int status;
};

/* ---- asking ------------------------------------------------------------------------------ */

static int add_file(const char *point, const char *name, struct buf *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(8192);
	_cleanup_free_ char *text = NULL;
	int r = buf_addf(&path, "%s/.symfs/%s", point, name);

	if (r == 0)
		r = path_read(AT_FDCWD, buf_text(&path), FILE_MOST, &text, NULL);
	if (r < 0 && r != -EACCES)
		return r;
	r = buf_addf(out, "%c%s", r == 0 ? READ : DENIED, r == 0 ? text : "");
	return r < 0 ? r : buf_add(out, "", 1);
}

/* In the child. A file that cannot be read ends the text early. */
static void tell_files(void *ctx, int to)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(FILES * (FILE_MOST + 2));
	const char *point = ctx;

	for (int i = 0; i < FILES; i++)
		if (add_file(point, names[i], &out) < 0)
			break;
	for (size_t done = 0; done < out.n;) {
		ssize_t n = write(to, out.p + done, out.n - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
}

/* Another user's mount answers what that user likes, and never if that user likes. */
static bool is_trusted(const struct mount_row *m)
{
	const char *id = strstr(m->options, "user_id=");
	unsigned long uid = id ? strtoul(id + strlen("user_id="), NULL, 10) : 0;

	return id && (uid == 0 || uid == getuid());
}

static int ask_mount(void *ctx, const struct mount_row *m)
{
	struct statuses *s = ctx;
	struct mount *to;

	if (strncmp(m->type, "fuse.symfs", 10) != 0 ||
		(s->only ? strcmp(s->only, m->point) != 0 : !is_trusted(m)))
		return 0;
	if (s->n == MOUNTS_MOST) {
		s->more++;
		return 0;
	}
	to = &s->mounts[s->n];
	to->point = strdup(m->point);
	to->ask = (struct ask){.text = BUF_UP_TO(FILES * (FILE_MOST + 2) + 1)};
	if (!to->point || ask_start(&to->ask, tell_files, to->point) < 0) {
		free(to->point);
		return -ENOMEM;
	}
	s->n++;
	return 0;
}

static void wait_all(struct statuses *s)
{
	struct ask list[MOUNTS_MOST];

	for (unsigned i = 0; i < s->n; i++)
		list[i] = s->mounts[i].ask;
	ask_wait(list, s->n, clock_ms() + ASK_MS);
	for (unsigned i = 0; i < s->n; i++)
		s->mounts[i].ask = list[i];
}

/* ---- printing ---------------------------------------------------------------------------- */

/* "name value" lines become members. */
static struct json_object *stats_json(char *text)
{
	struct json_object *o = json_object_new_object();
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *blank = strchr(line, ' ');

		if (!blank)
			continue;
		*blank = '\0';
		json_add_number(o, text_shown(line, false, &room), strtoll(blank + 1, NULL, 10));
	}
	return o;
}

/* NULL, which prints as null: the caller may not read it. */
static struct json_object *lines_json(char *text)
{
	struct json_object *list = text ? json_object_new_array() : NULL;
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);
	char *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
		json_object_array_add(list, json_object_new_string(text_shown(line, false, &room)));
	return list;
}

static void add_json(struct statuses *s, const char *point, char *texts[FILES])
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "mount", point);
	json_add_text(o, "version", texts[VERSION]);
	json_object_object_add(o, "stats", stats_json(texts[STATS]));
	json_object_object_add(o, "activity", lines_json(texts[ACTIVITY]));
	json_object_object_add(o, "sources", lines_json(texts[SOURCES]));
	json_object_array_add(s->list, o);
}

/* A line at a time: what a mount says may hold the terminal's commands. */
static void print_lines(const char *head, char *text, const char *none)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);
	char *save = NULL;

	printf("\n%s:\n", head);
	if (!text || !*text)
		printf("%s\n", text ? none : "only the mount's owner may read this");
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
		printf("%s\n", text_shown(line, true, &room));
}

static void print_text(const char *shown, char *texts[FILES])
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);

	printf("%s: %s\n", shown, text_shown(texts[VERSION], true, &room));
	print_lines("under way", texts[ACTIVITY], "nothing");
	print_lines("sources", texts[SOURCES], "none");
	print_lines("counters", texts[STATS], "none");
}

/* The kernel lets only its owner into a mount without allow_other. */
static bool is_denied(const struct mount *m)
{
	return m->ask.text.n && m->ask.text.p[0] == DENIED;
}

/* The texts point into the buffer; that of ACTIVITY may be NULL. False: not all are there. */
static bool split(struct buf *text, char *texts[FILES])
{
	size_t at = 0;

	for (int i = 0; i < FILES; i++) {
		const char *end = at < text->n ? memchr(text->p + at, '\0', text->n - at) : NULL;

		if (!end || (text->p[at] != READ && (i != ACTIVITY || text->p[at] != DENIED)))
			return false;
		texts[i] = text->p[at] == READ ? text->p + at + 1 : NULL;
		at = (size_t)(end - text->p) + 1;
	}
	texts[VERSION][strcspn(texts[VERSION], "\n")] = '\0';
	return true;
}

static void show_mount(struct statuses *s, struct mount *m)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(POINTS_MOST);
	const char *shown = text_shown(m->point, true, &room);
	char *texts[FILES];

	if (is_denied(m) && !s->only)
		return;
	s->seen++;
	if (!m->ask.over) {
		fprintf(stderr,
			"symfs status: %s: no answer in %d s; its daemon is stopped or hangs; "
			"`symfs umount` detaches it\n",
			shown, ASK_MS / 1000);
		s->status = EXIT_LOCAL;
	} else if (is_denied(m)) {
		fprintf(stderr, "symfs status: %s: only its owner may look; mount with -o allow_other for others\n",
			shown);
		s->status = EXIT_UNASKED;
	} else if (!split(&m->ask.text, texts)) {
		fprintf(stderr, "symfs status: %s does not answer: is its daemon gone?\n", shown);
		if (s->status == EXIT_DONE)
			s->status = EXIT_UNASKED;
	} else if (s->json) {
		add_json(s, m->point, texts);
	} else {
		print_text(shown, texts);
	}
}

/* ---- the command ------------------------------------------------------------------------- */

static int show_all(struct statuses *s)
{
	int r = mounts_each(ask_mount, s);

	if (r < 0) {
		fprintf(stderr, "symfs status: cannot ask all mounts: %s\n", err_text(r));
		s->status = EXIT_LOCAL;
	}
	wait_all(s);
	for (unsigned i = 0; i < s->n; i++) {
		show_mount(s, &s->mounts[i]);
		buf_release(&s->mounts[i].ask.text);
		free(s->mounts[i].point);
	}
	if (s->more)
		fprintf(stderr, "symfs status: %u more mounts; name one to ask it\n", s->more);
	if (s->seen == 0 && s->status == EXIT_DONE) {
		fprintf(stderr, "symfs status: %s\n",
			s->only ? "not a symfs mount" : "no symfs is mounted");
		s->status = EXIT_NO;
	}
	if (s->json && json_print(s->list) != EXIT_DONE)
		return EXIT_LOCAL;
	return s->status;
}

static int run_status(int argc, char **argv)
{
	_cleanup_free_ struct statuses *s = calloc(1, sizeof(*s));
	_cleanup_free_ char *only = NULL;
	struct app_args args;
	int status = app_options(&args, &cmd_status, NULL, &argc, argv);

	if (status >= 0)
		return status;
	if (argc > 2) {
		fprintf(stderr, "symfs status: one DIR at most; try: symfs status --help\n");
		return EXIT_USAGE;
	}
	only = argc == 2 ? path_absolute(argv[1]) : NULL;
	if (!s || (argc == 2 && !only)) {
		fprintf(stderr, "symfs status: out of memory\n");
		return EXIT_LOCAL;
	}
	s->only = only;
	s->json = args.json;
	if (s->json)
		s->list = json_object_new_array();
	return show_all(s);
}

const struct cmd cmd_status = {
	.name = "status",
	.args = "[--json] [DIR]",
	.help = "Shows what a mount is doing: downloads under way, sources, counters. Without\n"
		"DIR, every symfs mount of yours and of root",
	.run = run_status,
};
