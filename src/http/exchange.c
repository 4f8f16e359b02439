/* One request: creates and frees it, reads its header fields and its body, and keeps the answer of
 * fetch/. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "http/upload/upload.h"
#include "names/layout/name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *exchange_header(struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->c, MHD_HEADER_KIND, name);
}

bool exchange_is_head(const struct exchange *x)
{
	return strcmp(x->method, "HEAD") == 0;
}

bool exchange_wants_page(struct exchange *x)
{
	const char *accept = exchange_header(x, "Accept");

	return accept && strstr(accept, "text/html") && strcmp(x->method, "GET") == 0;
}

/* ---- its body ------------------------------------------------------------------------ */

void exchange_drop_body(struct exchange *x)
{
	atomic_fetch_sub(&x->h->bodies, x->body.n);
	buf_release(&x->body);
}

/* 0, or the HTTP status of the refusal. */
static int keep_body(struct exchange *x, const char *p, size_t n)
{
	struct http *h = x->h;

	if (atomic_fetch_add(&h->bodies, n) + n <= h->bodies_most && buf_add(&x->body, p, n) == 0)
		return 0;
	atomic_fetch_sub(&h->bodies, n);
	return 503;
}

/* A client that sent `Expect: 100-continue` can simply be refused. Other clients send the body at once.
 * If the server does not read it, they see a reset connection instead of the response. False if the
 * length of the body is ambiguous. Of a long upload only a part is read (upload.c). */
bool exchange_must_read(struct exchange *x)
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

uint64_t exchange_body_most(const struct exchange *x)
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
			x->refuse = 413;
		x->status = x->refuse;
		return x->bytes <= 2 * x->h->body_most;
	}
	if (n > (has_form(x) ? exchange_body_most(x) : x->h->body_most) - x->body.n)
		x->refuse = 413;
	else
		x->refuse = keep_body(x, p, n);
	if (x->refuse)
		exchange_drop_body(x);
	return true;
}

/* ---- its answer ---------------------------------------------------------------------- */

void answer_of(const struct fetched *f, struct answer *out)
{
	out->r = f->r;
	out->key = f->key;
	out->blob = f->r == 0 && f->blob ? blob_ref(f->blob) : NULL;
	out->part = f->r == 0 && f->part ? part_ref(f->part) : NULL;
	if (out->part)
		part_open(out->part);
	out->was = f->was;
	out->size = f->size;
	out->miss_ms = f->miss_ms;
	snprintf(out->why, sizeof(out->why), "%s", f->why ? f->why : "");
}

void exchange_answered(struct exchange *x, enum step step, int r, struct fetched *f)
{
	f->r = r < 0 ? r : f->r;
	answer_of(f, &x->answer);
	blob_unref(take(f->blob));
	x->stored = x->answer.blob;
	x->step = step;
}

void answer_release(struct answer *a)
{
	blob_unref(a->blob);
	if (a->part)
		part_close(a->part);
	part_unref(a->part);
	memset(a, 0, sizeof(*a));
}

/* ---- its life ------------------------------------------------------------------------ */

void *exchange_new(void *ctx, const char *target, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->h = ctx;
	x->space = x->h->public;
	x->c = c;
	x->conn = info ? info->socket_context : NULL;
	x->began = clock_ms();
	x->body = BUF_UP_TO(x->h->body_most);
	x->reply = BUF_UP_TO(SYMB_REPLY_MOST);
	x->target = strdup(target);
	x->route = malloc(sizeof(*x->route));
	atomic_init(&x->refs, 1);
	if (!x->target || !x->route || !x->conn) {
		exchange_unref(x);
		return NULL;
	}
	return x;
}

void exchange_unref(struct exchange *x)
{
	if (atomic_fetch_sub(&x->refs, 1) != 1)
		return;
	answer_release(&x->answer);
	if (x->ticket)
		ticket_unref(x->ticket);
	making_unref(x->making);
	part_wait_unref(x->awaited);
	exchange_drop_body(x);
	if (x->upload)
		x->upload_free(x);
	buf_release(&x->reply);
	listener_free(x->listener);
	free(x->where);
	free(x->checksum);
	free(x->route);
	free(x->target);
	free(x);
}

/* ---- the target in logs and messages: without the secrets that it may have ------- */

/* The key of an upload in "v1/uploads/KEY:complete" stands for a token. The client may have encoded the path, or
 * mistyped it, so everything behind the slash stays out of the log. */
static bool has_upload_key(const struct exchange *x, bool *completes)
{
	static const char before[] = "v1/uploads/";
	const char *path = x->route->path;

	*completes = name_ends(path, ":complete");
	return strncasecmp(path, before, strlen(before)) == 0 || strcasestr(x->target, before);
}

void target_add(const struct exchange *x, struct buf *out)
{
	const char *p = x->target, *at = strchr(p, '?');
	bool completes;

	if (has_upload_key(x, &completes)) {
		buf_addf(out, "/v1/uploads/-%s", completes ? ":complete" : "");
		p += strcspn(p, "?");
	}
	for (; at; at = strchr(at + 1, '&')) {
		if (strncmp(at + 1, "key=", 4) != 0)
			continue;
		buf_add(out, p, (size_t)(at + 5 - p));
		buf_adds(out, "...");
		p = at + 5 + strcspn(at + 5, "&#");
	}
	buf_adds(out, p);
}

const char *target_shown(const struct exchange *x, char out[static TARGET_TEXT])
{
	_cleanup_buf_ struct buf target = BUF_UP_TO(HTTP_HEAD_MOST + 64);

	target_add(x, &target);
	snprintf(out, TARGET_TEXT, "%s", buf_text(&target));
	return out;
}
