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
#include "bucket/pages.h"
#include "bucket/private.h"
#include "source/bucket-key.h"
#include "source/s3.h"
#include "config.h"

#include <stdio.h>
#include <string.h>

#define COPY_MOST (5ull << 30) /* bytes that one request can copy */

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

/* ---- one file ------------------------------------------------------------------------- */

/* Whether a key refers to the file now. 1, 0, -errno. */
static int is_referred(struct caller *c, const char *sha256)
{
	char what[SHA256_TEXT + 4];

	snprintf(what, sizeof(what), "r/%s/", sha256);
	return listing_any(c, what);
}

static int copy_object(struct caller *c, const char *from, const char *to)
{
	_cleanup_buf_ struct buf line = BUF_UP_TO(8192);
	struct call call = {.method = "PUT", .name = to, .text = ""};
	int r;

	buf_addf(&line, "x-amz-copy-source: /%s", ((const struct s3_opts *)c->source->own)->bucket);
	s3_prefix(c->source, &line);
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

static int remove_file(struct clearing *cl, const struct page_item *it)
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
	const struct page_item *it;
	int r = listing_open(&l, &cl->caller, "t/");

	while (r == 0 && (r = listing_next(&l, &it)) == 0 && it) {
		r = settle_aside(&cl->caller, it->sha256);
		cl->out->saved += r == 1;
		r = MIN(r, 0);
	}
	return r;
}

/* A server that is killed while it starts leaves the object by which it tests conditions. */
static int clear_probes(struct clearing *cl)
{
	_cleanup_listing_ struct listing l = {0};
	char name[BUCKET_NAME];
	const struct page_item *it;
	int r = listing_open(&l, &cl->caller, PROBES);

	l.probes = true;
	while (r == 0 && (r = listing_next(&l, &it)) == 0 && it) {
		if (it->modified > l.now - cl->grace)
			continue;
		snprintf(name, sizeof(name), PROBES "%.32s", it->sha256);
		cl->out->probes++;
		r = cl->dry_run ? 0 : call_delete(&cl->caller, name);
	}
	return r;
}

/* Whether an error says something about one object, not about the store. */
static bool is_of_object(int r)
{
	return r == -EACCES || r == -EAGAIN || r == -EBADMSG || r == -EEXIST || r == -EINVAL || r == -EREMOTEIO;
}

/* Removals of keys that were broken off, by servers that did not come back. One that cannot be ended holds up neither
 * the others nor the rest. */
static int clear_marks(struct clearing *cl)
{
	_cleanup_listing_ struct listing l = {0};
	const struct page_item *it;
	int r = listing_open(&l, &cl->caller, BUCKET_MARK);

	while (r == 0 && (r = listing_next(&l, &it)) == 0 && it) {
		if (!it->second[0] || it->modified > l.now - MAX(cl->grace, (int64_t)REMOVAL_BROKEN) || cl->dry_run)
			continue;
		r = removal_settle(&cl->caller, it->sha256, it->second);
		if (is_of_object(r)) {
			log_warn(BUCKET_MARK "%s/%s: the removal of this key cannot be ended: %s; the mark stays",
				it->sha256, it->second, call_text(r));
			cl->out->stuck++;
			r = 0;
		}
	}
	return r;
}

/* ---- all files ------------------------------------------------------------------------- */

static int judge_file(struct clearing *cl, const struct page_item *it, int64_t now)
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

/* Objects that belong to a file: marks m/ of what was made of it, or its end e/. */
struct belongings {
	struct listing listing;
	const struct page_item *at;
};

static int clear_one(struct clearing *cl, const struct belongings *b)
{
	char name[BUCKET_NAME];

	cl->out->made += b->at->second[0] != '\0';
	if (cl->dry_run)
		return 0;
	return b->at->second[0] ? end_made(&cl->caller, b->at->sha256, b->at->second)
				: call_delete(&cl->caller, bucket_end_name(b->at->sha256, name));
}

/* Removes what belongs to files that the bucket no longer has. `below`: only to digests before this one; NULL: all
 * that is left. Such objects can be older than the bytes, so young ones stay. */
static int clear_belongings(struct clearing *cl, struct belongings *b, const char *below)
{
	int r = 0;

	while (r == 0 && b->at && (!below || strcmp(b->at->sha256, below) < 0)) {
		if (b->at->modified <= b->listing.now - cl->grace)
			r = clear_one(cl, b);
		if (r == 0)
			r = listing_next(&b->listing, &b->at);
	}
	while (r == 0 && below && b->at && strcmp(b->at->sha256, below) == 0)
		r = listing_next(&b->listing, &b->at);
	return r;
}

static int open_belongings(struct clearing *cl, struct belongings *b, const char *what)
{
	int r = listing_open(&b->listing, &cl->caller, what);

	return r == 0 ? listing_next(&b->listing, &b->at) : r;
}

/* The listings are in the order of digests. */
static int merge_listings(struct clearing *cl, struct listing *files, struct belongings *refs,
	struct belongings *made, struct belongings *ends)
{
	const struct page_item *file = NULL;
	int r = 0;

	while (r == 0 && (r = listing_next(files, &file)) == 0 && file) {
		cl->out->files++;
		cl->out->bytes += file->size;
		while (r == 0 && refs->at && strcmp(refs->at->sha256, file->sha256) < 0) {
			cl->out->references++;
			r = listing_next(&refs->listing, &refs->at);
		}
		if (r == 0)
			r = clear_belongings(cl, made, file->sha256);
		if (r == 0)
			r = clear_belongings(cl, ends, file->sha256);
		if (r == 0 && (!refs->at || strcmp(refs->at->sha256, file->sha256) != 0))
			r = judge_file(cl, file, files->now);
	}
	while (r == 0 && refs->at) {
		cl->out->references++;
		r = listing_next(&refs->listing, &refs->at);
	}
	if (r == 0)
		r = clear_belongings(cl, made, NULL);
	return r == 0 ? clear_belongings(cl, ends, NULL) : r;
}

static int clear_files(struct clearing *cl)
{
	struct belongings refs = {.at = NULL}, made = {.at = NULL}, ends = {.at = NULL};
	_cleanup_listing_ struct listing files = {0};
	int r = listing_open(&files, &cl->caller, "b/");

	if (r == 0)
		r = open_belongings(cl, &refs, "r/");
	if (r == 0)
		r = open_belongings(cl, &made, BUCKET_MADE);
	if (r == 0)
		r = open_belongings(cl, &ends, BUCKET_END);
	if (r == 0)
		r = merge_listings(cl, &files, &refs, &made, &ends);
	listing_close(&refs.listing);
	listing_close(&made.listing);
	listing_close(&ends.listing);
	return r;
}

int bucket_clear(struct sources *so, bool dry_run, int64_t grace,
	void (*each)(void *ctx, const char *sha256, uint64_t size), void *ctx, struct cleared *out, struct err *e)
{
	struct net_opts no = {.user_agent = PACKAGE_NAME "/" PACKAGE_VERSION};
	struct clearing cl = {.out = out, .e = e, .dry_run = dry_run, .grace = grace, .each = each, .ctx = ctx};
	int r;

	memset(out, 0, sizeof(*out));
	cl.caller.sources = so;
	cl.caller.source = bucket_find(so);
	cl.caller.stop = &cl.stop;
	pthread_rwlock_init(&cl.caller.lock, NULL);
	r = net_start(&cl.caller.net, &no, e);
	if (r == 0) {
		r = dry_run ? 0 : clear_aside(&cl);
		if (r == 0)
			r = clear_marks(&cl);
		if (r == 0)
			r = clear_files(&cl);
		if (r == 0)
			r = clear_probes(&cl);
		if (r < 0)
			err_set(e, r, "%s: %s", cl.caller.source->shown, call_text(r));
		net_stop(cl.caller.net);
	}
	out->requests = atomic_load(&cl.caller.requests);
	pthread_rwlock_destroy(&cl.caller.lock);
	return r;
}
