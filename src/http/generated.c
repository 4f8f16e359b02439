/* Requests for generated files: a bundle's Info.plist, .meta, and a dSYM bundle as a zip archive. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/inflate.h"
#include "base/util.h"
#include "base/zip-write.h"
#include "fetch/bundle.h"
#include "http/private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MOST (64 << 10)

static const struct artifact *asked_for(const struct tree_hit *hit, const struct key *k)
{
	for (unsigned i = 0; i < hit->n; i++)
		if (hit->files[i].type == k->type)
			return &hit->files[i];
	return &hit->files[0];
}

static enum MHD_Result generated_reply(struct exchange *x)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(TEXT_MOST), text = BUF_UP_TO(TEXT_MOST);
	const struct tree_hit *hit = &x->route->hit;
	struct fetched f = {.key = x->answer.key, .blob = x->answer.blob, .why = ""};
	int r = x->answer.r;

	if (r == 0)
		r = bundle_write(x->space->fetch, hit->told, asked_for(hit, &f.key), &f, &path, &text);
	if (r < 0) {
		x->answer.r = r;
		return exchange_error(x, &x->answer);
	}
	/* Not cached: the text contains the name of the file, which may become known later. */
	return exchange_buf(x, 200,
		hit->told == TOLD_META ? "application/json" : "text/xml; charset=utf-8", "no-cache", &text);
}

/* .meta describes the content of the file; Info.plist only needs the file to exist. */
static enum MHD_Result generated_handle(struct exchange *x)
{
	enum fetch_need need = x->route->hit.told == TOLD_META ? FETCH_WHOLE : FETCH_EXISTS;

	return x->step == STEP_ANSWER || exchange_fetch(x, STEP_ANSWER, need) ? generated_reply(x) : MHD_YES;
}

/* ---- /dsym/UUID.zip: a dSYM bundle as an archive, made while it is sent; nothing of it is kept ------- */

#define CHUNK (128u << 10)
#define DIRECTORY "dsym/"

/* An archive that is being sent: `front`, the debug file, `back`. */
struct archive {
	struct buf front, back;
	char *plist_name, *file_name; /* of the members */
	struct zip_stored plist, file;
	int fd;
	uint64_t read; /* bytes of the debug file that have their checksum */
};

static void archive_free(void *ctx)
{
	struct archive *a = ctx;

	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	buf_release(&a->front);
	buf_release(&a->back);
	free(a->plist_name);
	free(a->file_name);
	free(a);
}

/* Everything behind the debug file; its checksum has to be known by then. The length does not depend on it. */
static int make_back(struct archive *a)
{
	uint64_t data = a->front.n + a->file.size, at;

	buf_clear(&a->back);
	zip_write_tail(&a->back, &a->file);
	at = a->back.n;
	zip_write_entry(&a->back, &a->plist);
	zip_write_entry(&a->back, &a->file);
	return zip_write_end(&a->back, 2, data + at, a->back.n - at);
}

/* Appends the member's name: a canonical path "dsym/UUID/NAME.dSYM/..." without its first two parts. */
static char *member_name(const char *told)
{
	const char *rest = strstr(told, DIRECTORY), *slash = rest ? strchr(rest + strlen(DIRECTORY), '/') : NULL;

	return slash ? strdup(slash + 1) : NULL;
}

static int name_members(struct archive *a, struct fetch *f, const struct artifact *asked,
	const struct fetched *found, struct buf *plist)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(TEXT_MOST), link = BUF_UP_TO(TEXT_MOST),
				 target = BUF_UP_TO(TEXT_MOST);
	int r = bundle_write(f, TOLD_PLIST, asked, found, &path, plist);

	r = r ? r : bundle_write(f, TOLD_LINK, asked, found, &link, &target);
	if (r < 0)
		return r;
	a->plist_name = member_name(buf_text(&path));
	a->file_name = member_name(buf_text(&target));
	return a->plist_name && a->file_name ? 0 : -ENOMEM;
}

static int archive_make(struct archive *a, struct exchange *x, const struct fetched *found)
{
	_cleanup_buf_ struct buf plist = BUF_UP_TO(TEXT_MOST);
	int r = name_members(a, x->space->fetch, &x->route->hit.files[0], found, &plist);

	if (r < 0)
		return r;
	a->plist = (struct zip_stored){.name = a->plist_name, .size = plist.n,
		.crc = inflate_crc(0, plist.p, plist.n)};
	zip_write_head(&a->front, &a->plist);
	buf_add(&a->front, plist.p, plist.n);
	a->file = (struct zip_stored){.name = a->file_name, .size = blob_size(found->blob), .at = a->front.n,
		.crc_after = true};
	r = zip_write_head(&a->front, &a->file);
	if (r == 0)
		r = make_back(a);
	a->fd = r ? -1 : fcntl(blob_fd(found->blob), F_DUPFD_CLOEXEC, 0);
	return r ? r : a->fd < 0 ? -EMFILE : 0;
}

static int archive_new(struct archive **out, struct exchange *x, const struct fetched *found)
{
	struct archive *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	*a = (struct archive){.front = BUF_UP_TO(2 * TEXT_MOST), .back = BUF_UP_TO(2 * TEXT_MOST), .fd = -1};
	r = archive_make(a, x, found);
	if (r < 0) {
		archive_free(a);
		return r;
	}
	*out = a;
	return 0;
}

static ssize_t read_text(const struct buf *from, uint64_t off, char *p, size_t n)
{
	n = MIN(n, from->n - (size_t)off);
	memcpy(p, from->p + off, n);
	return (ssize_t)n;
}

/* libmicrohttpd reads from front to back, each byte once. */
static ssize_t read_file(struct archive *a, uint64_t off, char *p, size_t n)
{
	ssize_t got;

	if (off != a->read)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	got = pread(a->fd, p, (size_t)MIN(n, a->file.size - off), (off_t)off);
	if (got <= 0) /* an error of the disk */
		return MHD_CONTENT_READER_END_WITH_ERROR;
	a->file.crc = inflate_crc(a->file.crc, p, (size_t)got);
	a->read += (uint64_t)got;
	if (a->read == a->file.size && make_back(a) < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	return got;
}

static ssize_t read_archive(void *ctx, uint64_t off, char *p, size_t n)
{
	struct archive *a = ctx;

	if (off < a->front.n)
		return read_text(&a->front, off, p, n);
	off -= a->front.n;
	if (off < a->file.size)
		return read_file(a, off, p, n);
	return read_text(&a->back, off - a->file.size, p, n);
}

static struct MHD_Response *respond(struct exchange *x, struct archive *a)
{
	uint64_t size = a->front.n + a->file.size + a->back.n;
	struct MHD_Response *r;

	if (exchange_is_head(x)) {
		archive_free(a);
		return body_of_head(size);
	}
	r = MHD_create_response_from_callback(size, CHUNK, read_archive, a, archive_free);
	if (r)
		x->bytes = size;
	else
		archive_free(a);
	return r;
}

static enum MHD_Result dsym_zip_reply(struct exchange *x)
{
	const struct answer *got = &x->answer;
	struct fetched f = {.key = got->key, .blob = got->blob, .why = ""};
	struct archive *a = NULL;
	struct MHD_Response *r;
	int error = got->r < 0 ? got->r : archive_new(&a, x, &f);

	if (error < 0) {
		x->answer.r = error;
		return exchange_error(x, &x->answer);
	}
	r = respond(x, a);
	if (!r)
		return exchange_error(x, &(struct answer){.r = -ENOMEM});
	response_header(r, "Content-Type", "application/zip");
	response_header(r, "Cache-Control", HTTP_SOON); /* the name of the file may become known later */
	return exchange_reply(x, 200, r);
}

static enum MHD_Result dsym_zip_handle(struct exchange *x)
{
	return x->step == STEP_ANSWER || exchange_fetch(x, STEP_ANSWER, FETCH_WHOLE) ? dsym_zip_reply(x) : MHD_YES;
}

const struct handler generated_handlers[] = {
	{ROUTE_GENERATED, generated_handle}, {ROUTE_DSYM_ZIP, dsym_zip_handle}, {ROUTE_NONE, NULL}};
