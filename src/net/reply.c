/* Reads header lines into a net_reply, and turns libcurl's errors into net_errors (request.h). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "net/net-private.h"

#include <stdio.h>
#include <string.h>

#define RETRY_AFTER_MOST 86400

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

int head_line(struct head *h, struct net_reply *r, const char *line, size_t n)
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

int head_trailer(struct head *h, size_t n)
{
	h->bytes += n;
	return h->bytes > HEAD_MOST ? -EPROTO : 0;
}

void head_finish(const struct head *h, struct net_reply *r)
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

/* libcurl has one code for all failures to connect; the system's errno distinguishes them. */
static int error_of_connect(long os_errno)
{
	switch (os_errno) {
	case ECONNREFUSED: return -ECONNREFUSED;
	case ETIMEDOUT: return -ETIMEDOUT;
	case ECONNRESET: return -ECONNRESET;
	case EMFILE:
	case ENFILE: return -EMFILE;
	default: return -EHOSTUNREACH;
	}
}

int error_of_curl(CURLcode code, long os_errno)
{
	switch (code) {
	case CURLE_OK: return 0;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY: return -EHOSTUNREACH;
	case CURLE_COULDNT_CONNECT:
	case CURLE_PROXY:
	case CURLE_INTERFACE_FAILED: return error_of_connect(os_errno);
	case CURLE_OPERATION_TIMEDOUT: return -ETIMEDOUT;
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_HTTP2_STREAM: return -ECONNRESET;
	case CURLE_PARTIAL_FILE: return -EPIPE;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM: /* a problem with the client certificate */
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return -EKEYREJECTED;
	case CURLE_FILESIZE_EXCEEDED: return -EFBIG;
	case CURLE_TOO_MANY_REDIRECTS: return -ELOOP;
	case CURLE_OUT_OF_MEMORY: return -ENOMEM;
	case CURLE_TOO_LARGE: return -EPROTO;
	case CURLE_URL_MALFORMAT: return -EINVAL;
	/* CURLE_UNSUPPORTED_PROTOCOL means HTTP/0.9 here, because the scheme was checked before */
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
	case CURLE_HTTP2:
	case CURLE_HTTP3:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CLIENTCERT:
	case CURLE_SSL_SHUTDOWN_FAILED:
	case CURLE_USE_SSL_FAILED: return -EPROTO;
	default: return -EIO;
	}
}
