/* The configuration, and the files with which clients ask the mount: written, recorded, and taken back. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/setup/setup.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MOST (1u << 20)
#define SYSTEM_CONF SYSCONFDIR "/symfs/symfs.conf"
#define HEAD "# Written by `symfs setup`; `symfs setup --undo` removes it.\n"
#define BEGIN "# symfs setup: begin; `symfs setup --undo` removes these lines\n"
#define END "# symfs setup: end\n"

/* ---- the places ---------------------------------------------------------------------- */

/* WHOLE: the file is symfs's. BLOCK: some lines of the user's file. VALUE: a file with one short line. */
enum how { WHOLE, BLOCK, VALUE };

static const char *const begins[] = {HEAD, BEGIN, ""}, *const ends[] = {"", END, ""};

#define GDB_SET "set debug-file-directory "
/* gdb: the directory comes before those that the file names already. */
#define GDB_TEXT GDB_SET "@:!\nset debuginfod enabled on\n"
#define VARIABLE_TEXT "DEBUGINFOD_URLS=file://@/debuginfod\n"
#define SHELL_TEXT "DEBUGINFOD_URLS='file://@/debuginfod'; export DEBUGINFOD_URLS\n"
#define DELVE_KEY "debug-info-directories:"
/* debuginfod's client remembers a file as missing for 10 minutes, also after an error. symfs remembers only misses
 * that a server answered. */
#define MISSES_TEXT "0\n"

/* The places for a user are below a directory: c config, h home, k cache. Of several, one that exists is taken, else
 * the last. In the text, @ is the mount, and ! the directories that a file of gdb names. */
static const struct place {
	const char *client;
	enum how how;
	const char *paths[3];
	const char *text;
	const char *unless; /* a line of the user that begins with it excludes the text */
} user_places[] = {
	{"programs of the desktop and of systemd", WHOLE, {"c/environment.d/60-symfs.conf"}, VARIABLE_TEXT, NULL},
	{"login shells", BLOCK, {"h/.bash_profile", "h/.bash_login", "h/.profile"}, SHELL_TEXT, NULL},
	{"gdb", BLOCK, {"c/gdb/gdbinit", "h/.gdbinit"}, GDB_TEXT, NULL},
	{"lldb", BLOCK, {"h/.lldbinit"}, "settings append target.debug-file-search-paths @\n", NULL},
	{"Delve", BLOCK, {"c/dlv/config.yml"}, DELVE_KEY " [\"@/gdb/.build-id\", \"/usr/lib/debug/.build-id\"]\n",
		DELVE_KEY},
	{"debuginfod's client", VALUE, {"k/debuginfod_client/cache_miss_s"}, MISSES_TEXT, NULL},
}, system_places[] = {
	{"programs of the desktop and of systemd", WHOLE, {"/etc/environment.d/60-symfs.conf"}, VARIABLE_TEXT, NULL},
	{"login shells", WHOLE, {"/etc/profile.d/symfs.sh"}, SHELL_TEXT, NULL},
	{"gdb", WHOLE, {"/etc/gdb/gdbinit.d/symfs.gdb"}, GDB_TEXT, NULL},
};

/* What follows `begin` in the last line that begins with it. NULL: there is none. */
static const char *last_line(const char *text, const char *begin)
{
	const char *found = NULL;

	for (const char *at = text; (at = strstr(at, begin)); at += strlen(begin))
		if (at == text || at[-1] == '\n')
			found = at + strlen(begin);
	return found;
}

/* The text is made for what the user wrote, `rest`. */
static void make_text(const struct setup *s, const struct place *p, const char *rest, struct buf *out)
{
	const char *dirs = last_line(rest, GDB_SET);

	dirs = dirs ? dirs : "/usr/lib/debug";
	for (const char *c = p->text; *c; c++)
		if (*c == '!')
			buf_add(out, dirs, strcspn(dirs, "\r\n"));
		else if (*c == '@')
			buf_adds(out, s->mount);
		else
			buf_add(out, c, 1);
}

/* The place's path, or that of the file which a link there leads to; free() it. NULL: out of memory. */
static char *path_of(const struct setup *s, const struct place *p)
{
	char *path = NULL, *target;

	for (unsigned i = 0; i < ARRAY_SIZE(p->paths) && p->paths[i]; i++) {
		const char *rest = p->paths[i], *dir = *rest == 'c' ? s->config : *rest == 'h' ? s->home : s->cache;

		free(path);
		if (asprintf(&path, "%s%s", *rest == '/' ? "" : dir, *rest == '/' ? rest : rest + 1) < 0)
			return NULL;
		if (access(path, F_OK) == 0)
			break;
	}
	target = realpath(path, NULL);
	if (!target)
		return path;
	free(path);
	return target;
}

/* ---- the record ---------------------------------------------------------------------- */

/* The beginning of the record's line for a path. NULL: there is none. */
static char *find_record(const struct setup *s, const char *path)
{
	size_t n = strlen(path);

	for (char *line = s->written.p, *end; line && *line; line = end + 1) {
		end = strchrnul(line, '\n');
		if ((size_t)(end - line) > n + 1 && end[-(ptrdiff_t)n - 1] == '\t' && memcmp(end - n, path, n) == 0)
			return line;
		if (!*end)
			break;
	}
	return NULL;
}

static bool has_sum(const char *line, const char *text)
{
	const char *tab = line ? strchr(line, '\t') : NULL;
	char sum[65];

	sha256_text(text, strlen(text), sum);
	return tab && strncmp(tab + 1, sum, 64) == 0;
}

void setup_add_record(struct setup *s, const char *kind, const char *sum, const char *path)
{
	char *line = find_record(s, path), *end = line ? strchrnul(line, '\n') : NULL;

	if (line) {
		end += *end == '\n';
		memmove(line, end, strlen(end) + 1);
		s->written.n -= (size_t)(end - line);
	}
	buf_addf(&s->written, "%s\t%s\t%s\n", kind, sum, path);
}

/* Adds a file that was written whole. */
static void record_file(struct setup *s, const char *path)
{
	_cleanup_free_ char *text = NULL;
	char sum[65];

	if (path_read(AT_FDCWD, path, FILE_MOST, &text, NULL) < 0)
		return;
	sha256_text(text, strlen(text), sum);
	setup_add_record(s, "file", sum, path);
}

int setup_read_record(struct setup *s)
{
	_cleanup_free_ char *text = NULL;
	int r = path_read(AT_FDCWD, s->record, FILE_MOST, &text, NULL);

	return r == 0 ? buf_adds(&s->written, text) : r == -ENOENT ? 0 : r;
}

/* Makes a directory and its parents, and records those that were not there. 0, -errno. */
static int make_dirs(struct setup *s, const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	int r = copy ? 0 : -ENOMEM;

	for (char *slash = copy; r == 0 && slash;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(copy, s->system ? 0755 : 0700) == 0)
			setup_add_record(s, "directory", "", copy);
		else if (errno != EEXIST && errno != EISDIR)
			r = -errno;
		if (slash)
			*slash = '/';
	}
	return r;
}

/* ---- write --------------------------------------------------------------------------- */

static void kept(const char *path, const char *client, const char *why, const char *text)
{
	printf("kept     %s: %s%s%s", path, why, text ? "; for " : "\n", text ? client : "");
	if (text)
		printf(" it should have:\n\t%s", text);
}

static void fail_at(struct setup *s, const char *path, int r)
{
	printf("failed   %s: %s\n", path, err_text(r));
	s->failed = true;
}

/* Replaces the content, keeps the mode, and says so. */
static int put(struct setup *s, const char *path, const char *client, const char *content)
{
	struct buf text = {.p = (char *)(uintptr_t)content, .n = strlen(content)};
	_cleanup_free_ char *dir = strdup(path);
	struct stat st = {.st_mode = s->system ? 0644 : 0600};
	int r = dir ? 0 : -ENOMEM;

	printf("%s %s (%s)\n", s->dry ? "to write" : "wrote   ", path, client);
	if (s->dry)
		return -ECANCELED; /* nothing is recorded */
	if (r == 0) {
		*strrchr(dir, '/') = '\0';
		r = make_dirs(s, dir[0] ? dir : "/");
	}
	if (r == 0 && stat(path, &st) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0)
		r = path_replace(path, st.st_mode & 07777, path_fill_buf, &text);
	if (r < 0)
		fail_at(s, path, r);
	return r;
}

/* The part of a file that is symfs's: the whole file, or the lines of the block. NULL: there is none. */
static char *own_part(char *text, bool block, size_t *n)
{
	char *begin = text && block ? strstr(text, BEGIN) : text, *end = begin && block ? strstr(begin, END) : NULL;

	*n = end ? (size_t)(end - begin) + strlen(END) : begin ? strlen(begin) : 0;
	return block && !end ? NULL : begin;
}

/* Why a file stays as it is. `had`: the part that is symfs's. NULL: it can be written. */
static const char *why_kept(const struct place *p, const char *line, const char *had, const char *before)
{
	if (p->how == VALUE)
		return line ? "it was changed since" : had && strcspn(had, "\t\r\n") + 1 < strlen(had)
			? "it has more than one line" : NULL;
	if (had && !has_sum(line, had))
		return p->how == BLOCK ? "the lines of symfs setup were changed"
			: line ? "it was changed since" : "it is not from symfs setup";
	return *before && before[strlen(before) - 1] != '\n' ? "the last line has no end" : NULL;
}

static void write_place(struct setup *s, const struct place *p)
{
	_cleanup_buf_ struct buf rest = BUF_UP_TO(FILE_MOST), text = BUF_UP_TO(FILE_MOST);
	_cleanup_buf_ struct buf own = BUF_UP_TO(FILE_MOST), all = BUF_UP_TO(2 * FILE_MOST);
	_cleanup_free_ char *path = path_of(s, p), *old = NULL, *had = NULL;
	int r = path ? path_read(AT_FDCWD, path, FILE_MOST, &old, NULL) : -ENOMEM;
	const char *line, *why, *tail, *kind;
	char *have, sum[65];
	size_t n;

	have = own_part(old, p->how == BLOCK, &n);
	had = have ? strndup(have, n) : NULL;
	if (have && !had)
		r = -ENOMEM;
	if (r < 0 && r != -ENOENT) {
		fail_at(s, path ? path : p->client, r);
		return;
	}
	tail = have ? have + n : "";
	buf_add(&all, old, (size_t)(have ? have - old : old ? (ptrdiff_t)strlen(old) : 0));
	buf_addf(&rest, "%s%s", buf_text(&all), tail);
	if (p->unless && last_line(buf_text(&rest), p->unless)) {
		kept(path, p->client, "it names directories already", NULL);
		return;
	}
	make_text(s, p, buf_text(&rest), &text);
	buf_addf(&own, "%s%s%s", begins[p->how], buf_text(&text), ends[p->how]);
	if (had && strcmp(had, buf_text(&own)) == 0) {
		printf("there    %s (%s)\n", path, p->client);
		return;
	}
	line = find_record(s, path);
	why = why_kept(p, line, had, buf_text(&all));
	if (why) {
		kept(path, p->client, why, buf_text(&text));
		return;
	}
	buf_addf(&all, "%s%s", buf_text(&own), tail);
	kind = p->how == WHOLE ? "file" : p->how == VALUE ? had && strchr(had, '\n') ? "value line" : "value"
		: !old || (line && *line == 'n') ? "new block" : "block";
	if (put(s, path, p->client, buf_text(&all)) < 0)
		return;
	sha256_text(buf_text(&own), strlen(buf_text(&own)), sum);
	if (had && p->how == VALUE)
		had[strcspn(had, "\t\r\n")] = '\0';
	setup_add_record(s, kind, p->how != VALUE ? sum : had ? had : "", path);
}

/* ---- the configuration --------------------------------------------------------------- */

/* Writes a first configuration, unless one exists. The daemon of all users reads it as the group symfs. */
static void write_conf(struct setup *s)
{
	_cleanup_free_ char *own = NULL, *dir = NULL;
	const char *path;
	char *argv[] = {(char[]){"init"}, (char[]){"-o"}, NULL, NULL};
	const struct group *group;
	char *slash;

	if (!s->system && asprintf(&own, "%s/symfs/symfs.conf", s->config) < 0)
		return;
	path = s->system ? SYSTEM_CONF : own;
	if (access(path, F_OK) == 0) {
		printf("there    %s\n", path);
		return;
	}
	if (s->dry) {
		printf("to write %s (symfs init)\n", path);
		return;
	}
	dir = strdup(path);
	slash = dir ? strrchr(dir, '/') : NULL;
	if (slash)
		*slash = '\0';
	argv[2] = (char *)path;
	if (!slash || make_dirs(s, dir) < 0 || cmd_init.run(3, argv) != EXIT_DONE) {
		printf("failed   %s\n", path);
		s->failed = true;
		return;
	}
	group = s->system ? getgrnam("symfs") : NULL;
	if (group && (chown(path, (uid_t)-1, group->gr_gid) < 0 || chmod(path, 0640) < 0))
		s->failed = true;
	record_file(s, path);
}

/* ---- writing -------------------------------------------------------------------------- */

void setup_write_files(struct setup *s)
{
	const struct place *list = s->system ? system_places : user_places;
	size_t n = s->system ? ARRAY_SIZE(system_places) : ARRAY_SIZE(user_places);
	_cleanup_free_ char *dir = strdup(s->record);

	if (!s->dry && dir) {
		*strrchr(dir, '/') = '\0';
		if (make_dirs(s, dir) < 0)
			printf("failed   %s\n", dir);
	}
	write_conf(s);
	for (size_t i = 0; i < n; i++)
		write_place(s, &list[i]);
	if (s->system)
		printf("by hand  lldb and Delve have no file for all users; each user runs:\n"
		       "\tsymfs setup --user --mount %s\n", s->mount);
}

/* ---- undo ---------------------------------------------------------------------------- */

/* Takes back one line of the record, "KIND\tSUM\tPATH". */
static int undo_line(struct setup *s, const char *line, const char *text, const char *path)
{
	_cleanup_free_ char *old = NULL, *had = NULL;
	_cleanup_buf_ struct buf rest = BUF_UP_TO(FILE_MOST);
	bool block = *line == 'b' || *line == 'n', value = *line == 'v';
	char *have;
	size_t n;
	int r;

	if (*line == 'd')
		return s->dry || rmdir(path) == 0 || errno == ENOTEMPTY || errno == ENOENT ? 0 : -errno;
	r = path_read(AT_FDCWD, path, FILE_MOST, &old, NULL);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	have = own_part(old, block, &n);
	had = strndup(have ? have : "", n);
	if (!had)
		return -ENOMEM;
	if (value ? strcmp(old, MISSES_TEXT) != 0 : !has_sum(line, had)) {
		kept(path, "", !block ? "it was changed since" : have ? "the lines of symfs setup were changed"
			: "the lines of symfs setup are gone", NULL);
		return 0;
	}
	if (block)
		buf_addf(&rest, "%.*s%s", (int)(have - old), old, have + n);
	else if (value && *text)
		buf_addf(&rest, "%s%s", text, line[5] == ' ' ? "\n" : "");
	if (rest.n || *line == 'b')
		return put(s, path, "as it was", buf_text(&rest));
	printf("%s %s\n", s->dry ? "to remove" : "removed ", path);
	return s->dry || unlink(path) == 0 ? 0 : -errno;
}

void setup_undo_files(struct setup *s)
{
	_cleanup_buf_ struct buf left = BUF_UP_TO(FILE_MOST);

	while (s->written.n) {
		char *end = s->written.p + s->written.n - 1, *line, *text, *path;
		int r;

		*end = '\0';
		line = memrchr(s->written.p, '\n', s->written.n - 1);
		line = line ? line + 1 : s->written.p;
		s->written.n = (size_t)(line - s->written.p);
		text = strchr(line, '\t');
		path = text ? strchr(text + 1, '\t') : NULL;
		if (!path || strncmp(line, "unit", 4) == 0)
			continue;
		*path++ = '\0';
		r = undo_line(s, line, text + 1, path);
		if (r < 0 && r != -ECANCELED) {
			fail_at(s, path, r);
			buf_addf(&left, "%s\t%s\n", line, path);
		}
	}
	buf_adds(&s->written, buf_text(&left));
}
