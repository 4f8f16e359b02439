/* Requests that wait, and signals to the threads that sent them. The kernel interrupts a request once, for any
 * signal, and does not say which. A SIGWINCH (a resized window) must not make the request fail, so an
 * interrupted request first goes on a list. The loop reads the pending signals of the requesting thread at once
 * and every 50 ms. It stops when the request is answered or a signal means to end it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "fs/private.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define LOOK_EVERY_MS 50

int fs_stored(struct fs *fs, const struct artifact *cands, unsigned n, struct fetched *f)
{
	int r;

	memset(f, 0, sizeof(*f));
	r = fetch_stored(fs->fetch, cands, n, f);
	return r < 0 ? r : f->r;
}

static void waiting_unref(struct waiting *w)
{
	if (atomic_fetch_sub(&w->refs, 1) != 1)
		return;
	node_unref(w->fs->nodes, w->node);
	if (w->ticket)
		ticket_unref(w->ticket);
	making_unref(w->making);
	part_wait_unref(w->bytes);
	part_unref(w->part);
	free(w);
}

/* ---- the list ----------------------------------------------------------------------- */

/* Called under watch_lock. */
static void list_remove(struct waiting *w)
{
	*w->at = w->next;
	if (w->next)
		w->next->at = w->at;
	w->on_list = false;
}

/* libfuse holds the lock of the request here, and a reply waits for this call. So this function only puts
 * the request on the list. */
static void interrupted(fuse_req_t req, void *ctx)
{
	struct waiting *w = ctx;
	struct fs *fs = w->fs;
	LOCK_SCOPE(&fs->watch_lock);

	if (w->on_list || w->over)
		return;
	atomic_fetch_add(&w->refs, 1);
	atomic_fetch_add(&fs->counters.interrupted, 1);
	w->look_at = 0;
	w->next = fs->watched;
	if (w->next)
		w->next->at = &w->next;
	w->at = &fs->watched;
	fs->watched = w;
	w->on_list = true;
	eventfd_write(fs->wake, 1);
}

static uint64_t signal_set(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

/* Whether a pending signal means to end the thread that waits. Also true when /proc does not show the
 * thread, which is gone or in another PID namespace. Then symfs cannot tell Ctrl-C from a resized window. */
static bool meant_to_end(pid_t pid)
{
	const uint64_t ends = 1ull << (SIGINT - 1) | 1ull << (SIGTERM - 1) | 1ull << (SIGQUIT - 1) |
		1ull << (SIGHUP - 1) | 1ull << (SIGKILL - 1);
	_cleanup_free_ char *status = NULL;
	char name[32];
	uint64_t pending;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
	if (path_read(AT_FDCWD, name, 64 << 10, &status, NULL) < 0)
		return true;
	pending = signal_set(status, "\nSigPnd:") | signal_set(status, "\nShdPnd:");
	pending &= ~signal_set(status, "\nSigBlk:") & ~signal_set(status, "\nSigIgn:");
	return pending & ends;
}

/* The next request whose check is due, with a reference. NULL: no check is due, and `*wait_ms` is the time until
 * the next check; -1: the list is empty. */
static struct waiting *next_due(struct fs *fs, int *wait_ms)
{
	LOCK_SCOPE(&fs->watch_lock);
	uint64_t now = clock_ms();

	*wait_ms = -1;
	for (struct waiting *w = fs->watched; w; w = w->next) {
		if (w->started && w->look_at <= now) {
			w->look_at = now + LOOK_EVERY_MS;
			atomic_fetch_add(&w->refs, 1);
			return w;
		}
		*wait_ms = LOOK_EVERY_MS;
	}
	return NULL;
}

int wait_look(struct fs *fs)
{
	struct waiting *w;
	int wait_ms;

	while ((w = next_due(fs, &wait_ms))) {
		if (meant_to_end(w->pid)) {
			log_debug(LOG_FS, "process %d got a signal or is gone: its request ends", (int)w->pid);
			if (w->ticket)
				ticket_cancel(w->ticket);
			else if (w->bytes)
				part_wait_cancel(w->bytes);
			else
				making_cancel(w->making);
		}
		waiting_unref(w);
	}
	return wait_ms;
}

/* ---- one request -------------------------------------------------------------------- */

/* The answer has come: takes the request off the list. From here on only the caller uses it. */
static void withdraw(struct waiting *w)
{
	struct fs *fs = w->fs;
	bool listed;

	fuse_req_interrupt_func(w->req, NULL, NULL);
	pthread_mutex_lock(&fs->watch_lock);
	listed = w->on_list;
	if (listed)
		list_remove(w);
	w->over = true;
	pthread_mutex_unlock(&fs->watch_lock);
	atomic_fetch_sub(&fs->waiting, 1);
	if (listed)
		waiting_unref(w);
}

static void wait_ready(void *ctx, const struct fetched *f)
{
	struct waiting *w = ctx;

	withdraw(w);
	w->answer(w, f);
	waiting_unref(w);
}

static void bytes_ready(void *ctx, int r)
{
	struct fetched f = {.r = r, .why = ""};

	wait_ready(ctx, &f);
}

/* `like` has what the caller says of the request: answer, node, fi, as. NULL: out of memory. */
static struct waiting *waiting_new(struct fs *fs, fuse_req_t req, const struct artifact *cands, unsigned n,
	const struct waiting *like)
{
	struct waiting *w = calloc(1, sizeof(*w) + n * sizeof(*cands));

	if (!w)
		return NULL;
	w->fs = fs;
	w->req = req;
	w->pid = fuse_req_ctx(req)->pid;
	w->answer = like->answer;
	w->node = like->node;
	w->fi = like->fi;
	w->as = like->as;
	w->n = n;
	if (n)
		memcpy(w->cands, cands, n * sizeof(*cands));
	/* One reference for wait_begin() and one for wait_ready(): either may end last. */
	atomic_init(&w->refs, 2);
	atomic_fetch_add(&fs->waiting, 1);
	/* Do this before the wait begins: from then on the request can be answered at any time. */
	fuse_req_interrupt_func(req, interrupted, w);
	return w;
}

/* `r`: 0: the wait has begun, so the request can be cancelled from now on; else wait_ready() is not called. Returns
 * `r`. */
static int wait_begin(struct waiting *w, int r)
{
	if (r != 0) {
		withdraw(w);
		waiting_unref(w); /* the reference of wait_ready() */
	} else {
		LOCK_SCOPE(&w->fs->watch_lock);

		w->started = true;
		if (w->on_list)
			eventfd_write(w->fs->wake, 1);
	}
	waiting_unref(w);
	return r;
}

static int no_memory(struct fs *fs, const struct waiting *like)
{
	node_unref(fs->nodes, like->node);
	return -ENOMEM;
}

int wait_start(struct fs *fs, fuse_req_t req, const struct artifact *cands, unsigned n,
	enum fetch_need need, const struct waiting *like)
{
	struct waiting *w = waiting_new(fs, req, cands, n, like);
	int r;

	if (!w)
		return no_memory(fs, like);
	r = fetch_open(fs->fetch, w->cands, n, need, wait_ready, w, &w->ticket);
	if (r == 0 && w->ticket)
		ticket_set_pid(w->ticket, w->pid);
	return wait_begin(w, r) < 0 ? r : FS_WAITS;
}

int wait_making(struct fs *fs, fuse_req_t req, const struct artifact *a, const struct waiting *like)
{
	struct waiting *w = waiting_new(fs, req, a, 1, like);
	int r = w ? wait_begin(w, derive_open(fs->derive, w->cands, wait_ready, w, &w->making)) : no_memory(fs, like);

	return r < 0 ? r : FS_WAITS;
}

int wait_bytes(struct fs *fs, fuse_req_t req, struct part *p, uint64_t off, size_t size,
	wait_answer *answer)
{
	struct waiting *w = waiting_new(fs, req, NULL, 0, &(struct waiting){.answer = answer});
	int r;

	if (!w)
		return -ENOMEM;
	w->part = part_ref(p);
	w->off = off;
	w->size = size;
	r = part_wait(p, PART_ALL, off, size, bytes_ready, w, &w->bytes);
	if (r == 0)
		part_wait_set_pid(w->bytes, w->pid);
	return wait_begin(w, r);
}
