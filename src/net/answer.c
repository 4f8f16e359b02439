/* Reads the header lines and the body that a server sends into a net_reply, and writes its error texts. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "net/transfer-private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HEAD_LOCATION_MAX 8192
#define HEAD_MOST (256u << 10) /* bytes of all header lines of an answer */
#define RETRY_AFTER_MOST 86400
#define SKIP_MOST (64 << 10) /* bytes of an unwanted body; then the connection is closed */
/* A body may expand to this many decoded bytes for each byte on the wire. The limit holds once the decoded
 * body is larger than CODING_FREE. */
#define CODING_RATIO 1000
#define CODING_FREE (16u << 20)

/* ---- the head, line by line --------------------------------------------------------- */

struct value {
	const char *p;
	size_t n;
};

static bool value_is(struct value v, const char *word)
{
	return v.n == strlen(word) && strncasecmp(v.p, word, v.n) == 0;
}

/* Reads a number. -1: the value is not all digits, or is larger than the size of any file. */
static int64_t value_number(struct value v)
{
	int64_t n = 0;

	if (v.n == 0 || v.n > 18)
		return -1;
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] < '0' || v.p[i] > '9')
			return -1;
		n = n * 10 + (v.p[i] - '0');
	}
	return n;
}

/* Copies the whole value or nothing: half an ETag identifies nothing. */
static void value_copy(struct value v, char *out, size_t room)
{
	out[0] = '\0';
	if (v.n >= room)
		return;
	for (size_t i = 0; i < v.n; i++)
		if ((unsigned char)v.p[i] < 0x20 || v.p[i] == 0x7f)
			return;
	memcpy(out, v.p, v.n);
	out[v.n] = '\0';
}

/* Seconds since 1970; -1: not a date. */
static int64_t date_of(struct value v)
{
	char text[64];

	value_copy(v, text, sizeof(text));
	return text[0] >= 'A' ? (int64_t)curl_getdate(text, NULL) : -1;
}

/* Parses seconds or a date. Returns seconds from now; -1: unknown. */
static int64_t retry_after(struct value v)
{
	int64_t n = value_number(v);

	if (n < 0) {
		int64_t t = date_of(v);

		if (t == -1)
			return -1;
		n = MAX(t - clock_wall(), 0);
	}
	return MIN(n, RETRY_AFTER_MOST);
}

/* "bytes 0-99/1234"; a star in place of the total means that it is unknown */
static void content_range(struct value v, struct net_reply *r)
{
	const char *dash, *slash;
	int64_t first, last;

	r->range_start = r->range_total = -1;
	if (v.n < 6 || strncasecmp(v.p, "bytes ", 6) != 0)
		return;
	dash = memchr(v.p, '-', v.n);
	slash = memchr(v.p, '/', v.n);
	if (!slash)
		return;
	r->range_total = value_number((struct value){slash + 1, (size_t)(v.p + v.n - slash - 1)});
	if (!dash || dash > slash)
		return;
	first = value_number((struct value){v.p + 6, (size_t)(dash - v.p - 6)});
	last = value_number((struct value){dash + 1, (size_t)(slash - dash - 1)});
	if (first >= 0 && last >= first)
		r->range_start = first;
}

static int take_location(struct head *h, struct value v)
{
	if (v.n > HEAD_LOCATION_MAX)
		return -EPROTO;
	if (h->location || v.n == 0)
		return 0;
	h->location = strndup(v.p, v.n);
	return h->location ? 0 : -ENOMEM;
}

static int take_header(struct head *h, struct net_reply *r, struct value name, struct value v)
{
	if (value_is(name, "Content-Length"))
		h->length = value_number(v);
	else if (value_is(name, "X-Debuginfod-Size"))
		h->debuginfod_size = value_number(v);
	else if (value_is(name, "Content-Encoding"))
		h->encoded = v.n && !value_is(v, "identity");
	else if (value_is(name, "Transfer-Encoding"))
		h->chunked = true;
	else if (value_is(name, "Accept-Ranges"))
		r->ranges = value_is(v, "bytes");
	else if (value_is(name, "Content-Range"))
		content_range(v, r);
	else if (value_is(name, "Retry-After"))
		r->retry_after = retry_after(v);
	else if (value_is(name, "Content-Type"))
		value_copy(v, r->type, sizeof(r->type));
	else if (value_is(name, "ETag"))
		value_copy(v, r->etag, sizeof(r->etag));
	else if (value_is(name, "X-Symfs-Synthesized"))
		value_copy(v, r->made, sizeof(r->made));
	else if (value_is(name, "Last-Modified"))
		value_copy(v, r->modified, sizeof(r->modified));
	else if (value_is(name, "Date"))
		r->date = date_of(v);
	else if (value_is(name, "Location"))
		return take_location(h, v);
	return 0;
}

void head_begin(struct head *h, struct net_reply *r)
{
	head_release(h);
	h->length = h->debuginfod_size = -1;
	h->encoded = h->chunked = false;
	r->size = r->retry_after = r->date = r->range_start = r->range_total = -1;
	r->ranges = false;
	r->type[0] = r->etag[0] = r->modified[0] = r->made[0] = '\0';
}

/* 0, -ENOMEM, -EPROTO */
static int head_line(struct head *h, struct net_reply *r, const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n);
	struct value v;

	h->bytes += n;
	if (h->bytes > HEAD_MOST)
		return -EPROTO;
	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		head_begin(h, r);
		return 0;
	}
	if (!colon)
		return 0;
	v = (struct value){colon + 1, (size_t)(line + n - colon - 1)};
	while (v.n && strchr(" \t\r\n", v.p[v.n - 1]))
		v.n--;
	while (v.n && (*v.p == ' ' || *v.p == '\t'))
		v.p++, v.n--;
	return take_header(h, r, (struct value){line, (size_t)(colon - line)}, v);
}

/* Counts n bytes of headers after the body. 0; -EPROTO: too many. */
static int head_trailer(struct head *h, size_t n)
{
	h->bytes += n;
	return h->bytes > HEAD_MOST ? -EPROTO : 0;
}

/* Sets r->size. */
static void head_finish(const struct head *h, struct net_reply *r)
{
	/* Content-Length counts encoded bytes, so it is not the size of a decoded body. */
	if (h->length >= 0 && !h->encoded && !h->chunked)
		r->size = h->length;
	else
		r->size = h->debuginfod_size;
}

void head_release(struct head *h)
{
	free(take(h->location));
}

/* ---- the answer --------------------------------------------------------------------- */

int transfer_fail(struct transfer *t, int error, const char *fmt, ...)
{
	va_list ap;

	t->reply.error = error;
	va_start(ap, fmt);
	vsnprintf(t->reply.text, sizeof(t->reply.text), fmt, ap);
	va_end(ap);
	return error;
}

bool answer_is_redirect(const struct transfer *t)
{
	int s = t->reply.status;

	return !t->method && t->head.location && (s == 301 || s == 302 || s == 303 || s == 307 || s == 308);
}

static int check_size(struct transfer *t)
{
	if (!t->most || t->reply.size < 0 || (uint64_t)t->reply.size <= t->most)
		return 0;
	return transfer_fail(t, -EFBIG, "%lld bytes, more than %llu", (long long)t->reply.size,
		(unsigned long long)t->most);
}

static int http_version(CURL *easy)
{
	long v = 0;

	curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &v);
	switch (v) {
	case CURL_HTTP_VERSION_1_0: return 10;
	case CURL_HTTP_VERSION_1_1: return 11;
	case CURL_HTTP_VERSION_2_0: return 20;
	case CURL_HTTP_VERSION_3: return 30;
	default: return 0;
	}
}

/* Called after the last header line. */
static int head_complete(struct transfer *t)
{
	long status = 0;
	int r;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 100 && status < 200)
		return 0; /* another head follows */
	t->head_over = true;
	sockets_acknowledge(t->net, t->local_port);
	t->reply.status = (int)status;
	t->reply.http = http_version(t->easy);
	head_finish(&t->head, &t->reply);
	t->wanted = status >= 200 && status < 300;
	if (t->reply.http >= 20)
		queue_note_http2(t);
	if (answer_is_redirect(t)) {
		host_answered(t, false);
		return 0;
	}
	if (t->wanted)
		host_answered(t, true);
	r = t->wanted ? check_size(t) : 0;
	if (r < 0)
		return r;
	r = t->sink.head(t->ctx, &t->reply);
	return r < 0 ? transfer_fail(t, r, "stopped: %s", err_text(r)) : 0;
}

static size_t on_trailer(struct transfer *t, size_t n)
{
	if (head_trailer(&t->head, n) == 0)
		return n;
	transfer_fail(t, -EPROTO, "the headers after the body are too large");
	return 0;
}

static int header_too_long(struct transfer *t, unsigned most)
{
	return transfer_fail(t, -EPROTO, "sent a header longer than %u bytes", most);
}

size_t answer_header(struct transfer *t, const char *p, size_t n)
{
	int r;

	t->heard = clock_ms();
	if (t->cancelled || t->reply.error)
		return 0;
	if (t->head_over)
		return on_trailer(t, n);
	if (n <= 2 && (p[0] == '\r' || p[0] == '\n'))
		return head_complete(t) < 0 ? 0 : n;
	r = head_line(&t->head, &t->reply, p, n);
	if (r == -ENOMEM)
		transfer_fail(t, r, "out of memory");
	else if (r < 0)
		header_too_long(t, t->head.bytes > HEAD_MOST ? HEAD_MOST : HEAD_LOCATION_MAX);
	return r < 0 ? 0 : n;
}

static size_t skip_body(struct transfer *t, const char *p, size_t n)
{
	char *text = t->reply.text;

	if (!t->skipped && strncmp(t->reply.type, "text/plain", 10) == 0) {
		snprintf(text, sizeof(t->reply.text), "%.*s", (int)MIN(n, sizeof(t->reply.text) - 1), p);
		text[strcspn(text, "\r\n")] = '\0';
	}
	t->skipped += n;
	return t->skipped > SKIP_MOST ? 0 : n;
}

static size_t hold_body(struct transfer *t)
{
	t->paused = t->held = true;
	host_rests(t);
	return CURL_WRITEFUNC_PAUSE;
}

/* Whether the body expands too much. libcurl decodes a Content-Encoding as the bytes arrive, so a few
 * bytes may become very many. */
static bool is_bomb(struct transfer *t, size_t n)
{
	curl_off_t wire = 0;

	if (t->received + n <= CODING_FREE)
		return false;
	curl_easy_getinfo(t->easy, CURLINFO_SIZE_DOWNLOAD_T, &wire);
	return (t->received + n) / CODING_RATIO > (uint64_t)wire;
}

size_t answer_body(char *p, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	int r;

	n *= size;
	atomic_fetch_add(&t->net->took, n);
	t->heard = clock_ms();
	if (t->cancelled || t->reply.error)
		return n ? 0 : 1;
	if (!t->wanted)
		return skip_body(t, p, n);
	if (t->paused)
		return hold_body(t);
	if (t->most && (t->received > t->most || n > t->most - t->received)) {
		transfer_fail(t, -EFBIG, "more than %llu bytes", (unsigned long long)t->most);
		return 0;
	}
	if (is_bomb(t, n)) {
		transfer_fail(t, -EFBIG,
			"a decompression bomb: its Content-Encoding expands to more than %u times its size",
			CODING_RATIO);
		return 0;
	}
	r = n ? t->sink.body(t->ctx, t->received, p, n) : 0;
	if (r == -EAGAIN)
		return hold_body(t);
	if (r < 0) {
		transfer_fail(t, r, "stopped: %s", err_text(r));
		return 0;
	}
	t->received += n;
	host_came(t, n);
	return n;
}

/* libcurl before 8.6 reports a header line longer than CURL_MAX_HTTP_HEADER as CURLE_OUT_OF_MEMORY. A real
 * lack of memory is rare; at this point it is mistaken for such a line, and the next request reports it. */
static bool is_long_line(const struct transfer *t, CURLcode result)
{
	curl_off_t sent = 0;

	curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
	return !t->head_over && sent > 0 && (result == CURLE_OUT_OF_MEMORY || result == CURLE_TOO_LARGE);
}

/* Whether libcurl's text may contain the URL of the proxy, with its password. libcurl quotes a URL that it
 * cannot parse, and names what it takes for the host. */
static bool quotes_proxy(const struct transfer *t)
{
	const char *proxy = peer_proxy(t), *at = proxy ? strrchr(proxy, '@') : NULL, *host;

	if (strncmp(t->words, "Unsupported proxy", 17) == 0)
		return true;
	if (!at)
		return false;
	host = strstr(proxy, "://");
	host = host ? host + 3 : proxy;
	return strchr(proxy, '@') != at || at > host + strcspn(host, "/?#");
}

void answer_curl_failed(struct transfer *t, CURLcode result)
{
	long os_errno = 0;

	if (is_long_line(t, result)) {
		header_too_long(t, CURL_MAX_HTTP_HEADER);
		return;
	}

	/* While the body is paused, libcurl decodes what it has read, and keeps up to 64 MiB of the
	 * result. */
	if (result == CURLE_OUT_OF_MEMORY && t->head.encoded) {
		transfer_fail(t, -EFBIG,
			"a decompression bomb: its Content-Encoding expands a few bytes to more than fits in memory");
		return;
	}
	curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_errno);
	if (quotes_proxy(t)) {
		transfer_fail(t, error_of_curl(result, os_errno),
			"the proxy URL is malformed (in a password, write / ? # @ as %%2F %%3F %%23 %%40)");
		return;
	}
	transfer_fail(t, error_of_curl(result, os_errno), "%.190s",
		t->words[0] ? t->words : curl_easy_strerror(result));
}
