/* Pages about the server: health, metrics, lists of misses, and the status page for people. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "base/utf8.h"
#include "bucket/bucket.h"
#include "config.h"
#include "http/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAGE_MOST (64 << 20)
#define WHY_ROWS 64
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static enum MHD_Result page(struct exchange *x, const char *type, int r, struct buf *text)
{
	return r < 0 ? exchange_text(x, 500, "text/plain; charset=utf-8", "no-store", "out of memory\n")
		     : exchange_buf(x, 200, type, "no-store", text);
}

enum MHD_Result page_health(struct exchange *x)
{
	return exchange_text(x, 200, "text/plain; charset=utf-8", "no-store", "ok\n");
}

/* ---- lists: as long as the index, so workers write them ------------------------------ */

static void write_list(void *ctx)
{
	struct exchange *x = ctx;
	struct http *h = x->h;

	x->answer.r = 0;
	if (x->route->what == ROUTE_MISSES)
		x->answer.r = misses_text(x->space, &x->left, &x->reply);
	else
		fetch_missing(x->space->fetch, &x->reply);
	atomic_fetch_sub(&h->lists, 1);
	exchange_resume(x);
}

enum MHD_Result page_list(struct exchange *x)
{
	struct http *h = x->h;

	if (x->step == STEP_ANSWER)
		return page(x, "text/csv; charset=utf-8", x->answer.r, &x->reply);
	if (atomic_fetch_add(&h->lists, 1) >= HTTP_LISTS_MOST) {
		atomic_fetch_sub(&h->lists, 1);
		return exchange_text(x, 503, "text/plain; charset=utf-8", "no-store",
			"too many of these lists are being written; try again\n");
	}
	x->reply = BUF_UP_TO(PAGE_MOST);
	if (!exchange_post(x, STEP_ANSWER, h->workers, write_list))
		atomic_fetch_sub(&h->lists, 1);
	return MHD_YES;
}

/* ---- numbers ------------------------------------------------------------------------ */

static const struct counter_row {
	const char *name, *help;
	size_t offset; /* into struct http_counters */
} counters[] = {
	{"http_connections", "connections accepted", offsetof(struct http_counters, connections)},
	{"http_requests", "requests", offsetof(struct http_counters, requests)},
	{"http_ok", "answers with a status of 2xx", offsetof(struct http_counters, ok)},
	{"http_redirected", "answers with 3xx", offsetof(struct http_counters, redirected)},
	{"http_refused", "answers with 4xx", offsetof(struct http_counters, refused)},
	{"http_failed", "answers with 5xx", offsetof(struct http_counters, failed)},
	{"http_bytes", "bytes of bodies sent", offsetof(struct http_counters, bytes)},
	{"http_bytes_saved", "bytes of bodies that needed no download, because the file was stored",
		offsetof(struct http_counters, saved)},
	{"http_gone", "clients that disconnected while they waited", offsetof(struct http_counters, gone)},
	{"http_closed", "connections closed because the client was silent", offsetof(struct http_counters, closed)},
};

static uint64_t number_at(const void *base, size_t offset)
{
	return atomic_load((const atomic_uint_fast64_t *)(const void *)((const char *)base + offset));
}

typedef int each_number(void *ctx, const char *name, const char *help, const char *type,
	uint64_t value);

/* The numbers of the team's bucket. */
static int each_of_bucket(struct bucket *b, each_number *each, void *ctx)
{
	struct bucket_stats s;
	int r = 0;

	bucket_stats(b, &s);
	const struct {
		const char *name, *help, *type;
		uint64_t value;
	} rows[] = {
		{"bucket_queued_files", "files that the bucket does not have yet", "gauge", s.queue.files},
		{"bucket_queued_bytes", "bytes of these files", "gauge", s.queue.bytes},
		{"bucket_queue_seconds", "age of the oldest of these files", "gauge",
			s.queue.oldest ? (uint64_t)MAX(clock_wall() - s.queue.oldest, 0) : 0},
		{"bucket_refused_files", "queued files that the bucket has refused", "gauge", s.queue.failed},
		{"bucket_lost_files", "files that left the store before the bucket had them", "counter", s.queue.lost},
		{"bucket_files", "files uploaded into the bucket", "counter", s.files},
		{"bucket_bytes", "bytes uploaded into the bucket", "counter", s.bytes},
		{"bucket_requests", "requests for writing to the bucket", "counter", s.requests},
		{"bucket_failures", "uploads into the bucket that failed, and are retried", "counter", s.failures},
	};

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
		r = each(ctx, rows[i].name, rows[i].help, rows[i].type, rows[i].value);
	return r;
}

static int each_of(struct http *h, const struct space *s, each_number *each, void *ctx)
{
	unsigned open, listeners = atomic_load(&h->listeners), waiting = atomic_load(&h->waiting);
	int r = 0;

	for (const struct fetch_stat_row *row = fetch_stat_rows; r == 0 && row->name; row++)
		r = each(ctx, row->name, row->help, "counter",
			number_at(fetch_stats(s->fetch), row->offset));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(counters); i++)
		r = each(ctx, counters[i].name, counters[i].help, "counter",
			number_at(&h->counters, counters[i].offset));
	pthread_mutex_lock(&h->lock);
	open = h->n_conns;
	pthread_mutex_unlock(&h->lock);
	if (r == 0)
		r = each(ctx, "http_open", "connections open", "gauge", open);
	if (r == 0)
		r = each(ctx, "http_running", "requests that have not ended", "gauge", atomic_load(&h->running));
	if (r == 0)
		r = each(ctx, "http_queued", "requests that wait for a thread of the server", "gauge",
			workers_queued(h->workers) + workers_queued(h->askers));
	if (r == 0)
		r = each(ctx, "store_queued", "jobs that wait for a thread that digests and stores files", "gauge",
			fetch_queued(s->fetch));
	if (r == 0)
		r = each(ctx, "http_waiting", "requests that wait for a source", "gauge",
			waiting > listeners ? waiting - listeners : 0);
	if (r == 0)
		r = each(ctx, "http_listeners", "clients that listen to events", "gauge", listeners);
	if (r == 0 && s->bucket)
		r = each_of_bucket(s->bucket, each, ctx);
	for (const struct symb_stat_row *row = symb_stat_rows; r == 0 && row->name; row++)
		r = each(ctx, row->name, row->help, "counter", symb_stat(s->symb, row));
	return r < 0 ? r : each(ctx, "start_time_seconds", "when the server was started", "gauge",
				   (uint64_t)h->started);
}

static int metric_lines(void *ctx, const char *name, const char *help, const char *type,
	uint64_t value)
{
	return buf_addf(ctx, "# HELP symfs_%s %s\n# TYPE symfs_%s %s\nsymfs_%s %" PRIu64 "\n", name,
		help, name, type, name, value);
}

/* ---- latency of sources ----------------------------------------------------------------- */

/* A value between quotation marks, as Prometheus wants it. */
static int add_label(struct buf *out, const char *text)
{
	int r = 0;

	for (; r == 0 && *text; text++)
		if (*text == '\n')
			r = buf_adds(out, "\\n");
		else
			r = buf_addf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
	return r;
}

static int add_answers(struct buf *out, const char *source, const struct fetch_latency *row)
{
	uint64_t sum = 0;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < FETCH_LATENCY_BOUNDS; i++) {
		sum += row->answers[i];
		r = buf_addf(out, "symfs_source_seconds_bucket{source=\"%s\",le=\"%g\"} %" PRIu64 "\n", source,
			fetch_latency_bounds[i] / 1000.0, sum);
	}
	sum += row->answers[FETCH_LATENCY_BOUNDS];
	return r < 0 ? r : buf_addf(out, "symfs_source_seconds_bucket{source=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
		"symfs_source_seconds_sum{source=\"%s\"} %g\nsymfs_source_seconds_count{source=\"%s\"} %" PRIu64 "\n",
		source, sum, source, (double)row->ms / 1000, source, sum);
}

static int add_latencies(struct fetch *f, struct buf *out)
{
	_cleanup_free_ struct fetch_latency *rows = calloc(FETCH_LATENCIES_MOST, sizeof(*rows));
	_cleanup_buf_ struct buf failed = BUF_UP_TO(PAGE_MOST);
	unsigned n = rows ? fetch_latencies(f, rows, FETCH_LATENCIES_MOST) : 0;
	int r = rows ? 0 : -ENOMEM;

	if (r == 0 && n)
		r = buf_adds(out, "# HELP symfs_source_seconds time of each source to the head of its answer\n"
			"# TYPE symfs_source_seconds histogram\n");
	if (r == 0 && n)
		r = buf_adds(&failed, "# HELP symfs_source_failed requests that a source did not answer\n"
			"# TYPE symfs_source_failed counter\n");
	for (unsigned i = 0; r == 0 && i < n; i++) {
		_cleanup_buf_ struct buf name = BUF_UP_TO(200);

		r = add_label(&name, rows[i].source);
		if (r == 0)
			r = add_answers(out, buf_text(&name), &rows[i]);
		if (r == 0)
			r = buf_addf(&failed, "symfs_source_failed{source=\"%s\"} %" PRIu64 "\n", buf_text(&name),
				rows[i].failed);
	}
	return r == 0 && n ? buf_add(out, failed.p, failed.n) : r;
}

enum MHD_Result page_metrics(struct exchange *x)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(PAGE_MOST);
	int r = each_of(x->h, x->space, metric_lines, &text);

	if (r == 0)
		r = add_latencies(x->space->fetch, &text);

	return page(x, "text/plain; version=0.0.4; charset=utf-8", r, &text);
}

/* ---- HTML --------------------------------------------------------------------------- */

static int add_html(struct buf *out, const char *text)
{
	int r = 0;

	for (const unsigned char *p = (const unsigned char *)text; r == 0 && *p;) {
		unsigned n = utf8_length(p);

		if (*p == '&')
			r = buf_adds(out, "&amp;");
		else if (*p == '<')
			r = buf_adds(out, "&lt;");
		else if (*p == '>')
			r = buf_adds(out, "&gt;");
		else if (*p == '"')
			r = buf_adds(out, "&quot;");
		else if (n == 0 || (*p < 0x20 && *p != '\t' && *p != '\n') || *p == 0x7f)
			r = buf_adds(out, REPLACEMENT);
		else
			r = buf_add(out, p, n);
		p += MAX(n, 1u);
	}
	return r;
}

static int add_cell(struct buf *out, const char *text)
{
	int r = buf_adds(out, "<td>");

	if (r == 0)
		r = add_html(out, text);
	return r < 0 ? r : buf_adds(out, "</td>");
}

/* Makes rows of lines whose fields are separated by tabs. */
static int add_rows(struct buf *out, char *text)
{
	char *line, *field;
	int r = 0;

	while (r == 0 && (line = strsep(&text, "\n"))) {
		if (!*line)
			continue;
		r = buf_adds(out, "<tr>");
		while (r == 0 && (field = strsep(&line, "\t")))
			r = add_cell(out, field);
		if (r == 0)
			r = buf_adds(out, "</tr>\n");
	}
	return r;
}

static int number_row(void *ctx, const char *name, const char *help, const char *type, uint64_t value)
{
	return buf_addf(ctx, "<tr><td>%s</td><td>%" PRIu64 "</td><td>%s</td></tr>\n", name, value, help);
}

static int add_sources(const struct space *s, struct buf *out)
{
	_cleanup_buf_ struct buf rows = BUF_UP_TO(PAGE_MOST);
	int r = buf_adds(out, "<h2>Sources</h2>\n<table id=\"sources\"><tr><th></th><th>name</th>"
			      "<th>kind</th><th>layout</th><th>where</th><th>state</th></tr>\n");

	fetch_sources_text(s->fetch, &rows);
	if (r == 0 && rows.p)
		r = add_rows(out, rows.p);
	return r < 0 ? r : buf_adds(out, "</table>\n");
}

static int add_activity(const struct space *s, struct buf *out)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(PAGE_MOST);
	int r = buf_adds(out, "<h2>Running downloads</h2>\n<pre id=\"activity\">");

	fetch_activity(s->fetch, &text);
	if (r == 0)
		r = add_html(out, text.n ? text.p : "none");
	return r < 0 ? r : buf_adds(out, "</pre>\n");
}

/* ---- why ---------------------------------------------------------------------------- */

static int add_attempt(struct buf *out, const struct fetch_attempt *a)
{
	char status[16] = "", until[24] = "";
	int r = buf_adds(out, "<tr>");

	if (a->status)
		snprintf(status, sizeof(status), "%d", a->status);
	if (a->remembered_until)
		clock_print(a->remembered_until, until);
	if (r == 0)
		r = add_cell(out, a->source);
	if (r == 0)
		r = add_cell(out, a->spelling);
	if (r == 0)
		r = add_cell(out, a->url);
	if (r == 0)
		r = add_cell(out, a->verdict);
	if (r == 0)
		r = add_cell(out, status);
	if (r == 0)
		r = add_cell(out, until);
	if (r == 0)
		r = add_cell(out, a->error);
	return r < 0 ? r : buf_adds(out, "</tr>\n");
}

static int add_stored(struct space *s, const struct artifact *a, struct buf *out)
{
	struct fetched f = {0};
	int r;

	if (fetch_stored(s->fetch, a, 1, &f) < 0 || f.r < 0) {
		r = buf_adds(out, "<p>not stored</p>\n");
	} else {
		r = buf_addf(out, "<p>stored, %" PRIu64 " bytes, from ", blob_size(f.blob));
		if (r == 0)
			r = add_html(out, blob_facts(f.blob)->source);
		if (r == 0)
			r = buf_adds(out, "</p>\n");
	}
	blob_unref(f.blob);
	return r;
}

static int add_artifact(struct space *s, const struct artifact *a, struct fetch_attempt *rows,
	struct buf *out)
{
	char room[KEY_TEXT];
	struct key k;
	int n, r;

	if (key_of(&k, a) < 0)
		return 0;
	r = buf_adds(out, "<h3>");
	if (r == 0)
		r = add_html(out, key_text(&k, room));
	if (r == 0)
		r = buf_adds(out, "</h3>\n");
	if (r == 0)
		r = add_stored(s, a, out);
	if (r == 0)
		r = buf_adds(out, "<table><tr><th>source</th><th>spelling</th><th>where</th><th>verdict"
				  "</th><th>HTTP</th><th>remembered until</th><th></th></tr>\n");
	n = fetch_why(s->fetch, a, false, rows, WHY_ROWS);
	for (int i = 0; r == 0 && i < n; i++)
		r = add_attempt(out, &rows[i]);
	if (r == 0)
		r = buf_adds(out, "</table>\n");
	return r == 0 && n == 0 ? buf_adds(out, "<p>" FETCH_UNNAMED "</p>\n") : r;
}

static int add_why(struct space *s, const char *path, struct buf *out)
{
	_cleanup_free_ struct fetch_attempt *rows = calloc(WHY_ROWS, sizeof(*rows));
	_cleanup_free_ struct artifact *found = calloc(SEARCH_MOST, sizeof(*found));
	int r = rows && found ? 0 : -ENOMEM;
	unsigned n;

	if (r < 0 || !*path)
		return r;
	n = search(s, path, found);
	if (n == 0)
		return buf_adds(out, "<p id=\"why\">this is neither a path of any layout, a key nor "
				     "an identifier</p>\n");
	r = buf_adds(out, "<div id=\"why\">\n");
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = add_artifact(s, &found[i], rows, out);
	return r < 0 ? r : buf_adds(out, "</div>\n");
}

static int add_search(struct space *s, const char *path, struct buf *out)
{
	int r = buf_adds(out, "<h2>Why is a file found or missing?</h2>\n<form action=\"/status\">"
			      "<input name=\"path\" size=\"90\" placeholder=\"debuginfod/buildid/ID/debuginfo,"
			      " symstore/NAME/ID/NAME, a key, a build id, ...\" value=\"");

	if (r == 0)
		r = add_html(out, path);
	if (r == 0)
		r = buf_adds(out, "\"> <button>Explain</button></form>\n");
	return r < 0 ? r : add_why(s, path, out);
}

/* ---- the page ----------------------------------------------------------------------- */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>symfs</title>\n"
	"<style>body{font:15px sans-serif;margin:2em;max-width:75em}td,th{text-align:left;"
	"padding:.2em .8em .2em 0;vertical-align:top;overflow-wrap:anywhere}pre{white-space:pre-wrap}"
	"</style></head>\n<body><h1>symfs " PACKAGE_VERSION "</h1>\n";

static int add_rates(const struct space *s, struct buf *out)
{
	struct fetch_stats *t = fetch_stats(s->fetch);
	uint64_t hits = atomic_load(&t->hits), asked = hits + atomic_load(&t->flights);
	int r = buf_addf(out, "<p id=\"rate\">%" PRIu64 " requests for files, %" PRIu64 " %% of them answered from the "
			      "cache</p>\n", asked, asked ? hits * 100 / asked : 0);

	return r;
}

static int add_page(struct exchange *x, const char *path, struct buf *out)
{
	int r = buf_adds(out, head);

	if (r == 0)
		r = add_rates(x->space, out);
	if (r == 0)
		r = add_search(x->space, path, out);
	if (r == 0)
		r = add_sources(x->space, out);
	if (r == 0)
		r = add_activity(x->space, out);
	if (r == 0)
		r = buf_adds(out, "<h2>Numbers</h2>\n<table id=\"numbers\">\n");
	if (r == 0)
		r = each_of(x->h, x->space, number_row, out);
	return r < 0 ? r : buf_adds(out, "</table>\n</body></html>\n");
}

enum MHD_Result page_status(struct exchange *x)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(PAGE_MOST);
	char path[ROUTE_PATH_MAX] = "";
	int r;

	route_query(x->route->query, "path", path, sizeof(path));
	r = add_page(x, path, &text);
	return page(x, "text/html; charset=utf-8", r, &text);
}
