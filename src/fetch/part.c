/* Parts, the files whose bytes are still arriving: reads the bytes that are present, and wakes readers when the bytes
 * that they wait for arrive. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/part.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "base/view.h"
#include "fetch/flight/flight.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

struct part_wait {
	atomic_uint refs;
	struct part *part;
	uint64_t off, end; /* the wanted bytes */
	uint64_t enough;   /* the wait ends when the bytes from `off` to here are present */
	bool sealed;	   /* instead, the wait ends when the file is sealed */
	bool piece;	   /* the wait is for PART_FAR */
	part_ready *ready;
	void *ctx;
	atomic_int pid; /* 0: unknown */
	/* under the part's lock */
	struct part_wait *next, **at; /* `at`: the list's link to this wait; NULL: the wait is over */
};

#define PIECE_MOST PART_PIECE

/* How many refusals are remembered: more than the kernel has reads under way for one file. */
#define REFUSED_MOST 64
struct refused {
	uint64_t off, end;
};

/* Only bytes that were never read may be replaced by those of another version. */
enum touch { UNTOUCHED, TOUCHED, SUSPENDED };

struct part {
	atomic_uint refs;
	/* constant */
	int fd;
	uint64_t size, number;
	int64_t time, modified;
	bool poor;
	char maker[BLOB_MAKER]; /* part_maker() */
	struct sparse *sparse; /* a sparse file; NULL: a stream. Use sparse_of() */

	atomic_uint_fast64_t have; /* bytes present from the front; unused for a sparse file */
	atomic_int over;	   /* 0; an error: no more bytes will arrive */
	atomic_bool bad;	   /* the file is wrong, so every read fails */
	_Atomic(enum touch) touch;
	atomic_bool renewed;	   /* part_suspend() was called; `sparse` is no longer in use */
	atomic_bool sealed;
	atomic_bool sparing;	   /* only bytes that readers need are fetched */
	/* Set by part_mark(). A reader may see a new `off` with an old `end`; that costs a needless call. */
	struct {
		atomic_uint_fast64_t off, end;
	} marks[AHEAD_RUNS];
	atomic_uint reached;

	pthread_mutex_t lock;
	/* under lock */
	struct part_wait *waits;
	unsigned opens, holds;
	struct net *net; /* NULL: the part's flight is over */
	bool nudged;	 /* part_changed() was posted, and has not run yet */
	struct refused refused[REFUSED_MOST];
	unsigned next_refused;

	/* net thread only */
	void (*changed)(void *ctx); /* NULL: the part's flight is over */
	void *ctx;
};

/* ---- lifetime ----------------------------------------------------------------------- */

/* Returns a random number that no other bytes have had, even in an earlier process: the kernel's page cache may
 * outlive a process. */
static uint64_t fresh_number(void)
{
	uint64_t n = 0;

	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		n = clock_ms() * 0x9e3779b97f4a7c15u;
	n &= INT64_MAX;
	return n > 1 ? n : 2;
}

int part_new(struct part **out, const struct part_opts *o)
{
	struct part *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
	if (p->fd < 0) {
		free(p);
		return -EMFILE;
	}
	atomic_init(&p->refs, 1);
	pthread_mutex_init(&p->lock, NULL);
	p->size = o->size;
	p->sparse = o->sp ? sparse_ref(o->sp) : NULL;
	/* The kernel may still have pages of a sparse file that was read by earlier handles. */
	atomic_init(&p->touch, o->touched ? TOUCHED : UNTOUCHED);
	p->number = o->sp ? sparse_number(o->sp) : fresh_number();
	p->time = clock_wall();
	p->modified = o->modified;
	atomic_init(&p->have, o->have);
	p->poor = o->poor;
	snprintf(p->maker, sizeof(p->maker), "%s", o->maker);
	p->net = o->net;
	p->changed = o->changed;
	p->ctx = o->ctx;
	*out = p;
	return 0;
}

bool part_is_poor(const struct part *p)
{
	return p->poor;
}

const char *part_maker(const struct part *p)
{
	return p->maker;
}

struct part *part_ref(struct part *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

void part_unref(struct part *p)
{
	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	close(p->fd);
	sparse_unref(p->sparse);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

uint64_t part_size(const struct part *p)
{
	return p->size;
}

uint64_t part_number(const struct part *p)
{
	return p->number;
}

int64_t part_time(const struct part *p)
{
	return p->time;
}

int64_t part_modified(const struct part *p)
{
	return p->modified;
}

/* ---- readers are reported to the flight -------------------------------------------- */

static void part_changed(void *ctx)
{
	struct part *p = ctx;

	pthread_mutex_lock(&p->lock);
	p->nudged = false;
	pthread_mutex_unlock(&p->lock);
	if (p->changed)
		p->changed(p->ctx);
	part_unref(p);
}

/* Call under the lock. While `net` is set, the net thread exists. */
static void post_change(struct part *p)
{
	if (!p->net || p->nudged || p->holds)
		return;
	p->nudged = net_post(p->net, part_changed, part_ref(p)) == 0;
	if (!p->nudged)
		part_unref(p);
}

void part_nudge(struct part *p)
{
	LOCK_SCOPE(&p->lock);

	post_change(p);
}

void part_hold(struct part *p)
{
	LOCK_SCOPE(&p->lock);

	p->holds++;
}

void part_release(struct part *p)
{
	LOCK_SCOPE(&p->lock);

	if (--p->holds == 0)
		post_change(p);
}

void part_open(struct part *p)
{
	LOCK_SCOPE(&p->lock);

	p->opens++;
}

void part_close(struct part *p)
{
	LOCK_SCOPE(&p->lock);

	if (--p->opens == 0)
		post_change(p);
}

unsigned part_opens(struct part *p)
{
	LOCK_SCOPE(&p->lock);

	return p->opens;
}

bool part_is_sealed(const struct part *p)
{
	return atomic_load(&p->sealed);
}

/* ---- reading ------------------------------------------------------------------------ */

/* NULL: the bytes arrive from front to back. */
static struct sparse *sparse_of(const struct part *p)
{
	return atomic_load_explicit(&p->renewed, memory_order_acquire) ? NULL : p->sparse;
}

bool part_is_sparse(const struct part *p)
{
	return sparse_of(p) != NULL;
}

uint64_t part_present(const struct part *p)
{
	struct sparse *sp = sparse_of(p);

	return sp ? sparse_present(sp) : atomic_load(&p->have);
}

static bool is_here(const struct part *p, uint64_t off, uint64_t end)
{
	struct sparse *sp = sparse_of(p);

	if (off >= end)
		return true;
	if (!sp)
		return end <= atomic_load_explicit(&p->have, memory_order_acquire);
	/* Only pages are fetched as pieces. For longer reads this saves sparse_has_pieces(), which takes a lock. */
	return sparse_has(sp, off, end - off) ||
		(end - off <= PIECE_MOST && sparse_has_pieces(sp, off, end - off));
}

static uint64_t end_of(const struct part *p, uint64_t off, size_t n)
{
	return off >= p->size ? off : off + MIN(n, p->size - off);
}

size_t part_here(const struct part *p, uint64_t off, size_t n)
{
	uint64_t end = end_of(p, off, n), have;
	struct sparse *sp = sparse_of(p);

	if (atomic_load_explicit(&p->bad, memory_order_relaxed))
		return 0;
	if (sp) {
		if (sparse_has(sp, off, end - off))
			return (size_t)(end - off);
		end = MIN(end, off - off % SPARSE_BLOCK + SPARSE_BLOCK);
		if (sparse_has(sp, off, end - off))
			return (size_t)(end - off);
		/* If part_wait_first() finds a byte present, this function must find that byte, too. Otherwise a
		 * reader would be woken again and again without finding a byte. */
		return (size_t)sparse_piece(sp, off, MIN(end - off, PIECE_MOST));
	}
	have = atomic_load_explicit(&p->have, memory_order_acquire);
	return have > off ? (size_t)(MIN(end, have) - off) : 0;
}

/* ---- marks: readers that read from front to back ------------------------------------ */

void part_mark(struct part *p, unsigned i, uint64_t off, uint64_t end)
{
	atomic_store_explicit(&p->marks[i].off, off, memory_order_relaxed);
	atomic_store_explicit(&p->marks[i].end, end, memory_order_relaxed);
}

unsigned part_reached(struct part *p)
{
	return atomic_exchange(&p->reached, 0);
}

static void look_at_marks(struct part *p, uint64_t off, uint64_t end)
{
	for (unsigned i = 0; i < AHEAD_RUNS; i++) {
		if (off >= atomic_load_explicit(&p->marks[i].end, memory_order_relaxed) ||
			end <= atomic_load_explicit(&p->marks[i].off, memory_order_relaxed))
			continue;
		if (atomic_exchange(&p->marks[i].end, 0) == 0)
			continue;
		atomic_fetch_or(&p->reached, 1u << i);
		part_nudge(p);
	}
}

/* Forbids any later change of the bytes. False: the bytes are about to be replaced. */
static bool part_touch(struct part *p)
{
	enum touch was = UNTOUCHED;

	return atomic_load(&p->touch) == TOUCHED || atomic_compare_exchange_strong(&p->touch, &was, TOUCHED) ||
		was == TOUCHED;
}

/* The bytes may be replaced between is_here() and part_touch(), but not after part_touch(). So look again. */
static bool keeps(const void *ctx, uint64_t off, uint64_t n)
{
	struct part *p = (struct part *)(uintptr_t)ctx;

	return !atomic_load_explicit(&p->bad, memory_order_relaxed) && is_here(p, off, off + n) && part_touch(p) &&
		is_here(p, off, off + n);
}

struct view part_view(struct part *p)
{
	return view_of_holes(p->fd, p->size, keeps, p);
}

static ssize_t read_bytes(struct part *p, uint64_t off, void *buf, uint64_t end)
{
	bool bad = atomic_load_explicit(&p->bad, memory_order_relaxed);

	return bad || pread_all(p->fd, off, buf, (size_t)(end - off)) < 0 ? -EIO : (ssize_t)(end - off);
}

ssize_t part_read_told(struct part *p, uint64_t off, void *buf, size_t n)
{
	uint64_t end = end_of(p, off, n);
	ssize_t r = read_bytes(p, off, buf, end);

	if (r >= 0 && sparse_of(p))
		look_at_marks(p, off, end);
	return r;
}

ssize_t part_read_once(struct part *p, uint64_t off, void *buf, size_t n)
{
	uint64_t end = end_of(p, off, n);

	if (!atomic_load_explicit(&p->bad, memory_order_relaxed) && !keeps(p, off, end - off))
		return atomic_load(&p->over) ? atomic_load(&p->over) : -EAGAIN;
	return read_bytes(p, off, buf, end);
}

ssize_t part_read(struct part *p, uint64_t off, void *buf, size_t n)
{
	ssize_t r = part_read_once(p, off, buf, n);

	if (r >= 0 && sparse_of(p))
		look_at_marks(p, off, end_of(p, off, n));
	return r;
}

int part_over(const struct part *p)
{
	return atomic_load(&p->over);
}

/* ---- reads that ask for more than is needed ------------------------------------------------- */

void part_spare(struct part *p, bool sparing)
{
	atomic_store_explicit(&p->sparing, sparing, memory_order_relaxed);
}

/* The kernel's second read of the same bytes is not read-ahead but the reader's own, perhaps of a folio larger than a
 * page. An error would reach the reader, so the second read is not refused. */
bool part_refuses(struct part *p, uint64_t off, size_t n)
{
	uint64_t end = end_of(p, off, n);

	if (!atomic_load_explicit(&p->sparing, memory_order_relaxed) || atomic_load(&p->over))
		return false;
	LOCK_SCOPE(&p->lock);
	for (unsigned i = 0; i < REFUSED_MOST; i++)
		if (p->refused[i].off < end && off < p->refused[i].end)
			return false;
	p->refused[p->next_refused++ % REFUSED_MOST] = (struct refused){off, end};
	return true;
}

/* ---- waiting ------------------------------------------------------------------------ */

void part_wait_unref(struct part_wait *w)
{
	if (!w || atomic_fetch_sub(&w->refs, 1) != 1)
		return;
	part_unref(w->part);
	free(w);
}

struct part_wait *part_wait_ref(struct part_wait *w)
{
	atomic_fetch_add(&w->refs, 1);
	return w;
}

static bool is_due(const struct part *p, const struct part_wait *w)
{
	return w->sealed ? part_is_sealed(p) : is_here(p, w->off, w->enough);
}

/* Under lock. */
static void wait_remove(struct part_wait *w)
{
	*w->at = w->next;
	if (w->next)
		w->next->at = w->at;
	w->next = NULL;
	w->at = NULL;
}

static struct part_wait *wait_new(struct part *p, enum part_wanted what, uint64_t off, size_t n, part_ready *ready,
	void *ctx)
{
	struct part_wait *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	atomic_init(&w->refs, 2); /* the list's, and the caller's */
	w->part = part_ref(p);
	w->sealed = what == PART_SEALED;
	/* PART_SEALED asks for all bytes, because a sparse file may lack bytes that no reader asked for. */
	w->off = w->sealed ? 0 : off;
	w->end = end_of(p, w->off, w->sealed ? SIZE_MAX : n);
	w->enough = what == PART_FIRST ? MIN(w->end, off + 1) : w->end;
	w->piece = what == PART_FAR && w->end - w->off <= PIECE_MOST;
	w->ready = ready;
	w->ctx = ctx;
	return w;
}

int part_wait(struct part *p, enum part_wanted what, uint64_t off, size_t n, part_ready *ready, void *ctx,
	struct part_wait **out)
{
	struct part_wait *w = wait_new(p, what, off, n, ready, ctx), **last = &p->waits;

	if (!w)
		return -ENOMEM;
	pthread_mutex_lock(&p->lock);
	if (is_due(p, w) || atomic_load(&p->over)) {
		pthread_mutex_unlock(&p->lock);
		part_wait_unref(w);
		part_wait_unref(w);
		return 1;
	}
	*out = w;
	while (*last)
		last = &(*last)->next;
	*last = w;
	w->at = last;
	post_change(p);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

void part_wait_set_pid(struct part_wait *w, int pid)
{
	atomic_store(&w->pid, pid);
}

void part_waiting(struct part *p, void (*each)(void *ctx, int pid), void *ctx)
{
	LOCK_SCOPE(&p->lock);

	for (const struct part_wait *w = p->waits; w; w = w->next)
		each(ctx, atomic_load(&w->pid));
}

static void wait_over(struct part_wait *w, int r)
{
	w->ready(w->ctx, r);
	part_wait_unref(w);
}

void part_wait_cancel(struct part_wait *w)
{
	bool mine;

	pthread_mutex_lock(&w->part->lock);
	mine = w->at != NULL;
	if (mine)
		wait_remove(w);
	pthread_mutex_unlock(&w->part->lock);
	if (mine)
		wait_over(w, -EINTR);
}

/* Wakes the readers whose bytes are present, or all readers after an error. */
static void wake_waits(struct part *p)
{
	int over = atomic_load(&p->over);
	struct part_wait *w, *next, *due = NULL, **last = &due;

	pthread_mutex_lock(&p->lock);
	for (w = p->waits; w; w = next) {
		next = w->next;
		if (!over && !is_due(p, w))
			continue;
		if (!over && !w->sealed)
			part_touch(p); /* the reader reads the bytes when it is called */
		wait_remove(w);
		*last = w;
		last = &w->next;
	}
	pthread_mutex_unlock(&p->lock);
	for (w = due; w; w = next) {
		next = w->next;
		w->next = NULL;
		wait_over(w, is_due(p, w) ? 0 : over);
	}
}

unsigned part_pieces(struct part *p, struct ahead_span *out, unsigned most)
{
	unsigned n = 0;
	LOCK_SCOPE(&p->lock);

	for (const struct part_wait *w = p->waits; w && n < most; w = w->next)
		if (w->piece)
			out[n++] = (struct ahead_span){w->off - w->off % AHEAD_PAGE,
				MIN((w->end + AHEAD_PAGE - 1) / AHEAD_PAGE * AHEAD_PAGE, p->size)};
	return n;
}

bool part_wanted(struct part *p, unsigned nth, uint64_t *off, uint64_t *end)
{
	LOCK_SCOPE(&p->lock);
	bool sparing = atomic_load_explicit(&p->sparing, memory_order_relaxed);
	const struct part_wait *w = p->waits;

	while (w && ((w->piece && sparing) || nth--))
		w = w->next;
	if (!w)
		return false;
	*off = w->off;
	*end = w->end;
	return true;
}

/* ---- called by the part's flight ---------------------------------------------------- */

void part_advance(struct part *p, uint64_t have)
{
	if (!sparse_of(p)) {
		if (have <= atomic_load_explicit(&p->have, memory_order_relaxed))
			return;
		/* A waiter looks at `have` under the lock before it joins the list. */
		pthread_mutex_lock(&p->lock);
		atomic_store_explicit(&p->have, have, memory_order_release);
		pthread_mutex_unlock(&p->lock);
	}
	wake_waits(p);
}

bool part_suspend(struct part *p)
{
	enum touch was = UNTOUCHED;

	if (!atomic_compare_exchange_strong(&p->touch, &was, SUSPENDED))
		return false;
	pthread_mutex_lock(&p->lock);
	atomic_store(&p->have, 0);
	atomic_store(&p->renewed, true);
	pthread_mutex_unlock(&p->lock);
	return true;
}

int part_renew(struct part *p, int fd, uint64_t have)
{
	if (dup3(fd, p->fd, O_CLOEXEC) < 0)
		return -errno;
	atomic_store(&p->touch, UNTOUCHED);
	part_advance(p, have);
	return 0;
}

void part_end(struct part *p, bool bad, int error)
{
	bool sealed = !bad && !error && is_here(p, 0, p->size);

	pthread_mutex_lock(&p->lock);
	p->net = NULL;
	p->changed = NULL;
	if (bad)
		atomic_store(&p->bad, true);
	if (sealed)
		atomic_store(&p->sealed, true);
	else /* the bytes present can still be read */
		atomic_store(&p->over, error == -ENOSPC ? error : -EIO);
	pthread_mutex_unlock(&p->lock);
	wake_waits(p);
	part_unref(p);
}

/* ---- the blob that a download became ------------------------------------------------ */

void was_add(struct fetch *f, uint64_t number, uint64_t blob)
{
	LOCK_SCOPE(&f->lock);

	f->was[blob % WAS_MOST] = (struct was){number, blob};
}

uint64_t was_find(struct fetch *f, uint64_t blob)
{
	LOCK_SCOPE(&f->lock);
	const struct was *w = &f->was[blob % WAS_MOST];

	return w->blob == blob ? w->number : 0;
}
