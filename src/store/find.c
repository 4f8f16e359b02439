/* Finds the artifact that is stored under a key. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "base/view.h"
#include "formats/obj/obj.h"
#include "store/files/dir.h"
#include "store/session.h"

#include <stdio.h>

struct key store_key(struct store *s, const struct key *k)
{
	_cleanup_session_ struct session ses = {.s = s};
	struct index_hit hit;
	char canon[KEY_TEXT];
	struct key named;

	if (!key_by_name(k, &named))
		return *k;
	key_canon(&named, canon);
	while (session_next(&ses))
		ses.r = index_find(ses.ix, canon, &hit);
	return ses.r == 0 ? named : *k;
}

void store_canon(struct store *s, const struct key *k, char canon[static KEY_TEXT])
{
	struct key here = store_key(s, k);

	key_canon(&here, canon);
}

int store_hit(struct store *s, const struct key *k, struct index_hit *out)
{
	_cleanup_session_ struct session ses = {.s = s};
	char canon[KEY_TEXT];

	store_canon(s, k, canon);
	while (session_next(&ses))
		ses.r = index_find(ses.ix, canon, out);
	if (ses.r == 0 && !dir_sha256_ok(out->object.sha256))
		return -ENOENT;
	return ses.r;
}

static int open_hit(struct store *s, const struct index_hit *h, struct blob **out)
{
	_cleanup_close_ int fd = -1;
	char rel[DIR_REL], path[4300];
	struct stat st;
	int r;

	r = dir_blob_open(s->dirfd, h->object.sha256, &fd, &st);
	if (r == 0 && (uint64_t)st.st_size != h->object.size)
		r = -ENOENT;
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/%s", s->dir, dir_blob(h->object.sha256, rel));
	return blob_of_store(out, take_fd(&fd), path, h->object.sha256, &st, &h->facts);
}

int store_find(struct store *s, const struct key *k, struct blob **out)
{
	struct index_hit hit, again;
	int r;

	r = store_hit(s, k, &hit);
	if (r < 0)
		return r;
	r = open_hit(s, &hit, out);
	/* Between the lookup and the open, another process may have replaced the key's blob and removed the old
	 * one. */
	while (r == -ENOENT && store_hit(s, k, &again) == 0 && again.object.id != hit.object.id) {
		hit = again;
		r = open_hit(s, &hit, out);
	}
	if (r == 0 || r == -ENOENT)
		session_note_use(s, &hit, r == -ENOENT);
	return r;
}

void store_main_key(struct store *s, const struct key *k, struct key *out)
{
	_cleanup_session_ struct session ses = {.s = s};
	char canon[KEY_TEXT];
	struct key own;

	*out = *k;
	if (!key_is_by_debug_id(k)) {
		*out = store_key(s, k);
		return;
	}
	key_canon(k, canon);
	while (session_next(&ses))
		ses.r = index_main_key(ses.ix, canon, k->type, &own);
	if (ses.r == 0)
		*out = own;
}

bool store_has(struct store *s, const struct key *k, uint64_t *size)
{
	struct index_hit hit;
	struct stat st;

	if (store_hit(s, k, &hit) < 0 || dir_blob_stat(s->dirfd, hit.object.sha256, &st) < 0 ||
		(uint64_t)st.st_size != hit.object.size)
		return false;
	if (size)
		*size = hit.object.size;
	return true;
}

/* A file may have been stored without its worth, also by an older version. Then the worth is read from the file. */
struct worth store_worth(struct store *s, const struct index_hit *h)
{
	struct worth w = h->facts.worth;
	_cleanup_close_ int fd = -1;
	struct obj_slice slice;
	struct stat st;
	struct view v;

	if (w.known || dir_blob_open(s->dirfd, h->object.sha256, &fd, &st) < 0)
		return w;
	v = view_of_fd(fd, (uint64_t)st.st_size);
	return obj_identify(&v, 0, &slice, NULL) == 0 ? slice.worth : w;
}

bool store_wants(struct store *s, const struct key *k, const struct worth *w, const struct store_hold *hold)
{

	struct index_hit hit;
	struct worth have;
	int c;

	if (!store_has(s, k, NULL) || store_hit(s, k, &hit) < 0)
		return true;
	c = hold_compare(hold_rank_of(hold), hold_rank(&hit.object.held));
	if (c)
		return c > 0;
	have = store_worth(s, &hit);
	return w->known && have.known && worth_compare(w, &have, k->type) > 0;
}

int store_name(struct store *s, const struct key *k, char name[static MODULE_PATH_MAX])
{
	struct index_hit hit;
	int r = store_hit(s, k, &hit);

	if (r == 0)
		snprintf(name, MODULE_PATH_MAX, "%s", hit.key.name);
	return r;
}
