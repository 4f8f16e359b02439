/* Runs the downloads of a command line, several at once, and draws their progress on a terminal. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/downloads.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/util.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define AT_ONCE 16u
#define AHEAD_MOST 256u /* downloads that begin while an earlier one still runs; each holds a descriptor */
#define LOOK_MS 200

/* ---- the list ------------------------------------------------------------------------ */

void downloads_init(struct downloads *d, struct fetch *f)
{
	*d = (struct downloads){.fetch = f, .lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER};
}

int downloads_add(struct downloads *d, const struct artifact *cands, unsigned n, void *of)
{
	struct download *one;

	if (d->n >= DOWNLOADS_MOST)
		return -E2BIG;
	if (grow(&d->list, &d->room, d->n, sizeof(struct download *)) < 0)
		return -ENOMEM;
	one = calloc(1, sizeof(*one) + n * sizeof(*cands));
	if (!one)
		return -ENOMEM;
	one->all = d;
	one->of = of;
	one->n = n;
	memcpy(one->cands, cands, n * sizeof(*cands));
	d->list[d->n++] = one;
	return 0;
}

void downloads_release(struct downloads *d)
{
	for (unsigned i = 0; i < d->n; i++) {
		ticket_unref(d->list[i]->ticket);
		making_unref(d->list[i]->making);
		blob_unref(d->list[i]->blob);
		free(d->list[i]);
	}
	free(d->list);
	d->list = NULL;
	d->n = 0;
}

/* ---- fetching ------------------------------------------------------------------------ */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	interrupted = 1;
}

static void download_ready(void *ctx, const struct fetched *f)
{
	struct download *one = ctx;
	struct downloads *d = one->all;
	LOCK_SCOPE(&d->lock);

	one->done = true;
	one->r = f->r;
	one->unnamed = f->unnamed;
	one->key = f->key;
	one->blob = f->r == 0 ? blob_ref(f->blob) : NULL;
	one->size = f->r == 0 ? blob_size(f->blob) : 0;
	snprintf(one->why, sizeof(one->why), "%s", f->why);
	d->bytes += one->size;
	d->running--;
	d->over++;
	pthread_cond_signal(&d->changed);
}

/* As download_ready(), but makes a Breakpad file that no source has. */
static void fetch_answered(void *ctx, const struct fetched *f)
{
	struct download *one = ctx;
	struct downloads *d = one->all;
	struct making *making;
	struct artifact a;

	if (f->r != -ENOENT || !d->derive || interrupted || derive_breakpad(d->derive, &one->cands[0], &a) < 0 ||
		derive_open(d->derive, &a, download_ready, one, &making) < 0) {
		download_ready(one, f);
		return;
	}
	pthread_mutex_lock(&d->lock);
	one->making = making;
	pthread_mutex_unlock(&d->lock);
}

static int fetch_begin(struct download *one, struct fetched *now)
{
	struct downloads *d = one->all;
	struct artifact made;
	int r;

	if (d->gsym && derive_artifact(&one->cands[0], false, &made) == 0) {
		r = derive_try(d->derive, &made, NULL, now);
		if (r == 0)
			download_ready(one, now);
		return r == -EAGAIN ? derive_open(d->derive, &made, download_ready, one, &one->making) : r;
	}
	r = fetch_try(d->fetch, one->cands, one->n, FETCH_WHOLE, now);
	if (r == 0)
		fetch_answered(one, now);
	return r == -EAGAIN ? fetch_open(d->fetch, one->cands, one->n, FETCH_WHOLE, fetch_answered, one, &one->ticket)
		: r;
}

static void download_begin(struct download *one)
{
	struct downloads *d = one->all;
	struct fetched now = {.why = ""};
	int r;

	pthread_mutex_lock(&d->lock);
	one->begun = true;
	d->running++;
	pthread_mutex_unlock(&d->lock);
	r = fetch_begin(one, &now);
	if (r < 0) {
		now.r = r;
		now.why = err_text(r);
		download_ready(one, &now);
	}
	blob_unref(now.blob);
}

/* The name of the file that has this key. NULL: it has none. */
static const char *name_of(void *ctx, const char *key)
{
	const struct downloads *d = ctx;
	char canon[KEY_TEXT];
	struct key k;

	for (unsigned i = d->told; i < d->begun; i++)
		for (unsigned j = 0; j < d->list[i]->n; j++) {
			const struct module *m = &d->list[i]->cands[j].m;

			if (key_of(&k, &d->list[i]->cands[j]) < 0)
				continue;
			key_canon(&k, canon);
			if (strcmp(canon, key) == 0)
				return m->code_file[0] ? m->code_file : m->debug_file[0] ? m->debug_file : NULL;
		}
	return NULL;
}

static void show_progress(struct downloads *d)
{
	_cleanup_buf_ struct buf lines = BUF_UP_TO(PROGRESS_MOST);
	char total[80] = "";

	pthread_mutex_lock(&d->lock);
	if (d->total)
		snprintf(total, sizeof(total), "%u of %u files, %.1f MB", d->over, d->n, (double)d->bytes / 1e6);
	pthread_mutex_unlock(&d->lock);
	d->progress.name = name_of;
	d->progress.ctx = d;
	fetch_downloads(d->fetch, &lines);
	progress_draw(&d->progress, buf_text(&lines), total);
}

/* Waits until a download is over, for at most LOOK_MS. Returns the number of running downloads. */
static unsigned wait_some(struct downloads *d)
{
	struct timespec until = clock_after(CLOCK_REALTIME, LOOK_MS);
	unsigned running;
	bool late = false;

	pthread_mutex_lock(&d->lock);
	if (d->running)
		late = pthread_cond_timedwait(&d->changed, &d->lock, &until) == ETIMEDOUT;
	running = d->running;
	pthread_mutex_unlock(&d->lock);
	if (late)
		show_progress(d);
	return running;
}

static bool is_over(struct downloads *d, const struct download *one)
{
	LOCK_SCOPE(&d->lock);

	return one->done;
}

/* Calls `over` for the downloads that are over, in order. With `all`, also for downloads that never began. */
static void tell(struct downloads *d, bool all, void (*over)(void *ctx, struct download *one), void *ctx)
{
	for (; d->told < d->n && (all || is_over(d, d->list[d->told])); d->told++) {
		struct download *one = d->list[d->told];

		progress_erase(&d->progress);
		over(ctx, one);
		blob_unref(take(one->blob));
	}
}

static void cancel_all(struct downloads *d)
{
	for (unsigned i = 0; i < d->begun; i++) {
		struct making *making;

		if (d->list[i]->ticket)
			ticket_cancel(d->list[i]->ticket);
		pthread_mutex_lock(&d->lock);
		making = d->list[i]->making;
		pthread_mutex_unlock(&d->lock);
		if (making)
			making_cancel(making);
	}
}

/* Without the memory for it, nothing is made. */
static void prepare_making(struct downloads *d)
{
	for (unsigned i = 0; i < d->n && !d->derive; i++)
		if ((d->gsym || d->list[i]->cands[0].type == FILETYPE_BREAKPAD) &&
		    derive_new(&d->derive, d->fetch) < 0)
			return;
}

bool downloads_run(struct downloads *d, void (*over)(void *ctx, struct download *one), void *ctx)
{
	struct sigaction act = {.sa_handler = on_interrupt}, was[2];
	unsigned running = 0;
	bool cancelled = false;

	interrupted = 0;
	sigaction(SIGINT, &act, &was[0]);
	sigaction(SIGTERM, &act, &was[1]);
	prepare_making(d);
	while (running || (d->begun < d->n && !interrupted)) {
		for (; running < AT_ONCE && d->begun < d->n && d->begun - d->told < AHEAD_MOST && !interrupted;
			running++)
			download_begin(d->list[d->begun++]);
		running = wait_some(d);
		if (interrupted && !cancelled)
			cancel_all(d);
		cancelled = interrupted;
		tell(d, false, over, ctx);
	}
	tell(d, true, over, ctx);
	derive_free(take(d->derive));
	sigaction(SIGINT, &was[0], NULL);
	sigaction(SIGTERM, &was[1], NULL);
	return interrupted;
}
