/* A sparse file in memory: which blocks are present; reading and writing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "store/evict.h"
#include "store/sparse-private.h"

#include <stdio.h>
#include <string.h>

#define PARTIAL_MOST 64	     /* unfinished blocks of one stripe; a further block replaces an older block */
#define LOOK_EVERY (4 << 20) /* bytes written between two checks of the free space */
#define DUE_BYTES (8 << 20)
#define DUE_MS 1000

/* ---- one file in memory --------------------------------------------------------------- */

/* ---- blocks --------------------------------------------------------------------------- */

uint32_t sparse_block_size(const struct sparse *f, uint64_t block)
{
	return (uint32_t)MIN((uint64_t)SPARSE_BLOCK, f->validator.size - block * SPARSE_BLOCK);
}

static bool is_here(const struct sparse *f, uint64_t block)
{
	return atomic_load_explicit(&f->here[block / WORD], memory_order_acquire) >> block % WORD & 1;
}

/* Marks a written block as present. A thread that sees the bit also sees the bytes. */
static void set_here(struct sparse *f, uint64_t block)
{
	uint32_t n = sparse_block_size(f, block);
	uint_fast64_t none = 0;

	atomic_fetch_or_explicit(&f->here[block / WORD], 1ull << block % WORD, memory_order_release);
	atomic_fetch_add(&f->present, n);
	atomic_fetch_add(&f->dirty, n);
	atomic_compare_exchange_strong(&f->dirty_since, &none, clock_ms());
}

/* The first block in [from, end) that is present (`here`) or missing (not `here`); `end`: no such block. */
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
	if (kept == RUNS_MOST) /* the last run is dropped; its bytes are downloaded again */
		kept--;
	for (at = kept; at > 0 && p->runs[at - 1].from > from; at--)
		p->runs[at] = p->runs[at - 1];
	p->runs[at].from = from;
	p->runs[at].to = to;
	p->n = kept + 1;
}

/* Whether these bytes complete the block. */
static bool is_whole_with(struct sparse *f, struct stripe *st, uint64_t block, uint32_t from,
	uint32_t to)
{
	struct partial *p;

	if (from == 0 && to == sparse_block_size(f, block))
		return true;
	p = partial_of(st, block);
	if (!p)
		return false;
	add_run(p, from, to);
	return p->n == 1 && p->runs[0].from == 0 && p->runs[0].to == sparse_block_size(f, block);
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

/* Writes bytes of one block. */
static int write_in(struct sparse *f, uint64_t off, const void *p, size_t n)
{
	uint64_t block = off / SPARSE_BLOCK;
	uint32_t from = (uint32_t)(off % SPARSE_BLOCK);
	struct stripe *st = &f->stripes[block % STRIPES];
	LOCK_SCOPE(&st->lock);
	int r;

	if (is_here(f, block))
		return 0;
	if (atomic_load(&f->lost))
		return -ESTALE;
	r = write_all(f->fd, off, p, n);
	if (r == 0 && is_whole_with(f, st, block, from, from + (uint32_t)n)) {
		forget_partial(st, block);
		set_here(f, block);
	}
	return r;
}

/* The number of bytes from `from`, up to `to`, that are present without a gap. */
static uint32_t piece_at(struct sparse *f, uint64_t block, uint32_t from, uint32_t to)
{
	struct stripe *st = &f->stripes[block % STRIPES];
	LOCK_SCOPE(&st->lock);

	if (is_here(f, block))
		return to - from;
	for (unsigned i = 0; i < st->n; i++)
		for (unsigned k = 0; st->list[i].block == block && k < st->list[i].n; k++)
			if (st->list[i].runs[k].from <= from && from < st->list[i].runs[k].to)
				return MIN(to, st->list[i].runs[k].to) - from;
	return 0;
}

uint64_t sparse_piece(struct sparse *f, uint64_t off, uint64_t n)
{
	uint64_t size = f->validator.size, block = off / SPARSE_BLOCK, end;

	if (n == 0 || off >= size)
		return 0;
	end = MIN(off + MIN(n, size - off), (block + 1) * SPARSE_BLOCK);
	return piece_at(f, block, (uint32_t)(off % SPARSE_BLOCK), (uint32_t)(end - block * SPARSE_BLOCK));
}

bool sparse_has_pieces(struct sparse *f, uint64_t off, uint64_t n)
{
	uint64_t size = f->validator.size, end = off < size ? off + MIN(n, size - off) : off;

	while (off < end) {
		uint64_t to = MIN((off / SPARSE_BLOCK + 1) * SPARSE_BLOCK, end);

		if (sparse_piece(f, off, to - off) < to - off)
			return false;
		off = to;
	}
	return true;
}

static int look_at_space(struct sparse *f, size_t n)
{
	uint64_t looked = atomic_fetch_add(&f->looked, n) + n;

	if (looked < LOOK_EVERY)
		return 0;
	if (!room_has(f->s, n)) {
		atomic_store(&f->looked, LOOK_EVERY); /* check the free space again at the next write */
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
	if (atomic_load(&f->lost))
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
