/* Reads and writes the memory file of a scanned tree: a text file that lists the tree's files as of the last walk. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "source/scan/private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MEMORY_MOST (256u << 20)
#define MEMORY_FIRST "symfs scan 5\n"

/* The letter of a file's line. An archive that was not read has no line. */
static const char kind_letters[] = {
	[SCAN_PLAIN] = 'f', [SCAN_ARCHIVE_NEW] = 0, [SCAN_ARCHIVE] = 'a', [SCAN_ARCHIVE_FAULTY] = 'b'};

/* Writes a line "d PATH" for each directory, followed by its files. A file has a line "f INO SIZE MTIME
 * NAME" (of an archive with the letter a or b), and a line "k WORTH TAB KEY" for each of its keys. In an archive, a
 * line "k TAB NTH SIZE NAME" for each member comes before the keys of the member; a line "k nDIGITS" may be first. */
static int memory_text(const struct scan *s, struct buf *out)
{
	buf_adds(out, MEMORY_FIRST);
	for (size_t i = 0; i < s->n_dirs; i++) {
		const struct scan_dir *d = s->dirs[i];

		buf_addf(out, "d %s\n", d->path);
		for (size_t j = 0; out->r == 0 && j < d->n; j++) {
			const struct scan_file *f = &d->files[j];
			const char *p = f->keys;

			if (!kind_letters[f->kind])
				continue;
			buf_addf(out, "%c %" PRIu64 " %" PRIu64 " %" PRId64 " %s\n", kind_letters[f->kind],
				f->ino, f->size, f->mtime, f->name);
			for (; p && *p; p += strcspn(p, "\n") + 1)
				buf_addf(out, "k %.*s\n", (int)strcspn(p, "\n"), p);
		}
	}
	return out->r;
}

static int write_beside(const char *path, const struct buf *text)
{
	const char *base = path_base(path);
	_cleanup_free_ char *parent = strndup(path, (size_t)(base - path));
	_cleanup_close_ int dir = -1;

	if (!parent)
		return -ENOMEM;
	dir = open(*parent ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : path_write_synced(dir, base, text->p, text->n, 0600);
}

void memory_write(struct scan *s)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(MEMORY_MOST);
	int r;

	s->saved_ms = clock_ms();
	if (!s->memory || !s->changed || !s->seen_all)
		return;
	r = memory_text(s, &text);
	if (r == 0)
		r = write_beside(s->memory, &text);
	if (r < 0)
		log_warn("%s: what %s holds cannot be remembered: %s", s->memory, s->path,
			err_text(r));
	s->changed = false;
}

struct recalling {
	struct scan_dir *dirs;
	size_t n, room;
	struct reading in; /* files of the last directory so far */
	struct buf keys;   /* keys of the last file so far */
};

static void recall_keys(struct recalling *c)
{
	struct scan_file *f = c->in.n ? &c->in.files[c->in.n - 1] : NULL;

	if (c->keys.n && f)
		f->keys = buf_take(&c->keys, NULL);
	for (const char *p = f ? f->keys : NULL; p && *p; p += strcspn(p, "\n") + 1)
		f->members += *p == '\t';
	buf_clear(&c->keys);
}

static void recall_files(struct recalling *c)
{
	struct scan_dir *d = c->n ? &c->dirs[c->n - 1] : NULL;

	recall_keys(c);
	if (d) {
		reading_give(&c->in, d);
		sort_array(d->files, d->n, sizeof(*d->files), compare_files);
	} else {
		files_free(c->in.files, c->in.n);
	}
	c->in = (struct reading){0};
}

static int recall_dir(struct recalling *c, const char *path)
{
	struct scan_dir d = {.path = strdup(path), .watch = -1};
	int r;

	recall_files(c);
	r = d.path ? APPEND(c->dirs, c->room, c->n, d) : -ENOMEM;
	if (r < 0)
		free(d.path);
	return r;
}

static int recall_file(struct recalling *c, enum scan_kind kind, const char *text)
{
	struct scan_file f = {.kind = kind};
	int at = 0, r;

	recall_keys(c);
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNd64 " %n", &f.ino, &f.size, &f.mtime, &at) <
			3 || !at || !text[at])
		return -EINVAL;
	f.name = strdup(text + at);
	r = f.name ? reading_file(&c->in, &f) : -ENOMEM;
	if (r < 0)
		free(f.name);
	return r;
}

static int recall_line(struct recalling *c, char *line)
{
	if (line[0] && line[1] == ' ') {
		if (line[0] == 'd')
			return recall_dir(c, line + 2);
		for (unsigned i = 0; c->n && i < ARRAY_SIZE(kind_letters); i++)
			if (line[0] == kind_letters[i])
				return recall_file(c, i, line + 2);
		if (line[0] == 'k' && c->in.n)
			return buf_addf(&c->keys, "%s\n", line + 2);
	}
	return -EINVAL;
}

/* If the memory file cannot be read, the walk identifies all files again. */
void memory_read(struct scan *s)
{
	struct recalling c = {.keys = BUF_UP_TO(SCAN_KEYS_TEXT)};
	size_t first = strlen(MEMORY_FIRST);
	_cleanup_free_ char *text = NULL;
	char *save = NULL;
	int r = 0;

	if (!s->memory || path_read(AT_FDCWD, s->memory, MEMORY_MOST, &text, NULL) < 0 ||
		strncmp(text, MEMORY_FIRST, first) != 0)
		return;
	for (char *line = strtok_r(text + first, "\n", &save); r == 0 && line;
		line = strtok_r(NULL, "\n", &save))
		r = recall_line(&c, line);
	recall_files(&c);
	buf_release(&c.keys);
	sort_array(c.dirs, c.n, sizeof(*c.dirs), compare_dirs);
	s->old = c.dirs;
	s->n_old = c.n;
	if (r < 0)
		log_debug(LOG_FETCH, "%s: not all of it can be read", s->memory);
}

int scan_saved(const char *memory, char out[static 200])
{
	uint64_t n[256] = {0};
	_cleanup_free_ char *text = NULL;
	uint64_t archives;
	int at;

	if (path_read(AT_FDCWD, memory, MEMORY_MOST, &text, NULL) < 0 ||
		strncmp(text, MEMORY_FIRST, strlen(MEMORY_FIRST)) != 0)
		return -ENOENT;
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		n[p[0] == 'k' && p[1] == ' ' && p[2] == '\t' ? 'm' : (uint8_t)p[0]]++;
	archives = n['a'] + n['b'];
	at = snprintf(out, 200, "%" PRIu64 " artifact%s in %" PRIu64 " file%s", n['k'], PLURAL(n['k']),
		n['f'] + archives, PLURAL(n['f'] + archives));
	if (archives)
		at += snprintf(out + at, 200 - (size_t)at, ", %" PRIu64 " archive%s", archives,
			PLURAL(archives));
	if (n['b'])
		snprintf(out + at, 200 - (size_t)at, " (%" PRIu64 " with faults)", n['b']);
	return 0;
}
