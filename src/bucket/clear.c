/* Removes bytes from a team's bucket that no key refers to any more.
 *
 * A server may refer to old bytes in the moment in which they are removed. A server writes the reference first, and
 * then looks whether the bytes are there. So a file is moved aside (t/SHA256), and the references are listed once
 * more: either the new reference is in the list, and the file is put back, or that server finds no bytes and uploads
 * them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bucket/clear.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "bucket/bucket.h"
#include "bucket/list.h"
#include "bucket/private.h"
#include "source/bucket-key.h"
#include "source/s3.h"
#include "config.h"

#include <stdio.h>
#include <string.h>

#define PAGE 1000
#define COPY_MOST (5ull << 30) /* bytes that one request can copy */

/* One object of a listing, without the prefix and "b/", "r/" or "t/". */
struct item {
	char sha256[SHA256_TEXT];
	uint64_t size;
	int64_t modified;
};

struct listing {
	struct caller *c;
	const char *what;   /* "b/" */
	unsigned page;	    /* objects in one answer */
	struct item *items; /* room for PAGE */
	unsigned n, at;
	char token[LIST_NAME];
	bool over;
	int64_t now; /* the store's clock, at the last answer */
};

struct clearing {
	struct caller caller;
	struct cleared *out;
	struct err *e;
	bool dry_run;
	int64_t grace;
	atomic_bool stop;
	void (*each)(void *ctx, const char *sha256, uint64_t size);
	void *ctx;
};

/* ---- listings ------------------------------------------------------------------------ */

static int add_encoded(struct buf *out, const char *text)
{
	int r = 0;

	for (; r == 0 && *text; text++)
		r = strchr("/+=&%: ", *text) || (unsigned char)*text < 0x21 || (unsigned char)*text > 0x7e ||
				strchr("\"#<>?@[]\\^`{|}!$'()*,;", *text)
			? buf_addf(out, "%%%02X", (unsigned char)*text)
			: buf_add(out, text, 1);
	return r;
}

/* The prefix is encoded as a path already; as a value, its slashes are encoded, too. */
static int add_prefix(const struct caller *c, const char *what, struct buf *out)
{
	_cleanup_buf_ struct buf prefix = BUF_UP_TO(4096);
	int r = s3_prefix(c->source, &prefix);
	const char *p = buf_text(&prefix);

	if (r == 0 && *p == '/')
		p++;
	for (; r == 0 && *p; p++)
		r = *p == '/' ? buf_adds(out, "%2F") : buf_add(out, p, 1);
	if (r == 0 && prefix.n)
		r = buf_adds(out, "%2F");
	return r == 0 ? add_encoded(out, what) : r;
}

static bool is_digest(const char *text)
{
	return strspn(text, "0123456789abcdef") >= SHA256_TEXT - 1;
}

static int listing_add(void *ctx, const struct list_entry *e)
{
	struct listing *l = ctx;
	const char *at = NULL;
	struct item *it;

	/* The bucket's prefix may contain "b/", too. The last one counts, because only digests follow it. */
	for (const char *p = e->name; (p = strstr(p, l->what)); p++)
		at = p;
	if (!at || l->n == PAGE)
		return at ? -EBADMSG : 0;
	at += strlen(l->what);
	if (!is_digest(at) || (at[64] && (at[64] != '/' || !is_digest(at + 65))))
		return 0; /* no object of symfs */
	it = &l->items[l->n++];
	snprintf(it->sha256, sizeof(it->sha256), "%.64s", at);
	it->size = e->size;
	it->modified = e->modified;
	return 0;
}

static int listing_page(struct listing *l)
{
	_cleanup_buf_ struct buf query = BUF_UP_TO(8192), answer = BUF_UP_TO(LIST_MOST);
	struct call call = {.answer = &answer};
	int r = 0;

	if (l->token[0]) {
		r = buf_adds(&query, "continuation-token=");
		if (r == 0)
			r = add_encoded(&query, l->token);
		if (r == 0)
			r = buf_adds(&query, "&");
	}
	if (r == 0)
		r = buf_addf(&query, "list-type=2&max-keys=%u&prefix=", l->page);
	if (r == 0)
		r = add_prefix(l->c, l->what, &query);
	if (r < 0)
		return r;
	call.query = buf_text(&query);
	l->n = l->at = 0;
	r = call_run(l->c, &call);
	l->now = call.reply.date > 0 ? call.reply.date : clock_wall();
	if (r == 0)
		r = list_parse(buf_text(&answer), answer.n, listing_add, l, l->token);
	l->over = !l->token[0];
	return r;
}

/* The next object; NULL: no more. 0, -errno. */
static int listing_next(struct listing *l, const struct item **out)
{
	int r = 0;

	while (r == 0 && l->at == l->n && !l->over)
		r = listing_page(l);
	*out = r == 0 && l->at < l->n ? &l->items[l->at++] : NULL;
	return r;
}

static int listing_open(struct listing *l, struct caller *c, const char *what)
{
	*l = (struct listing){.c = c, .what = what, .page = PAGE, .items = calloc(PAGE, sizeof(*l->items))};
	return l->items ? 0 : -ENOMEM;
}

static void listing_close(struct listing *l)
{
	free(l->items);
}
#define _cleanup_listing_ _cleanup_(listing_close)

/* ---- one file ------------------------------------------------------------------------- */

/* Whether a key refers to the file now. 1, 0, -errno. The answer is 0 only after the last page: a page can be empty, or
 * begin with an object that symfs did not write, and references can still follow. */
static int is_referred(struct caller *c, const char *sha256)
{
	_cleanup_listing_ struct listing l = {0};
	const struct item *ref = NULL;
	char what[SHA256_TEXT + 4];
	int r;

	snprintf(what, sizeof(what), "r/%s/", sha256);
	r = listing_open(&l, c, what);
	l.page = 1;
	if (r == 0)
		r = listing_next(&l, &ref);
	return r < 0 ? r : ref != NULL;
}

static int copy_object(struct caller *c, const char *from, const char *to)
{
	_cleanup_buf_ struct buf line = BUF_UP_TO(8192);
	struct call call = {.method = "PUT", .name = to, .text = ""};
	int r = buf_addf(&line, "x-amz-copy-source: /%s", ((const struct s3_opts *)c->source->own)->bucket);

	if (r == 0)
		r = s3_prefix(c->source, &line);
	if (r == 0)
		r = buf_addf(&line, "/%s", from);
	call.header = buf_text(&line);
	return r == 0 ? call_run(c, &call) : r;
}

/* Decides about a file that was moved aside. 1: it was put back; 0: it is gone. */
static int settle_aside(struct caller *c, const char *sha256)
{
	char aside[BUCKET_NAME], name[BUCKET_NAME];
	struct call head = {.method = "HEAD", .name = bucket_blob_name(sha256, name)};
	int referred = is_referred(c, sha256), r = MIN(referred, 0);

	snprintf(aside, sizeof(aside), "t/%.64s", sha256);
	if (referred > 0) {
		r = call_run(c, &head);
		if (r == -ENOENT)
			r = copy_object(c, aside, name);
	}
	if (r == 0)
		r = call_delete(c, aside);
	return r < 0 ? r : referred;
}

static int remove_file(struct clearing *cl, const struct item *it)
{
	struct caller *c = &cl->caller;
	char aside[BUCKET_NAME], name[BUCKET_NAME];
	int r = is_referred(c, it->sha256);

	if (r != 0 || it->size > COPY_MOST)
		return MIN(r, 0);
	snprintf(aside, sizeof(aside), "t/%.64s", it->sha256);
	r = copy_object(c, bucket_blob_name(it->sha256, name), aside);
	if (r == 0)
		r = call_delete(c, name);
	if (r == 0)
		r = settle_aside(c, it->sha256);
	if (r < 0)
		return r == -ENOENT ? 0 : r; /* another run of this command was faster */
	cl->out->saved += r == 1;
	cl->out->removed += r == 0;
	cl->out->removed_bytes += r == 0 ? it->size : 0;
	if (r == 0 && cl->each)
		cl->each(cl->ctx, it->sha256, it->size);
	return 0;
}

/* Files that an earlier run moved aside before it was ended. */
static int clear_aside(struct clearing *cl)
{
	_cleanup_listing_ struct listing l = {0};
	const struct item *it;
	int r = listing_open(&l, &cl->caller, "t/");

	while (r == 0 && (r = listing_next(&l, &it)) == 0 && it) {
		r = settle_aside(&cl->caller, it->sha256);
		cl->out->saved += r == 1;
		r = MIN(r, 0);
	}
	return r;
}

/* ---- all files ------------------------------------------------------------------------- */

static int judge_file(struct clearing *cl, const struct item *it, int64_t now)
{
	if (it->modified > now - cl->grace) {
		cl->out->young++;
		return 0;
	}
	if (!cl->dry_run)
		return remove_file(cl, it);
	cl->out->removed++;
	cl->out->removed_bytes += it->size;
	if (cl->each)
		cl->each(cl->ctx, it->sha256, it->size);
	return 0;
}

/* Both listings are in the order of digests. */
static int clear_files(struct clearing *cl)
{
	_cleanup_listing_ struct listing files = {0}, refs = {0};
	const struct item *file = NULL, *ref = NULL;
	int r = listing_open(&files, &cl->caller, "b/");

	if (r == 0)
		r = listing_open(&refs, &cl->caller, "r/");
	if (r == 0)
		r = listing_next(&refs, &ref);
	while (r == 0 && (r = listing_next(&files, &file)) == 0 && file) {
		cl->out->files++;
		cl->out->bytes += file->size;
		while (r == 0 && ref && strcmp(ref->sha256, file->sha256) < 0) {
			cl->out->references++;
			r = listing_next(&refs, &ref);
		}
		if (r == 0 && (!ref || strcmp(ref->sha256, file->sha256) != 0))
			r = judge_file(cl, file, files.now);
	}
	while (r == 0 && ref) {
		cl->out->references++;
		r = listing_next(&refs, &ref);
	}
	return r;
}

int bucket_clear(struct sources *so, bool dry_run, int64_t grace, void (*each)(void *ctx, const char *sha256, uint64_t size),
	void *ctx, struct cleared *out, struct err *e)
{
	struct net_opts no = {.user_agent = PACKAGE_NAME "/" PACKAGE_VERSION};
	struct clearing cl = {.out = out, .e = e, .dry_run = dry_run, .grace = grace, .each = each, .ctx = ctx};
	int r;

	memset(out, 0, sizeof(*out));
	if (!bucket_is_writable(so))
		return err_set(e, -ENOENT, "there is no [bucket] in the configuration that may be written");
	cl.caller.sources = so;
	cl.caller.source = bucket_find(so);
	cl.caller.stop = &cl.stop;
	pthread_rwlock_init(&cl.caller.lock, NULL);
	r = net_start(&cl.caller.net, &no, e);
	if (r == 0) {
		r = dry_run ? 0 : clear_aside(&cl);
		if (r == 0)
			r = clear_files(&cl);
		if (r < 0)
			err_set(e, r, "%s: %s", cl.caller.source->shown, err_text(r));
		net_stop(cl.caller.net);
	}
	out->requests = atomic_load(&cl.caller.requests);
	pthread_rwlock_destroy(&cl.caller.lock);
	return r;
}
