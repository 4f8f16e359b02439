/* Sparse files: commits blocks, so that they are known after a restart, and publishes full files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "base/view.h"
#include "store/evict.h"
#include "store/sparse-private.h"

#include <fcntl.h>
#include <string.h>

#define PARTS_AT_ONCE 8 /* parts that one transaction commits */

/* ---- committing ----------------------------------------------------------------------- */

struct round {
	struct index_part parts[PARTS_AT_ONCE]; /* bits and checksums of the new blocks */
	unsigned n;
	uint64_t bytes;
};

static int sum_block(struct sparse *f, uint64_t block, uint8_t *room, uint32_t *out)
{
	uint32_t n = sparse_block_size(f, block);
	struct view v = view_of_fd(f->fd, f->validator.size);
	int r = view_read(&v, block * SPARSE_BLOCK, room, n);

	*out = crc32c(room, n);
	return r;
}

/* Gathers the blocks of one part that are present and not committed. */
static int gather_part(struct sparse *f, uint64_t part, uint8_t *room, struct round *g)
{
	struct index_part *p = &g->parts[g->n];
	bool any = false;
	int r = 0;

	memset(p, 0, sizeof(*p));
	p->part = (int64_t)part;
	for (unsigned i = 0; i < PART_BLOCKS / WORD; i++) {
		uint64_t at = part * (PART_BLOCKS / WORD) + i;

		if (at >= f->words)
			break;
		p->bits[i] = atomic_load_explicit(&f->here[at], memory_order_acquire) & ~f->saved[at];
		any = any || p->bits[i];
		for (uint64_t w = p->bits[i]; w && r == 0; w &= w - 1) {
			unsigned bit = (unsigned)__builtin_ctzll(w);

			g->bytes += sparse_block_size(f, at * WORD + bit);
			r = sum_block(f, at * WORD + bit, room, &p->sums[i * WORD + bit]);
		}
	}
	g->n += any;
	return r;
}

static int gather(struct sparse *f, uint64_t *part, struct round *g)
{
	_cleanup_free_ uint8_t *room = malloc(SPARSE_BLOCK);
	uint64_t end = (f->blocks + PART_BLOCKS - 1) / PART_BLOCKS;
	int r = room ? 0 : -ENOMEM;

	g->n = 0;
	g->bytes = 0;
	for (; *part < end && g->n < PARTS_AT_ONCE && r == 0; (*part)++)
		r = gather_part(f, *part, room, g);
	return r;
}

static bool is_at_its_place(struct sparse *f)
{
	char rel[SPARSE_REL];
	struct stat here, there;

	return fstat(f->fd, &here) == 0 && here.st_nlink &&
	       fstatat(f->s->dirfd, sparse_file_path(f->name, rel), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Adds the row again after the index was rebuilt. -EAGAIN: the row is there, without blocks. -ESTALE: the
 * file was removed, or the key has another file now. */
static int readmit(struct sparse *f, struct index *ix)
{
	struct store_sparse_row row;
	struct index_hit hit;
	char canon[KEY_TEXT];
	int r;

	key_canon(&f->key, canon);
	r = index_key_find(ix, canon, &hit);
	if (r == -ENOENT)
		r = index_sparse_get(ix, canon, &row);
	if (r == 0 || (r == -ENOENT && !is_at_its_place(f)))
		return -ESTALE;
	if (r != -ENOENT)
		return r;
	sparse_row_of(f, &row);
	r = index_sparse_put(ix, &row);
	if (r == 0)
		r = index_commit(ix);
	if (r < 0)
		return r;
	memset(f->saved, 0, f->words * sizeof(*f->saved));
	f->saved_bytes = 0;
	return -EAGAIN;
}

static int save_part(struct sparse *f, struct index *ix, const struct index_part *new)
{
	struct index_part all;
	int r = index_sparse_part(ix, f->name, new->part, &all);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == -ENOENT)
		all = *new;
	for (unsigned i = 0; i < PART_BLOCKS; i++)
		if (new->bits[i / WORD] >> i % WORD & 1) {
			all.bits[i / WORD] |= 1ull << i % WORD;
			all.sums[i] = new->sums[i];
		}
	return index_sparse_part_put(ix, f->name, &all);
}

static int save_in(struct session *ses, struct sparse *f, const struct round *g)
{
	struct store_sparse_row row;
	struct stat st;
	int r;

	if (fstat(f->fd, &st) < 0)
		return -errno;
	r = index_begin(ses->ix);
	if (r == 0)
		r = index_sparse_get_name(ses->ix, f->name, &row);
	if (r == -ENOENT)
		r = readmit(f, ses->ix);
	for (unsigned i = 0; i < g->n && r == 0; i++)
		r = save_part(f, ses->ix, &g->parts[i]);
	if (r == 0)
		r = index_sparse_grew(ses->ix, f->name, f->saved_bytes + g->bytes,
			(uint64_t)st.st_blocks * 512, clock_wall());
	return index_end(ses->ix, r);
}

static int save(struct sparse *f, const struct round *g)
{
	_cleanup_session_ struct session ses = {.s = f->s, .write = true};

	while (session_next(&ses))
		ses.r = save_in(&ses, f, g);
	if (ses.r == 0 && evict_to_quota(&ses, 0) < 0)
		log_warn("%s: the store is over its quota, and nothing could be evicted", f->s->dir);
	return ses.r;
}

static void mark_saved(struct sparse *f, const struct round *g)
{
	for (unsigned i = 0; i < g->n; i++)
		for (unsigned j = 0; j < PART_BLOCKS / WORD; j++)
			if (g->parts[i].bits[j])
				f->saved[(uint64_t)g->parts[i].part * (PART_BLOCKS / WORD) + j] |=
					g->parts[i].bits[j];
	f->saved_bytes += g->bytes;
	atomic_fetch_sub(&f->dirty, MIN(g->bytes, atomic_load(&f->dirty)));
}

/* Syncs the file. Bytes that cannot be synced are lost: the kernel may have dropped the pages already, and
 * would report no error the next time. So the blocks that are not committed become absent, and no more
 * bytes are written to the file. */
static int sync_or_lose(struct sparse *f)
{
	int r = fdatasync(f->fd) < 0 ? -errno : 0;

	if (r == 0)
		return 0;
	log_warn("%s/sparse/%s: cannot be synced: %s", f->s->dir, f->name, err_text(r));
	atomic_store(&f->stale, true);
	atomic_store(&f->lost, true);
	for (uint64_t i = 0; i < f->words; i++)
		atomic_store(&f->here[i], f->saved[i]);
	atomic_store(&f->present, f->saved_bytes);
	return r;
}

static int commit_all(struct sparse *f)
{
	_cleanup_free_ struct round *g = malloc(sizeof(*g));
	uint64_t part = 0;
	int r = g ? 0 : -ENOMEM;

	atomic_store(&f->dirty_since, 0);
	while (r == 0) {
		/* Gathered blocks were written before the sync, so they are on disk before their bits. */
		r = gather(f, &part, g);
		if (r < 0 || g->n == 0)
			break;
		r = sync_or_lose(f);
		if (r == 0)
			r = save(f, g);
		if (r == 0)
			mark_saved(f, g);
		if (r == -EAGAIN) {
			part = 0;
			r = 0;
		}
	}
	if (r == -ESTALE)
		atomic_store(&f->stale, true);
	else if (r < 0 && !sparse_is_stale(f))
		atomic_store(&f->dirty_since, clock_ms());
	return r;
}

int sparse_commit(struct sparse *f)
{
	LOCK_SCOPE(&f->committing);

	if (!f->writer)
		return -EBADF;
	if (sparse_is_stale(f))
		return -ESTALE;
	return f->finished ? 0 : commit_all(f);
}

/* ---- the end -------------------------------------------------------------------------- */

int sparse_finish(struct sparse *f, const struct blob_facts *facts, const struct store_learned *l,
	struct blob **out, struct err *e)
{
	LOCK_SCOPE(&f->committing);
	char room[KEY_TEXT];
	struct draft *d;
	int r;

	r = !f->writer ? -EBADF : sparse_is_stale(f) ? -ESTALE : sparse_is_full(f) ? 0 : -ENODATA;
	if (r == 0 && f->finished)
		r = -EALREADY;
	if (r == 0)
		r = sync_or_lose(f);
	if (r == 0 && !is_at_its_place(f))
		r = -ESTALE;
	if (r == 0)
		r = draft_of_sparse(&d, f->s, f->fd, f->name);
	if (r < 0)
		return err_set(e, r, "%s: %s", key_text(&f->key, room), err_text(r));
	r = store_publish_learned(f->s, d, &f->key, facts, l, out, e);
	if (r == -ENOENT && !is_at_its_place(f))
		return err_set(e, -ESTALE, "%s: removed from the store", key_text(&f->key, room));
	if (r < 0)
		return r;
	f->finished = true;
	atomic_store(&f->dirty_since, 0);
	sparse_unlist(f);
	return 0;
}

int sparse_drop(struct sparse *f)
{
	_cleanup_session_ struct session ses = {.s = f->s, .write = true};
	LOCK_SCOPE(&f->committing);

	if (f->finished)
		return 0;
	atomic_store(&f->stale, true);
	sparse_unlist(f);
	sparse_file_unlink(f->s, f->name);
	while (session_next(&ses))
		ses.r = index_sparse_drop(ses.ix, f->name);
	if (ses.r == -ENOSPC) { /* a sweep drops the row when there is room */
		atomic_store(&f->s->lost, true);
		return 0;
	}
	return ses.r;
}
