/* Blobs with holes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/sparse.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/evict.h"
#include "store/sparse-file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define WORD 64
#define STRIPES 16	     /* blocks that can be written at the same time */
#define RUNS_MOST 8	     /* pieces of a block that is not whole yet */
#define PARTIAL_MOST 64	     /* such blocks of one stripe; beyond, the oldest is forgotten */
#define LOOK_EVERY (4 << 20) /* bytes between two looks at the free space */
#define DUE_BYTES (8 << 20)
#define DUE_MS 1000
#define PARTS_AT_ONCE 8 /* of one transaction */

struct partial {
	uint64_t block;
	unsigned n;
	struct {
		uint32_t from, to;
	} runs[RUNS_MOST]; /* in order, not touching */
};

struct stripe {
	pthread_mutex_t lock; /* also while a block is written: one that is here never changes */
	struct partial *list;
	unsigned n, room;
};

struct sparse {
	/* fixed once open */
	struct store *s;
	int fd;
	bool writer;
	char name[SPARSE_NAME];
	struct key key;
	struct sparse_validator validator;
	char *url;
	uint64_t blocks, words;

	atomic_uint refs;
	struct sparse *next; /* under the store's sparses.lock, as is: */
	bool listed;

	_Atomic uint64_t *here; /* set with release after the bytes were written */
	atomic_uint_fast64_t present;
	atomic_uint_fast64_t dirty, dirty_since, looked;
	atomic_bool stale;
	struct stripe stripes[STRIPES];

	pthread_mutex_t committing;
	uint64_t *saved; /* under committing, as are: */
	uint64_t saved_bytes;
	bool finished;
};

/* ---- one file in memory --------------------------------------------------------------- */

bool sparse_same(const struct sparse_validator *a, const struct sparse_validator *b)
{
	bool ea = a->etag[0] && strncmp(a->etag, "W/", 2) != 0;
	bool eb = b->etag[0] && strncmp(b->etag, "W/", 2) != 0;

	if (a->size != b->size || strcmp(a->source, b->source) != 0 || ea != eb)
		return false;
	if (ea)
		return strcmp(a->etag, b->etag) == 0;
	return a->last_modified[0] && strcmp(a->last_modified, b->last_modified) == 0;
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

static void unlist_locked(struct sparse *f)
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
	/* The last one lets the lock of the file go before an opener can miss it in the list. */
	{
		LOCK_SCOPE(&f->s->sparses.lock);

		if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
			return;
		unlist(f);
		close(take_fd(&f->fd));
	}
	sparse_free(f);
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

void sparses_init(struct store *s)
{
	pthread_mutex_init(&s->sparses.opening, NULL);
	pthread_mutex_init(&s->sparses.lock, NULL);
}

void sparses_release(struct store *s)
{
	pthread_mutex_destroy(&s->sparses.opening);
	pthread_mutex_destroy(&s->sparses.lock);
}

/* ---- blocks --------------------------------------------------------------------------- */

static uint32_t block_size(const struct sparse *f, uint64_t block)
{
	return (uint32_t)MIN((uint64_t)SPARSE_BLOCK, f->validator.size - block * SPARSE_BLOCK);
}

static bool is_here(const struct sparse *f, uint64_t block)
{
	return atomic_load_explicit(&f->here[block / WORD], memory_order_acquire) >> block % WORD & 1;
}

/* The block was written: whoever sees the bit sees the bytes. */
static void set_here(struct sparse *f, uint64_t block)
{
	uint32_t n = block_size(f, block);
	uint_fast64_t none = 0;

	atomic_fetch_or_explicit(&f->here[block / WORD], 1ull << block % WORD, memory_order_release);
	atomic_fetch_add(&f->present, n);
	atomic_fetch_add(&f->dirty, n);
	atomic_compare_exchange_strong(&f->dirty_since, &none, clock_ms());
}

/* The first block from `from` and before `end` that is (or is not) here; `end` when there is none. */
static uint64_t next_block(const struct sparse *f, uint64_t from, uint64_t end, bool here)
{
	while (from < end) {
		uint64_t w = atomic_load_explicit(&f->here[from / WORD], memory_order_acquire);

		w = (here ? w : ~w) >> from % WORD;
		if (w)
			return MIN(from + (unsigned)__builtin_ctzll(w), end);
		from += WORD - from % WORD;
	}
	return end;
}

uint64_t sparse_size(const struct sparse *f)
{
	return f->validator.size;
}

const struct sparse_validator *sparse_validator(const struct sparse *f)
{
	return &f->validator;
}

bool sparse_is_writer(const struct sparse *f)
{
	return f->writer;
}

bool sparse_is_stale(const struct sparse *f)
{
	return atomic_load(&f->stale);
}

uint64_t sparse_number(const struct sparse *f)
{
	uint64_t n = strtoull(f->name, NULL, 16) & INT64_MAX;

	return MAX(n, 2);
}

uint64_t sparse_present(const struct sparse *f)
{
	return atomic_load(&f->present);
}

bool sparse_is_full(const struct sparse *f)
{
	return sparse_present(f) == f->validator.size;
}

int sparse_fd(const struct sparse *f)
{
	return f->fd;
}

bool sparse_missing(const struct sparse *f, uint64_t off, uint64_t n, struct sparse_hole *out)
{
	uint64_t size = f->validator.size, end, first, last;

	if (n == 0 || off >= size)
		return false;
	end = (off + MIN(n, size - off) + SPARSE_BLOCK - 1) / SPARSE_BLOCK;
	first = next_block(f, off / SPARSE_BLOCK, end, false);
	if (first == end)
		return false;
	last = next_block(f, first, end, true);
	out->off = first * SPARSE_BLOCK;
	out->n = MIN(last * SPARSE_BLOCK, size) - out->off;
	return true;
}

bool sparse_has(const struct sparse *f, uint64_t off, uint64_t n)
{
	struct sparse_hole hole;

	return !sparse_missing(f, off, n, &hole);
}

static ssize_t read_all(int fd, uint64_t off, void *p, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(fd, (char *)p + done, n - done, (off_t)(off + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EIO;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

ssize_t sparse_read(struct sparse *f, uint64_t off, void *p, size_t n, struct sparse_hole *hole)
{
	struct sparse_hole room;

	if (off >= f->validator.size)
		return 0;
	n = (size_t)MIN((uint64_t)n, f->validator.size - off);
	n = MIN(n, (size_t)SSIZE_MAX);
	if (sparse_missing(f, off, n, hole ? hole : &room))
		return -EAGAIN;
	return read_all(f->fd, off, p, n);
}

/* ---- writing -------------------------------------------------------------------------- */

static struct partial *partial_of(struct stripe *st, uint64_t block)
{
	struct partial *more;

	for (unsigned i = 0; i < st->n; i++)
		if (st->list[i].block == block)
			return &st->list[i];
	if (st->n == PARTIAL_MOST)
		memmove(st->list, st->list + 1, --st->n * sizeof(*st->list));
	if (st->n == st->room) {
		more = reallocarray(st->list, st->room + 4, sizeof(*more));
		if (!more)
			return NULL;
		st->list = more;
		st->room += 4;
	}
	st->list[st->n] = (struct partial){.block = block};
	return &st->list[st->n++];
}

/* Joins [from, to) with the runs that it touches. */
static void add_run(struct partial *p, uint32_t from, uint32_t to)
{
	unsigned kept = 0, at;

	for (unsigned i = 0; i < p->n; i++) {
		if (p->runs[i].to < from || p->runs[i].from > to) {
			p->runs[kept++] = p->runs[i];
			continue;
		}
		from = MIN(from, p->runs[i].from);
		to = MAX(to, p->runs[i].to);
	}
	if (kept == RUNS_MOST) /* forgotten, and to come again */
		kept--;
	for (at = kept; at > 0 && p->runs[at - 1].from > from; at--)
		p->runs[at] = p->runs[at - 1];
	p->runs[at].from = from;
	p->runs[at].to = to;
	p->n = kept + 1;
}

/* Whether the block is whole with these bytes. */
static bool is_whole_with(struct sparse *f, struct stripe *st, uint64_t block, uint32_t from,
	uint32_t to)
{
	struct partial *p;

	if (from == 0 && to == block_size(f, block))
		return true;
	p = partial_of(st, block);
	if (!p)
		return false;
	add_run(p, from, to);
	return p->n == 1 && p->runs[0].from == 0 && p->runs[0].to == block_size(f, block);
}

static void forget_partial(struct stripe *st, uint64_t block)
{
	for (unsigned i = 0; i < st->n; i++)
		if (st->list[i].block == block) {
			st->list[i] = st->list[--st->n];
			return;
		}
}

static int write_all(int fd, uint64_t off, const void *p, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t w = pwrite(fd, (const char *)p + done, n - done, (off_t)(off + done));

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return errno == EDQUOT ? -ENOSPC : -errno;
		done += (size_t)w;
	}
	return 0;
}

/* Bytes of one block. */
static int write_in(struct sparse *f, uint64_t off, const void *p, size_t n)
{
	uint64_t block = off / SPARSE_BLOCK;
	uint32_t from = (uint32_t)(off % SPARSE_BLOCK);
	struct stripe *st = &f->stripes[block % STRIPES];
	LOCK_SCOPE(&st->lock);
	int r;

	if (is_here(f, block))
		return 0;
	r = write_all(f->fd, off, p, n);
	if (r == 0 && is_whole_with(f, st, block, from, from + (uint32_t)n)) {
		forget_partial(st, block);
		set_here(f, block);
	}
	return r;
}

static int look_at_space(struct sparse *f, size_t n)
{
	uint64_t looked = atomic_fetch_add(&f->looked, n) + n;

	if (looked < LOOK_EVERY)
		return 0;
	if (!evict_has_room(f->s, n)) {
		atomic_store(&f->looked, LOOK_EVERY); /* and when it is tried again */
		return -ENOSPC;
	}
	atomic_store(&f->looked, 0);
	return 0;
}

int sparse_write(struct sparse *f, uint64_t off, const void *p, size_t n)
{
	int r;

	if (!f->writer)
		return -EBADF;
	if (off > f->validator.size || n > f->validator.size - off)
		return -EFBIG;
	if (sparse_is_stale(f))
		return -ESTALE;
	r = look_at_space(f, n);
	while (n && r == 0) {
		size_t part = MIN(n, (size_t)(SPARSE_BLOCK - off % SPARSE_BLOCK));

		r = write_in(f, off, p, part);
		p = (const char *)p + part;
		off += part;
		n -= part;
	}
	return r;
}

bool sparse_is_due(const struct sparse *f)
{
	uint64_t since = atomic_load(&f->dirty_since);

	return since && !sparse_is_stale(f) &&
	       (atomic_load(&f->dirty) >= DUE_BYTES || clock_ms() - since >= DUE_MS);
}

/* ---- what is known of it -------------------------------------------------------------- */

/* The bits of one part, as far as there are such blocks. */
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
				block_size(f, at * WORD + (unsigned)__builtin_ctzll(fresh)));
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
	_cleanup_turn_ struct turn t = {.s = f->s};

	while (turn_next(&t))
		t.r = load_parts(f, t.ix);
	f->saved_bytes = sparse_present(f);
	return t.r;
}

/* ---- opening -------------------------------------------------------------------------- */

static void row_of(const struct sparse *f, struct store_sparse_row *row)
{
	memset(row, 0, sizeof(*row));
	row->key = f->key;
	memcpy(row->name, f->name, sizeof(row->name));
	row->validator = f->validator;
	snprintf(row->url, sizeof(row->url), "%s", f->url);
	row->used = row->since = clock_wall();
}

/* What lies there: taken when it is of the same validator, and else dropped. 1: taken. `own`: the
 * name of one that this process holds and gives up. */
static int take_or_drop(struct turn *t, struct sparse *f, const char *own)
{
	_cleanup_close_ int fd = -1;
	char canon[KEY_TEXT];
	struct store_sparse_row row;
	struct stat st;
	int r;

	r = index_sparse_get(t->ix, key_canon(&f->key, canon), &row);
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
			r = index_sparse_used(t->ix, f->name, clock_wall());
			return r < 0 ? r : 1;
		}
	}
	r = index_sparse_drop(t->ix, row.name);
	if (r == 0)
		sparse_file_unlink(f->s, row.name);
	return r;
}

static int open_in(struct turn *t, struct sparse *f, const char *own)
{
	struct store_sparse_row row;
	int r;

	if (f->fd >= 0) /* of a first try */
		close(take_fd(&f->fd));
	r = index_begin(t->ix);
	if (r == 0)
		r = take_or_drop(t, f, own);
	if (r == 0) {
		r = sparse_file_new(f->s, f->validator.size, f->name, &f->fd);
		row_of(f, &row);
		if (r == 0)
			r = index_sparse_put(t->ix, &row);
		if (r < 0 && f->fd >= 0)
			sparse_file_unlink(f->s, f->name);
	}
	if (r >= 0)
		r = index_commit(t->ix);
	if (r < 0)
		index_rollback(t->ix);
	return r;
}

static int open_new(struct sparse *f, const char *own)
{
	_cleanup_turn_ struct turn t = {.s = f->s, .write = true};

	while (turn_next(&t))
		t.r = open_in(&t, f, own);
	return t.r;
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
	if (!evict_has_room(s, 1) && evict_make_room(s, 1) < 0)
		return evict_no_room(s, e);
	if (there) {
		atomic_store(&there->stale, true);
		unlist_locked(there);
	}
	r = open_fresh(s, k, v, url, there ? there->name : "", out);
	return r < 0 ? err_set(e, r, "%s: cannot be filled in %s/sparse: %s", key_text(k, room), s->dir,
			       r == -EBUSY ? "another process does" : err_text(r))
		     : 0;
}

static int row_by_key(struct store *s, const struct key *k, struct store_sparse_row *row)
{
	_cleanup_turn_ struct turn t = {.s = s};
	char canon[KEY_TEXT];

	key_canon(k, canon);
	while (turn_next(&t))
		t.r = index_sparse_find(t.ix, canon, row);
	return t.r;
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

int sparse_refresh(struct sparse *f)
{
	_cleanup_turn_ struct turn t = {.s = f->s};
	struct store_sparse_row row;

	if (f->writer)
		return 0;
	while (turn_next(&t)) {
		LOCK_SCOPE(&f->committing);

		t.r = index_sparse_find_name(t.ix, f->name, &row);
		if (t.r == 0)
			t.r = load_parts(f, t.ix);
	}
	return t.r == -ENOENT ? -ESTALE : t.r;
}

/* ---- committing ----------------------------------------------------------------------- */

struct round {
	struct index_part parts[PARTS_AT_ONCE]; /* bits and sums of what is new */
	unsigned n;
	uint64_t bytes;
};

static int sum_block(struct sparse *f, uint64_t block, uint8_t *room, uint32_t *out)
{
	uint32_t n = block_size(f, block);
	ssize_t got = read_all(f->fd, block * SPARSE_BLOCK, room, n);

	if (got < 0)
		return (int)got;
	*out = crc32c(room, n);
	return 0;
}

/* What of one part is here and not saved. */
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

			g->bytes += block_size(f, at * WORD + bit);
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

/* There is no row: either it was removed, or the index was made anew and knows nothing of it.
 * -EAGAIN: now there is one again, without a block. */
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
	row_of(f, &row);
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

static int save_in(struct turn *t, struct sparse *f, const struct round *g)
{
	struct store_sparse_row row;
	struct stat st;
	int r;

	if (fstat(f->fd, &st) < 0)
		return -errno;
	r = index_begin(t->ix);
	if (r == 0)
		r = index_sparse_get_name(t->ix, f->name, &row);
	if (r == -ENOENT)
		r = readmit(f, t->ix);
	for (unsigned i = 0; i < g->n && r == 0; i++)
		r = save_part(f, t->ix, &g->parts[i]);
	if (r == 0)
		r = index_sparse_grew(t->ix, f->name, f->saved_bytes + g->bytes,
			(uint64_t)st.st_blocks * 512, clock_wall());
	if (r == 0)
		r = index_commit(t->ix);
	if (r < 0)
		index_rollback(t->ix);
	return r;
}

static int save(struct sparse *f, const struct round *g)
{
	_cleanup_turn_ struct turn t = {.s = f->s, .write = true};

	while (turn_next(&t))
		t.r = save_in(&t, f, g);
	if (t.r == 0 && evict_to_quota(&t, 0) < 0)
		log_warn("%s: nothing could be evicted, the store is over its quota", f->s->dir);
	return t.r;
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

static int commit_all(struct sparse *f)
{
	_cleanup_free_ struct round *g = malloc(sizeof(*g));
	uint64_t part = 0;
	int r = g ? 0 : -ENOMEM;

	atomic_store(&f->dirty_since, 0);
	while (r == 0) {
		/* What is gathered was written before the sync, and so is on disk before its bits. */
		r = gather(f, &part, g);
		if (r < 0 || g->n == 0)
			break;
		r = fdatasync(f->fd) < 0 ? -errno : save(f, g);
		if (r == 0)
			mark_saved(f, g);
		if (r == -EAGAIN) {
			part = 0;
			r = 0;
		}
	}
	if (r == -ESTALE)
		atomic_store(&f->stale, true);
	else if (r < 0)
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
		r = draft_of_sparse(&d, f->s, f->fd, f->name);
	if (r < 0)
		return err_set(e, r, "%s: %s", key_text(&f->key, room), err_text(r));
	r = store_publish_learned(f->s, d, &f->key, facts, l, out, e);
	if (r < 0)
		return r;
	f->finished = true;
	atomic_store(&f->dirty_since, 0);
	unlist_locked(f);
	return 0;
}

static int drop_in(struct turn *t, struct sparse *f)
{
	int r;

	r = index_sparse_drop(t->ix, f->name);
	if (r == 0)
		sparse_file_unlink(f->s, f->name);
	return r;
}

int sparse_drop(struct sparse *f)
{
	_cleanup_turn_ struct turn t = {.s = f->s, .write = true};
	LOCK_SCOPE(&f->committing);

	if (f->finished)
		return 0;
	atomic_store(&f->stale, true);
	unlist_locked(f);
	while (turn_next(&t))
		t.r = drop_in(&t, f);
	return t.r;
}
