/* Signed requests to the store of a team's bucket, which wait for the answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bucket/call.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "source/s3.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COPY "x-amz-copy-source" /* the header of a copy; its 404 is about the copied object */
#define MATCH "If-Match" /* 404: the object is gone */
#define BARE_MOST 160 /* "If-Match: ETAG" */
#define CLOCK_MS 2000 /* an answer that took longer says nothing about the store's clock */
#define CLOCKS_DIFFER 3 /* seconds: a smaller difference is one of rounding and of waiting */
#define STALL_MS 20000 /* the longest time without a byte: a store may think long about a large object */

struct waiting {
	struct call *call;
	struct net_wait wait;
};

/* ---- on the net thread ------------------------------------------------------------------ */

static int on_head(void *ctx, const struct net_reply *r)
{
	return 0;
}

static int on_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct waiting *w = ctx;

	if (w->call->sink)
		return w->call->sink(w->call->sink_ctx, off, p, n);
	return w->call->answer ? buf_add(w->call->answer, p, n) : 0;
}

static void on_done(void *ctx, const struct net_reply *r)
{
	struct waiting *w = ctx;

	w->call->reply = *r;
	net_wait_done(&w->wait);
}

static ssize_t read_text(void *ctx, uint64_t off, void *p, size_t n)
{
	const struct call *call = ctx;

	memcpy(p, (const char *)call->text + off, n);
	return (ssize_t)n;
}

static ssize_t read_file(void *ctx, uint64_t off, void *p, size_t n)
{
	const struct call *call = ctx;
	ssize_t r = pread(call->fd, p, n, (off_t)off);

	return r < 0 ? -errno : r;
}

/* ---- one request ----------------------------------------------------------------------- */

/* The URL of an object, or of the bucket itself, whose URL lacks the prefix. */
static int call_url(const struct caller *c, const struct call *call, struct buf *out)
{
	_cleanup_buf_ struct buf prefix = BUF_UP_TO(4096);
	const char *url = c->source->o.url;
	int r;

	if (call->name)
		return buf_addf(out, "%s/%s", url, call->name);
	r = s3_prefix(c->source, &prefix);
	return r < 0 ? r : buf_addf(out, "%.*s/?%s", (int)(strlen(url) - prefix.n), url, call->query);
}

static int call_request(const struct caller *c, struct call *call, struct net_req *out)
{
	_cleanup_buf_ struct buf url = BUF_UP_TO(16384);
	char digest[SHA256_TEXT];
	struct source_ask ask = {0};
	int r = call_url(c, call, &url);

	if (r == 0 && !(ask.where = buf_take(&url, NULL)))
		r = -ENOMEM;
	if (r == 0)
		r = source_request_with(c->source, &ask, out);
	free(ask.where);
	if (r < 0)
		return r;
	out->method = call->method;
	out->stall_ms = MAX(out->stall_ms, STALL_MS);
	if (call->wait_ms)
		out->stall_ms = out->connect_ms = call->wait_ms;
	out->most = call->answer ? call->answer->most : call->most;
	if (call->text)
		sha256_text(call->text, call->size, digest);
	if (call->text || call->digest) {
		out->body = call->text ? read_text : read_file;
		out->body_size = call->size;
		out->body_ctx = call;
	}
	r = s3_sign_body(c->source, call->text ? digest : call->digest, out);
	if (r == 0 && call->header)
		r = source_add_header(out, call->header);
	if (r < 0)
		net_req_release(out);
	return r;
}

/* The date of an answer that took long says little. */
static void note_clock(struct caller *c, const struct net_reply *r, uint64_t began)
{
	int64_t ahead = r->date - clock_wall();

	if (r->date > 0 && clock_ms() - began < CLOCK_MS)
		atomic_store(&c->ahead, llabs(ahead) <= CLOCKS_DIFFER ? 0 : ahead);
}

static int call_once(struct caller *c, struct call *call)
{
	static const struct net_sink sink = {on_head, on_body, on_done};
	struct waiting w = {.call = call};
	uint64_t began = clock_ms();
	struct net_req req = {0};
	int r;

	if (atomic_load(c->stop)) /* a fast store answers before a wait would see it */
		return -EINTR;
	pthread_rwlock_rdlock(&c->lock);
	r = call_request(c, call, &req);
	pthread_rwlock_unlock(&c->lock);

	if (r < 0)
		return r;
	if (call->answer)
		buf_clear(call->answer);
	atomic_fetch_add(&c->requests, 1);
	r = net_wait_begin(&w.wait, c->net, &req, &sink, &w);
	net_req_release(&req);
	if (!net_wait_end(&w.wait, UINT64_MAX, c->stop))
		r = -EINTR;
	if (r == 0)
		note_clock(c, &call->reply, began);
	return r;
}

/* Whether a 404 can only mean that the bucket is missing. */
static bool needs_bucket(const struct call *call)
{
	bool object = call->header && (strncmp(call->header, COPY, strlen(COPY)) == 0 ||
					      strncmp(call->header, MATCH, strlen(MATCH)) == 0);

	return !call->name || (call->method && strcmp(call->method, "PUT") == 0 && !object);
}

static int judge(const struct call *call)
{
	const struct net_reply *r = &call->reply;

	if (r->error < 0)
		return r->error;
	switch (r->status) {
	case 200 ... 299: return 0;
	case 404: return needs_bucket(call) ? -ENXIO : -ENOENT;
	case 401:
	case 403: return -EACCES;
	case 409: return -EAGAIN;
	case 412: return -EEXIST;
	case 408:
	case 429:
	case 500 ... 599: return -EREMOTEIO;
	default: return -EINVAL;
	}
}

int call_run(struct caller *c, struct call *call)
{
	struct judgement j;
	int r = call_once(c, call);

	if (r < 0)
		return r;
	r = judge(call);
	if (r != -EACCES)
		return r;
	/* With the store's own date, the request may succeed. */
	pthread_rwlock_rdlock(&c->lock);
	source_judge(c->source, &call->reply, &j);
	pthread_rwlock_unlock(&c->lock);
	if (!j.again)
		return r;
	r = call_once(c, call);
	return r < 0 ? r : judge(call);
}

const char *call_text(int code)
{
	return code == -ENXIO ? "the store does not have the bucket (HTTP 404): create it, or correct [bucket]"
		: code == -EHOSTUNREACH ? "its name is not known (DNS), or there is no route to it" : err_text(code);
}

/* Whether an object still has the ETag of `condition`. Then `bare` is the condition without quotes. */
static bool is_same(struct caller *c, const char *name, const char *condition, char bare[static BARE_MOST])
{
	struct call head = {.method = "HEAD", .name = name};
	const char *etag = condition + strlen(MATCH ": ");
	size_t n = strlen(etag);

	if (n < 2 || call_run(c, &head) < 0 || strcmp(head.reply.etag, etag) != 0)
		return false;
	snprintf(bare, BARE_MOST, MATCH ": %.*s", (int)(n - 2), etag + 1);
	return true;
}

int call_put_text(struct caller *c, const char *name, const struct buf *text, const char *header)
{
	struct call call = {.method = "PUT", .name = name, .text = text ? buf_text(text) : "",
		.size = text ? text->n : 0, .header = header};
	int r = call_run(c, &call);
	char bare[BARE_MOST];

	/* Ceph 16.2 and later send an ETag in quotes, and compare it with one without. */
	if (r != -EEXIST || !header || strncmp(header, MATCH, strlen(MATCH)) != 0 || !is_same(c, name, header, bare))
		return r;
	call.header = bare;
	return call_run(c, &call);
}

int call_get(struct caller *c, const char *name, struct buf *out)
{
	struct call call = {.name = name, .answer = out};

	return call_run(c, &call);
}
