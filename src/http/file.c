/* Requests for files, and for GSYM of a file: fetches, and writes the header fields of the response. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "config.h"
#include "http/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TAG_TEXT (SHA256_TEXT + 7) /* "DIGEST-gzip" */
#define PACK_LEAST 1024		   /* bytes; smaller files are not packed */
#define AGENT_WORD PACKAGE_NAME "/"
#define ORIGIN_MAX 2048		   /* as in struct blob_facts */
#define BYTES_TYPE "application/octet-stream"

/* ---- header fields ------------------------------------------------------------------ */

/* The representation that the client gets. */
struct representation {
	bool packed; /* packed by gzip */
	uint64_t size;
	char tag[TAG_TEXT], date[DATE_TEXT]; /* "": no date */
	bool dated; /* the date tells the file from others that clients may have */
	int64_t changed; /* wall clock */
};

/* The tag of a file that is downloading: its digest is not known yet. */
static void tag_part(uint64_t number, char out[static TAG_TEXT])
{
	snprintf(out, TAG_TEXT, "\"part-%016" PRIx64 "\"", number);
}

/* A file that is not stored yet has the date of its origin, or no date. The date is not a validator: another source
 * may send other bytes of the same date. */
static void describe_part(struct part *p, struct representation *out)
{
	out->size = part_size(p);
	out->changed = INT64_MAX;
	out->dated = false;
	out->date[0] = '\0';
	if (part_modified(p))
		date_print(part_modified(p), out->date);
	tag_part(part_number(p), out->tag);
}

static void describe_blob(struct blob *b, struct representation *out)
{
	const struct blob_facts *facts = blob_facts(b);
	const char *digest = blob_sha256(b);

	out->size = blob_size(b);
	out->changed = MIN(facts->modified ? facts->modified : blob_changed(b), clock_wall());
	date_print(out->changed, out->date);
	/* A file that replaced another may have the date of that file, or an earlier one: then no date that a client
	 * got says that the client has this file. */
	out->dated = !facts->generation && out->changed < clock_wall();
	if (facts->generation)
		out->changed = MAX(out->changed, blob_changed(b));
	if (digest[0])
		snprintf(out->tag, sizeof(out->tag), "\"%.64s\"", digest);
	else
		snprintf(out->tag, sizeof(out->tag), "\"%016" PRIx64 "\"", blob_number(b));
}

/* A client that got the beginning of a file during its download asks for the rest with the tag of the
 * download. The stored file has the same bytes, so the client gets the same tag again. */
static void keep_part_tag(struct exchange *x, uint64_t was, struct representation *out)
{
	const char *range = exchange_header(x, "If-Range");
	char tag[TAG_TEXT];

	tag_part(was, tag);
	if (was && ((range && strcmp(range, tag) == 0) || field_has_tag(exchange_header(x, "If-Match"), tag, false) ||
			   field_has_tag(exchange_header(x, "If-None-Match"), tag, true)))
		memcpy(out->tag, tag, sizeof(tag));
}

/* Only GET has ranges (RFC 9110, 14.2). */
static const char *range_of(struct exchange *x)
{
	return exchange_is_head(x) ? NULL : exchange_header(x, "Range");
}

static bool is_symfs(struct exchange *x)
{
	const char *agent = exchange_header(x, "User-Agent");

	return agent && strncmp(agent, AGENT_WORD, strlen(AGENT_WORD)) == 0;
}

/* Text is stored unpacked and is packed for clients that accept gzip. Another symfs wants sizes and
 * ranges, so it gets the text unpacked. Each packed body takes memory for as long as its client reads. */
static bool is_packed(struct exchange *x, const struct answer *a)
{
	return filetypes[a->key.type].flags & TYPE_TEXT && a->blob && blob_size(a->blob) >= PACK_LEAST &&
		!range_of(x) &&
		field_accepts_gzip(exchange_header(x, "Accept-Encoding")) && !is_symfs(x) &&
		atomic_load(&x->h->packing) < HTTP_PACKING_MOST;
}

/* A packed body has other bytes, so it has another tag. */
static void tag_packed(char tag[static TAG_TEXT])
{
	size_t n = strlen(tag);

	snprintf(tag + n - 1, TAG_TEXT - n + 1, "-gzip\"");
}

static void describe(struct exchange *x, const struct answer *a, struct representation *out)
{
	out->packed = is_packed(x, a);
	if (a->part)
		describe_part(a->part, out);
	else
		describe_blob(a->blob, out);
	if (out->packed)
		tag_packed(out->tag);
	else if (a->was)
		keep_part_tag(x, a->was, out);
}

static const char *type_of(const struct answer *a)
{
	return filetypes[a->key.type].flags & TYPE_TEXT ? PLAIN : BYTES_TYPE;
}

/* Adds the last part of a path. Leaves out a name with control characters: a header field is one line. */
static void add_name(struct MHD_Response *r, const char *field, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			return;
	if (*name)
		response_header(r, field, name);
}

/* The path of a file that came from a directory, with the archive around it: "/DIR/ARCHIVE!MEMBER". Of a section it
 * is the path of its file. "": the file came from elsewhere. */
static void origin_of(const struct answer *a, char out[static ORIGIN_MAX])
{
	const struct blob_facts *facts = a->blob ? blob_facts(a->blob) : NULL;
	const char *in = facts && strcmp(facts->source, "embedded") == 0 ? strstr(facts->url, " in ") : NULL;
	const char *from = in ? in + 4 : facts ? facts->url : "";

	snprintf(out, ORIGIN_MAX, "%s", from[0] == '/' ? from : "");
}

/* The header fields of debuginfod. These fields have the size even if the body is packed, or the response
 * has no Content-Length. */
static void add_debuginfod(struct exchange *x, const struct answer *a, uint64_t size,
	struct MHD_Response *r)
{
	char text[24], name[ORIGIN_MAX];
	char *mark;

	snprintf(text, sizeof(text), "%" PRIu64, size);
	response_header(r, "X-DEBUGINFOD-SIZE", text);
	origin_of(a, name);
	mark = name[0] && *blob_sha256(a->blob) ? strrchr(name, '!') : NULL;
	if (mark) {
		*mark = '\0';
		add_name(r, "X-DEBUGINFOD-ARCHIVE", name);
	}
	if (!name[0] && store_name(x->space->store, &a->key, name) < 0)
		name[0] = '\0';
	add_name(r, "X-DEBUGINFOD-FILE", mark ? mark + 1 : name[0] ? name : a->key.name);
}

/* Whether the file is larger than the client of debuginfod wants it. */
static bool is_too_large(struct exchange *x, uint64_t size)
{
	const char *most = x->route->debuginfod ? exchange_header(x, "X-DEBUGINFOD-MAXSIZE") : NULL;
	long long n = most ? strtoll(most, NULL, 10) : 0;

	return n > 0 && size > (uint64_t)n;
}

static enum MHD_Result reply_too_large(struct exchange *x)
{
	return exchange_plain(x, 406, "the file is larger than X-DEBUGINFOD-MAXSIZE\n");
}

/* Whether the client may keep the file without asking again, because symfs does not look for a better
 * file. */
static bool is_final(const struct answer *a)
{
	if (a->part)
		return !part_is_poor(a->part) && !part_maker(a->part)[0];
	if (a->key.type == FILETYPE_SYM || (a->blob && blob_is_made(blob_facts(a->blob))))
		return false;
	return !a->blob || worth_suffices(&blob_facts(a->blob)->worth, a->key.type);
}

/* Tells another symfs that the file is not as its publisher has it. */
static void add_maker(const struct answer *a, struct MHD_Response *r)
{
	char own[BLOB_MAKER] = "";
	const char *url = a->blob ? blob_facts(a->blob)->url : "", *end = strstr(url, " of ");

	if (filetypes[a->key.type].flags & TYPE_MADE)
		snprintf(own, sizeof(own), "%.*s", end ? (int)MIN(end - url, BLOB_MAKER - 1) : 5,
			end ? url : "symfs");
	else if (a->part)
		snprintf(own, sizeof(own), "%s", part_maker(a->part));
	else if (a->blob)
		blob_maker(blob_facts(a->blob), own);
	if (own[0])
		response_header(r, "X-Symfs-Synthesized", own);
}

static void add_headers(struct exchange *x, const struct answer *a, const struct representation *t,
	struct MHD_Response *r)
{
	response_header(r, "Content-Type", type_of(a));
	response_header(r, "ETag", t->tag);
	if (t->date[0])
		response_header(r, "Last-Modified", t->date);
	if (!t->packed)
		response_header(r, "Accept-Ranges", "bytes");
	if (filetypes[a->key.type].flags & TYPE_TEXT)
		response_header(r, "Vary", "Accept-Encoding");
	response_header(r, "Cache-Control", is_final(a) ? HTTP_FOREVER : HTTP_SOON);
	add_maker(a, r);
	if (x->route->debuginfod)
		add_debuginfod(x, a, t->size, r);
}

int file_condition(struct exchange *x)
{
	const struct tree_hit *hit = &x->route->hit;
	const char *match = exchange_header(x, "If-Match");
	_cleanup_blob_ struct blob *b = NULL;
	struct fetched f = {0};
	struct representation t;

	if (!match && !exchange_header(x, "If-None-Match") && !exchange_header(x, "If-Unmodified-Since"))
		return 0;
	if (fetch_stored(x->space->fetch, hit->files, hit->n, &f) == 0)
		b = f.blob;
	/* A DELETE of nothing is 404 whatever it names. Of the bucket's file the tag is not known. */
	if (!b)
		return match && (x->route->what == ROUTE_PUT || x->space->bucket) ? 412 : 0;
	describe_blob(b, &t);
	return exchange_condition(x, t.tag, date_read(t.date), INT64_MAX) == 200 ? 0 : 412;
}

/* ---- responses -------------------------------------------------------------------------- */

/* Whether the client may get a part. A client that continues an older file by its date gets the whole file, unless
 * the date tells this file from the older one. */
static bool may_have_part(struct exchange *x, const struct representation *t)
{
	int64_t date = t->dated ? t->changed : -1, since = date_read(exchange_header(x, "If-Unmodified-Since"));

	return field_if_range(exchange_header(x, "If-Range"), t->tag, date) &&
		(since < 0 || since == date || exchange_header(x, "If-Match"));
}

static enum MHD_Result reply_range_error(struct exchange *x, const struct representation *t)
{
	struct MHD_Response *r = body_empty();
	char text[48];

	if (!r)
		return MHD_NO;
	snprintf(text, sizeof(text), "bytes */%" PRIu64, t->size);
	response_header(r, "Content-Range", text);
	return exchange_reply(x, 416, r);
}

static enum MHD_Result reply_file(struct exchange *x, const struct answer *a)
{
	const char *range = range_of(x);
	bool head = exchange_is_head(x);
	uint64_t off = 0, n;
	struct MHD_Response *r;
	int status;
	struct representation t;
	char text[80];

	describe(x, a, &t);
	if (is_too_large(x, t.size))
		return reply_too_large(x);
	status = exchange_condition(x, t.tag, date_read(t.date), t.changed);
	if (status == 412)
		return exchange_refuse(x, status);
	if (status == 304) {
		r = body_of_head(t.packed ? MHD_SIZE_UNKNOWN : t.size);
		if (r)
			add_headers(x, a, &t, r);
		return exchange_reply(x, 304, r);
	}
	n = t.size;
	if (range && may_have_part(x, &t)) {
		enum field_range what = field_range(range, t.size, &off, &n);

		if (what == RANGE_NEVER)
			return reply_range_error(x, &t);
		status = what == RANGE_PART ? 206 : 200;
	}
	r = a->part    ? body_of_part(x, off, n, status == 200)
	    : !t.packed ? body_of_file(a->blob, off, n)
	    : head     ? body_of_head(MHD_SIZE_UNKNOWN)
		       : body_packed(x, a->blob);
	if (!r)
		return exchange_error(x, &(struct answer){.r = -EMFILE});
	add_headers(x, a, &t, r);
	if (t.packed)
		response_header(r, "Content-Encoding", "gzip");
	if (status == 206) {
		snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, off,
			off + n - 1, t.size);
		response_header(r, "Content-Range", text);
	}
	x->bytes = head || a->part || t.packed ? 0 : n;
	return exchange_reply(x, status, r);
}

/* Answers HEAD for a file that exists and is not stored. The size of the file may be known; its tag is not
 * known. */
static enum MHD_Result reply_exists(struct exchange *x, const struct answer *a)
{
	bool made = x->route->what == ROUTE_MADE;
	bool packed = filetypes[a->key.type].flags & TYPE_TEXT &&
		field_accepts_gzip(exchange_header(x, "Accept-Encoding"));
	bool known = a->size != FETCH_SIZE_UNKNOWN && !made && !packed;
	uint64_t size = known ? a->size : MHD_SIZE_UNKNOWN;
	struct MHD_Response *r;

	if (known && is_too_large(x, size))
		return reply_too_large(x);
	r = body_of_head(size);
	if (!r)
		return MHD_NO;
	response_header(r, "Content-Type", made ? BYTES_TYPE : type_of(a));
	if (!made && filetypes[a->key.type].flags & TYPE_TEXT)
		response_header(r, "Vary", "Accept-Encoding");
	response_header(r, "Accept-Ranges", "bytes");
	response_header(r, "Cache-Control", "no-cache");
	if (x->route->debuginfod && known)
		add_debuginfod(x, a, a->size, r);
	return exchange_reply(x, 200, r);
}

/* ---- the answer has arrived --------------------------------------------------------- */

enum MHD_Result file_reply(struct exchange *x)
{
	const struct answer *a = &x->answer;

	if (a->r < 0)
		return exchange_error(x, a);
	if (checksum_check(x))
		return MHD_YES;
	return a->blob || a->part ? reply_file(x, a) : reply_exists(x, a);
}

/* ---- a file of the tree ------------------------------------------------------------- */

/* HEAD with a condition needs the tag, and so the file, as GET does. */
static enum fetch_need need_of(struct exchange *x)
{
	if (exchange_is_head(x) && !exchange_header(x, "If-Match") && !exchange_header(x, "If-None-Match") &&
		!exchange_header(x, "If-Modified-Since") && !exchange_header(x, "If-Unmodified-Since"))
		return FETCH_EXISTS;
	if (x->checksum || x->route->what == ROUTE_MADE)
		return FETCH_WHOLE; /* a digest and a conversion read the whole file */
	return exchange_header(x, "Range") ? FETCH_OPEN : FETCH_STREAM;
}

/* Asks for the files of the path. */
static enum MHD_Result fetch_files(struct exchange *x, enum step step)
{
	return exchange_fetch(x, step, need_of(x)) ? file_handle(x) : MHD_YES;
}

/* ---- GSYM of a file ----------------------------------------------------------------- */

/* As derive_try(), for the GSYM file of `input`. Writes the GSYM file's artifact to `a`. */
static int try_made(struct exchange *x, const struct artifact *input, struct artifact *a, struct fetched *f)
{
	int r = derive_artifact(input, x->route->hit.gsym == TREE_GSYM_OBJECT, a);

	return r == 0 ? derive_try(x->space->derive, a, NULL, f) : r;
}

/* Whether the path can mean several files, so that only the sources can say which one exists. */
static bool has_meanings(const struct tree_hit *hit)
{
	return hit->n > 1 && (hit->n > 2 || hit->files[0].type == hit->files[1].type);
}

static enum MHD_Result begin_made(struct exchange *x)
{
	const struct tree_hit *hit = &x->route->hit;
	struct fetched f = {0};
	struct artifact a;
	int r = try_made(x, &hit->files[0], &a, &f);

	if (r != -EAGAIN && (f.blob || !has_meanings(hit))) {
		exchange_answered(x, STEP_ANSWER, r, &f);
		return file_reply(x);
	}
	if (has_meanings(hit) || exchange_is_head(x))
		return fetch_files(x, STEP_INPUT);
	return exchange_make(x, &a);
}

/* x->answer is the input, which exists: converts it to GSYM. HEAD only asks whether that is possible. */
static enum MHD_Result make_of_input(struct exchange *x)
{
	const struct tree_hit *hit = &x->route->hit;
	struct fetched f = {0};
	struct artifact a;
	int r;

	if (x->answer.r < 0)
		return exchange_error(x, &x->answer);
	r = try_made(x, tree_gsym_input(hit->files, hit->n, &x->answer.key), &a, &f);
	if (r == -EAGAIN && exchange_is_head(x))
		return reply_exists(x, &x->answer);
	answer_release(&x->answer);
	if (r == -EAGAIN)
		return exchange_make(x, &a);
	exchange_answered(x, STEP_ANSWER, r, &f);
	return file_reply(x);
}

/* ---- a Breakpad file that no source has ------------------------------------------------- */

/* Takes the build id of the query, which a debug id does not contain: a server of debuginfod is asked by build id. */
static void take_build_id(struct exchange *x)
{
	struct tree_hit *hit = &x->route->hit;
	char id[CODE_ID_MAX + 1];

	if (!route_query(x->route->query, "code_id", id, sizeof(id)))
		return;
	for (unsigned i = 0; i < hit->n; i++)
		if (hit->files[i].type == FILETYPE_BREAKPAD && !hit->files[i].m.code_id[0])
			module_set_code_id(&hit->files[i].m, id, strlen(id));
}

/* Whether the file that no source has is made: then x->answer is replaced, or *out is the result of the wait for
 * it. */
static bool make_missing(struct exchange *x, enum MHD_Result *out)
{
	const struct tree_hit *hit = &x->route->hit;
	struct fetched f = {0};
	struct artifact a;
	int r;

	if (x->made || x->answer.r != -ENOENT || x->route->what != ROUTE_FILE || !hit->n ||
		derive_breakpad(x->space->derive, &hit->files[0], &a) < 0)
		return false;
	x->made = true;
	r = derive_try(x->space->derive, &a, NULL, &f);
	if (r == -EAGAIN) {
		answer_release(&x->answer);
		*out = exchange_make(x, &a);
		return true;
	}
	if (r == 0 && f.r == 0) {
		answer_release(&x->answer);
		exchange_answered(x, STEP_ANSWER, r, &f);
	}
	return false;
}

/* ---- the request -------------------------------------------------------------------- */

static enum MHD_Result begin(struct exchange *x)
{
	if (x->route->ignored || x->route->hit.n == 0)
		return exchange_missing(x);
	checksum_take(x);
	hops_pass_on(x);
	take_build_id(x);
	return x->route->what == ROUTE_MADE ? begin_made(x) : fetch_files(x, STEP_ANSWER);
}

enum MHD_Result file_handle(struct exchange *x)
{
	enum MHD_Result result;

	if (x->step < STEP_INPUT)
		return begin(x);
	if (x->step == STEP_INPUT)
		return make_of_input(x);
	if (make_missing(x, &result))
		return result;
	/* A file that cannot be made is missing, as it is without the attempt. */
	if (x->made && x->answer.r < 0 && x->answer.r != -EINTR)
		x->answer.r = -ENOENT;
	return file_reply(x);
}
