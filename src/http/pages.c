/* Answers about the server for programs: health, whether it is ready, metrics, and lists of misses and of files by
 * name. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/jtext.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "bucket/bucket.h"
#include "http/private.h"
#include "source/scan/scan.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAGE_MOST (64 << 20)

static enum MHD_Result page_health(struct exchange *x)
{
	return exchange_plain(x, 200, "ok\n");
}

/* ---- /ready -------------------------------------------------------------------------- */

#define READY_MS 1000	  /* how long the result of a check counts */
#define READY_LATE_MS 3000 /* a check that takes longer means that the disk does not answer */

/* Requests of clients never wait for this check, and only one thread at a time is in it: the disk may hang. */
static void check_store(void *ctx)
{
	struct exchange *x = ctx;
	struct http *h = x->h;
	struct err e = {0};
	int r = store_ready(h->public->store, &e);

	if (r < 0)
		log_debug(LOG_HTTP, "not ready: %s", e.text);
	pthread_mutex_lock(&h->lock);
	h->ready.checking = false;
	h->ready.checked = clock_ms();
	h->ready.r = r;
	pthread_mutex_unlock(&h->lock);
	exchange_resume(x);
}

/* True: the caller must check the store. False: *r is the state. */
static bool must_check(struct http *h, int *r)
{
	uint64_t now = clock_ms();
	LOCK_SCOPE(&h->lock);

	*r = h->ready.r;
	if (h->ready.checking) {
		if (now - h->ready.began > READY_LATE_MS)
			*r = -ETIMEDOUT;
		return false;
	}
	if (h->ready.checked && now - h->ready.checked < READY_MS)
		return false;
	h->ready.checking = true;
	h->ready.began = now;
	return true;
}

static enum MHD_Result reply_ready(struct exchange *x, int r)
{
	char text[120];

	if (r == 0)
		return exchange_plain(x, 200, "ready\n");
	snprintf(text, sizeof(text), "the store cannot be used: %s\n", err_text(r));
	return exchange_plain(x, 503, text);
}

static enum MHD_Result page_ready(struct exchange *x)
{
	struct http *h = x->h;
	int r;

	if (atomic_load(&h->draining))
		return exchange_plain(x, 503, "the server is stopping\n");
	if (x->step == STEP_ANSWER) {
		pthread_mutex_lock(&h->lock);
		r = h->ready.r;
		pthread_mutex_unlock(&h->lock);
		return reply_ready(x, r);
	}
	if (!must_check(h, &r))
		return reply_ready(x, r);
	if (!exchange_post(x, STEP_ANSWER, h->workers, check_store)) {
		pthread_mutex_lock(&h->lock);
		h->ready.checking = false;
		pthread_mutex_unlock(&h->lock);
	}
	return MHD_YES;
}

/* ---- /metadata: debuginfod's search for the names of files ------------------------------ */

#define METADATA_MOST (16u << 20) /* bytes of an answer; a longer one is not complete */
#define METADATA_MS 5000	  /* nor is one that takes longer */

struct search {
	char key[16], value[SCAN_NAME]; /* of the query */
	uint64_t end;			/* clock_ms() */
	struct buf *out;
};

static bool is_meant(const struct search *s, const char *name, const char *id)
{
	return strcmp(s->key, "glob") == 0   ? fnmatch(s->value, name, FNM_PATHNAME) == 0
	       : strcmp(s->key, "file") == 0 ? strcmp(s->value, name) == 0
					     : strcmp(s->value, id) == 0;
}

/* Adds a program or debug file that the query means. Its name is its path below the tree or in the archive, as that
 * of an installed file. The archive has only its own name: no answer shows directories of the server. */
static int add_place(void *ctx, const struct key *k, const struct scan_found *at)
{
	const struct search *s = ctx;
	const char *path = at->member ? at->name : at->path;
	char name[PATH_MAX + 1];

	if (clock_ms() > s->end || s->out->n > METADATA_MOST)
		return -E2BIG;
	if ((k->type != FILETYPE_ELF_CODE && k->type != FILETYPE_ELF_DEBUG) || key_is_by_debug_id(k))
		return 0;
	snprintf(name, sizeof(name), "/%s", path + (*path == '/'));
	if (!is_meant(s, name, k->id))
		return 0;
	buf_addf(s->out, "%s{\"type\": \"%s\", \"buildid\": \"%s\", \"file\": ",
		s->out->p[s->out->n - 1] == '[' ? "" : ", ",
		k->type == FILETYPE_ELF_CODE ? "executable" : "debuginfo", k->id);
	jtext_add(s->out, name);
	if (at->member) {
		buf_adds(s->out, ", \"archive\": ");
		jtext_add(s->out, path_base(at->path));
	}
	return buf_adds(s->out, "}");
}

static bool metadata_query(const struct exchange *x, struct search *out)
{
	const char *query = x->route->query;

	return route_query(query, "key", out->key, sizeof(out->key)) &&
	       route_query(query, "value", out->value, sizeof(out->value)) &&
	       (strcmp(out->key, "glob") == 0 || strcmp(out->key, "file") == 0 || strcmp(out->key, "buildid") == 0);
}

static int metadata_text(struct exchange *x)
{
	struct search s = {.end = clock_ms() + METADATA_MS, .out = &x->reply};
	int r;

	metadata_query(x, &s);
	buf_adds(s.out, "{\"results\": [");
	r = fetch_places(x->space->fetch, add_place, &s);
	return buf_addf(s.out, "], \"complete\": %s}\n", r == 0 ? "true" : "false");
}

/* ---- lists: as long as the index, so workers write them ------------------------------ */

static void write_list(void *ctx)
{
	struct exchange *x = ctx;
	struct http *h = x->h;

	x->answer.r = x->route->what == ROUTE_METADATA
		? metadata_text(x)
		: misses_text(x->space, x->route->what == ROUTE_MISSING, &x->left, &x->reply);
	atomic_fetch_sub(&h->lists, 1);
	exchange_resume(x);
}

static enum MHD_Result page_list(struct exchange *x)
{
	bool metadata = x->route->what == ROUTE_METADATA;
	struct search s;
	struct http *h = x->h;

	if (x->step == STEP_ANSWER)
		return page_reply(x, metadata ? "application/json" : "text/csv; charset=utf-8", x->answer.r,
			&x->reply);
	if (metadata && !metadata_query(x, &s))
		return exchange_plain(x, 400, "/metadata needs a key (glob, file or buildid) and a value\n");
	if (!http_admit(&h->lists, HTTP_LISTS_MOST))
		return exchange_plain(x, 503, "too many of these lists are being written; try again\n");
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

/* The numbers of the team's bucket. */
static void each_of_bucket(struct bucket *b, each_number *each, void *ctx)
{
	struct bucket_stats s;

	bucket_stats(b, &s);
	each(ctx, "bucket_queued_files", "files that the bucket does not have yet", "gauge", s.queue.files);
	each(ctx, "bucket_queued_bytes", "bytes of these files", "gauge", s.queue.bytes);
	each(ctx, "bucket_queue_seconds", "age of the oldest of these files", "gauge",
		s.queue.oldest ? (uint64_t)MAX(clock_wall() - s.queue.oldest, 0) : 0);
	each(ctx, "bucket_refused_files", "queued files that failed: the bucket refused them, or they cannot be read",
		"gauge", s.queue.failed);
	each(ctx, "bucket_lost_files", "files that left the store before the bucket had them", "counter",
		s.queue.lost);
	each(ctx, "bucket_files", "files uploaded into the bucket", "counter", s.files);
	each(ctx, "bucket_bytes", "bytes uploaded into the bucket", "counter", s.bytes);
	each(ctx, "bucket_requests", "requests for writing to the bucket", "counter", s.requests);
	each(ctx, "bucket_failures", "uploads into the bucket that failed, and are retried", "counter", s.failures);
}

void numbers_each(struct http *h, const struct space *s, each_number *each, void *ctx)
{
	unsigned open, listeners = atomic_load(&h->listeners), waiting = atomic_load(&h->waiting);

	for (const struct fetch_stat_row *row = fetch_stat_rows; row->name; row++)
		each(ctx, row->name, row->help, "counter", number_at(fetch_stats(s->fetch), row->offset));
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		each(ctx, counters[i].name, counters[i].help, "counter", number_at(&h->counters, counters[i].offset));
	pthread_mutex_lock(&h->lock);
	open = h->n_conns;
	pthread_mutex_unlock(&h->lock);
	each(ctx, "http_open", "connections open", "gauge", open);
	each(ctx, "http_running", "requests that have not ended", "gauge", atomic_load(&h->running));
	each(ctx, "http_queued", "requests that wait for a thread of the server", "gauge",
		workers_queued(h->workers) + workers_queued(h->askers));
	each(ctx, "store_queued", "jobs that wait for a thread that digests and stores files", "gauge",
		fetch_queued(s->fetch));
	each(ctx, "http_waiting", "requests that wait for a source", "gauge",
		waiting > listeners ? waiting - listeners : 0);
	each(ctx, "http_listeners", "clients that listen to events", "gauge", listeners);
	if (h->uploads)
		upload_numbers(h, s, each, ctx);
	if (s->bucket)
		each_of_bucket(s->bucket, each, ctx);
	for (const struct symb_stat_row *row = symb_stat_rows; row->name; row++)
		each(ctx, row->name, row->help, "counter", symb_stat(s->symb, row));
	each(ctx, "start_time_seconds", "when the server was started", "gauge", (uint64_t)h->started);
}

static void metric_lines(void *ctx, const char *name, const char *help, const char *type, uint64_t value)
{
	buf_addf(ctx, "# HELP symfs_%s %s\n# TYPE symfs_%s %s\nsymfs_%s %" PRIu64 "\n", name, help, name, type, name,
		value);
}

/* ---- latency of sources ----------------------------------------------------------------- */

/* A value between quotation marks, as Prometheus wants it. */
static int add_label(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (*text == '\n')
			buf_adds(out, "\\n");
		else
			buf_addf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
	return out->r;
}

static void add_answers(struct buf *out, const char *source, const struct fetch_latency *row)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FETCH_LATENCY_BOUNDS; i++) {
		sum += row->answers[i];
		buf_addf(out, "symfs_source_seconds_bucket{source=\"%s\",le=\"%g\"} %" PRIu64 "\n", source,
			fetch_latency_bounds[i] / 1000.0, sum);
	}
	sum += row->answers[FETCH_LATENCY_BOUNDS];
	buf_addf(out, "symfs_source_seconds_bucket{source=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
		"symfs_source_seconds_sum{source=\"%s\"} %g\nsymfs_source_seconds_count{source=\"%s\"} %" PRIu64 "\n",
		source, sum, source, (double)row->ms / 1000, source, sum);
}

static int add_latencies(struct fetch *f, struct buf *out)
{
	_cleanup_free_ struct fetch_latency *rows = calloc(FETCH_LATENCIES_MOST, sizeof(*rows));
	_cleanup_buf_ struct buf failed = BUF_UP_TO(PAGE_MOST);
	unsigned n = rows ? fetch_latencies(f, rows, FETCH_LATENCIES_MOST) : 0;

	if (!n)
		return rows ? 0 : -ENOMEM;
	buf_adds(out, "# HELP symfs_source_seconds time of each source to the head of its answer\n"
		"# TYPE symfs_source_seconds histogram\n");
	buf_adds(&failed, "# HELP symfs_source_failed requests that a source did not answer\n"
		"# TYPE symfs_source_failed counter\n");
	for (unsigned i = 0; i < n; i++) {
		_cleanup_buf_ struct buf name = BUF_UP_TO(200);
		int r = add_label(&name, rows[i].source);

		if (r < 0)
			return r;
		add_answers(out, buf_text(&name), &rows[i]);
		buf_addf(&failed, "symfs_source_failed{source=\"%s\"} %" PRIu64 "\n", buf_text(&name),
			rows[i].failed);
	}
	return failed.r < 0 ? failed.r : buf_add(out, failed.p, failed.n);
}

static enum MHD_Result page_metrics(struct exchange *x)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(PAGE_MOST);
	int r;

	numbers_each(x->h, x->space, metric_lines, &text);
	r = add_latencies(x->space->fetch, &text);
	return page_reply(x, "text/plain; version=0.0.4; charset=utf-8", text.r < 0 ? text.r : r, &text);
}

const struct handler page_handlers[] = {
	{ROUTE_HEALTH, page_health},
	{ROUTE_READY, page_ready},
	{ROUTE_METRICS, page_metrics},
	{ROUTE_MISSING, page_list},
	{ROUTE_MISSES, page_list},
	{ROUTE_METADATA, page_list},
	{ROUTE_NONE, NULL}};
