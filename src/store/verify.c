/* `symfs cache verify`: compares the index, the labels and the bytes. The check takes the write lock anew for each
 * artifact, and reads the bytes without the lock, so that no writer waits long. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/files/label.h"
#include "store/settle.h"
#include "store/sparse-file.h"
#include "store/sparse.h"
#include "store/session.h"

#include <stdio.h>
#include <string.h>

typedef void verify_damaged(void *ctx, const struct key *k, const char *path, const char *what);

struct verifying {
	struct store *s;
	verify_damaged *damaged;
	void *ctx;
	int count;

	struct index_object o; /* the object being checked */
	struct key key; /* the first key of the object, for reports */
	bool has_key;
	int fd;		/* the blob, open if its bytes are to be read; else -1 */
};

static void report_blob(struct verifying *v, const char *sha256, const char *what)
{
	char rel[DIR_REL], path[4300];

	snprintf(path, sizeof(path), "%s/%s", v->s->dir,
		dir_sha256_ok(sha256) ? dir_blob(sha256, rel) : "index.sqlite");
	v->count++;
	if (v->damaged)
		v->damaged(v->ctx, v->has_key ? &v->key : NULL, path, what);
}

static int first_key(void *ctx, const struct key *k, const struct blob_facts *facts)
{
	struct verifying *v = ctx;

	v->key = *k;
	v->has_key = true;
	return 1;
}

static const char *label_trouble(struct verifying *v, struct index *ix, int *r)
{
	_cleanup_buf_ struct buf want = BUF_UP_TO(LABEL_MOST);
	_cleanup_free_ char *have = NULL;
	int got;

	*r = settle_label(ix, &v->o, &want);
	if (*r < 0)
		return NULL;
	got = label_read(v->s->dirfd, v->o.sha256, &have);
	if (got == -ENOENT)
		return "its .key file is gone";
	if (got < 0)
		return "its .key file cannot be read";
	return label_same(have, buf_text(&want)) ? NULL : "its .key file differs from the index";
}

/* Checks an object without reading its bytes. */
static int verify_look(struct verifying *v, struct index *ix, const char **what)
{
	struct stat st;
	int r;

	*what = NULL;
	v->has_key = false;
	if (v->fd >= 0) /* left open by an earlier try */
		close(take_fd(&v->fd));
	r = index_keys_of(ix, v->o.id, first_key, v);
	if (r < 0)
		return r;
	if (!dir_sha256_ok(v->o.sha256)) {
		*what = "the index does not name a file";
		return 0;
	}
	r = dir_blob_open(v->s->dirfd, v->o.sha256, &v->fd, &st);
	if (r == -EMFILE || r == -ENFILE)
		return r;
	if (r < 0)
		*what = r == -ENOENT ? "file is gone" : "file cannot be opened";
	else if ((uint64_t)st.st_size != v->o.size)
		*what = "size differs";
	else if (!v->has_key)
		*what = "no key names it";
	else
		*what = label_trouble(v, ix, &r);
	return *what ? 0 : r;
}

/* Checks the next object without its bytes. 0; -ENOENT: there are no more. */
static int look_at_next(struct verifying *v, const char **what)
{
	_cleanup_session_ struct session ses = {.s = v->s, .write = true};

	while (session_next(&ses)) {
		ses.r = index_object_next(ses.ix, v->o.id, &v->o);
		if (ses.r == 0)
			ses.r = verify_look(v, ses.ix, what);
	}
	return ses.r;
}

/* Whether the index still names the file whose bytes are wrong. Another process may have replaced the
 * file. */
static bool is_still_there(struct verifying *v)
{
	_cleanup_session_ struct session ses = {.s = v->s, .write = true};
	struct index_object o;
	struct stat now, then;

	while (session_next(&ses))
		ses.r = index_object_find(ses.ix, v->o.sha256, &o);
	return ses.r == 0 && dir_blob_stat(v->s->dirfd, o.sha256, &now) == 0 &&
	       fstat(v->fd, &then) == 0 && now.st_ino == then.st_ino;
}

static int verify_objects(struct verifying *v)
{
	char sha256[SHA256_TEXT];
	const char *what = NULL;
	int r;

	while ((r = look_at_next(v, &what)) == 0) {
		if (!what) {
			r = sha256_of_fd(v->fd, v->o.size, sha256);
			if (r == -ENOMEM)
				return r;
			if (r < 0 && is_still_there(v))
				what = "file cannot be read";
			else if (r == 0 && strcmp(sha256, v->o.sha256) != 0 && is_still_there(v))
				what = "digest differs";
		}
		if (what)
			report_blob(v, v->o.sha256, what);
		if (v->fd >= 0)
			close(take_fd(&v->fd));
	}
	return r == -ENOENT ? 0 : r;
}

struct walking {
	struct verifying *v;
	struct index *ix;
};

static int any_line(void *ctx, const struct label_line *l)
{
	*(bool *)ctx = true;
	return 1;
}

/* A blob without a row is not an error if it has a good label: the next sweep adds it to the index. */
static int look_at_file(void *ctx, enum dir_kind kind, const char *sha256)
{
	struct walking *w = ctx;
	_cleanup_free_ char *text = NULL;
	struct index_object o;
	bool known = false;
	int r;

	if (kind == DIR_LABEL)
		return 0;
	r = index_object_find(w->ix, sha256, &o);
	if (r != -ENOENT)
		return r;
	if (label_read(w->v->s->dirfd, sha256, &text) == 0)
		label_each(text, any_line, &known);
	if (!known)
		report_blob(w->v, sha256, "neither the index nor a .key file knows it");
	return 0;
}

static int verify_files(struct verifying *v)
{
	_cleanup_session_ struct session ses = {.s = v->s, .write = true};

	v->has_key = false;
	while (session_next(&ses)) {
		struct walking w = {.v = v, .ix = ses.ix};

		ses.r = dir_walk(v->s->dirfd, look_at_file, &w);
	}
	return ses.r;
}

/* ---- sparse files --------------------------------------------------------------------- */

static void report_sparse(struct verifying *v, const struct store_sparse_row *row, const char *what)
{
	char rel[SPARSE_REL], path[4300];

	snprintf(path, sizeof(path), "%s/%s", v->s->dir, sparse_file_path(row->name, rel));
	v->count++;
	if (v->damaged)
		v->damaged(v->ctx, &row->key, path, what);
}

static bool has_sparse_row(struct verifying *v, const char *name)
{
	_cleanup_session_ struct session ses = {.s = v->s};
	struct store_sparse_row row;

	while (session_next(&ses))
		ses.r = index_sparse_find_name(ses.ix, name, &row);
	return ses.r == 0;
}

/* Checks the blocks of one part. NULL, or the problem. */
static const char *part_trouble(int fd, uint64_t size, const struct index_part *p, uint8_t *room)
{
	for (unsigned i = 0; i < PART_BLOCKS; i++) {
		uint64_t off = ((uint64_t)p->part * PART_BLOCKS + i) * SPARSE_BLOCK;
		size_t n;

		if (!(p->bits[i / 64] >> i % 64 & 1))
			continue;
		if (p->part > (int64_t)(SPARSE_SIZE_MOST / SPARSE_BLOCK / PART_BLOCKS) || off >= size)
			return "the index has blocks past the file's end";
		n = (size_t)MIN((uint64_t)SPARSE_BLOCK, size - off);
		if (pread(fd, room, n, (off_t)off) != (ssize_t)n)
			return "file cannot be read";
		if (crc32c(room, n) != p->sums[i])
			return "the checksum of a block differs";
	}
	return NULL;
}

static int next_part(struct verifying *v, const char *name, int64_t after, struct index_part *out)
{
	_cleanup_session_ struct session ses = {.s = v->s};
	int n = 0;

	while (session_next(&ses)) {
		n = index_sparse_parts(ses.ix, name, after, out, 1);
		ses.r = MIN(n, 0);
	}
	return ses.r < 0 ? ses.r : n;
}

static int look_at_parts(struct verifying *v, const struct store_sparse_row *row, int fd,
	const char **what)
{
	_cleanup_free_ struct index_part *p = calloc(1, sizeof(*p));
	_cleanup_free_ uint8_t *room = malloc(SPARSE_BLOCK);
	int64_t after = -1;
	int n = p && room ? 1 : -ENOMEM;

	while (n > 0 && !*what) {
		n = next_part(v, row->name, after, p);
		if (n > 0)
			*what = part_trouble(fd, row->validator.size, p, room);
		if (n > 0)
			after = p->part;
	}
	return MIN(n, 0);
}

static int verify_one_sparse(struct verifying *v, const struct store_sparse_row *row)
{
	_cleanup_close_ int fd = -1;
	const char *what = NULL;
	struct stat st;
	int r;

	r = sparse_file_open(v->s, row->name, false, &fd, &st);
	if (r == -EMFILE || r == -ENFILE)
		return r;
	if (r < 0)
		what = r == -ENOENT ? "file is gone" : r == -EBUSY ? NULL : "file cannot be opened";
	else if ((uint64_t)st.st_size != row->validator.size)
		what = "size differs";
	else
		r = look_at_parts(v, row, fd, &what);
	/* Meanwhile the file may have been completed or removed. */
	if (what && has_sparse_row(v, row->name))
		report_sparse(v, row, what);
	return r == -ENOMEM ? r : 0;
}

static int verify_sparses(struct verifying *v)
{
	_cleanup_free_ struct store_sparse_row *row = calloc(1, sizeof(*row));
	int r = row ? 0 : -ENOMEM;

	while (r == 0 && (r = store_list_sparse(v->s, row->id, row, 1)) > 0)
		r = verify_one_sparse(v, row);
	return r;
}

int store_verify(struct store *s, verify_damaged *damaged, void *ctx)
{
	struct verifying v = {.s = s, .damaged = damaged, .ctx = ctx, .fd = -1};
	int r;

	r = verify_objects(&v);
	if (v.fd >= 0)
		close(v.fd);
	if (r == 0)
		r = verify_sparses(&v);
	if (r == 0)
		r = verify_files(&v);
	return r < 0 ? r : v.count;
}
