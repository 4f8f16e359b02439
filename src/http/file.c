/* Files: what of them is asked for, and how an answer of fetch/ reads in HTTP. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/gzip.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/view.h"
#include "config.h"
#include "http/private.h"
#include "obj/obj.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define UNKNOWN_MS 600000 /* as long as Mozilla's server believes it */
#define TAG_TEXT (SHA256_TEXT + 7) /* "DIGEST-gzip" */
#define PACK_LEAST 1024		   /* less is not worth it */
#define AGENT_WORD PACKAGE_NAME "/"
#define BYTES_TYPE "application/octet-stream"
#define STREAM_BUFFER (32u << 10) /* of memory, for each file that is sent while it comes */
#define STREAM_AHEAD (4u << 20)	  /* of a range of a file with holes: what is asked for at once */

/* ---- errors ------------------------------------------------------------------------- */

/* Only what is known not to be there is a 404: clients remember that. */
static const struct error_row {
	int error, status;
	const char *text;
} errors[] = {
	{-ENOENT, 404, "Not Found"},
	{-ETIMEDOUT, 504, "no source answered in time"},
	{-EHOSTUNREACH, 502, "a source that may have it could not be reached"},
	{-EREMOTEIO, 502, "a source that may have it gave a useless answer"},
	{-EACCES, 502, "a source that may have it refuses to tell"},
	{-EBADMSG, 502, "a source sent another file than was asked for"},
	{-EFBIG, 502, "what a source has is larger than is allowed here"},
	{-ELOOP, 508, "a source leads back here"},
	{-EINTR, 503, "given up"},
	{-ENOSPC, 503, "the disk of the cache is full"},
	{-ENOMEM, 503, "out of memory"},
	{-EMFILE, 503, "too many open files"},
	{0, 500, "local trouble"},
};

static const struct error_row *error_row(int error)
{
	const struct error_row *row = errors;

	while (row->error && row->error != error)
		row++;
	return row;
}

static enum MHD_Result reply_missing(struct exchange *x)
{
	const char *text = !x->route->tecken   ? "Not Found\n"
			   : x->route->ignored ? "Symbol Not Found (and ignored)"
					       : "Symbol Not Found";

	misses_tell(x);
	/* It may be added any moment; to ask again costs little. */
	return exchange_text(x, 404, "text/plain; charset=utf-8", "no-cache", text);
}

static enum MHD_Result reply_error(struct exchange *x, const struct answer *a)
{
	const struct error_row *row = error_row(a->r);
	char text[400];

	if (row->status == 404)
		return reply_missing(x);
	snprintf(text, sizeof(text), "%s%s%s\n", row->text, a->why[0] ? ": " : "", a->why);
	return exchange_text(x, row->status, "text/plain; charset=utf-8", "no-store", text);
}

enum MHD_Result file_reply_error(struct exchange *x)
{
	return reply_error(x, &x->answer);
}

/* ---- what is said of a file --------------------------------------------------------- */

struct told {
	bool packs; /* on the way */
	uint64_t size;
	char tag[TAG_TEXT], date[FIELD_DATE]; /* "": none */
	int64_t changed;
};

/* Of the bytes of a file while it comes: nobody knows its digest then. */
static void tag_part(uint64_t number, char out[static TAG_TEXT])
{
	snprintf(out, TAG_TEXT, "\"part-%016" PRIx64 "\"", number);
}

/* When it began is not when it will be stored, so there is no date. */
static void tell_part(struct part *p, struct told *out)
{
	out->size = part_size(p);
	out->changed = INT64_MAX;
	out->date[0] = '\0';
	tag_part(part_number(p), out->tag);
}

static int tell_blob(struct blob *b, struct told *out)
{
	const char *digest = blob_sha256(b);
	struct stat st;

	if (fstat(blob_fd(b), &st) < 0)
		return -EIO;
	out->size = blob_size(b);
	out->changed = st.st_mtime;
	field_date(out->changed, out->date);
	if (digest[0])
		snprintf(out->tag, sizeof(out->tag), "\"%.64s\"", digest);
	else
		snprintf(out->tag, sizeof(out->tag), "\"%016" PRIx64 "\"", blob_number(b));
	return 0;
}

/* Who has the beginning of it asks for the rest by the tag that it had while it came: those are the
 * same bytes, and they keep that tag for who knows it. */
static void tell_known(struct exchange *x, uint64_t was, struct told *out)
{
	const char *range = exchange_header(x, "If-Range"), *tags = exchange_header(x, "If-None-Match");
	char tag[TAG_TEXT];

	tag_part(was, tag);
	if (was && ((range && strcmp(range, tag) == 0) || (tags && field_has_tag(tags, tag))))
		memcpy(out->tag, tag, sizeof(tag));
}

static bool is_symfs(struct exchange *x)
{
	const char *agent = exchange_header(x, "User-Agent");

	return agent && strncmp(agent, AGENT_WORD, strlen(AGENT_WORD)) == 0;
}

/* Text that servers hold packed, most of them, is stored as it is inside, and packed again for who asks for
 * that. Another symfs wants to know its size, and ranges of it. Each that is packed takes memory for as long as
 * its client reads. */
static bool packs(struct exchange *x, const struct answer *a)
{
	return filetype_is(a->key.type, TYPE_TEXT) && a->blob && blob_size(a->blob) >= PACK_LEAST && !exchange_header(x, "Range") &&
		field_accepts_gzip(exchange_header(x, "Accept-Encoding")) && !is_symfs(x) &&
		atomic_load(&x->h->packing) < HTTP_PACKING_MOST;
}

/* Other bytes have another tag. */
static void tag_packed(char tag[static TAG_TEXT])
{
	size_t n = strlen(tag);

	snprintf(tag + n - 1, TAG_TEXT - n + 1, "-gzip\"");
}

static int tell(struct exchange *x, const struct answer *a, struct told *out)
{
	int r = 0;

	out->packs = packs(x, a);
	if (a->part)
		tell_part(a->part, out);
	else
		r = tell_blob(a->blob, out);
	if (r == 0 && out->packs)
		tag_packed(out->tag);
	else if (r == 0 && a->was)
		tell_known(x, a->was, out);
	return r;
}

static const char *type_of(const struct answer *a)
{
	return filetype_is(a->key.type, TYPE_TEXT) ? "text/plain; charset=utf-8" : BYTES_TYPE;
}

/* A header's value is one line of what can be seen. */
static void add_name(struct MHD_Response *r, const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			return;
	if (*name)
		response_header(r, "X-DEBUGINFOD-FILE", name);
}

/* As debuginfod tells them: the size also where the body is compressed or its length is not told. */
static void tell_debuginfod(struct exchange *x, const struct answer *a, uint64_t size,
	struct MHD_Response *r)
{
	char text[24], name[MODULE_PATH_MAX] = "";
	const char *slash;

	snprintf(text, sizeof(text), "%" PRIu64, size);
	response_header(r, "X-DEBUGINFOD-SIZE", text);
	store_name(fetch_store(x->h->fetch), &a->key, name);
	if (!name[0])
		snprintf(name, sizeof(name), "%s", a->key.name);
	slash = strrchr(name, '/');
	add_name(r, slash ? slash + 1 : name);
}

static void tell_headers(struct exchange *x, const struct answer *a, const struct told *t,
	struct MHD_Response *r)
{
	response_header(r, "Content-Type", type_of(a));
	response_header(r, "ETag", t->tag);
	if (t->date[0])
		response_header(r, "Last-Modified", t->date);
	if (!t->packs)
		response_header(r, "Accept-Ranges", "bytes");
	if (filetype_is(a->key.type, TYPE_TEXT))
		response_header(r, "Vary", "Accept-Encoding");
	response_header(r, "Cache-Control", HTTP_FOREVER);
	if (x->route->debuginfod)
		tell_debuginfod(x, a, t->size, r);
}

/* ---- the file ----------------------------------------------------------------------- */

static struct MHD_Response *empty(void)
{
	return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
}

static ssize_t no_body(void *ctx, uint64_t off, char *p, size_t n)
{
	return MHD_CONTENT_READER_END_OF_STREAM;
}

/* Where no body is sent; how long it would be, or MHD_SIZE_UNKNOWN. Of one in chunks libmicrohttpd 0.9 sends the
 * last chunk all the same, which the client takes for the beginning of the next answer. So that ends the
 * connection. */
static struct MHD_Response *only_head(uint64_t size)
{
	struct MHD_Response *r = MHD_create_response_from_callback(size, 4096, no_body, NULL, NULL);

	if (r && size == MHD_SIZE_UNKNOWN)
		MHD_set_response_options(r, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
	return r;
}

/* The descriptor is the response's own: the blob's may be closed while the body is sent. */
static struct MHD_Response *from_file(struct blob *b, uint64_t off, uint64_t n)
{
	int fd = n ? fcntl(blob_fd(b), F_DUPFD_CLOEXEC, 0) : -1;
	struct MHD_Response *r;

	if (n == 0)
		return empty();
	if (fd < 0)
		return NULL;
	r = MHD_create_response_from_fd_at_offset64(n, fd, off);
	if (!r)
		close(fd);
	return r;
}

/* ---- the file while it comes --------------------------------------------------------- */

struct stream {
	struct exchange *x;
	uint64_t off, n;
	bool whole; /* not a range of it */
};

/* Of the whole the last byte is sent when the whole was judged: a wrong file never looks complete. */
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

	if (here && !x->failed) {
		ssize_t got = part_read(p, s->off + pos, out, here);

		if (got != -EAGAIN) {
			x->bytes = pos + here;
			return got > 0 ? got : MHD_CONTENT_READER_END_WITH_ERROR;
		}
	}
	/* It may have ended between two looks, with nobody waiting who would be told. */
	if (x->failed || part_over(p)) {
		log_debug(LOG_HTTP, "%s: no more than %llu bytes came", x->target, (unsigned long long)pos);
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

static struct MHD_Response *from_part(struct exchange *x, uint64_t off, uint64_t n, bool whole)
{
	struct stream *s = n ? malloc(sizeof(*s)) : NULL;
	struct MHD_Response *r;

	if (!s)
		return n ? NULL : empty();
	*s = (struct stream){.x = x, .off = off, .n = n, .whole = whole};
	atomic_fetch_add(&x->refs, 1);
	r = MHD_create_response_from_callback(n, STREAM_BUFFER, stream_read, s, stream_free);
	if (!r)
		stream_free(s);
	return r;
}

/* ---- the file, packed on the way ------------------------------------------------------- */

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

static struct MHD_Response *from_packed(struct exchange *x, struct blob *b)
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

/* ---- all of them ---------------------------------------------------------------------- */

static bool unchanged(struct exchange *x, const struct told *t)
{
	const char *tags = exchange_header(x, "If-None-Match");
	int64_t since = field_date_read(exchange_header(x, "If-Modified-Since"));

	if (tags)
		return field_has_tag(tags, t->tag);
	return since >= 0 && since >= t->changed;
}

static enum MHD_Result reply_range_error(struct exchange *x, const struct told *t)
{
	struct MHD_Response *r = empty();
	char text[48];

	if (!r)
		return MHD_NO;
	snprintf(text, sizeof(text), "bytes */%" PRIu64, t->size);
	response_header(r, "Content-Range", text);
	return exchange_reply(x, 416, r);
}

static enum MHD_Result reply_file(struct exchange *x, const struct answer *a)
{
	const char *range = exchange_header(x, "Range");
	bool head = exchange_is_head(x);
	uint64_t off = 0, n;
	struct MHD_Response *r;
	int status = 200;
	struct told t;
	char text[80];

	if (tell(x, a, &t) < 0)
		return reply_error(x, &(struct answer){.r = -EIO});
	if (unchanged(x, &t)) {
		r = only_head(t.packs ? MHD_SIZE_UNKNOWN : t.size);
		if (r)
			tell_headers(x, a, &t, r);
		return exchange_reply(x, 304, r);
	}
	n = t.size;
	if (range && field_if_range(exchange_header(x, "If-Range"), t.tag, t.date)) {
		enum field_range what = field_range(range, t.size, &off, &n);

		if (what == RANGE_NEVER)
			return reply_range_error(x, &t);
		status = what == RANGE_PART ? 206 : 200;
	}
	r = a->part    ? from_part(x, off, n, status == 200)
	    : !t.packs ? from_file(a->blob, off, n)
	    : head     ? only_head(MHD_SIZE_UNKNOWN)
		       : from_packed(x, a->blob);
	if (!r)
		return reply_error(x, &(struct answer){.r = -EMFILE});
	tell_headers(x, a, &t, r);
	if (t.packs)
		response_header(r, "Content-Encoding", "gzip");
	if (status == 206) {
		snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, off,
			off + n - 1, t.size);
		response_header(r, "Content-Range", text);
	}
	x->bytes = head || a->part || t.packs ? 0 : n;
	return exchange_reply(x, status, r);
}

/* ---- HEAD of what is not here ------------------------------------------------------- */

/* It exists; how large it is may be known, what it is worth as a validator is not. */
static enum MHD_Result reply_exists(struct exchange *x, const struct answer *a)
{
	bool made = x->route->what == ROUTE_MADE, known = a->size != FETCH_SIZE_UNKNOWN && !made;
	uint64_t size = known ? a->size : MHD_SIZE_UNKNOWN;
	struct MHD_Response *r = only_head(size);

	if (!r)
		return MHD_NO;
	response_header(r, "Content-Type", made ? BYTES_TYPE : type_of(a));
	if (!made && filetype_is(a->key.type, TYPE_TEXT))
		response_header(r, "Vary", "Accept-Encoding");
	response_header(r, "Accept-Ranges", "bytes");
	response_header(r, "Cache-Control", "no-cache");
	if (x->route->debuginfod && known)
		tell_debuginfod(x, a, a->size, r);
	return exchange_reply(x, 200, r);
}

/* ---- what is asked ------------------------------------------------------------------ */

static enum MHD_Result reply(struct exchange *x);

/* As derive_try(), of what is made of the file. */
static int try_made(struct exchange *x, const struct artifact *input, struct artifact *a, struct fetched *f)
{
	int r = derive_artifact(input, x->route->hit.gsym == TREE_GSYM_OBJECT, a);

	return r == 0 ? derive_try(x->h->derive, a, f) : r;
}

/* Of what a path under gsym/ can mean, `x->answer` is the file that exists: makes GSYM of it. */
static enum MHD_Result make(struct exchange *x)
{
	const struct tree_hit *hit = &x->route->hit;
	struct fetched f = {0};
	struct artifact a;
	int r = try_made(x, tree_gsym_input(hit->files, hit->n, &x->answer.key), &a, &f);

	if (r == -EAGAIN && exchange_is_head(x))
		return reply_exists(x, &x->answer);
	answer_release(&x->answer);
	x->answered = false;
	if (r == -EAGAIN)
		return exchange_wait(x, &a, 1, NULL);
	f.r = r < 0 ? r : f.r;
	answer_of(&f, &x->answer);
	blob_unref(f.blob);
	return reply(x);
}

static enum MHD_Result reply(struct exchange *x)
{
	const struct answer *a = &x->answer;

	if (a->r < 0)
		return reply_error(x, a);
	if (checksum_waits(x))
		return checksum_check(x);
	if (x->route->what == ROUTE_MADE && a->key.type != FILETYPE_GSYM)
		return make(x);
	if (!a->blob && !a->part)
		return reply_exists(x, a);
	return reply_file(x, a);
}

/* Whether only the sources can say which file GSYM is made of. */
static bool has_meanings(const struct tree_hit *hit)
{
	return hit->n > 1 && hit->files[0].type == hit->files[1].type;
}

/* NULL: what is asked for is made of one other file. */
static const enum fetch_need *need_of(struct exchange *x)
{
	static const enum fetch_need exists = FETCH_EXISTS, part = FETCH_OPEN, all = FETCH_STREAM,
				     whole = FETCH_WHOLE;

	if (exchange_is_head(x))
		return &exists;
	if (x->route->what == ROUTE_MADE)
		return has_meanings(&x->route->hit) ? &whole : NULL;
	if (x->checksum)
		return &whole; /* it is a digest of all of it */
	return exchange_header(x, "Range") ? &part : &all;
}

static enum MHD_Result begin(struct exchange *x)
{
	const enum fetch_need *need;
	const struct tree_hit *hit = &x->route->hit;
	bool made = x->route->what == ROUTE_MADE;
	struct fetched f = {0};
	struct artifact a;
	int r;

	checksum_take(x);
	hops_tell(x);
	need = need_of(x);
	if (made && (r = try_made(x, &hit->files[0], &a, &f)) != -EAGAIN &&
		(f.blob || !has_meanings(hit))) {
		f.r = r < 0 ? r : f.r;
		answer_of(&f, &x->answer);
		blob_unref(f.blob);
		return reply(x);
	}
	if (made && !need)
		return exchange_wait(x, &a, 1, NULL);
	r = fetch_try(x->h->fetch, hit->files, hit->n, *need, &f);
	if (r == -EAGAIN)
		return exchange_wait(x, hit->files, hit->n, need);
	f.r = r < 0 ? r : f.r;
	answer_of(&f, &x->answer);
	blob_unref(f.blob);
	return reply(x);
}

/* ---- code ids in place of debug ids -------------------------------------------------- */

/* NAME/ID/x.sym read as the program NAME with the code id ID. */
static int program_of(const struct exchange *x, struct artifact *out)
{
	const char *path = x->route->path, *id, *end;

	if (strncasecmp(path, "breakpad/", 9) == 0)
		path += 9;
	id = strchr(path, '/') + 1;
	end = strchr(id, '/');
	memset(out, 0, sizeof(*out));
	out->type = end - id == 32 ? FILETYPE_MACH_CODE : FILETYPE_PE;
	out->m.object = end - id == 32 ? OBJECT_MACHO : OBJECT_PE;
	snprintf(out->m.code_file, sizeof(out->m.code_file), "%.*s", (int)(id - 1 - path), path);
	return module_set_code_id(&out->m, id, (size_t)(end - id));
}

static int add_encoded(struct buf *out, const char *path)
{
	static const char plain[] = "-._~/!$&'()*+,;=:@";
	int r = 0;

	for (const unsigned char *p = (const unsigned char *)path; r == 0 && *p; p++) {
		bool word = (*p >= '0' && *p <= '9') || ((*p | 32) >= 'a' && (*p | 32) <= 'z');

		r = word || strchr(plain, *p) ? buf_add(out, p, 1) : buf_addf(out, "%%%02X", *p);
	}
	return r;
}

static int write_location(const struct exchange *x, const struct artifact *sym, struct buf *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	int r = layout_path(layout_find("breakpad"), sym, CASING_DEFAULT, 0, &path);

	if (r == 0)
		r = buf_adds(out, strncasecmp(x->route->path, "breakpad/", 9) == 0 ? "/breakpad/" : "/");
	if (r == 0)
		r = add_encoded(out, buf_text(&path));
	return r < 0 || !*x->route->query ? r : buf_addf(out, "?%s", x->route->query);
}

/* What the program says of its debug file: what is served in place has taught nobody. */
static bool ask_program(struct exchange *x, struct artifact *a)
{
	_cleanup_free_ struct obj_slice *s = malloc(sizeof(*s));
	struct blob *b = x->answer.blob;
	struct view v;

	if (!s || !b)
		return false;
	v = view_of_fd(blob_fd(b), blob_size(b));
	if (obj_check(&v, &x->answer.key, s, NULL) != 1)
		return false;
	a->m.debug_id = s->module.debug_id;
	snprintf(a->m.debug_file, sizeof(a->m.debug_file), "%s",
		s->module.debug_file[0] ? s->module.debug_file : a->m.code_file);
	return true;
}

/* Where the symbol file of the program is. -ENOENT: nobody has told its debug id. */
static int locate(struct exchange *x, struct buf *out)
{
	struct artifact a;
	int r = program_of(x, &a);

	/* As a program, whose name counts beside its code id. */
	if (r < 0 || (!fetch_complete(x->h->fetch, &a) && !ask_program(x, &a)) || !a.m.debug_id.set)
		return -ENOENT;
	a.type = FILETYPE_BREAKPAD;
	return write_location(x, &a, out);
}

static enum MHD_Result reply_location(struct exchange *x, const struct buf *where)
{
	struct MHD_Response *r = empty();

	if (!r)
		return MHD_NO;
	response_header(r, "Location", buf_text(where));
	response_header(r, "Cache-Control", "max-age=600");
	return exchange_reply(x, 302, r);
}

/* The symbol file of that very id, if it is one of a debug file; else the program, which tells. */
static enum MHD_Result code_id_begin(struct exchange *x)
{
	static const enum fetch_need whole = FETCH_WHOLE;
	struct tree_hit *hit = &x->route->hit;
	struct fetched f = {0};
	int r;

	if (hit->n < LAYOUT_CANDIDATES && program_of(x, &hit->files[hit->n]) == 0)
		hit->n++;
	if (hit->n == 0)
		return reply_missing(x);
	hops_tell(x);
	r = fetch_try(x->h->fetch, hit->files, hit->n, FETCH_WHOLE, &f);
	if (r == -EAGAIN)
		return exchange_wait(x, hit->files, hit->n, &whole);
	f.r = r < 0 ? r : f.r;
	answer_of(&f, &x->answer);
	x->answered = true;
	blob_unref(f.blob);
	return file_handle(x);
}

/* ---- and where servers say that it is -------------------------------------------------- */

static const char *path_of(const struct exchange *x)
{
	const char *path = x->route->path;

	return path + (strncasecmp(path, "breakpad/", 9) == 0 ? 9 : 0);
}

static struct unknown *unknown_of(struct exchange *x, uint64_t *asked)
{
	*asked = hash_mix(path_of(x), strlen(path_of(x)));
	return &x->h->unknown[*asked % ARRAY_SIZE(x->h->unknown)];
}

static bool is_unknown(struct exchange *x)
{
	uint64_t asked;
	const struct unknown *u = unknown_of(x, &asked);
	LOCK_SCOPE(&x->h->lock);

	return u->asked == asked && u->until > clock_ms();
}

static void ask_where(void *ctx)
{
	struct exchange *x = ctx;
	struct http *h = x->h;
	uint64_t asked;
	struct unknown *u = unknown_of(x, &asked);
	int r = fetch_locate(h->fetch, path_of(x), x->via, &x->left, x->where);

	x->where->debug_id.set = r == 0;
	if (r == -ENOENT) {
		pthread_mutex_lock(&h->lock);
		*u = (struct unknown){asked, clock_ms() + UNKNOWN_MS};
		pthread_mutex_unlock(&h->lock);
	}
	exchange_resume(x);
}

/* False: there is nobody to ask, or it was asked lately. */
static bool where_begin(struct exchange *x)
{
	if (x->asked_where || !fetch_may_locate(x->h->fetch) || is_unknown(x))
		return false;
	x->asked_where = true;
	x->where = calloc(1, sizeof(*x->where));
	if (!x->where)
		return false;
	exchange_post(x, x->h->askers, ask_where);
	return true;
}

static enum MHD_Result code_id_handle(struct exchange *x)
{
	_cleanup_buf_ struct buf where = BUF_UP_TO(2 * LAYOUT_PATH_MAX + HTTP_HEAD_MOST);
	struct artifact sym = {.type = FILETYPE_BREAKPAD};

	if (x->where && x->where->debug_id.set) {
		sym.m = *x->where;
		return write_location(x, &sym, &where) == 0 ? reply_location(x, &where) : reply_missing(x);
	}
	if (x->answered && (x->answer.r < 0 || x->answer.key.type == FILETYPE_BREAKPAD))
		return reply(x);
	if (locate(x, &where) == 0)
		return reply_location(x, &where);
	if (x->answered)
		return reply_missing(x);
	return where_begin(x) ? MHD_YES : code_id_begin(x);
}

enum MHD_Result file_handle(struct exchange *x)
{
	if (x->route->code_id && !x->route->ignored)
		return code_id_handle(x);
	if (x->answered)
		return reply(x);
	if (x->route->ignored || x->route->hit.n == 0)
		return reply_missing(x);
	return begin(x);
}
