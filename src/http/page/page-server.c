/* The part of the page for the administrator: sources, running downloads, the cache, the bucket, errors, numbers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/utf8.h"
#include "base/util.h"
#include "bucket/bucket.h"
#include "http/page/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#define TEXT_MOST (4 << 20)

/* ---- the top -------------------------------------------------------------------------- */

static void add_fact(struct buf *out, const char *value, const char *name)
{
	buf_adds(out, "<div>");
	html_element(out, "dt", name);
	html_element(out, "dd", value);
	buf_adds(out, "</div>\n");
}

/* Requests for files, and those that the cache answered. */
static uint64_t count_asked(struct space *s, uint64_t *hits)
{
	struct fetch_stats *t = fetch_stats(s->fetch);

	*hits = atomic_load(&t->hits);
	return *hits + atomic_load(&t->flights);
}

static void add_facts(struct page *p)
{
	uint64_t hits, asked = count_asked(p->space, &hits);
	int64_t up = MAX(clock_wall() - p->x->h->started, 0);
	struct buf *out = &p->html;
	char text[64];

	buf_adds(out, "<dl class=\"facts\" id=\"rate\">\n");
	snprintf(text, sizeof(text), "%" PRIu64, asked);
	add_fact(out, text, "requests for files");
	snprintf(text, sizeof(text), "%" PRIu64 " %%", asked ? hits * 100 / asked : 0);
	add_fact(out, text, "answered from the cache");
	snprintf(text, sizeof(text), "%u", atomic_load(&p->x->h->running));
	add_fact(out, text, "requests now");
	if (up < 2 * 3600)
		snprintf(text, sizeof(text), "%" PRId64 " min", up / 60);
	else if (up < 2 * 86400)
		snprintf(text, sizeof(text), "%" PRId64 " h", up / 3600);
	else
		snprintf(text, sizeof(text), "%" PRId64 " days", up / 86400);
	add_fact(out, text, "since the start");
	buf_adds(out, "</dl>\n");
}

/* ---- the last 24 hours --------------------------------------------------------------------- */

void hours_look(struct space *s)
{
	struct hours *d = &s->hours;
	int64_t now = clock_wall() / 3600 + HOURS, last = atomic_load(&d->hour);
	uint64_t hits, asked;

	if (now == last)
		return;
	pthread_mutex_lock(&d->lock);
	last = atomic_load(&d->hour);
	asked = count_asked(s, &hits);
	/* After a jump of the clock, to either side, the day begins anew. */
	for (int64_t h = now > last && now - last < HOURS ? last + 1 : now - HOURS + 1; h <= now; h++) {
		d->asked[h % HOURS] = asked;
		d->hits[h % HOURS] = hits;
	}
	atomic_store(&d->hour, now);
	pthread_mutex_unlock(&d->lock);
}

/* Of the highest bar, `most` requests, the picture has 40 units. */
static void add_bar(struct buf *out, unsigned i, uint64_t n, uint64_t most, const char *class)
{
	uint64_t height = most ? (n * 40 + most - 1) / most : 0;

	if (height)
		buf_addf(out, "<rect class=\"%s\" x=\"%u\" y=\"%" PRIu64 "\" width=\"8\" height=\"%" PRIu64
			"\"/>", class, i * 10 + 1, 40 - height, height);
}

/* A bar for each hour: the requests for files, and of these the ones that the cache answered. */
static void add_day(struct page *p)
{
	struct buf *out = &p->html;
	struct hours *d = &p->space->hours;
	uint64_t asked[HOURS + 1], hits[HOURS + 1], most = 0;
	int64_t first;

	pthread_mutex_lock(&d->lock);
	first = atomic_load(&d->hour) - HOURS + 1;
	for (int i = 0; i < HOURS; i++) {
		asked[i] = d->asked[(first + i) % HOURS];
		hits[i] = d->hits[(first + i) % HOURS];
	}
	pthread_mutex_unlock(&d->lock);
	asked[HOURS] = count_asked(p->space, &hits[HOURS]);
	for (unsigned i = 0; i < HOURS; i++)
		most = MAX(most, asked[i + 1] - asked[i]);
	buf_adds(out, "<section id=\"day\" data-live>\n<h2>The last 24 hours</h2>\n");
	buf_addf(out, "<p>%" PRIu64 " requests for files, %" PRIu64 " answered from the cache; at most %" PRIu64
		" in an hour</p>\n", asked[HOURS] - asked[0], hits[HOURS] - hits[0], most);
	buf_adds(out, "<svg class=\"day\" viewBox=\"0 0 240 40\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-label=\"requests for files in each of the last 24 hours\">\n");
	for (unsigned i = 0; i < HOURS; i++) {
		uint64_t n = asked[i + 1] - asked[i], h = MIN(hits[i + 1] - hits[i], n);

		buf_addf(out, "<g><title>%02u:00 UTC: %" PRIu64 " requests, %" PRIu64 " from the cache</title>",
			(unsigned)((first + i) % 24), n, h);
		add_bar(out, i, n, most, "asked");
		add_bar(out, i, h, most, "hits");
		buf_adds(out, "</g>\n");
	}
	buf_adds(out, "</svg>\n</section>\n");
}

/* ---- sources ----------------------------------------------------------------------------- */

/* The bound in milliseconds below which a share of the answers was; 0: above all bounds. */
static unsigned quantile(const struct fetch_latency *row, uint64_t all, unsigned percent)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FETCH_LATENCY_BOUNDS; i++) {
		sum += row->answers[i];
		if (sum * 100 >= all * percent)
			return fetch_latency_bounds[i];
	}
	return 0;
}

static void add_bound(struct buf *out, unsigned ms)
{
	if (ms)
		buf_addf(out, "up to %u ms", ms);
	else
		buf_addf(out, "over %u ms", fetch_latency_bounds[FETCH_LATENCY_BOUNDS - 1]);
}

static void add_latency(struct buf *out, const struct fetch_latency *row)
{
	uint64_t all = 0;

	for (unsigned i = 0; row && i <= FETCH_LATENCY_BOUNDS; i++)
		all += row->answers[i];
	buf_adds(out, "<td data-name=\"answers\">");
	if (all == 1) {
		buf_adds(out, "1, in ");
		add_bound(out, quantile(row, all, 50));
	} else if (all) {
		buf_addf(out, "%" PRIu64 ", half of them in ", all);
		add_bound(out, quantile(row, all, 50));
		buf_adds(out, ", 95 % in ");
		add_bound(out, quantile(row, all, 95));
	} else {
		buf_adds(out, "none yet");
	}
	if (row && row->failed)
		buf_addf(out, "; <strong>%" PRIu64 " without an answer</strong>", row->failed);
	buf_adds(out, "</td>");
}

static const char *health_class(const char *state)
{
	return strcmp(state, "ok") == 0 || strncmp(state, "there", 5) == 0 ? "good"
	       : strncmp(state, "failing", 7) == 0 || strncmp(state, "skipped", 7) == 0 ? "bad" : "open";
}

static void add_source(struct buf *out, char *line, const struct fetch_latency *rows, unsigned n)
{
	const struct fetch_latency *latency = NULL;
	char *f[6];

	text_fields(line, f, ARRAY_SIZE(f));
	for (unsigned i = 0; i < n; i++)
		if (strcmp(rows[i].source, f[1]) == 0)
			latency = &rows[i];
	buf_adds(out, "<tr>");
	html_element(out, "th scope=\"row\"", f[1]);
	buf_addf(out, "<td data-name=\"state\"><span class=\"state %s\">", health_class(f[5]));
	html_text(out, f[5]);
	buf_adds(out, "</span></td>");
	add_latency(out, latency);
	html_element(out, "td data-name=\"where\"", f[4]);
	buf_adds(out, "<td data-name=\"kind\">");
	html_text(out, f[2]);
	buf_adds(out, strcmp(f[2], f[3]) != 0 ? ", " : "");
	html_text(out, strcmp(f[2], f[3]) != 0 ? f[3] : "");
	buf_adds(out, "</td></tr>\n");
}

static void add_sources(struct page *p)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(TEXT_MOST);
	_cleanup_free_ struct fetch_latency *rows = calloc(FETCH_LATENCIES_MOST, sizeof(*rows));
	unsigned n = rows ? fetch_latencies(p->space->fetch, rows, FETCH_LATENCIES_MOST) : 0;
	struct buf *out = &p->html;
	char *line, *rest;

	fetch_sources_text(p->space->fetch, &text);
	buf_adds(out, "<section id=\"sources\" data-live>\n<h2>Sources</h2>\n");
	if (text.n == 0) {
		buf_adds(out, "<p class=\"note\">No source is configured: only stored files are "
			"found.</p></section>\n");
		return;
	}
	buf_adds(out, "<table class=\"stack\"><thead><tr><th scope=\"col\">name</th><th scope=\"col\">state</th>"
		      "<th scope=\"col\">answers</th><th scope=\"col\">where</th><th "
		      "scope=\"col\">kind</th></tr></thead>\n<tbody>\n");
	rest = text.p;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			add_source(out, line, rows, n);
	buf_adds(out, "</tbody></table></section>\n");
}

/* ---- downloads ------------------------------------------------------------------------------ */

static void add_download(struct buf *out, char *line)
{
	uint64_t have, all, rate;
	char *f[8];

	text_fields(line, f, ARRAY_SIZE(f));
	have = strtoull(f[3], NULL, 10);
	all = strtoull(f[4], NULL, 10);
	rate = strtoull(f[5], NULL, 10);
	buf_adds(out, "<tr><th scope=\"row\"><code>");
	html_text(out, f[0]);
	buf_adds(out, "</code></th><td data-name=\"state\">");
	html_text(out, f[1]);
	html_element(out, "td data-name=\"source\"", f[2]);
	buf_adds(out, "<td data-name=\"progress\">");
	if (all)
		buf_addf(out, "<progress max=\"100\" value=\"%u\" aria-label=\"progress\"></progress> ",
			(unsigned)MIN(have * 100 / all, (uint64_t)100));
	if (have)
		html_size(out, have);
	if (all) {
		buf_adds(out, " of ");
		html_size(out, all);
	}
	if (rate) {
		buf_adds(out, ", ");
		html_size(out, rate);
		buf_adds(out, "/s");
	}
	buf_addf(out, "</td><td data-name=\"for\">%.1f s</td></tr>\n", strtod(f[6], NULL) / 1000);
}

static void add_downloads(struct page *p)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(TEXT_MOST);
	struct buf *out = &p->html;
	char *line, *rest;

	fetch_downloads(p->space->fetch, &text);
	buf_adds(out, "<section id=\"activity\" data-live>\n<h2>Running downloads</h2>\n");
	if (text.n == 0) {
		buf_adds(out, "<p>none</p></section>\n");
		return;
	}
	buf_adds(out, "<table class=\"stack\"><thead><tr><th scope=\"col\">file</th><th scope=\"col\">state</th>"
		      "<th scope=\"col\">source</th><th scope=\"col\">progress</th><th "
		      "scope=\"col\">for</th></tr></thead>\n<tbody>\n");
	rest = text.p;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			add_download(out, line);
	buf_adds(out, "</tbody></table></section>\n");
}

/* ---- the cache, the bucket --------------------------------------------------------------------- */

static void add_use(struct buf *out, const struct store_totals *t)
{
	uint64_t quota = t->quota, used = t->bytes + t->sparse_bytes;

	buf_adds(out, "<p>");
	html_size(out, used);
	if (quota) {
		buf_addf(out, " of ");
		html_size(out, quota);
		buf_addf(out, " <meter min=\"0\" max=\"100\" high=\"95\" value=\"%u\" aria-label=\"use of the "
			"quota\"></meter> %u %%",
			(unsigned)MIN(used * 100 / quota, (uint64_t)100), (unsigned)(used * 100 / quota));
	} else {
		buf_adds(out, ", without a quota");
	}
	buf_addf(out, "</p>\n<p>%" PRIu64 " files, %" PRIu64 " of them uploaded or added (",
		t->artifacts + t->sparse, t->pinned);
	html_size(out, t->pinned_bytes);
	buf_addf(out, "), %" PRIu64 " remembered misses</p>\n", t->misses);
}

static void add_cache(struct page *p)
{
	struct store *st = p->space->store;
	struct buf *out = &p->html;
	struct store_totals t = {0};
	struct statvfs disk;

	buf_adds(out, "<section id=\"cache\" data-live>\n<h2>Cache</h2>\n");
	if (store_count(st, &t) == 0)
		add_use(out, &t);
	else
		buf_adds(out, "<p class=\"note\">The index cannot be read.</p>\n");
	if (store_statvfs(st, &disk) == 0 && disk.f_blocks) {
		buf_adds(out, "<p>");
		html_size(out, (uint64_t)disk.f_bavail * disk.f_frsize);
		buf_adds(out, " free on its disk, of ");
		html_size(out, (uint64_t)disk.f_blocks * disk.f_frsize);
		buf_adds(out, "</p>\n");
	}
	buf_adds(out, "</section>\n");
}

static void add_bucket(struct page *p)
{
	struct buf *out = &p->html;
	struct bucket_stats s;

	if (!p->space->bucket)
		return;
	bucket_stats(p->space->bucket, &s);
	buf_addf(out, "<section id=\"bucket\" data-live>\n<h2>Bucket</h2>\n<p><span class=\"state %s\">",
		strcmp(s.state, "ok") == 0 ? "good" : "bad");
	html_text(out, s.state);
	buf_addf(out, "</span></p>\n<p>%" PRIu64 " files wait for it (", s.queue.files);
	html_size(out, s.queue.bytes);
	buf_adds(out, ")");
	if (s.queue.oldest) {
		buf_adds(out, ", the oldest since ");
		html_time(out, s.queue.oldest);
	}
	buf_addf(out, "; %" PRIu64 " of them were refused before</p>\n<p>%" PRIu64 " files uploaded since the start "
		"(", s.queue.failed, s.files);
	html_size(out, s.bytes);
	buf_addf(out, "), %" PRIu64 " failures, %" PRIu64 " files lost before the bucket had them</p>\n</section>\n",
		s.failures, s.queue.lost);
}

/* ---- errors ------------------------------------------------------------------------------------- */

#define ERRORS_SHOWN 50

static void add_error(struct buf *out, const struct journal_line *l)
{
	buf_addf(out, "<tr><th scope=\"row\">%d</th><td data-name=\"request\"><code>", l->status);
	html_text(out, l->file);
	buf_adds(out, "</code></td>");
	html_element(out, "td data-name=\"why\"", l->why);
	html_element(out, "td data-name=\"by\"", strcmp(l->user, "-") == 0 ? "" : l->user);
	buf_adds(out, "<td data-name=\"at\">");
	html_time(out, l->when);
	buf_adds(out, "</td></tr>\n");
}

static void add_errors(struct page *p)
{
	_cleanup_free_ struct journal_line *lines = calloc(ERRORS_SHOWN, sizeof(*lines));
	int64_t since = clock_wall() - 3600;
	unsigned n = lines ? journal_read(&p->space->journal, JOURNAL_ERRORS, since, lines, ERRORS_SHOWN) : 0;
	struct buf *out = &p->html;

	buf_adds(out, "<section id=\"errors\" data-live>\n<h2>Errors of the last hour</h2>\n");
	if (n == 0) {
		buf_adds(out, "<p>none</p></section>\n");
		return;
	}
	buf_adds(out, "<table class=\"stack\"><thead><tr><th scope=\"col\">status</th><th scope=\"col\">request</th>"
		      "<th scope=\"col\">why</th><th scope=\"col\">by</th><th "
		      "scope=\"col\">at</th></tr></thead>\n<tbody>\n");
	for (unsigned i = 0; i < n; i++)
		add_error(out, &lines[i]);
	buf_adds(out, n == ERRORS_SHOWN ? "</tbody></table>\n<p><small>and perhaps more</small></p></section>\n"
					: "</tbody></table></section>\n");
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static void number_row(void *ctx, const char *name, const char *help, const char *type, uint64_t value)
{
	struct buf *out = ctx;

	buf_adds(out, "<tr>");
	html_element(out, "th scope=\"row\"", name);
	buf_addf(out, "<td class=\"number\">%" PRIu64 "</td>", value);
	html_element(out, "td", help);
	buf_adds(out, "</tr>\n");
}

static void add_numbers(struct page *p)
{
	buf_adds(&p->html, "<section>\n<h2>Numbers</h2>\n<p>The same for Prometheus: <a "
		"href=\"/metrics\">/metrics</a></p>\n<details><summary>All counters</summary>\n<table "
		"id=\"numbers\"><tbody>\n");
	numbers_each(p->x->h, p->space, number_row, &p->html);
	buf_adds(&p->html, "</tbody></table></details></section>\n");
}

void page_server(struct page *p)
{
	buf_adds(&p->html, "<h1>Server</h1>\n");
	add_facts(p);
	add_day(p);
	add_sources(p);
	add_downloads(p);
	buf_adds(&p->html, "<div class=\"grid\">\n");
	add_cache(p);
	add_bucket(p);
	buf_adds(&p->html, "</div>\n");
	add_errors(p);
	add_numbers(p);
}
