/* Opening the index, and rebuilding it from the labels of the blobs. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/rebuild.h"
#include "base/log.h"
#include "base/util.h"
#include "store/index/salvage.h"
#include "store/sweep.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* Renames the damaged index. The WAL comes first: it must never lie beside an index to which it does not
 * belong. */
static int set_aside(struct store *s)
{
	static const char *const tails[] = {"-wal", "-shm", ""};
	char from[64], to[64];

	for (unsigned i = 0; i < ARRAY_SIZE(tails); i++) {
		snprintf(from, sizeof(from), "index.sqlite%s", tails[i]);
		snprintf(to, sizeof(to), "index.sqlite.damaged%s", tails[i]);
		if (unlinkat(s->dirfd, to, 0) < 0 && errno == EISDIR)
			unlinkat(s->dirfd, to, AT_REMOVEDIR);
		if (renameat(s->dirfd, from, s->dirfd, to) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

static void salvage(struct store *s, struct index *ix)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s/index.sqlite.damaged", s->dir) < 0)
		path = NULL;
	else if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) /* SQLite would wait for the writer of a pipe */
		index_salvage(ix, path);
}

static int rebuild_index(struct store *s, struct index *ix, bool damaged)
{
	struct index_object o = {.id = 0};
	unsigned long artifacts = 0;
	int r;

	r = sweep(s, ix);
	if (r == 0 && damaged)
		salvage(s, ix);
	while (r == 0 && (r = index_object_next(ix, o.id, &o)) == 0)
		artifacts++;
	if (r == -ENOENT)
		r = index_commit(ix);
	if (r < 0)
		return r;
	if (damaged)
		log_warn("%s: the index was damaged, and is now index.sqlite.damaged; "
			 "rebuilt the index: %lu artifacts", s->dir, artifacts);
	else if (artifacts)
		log_warn("%s: rebuilt the index: %lu artifacts", s->dir, artifacts);
	return 0;
}

int rebuild_open(struct store *s, bool damaged, struct index **out, struct err *e)
{
	_cleanup_index_ struct index *ix = NULL;
	int r = -EUCLEAN;

	if (!damaged) {
		r = index_open(out, s->dir, e);
		if (r != -ENOENT && r != -EUCLEAN)
			return r;
		damaged = r == -EUCLEAN;
	}
	if (damaged) {
		r = set_aside(s);
		if (r < 0)
			return err_set(e, r, "%s: a damaged index cannot be set aside: %s", s->dir,
				err_text(r));
	}
	r = index_make(&ix, s->dir, s->id, e);
	if (r < 0)
		return r;
	r = rebuild_index(s, ix, damaged);
	if (r < 0) {
		index_rollback(ix);
		return err_set(e, r, "%s: the index cannot be rebuilt: %s", s->dir, err_text(r));
	}
	*out = take(ix);
	return 0;
}
