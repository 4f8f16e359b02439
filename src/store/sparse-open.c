/* Sparse files: opens them, lists the files that this process fills, and loads their blocks from the
 * index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "store/evict.h"
#include "store/sparse-private.h"
#include "store/session.h"

#include <stdio.h>
#include <string.h>

#define PARTS_AT_ONCE 8

/* ---- references ----------------------------------------------------------------------- */

struct sparse *sparse_ref(struct sparse *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

static void unlist(struct sparse *f) /* under the lock of the list */
{
	struct sparse **at = &f->s->sparses.first;

	if (!f->listed)
		return;
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	f->listed = false;
}

static void sparse_free(struct sparse *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < STRIPES; i++) {
		pthread_mutex_destroy(&f->stripes[i].lock);
		free(f->stripes[i].list);
	}
	pthread_mutex_destroy(&f->committing);
	if (f->fd >= 0)
		close(f->fd);
	free(f->here);
	free(f->saved);
	free(f->url);
	free(f);
}

void sparse_unlist(struct sparse *f)
{
	LOCK_SCOPE(&f->s->sparses.lock);

	unlist(f);
}

void sparse_unref(struct sparse *f)
{
	unsigned refs = f ? atomic_load_explicit(&f->refs, memory_order_relaxed) : 0;

	if (!f)
		return;
	while (refs > 1)
		if (atomic_compare_exchange_weak_explicit(&f->refs, &refs, refs - 1,
			    memory_order_release, memory_order_relaxed))
			return;
	/* The file is closed, and so unlocked, while the list is locked. An opener that does not find the
	 * file in the list must find the file unlocked. */
	{
		LOCK_SCOPE(&f->s->sparses.lock);

		if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
			return;
		unlist(f);
		close(take_fd(&f->fd));
	}
	sparse_free(f);
}

bool sparse_is_gone(struct sparse *f)
{
	struct stat st;
	bool gone = fstat(f->fd, &st) == 0 && st.st_nlink == 0;

	if (gone)
		atomic_store(&f->stale, true);
	return gone;
}

void sparse_set_idle(struct sparse *f, bool idle)
{
	/* The file is being removed: its reader can continue, but nothing of it is kept. */
	if (f->writer && sparse_file_lock_open(f->fd, !idle) < 0)
		atomic_store(&f->stale, true);
	sparse_is_gone(f);
}

static struct sparse *find_listed(struct store *s, const struct key *k)
{
	LOCK_SCOPE(&s->sparses.lock);

	for (struct sparse *f = s->sparses.first; f; f = f->next)
		if (key_equal(&f->key, k))
			return sparse_ref(f);
	return NULL;
}

static void list(struct sparse *f)
{
	LOCK_SCOPE(&f->s->sparses.lock);

	f->next = f->s->sparses.first;
	f->s->sparses.first = f;
	f->listed = true;
}

/* ---- loading blocks from the index ---------------------------------------------------- */

/* Takes the bits of one part, except for bits past the last block. */
static void take_part(struct sparse *f, const struct index_part *p)
{
	for (unsigned i = 0; i < PART_BLOCKS / WORD; i++) {
		uint64_t at = (uint64_t)p->part * (PART_BLOCKS / WORD) + i, bits = p->bits[i], fresh;

		if (p->part >= (int64_t)(f->blocks / PART_BLOCKS + 1) || at >= f->words)
			return;
		if (f->blocks - at * WORD < WORD)
			bits &= (1ull << (f->blocks - at * WORD)) - 1;
		f->saved[at] |= bits;
		fresh = bits & ~atomic_fetch_or_explicit(&f->here[at], bits, memory_order_release);
		for (; fresh; fresh &= fresh - 1)
			atomic_fetch_add(&f->present,
				sparse_block_size(f, at * WORD + (unsigned)__builtin_ctzll(fresh)));
	}
}

static int load_parts(struct sparse *f, struct index *ix)
{
	_cleanup_free_ struct index_part *parts = calloc(PARTS_AT_ONCE, sizeof(*parts));
	int64_t after = -1;
	int n;

	if (!parts)
		return -ENOMEM;
	while ((n = index_sparse_parts(ix, f->name, after, parts, PARTS_AT_ONCE)) > 0) {
		for (int i = 0; i < n; i++)
			take_part(f, &parts[i]);
		after = parts[n - 1].part;
	}
	return n;
}

static int load(struct sparse *f)
{
	_cleanup_session_ struct session ses = {.s = f->s};

	while (session_next(&ses))
		ses.r = load_parts(f, ses.ix);
	f->saved_bytes = sparse_present(f);
	return ses.r;
}

/* ---- opening -------------------------------------------------------------------------- */

void sparse_row_of(const struct sparse *f, struct store_sparse_row *row)
{
	memset(row, 0, sizeof(*row));
	row->key = f->key;
	memcpy(row->name, f->name, sizeof(row->name));
	row->validator = f->validator;
	snprintf(row->url, sizeof(row->url), "%s", f->url);
	row->used = row->since = clock_wall();
}

/* Takes the stored file of the key if its validator matches; else drops it. 1: taken; 0: there is none;
 * -errno. `own`: the name of a file that this process has open and gives up; "": none. */
static int take_or_drop(struct session *ses, struct sparse *f, const char *own)
{
	_cleanup_close_ int fd = -1;
	char canon[KEY_TEXT];
	struct store_sparse_row row;
	struct stat st;
	int r;

	r = index_sparse_get(ses->ix, key_canon(&f->key, canon), &row);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (strcmp(row.name, own) != 0) {
		r = sparse_file_open(f->s, row.name, true, &fd, &st);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0 && (uint64_t)st.st_size == row.validator.size &&
			sparse_same(&row.validator, &f->validator)) {
			memcpy(f->name, row.name, sizeof(f->name));
			f->fd = take_fd(&fd);
			r = index_sparse_used(ses->ix, f->name, clock_wall());
			return r < 0 ? r : 1;
		}
	}
	r = index_sparse_drop(ses->ix, row.name);
	if (r == 0)
		sparse_file_unlink(f->s, row.name);
	return r;
}

static int open_in(struct session *ses, struct sparse *f, const char *own)
{
	struct store_sparse_row row;
	int r;

	if (f->fd >= 0) /* left open by an earlier try */
		close(take_fd(&f->fd));
	r = index_begin(ses->ix);
	if (r == 0)
		r = take_or_drop(ses, f, own);
	if (r == 0) {
		r = sparse_file_new(f->s, f->validator.size, f->name, &f->fd);
		sparse_row_of(f, &row);
		if (r == 0)
			r = index_sparse_put(ses->ix, &row);
		if (r < 0 && f->fd >= 0)
			sparse_file_unlink(f->s, f->name);
	}
	if (r >= 0)
		r = index_commit(ses->ix);
	if (r < 0)
		index_rollback(ses->ix);
	return r;
}

static int open_new(struct sparse *f, const char *own)
{
	_cleanup_session_ struct session ses = {.s = f->s, .write = true};

	while (session_next(&ses))
		ses.r = open_in(&ses, f, own);
	return ses.r;
}

static int sparse_new(struct sparse **out, struct store *s, const struct key *k,
	const struct sparse_validator *v, const char *url, bool writer)
{
	struct sparse *f;

	if (v->size > SPARSE_SIZE_MOST)
		return -EFBIG;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->s = s;
	f->fd = -1;
	f->writer = writer;
	f->key = *k;
	f->validator = *v;
	f->blocks = (v->size + SPARSE_BLOCK - 1) / SPARSE_BLOCK;
	f->words = MAX((f->blocks + WORD - 1) / WORD, 1);
	atomic_init(&f->refs, 1);
	pthread_mutex_init(&f->committing, NULL);
	for (unsigned i = 0; i < STRIPES; i++)
		pthread_mutex_init(&f->stripes[i].lock, NULL);
	f->url = strdup(url ? url : "");
	f->here = calloc(f->words, sizeof(*f->here));
	f->saved = calloc(f->words, sizeof(*f->saved));
	if (!f->url || !f->here || !f->saved) {
		sparse_free(f);
		return -ENOMEM;
	}
	*out = f;
	return 0;
}

static int open_fresh(struct store *s, const struct key *k, const struct sparse_validator *v,
	const char *url, const char *own, struct sparse **out)
{
	struct sparse *f;
	int r;

	r = sparse_new(&f, s, k, v, url, true);
	if (r < 0)
		return r;
	r = open_new(f, own);
	if (r == -ENOSPC && evict_make_room(s, SPARSE_BLOCK) == 0)
		r = open_new(f, own);
	if (r == 0)
		r = load(f);
	if (r < 0) {
		sparse_free(f);
		return r;
	}
	list(f);
	*out = f;
	return 0;
}

int sparse_open(struct store *s, const struct key *k, const struct sparse_validator *v, const char *url,
	struct sparse **out, struct err *e)
{
	LOCK_SCOPE(&s->sparses.opening);
	_cleanup_sparse_ struct sparse *there = find_listed(s, k);
	char room[KEY_TEXT];
	int r;

	if (there && !sparse_is_stale(there) && sparse_same(&there->validator, v)) {
		*out = take(there);
		return 0;
	}
	if (!room_has(s, 1) && evict_make_room(s, 1) < 0)
		return room_refuse(s, e);
	if (there) {
		atomic_store(&there->stale, true);
		sparse_unlist(there);
	}
	r = open_fresh(s, k, v, url, there ? there->name : "", out);
	return r < 0 ? err_set(e, r, "%s: cannot be filled in %s/sparse: %s", key_text(k, room), s->dir,
			       r == -EBUSY ? "another process fills it" : err_text(r))
		     : 0;
}

static int row_by_key(struct store *s, const struct key *k, struct store_sparse_row *row)
{
	_cleanup_session_ struct session ses = {.s = s};
	char canon[KEY_TEXT];

	key_canon(k, canon);
	while (session_next(&ses))
		ses.r = index_sparse_find(ses.ix, canon, row);
	return ses.r;
}

int sparse_peek(struct store *s, const struct key *k, struct sparse **out)
{
	struct sparse *f = find_listed(s, k);
	struct store_sparse_row row;
	struct stat st;
	int r;

	if (f) {
		*out = f;
		return 0;
	}
	r = row_by_key(s, k, &row);
	if (r == 0)
		r = sparse_new(&f, s, k, &row.validator, row.url, false);
	if (r < 0)
		return r;
	memcpy(f->name, row.name, sizeof(f->name));
	r = sparse_file_open(s, f->name, false, &f->fd, &st);
	if (r == -EBUSY || (r == 0 && (uint64_t)st.st_size != row.validator.size))
		r = -ENOENT;
	if (r == 0)
		r = load(f);
	if (r < 0) {
		sparse_free(f);
		return r;
	}
	*out = f;
	return 0;
}
