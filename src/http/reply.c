/* Sends responses: the header fields of every response, short texts, and refusals. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/jtext.h"
#include "base/log.h"
#include "base/util.h"
#include "http/upload/upload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

void response_header(struct MHD_Response *r, const char *name, const char *value)
{
	if (MHD_add_response_header(r, name, value) == MHD_NO)
		log_debug(LOG_HTTP, "out of memory for the header field %s", name);
}

/* Whether pages of other origins may read the response. They may read symbols if the configuration allows
 * it, but never the pages about the server, nor the page of a 404, which names its sources. */
static bool for_pages(const struct exchange *x)
{
	return !x->not_found && (x->route->what < ROUTE_HEALTH || x->route->what > ROUTE_METADATA);
}

/* `Vary` is also sent without Access-Control-Allow-Origin, because the absence of that field depends on
 * Origin, too. */
static void add_origin(struct exchange *x, struct MHD_Response *r)
{
	const char *origin = head_origin(x), *vary = MHD_get_response_header(r, "Vary");

	if (origin)
		response_header(r, "Access-Control-Allow-Origin", origin);
	if (!head_varies(x->h))
		return;
	/* Sends one Vary field, because some caches read only the first. */
	if (vary && MHD_del_response_header(r, "Vary", "Accept-Encoding") == MHD_YES)
		response_header(r, "Vary", "Accept-Encoding, Origin");
	else
		response_header(r, "Vary", "Origin");
}

/* Whether the request asks for the time that the answer took, as at Mozilla's symbol server. */
static bool wants_time(struct exchange *x)
{
	const char *debug = exchange_header(x, "Debug");

	return debug && (strcasecmp(debug, "true") == 0 || strcasecmp(debug, "yes") == 0 ||
				strcmp(debug, "1") == 0);
}

static void count_status(struct http *h, int status)
{
	if (status < 300)
		atomic_fetch_add(&h->counters.ok, 1);
	else if (status < 400)
		atomic_fetch_add(&h->counters.redirected, 1);
	else
		atomic_fetch_add(status < 500 ? &h->counters.refused : &h->counters.failed, 1);
}

/* No script runs but the page's own, whatever a file name contains: files of the store are never of a type that
 * browsers run. */
static void add_policy(struct MHD_Response *r)
{
	response_header(r, "Content-Security-Policy",
		"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
	response_header(r, "Referrer-Policy", "same-origin");
}

/* A cache in front of the server must not answer one token's request with the bytes of another one's. */
static void make_private(struct exchange *x, struct MHD_Response *r)
{
	const char *cache = MHD_get_response_header(r, "Cache-Control");
	char text[120];

	if (!exchange_has_token(x) || (cache && strstr(cache, "no-store")))
		return;
	snprintf(text, sizeof(text), "private%s%.100s", cache ? ", " : "", cache ? cache : "");
	if (cache)
		MHD_del_response_header(r, "Cache-Control", cache);
	response_header(r, "Cache-Control", text);
}

int exchange_condition(struct exchange *x, const char *tag, int64_t date, int64_t changed)
{
	const char *match = exchange_header(x, "If-Match"), *none = exchange_header(x, "If-None-Match");
	int64_t since = date_read(exchange_header(x, "If-Unmodified-Since"));

	if (match ? !field_has_tag(match, tag, false) : since >= 0 && since < date)
		return 412;
	since = date_read(exchange_header(x, "If-Modified-Since"));
	return (none ? field_has_tag(none, tag, true) : since >= 0 && since >= changed) ? 304 : 200;
}

enum MHD_Result exchange_reply(struct exchange *x, int status, struct MHD_Response *r)
{
	enum MHD_Result ok;
	const char *type;
	char via[64], room[REFUSAL_TEXT];

	if (!r)
		return MHD_NO;
	if (status == 200 && !MHD_get_response_header(r, "ETag") &&
		(exchange_is_head(x) || strcmp(x->method, "GET") == 0)) {
		status = exchange_condition(x, "none", -1, INT64_MAX);
		if (status == 412) {
			MHD_destroy_response(r);
			return exchange_plain(x, 412, refusal_text(x, 412, room));
		}
		x->bytes = status == 304 ? 0 : x->bytes;
	}
	x->status = status;
	x->step = STEP_SEND;
	count_status(x->h, status);
	snprintf(via, sizeof(via), "1.1 symfs/%s", x->h->id);
	response_header(r, "Via", via);
	response_header(r, "X-Content-Type-Options", "nosniff");
	if (status == 405 || x->route->what == ROUTE_OPTIONS) {
		snprintf(via, sizeof(via), "%s, OPTIONS", x->route->allow);
		response_header(r, "Allow", via);
	}
	make_private(x, r);
	type = MHD_get_response_header(r, "Content-Type");
	if (x->route->what == ROUTE_STATUS || (type && strncmp(type, "text/html", 9) == 0))
		add_policy(r);
	if (x->close || atomic_load(&x->h->draining))
		response_header(r, "Connection", "close");
	if (for_pages(x))
		add_origin(x, r);
	if (x->route->tecken && wants_time(x)) {
		snprintf(via, sizeof(via), "%.3f",
			x->route->ignored ? 0.0 : (double)(clock_ms() - x->began) / 1000);
		response_header(r, "Debug-Time", via);
	}
	ok = MHD_queue_response(x->c, (unsigned)status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result reply_bytes(struct exchange *x, int status, const char *type, const char *cache,
	struct MHD_Response *r, size_t n)
{
	char range[40];

	if (!r)
		return MHD_NO;
	x->bytes = n;
	response_header(r, "Content-Type", type);
	response_header(r, "Cache-Control", cache);
	if (status == 502 || status == 503 || status == 504)
		response_header(r, "Retry-After", HTTP_RETRY_SECONDS);
	if (status == 308 && x->upload->here) {
		snprintf(range, sizeof(range), "bytes=0-%" PRIu64, x->upload->here - 1);
		response_header(r, "Range", range);
	}
	if (status == 401) /* a browser asks its user for a name, which does not matter, and a password: the token */
		response_header(r, "WWW-Authenticate",
			exchange_wants_page(x) ? "Basic realm=\"symfs: the token is the password\"" : HTTP_CHALLENGE);
	return exchange_reply(x, status, r);
}

enum MHD_Result exchange_text(struct exchange *x, int status, const char *type, const char *cache,
	const char *text)
{
	size_t n = strlen(text);
	struct MHD_Response *r =
		MHD_create_response_from_buffer(n, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	return reply_bytes(x, status, type, cache, r, n);
}

enum MHD_Result exchange_plain(struct exchange *x, int status, const char *text)
{
	return exchange_text(x, status, PLAIN, "no-store", text);
}

enum MHD_Result exchange_buf(struct exchange *x, int status, const char *type, const char *cache,
	struct buf *text)
{
	size_t n;
	char *p = buf_take(text, &n);
	struct MHD_Response *r;

	if (!p)
		return MHD_NO;
	r = MHD_create_response_from_buffer(n, p, MHD_RESPMEM_MUST_FREE);
	if (!r)
		free(p);
	return reply_bytes(x, status, type, cache, r, n);
}

enum MHD_Result page_reply(struct exchange *x, const char *type, int r, struct buf *text)
{
	return r < 0 ? exchange_plain(x, 500, "out of memory\n")
		     : exchange_buf(x, 200, type, "no-store", text);
}

/* ---- refusals --------------------------------------------------------------------------- */

static const char *upload_type(const struct upload *u)
{
	return u->ops->json ? "application/json" : PLAIN;
}

/* Writes an error in the form of the route's protocol, and changes the status to that of the protocol. 0, -ENOMEM. */
static int upload_error(struct exchange *x, int *status, const char *text, struct buf *out)
{
	const struct upload *u = x->upload;
	char line[sizeof(u->e.text)];
	size_t n;

	if (*status == 401 && u->ops->tecken) {
		*status = 403;
		text = exchange_header(x, "Auth-Token") ? "API Token not matched"
							: "This requires an Auth-Token to authenticate the request";
	}
	n = u->e.text[0] ? strlen(u->e.text) : strcspn(text, "\n");
	snprintf(line, sizeof(line), "%.*s", (int)n, u->e.text[0] ? u->e.text : text);
	if (!u->ops->json)
		return buf_addf(out, "%s\n", line);
	buf_adds(out, "{\"error\": ");
	jtext_add(out, line);
	return buf_adds(out, "}");
}

enum MHD_Result upload_send_error(struct exchange *x, int status, const char *text)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(4096);

	if (upload_error(x, &status, text, &out) < 0)
		return MHD_NO;
	return exchange_buf(x, status, upload_type(x->upload), "no-store", &out);
}

/* What a path leads to that clients try. */
static const char *lead_of(const struct exchange *x)
{
	static const char *const paths[][2] = {
		{"health", "the health check is at /healthz"},
		{"symbolicate", "POST a request to /symbolicate/v5, or a text with stacks to /symbolicate/text"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (strcmp(paths[i][0], x->route->path) == 0)
			return paths[i][1];
	if (strcmp(x->method, "PUT") != 0)
		return NULL;
	return x->h->opts.upload_most ? "PUT takes the path of a file in a layout, such as /buildid/ID/debuginfo; "
					"`symfs push` finds it"
				      : "this server takes no uploads; start it with `symfs serve --upload`";
}

const char *refusal_text(struct exchange *x, int status, char room[static REFUSAL_TEXT])
{
	static const struct {
		int status;
		const char *text;
	} texts[] = {
		{400, "Bad Request\n"},
		{401, "a token is required; the server's administrator makes one: symfs token add NAME\n"},
		{403, "this page is only for clients on this machine, or with a token\n"},
		{404, "Not Found\n"},
		{405, "Method Not Allowed\n"},
		{412, "Precondition Failed: this is not the version that the request names\n"},
		{413, "Content Too Large\n"},
		{414, "URI Too Long: no file has a path of this length\n"},
		{421, "Misdirected Request: this server has another name; server-names in symfs.conf adds names\n"},
		{501, "Not Implemented: the method is not known\n"},
		{503, "symfs is stopping or overloaded; try again later\n"},
		{508, "Loop Detected: the request came through this symfs before, or through too many\n"},
	};
	const char *lead = x->route->what == ROUTE_NONE && (status == 401 || status == 404) ? lead_of(x) : NULL;
	const char *text = NULL;
	char right[AUTH_RIGHTS_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].status == status)
			text = texts[i].text;
	if (status == 403 && x->lacks) {
		/* the right upload includes try */
		auth_rights_text(x->lacks == AUTH_TRY ? AUTH_UPLOAD : x->lacks, right);
		snprintf(room, REFUSAL_TEXT, "the token does not have the right %s; the server's administrator "
			"gives it: symfs token add NAME --rights %s\n", right, right);
		return room;
	}
	if (status == 401 && exchange_has_token(x))
		text = "the token is not valid here: it is unknown or has ended; the server's administrator makes "
			"one: symfs token add NAME\n";
	if (!lead)
		return text;
	snprintf(room, REFUSAL_TEXT, "%.*s; %s\n", (int)strcspn(text, "\n"), text, lead);
	return room;
}

bool exchange_refuse_early(struct exchange *x)
{
	_cleanup_buf_ struct buf body = BUF_UP_TO(4096), all = BUF_UP_TO(8192);
	char date[DATE_TEXT], room[REFUSAL_TEXT];
	const char *text = refusal_text(x, x->refuse, room);
	int status = x->refuse;
	int r = upload_error(x, &status, text ? text : "a local error", &body);

	date_print(clock_wall(), date);
	buf_addf(&all, "HTTP/1.1 %d Refused\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		"Cache-Control: no-store\r\nConnection: close\r\n%s%s\r\n",
		status, date, upload_type(x->upload), body.n,
		status == 503 ? "Retry-After: " HTTP_RETRY_SECONDS "\r\n" : "",
		status == 401 ? "WWW-Authenticate: " HTTP_CHALLENGE "\r\n" : "");
	if (r == 0)
		r = buf_add(&all, body.p, body.n);
	/* Nothing else was sent on this connection since the last answer, so the socket takes these bytes at once. */
	if (r < 0 || send(x->conn->fd, all.p, all.n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)all.n)
		return false;
	shutdown(x->conn->fd, SHUT_WR);
	x->answered = true;
	x->status = status;
	x->bytes = body.n;
	count_status(x->h, status);
	return true;
}
