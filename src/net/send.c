/* Sends requests with bodies by libcurl's easy interface. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/send.h"
#include "base/err.h"
#include "base/util.h"
#include "net/net-private.h"

#include <stdio.h>
#include <string.h>

#define CONNECT_MS 4000u
#define STALL_MS 60000u

struct sender {
	CURL *easy;
	struct curl_slist *headers;
	const atomic_bool *stop;
	char words[CURL_ERROR_SIZE];
	/* one request */
	struct send_reply *reply;
	int error; /* of a callback: what ended the request */
};

/* ---- callbacks -------------------------------------------------------------------------- */

static size_t send_on_body(char *p, size_t size, size_t n, void *ctx)
{
	struct sender *s = ctx;
	int r = buf_add(&s->reply->body, p, size * n);

	s->error = r < 0 ? r : s->error;
	return r < 0 ? 0 : size * n;
}

static int send_on_progress(void *ctx, curl_off_t all, curl_off_t now, curl_off_t up_all, curl_off_t up_now)
{
	const struct sender *s = ctx;

	return s->stop && atomic_load(s->stop);
}

struct reading {
	struct sender *s;
	const struct send_part *part;
};

static size_t send_on_read(char *p, size_t size, size_t n, void *ctx)
{
	struct reading *g = ctx;
	ssize_t got = g->part->read(g->part->ctx, p, size * n);

	if (got >= 0)
		return (size_t)got;
	g->s->error = (int)got;
	return CURL_READFUNC_ABORT;
}

static int send_on_seek(void *ctx, curl_off_t off, int origin)
{
	struct reading *g = ctx;

	if (off != 0 || origin != SEEK_SET || g->part->rewind(g->part->ctx) < 0)
		return CURL_SEEKFUNC_FAIL;
	return CURL_SEEKFUNC_OK;
}

/* ---- a request ---------------------------------------------------------------------------- */

static void cleanup_mime(curl_mime **m)
{
	curl_mime_free(*m);
}

static int make_form(struct sender *s, const struct send_req *q, curl_mime **out, struct reading *readings)
{
	_cleanup_(cleanup_mime) curl_mime *m = curl_mime_init(s->easy);

	for (unsigned i = 0; m && i < q->n_parts; i++) {
		curl_mimepart *part = curl_mime_addpart(m);

		readings[i] = (struct reading){s, &q->parts[i]};
		if (!part || q->parts[i].rewind(q->parts[i].ctx) < 0 ||
			curl_mime_name(part, q->parts[i].name) != CURLE_OK ||
			curl_mime_filename(part, q->parts[i].file_name) != CURLE_OK ||
			curl_mime_type(part, "application/octet-stream") != CURLE_OK ||
			curl_mime_data_cb(part, -1, send_on_read, send_on_seek, NULL, &readings[i]) != CURLE_OK)
			return -ENOMEM;
	}
	if (!m)
		return -ENOMEM;
	*out = take(m);
	return 0;
}

static void free_list(struct curl_slist **list)
{
	curl_slist_free_all(*list);
}

static void read_answer(struct sender *s, struct send_reply *out)
{
	curl_off_t seconds = 0;
	char *url = NULL;
	long status = 0;

	curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(s->easy, CURLINFO_RETRY_AFTER, &seconds);
	curl_easy_getinfo(s->easy, CURLINFO_REDIRECT_URL, &url);
	out->status = (int)status;
	out->retry_after = seconds > 0 ? (int64_t)seconds : -1;
	snprintf(out->location, sizeof(out->location), "%.*s", url ? (int)strcspn(url, "?#") : 0, url ? url : "");
}

static int perform(struct sender *s, struct send_reply *out)
{
	CURLcode c = curl_easy_perform(s->easy);
	long os_errno = 0;
	int r;

	if (c == CURLE_OK) {
		read_answer(s, out);
		return 0;
	}
	if (c == CURLE_ABORTED_BY_CALLBACK && !s->error)
		s->error = -EINTR;
	curl_easy_getinfo(s->easy, CURLINFO_OS_ERRNO, &os_errno);
	r = s->error ? s->error : error_of_curl(c, os_errno);
	snprintf(out->text, sizeof(out->text), "%.190s",
		s->error ? err_text(r) : s->words[0] ? s->words : curl_easy_strerror(c));
	return r;
}

int sender_do(struct sender *s, const struct send_req *q, struct send_reply *out)
{
	_cleanup_(free_list) struct curl_slist *type = NULL;
	_cleanup_(cleanup_mime) curl_mime *form = NULL;
	_cleanup_free_ struct reading *readings = calloc(MAX(q->n_parts, 1u), sizeof(*readings));
	char line[128];
	int r = 0;

	s->reply = out;
	s->error = 0;
	s->words[0] = '\0';
	out->status = 0;
	out->text[0] = out->location[0] = '\0';
	out->retry_after = -1;
	if (!readings)
		return -ENOMEM;
	for (struct curl_slist *h = s->headers; r == 0 && h; h = h->next)
		r = slist_add(&type, h->data);
	if (r == 0 && q->body && snprintf(line, sizeof(line), "Content-Type: %s", q->type))
		r = slist_add(&type, line);
	if (r == 0 && q->n_parts)
		r = make_form(s, q, &form, readings);
	if (r < 0)
		return r;
	curl_easy_setopt(s->easy, CURLOPT_URL, q->url);
	curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, type);
	if (form) {
		curl_easy_setopt(s->easy, CURLOPT_MIMEPOST, form);
	} else if (q->body) {
		curl_easy_setopt(s->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body_n);
		curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, q->body);
	} else {
		curl_easy_setopt(s->easy, CURLOPT_HTTPGET, 1L);
	}
	r = perform(s, out);
	curl_easy_setopt(s->easy, CURLOPT_HTTPGET, 1L); /* forgets the body */
	curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, NULL);
	return r;
}

/* ---- its life ------------------------------------------------------------------------------ */

int sender_new(struct sender **out, const struct send_opts *o)
{
	struct sender *s = calloc(1, sizeof(*s));
	int r = 0;

	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (!s || !(s->easy = curl_easy_init())) {
		free(s);
		return -ENOMEM;
	}
	s->stop = o->stop;
	for (char *const *h = o->headers; r == 0 && h && *h; h++)
		r = slist_add(&s->headers, *h);
	curl_easy_setopt(s->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(s->easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(s->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(s->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(o->connect_ms ? o->connect_ms : CONNECT_MS));
	curl_easy_setopt(s->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(s->easy, CURLOPT_LOW_SPEED_TIME, (long)((o->stall_ms ? o->stall_ms : STALL_MS) / 1000));
	curl_easy_setopt(s->easy, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
	curl_easy_setopt(s->easy, CURLOPT_ERRORBUFFER, s->words);
	curl_easy_setopt(s->easy, CURLOPT_WRITEFUNCTION, send_on_body);
	curl_easy_setopt(s->easy, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(s->easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(s->easy, CURLOPT_XFERINFOFUNCTION, send_on_progress);
	curl_easy_setopt(s->easy, CURLOPT_XFERINFODATA, s);
	if (r == 0 && o->way) {
		r = easy_way(s->easy, o->way);
		curl_easy_setopt(s->easy, CURLOPT_SSLCERT, o->way->cert);
		curl_easy_setopt(s->easy, CURLOPT_SSLKEY, o->way->key);
		easy_netrc(s->easy, o->way->netrc);
	}
	if (r < 0 || curl_easy_setopt(s->easy, CURLOPT_USERAGENT, o->user_agent) != CURLE_OK ||
		curl_easy_setopt(s->easy, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK ||
		(o->unix_path && curl_easy_setopt(s->easy, CURLOPT_UNIX_SOCKET_PATH, o->unix_path) != CURLE_OK)) {
		sender_free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void sender_free(struct sender *s)
{
	if (!s)
		return;
	curl_easy_cleanup(s->easy);
	curl_slist_free_all(s->headers);
	free(s);
}
