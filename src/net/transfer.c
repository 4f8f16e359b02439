/* One transfer: a libcurl easy handle, its timeouts, its redirects. libcurl runs callbacks while it holds
 * its own state, so a callback must not call libcurl for its transfer. Instead transfer_settle() makes
 * those calls in the next round of the loop, by a timer of 0 ms. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "net/transfer-private.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define HOPS_MOST 8
#define SKIP_MS 2000 /* longest time to skip an unwanted body; then the connection is closed */
#define CONNECT_MS 4000
#define STALL_MS 30000

static void transfer_free(struct transfer *t)
{
	struct net *n = t->net;

	net_timer_stop(n, &t->clock);
	net_timer_stop(n, &t->later);
	host_rests(t);
	queue_leave(t);
	if (t->added)
		curl_multi_remove_handle(n->multi, t->easy);
	curl_easy_cleanup(t->easy);
	if (t->prev)
		t->prev->next = t->next;
	else if (n->transfers == t)
		n->transfers = t->next;
	if (t->next)
		t->next->prev = t->prev;
	curl_slist_free_all(t->headers);
	curl_slist_free_all(t->elsewhere);
	target_release(&t->first);
	net_req_release(&t->proof);
	head_release(&t->head);
	free(t->proxy);
	free(t->url);
	free(t);
}

static void cleanup_transfer(struct transfer **t)
{
	if (*t)
		transfer_free(*t);
}

void transfers_drop(struct net *n)
{
	while (n->transfers)
		transfer_free(n->transfers);
}

void transfers_stopped(struct net *n, uint64_t ms)
{
	uint64_t now = clock_ms();

	/* Keeps both times out of the future: a transfer can have received bytes in the very round of the
	 * loop in which the process was stopped. */
	for (struct transfer *t = n->transfers; t; t = t->next) {
		t->heard = MIN(t->heard + ms, now);
		t->slot_since = MIN(t->slot_since + ms, now);
	}
}

/* Leaves the URL's query out of the log, because it may contain a signature. */
static void transfer_log(const struct transfer *t, const char *how)
{
	log_debug(LOG_NET, "%d, %llu bytes, %llu ms, %s%.*s%s", t->reply.status,
		(unsigned long long)t->received, (unsigned long long)(clock_ms() - t->began), how,
		(int)strcspn(t->url, "?"), t->url, strchr(t->url, '?') ? "?..." : "");
}

/* Calls done() and frees the transfer. Must not run inside a callback of libcurl. */
static void transfer_finish(struct transfer *t)
{
	struct net_sink sink = t->sink;
	char how[sizeof(t->reply.text) + 8] = "";

	/* This comes first, because done() may start and cancel other transfers, and may take long. */
	if (t->added)
		curl_multi_remove_handle(t->net->multi, t->easy);
	t->added = false;
	host_rests(t);
	if (t->reply.error)
		snprintf(how, sizeof(how), "%s: ", t->reply.text);
	transfer_log(t, how);
	sink.done(t->ctx, &t->reply);
	transfer_free(t);
}

/* ---- timeouts ----------------------------------------------------------------------- */

/* Ends a transfer whose body is only skipped: the answer is complete without the body. */
static void skip_over(void *ctx)
{
	transfer_ended(ctx, CURLE_WRITE_ERROR);
}

static void stall_check(void *ctx)
{
	struct transfer *t = ctx;
	uint64_t quiet = clock_ms() - t->heard;

	/* This side paused the transfer, so silence is not the server's fault. transfer_resume() restarts
	 * the timeout. */
	if (t->paused)
		return;
	if (quiet < t->stall_ms) {
		net_timer_set(t->net, &t->clock, t->stall_ms - (unsigned)quiet, stall_check, t);
		return;
	}
	transfer_fail(t, -ETIMEDOUT, "no byte for %u ms", t->stall_ms);
	transfer_finish(t);
}

static void stall_start(struct transfer *t)
{
	t->heard = clock_ms();
	net_timer_set(t->net, &t->clock, t->stall_ms, stall_check, t);
}

static void connect_over(void *ctx)
{
	struct transfer *t = ctx;

	transfer_fail(t, -ETIMEDOUT, "no connection in %u ms", t->connect_ms);
	transfer_finish(t);
}

/* The connect timeout begins here and not in net_get(): a transfer that waits for a free connection
 * of its host has not begun to connect. libcurl resolves the name before it makes sockets. */
static int on_resolve(void *state, void *reserved, void *ctx)
{
	struct transfer *t = ctx;

	if (!t->clock.due || t->clock.fn != connect_over)
		net_timer_set(t->net, &t->clock, t->connect_ms, connect_over, t);
	return 0;
}

/* ---- libcurl calls back --------------------------------------------------------------- */

static curl_socket_t on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct transfer *t = ctx;

	on_resolve(NULL, NULL, ctx);
	/* A name may have several addresses: refusing one address does not end the transfer. */
	if (!peer_may_connect(t, &a->addr))
		return CURL_SOCKET_BAD;
	return socket_open(t->net, a->family, a->socktype, a->protocol);
}

static int on_connected(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
	struct transfer *t = ctx;

	stall_start(t);
	t->local_port = (unsigned)local_port;
	return peer_connected(t, ip, (unsigned)port) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static int transfer_refuse(struct transfer *t)
{
	return transfer_fail(t, -EPERM, "%s", t->refused);
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	bool over = t->head_over;
	size_t took = answer_header(t, p, size * n);

	atomic_fetch_add(&t->net->took, size * n);
	if (!over && t->head_over && !t->wanted)
		net_timer_set(t->net, &t->clock, MIN(t->stall_ms, SKIP_MS), skip_over, t);
	return took;
}

/* Gives libcurl the next bytes of the request's body. */
static size_t on_send(char *p, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	uint64_t left = t->body_size - t->body_sent;
	ssize_t r;

	t->heard = clock_ms();
	if (t->cancelled)
		return CURL_READFUNC_ABORT;
	n = (size_t)MIN((uint64_t)size * n, left);
	r = n ? t->body(t->body_ctx, t->body_sent, p, n) : 0;
	if (r < 0 || (n && r == 0)) {
		transfer_fail(t, r < 0 ? (int)r : -EIO, "the body of the request cannot be read: %s",
			err_text(r < 0 ? (int)r : -EIO));
		return CURL_READFUNC_ABORT;
	}
	t->body_sent += (uint64_t)r;
	return (size_t)r;
}

/* libcurl sends the body once more, because the server closed the connection. */
static int on_seek(void *ctx, curl_off_t off, int whence)
{
	struct transfer *t = ctx;

	if (whence != SEEK_SET || off < 0 || (uint64_t)off > t->body_size)
		return CURL_SEEKFUNC_FAIL;
	t->body_sent = (uint64_t)off;
	return CURL_SEEKFUNC_OK;
}

/* ---- the hops ----------------------------------------------------------------------- */

static int add_to_multi(struct transfer *t)
{
	CURLMcode c = curl_multi_add_handle(t->net->multi, t->easy);

	if (c != CURLM_OK)
		return transfer_fail(
			t, c == CURLM_OUT_OF_MEMORY ? -ENOMEM : -EIO, "%s", curl_multi_strerror(c));
	t->added = true;
	t->promised = false;
	t->slot_since = clock_ms();
	return 0;
}

void transfers_admit(struct net *n)
{
	struct transfer *t;

	while ((t = queue_next(n))) {
		queue_leave(t);
		t->waited = true;
		net_timer_stop(n, &t->clock);
		if (add_to_multi(t) < 0)
			transfer_finish(t);
	}
}

static int hop_start(struct transfer *t, const char *origin)
{
	head_begin(&t->head, &t->reply);
	t->head.bytes = 0;
	t->head_over = t->wanted = false;
	t->skipped = 0;
	t->reply.status = 0;
	t->reply.text[0] = '\0';
	snprintf(t->reply.url, sizeof(t->reply.url), "%s", t->url);
	snprintf(t->origin, sizeof(t->origin), "%s", origin);
	t->proxied = peer_proxy(t) != NULL;
	t->refused = NULL;
	if (!peer_may_begin(t))
		return transfer_refuse(t);
	if (curl_easy_setopt(t->easy, CURLOPT_URL, t->url) != CURLE_OK ||
		easy_set_hop(t, peer_is_home(t)) != CURLE_OK)
		return transfer_fail(t, -ENOMEM, "out of memory");
	if (queue_may_start(t))
		return add_to_multi(t);
	queue_wait(t);
	return 0;
}

static int transfer_redirect(struct transfer *t)
{
	_cleanup_(target_release) struct target next = {0};
	int r;

	if (++t->hops > HOPS_MOST)
		return transfer_fail(t, -ELOOP, "more than %d redirects", HOPS_MOST);
	r = target_of(&next, t->url, t->head.location);
	if (r == -ENOMEM)
		return transfer_fail(t, r, "out of memory");
	if (r < 0)
		return transfer_fail(t, -EPROTONOSUPPORT, "a redirect to something that is not http(s)");
	if (!t->allow_http && strncmp(t->origin, "https:", 6) == 0 && strncmp(next.origin, "http:", 5) == 0)
		return transfer_fail(t, -EPERM, "a redirect from https to http (allow-http-redirects)");
	/* The user and the password in a redirect's URL are not used: a server sent them. */
	free(t->url);
	t->url = take(next.url);
	return hop_start(t, next.origin);
}

void transfer_ended(struct transfer *t, CURLcode result)
{
	curl_multi_remove_handle(t->net->multi, t->easy);
	t->added = false;
	net_timer_stop(t->net, &t->clock);
	if (sockets_flooded(t->net, t->local_port))
		queue_note_flood(t);
	if (t->cancelled)
		return; /* transfer_settle() will free it */
	if (!t->reply.error && t->head_over && answer_is_redirect(t)) {
		if (transfer_redirect(t) == 0)
			return;
	} else if (!t->reply.error && result != CURLE_OK && !(t->head_over && !t->wanted)) {
		/* A broken body of a 404 is not an error: the status says enough. */
		if (t->refused && !t->head_over)
			transfer_refuse(t);
		else
			answer_curl_failed(t, result);
	}
	transfer_finish(t);
}

/* ---- end ------------------------------------------------------------------------- */

/* libcurl 7.88 calls the sink's body() inside curl_easy_pause(), 8.14 in the next round. Not every
 * version reports an error of this call in a message, so the error is handled here. */
static void unpause(struct transfer *t)
{
	CURLcode c;

	t->held = false;
	c = curl_easy_pause(t->easy, CURLPAUSE_CONT);
	if (c != CURLE_OK)
		transfer_ended(t, c);
}

static void transfer_settle(void *ctx)
{
	struct transfer *t = ctx;

	if (t->cancelled) {
		transfer_free(t);
	} else if (!t->added && !t->waiting) {
		if (hop_start(t, t->first.origin) < 0)
			transfer_finish(t);
	} else if (t->held && !t->paused) {
		unpause(t);
	}
}

static void transfer_settle_later(struct transfer *t)
{
	net_timer_set(t->net, &t->later, 0, transfer_settle, t);
}

void transfer_hand_over(struct transfer *t, const struct net_sink *sink, void *ctx)
{
	t->sink = *sink;
	t->ctx = ctx;
}

const struct net_reply *transfer_reply(const struct transfer *t)
{
	return &t->reply;
}

void transfer_resume(struct transfer *t)
{
	if (!t->paused)
		return;
	t->paused = false;
	stall_start(t);
	transfer_settle_later(t);
}

void transfer_cancel(struct transfer *t)
{
	t->cancelled = true;
	host_rests(t);
	net_timer_stop(t->net, &t->clock);
	transfer_log(t, "cancelled: ");
	transfer_settle_later(t);
}

/* ---- the beginning ------------------------------------------------------------------ */

static void easy_callbacks(struct transfer *t)
{
	CURL *e = t->easy;

	curl_easy_setopt(e, CURLOPT_PRIVATE, t);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, answer_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(e, CURLOPT_RESOLVER_START_FUNCTION, on_resolve);
	curl_easy_setopt(e, CURLOPT_RESOLVER_START_DATA, t);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
	/* A connection outlives its transfer. */
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, socket_close);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, t->net);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->words);
	curl_easy_setopt(e, CURLOPT_READFUNCTION, on_send);
	curl_easy_setopt(e, CURLOPT_READDATA, t);
	curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, on_seek);
	curl_easy_setopt(e, CURLOPT_SEEKDATA, t);
}

int net_get(struct net *n, const struct net_req *req, const struct net_sink *sink, void *ctx,
	struct transfer **out)
{
	_cleanup_(cleanup_transfer) struct transfer *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	*t = (struct transfer){
		.net = n,
		.sink = *sink,
		.ctx = ctx,
		.connect_ms = req->connect_ms ? req->connect_ms : CONNECT_MS,
		.stall_ms = req->stall_ms ? req->stall_ms : STALL_MS,
		.most = req->most,
		.connections = req->connections,
		.rank = req->rank,
		.allow_private = req->allow_private,
		.allow_http = req->allow_http,
		.method = req->method,
		.body_size = req->body ? req->body_size : 0,
		.body = req->body,
		.body_ctx = req->body_ctx,
		.began = clock_ms(),
	};
	head_begin(&t->head, &t->reply);
	t->reply.began = t->began;
	r = easy_open(t, req);
	if (r < 0)
		return r;
	easy_callbacks(t);
	t->next = n->transfers;
	if (t->next)
		t->next->prev = t;
	n->transfers = t;
	transfer_settle_later(t);
	*out = take(t);
	return 0;
}
