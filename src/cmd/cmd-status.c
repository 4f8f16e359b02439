/* symfs status: prints what mounts are doing, as their .symfs files report it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mounts.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/no-source.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ASK_MS 2000	    /* for all mounts, which are asked at once; as long again for the way to DIR */
#define FILE_MOST (4 << 20) /* bytes of one file */
#define MOUNTS_MOST 64
#define POINTS_MOST 16384 /* bytes of a mount point, escaped */

enum { VERSION, STATS, DOWNLOADS, SOURCES, FILES };
static const char *const names[FILES] = {"version", "stats", "downloads", "sources"};

/* For each file, in the order of `names`, the child writes one of these letters, the bytes of the file and a NUL. */
#define READ 'r'
#define DENIED 'd'
#define HIDDEN 'h' /* the letter is the whole answer: another mount covers this mount */

struct mount {
	char *point;
	int id;
};

struct statuses {
	const char *only; /* the only mount to show; NULL: all mounts of root and of the caller */
	struct json *json; /* NULL: text */
	bool verbose;
	unsigned n, more; /* the mounts that are asked; the number of further mounts, beyond MOUNTS_MOST */
	unsigned seen;	  /* the number of mounts that the caller may read */
	struct mount mounts[MOUNTS_MOST];
	struct ask asks[MOUNTS_MOST]; /* the answers of `mounts` */
	int status;
};

/* ---- asking ------------------------------------------------------------------------------ */

static int add_file(int root, const char *name, struct buf *out)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), ".symfs/%s", name);
	r = path_read(root, path, FILE_MOST, &text, NULL);
	if (r < 0 && r != -EACCES && r != -ENOENT) /* a daemon of an earlier version has no downloads */
		return r;
	return buf_addf(out, "%c%s%c", r == 0 ? READ : DENIED, r == 0 ? text : "", '\0');
}

/* Opens the root of a mount. 0: it is open. Otherwise returns the letter that is the whole answer: HIDDEN, DENIED,
 * or READ for another error, such as that of a mount whose daemon is gone. READ alone is an incomplete answer. */
static char open_root(const struct mount *m, int *out)
{
	_cleanup_close_ int fd = open(m->point, O_PATH | O_CLOEXEC);
	int id = fd >= 0 ? mounts_id_of(fd) : -1; /* -1 on Linux before 5.8 */

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? HIDDEN : errno == EACCES ? DENIED : READ;
	if (id >= 0 && id != m->id)
		return HIDDEN;
	*out = take_fd(&fd);
	return 0;
}

/* Runs in the child, and writes the answer to the pipe. If a file cannot be read, the answer ends before it. */
static void child_write_files(void *ctx, int to)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(FILES * (FILE_MOST + 2));
	_cleanup_close_ int root = -1;
	char why = open_root(ctx, &root);

	if (why)
		buf_add(&out, &why, 1);
	for (int i = 0; root >= 0 && i < FILES; i++)
		if (add_file(root, names[i], &out) < 0)
			break;
	write_all(to, out.p, out.n);
}

static int ask_mount(void *ctx, const struct mount_row *m)
{
	struct statuses *s = ctx;
	struct mount *to;
	int r;

	if (strncmp(m->type, "fuse.symfs", 10) != 0 ||
		(s->only ? strcmp(s->only, m->point) != 0 : !mount_is_trusted(m)))
		return 0;
	if (s->n == MOUNTS_MOST) {
		s->more++;
		return 0;
	}
	to = &s->mounts[s->n];
	*to = (struct mount){strdup(m->point), m->id};
	s->asks[s->n] = (struct ask){.text = BUF_UP_TO(FILES * (FILE_MOST + 2) + 1)};
	r = to->point ? ask_start(&s->asks[s->n], child_write_files, to) : -ENOMEM;
	if (r < 0) {
		free(to->point);
		return r;
	}
	s->n++;
	return 0;
}

/* ---- printing ---------------------------------------------------------------------------- */

/* Calls `each` for each line of a mount's text, which may be NULL. `each` makes what it prints safe to show: the text
 * can contain control sequences of terminals. */
static void each_line(char *text, void (*each)(void *ctx, char *line), void *ctx)
{
	char *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
		each(ctx, line);
}

/* Adds a member for a line "name value". */
static void add_stat(void *j, char *line)
{
	char *blank = strchr(line, ' ');

	if (!blank)
		return;
	*blank = '\0';
	json_number(j, line, strtoll(blank + 1, NULL, 10));
}

#define FIELDS 8

static void add_number(struct json *j, const char *name, const char *text)
{
	if (*text)
		json_number(j, name, strtoll(text, NULL, 10));
	else
		json_null(j, name);
}

/* The percentage of the file that was received; -1: unknown. */
static int per_cent(char *const f[static FIELDS])
{
	uint64_t have = strtoull(f[3], NULL, 10), size = strtoull(f[4], NULL, 10);

	return size && have <= size ? (int)((double)have * 100 / (double)size) : -1;
}

/* Adds an array of the waiting processes. `text` has the form "1234 gdb,99 lldb". */
static void add_waiting(struct json *j, char *text)
{
	char *save = NULL;

	json_begin_array(j, "waiting");
	for (char *one = strtok_r(text, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		char *blank = strchr(one, ' ');

		json_begin_object(j, NULL);
		json_number(j, "pid", strtol(one, NULL, 10));
		json_text(j, "program", blank ? blank + 1 : NULL);
		json_end(j);
	}
	json_end(j);
}

static void add_download(void *ctx, char *line)
{
	struct json *j = ctx;
	char *f[FIELDS];

	text_fields(line, f, FIELDS);
	json_begin_object(j, NULL);
	json_text(j, "key", f[0]);
	json_text(j, "state", f[1]);
	json_text(j, "source", f[2]);
	add_number(j, "bytes", f[3]);
	add_number(j, "size", f[4]);
	if (per_cent(f) >= 0)
		json_number(j, "percent", per_cent(f));
	else
		json_null(j, "percent");
	add_number(j, "bytes_per_second", f[5]);
	add_number(j, "ms", f[6]);
	add_waiting(j, f[7]);
	json_end(j);
}

/* Adds an object for a source. `line` has the form "NUMBER\tNAME\tKIND\tLAYOUT\tWHERE\tSTATE". */
static void add_source(void *ctx, char *line)
{
	static const char *const members[] = {"name", "type", "layout", "where", "state"};
	struct json *j = ctx;
	char *f[FIELDS];

	text_fields(line, f, FIELDS);
	json_begin_object(j, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(members); i++)
		json_text(j, members[i], f[i + 1]);
	json_end(j);
}

/* Adds an array with an element for each line of `text`, or null if `text` is NULL: the caller may not read it. */
static void add_lines(struct json *j, const char *name, char *text, void (*add)(void *j, char *line))
{
	if (!text) {
		json_null(j, name);
		return;
	}
	json_begin_array(j, name);
	each_line(text, add, j);
	json_end(j);
}

static void add_json(struct json *j, const char *point, char *texts[FILES])
{
	json_begin_object(j, NULL);
	json_text(j, "mount", point);
	json_text(j, "version", texts[VERSION]);
	json_begin_object(j, "stats");
	each_line(texts[STATS], add_stat, j);
	json_end(j);
	add_lines(j, "activity", texts[DOWNLOADS], add_download);
	add_lines(j, "sources", texts[SOURCES], add_source);
	json_end(j);
}

/* Prints the line of a source on a terminal: columns, and the state in its colour. */
static void print_source(void *ctx, char *line)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(64 << 10), where = BUF_UP_TO(64 << 10), state = BUF_UP_TO(64 << 10);
	char *f[FIELDS];

	text_fields(line, f, FIELDS);
	printf("%2ld. %-30s %s%s%s\n", strtol(f[0], NULL, 10), text_shown(f[1], true, &name), paint_word(f[5]),
		text_shown(f[5], true, &state), paint(PAINT_END));
	/* Most names have the place in them. */
	if (!strstr(f[1], f[4]))
		printf("    %s\n", text_shown(f[4], true, &where));
}

/* Prints a counter on a terminal, three in a line, unless it is 0. `ctx` counts those that were printed. */
static void print_counter(void *ctx, char *line)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	char *value = strchr(line, ' ');
	unsigned *n = ctx;

	if (!value || strcmp(value, " 0") == 0 || strncmp(line, "mounted ", 8) == 0)
		return;
	*value++ = '\0';
	printf("%-15s %8s%s", text_shown(line, true, &room), value + strspn(value, " "), ++*n % 3 ? "   " : "\n");
}

/* Prints a line. Tabs separate its fields, and are not escaped. */
static void print_fields(void *ctx, char *line)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);

	for (const char *field = strsep(&line, "\t"); field; field = strsep(&line, "\t"))
		printf("%s%c", text_shown(field, true, &room), line ? '\t' : '\n');
}

static void print_lines(const char *head, char *text, const char *none,
	void (*print)(void *ctx, char *line))
{
	printf("\n%s%s%s:\n", paint(PAINT_HEAD), head, paint(PAINT_END));
	if (!text || !*text)
		printf("%s\n", text ? none : "only the mount's owner may read this");
	each_line(text, print, NULL);
}

/* Prints "  elf_debug ID: receiving from debian, 43 % of 28.1 MB, 3.2 MB/s, 12 s, for gdb (1234)". */
static void print_download(void *ctx, char *line)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);
	char *f[FIELDS], *save = NULL;
	const char *before = ", for ";

	text_fields(line, f, FIELDS);
	printf("  %s: ", text_shown(f[0], true, &room));
	printf("%s", text_shown(f[1], true, &room));
	if (*f[2])
		printf(" from %s", text_shown(f[2], true, &room));
	if (per_cent(f) >= 0)
		printf(", %d %% of %.1f MB", per_cent(f), strtod(f[4], NULL) / 1e6);
	else if (strtod(f[3], NULL) > 0)
		printf(", %.1f MB", strtod(f[3], NULL) / 1e6);
	if (*f[5])
		printf(", %.1f MB/s", strtod(f[5], NULL) / 1e6);
	printf(", %.0f s", strtod(f[6], NULL) / 1e3);
	for (char *one = strtok_r(f[7], ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		char *blank = strchr(one, ' ');

		printf("%s%s (%ld)", before, blank ? text_shown(blank + 1, true, &room) : "?", strtol(one, NULL, 10));
		before = ", ";
	}
	printf("\n");
}

/* The value of a counter in lines "NAME VALUE". */
static uint64_t counter(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
		if (strncmp(line, name, n) == 0 && line[n] == ' ')
			return strtoull(line + n, NULL, 10);
	return 0;
}

/* Prints a source whose state is an error. */
static void print_trouble(void *ctx, char *line)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(64 << 10), state = BUF_UP_TO(64 << 10);
	char *f[FIELDS];

	text_fields(line, f, FIELDS);
	if (strcmp(f[5], "ok") == 0 || strncmp(f[5], "there", 5) == 0 || strncmp(f[5], "being walked", 12) == 0)
		return;
	printf("  %s: %s%s%s\n", text_shown(f[1], true, &name), paint_word(f[5]), text_shown(f[5], true, &state),
		paint(PAINT_END));
}

/* Prints what the mount did so far and does now: a line, one for each download and for each source that fails. */
static void print_brief(char *texts[FILES])
{
	uint64_t hits = counter(texts[STATS], "hits"), misses = counter(texts[STATS], "misses");
	unsigned n = 0;

	for (const char *c = texts[DOWNLOADS]; c && (c = strchr(c, '\n')); c++)
		n++;
	printf(", %" PRIu64 " hit%s, %" PRIu64 " fetched, %" PRIu64 " miss%s, ", hits, PLURAL(hits),
		counter(texts[STATS], "published"), misses, misses == 1 ? "" : "es");
	if (texts[DOWNLOADS])
		printf("%u download%s\n", n, PLURAL(n));
	else
		printf("only the mount's owner sees downloads\n");
	each_line(texts[DOWNLOADS], print_download, NULL);
	each_line(texts[SOURCES], print_trouble, NULL);
}

/* Whether no source of a table can answer. Its lines have the form "NUMBER\tNAME\tKIND\tLAYOUT\tWHERE\tSTATE". */
static bool no_source_in(const char *table)
{
	bool any = false;

	for (const char *line = table; *line && !any; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
		_cleanup_free_ char *copy = strndup(line, strcspn(line, "\n"));
		const char *state = copy ? strrchr(copy, '\t') : NULL;

		any = state && strcmp(state + 1, err_text(ENOENT)) != 0 && strcmp(state + 1, err_text(ENOTDIR)) != 0;
	}
	return !any;
}

static void print_text(const struct statuses *s, const char *shown, char *texts[FILES])
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	bool silent = no_source_in(texts[SOURCES]);
	unsigned n = 0;

	printf("%s%s%s: %s", paint(PAINT_HEAD), shown, paint(PAINT_END), text_shown(texts[VERSION], true, &room));
	if (s->verbose) {
		printf("\n");
		print_lines("under way", texts[DOWNLOADS], "nothing", print_download);
		print_lines("sources", texts[SOURCES], "none", paint_terminal() ? print_source : print_fields);
	} else {
		print_brief(texts);
	}
	if (silent)
		printf("no source can answer, so only stored files are found; " NO_SOURCE_ADVICE "\n");
	if (!s->verbose)
		return;
	if (!paint_terminal()) {
		print_lines("counters", texts[STATS], "none", print_fields);
		return;
	}
	printf("\n%scounters%s:\n", paint(PAINT_HEAD), paint(PAINT_END));
	each_line(texts[STATS], print_counter, &n);
	printf("%s", n % 3 ? "\n" : "");
}

/* Splits the answer into texts that point into the buffer. The text of DOWNLOADS may be NULL. False: the answer
 * is incomplete. */
static bool split_texts(struct buf *text, char *texts[FILES])
{
	size_t at = 0;

	for (int i = 0; i < FILES; i++) {
		const char *end = at < text->n ? memchr(text->p + at, '\0', text->n - at) : NULL;

		if (!end || (text->p[at] != READ && (i != DOWNLOADS || text->p[at] != DENIED)))
			return false;
		texts[i] = text->p[at] == READ ? text->p + at + 1 : NULL;
		at = (size_t)(end - text->p) + 1;
	}
	texts[VERSION][strcspn(texts[VERSION], "\n")] = '\0';
	return true;
}

static void show_mount(struct statuses *s, const struct mount *m, struct ask *a)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(POINTS_MOST);
	const char *shown = text_shown(m->point, true, &room);
	bool denied = a->text.n && a->text.p[0] == DENIED; /* only the owner may enter a mount without allow_other */
	char *texts[FILES];

	if ((denied && !s->only) || (a->text.n && a->text.p[0] == HIDDEN))
		return;
	s->seen++;
	if (!a->over) {
		s->status = cmd_say(EXIT_LOCAL, "%s: no answer in %d s; its daemon is stopped or hangs; "
			"`symfs umount` detaches it", shown, ASK_MS / 1000);
	} else if (denied) {
		s->status = cmd_say(EXIT_UNASKED, "%s: only its owner may read it; mount with -o allow_other for "
			"other users", shown);
	} else if (!split_texts(&a->text, texts)) {
		cmd_say(0, "%s does not answer: is its daemon gone?", shown);
		if (s->status == EXIT_DONE)
			s->status = EXIT_UNASKED;
	} else if (s->json) {
		add_json(s->json, m->point, texts);
	} else {
		print_text(s, shown, texts);
	}
}

/* ---- the command ------------------------------------------------------------------------- */

/* Writes the resolved path of the mount point. Runs in the child, because a mount on the way to it can hang, too. */
static void child_write_point(void *ctx, int to)
{
	_cleanup_free_ char *point = NULL;

	if (fs_point(ctx, &point) == 0 && write(to, point, strlen(point)) < 0)
		return;
}

/* The mount point that `s->only` leads to through links. NULL: there is no such mount, or no answer in time. */
static char *find_point(const struct statuses *s)
{
	struct ask a = {.text = BUF_UP_TO(2 * PATH_MAX)};
	char *found = NULL;

	if (ask_start(&a, child_write_point, (void *)(uintptr_t)s->only) == 0) {
		ask_wait(&a, 1, ASK_MS);
		found = a.text.n ? strdup(buf_text(&a.text)) : NULL;
	}
	buf_release(&a.text);
	return found;
}

static int ask_all(struct statuses *s)
{
	_cleanup_free_ char *point = NULL;
	const char *only = s->only;
	int r = mounts_each(ask_mount, s);

	if (r < 0 || s->n || !only || !(point = find_point(s)))
		return r;
	s->only = point;
	r = mounts_each(ask_mount, s);
	s->only = only;
	return r;
}

static int show_all(struct statuses *s)
{
	int r = ask_all(s);

	if (r < 0)
		s->status = cmd_say(EXIT_LOCAL, "cannot ask all mounts: %s", err_text(r));
	ask_wait(s->asks, s->n, ASK_MS);
	for (unsigned i = 0; i < s->n; i++) {
		show_mount(s, &s->mounts[i], &s->asks[i]);
		buf_release(&s->asks[i].text);
		free(s->mounts[i].point);
	}
	if (s->more)
		cmd_say(0, "%u more mounts; name one to ask it", s->more);
	if (s->seen == 0 && s->status == EXIT_DONE)
		s->status = cmd_say(EXIT_NO, "%s%s", s->only ? s->only : "",
			s->only ? ": no symfs is mounted there" : "no symfs is mounted");
	return s->status;
}

/* Shows all mounts again each second, until a signal ends the process or no mount answers. */
static int watch_all(struct statuses *s)
{
	const struct timespec second = {.tv_sec = 1};
	const struct statuses fresh = {.only = s->only, .verbose = s->verbose};
	int status;

	for (;;) {
		*s = fresh;
		if (paint_terminal())
			printf("\033[H\033[2J");
		status = show_all(s);
		if (fflush(stdout) != 0)
			return EXIT_LOCAL;
		if (s->seen == 0)
			return status;
		nanosleep(&second, NULL);
		printf("\n");
	}
}

static int run_status(int argc, char **argv)
{
	_cleanup_free_ struct statuses *s = calloc(1, sizeof(*s));
	bool watch = false, verbose = false;
	const struct opt own[] = {{"watch", 'w', NULL, "renew the output each second", &watch},
		{"verbose", 'v', NULL, "print all sources and counters, too", &verbose}, {0}};
	_cleanup_free_ char *only = NULL;
	struct app_args args;
	struct json j;
	int status = app_options(&args, &cmd_status, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc > 2 || (watch && args.json))
		return cmd_usage("%s", argc > 2 ? "expected at most one DIR" : "--watch prints no JSON");
	if (argc == 2 && strstr(argv[1], "://"))
		return cmd_usage("expected the DIR of a mount; `symfs sources check --source URL` asks whether a "
			"server answers, `curl URL/metrics` what it has done; its page is URL/status");
	only = argc == 2 ? path_absolute(argv[1]) : NULL;
	if (!s || (argc == 2 && !only))
		return cmd_say(EXIT_LOCAL, "out of memory");
	s->only = only;
	s->verbose = verbose;
	if (watch)
		return watch_all(s);
	json_init(&j, false);
	json_begin_array(&j, NULL);
	s->json = args.json ? &j : NULL;
	status = show_all(s);
	return json_finish(&j, args.json, status);
}

const struct cmd cmd_status = {
	.name = "status",
	.args = "[--watch] [--verbose] [--json] [DIR]",
	.help = "Shows what a mount is doing in a line: hits, misses, downloads; below it each\n"
		"download with the programs that wait, and each source that fails. Without DIR,\n"
		"it shows every symfs mount of this user and of root",
	.examples = {"symfs status",
		"symfs status --json ~/symbols"},
	.json = true,
	.run = run_status,
};
