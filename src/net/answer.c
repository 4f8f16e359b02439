/* Handles the header lines and the body that a server sends, and writes the error texts of the reply. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "net/transfer-private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SKIP_MOST (64 << 10) /* bytes of an unwanted body; then the connection is closed */
/* A body may expand to this many decoded bytes for each byte on the wire. The limit holds once the decoded
 * body is larger than CODING_FREE. */
#define CODING_RATIO 1000
#define CODING_FREE (16u << 20)

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

static size_t skip_body(struct transfer *t, size_t n)
{
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

size_t answer_body(struct transfer *t, const char *p, size_t n)
{
	int r;

	t->heard = clock_ms();
	if (t->cancelled || t->reply.error)
		return n ? 0 : 1;
	if (!t->wanted)
		return skip_body(t, n);
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
