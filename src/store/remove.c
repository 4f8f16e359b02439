/* Keeps, pins and removes stored artifacts. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "store/made.h"
#include "store/session.h"
#include "store/sparse-file.h"
#include "store/sparse-rows.h"

static int keep_in(struct session *ses, const char *canon, int64_t until)
{
	struct index_hit hit;
	int r;

	r = index_begin(ses->ix);
	if (r == 0)
		r = index_key_find(ses->ix, canon, &hit);
	if (r == 0)
		r = index_object_keep(ses->ix, hit.object.id, until);
	/* The label records the pin, so it must be written anew. */
	if (r == 0 && (until == STORE_FOR_GOOD || until == 0))
		r = index_intent_add(ses->ix, hit.object.sha256, false);
	r = index_end(ses->ix, r);
	if (r < 0)
		return r;
	session_settle(ses); /* if the disk has no room for the label, a later writer writes it */
	return 0;
}

/* Whether store_keep() has nothing to do: the file is pinned, and does not expire before `until`. */
static bool is_kept(struct store *s, const struct key *k, int64_t until)
{
	struct index_hit hit;

	return store_hit(s, k, &hit) == 0 && hit.object.pinned &&
	       (hit.object.held.ends == 0 || (until != STORE_FOR_GOOD && hit.object.held.ends >= until));
}

int store_keep(struct store *s, const struct key *k, int64_t seconds)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};
	int64_t now = store_now(s), until = 0;
	char canon[KEY_TEXT];
	struct key here;

	if (seconds > 0)
		until = seconds > INT64_MAX - now ? STORE_FOR_GOOD : now + seconds;
	if (until && is_kept(s, k, until))
		return 0;
	here = store_key(s, k);
	key_canon(&here, canon);
	while (session_next(&ses))
		ses.r = keep_in(&ses, canon, until);
	return ses.r;
}

static int remove_object(struct index *ix, const struct index_object *o)
{
	int r = index_intent_add(ix, o->sha256, true);

	return r == 0 ? index_object_drop(ix, o->id) : r;
}

/* Removes the file of a key, and what was made of it. Returns the number of the made files. */
static int remove_with_made(struct index *ix, const struct index_object *o)
{
	_cleanup_free_ struct made_files *made = malloc(sizeof(*made));
	int r, n = 0;

	do {
		r = made ? made_find(ix, o, made) : -ENOMEM;
		for (unsigned i = 0; r == 0 && i < made->n; i++, n++)
			r = remove_object(ix, &made->list[i]);
	} while (r == 0 && made->n);
	if (r == 0)
		r = remove_object(ix, o);
	return r < 0 ? r : n;
}

static int remove_whole(struct index *ix, const char *canon, bool file)
{
	struct index_hit hit;
	int r = index_key_find(ix, canon, &hit);

	if (r == 0 && file)
		return remove_with_made(ix, &hit.object);
	if (r == 0)
		r = index_intent_add(ix, hit.object.sha256, false);
	return r == 0 ? index_key_drop(ix, canon) : r;
}

static int remove_in(struct session *ses, const char *canon, bool file, int *made)
{
	char sparse[17] = "";
	int r;

	r = index_begin(ses->ix);
	if (r == 0)
		r = sparse_forget(ses->ix, canon, sparse);
	if (r == 0)
		r = *made = remove_whole(ses->ix, canon, file);
	r = r > 0 || (r == -ENOENT && sparse[0]) ? 0 : r;
	r = index_end(ses->ix, r);
	if (r < 0)
		return r;
	if (sparse[0])
		sparse_file_unlink(ses->s, sparse);
	return session_settle(ses);
}

static int remove_by(struct store *s, const struct key *k, bool file)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};
	char canon[KEY_TEXT];
	struct key here;
	int made = 0;

	here = store_key(s, k);
	key_canon(&here, canon);
	while (session_next(&ses))
		ses.r = remove_in(&ses, canon, file, &made);
	return ses.r < 0 ? ses.r : MAX(made, 0);
}

int store_remove(struct store *s, const struct key *k)
{
	return remove_by(s, k, false);
}

int store_remove_file(struct store *s, const struct key *k)
{
	return remove_by(s, k, true);
}
