/* The files with which clients ask the mount: written, recorded, and taken back. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "base/write.h"
#include "cmd/setup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MOST (1u << 20)
#define HEAD "# Written by `symfs setup`; `symfs setup --undo` removes it.\n"
#define BEGIN "# symfs setup: begin; `symfs setup --undo` removes these lines\n"
#define END "# symfs setup: end\n"

/* ---- the texts ----------------------------------------------------------------------- */

static void text_of_variable(const struct setup *s, const char *old, struct buf *out)
{
	(void)old;
	buf_addf(out, "DEBUGINFOD_URLS=file://%s/debuginfod\n", s->mount);
}

static void text_of_shell(const struct setup *s, const char *old, struct buf *out)
{
	(void)old;
	buf_addf(out, "DEBUGINFOD_URLS='file://%s/debuginfod'; export DEBUGINFOD_URLS\n", s->mount);
}

/* The directory comes before those that the file names already. */
static void text_of_gdb(const struct setup *s, const char *old, struct buf *out)
{
	static const char set[] = "set debug-file-directory ";
	const char *dirs = "/usr/lib/debug", *line = old;

	while (line && (line = strstr(line, set))) {
		bool begins = line == old || line[-1] == '\n';

		line += strlen(set);
		if (begins)
			dirs = line;
	}
	buf_addf(out, "%s%s:%.*s\nset debuginfod enabled on\n", set, s->mount, (int)strcspn(dirs, "\r\n"),
		dirs);
}

static void text_of_lldb(const struct setup *s, const char *old, struct buf *out)
{
	(void)old;
	buf_addf(out, "settings append target.debug-file-search-paths %s\n", s->mount);
}

static void text_of_delve(const struct setup *s, const char *old, struct buf *out)
{
	static const char key[] = "\ndebug-info-directories:";

	if (!old || (!strstr(old, key) && strncmp(old, key + 1, strlen(key + 1)) != 0))
		buf_addf(out, "%s [\"%s/gdb/.build-id\", \"/usr/lib/debug/.build-id\"]\n", key + 1, s->mount);
}

/* debuginfod's client remembers a file as missing for 10 minutes, also after an error. symfs remembers only misses
 * that a server answered. */
static void text_of_misses(const struct setup *s, const char *old, struct buf *out)
{
	(void)s;
	(void)old;
	buf_adds(out, "0\n");
}

/* WHOLE: the file is symfs's. BLOCK: some lines of the user's file. VALUE: a file with one short line. */
enum how { WHOLE, BLOCK, VALUE };

/* The places for a user are below a directory: c config, h home, k cache. Of several, one that exists is taken, else
 * the last. */
static const struct place {
	const char *who;
	enum how how;
	const char *paths[3];
	void (*text)(const struct setup *s, const char *old, struct buf *out);
} user_places[] = {
	{"programs of the desktop and of systemd", WHOLE, {"c/environment.d/60-symfs.conf"}, text_of_variable},
	{"login shells", BLOCK, {"h/.bash_profile", "h/.bash_login", "h/.profile"}, text_of_shell},
	{"gdb", BLOCK, {"c/gdb/gdbinit", "h/.gdbinit"}, text_of_gdb},
	{"lldb", BLOCK, {"h/.lldbinit"}, text_of_lldb},
	{"Delve", BLOCK, {"c/dlv/config.yml"}, text_of_delve},
	{"debuginfod's client", VALUE, {"k/debuginfod_client/cache_miss_s"}, text_of_misses},
}, system_places[] = {
	{"programs of the desktop and of systemd", WHOLE, {"/etc/environment.d/60-symfs.conf"}, text_of_variable},
	{"login shells", WHOLE, {"/etc/profile.d/symfs.sh"}, text_of_shell},
	{"gdb", WHOLE, {"/etc/gdb/gdbinit.d/symfs.gdb"}, text_of_gdb},
};

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

static void sum_of(const char *text, char out[static 65])
{
	uint8_t sum[32];

	sha256_of(text, strlen(text), sum);
	hex_print(sum, sizeof(sum), out);
}

void setup_add_record(struct setup *s, const char *kind, const char *sum, const char *path)
{
	buf_addf(&s->written, "%s\t%s\t%s\n", kind, sum, path);
}

void setup_record_file(struct setup *s, const char *path)
{
	_cleanup_free_ char *text = NULL;
	char sum[65];

	if (path_read(AT_FDCWD, path, FILE_MOST, &text, NULL) < 0)
		return;
	sum_of(text, sum);
	setup_add_record(s, "file", sum, path);
}

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

	sum_of(text, sum);
	return tab && strncmp(tab + 1, sum, 64) == 0;
}

static void drop_record(struct setup *s, const char *path)
{
	char *line = find_record(s, path), *end = line ? strchrnul(line, '\n') : NULL;

	if (!line)
		return;
	end += *end == '\n';
	memmove(line, end, strlen(end) + 1);
	s->written.n -= (size_t)(end - line);
}

int setup_read_record(struct setup *s)
{
	_cleanup_free_ char *text = NULL;
	int r = path_read(AT_FDCWD, s->record, FILE_MOST, &text, NULL);

	return r == 0 ? buf_adds(&s->written, text) : r == -ENOENT ? 0 : r;
}

static int fill(void *ctx, int fd)
{
	const char *text = ctx;

	return write_all(fd, text, strlen(text));
}

int setup_save_record(struct setup *s)
{
	if (s->dry)
		return 0;
	if (!s->written.n)
		return unlink(s->record) == 0 || errno == ENOENT ? 0 : -errno;
	return path_replace(s->record, 0600, fill, s->written.p);
}

int setup_make_dirs(struct setup *s, const char *path)
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

static void kept(const char *path, const char *who, const char *why, const char *text)
{
	printf("kept     %s: %s%s%s", path, why, text ? "; for " : "\n", text ? who : "");
	if (text)
		printf(" it should have:\n\t%s", text);
}

static void fail_at(struct setup *s, const char *path, int r)
{
	printf("failed   %s: %s\n", path, err_text(r));
	s->failed = true;
}

/* Replaces the content, keeps the mode, and says so. */
static int put(struct setup *s, const char *path, const char *who, const char *content)
{
	_cleanup_free_ char *dir = strdup(path);
	struct stat st = {.st_mode = s->system ? 0644 : 0600};
	int r = dir ? 0 : -ENOMEM;

	printf("%s %s (%s)\n", s->dry ? "to write" : "wrote   ", path, who);
	if (s->dry)
		return -ECANCELED; /* nothing is recorded */
	if (r == 0) {
		*strrchr(dir, '/') = '\0';
		r = setup_make_dirs(s, dir[0] ? dir : "/");
	}
	if (r == 0 && stat(path, &st) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0)
		r = path_replace(path, st.st_mode & 07777, fill, (void *)content);
	if (r < 0)
		fail_at(s, path, r);
	return r;
}

/* The lines of the block in a text: `*n` bytes. NULL: there are none. */
static char *find_block(char *text, size_t *n)
{
	char *begin = text ? strstr(text, BEGIN) : NULL, *end = begin ? strstr(begin, END) : NULL;

	if (end)
		*n = (size_t)(end - begin) + strlen(END);
	return end ? begin : NULL;
}

static void write_block(struct setup *s, const struct place *p, const char *path, char *old, const char *text)
{
	_cleanup_buf_ struct buf block = BUF_UP_TO(FILE_MOST), all = BUF_UP_TO(2 * FILE_MOST);
	size_t n = 0;
	char *have = find_block(old, &n), sum[65];
	const char *line = find_record(s, path);
	bool first = !old || (line && strncmp(line, "new", 3) == 0);

	buf_addf(&block, "%s%s%s", BEGIN, text, END);
	if (have && n == block.n && memcmp(have, block.p, n) == 0) {
		printf("there    %s (%s)\n", path, p->who);
		return;
	}
	if (have) {
		_cleanup_free_ char *was = strndup(have, n);

		if (!was || !has_sum(line, was)) {
			kept(path, p->who, "the lines of symfs setup were changed", text);
			return;
		}
	}
	buf_add(&all, old ? old : "", old ? (size_t)(have ? have - old : (ptrdiff_t)strlen(old)) : 0);
	if (all.n && all.p[all.n - 1] != '\n') {
		kept(path, p->who, "the last line has no end", text);
		return;
	}
	buf_add(&all, block.p, block.n);
	buf_adds(&all, have ? have + n : "");
	if (put(s, path, p->who, buf_text(&all)) < 0)
		return;
	drop_record(s, path);
	sum_of(block.p, sum);
	setup_add_record(s, first ? "new block" : "block", sum, path);
}

static void write_file(struct setup *s, const struct place *p, const char *path, const char *old, const char *text)
{
	_cleanup_buf_ struct buf all = BUF_UP_TO(FILE_MOST);
	_cleanup_free_ char *was = old ? strndup(old, strcspn(old, "\t\r\n")) : NULL;
	const char *line = find_record(s, path);
	char sum[65];

	buf_addf(&all, "%s%s", p->how == VALUE ? "" : HEAD, text);
	if (old && strcmp(old, buf_text(&all)) == 0) {
		printf("there    %s (%s)\n", path, p->who);
		return;
	}
	if (old && p->how == WHOLE && !has_sum(line, old)) {
		kept(path, p->who, line ? "it was changed since" : "it is not from symfs setup", text);
		return;
	}
	if (p->how == VALUE && (line || (old && strlen(old) > strlen(was) + 1))) {
		kept(path, p->who, line ? "it was changed since" : "it has more than one line", text);
		return;
	}
	if (put(s, path, p->who, buf_text(&all)) < 0)
		return;
	drop_record(s, path);
	sum_of(buf_text(&all), sum);
	if (p->how == WHOLE)
		setup_add_record(s, "file", sum, path);
	else
		setup_add_record(s, old && strchr(old, '\n') ? "value line" : "value", was ? was : "", path);
}

static void write_place(struct setup *s, const struct place *p)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(FILE_MOST);
	_cleanup_free_ char *path = path_of(s, p), *old = NULL;
	int r = path ? path_read(AT_FDCWD, path, FILE_MOST, &old, NULL) : -ENOMEM;
	size_t n = 0;
	char *have;

	if (r < 0 && r != -ENOENT) {
		fail_at(s, path ? path : p->who, r);
		return;
	}
	/* The text is made for what the user wrote. */
	have = find_block(old, &n);
	if (have) {
		_cleanup_free_ char *rest = NULL;

		if (asprintf(&rest, "%.*s%s", (int)(have - old), old, have + n) >= 0)
			p->text(s, rest, &text);
	} else {
		p->text(s, p->how == WHOLE ? NULL : old, &text);
	}
	if (!text.n)
		kept(path, p->who, "it names directories already", NULL);
	else if (p->how == BLOCK)
		write_block(s, p, path, old, text.p);
	else
		write_file(s, p, path, old, text.p);
}

void setup_write_files(struct setup *s)
{
	const struct place *list = s->system ? system_places : user_places;
	size_t n = s->system ? ARRAY_SIZE(system_places) : ARRAY_SIZE(user_places);

	for (size_t i = 0; i < n; i++)
		write_place(s, &list[i]);
	if (s->system)
		printf("by hand  lldb and Delve have no file for all users; each user runs:\n"
		       "\tsymfs setup --user --mount %s\n", s->mount);
}

/* ---- undo ---------------------------------------------------------------------------- */

static int take_file(struct setup *s, const char *path)
{
	printf("%s %s\n", s->dry ? "to remove" : "removed ", path);
	return s->dry || unlink(path) == 0 ? 0 : -errno;
}

static int undo_block(struct setup *s, const char *path, char *old, const char *line)
{
	size_t n = 0;
	char *have = find_block(old, &n);
	_cleanup_free_ char *block = have ? strndup(have, n) : NULL;
	bool whole = strncmp(line, "new", 3) == 0;

	if (!block || !has_sum(line, block)) {
		kept(path, "", have ? "the lines of symfs setup were changed" : "the lines of symfs setup are gone",
			NULL);
		return 0;
	}
	memmove(have, have + n, strlen(have + n) + 1);
	if (whole && !old[0])
		return take_file(s, path);
	return put(s, path, "as it was", old);
}

/* Takes back one line of the record, "KIND\tSUM\tPATH". */
static int undo_line(struct setup *s, const char *line, const char *text, const char *path)
{
	_cleanup_free_ char *old = NULL, *was = NULL;
	int r;

	if (strncmp(line, "directory", 9) == 0)
		return s->dry || rmdir(path) == 0 || errno == ENOTEMPTY || errno == ENOENT ? 0 : -errno;
	r = path_read(AT_FDCWD, path, FILE_MOST, &old, NULL);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (strstr(line, "block\t"))
		return undo_block(s, path, old, line);
	if (strncmp(line, "value", 5) != 0 ? !has_sum(line, old) : strcmp(old, "0\n") != 0) {
		kept(path, "", "it was changed since", NULL);
		return 0;
	}
	if (strncmp(line, "value", 5) != 0 || !*text)
		return take_file(s, path);
	if (asprintf(&was, "%s%s", text, line[5] == ' ' ? "\n" : "") < 0)
		return -ENOMEM;
	return put(s, path, "as it was", was);
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
