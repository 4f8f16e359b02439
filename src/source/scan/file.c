/* The files and directories of a tree, and the identification of files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/beneath.h"
#include "base/grow.h"
#include "base/util.h"
#include "pack/unarchive/kind.h"
#include "pack/unpack/unpack.h"
#include "source/scan/private.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Bytes of an unpacked file that must contain its identity. */
#define INSIDE_MOST (16u << 20)
#define JUDGED (64u << 10) /* bytes of an unpacked file by which judge() recognizes a file without an identity */

/* ---- files and directories ---------------------------------------------------------- */

void files_free(struct scan_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(files[i].name);
		free(files[i].keys);
	}
	free(files);
}

void dir_release(struct scan_dir *d)
{
	files_free(d->files, d->n);
	free(d->path);
}

void dir_free(struct scan_dir *d)
{
	dir_release(d);
	free(d);
}

int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct scan_file *)a)->name, ((const struct scan_file *)b)->name);
}

int compare_dirs(const void *a, const void *b)
{
	return strcmp(((const struct scan_dir *)a)->path, ((const struct scan_dir *)b)->path);
}

static const struct scan_file *file_in(const struct scan_dir *d, const char *name)
{
	struct scan_file want = {.name = (char *)name};

	return d && d->n ? bsearch(&want, d->files, d->n, sizeof(want), compare_files) : NULL;
}

int reading_file(struct reading *r, const struct scan_file *f)
{
	return APPEND(r->files, r->room, r->n, *f);
}

void reading_give(struct reading *r, struct scan_dir *d)
{
	struct scan_file *less = r->n ? realloc(r->files, r->n * sizeof(*less)) : NULL;

	d->files = less ? less : r->files;
	d->n = r->n;
	r->files = NULL;
	r->n = r->room = 0;
}

/* ---- identification ----------------------------------------------------------------- */

struct inside {
	struct buf b;
	bool judged;
};

/* Returns an error if the first bytes show that the file has no symbols. Most such files are recognized here. */
static int judge(struct inside *in)
{
	struct view v = view_of_mem(in->b.p, in->b.n);
	struct obj_slice slice;
	int r;

	v.size = VIEW_UNKNOWN;
	in->judged = true;
	r = obj_identify(&v, 0, &slice, NULL);
	return r == -EAGAIN ? 0 : r;
}

static int take_inside(void *ctx, const void *p, size_t n)
{
	struct inside *in = ctx;
	int r = buf_add(&in->b, p, MIN(n, in->b.most - in->b.n));

	if (r == 0 && !in->judged && in->b.n >= JUDGED)
		r = judge(in);
	return r < 0 ? r : in->b.n == in->b.most ? -ECANCELED : 0;
}

/* Unpacks at most INSIDE_MOST bytes of a packed file, and adds the keys that these bytes show. -ENOMSG: the file
 * is not packed; it is a zip archive, which seldom holds symbols; or it cannot be unpacked or identified. */
static int add_inside(struct view *v, const char *path, struct buf *out)
{
	_cleanup_unpack_ struct unpack *u = NULL;
	struct inside in = {.b = BUF_UP_TO(INSIDE_MOST)};
	char name[MODULE_NAME_MAX];
	const struct packing *p = NULL;
	uint8_t head[UNPACK_HEAD];
	struct view inside;
	int r;

	if (view_read(v, 0, head, sizeof(head)) == 0)
		p = packing_of(head, sizeof(head));
	if (!p || strcmp(packing_name(p), "zip") == 0)
		return -ENOMSG;
	r = unpack_new(&u, p, UINT64_MAX, take_inside, &in);
	if (r == 0)
		r = unpack_more(u, v, NULL);
	if (r == 0 || r == -ECANCELED) {
		inside = view_of_mem(in.b.p, in.b.n);
		inside.size = r == 0 ? in.b.n : VIEW_UNKNOWN;
		unpack_name(path, name, sizeof(name));
		r = add_slices(&inside, name, out);
	}
	buf_release(&in.b);
	return r == -ENOMEM || r == -EIO ? r : r < 0 ? -ENOMSG : 0;
}

/* Of zip archives, only those that usually have symbol files: documents and Java programs are zip archives, too. */
static bool is_zip_of_symbols(const char *name)
{
	static const char *const ends[] = {".zip", ".nupkg", ".snupkg", ".apk", ".aab"};
	const char *end = strrchr(name, '.');

	for (unsigned i = 0; end && i < ARRAY_SIZE(ends); i++)
		if (strcasecmp(end, ends[i]) == 0)
			return true;
	return false;
}

/* Whether the file is an archive that the scan looks into. */
static bool archive_is(struct view *v, const char *name)
{
	enum archive_kind kind = ARCHIVE_NONE;

	if (archive_kind_of(v, &kind) < 0 || kind == ARCHIVE_NONE)
		return false;
	return kind != ARCHIVE_ZIP || is_zip_of_symbols(name);
}

/* Sets out->keys to the keys of a file; NULL: it has no key. A broken file has the keys of its complete slices. An
 * archive is read later. */
static int keys_of(const struct scan *s, int dir, const char *way, const char *name, struct scan_file *file)
{
	_cleanup_close_ int fd = -1;
	_cleanup_buf_ struct buf out = BUF_UP_TO(SLICES_MOST * OBJ_KEYS_MOST * (KEY_TEXT + WORTH_TEXT));
	_cleanup_buf_ struct buf path = BUF_UP_TO(2 * PATH_MAX);
	struct view v;
	int r = beneath_open_name(dir, name, &fd);

	v = view_of_fd(fd, file->size);
	if (r == 0)
		r = add_slices(&v, name, &out);
	if (r == -ENOMSG && s->archives && archive_is(&v, name)) {
		file->kind = SCAN_ARCHIVE_NEW;
		return 0;
	}
	if (r == -ENOMSG && buf_addf(&path, "%s/%s", way, name) == 0)
		r = add_inside(&v, buf_text(&path), &out);
	if (r < 0 && r != -ENOENT && r != -ENOMSG && r != -EBADMSG)
		return r;
	file->keys = out.n ? buf_take(&out, NULL) : NULL;
	return 0;
}

int64_t mtime_of(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static bool is_same(const struct scan_file *f, const struct stat *st)
{
	return f && f->ino == st->st_ino && f->size == (uint64_t)st->st_size &&
	       f->mtime == mtime_of(st) && f->mtime != -1;
}

int look_at(const struct scan *s, const struct scan_dir *before, const struct scan_dir *remembered, int dir,
	const char *name, const struct stat *st, struct scan_file *out)
{
	const struct scan_file *known = file_in(before, name);

	if (!is_same(known, st))
		known = file_in(remembered, name);
	*out = (struct scan_file){.name = strdup(name),
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime = mtime_of(st)};
	if (is_same(known, st)) {
		out->keys = known->keys ? strdup(known->keys) : NULL;
		out->members = known->members;
		out->kind = known->kind;
	} else if (keys_of(s, dir, before->path, name, out) < 0) {
		out->mtime = -1;
	}
	return out->name ? 0 : -ENOMEM;
}
