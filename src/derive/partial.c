/* Answers for a few addresses of a PDB: a worker process reads the PDB, and this file supplies the ranges that the
 * worker asks for. They come from the stored file, or are fetched from a server. Of a Breakpad file the worker has
 * the whole (asked.c). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/util.h"
#include "base/workers.h"
#include "derive/convert/worker.h"
#include "derive/private.h"

#include <time.h>

#define SECONDS 120
#define SIZE_LEAST (4u << 20)	/* a smaller file takes less time to fetch as a whole */
#define SIZE_MOST (64ull << 30) /* the worker keeps a byte for each page */
#define SCATTERED_MOST (512u << 10) /* longer ranges are fetched in blocks, not in pieces */
#define SCATTERED_LESS (48u << 10)  /* this limit instead, in a round of more than SCATTERED_ALL */
#define SCATTERED_ALL (4u << 20)    /* bytes, because each piece is a wait of its own */
#define WHOLE_PERCENT 35	/* if this share of the file is present, all of it is converted for later */
#define IDLE_SIZE_MOST (64ull << 20) /* of a Breakpad file: the worker that converts it takes less than 256 MiB */
#define OFTEN 3			/* a stored file that was asked for this often is converted for later */
#define READS_MOST 4		/* attempts to read one range, because pieces may be discarded before they are read */
#define LOOK_MS 200		/* milliseconds between two checks of `stop` */

/* ---- waiting for ranges --------------------------------------------------------------------- */

/* The ranges of one round. */
struct round {
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned pending;
	int r;
	struct part_wait **waits;
	size_t n, room;
};

static void range_ready(void *ctx, int r)
{
	struct round *round = ctx;
	LOCK_SCOPE(&round->lock);

	round->pending--;
	round->r = r < 0 ? r : round->r;
	pthread_cond_signal(&round->change);
}

static int wait_for_range(struct partial *p, struct round *round, uint64_t off, uint64_t n, bool piece)
{
	struct part_wait *w = NULL;
	int r = grow(&round->waits, &round->room, round->n, sizeof(struct part_wait *));

	if (r < 0)
		return r;
	pthread_mutex_lock(&round->lock);
	round->pending++;
	pthread_mutex_unlock(&round->lock);
	r = part_wait(p->part, piece ? PART_FAR : PART_ALL, off, (size_t)n, range_ready, round, &w);
	if (r == 0)
		round->waits[round->n++] = w;
	else
		range_ready(round, MIN(r, 0)); /* 1: the bytes are present, or will never arrive */
	return MIN(r, 0);
}

/* Short ranges are fetched as pieces, each within a PART_PIECE of the file. */
static int wait_for_pieces(struct partial *p, struct round *round, const struct msf_lack *range, uint64_t most)
{
	int r = 0;

	if (range->n > most)
		return wait_for_range(p, round, range->off, range->n, false);
	for (uint64_t at = range->off, next; r == 0 && at < range->off + range->n; at = next) {
		next = MIN(at - at % PART_PIECE + PART_PIECE, range->off + range->n);
		r = wait_for_range(p, round, at, next - at, true);
	}
	return r;
}

/* Waits until all ranges came. -EINTR: the caller gave up. */
static int finish_round(struct partial *p, struct round *round)
{
	bool cancelled;

	pthread_mutex_lock(&round->lock);
	cancelled = round->r < 0;
	while (round->pending) {
		struct timespec until = clock_after(CLOCK_REALTIME, LOOK_MS);

		if (atomic_load(&p->stop) || cancelled) {
			cancelled = true;
			pthread_mutex_unlock(&round->lock);
			for (size_t i = 0; i < round->n; i++)
				part_wait_cancel(round->waits[i]);
			pthread_mutex_lock(&round->lock);
		}
		if (round->pending)
			pthread_cond_timedwait(&round->change, &round->lock, &until);
	}
	pthread_mutex_unlock(&round->lock);
	for (size_t i = 0; i < round->n; i++)
		part_wait_unref(round->waits[i]);
	free(round->waits);
	pthread_mutex_destroy(&round->lock);
	pthread_cond_destroy(&round->change);
	return atomic_load(&p->stop) ? -EINTR : round->r;
}

static int await_ranges(struct partial *p, const struct msf_lack *ranges, unsigned n, bool whole_blocks)
{
	struct round round = {0};
	uint64_t sum = 0, most;
	int r = 0;

	for (unsigned i = 0; i < n; i++)
		sum += ranges[i].n <= SCATTERED_MOST ? ranges[i].n : 0;
	most = whole_blocks ? 0 : sum <= SCATTERED_ALL ? SCATTERED_MOST : SCATTERED_LESS;

	pthread_mutex_init(&round.lock, NULL);
	pthread_cond_init(&round.change, NULL);
	part_hold(p->part);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = wait_for_pieces(p, &round, &ranges[i], most);
	part_release(p->part);
	pthread_mutex_lock(&round.lock);
	round.r = r < 0 ? r : round.r;
	pthread_mutex_unlock(&round.lock);
	return finish_round(p, &round);
}

/* All of a stored file is present. */
static int partial_await(void *ctx, const struct msf_lack *ranges, unsigned n)
{
	struct partial *p = ctx;

	return p->whole ? 0 : await_ranges(p, ranges, n, false);
}

static int read_piece(struct partial *p, uint64_t off, void *to, size_t n)
{
	const struct msf_lack range = {off, n};

	for (unsigned i = 0; i < READS_MOST; i++) {
		ssize_t got = part_read_once(p->part, off, to, n);
		int r;

		if (got == (ssize_t)n)
			return 0;
		if (got != -EAGAIN)
			return got < 0 ? (int)got : -EIO;
		r = await_ranges(p, &range, 1, true);
		if (r < 0)
			return r;
	}
	return -EIO;
}

static int partial_read(void *ctx, uint64_t off, void *to, size_t n)
{
	struct partial *p = ctx;
	int r = 0;

	if (p->whole) {
		struct view v = view_of_fd(blob_fd(p->whole), blob_size(p->whole));

		return view_read(&v, off, to, n) < 0 ? -EIO : 0;
	}
	if (part_read_once(p->part, off, to, n) == (ssize_t)n)
		return 0;
	for (uint64_t at = off, next; r == 0 && at < off + n; at = next) {
		next = MIN(at - at % PART_PIECE + PART_PIECE, off + n);
		r = read_piece(p, at, (uint8_t *)to + (at - off), (size_t)(next - at));
	}
	return r;
}

/* ---- a stored file -------------------------------------------------------------------------- */

/* Counts a request for a stored file. Returns whether the file was now asked for often. */
static bool is_often(struct partial *p)
{
	struct partial_count *c;
	struct key k;
	LOCK_SCOPE(&p->d->lock);

	if (key_of(&k, &p->a) < 0)
		return false;
	c = &p->d->partial_counts[key_number(&k) % PARTIAL_COUNTS];
	if (c->number != key_number(&k))
		*c = (struct partial_count){.number = key_number(&k)};
	return ++c->n % OFTEN == 0;
}

/* ---- the answer ----------------------------------------------------------------------------- */

void partial_unref(struct partial *p)
{
	if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
		return;
	blob_unref(p->whole);
	free(p->addrs);
	free(p);
}

static void partial_end(struct partial *p, int r, struct blob *b, const char *why)
{
	struct fetched f = {.r = r, .blob = b, .why = why ? why : err_text(r), .miss_ms = 2000,
		.size = b ? blob_size(b) : FETCH_SIZE_UNKNOWN};
	struct partial **at = &p->d->partials;

	pthread_mutex_lock(&p->d->lock);
	while (*at && *at != p)
		at = &(*at)->next;
	if (*at)
		*at = p->next;
	pthread_mutex_unlock(&p->d->lock);
	p->ready(p->ctx, &f);
	partial_unref(p);
}

/* Converts a file that is worth it, for later requests; no caller waits. */
static void convert_behind(struct partial *p)
{
	struct artifact made;
	struct making *m;
	bool much, sym = p->a.type == FILETYPE_BREAKPAD;
	int r;

	/* A file that comes from front to back comes whole, and counts as a stored one. */
	much = p->whole || !part_is_sparse(p->part) ?
		is_often(p) : part_present(p->part) * 100 >= part_size(p->part) * WHOLE_PERCENT;
	/* A server that is never idle converts the file after some requests. */
	if (sym && !(much && p->d->idles) && blob_size(p->whole) <= IDLE_SIZE_MOST) {
		idle_add(p->d, &p->a);
		return;
	}

	if (!much || atomic_load(&p->stop))
		return;
	r = sym ? derive_exact(p->d, &p->a, false, &made) : derive_artifact(&p->a, false, &made);
	if (r == 0 && derive_open(p->d, &made, NULL, NULL, &m) == 0)
		making_unref(m);
}

static int make_blob(struct partial *p, struct blob **out, struct err *e)
{
	struct partial_file file = {.size = p->whole ? blob_size(p->whole) : part_size(p->part),
		.await = partial_await, .read = partial_read, .ctx = p};
	struct gsym_work o = {.seconds = SECONDS, .threads = 1, .stop = &p->stop,
		.memory = derive_memory(p->d), .unsandboxed = fetch_opts(p->d->fetch)->allow_unsandboxed};
	struct blob_facts facts = {.verified = true};
	int fd = -1, r;

	r = p->a.type == FILETYPE_BREAKPAD ? partial_make_asked(p, &fd, e)
					   : gsym_work_partial(&o, &file, p->addrs, p->n, &fd, e);
	return r < 0 ? r : blob_of_file(out, fd, "GSYM of some addresses", &facts);
}

/* (workers) */
static void partial_run(void *ctx)
{
	struct partial *p = ctx;
	struct blob *b = NULL;
	struct err e = {0};
	uint64_t began = clock_ms();
	int r = make_blob(p, &b, &e);

	log_debug(LOG_FETCH, "%s: %zu addresses from %llu of %llu KiB in %llu ms: %s", p->a.m.debug_file, p->n,
		(unsigned long long)(p->whole ? blob_size(p->whole) : part_present(p->part)) >> 10,
		(unsigned long long)(p->whole ? blob_size(p->whole) : part_size(p->part)) >> 10,
		(unsigned long long)(clock_ms() - began), r < 0 ? e.text : "answered");
	if (r == 0)
		convert_behind(p);
	if (p->part) {
		part_close(p->part);
		part_unref(p->part);
	}
	partial_end(p, r < 0 && r != -EINTR ? -EALREADY : r, b, e.text);
	blob_unref(b);
}

static bool has_good_size(const struct blob *b)
{
	return blob_size(b) >= SIZE_LEAST && blob_size(b) <= SIZE_MOST;
}

/* The PDB was identified. It is a whole file if it is in a directory, or the server has no byte ranges. */
static int partial_begin(struct partial *p, const struct fetched *f)
{
	if (f->r < 0)
		return f->r;
	if (f->blob && p->n <= DERIVE_WHOLE_MOST && has_good_size(f->blob)) {
		p->whole = blob_ref(f->blob);
		return workers_post(p->d->workers, partial_run, p) == 0 ? 0 : -EALREADY;
	}
	if (!f->part || !part_is_sparse(f->part) || part_size(f->part) < SIZE_LEAST || part_size(f->part) > SIZE_MOST)
		return -EALREADY;
	p->part = part_ref(f->part);
	part_open(p->part);
	if (workers_post(p->d->workers, partial_run, p) == 0)
		return 0;
	part_close(p->part);
	part_unref(p->part);
	return -EALREADY;
}

static void partial_ready(void *ctx, const struct fetched *f)
{
	struct partial *p = ctx;
	struct derive *d = p->d;
	int r;

	pthread_mutex_lock(&d->lock);
	ticket_unref(take(p->ticket));
	pthread_mutex_unlock(&d->lock);
	r = partial_begin(p, f);
	if (r < 0)
		partial_end(p, r, NULL, f->why);
	derive_asked(d);
}

/* ---- the interface -------------------------------------------------------------------------- */

void partial_cancel(struct partial *p)
{
	LOCK_SCOPE(&p->d->lock);

	partial_stop(p);
}

/* Under lock. */
static int partial_ask(struct derive *d, struct partial *p)
{
	int r;

	if (d->stopped)
		return -EINTR;
	if (p->whole) {
		r = workers_post(d->workers, partial_run, p);
		if (r < 0)
			return r;
	} else {
		d->asking++;
		r = fetch_open(d->fetch, &p->a, 1, FETCH_OPEN, partial_ready, p, &p->ticket);
		if (r < 0) {
			d->asking--;
			return r;
		}
	}
	p->next = d->partials;
	d->partials = p;
	d->begun++;
	return 0;
}

int derive_partial(struct derive *d, const struct artifact *a, struct blob *whole, const uint32_t *addrs, size_t n,
	fetch_ready *ready, void *ctx, struct partial **out)
{
	struct partial *p;
	int r = -ENOMEM;

	if (a->type == FILETYPE_BREAKPAD ? !whole || !partial_can_ask(whole) : whole && !has_good_size(whole))
		return -EALREADY;
	p = calloc(1, sizeof(*p));
	if (!p)
		return r;
	*p = (struct partial){.d = d, .a = *a, .n = n, .ready = ready, .ctx = ctx};
	atomic_init(&p->refs, 2); /* the caller's reference, and the callback's */
	p->addrs = malloc((n + 1) * sizeof(*addrs));
	if (p->addrs) {
		memcpy(p->addrs, addrs, n * sizeof(*addrs));
		*out = p;
		p->whole = whole ? blob_ref(whole) : NULL;
		pthread_mutex_lock(&d->lock);
		r = partial_ask(d, p);
		pthread_mutex_unlock(&d->lock);
	}
	if (r == 0)
		return 0;
	blob_unref(p->whole);
	free(p->addrs);
	free(p);
	*out = NULL;
	return r;
}
