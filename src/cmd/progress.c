/* Draws the files that are under way on a terminal. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/progress.h"
#include "base/clock.h"
#include "base/util.h"
#include "cmd/json.h"
#include "fetch/fetch.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define EVERY_MS 200
#define LONG_MS 500	/* a file that is over before this time has no line */
#define TEXT_MOST 200
#define LABEL_LEAST 16u /* columns */

enum { NAME, STATE, SOURCE, HAVE, SIZE, RATE, MS, WAITING, FIELDS };

static unsigned terminal_width(void)
{
	struct winsize w;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 40 ? w.ws_col : 80;
}

void progress_erase(struct progress *p)
{
	if (p->drawn > 1)
		fprintf(stderr, "\033[%uA", p->drawn - 1);
	if (p->drawn)
		fprintf(stderr, "\r\033[J");
	p->drawn = 0;
}

/* Draws a line of at most `width` columns. Cuts the beginning of a long label: its end identifies the file. */
static void draw_line(struct progress *p, const char *label, const char *text, unsigned width)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	const char *shown = text_shown(label, true, &room);
	size_t n = strlen(shown), has = MIN(strlen(text), width - LABEL_LEAST - 3), most = width - 3 - has;

	fprintf(stderr, "%s%s%s%s%.*s", p->drawn ? "\n" : "", n > most ? "..." : "",
		n > most ? shown + n - most + 3 : shown, label[0] ? ": " : "", (int)has, text);
	p->drawn++;
}

/* Writes "43 % of 28.1 MB, 3.2 MB/s, 5 s left, from debian". */
static void progress_text(char *f[static FIELDS], char out[static TEXT_MOST])
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	double have = strtod(f[HAVE], NULL), size = strtod(f[SIZE], NULL), rate = strtod(f[RATE], NULL);
	double left = rate > 0 && size > have ? (size - have) / rate : 0;
	size_t n;

	if (size > 0)
		snprintf(out, TEXT_MOST, "%.0f %% of %.1f MB", have * 100 / size, size / 1e6);
	else if (have > 0)
		snprintf(out, TEXT_MOST, "%.1f MB", have / 1e6);
	else
		snprintf(out, TEXT_MOST, "%s", f[STATE]);
	n = strlen(out);
	if (rate > 0)
		n += (size_t)snprintf(out + n, TEXT_MOST - n, ", %.1f MB/s", rate / 1e6);
	if (left > 0)
		n += (size_t)snprintf(out + n, TEXT_MOST - n, ", %.0f %s left", left < 100 ? left : left / 60,
			left < 100 ? "s" : "min");
	if (*f[SOURCE])
		snprintf(out + n, TEXT_MOST - n, ", from %.64s", text_shown(f[SOURCE], true, &room));
}

void progress_draw(struct progress *p, const char *lines, const char *total)
{
	unsigned width = terminal_width();
	_cleanup_free_ char *copy = NULL;
	char text[TEXT_MOST], *rest, *line;

	if (!isatty(STDERR_FILENO))
		return;
	progress_erase(p);
	copy = strdup(lines);
	for (rest = copy; rest && (line = strsep(&rest, "\n")) && *line;) {
		const char *name;
		char *field[FIELDS];

		text_fields(line, field, FIELDS);
		if (strtoul(field[MS], NULL, 10) < LONG_MS)
			continue;
		progress_text(field, text);
		name = p->name ? p->name(p->ctx, field[NAME]) : NULL;
		draw_line(p, name ? name : field[NAME], text, width);
	}
	if (total[0])
		draw_line(p, "", total, width);
	fflush(stderr);
}

static void *progress_main(void *ctx)
{
	struct progress *p = ctx;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		struct timespec until = clock_after(CLOCK_REALTIME, EVERY_MS);
		_cleanup_buf_ struct buf lines = BUF_UP_TO(PROGRESS_MOST);

		if (pthread_cond_timedwait(&p->stopped, &p->lock, &until) != ETIMEDOUT)
			continue;
		fetch_downloads(p->fetch, &lines);
		progress_draw(p, buf_text(&lines), "");
	}
	pthread_mutex_unlock(&p->lock);
	progress_erase(p);
	return NULL;
}

void progress_start(struct progress *p, struct fetch *f)
{
	*p = (struct progress){.fetch = f, .lock = PTHREAD_MUTEX_INITIALIZER, .stopped = PTHREAD_COND_INITIALIZER};
	p->running = isatty(STDERR_FILENO) && pthread_create(&p->thread, NULL, progress_main, p) == 0;
}

void progress_stop(struct progress *p)
{
	if (!p->running)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->stopped);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	p->running = false;
}
