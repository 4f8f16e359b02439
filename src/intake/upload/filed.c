/* Reads and writes the records of uploaded files: a line "NAME VALUE" for each fact. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "intake/upload/filed.h"
#include "base/path.h"
#include "base/util.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILED_MOST (64u << 10)

/* The facts that are texts. A text with a line end is not written, so a value cannot look like another line. */
static const struct text {
	const char *name;
	size_t offset, room;
} texts[] = {
	{"name", offsetof(struct filed, dif.name), SENTRY_NAME_MAX},
	{"arch", offsetof(struct filed, dif.arch), sizeof(((struct filed *)0)->dif.arch)},
	{"format", offsetof(struct filed, dif.format), sizeof(((struct filed *)0)->dif.format)},
	{"kind", offsetof(struct filed, dif.kind), sizeof(((struct filed *)0)->dif.kind)},
	{"code-id", offsetof(struct filed, dif.code_id), sizeof(((struct filed *)0)->dif.code_id)},
	{"debug-id", offsetof(struct filed, dif.debug_id), DEBUG_ID_TEXT},
	{"what", offsetof(struct filed, dif.what), sizeof(((struct filed *)0)->dif.what)},
	{"detail", offsetof(struct filed, detail), SENTRY_TEXT_MAX},
};

/* Opens the directory of a record. `make`: makes it if it is missing. The descriptor, or -errno. */
static int open_dir(const char *dir, const struct sha1 *sha1, bool make, char name[static SHA1_TEXT])
{
	char hex[SHA1_TEXT], path[PATH_MAX];
	int fd, r;

	sha1_text(sha1, hex);
	snprintf(name, SHA1_TEXT, "%s", hex + 2);
	if (snprintf(path, sizeof(path), "%s/files/%.2s", dir, hex) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	r = make ? path_mkdirs(path, 0700) : 0;
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int take_key(struct filed *f, char *value)
{
	const char *sha256 = strsep(&value, " ");

	if (!value || f->n == FILED_KEYS_MOST || strlen(sha256) != SHA256_TEXT - 1)
		return -ENOENT;
	memcpy(f->sha256[f->n], sha256, SHA256_TEXT);
	return key_parse(&f->keys[f->n++], value) == 0 ? 0 : -ENOENT;
}

static int take_line(struct filed *f, char *line)
{
	char *value = strchr(line, ' ');

	if (!value)
		return -ENOENT;
	*value++ = '\0';
	if (strcmp(line, "size") == 0)
		f->dif.size = strtoull(value, NULL, 10);
	else if (strcmp(line, "stored") == 0)
		f->dif.stored = strtoll(value, NULL, 10);
	else if (strcmp(line, "key") == 0)
		return take_key(f, value);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(line, texts[i].name) == 0)
			snprintf((char *)f + texts[i].offset, texts[i].room, "%s", value);
	return 0;
}

int filed_read(const char *dir, const struct sha1 *sha1, struct filed *out)
{
	char name[SHA1_TEXT], *rest, *line;
	_cleanup_close_ int fd = open_dir(dir, sha1, false, name);
	_cleanup_free_ char *text = NULL;
	size_t n = 0;
	bool nul;
	int r;

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return fd;
	r = path_read(fd, name, FILED_MOST, &text, &n);
	if (r < 0)
		return r;
	nul = strlen(text) != n;
	rest = text;
	while (r == 0 && (line = strsep(&rest, "\n")))
		if (*line)
			r = take_line(out, line);
	if (r == 0 && (!out->n || nul))
		r = -ENOENT;
	if (r == 0)
		utimensat(fd, name, NULL, AT_SYMLINK_NOFOLLOW); /* its lifetime begins anew */
	return r;
}

int filed_write(const char *dir, const struct sha1 *sha1, const struct filed *f)
{
	char name[SHA1_TEXT], key[KEY_TEXT];
	_cleanup_close_ int fd = open_dir(dir, sha1, true, name);
	_cleanup_buf_ struct buf text = BUF_UP_TO(FILED_MOST);

	if (fd < 0)
		return fd;
	buf_addf(&text, "size %llu\nstored %lld\n", (unsigned long long)f->dif.size, (long long)f->dif.stored);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *value = (const char *)f + texts[i].offset;

		if (*value && !strchr(value, '\n'))
			buf_addf(&text, "%s %s\n", texts[i].name, value);
	}
	for (unsigned i = 0; i < f->n; i++)
		buf_addf(&text, "key %s %s\n", f->sha256[i], key_text(&f->keys[i], key));
	return text.r < 0 ? text.r : path_write_synced(fd, name, text.p, text.n, 0600);
}

void filed_remove(const char *dir, const struct sha1 *sha1)
{
	char name[SHA1_TEXT];
	_cleanup_close_ int fd = open_dir(dir, sha1, false, name);

	if (fd >= 0)
		unlinkat(fd, name, 0);
}
