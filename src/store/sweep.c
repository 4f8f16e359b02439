/* The sweep: compares every file of the store with the index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/sweep.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/settle.h"
#include "store/sparse-rows.h"

#include <fcntl.h>

struct sweeping {
	struct store *s;
	struct index *ix;
};

static int sweep_file(void *ctx, enum dir_kind kind, const char *sha256)
{
	struct sweeping *w = ctx;
	struct index_object o;
	struct stat st;
	int r;

	if (kind == DIR_LABEL) {
		r = dir_blob_stat(w->s->dirfd, sha256, &st);
		return r == -ENOENT ? settle(w->s, w->ix, sha256, true) : 0;
	}
	r = index_object_find(w->ix, sha256, &o);
	return r == -ENOENT ? settle(w->s, w->ix, sha256, false) : r;
}

/* Whether an object has its blob, with the right size, and its label. The label is removed before the blob, so after
 * a power loss the index may have a row again whose blob lacks its label. */
static bool is_sound(struct store *s, const struct index_object *o)
{
	char rel[DIR_REL];
	struct stat st;

	return dir_blob_stat(s->dirfd, o->sha256, &st) == 0 && (uint64_t)st.st_size == o->size &&
	       fstatat(s->dirfd, dir_label(o->sha256, rel), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int sweep(struct store *s, struct index *ix)
{
	struct sweeping w = {.s = s, .ix = ix};
	struct index_object o = {.id = 0};
	int r;

	while ((r = index_object_next(ix, o.id, &o)) == 0) {
		bool sound = is_sound(s, &o);

		if (!sound && !dir_sha256_ok(o.sha256))
			r = index_object_drop(ix, o.id);
		else if (!sound)
			r = settle(s, ix, o.sha256, false);
		if (r < 0)
			return r;
	}
	if (r != -ENOENT)
		return r;
	r = sparses_sweep(s, ix);
	if (r == 0)
		r = dir_walk(s->dirfd, sweep_file, &w);
	return r == 0 ? settle_all(s, ix) : r;
}
