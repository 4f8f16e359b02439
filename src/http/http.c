/* The HTTP server: starts and stops it, judges each request, and calls the handler of its route. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/http.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "conf/conf.h"
#include "config.h"
#include "http/upload/upload.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* ---- requests ----------------------------------------------------------------------- */

static enum MHD_Result options(struct exchange *x)
{
	struct MHD_Response *r = body_empty();

	if (!r)
		return MHD_NO;
	if (head_origin(x)) {
		response_header(r, "Access-Control-Allow-Methods", x->route->allow);
		response_header(r, "Access-Control-Allow-Headers", "*");
		response_header(r, "Access-Control-Expose-Headers",
			"accept, accept-encoding, authorization, content-type, dnt, origin, "
			"user-agent, x-csrftoken, x-requested-with");
		response_header(r, "Access-Control-Max-Age", "86400");
	}
	return exchange_reply(x, 204, r);
}

static enum MHD_Result not_found(struct exchange *x)
{
	char room[REFUSAL_TEXT];
	enum MHD_Result result;

	return page_not_found(x, &result) ? result
		: exchange_text(x, 404, PLAIN, HTTP_STRUCTURAL,
			x->route->tecken ? exchange_missing_text(x) : refusal_text(x, 404, room));
}

/* The status of a request without a handler, or with a body that is larger than its route takes. */
static int status_of(const struct exchange *x)
{
	switch (x->route->what) {
	case ROUTE_NONE: return 404;
	case ROUTE_BAD: return 400;
	case ROUTE_LONG: return 414;
	case ROUTE_METHOD: return 405;
	default: return 413;
	}
}

static enum MHD_Result bad(struct exchange *x)
{
	return exchange_refuse(x, status_of(x));
}

static enum MHD_Result fixed_text(struct exchange *x)
{
	return exchange_text(x, 200, PLAIN, HTTP_STRUCTURAL, x->route->hit.text);
}

static const struct handler own_handlers[] = {
	{ROUTE_BAD, bad},
	{ROUTE_LONG, bad},
	{ROUTE_METHOD, bad},
	{ROUTE_OPTIONS, options},
	{ROUTE_TEXT, fixed_text},
	{ROUTE_NONE, NULL}};

/* Calls the handler of the route when the whole request has arrived, and again after each wait (enum step). */
static enum MHD_Result call_handler(struct exchange *x)
{
	static const struct handler *const all[] = {file_handlers, own_handlers, generated_handlers,
		symbolicate_handlers, page_handlers, status_handlers, events_handlers};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (const struct handler *row = all[i]; row->handle; row++)
			if (row->what == x->route->what)
				return row->handle(x);
	return not_found(x);
}

/* ---- their bodies ---------------------------------------------------------------------- */

/* 0, or the HTTP status of the refusal. */
static int keep_body(struct exchange *x, const char *p, size_t n)
{
	struct http *h = x->h;

	if (atomic_fetch_add(&h->bodies, n) + n <= h->bodies_most && buf_add(&x->body, p, n) == 0)
		return 0;
	atomic_fetch_sub(&h->bodies, n);
	return 503;
}

/* Whether to read the body of a request that is refused.
 * A client that sent `Expect: 100-continue` can simply be refused. Other clients send the body at once.
 * If the server does not read it, they see a reset connection instead of the response. False if the
 * length of the body is ambiguous. Of a long upload only a part is read (upload.c). */
static bool must_read(struct exchange *x)
{
	const char *length = exchange_header(x, "Content-Length");

	if (x->close || exchange_header(x, "Expect"))
		return false;
	if (x->upload && x->upload->ops->body != UPLOAD_TEXT)
		return true;
	return length ? strtoull(length, NULL, 10) <= 2 * x->h->body_most
		      : exchange_header(x, "Transfer-Encoding") != NULL;
}

/* A form of the page has text that is percent-encoded, three bytes for one. */
static bool has_form(const struct exchange *x)
{
	return x->route->what == ROUTE_STATUS && strcmp(x->method, "POST") == 0;
}

/* The largest body of a request that is not an upload, in bytes. */
static uint64_t body_most(const struct exchange *x)
{
	return has_form(x)	 ? MIN(3 * PAGE_TEXT_MOST, x->h->body_most)
	       : x->route->api ? x->h->body_most
			       : HTTP_HEAD_MOST;
}

/* An unwanted body is read up to twice the allowed size, so that its client can read the 413. Then the
 * connection ends. */
bool exchange_take_body(struct exchange *x, const char *p, size_t n)
{
	conn_moves(x->conn, n);
	if (x->refuse || !(x->route->api || x->upload || has_form(x))) {
		x->bytes += n;
		if (!x->refuse && x->bytes > HTTP_HEAD_MOST)
			x->refuse = status_of(x);
		x->status = x->refuse;
		return x->bytes <= 2 * x->h->body_most;
	}
	if (n > (has_form(x) ? body_most(x) : x->h->body_most) - x->body.n)
		x->refuse = 413;
	else
		x->refuse = keep_body(x, p, n);
	if (x->refuse)
		exchange_drop_body(x);
	return true;
}

/* ---- the callbacks of libmicrohttpd ---------------------------------------------------- */

/* 0, or the status that refuses a request by its head alone. */
static int judge_head(struct exchange *x)
{
	const char *length = exchange_header(x, "Content-Length");
	int status = head_judge(x);

	if (status)
		return status;
	hours_look(x->space);
	if (x->upload)
		return upload_judge(x);
	return length && strtoull(length, NULL, 10) > body_most(x) ? status_of(x) : 0;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_n, void **req)
{
	struct exchange *x = *req;

	if (!x)
		return MHD_NO;
	if (x->step == STEP_HEAD) {
		x->step = STEP_BODY;
		x->method = method;
		x->version = version;
		conn_asked(x->h, x->conn, true);
		conn_busy(x->conn, false); /* until the body has arrived */
		atomic_fetch_add(&x->h->counters.requests, 1);
		route_find(method, x->target, x->route);
		if (x->h->opts.upload_most)
			route_upload(method, x->route);
		x->refuse = route_is_upload(x->route) ? upload_begin(x) : 0;
		if (!x->refuse)
			x->refuse = judge_head(x);
		if (!x->refuse)
			return MHD_YES;
		if (!must_read(x))
			return exchange_refuse(x, x->refuse);
		return !x->upload || upload_refuse_head(x) ? MHD_YES : MHD_NO;
	}
	if (*upload_n) {
		if (x->upload && x->upload->ops->body != UPLOAD_TEXT)
			return upload_take(x, upload, upload_n);
		if (!exchange_take_body(x, upload, *upload_n))
			return MHD_NO;
		*upload_n = 0;
		return MHD_YES;
	}
	if (x->answered)
		return MHD_NO; /* the connection ends */
	conn_busy(x->conn, true);
	/* A wait that begins now would outlive the server. */
	if (!x->refuse && x->step < STEP_ANSWER && atomic_load(&x->h->stopping))
		x->refuse = 503;
	if (x->refuse)
		return exchange_refuse(x, x->refuse);
	x->bytes = 0;
	if (x->not_found)
		return page_send_not_found(x);
	return x->upload ? upload_handle(x) : call_handler(x);
}

static void completed(void *ctx, struct MHD_Connection *c, void **req,
	enum MHD_RequestTerminationCode why)
{
	struct http *h = ctx;
	struct exchange *x = *req;
	bool cut = why != MHD_REQUEST_TERMINATED_COMPLETED_OK && !(x && x->answered);

	*req = NULL;
	if (!x)
		return;
	if (!cut)
		atomic_fetch_add(&h->counters.bytes, x->bytes);
	if (!cut && x->stored)
		atomic_fetch_add(&h->counters.saved, x->bytes);
	if (x->step != STEP_HEAD) {
		access_end(x, cut);
		conn_busy(x->conn, false);
		conn_asked(h, x->conn, false);
	}
	exchange_unref(x);
}

/* ---- the server --------------------------------------------------------------------- */

/* A connection needs a descriptor, and so does the file that it sends. */
static unsigned bound_connections(unsigned wanted)
{
	unsigned most = wanted ? wanted : 4096;
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur / 3 < most)
		most = (unsigned)(l.rlim_cur / 3);
	return MAX(most, 8u * HTTP_THREADS);
}

static int listen_on(struct http *h, const struct http_opts *o, int *fd, struct err *e)
{
	bool local;
	int r = listen_open(o->listen, o->socket, fd, &local, h->where, e);

	if (r == 0 && !local && !h->auth && !o->anyone)
		return err_set(e, -EINVAL,
			"%s is reachable from other machines without a token: `symfs serve` takes "
			"--token-file FILE, or --anyone to allow this", h->where);
	if (r == 0 && !local && !h->auth && o->upload_most)
		return err_set(e, -EINVAL,
			"%s is reachable from other machines: uploads need --token-file FILE", h->where);
	return r;
}

/* Bodies and responses are large and short-lived. Each gets a mapping of its own, which free() returns
 * to the kernel. */
static void spare_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 512 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

static int start(struct http *h, struct fetch *f, const struct http_opts *o, struct err *e)
{
	_cleanup_close_ int fd = -1;
	int r;

	spare_memory();
	h->listen = strdup(o->listen);
	h->log_path = o->access_log ? strdup(o->access_log) : NULL;
	h->audit_path = o->audit_log ? strdup(o->audit_log) : NULL;
	if (!h->listen || (o->access_log && !h->log_path) || (o->audit_log && !h->audit_path))
		return err_set(e, -ENOMEM, "out of memory");
	r = o->token_file ? auth_open(&h->auth, o->token_file, e) : 0;
	if (r == 0)
		r = head_configure(h, o, e);
	if (r == 0)
		r = listen_on(h, o, &fd, e);
	if (r == 0)
		r = access_open(h, e);
	snprintf(h->id, sizeof(h->id), "%s", o->id ? o->id : "unknown");
	if (r == 0)
		r = spaces_open(h, f, e);
	if (r == 0 && ((r = workers_new(&h->workers, HTTP_WORKERS)) < 0 ||
			      (r = workers_new(&h->askers, HTTP_ASKERS)) < 0))
		err_set(e, r, "cannot start threads: %s", err_text(r));
	if (r == 0 && (r = uploads_new(&h->uploads)) < 0)
		err_set(e, r, "cannot start threads: %s", err_text(r));
	if (r == 0 && (r = watch_start(h)) < 0)
		err_set(e, r, "cannot start a thread: %s", err_text(r));
	else if (r == 0 && (r = loops_start(h, fd, handle, completed)) < 0) {
		err_set(e, r, "%s: libmicrohttpd cannot start the server", h->where);
		watch_stop(h);
		loops_stop(h);
	}
	if (r == 0)
		h->listener = take_fd(&fd);
	else if (fd >= 0)
		listen_forget(h->listen);
	return r;
}

static void http_free(struct http *h)
{
	int fd = atomic_load(&h->log_fd), audit = atomic_load(&h->audit_fd);

	workers_free(h->workers);
	workers_free(h->askers);
	uploads_free(h->uploads);
	spaces_free(h);
	auth_close(h->auth);
	if (fd >= 0 && fd != STDERR_FILENO)
		close(fd);
	if (audit >= 0 && audit != STDERR_FILENO)
		close(audit);
	if (h->epoll >= 0)
		close(h->epoll);
	if (h->wake >= 0)
		close(h->wake);
	pthread_mutex_destroy(&h->lock);
	pthread_mutex_destroy(&h->spaces_lock);
	conf_list_free(h->names);
	conf_list_free(h->origins);
	free(h->listen);
	free(h->log_path);
	free(h->audit_path);
	free(h);
}

int http_listen(const char *listen, int *socket, struct err *e)
{
	char where[LISTEN_TEXT];
	bool local;

	return listen_open(listen, 0, socket, &local, where, e);
}

void http_unlisten(const char *listen, int socket)
{
	close(socket);
	listen_forget(listen);
}

int http_start(struct http **out, struct fetch *f, const struct http_opts *o, struct err *e)
{
	struct http *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	h->most = bound_connections(o->connections);
	h->idle_ms = o->idle_ms ? o->idle_ms : 60000;
	h->body_most = o->limits && o->limits->bytes ? o->limits->bytes : symb_limits_default.bytes;
	h->bodies_most = MAX(HTTP_BODIES_MOST, 4 * h->body_most);
	h->opts = *o;
	h->started = clock_wall();
	h->epoll = h->wake = h->listener = -1;
	atomic_init(&h->log_fd, -1);
	atomic_init(&h->audit_fd, -1);
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->spaces_lock, NULL);
	r = start(h, f, o, e);
	if (r < 0) {
		http_free(h);
		return r;
	}
	*out = h;
	return 0;
}

const char *http_where(const struct http *h)
{
	return h->where;
}

void http_stop(struct http *h)
{
	if (!h)
		return;
	http_leave(h);
	atomic_store(&h->stopping, true); /* new connections are refused from now on */
	spaces_stop(h);
	watch_stop(h);
	loops_stop(h);
	listen_forget(h->listen);
	http_free(h);
}
