/* Runs the downloads of a command line, several at once, and draws a progress line for each. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/downloads.h"
#include "base/clock.h"
#include "base/util.h"
#include "cmd/json.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define AT_ONCE 16u
#define AHEAD_MOST 256u /* downloads that begin while an earlier one still runs; each holds a descriptor */
#define LOOK_MS 200
#define PLAIN_EVERY_MS 10000 /* the interval of progress lines in a log */
#define STATS_WIDTH 48 /* columns */
#define STATS_TEXT 128

void downloads_init(struct downloads *d, struct fetch *f, const char *command)
{
	*d = (struct downloads){.fetch = f, .command = command, .lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER};
}

int downloads_add(struct downloads *d, const char *label, const struct artifact *cands, unsigned n, void *of,
	struct download **out)
{
	struct download *one;

	if (d->n >= DOWNLOADS_MOST)
		return -E2BIG;
	if (d->n == d->room) {
		unsigned room = d->room ? d->room * 2 : 64;
		struct download **more = reallocarray(d->list, room, sizeof(struct download *));

		if (!more)
			return -ENOMEM;
		d->list = more;
		d->room = room;
	}
	one = calloc(1, sizeof(*one) + n * sizeof(*cands));
	if (!one || !(one->label = strdup(label))) {
		free(one);
		return -ENOMEM;
	}
	one->all = d;
	one->of = of;
	one->n = n;
	memcpy(one->cands, cands, n * sizeof(*cands));
	d->list[d->n++] = one;
	if (out)
		*out = one;
	return 0;
}

void downloads_release(struct downloads *d)
{
	for (unsigned i = 0; i < d->n; i++) {
		ticket_unref(d->list[i]->ticket);
		making_unref(d->list[i]->making);
		blob_unref(d->list[i]->blob);
		free(d->list[i]->label);
		free(d->list[i]);
	}
	free(d->list);
	d->list = NULL;
	d->n = 0;
}

/* ---- progress ------------------------------------------------------------------------ */

/* Gets the bytes of a running download, and updates its rate: a mean in which the last seconds count most. False:
 * the download has no bytes yet. */
static bool measure(struct download *one, uint64_t *have, uint64_t *size)
{
	uint64_t now = clock_ms(), ms = one->at ? now - one->at : 0;
	bool found = false;

	for (unsigned i = 0; i < one->n && !found; i++) {
		struct key k;

		found = key_of(&k, &one->cands[i]) == 0 && fetch_progress(one->all->fetch, &k, have, size);
	}
	if (!found)
		return false;
	if (ms >= LOOK_MS / 2 && *have >= one->seen) {
		double rate = (double)(*have - one->seen) * 1000 / (double)ms;

		one->rate = one->rate > 0 ? one->rate * 0.8 + rate * 0.2 : rate;
	}
	if (!one->at || ms >= LOOK_MS / 2) {
		one->at = now;
		one->seen = *have;
	}
	return true;
}

static void add_left(double seconds, char *out, size_t n)
{
	if (seconds < 60)
		snprintf(out, n, "%.0f s left", seconds);
	else if (seconds < 3600)
		snprintf(out, n, "%.0f min left", seconds / 60);
	else
		snprintf(out, n, "%.1f h left", seconds / 3600);
}

/* Writes the progress of a download: "43 % of 28.1 MB, 3.2 MB/s, 5 s left". */
static void progress_text(struct download *one, char out[static STATS_TEXT])
{
	uint64_t have = 0, size = 0;
	char rate[24] = "", left[20] = "";

	if (!measure(one, &have, &size)) {
		snprintf(out, STATS_TEXT, "asking");
		return;
	}
	if (one->rate > 0)
		snprintf(rate, sizeof(rate), ", %.1f MB/s", one->rate / 1e6);
	if (size == FETCH_SIZE_UNKNOWN || !size || have > size) {
		snprintf(out, STATS_TEXT, "%.1f MB%s", (double)have / 1e6, rate);
		return;
	}
	if (one->rate > 0)
		add_left((double)(size - have) / one->rate, left, sizeof(left));
	snprintf(out, STATS_TEXT, "%u %% of %.1f MB%s%s%s", (unsigned)(have * 100 / size), (double)size / 1e6,
		rate, left[0] ? ", " : "", left);
}

static bool is_running(struct downloads *d, const struct download *one)
{
	LOCK_SCOPE(&d->lock);

	return one->begun && !one->done;
}

static unsigned terminal_width(void)
{
	struct winsize w;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > STATS_WIDTH + 16 ? w.ws_col : 80;
}

static void erase(struct downloads *d)
{
	if (d->drawn > 1)
		fprintf(stderr, "\033[%uA", d->drawn - 1);
	if (d->drawn)
		fprintf(stderr, "\r\033[J");
	d->drawn = 0;
}

/* Draws a progress line. Cuts the beginning of a long label, because the end of a path identifies the file. */
static void draw_line(struct downloads *d, const char *label, const char *text, unsigned width)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	const char *shown = text_shown(label, true, &room);
	size_t n = strlen(shown), most = width - STATS_WIDTH - 3;

	fprintf(stderr, "%s%s%s%s%s", d->drawn ? "\n" : "", n > most ? "..." : "",
		n > most ? shown + n - most + 3 : shown, label[0] ? ": " : "", text);
	d->drawn++;
}

static void draw(struct downloads *d)
{
	unsigned width = terminal_width(), over;
	char text[STATS_TEXT];
	uint64_t bytes;

	erase(d);
	for (unsigned i = d->told; i < d->begun; i++) {
		if (!is_running(d, d->list[i]))
			continue;
		progress_text(d->list[i], text);
		draw_line(d, d->list[i]->label, text, width);
	}
	pthread_mutex_lock(&d->lock);
	over = d->over;
	bytes = d->bytes;
	pthread_mutex_unlock(&d->lock);
	if (d->total) {
		snprintf(text, sizeof(text), "%u of %u files, %.1f MB", over, d->n, (double)bytes / 1e6);
		draw_line(d, "", text, width);
	}
	fflush(stderr);
}

/* Used without a terminal: prints a line for each long download, every PLAIN_EVERY_MS. */
static void print_plain(struct downloads *d)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	uint64_t now = clock_ms();
	char text[STATS_TEXT];

	if (now - d->plain < PLAIN_EVERY_MS)
		return;
	d->plain = now;
	for (unsigned i = d->told; i < d->begun; i++) {
		struct download *one = d->list[i];

		if (!is_running(d, one) || now - one->asked < PLAIN_EVERY_MS / 2)
			continue;
		progress_text(one, text);
		fprintf(stderr, "symfs %s: %s: %s\n", d->command, text_shown(one->label, true, &room), text);
		buf_clear(&room);
	}
}

static void show_progress(struct downloads *d)
{
	if (isatty(STDERR_FILENO))
		draw(d);
	else
		print_plain(d);
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

static void download_begin(struct download *one)
{
	struct downloads *d = one->all;
	struct fetched now = {.why = ""};
	int r;

	one->asked = clock_ms();
	pthread_mutex_lock(&d->lock);
	one->begun = true;
	d->running++;
	pthread_mutex_unlock(&d->lock);
	r = fetch_try(d->fetch, one->cands, one->n, FETCH_WHOLE, &now);
	if (r == -EAGAIN)
		r = fetch_open(d->fetch, one->cands, one->n, FETCH_WHOLE, fetch_answered, one, &one->ticket);
	else if (r == 0)
		fetch_answered(one, &now);
	if (r < 0) {
		now.r = r;
		now.why = err_text(r);
		download_ready(one, &now);
	}
	blob_unref(now.blob);
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

		erase(d);
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
		if (d->list[i]->cands[0].type == FILETYPE_BREAKPAD && derive_new(&d->derive, d->fetch) < 0)
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
	d->plain = clock_ms();
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
