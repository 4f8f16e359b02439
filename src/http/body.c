/* The bodies of responses: files of the store, files that are still downloading, and text packed by
 * gzip. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/inflate.h"
#include "base/log.h"
#include "base/util.h"
#include "http/private.h"

#define STREAM_BUFFER (32u << 10) /* bytes of memory for each body that is read by a callback */
#define STREAM_AHEAD (4u << 20)	  /* bytes of a sparse file that are asked for at once */

/* ---- what is stored ------------------------------------------------------------------- */

struct MHD_Response *body_empty(void)
{
	return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
}

static ssize_t no_body(void *ctx, uint64_t off, char *p, size_t n)
{
	return MHD_CONTENT_READER_END_OF_STREAM;
}

/* libmicrohttpd 0.9 sends the last chunk of a chunked body even to HEAD, and the client would take it
 * for the beginning of the next response. So a response of unknown size ends the connection. */
struct MHD_Response *body_of_head(uint64_t size)
{
	struct MHD_Response *r = MHD_create_response_from_callback(size, 4096, no_body, NULL, NULL);

	if (r && size == MHD_SIZE_UNKNOWN)
		MHD_set_response_options(r, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
	return r;
}

/* The response gets the descriptor: the blob may be closed while the body is sent. */
struct MHD_Response *body_of_file(struct blob *b, uint64_t off, uint64_t n)
{
	int fd = n ? blob_take_fd(b) : -1;
	struct MHD_Response *r;

	if (n == 0)
		return body_empty();
	if (fd < 0)
		return NULL;
	r = MHD_create_response_from_fd_at_offset64(n, fd, off);
	if (!r)
		close(fd);
	return r;
}

/* ---- a file that is downloading ------------------------------------------------------ */

struct stream {
	struct exchange *x;
	uint64_t off, n;
	bool whole; /* all of the file, not a range */
};

/* The last byte of a whole file waits until the file was verified, so a wrong file never looks complete. */
static size_t to_send(const struct stream *s, const struct part *p, uint64_t pos, size_t most)
{
	uint64_t n = MIN(most, s->n - pos);

	return (size_t)(s->whole && pos + n == s->n && !part_is_sealed(p) ? n - 1 : n);
}

static ssize_t stream_read(void *ctx, uint64_t pos, char *out, size_t most)
{
	struct stream *s = ctx;
	struct exchange *x = s->x;
	struct part *p = x->answer.part;
	size_t n = to_send(s, p, pos, most), here = part_here(p, s->off + pos, n);
	char shown[TARGET_TEXT];

	if (here && x->step != STEP_CUT) {
		ssize_t got = part_read(p, s->off + pos, out, here);

		if (got != -EAGAIN) {
			x->bytes = pos + here;
			return got > 0 ? got : MHD_CONTENT_READER_END_WITH_ERROR;
		}
	}
	/* The download may have failed while this connection did not wait for it. */
	if (x->step == STEP_CUT || part_over(p)) {
		log_debug(LOG_HTTP, "%s: the download ended after %llu bytes", target_shown(x, shown),
			(unsigned long long)pos);
		return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	exchange_wait_bytes(x, p, s->off + pos, n ? (size_t)MIN(s->n - pos, STREAM_AHEAD) : 0);
	return 0;
}

static void stream_free(void *ctx)
{
	struct stream *s = ctx;

	exchange_unref(s->x);
	free(s);
}

struct MHD_Response *body_of_part(struct exchange *x, uint64_t off, uint64_t n, bool whole)
{
	struct stream *s = n ? malloc(sizeof(*s)) : NULL;
	struct MHD_Response *r;

	if (!s)
		return n ? NULL : body_empty();
	*s = (struct stream){.x = x, .off = off, .n = n, .whole = whole};
	atomic_fetch_add(&x->refs, 1);
	r = MHD_create_response_from_callback(n, STREAM_BUFFER, stream_read, s, stream_free);
	if (!r)
		stream_free(s);
	return r;
}

/* ---- a file packed by gzip ------------------------------------------------------------- */

struct packed {
	struct exchange *x;
	struct blob *blob;
	struct gzip *gzip;
	uint64_t at;
};

static ssize_t packed_source(void *ctx, void *p, size_t n)
{
	struct packed *k = ctx;
	ssize_t got = blob_read(k->blob, k->at, p, n);

	k->at += got > 0 ? (uint64_t)got : 0;
	return got;
}

static ssize_t packed_read(void *ctx, uint64_t pos, char *out, size_t most)
{
	struct packed *k = ctx;
	ssize_t n = gzip_read(k->gzip, out, most);

	k->x->bytes = pos + (uint64_t)MAX(n, 0);
	return n > 0 ? n : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void packed_free(void *ctx)
{
	struct packed *k = ctx;

	atomic_fetch_sub(&k->x->h->packing, 1);
	gzip_free(k->gzip);
	blob_unref(k->blob);
	exchange_unref(k->x);
	free(k);
}

struct MHD_Response *body_packed(struct exchange *x, struct blob *b)
{
	struct packed *k = calloc(1, sizeof(*k));
	struct MHD_Response *r;

	if (!k || gzip_new(&k->gzip, packed_source, k) < 0) {
		free(k);
		return NULL;
	}
	k->x = x;
	k->blob = blob_ref(b);
	atomic_fetch_add(&x->refs, 1);
	atomic_fetch_add(&x->h->packing, 1);
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BUFFER, packed_read, k, packed_free);
	if (!r)
		packed_free(k);
	return r;
}
