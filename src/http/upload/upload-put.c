/* PUT /LAYOUT/path: stores a file if it is what the path says. DELETE removes it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "bucket/bucket.h"
#include "http/upload/upload-intake.h"
#include "names/layout/name.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define DELETE_WAIT_MS 10000 /* for the bucket, before the answer is 202 */
#define DELETE_LOOK_MS 500 /* between checks whether the server stops */
#define DELETE_ORDER_MS 5000 /* a later upload is newer than the purge by the store's dates, too: is_newer() */

static const char *what_text(enum intake_what what)
{
	return what == INTAKE_ADDED ? "added" : what == INTAKE_IMPROVED ? "improved" : "present";
}

/* A line for each part: a file can have a slice for each architecture. */
static void list_part(void *ctx, const struct intake_report *r)
{
	struct exchange *x = ctx;
	char room[KEY_TEXT];

	if (r->what != INTAKE_REFUSED)
		buf_addf(&x->reply, "%s %s\n", what_text(r->what), key_text(&r->key, room));
}

static int put_file(struct exchange *x, struct upload_file *f)
{
	const char *slash = strrchr(x->route->path, '/'), *name = slash ? slash + 1 : x->route->path;
	struct intake_item it = {.shown = name,
		.name = name,
		.named = true,
		.claims = x->route->hit.files,
		.n_claims = x->route->hit.n,
		.compare = true};
	struct upload_outcome out;
	int r = upload_store_file(x, f, &it, &out, list_part, x);

	if (r)
		return r;
	if (out.refused)
		return upload_refuse_file(x, &out, 422);
	if (!out.added && out.differs)
		return upload_refuse(x, 409, "%s: another file is stored under this key, and this file is not "
			"better; a DELETE of this path removes that file, with the right purge", name);
	return upload_answer(x, out.added ? 201 : 200, PLAIN);
}

/* Purges the first file of the path that the store has, or, with `b`, that only the bucket has. `found`: its key.
 * -EPERM: `symfs add` has put it here or into the bucket. -EHOSTUNREACH: the bucket does not answer. */
static int purge_first(struct exchange *x, struct bucket *b, struct key *found)
{
	bool added = !x->h->auth || auth_allows(x->token.rights, AUTH_ADDED);
	const struct tree_hit *hit = &x->route->hit;
	char why[AUTH_NAME + 16];
	int r = -ENOENT;
	struct key k;

	snprintf(why, sizeof(why), "purged by %s", x->known ? exchange_user(x) : "a local client");
	for (unsigned i = 0; i < hit->n && r == -ENOENT; i++) {
		if (key_of(&k, &hit->files[i]) < 0)
			continue;
		r = added || b || !x->space->bucket ? 0 : bucket_added(x->space->bucket, &k);
		if (r != 0)
			return r == 1 ? -EPERM : -EHOSTUNREACH;
		*found = b ? k : store_key(x->space->store, &k);
		r = b ? bucket_purge(b, &k, why, found) : store_purge(x->space->store, found, why, added);
		if (r == 0)
			audit_write(x, "purge", NULL, found, NULL);
	}
	return r;
}

/* 0: the bucket has removed the file. -EINPROGRESS: the removal is queued, and spares uploads from now on, whichever
 * server they go to. -EINTR: it is queued, and the server stops. */
static int wait_for_removal(struct exchange *x, const struct key *k)
{
	uint64_t began = clock_ms(), until = began + upload_bucket_ms(DELETE_WAIT_MS);
	const atomic_bool *stop = &x->h->stopping;
	int r;

	do
		r = bucket_wait_end(x->space->bucket, k, DELETE_LOOK_MS);
	while (r == -ETIMEDOUT && clock_ms() < until && !atomic_load(stop));
	while (r != 0 && clock_ms() - began < DELETE_ORDER_MS && !atomic_load(stop)) {
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
		r = bucket_wait_end(x->space->bucket, k, 0);
	}
	return r == 0 ? 0 : clock_ms() - began < DELETE_ORDER_MS ? -EINTR : -EINPROGRESS;
}

/* Removes the file that a GET of the path finds in the store, or else in the bucket. Its tombstones name the
 * token. */
static int delete_done(struct exchange *x)
{
	struct bucket *b = x->space->bucket;
	struct key k;
	int r = purge_first(x, NULL, &k);

	if (r == -ENOENT && b) {
		r = purge_first(x, b, &k);
		r = r < 0 && r != -ENOENT ? -EHOSTUNREACH : r;
	}
	if (r == -EHOSTUNREACH)
		return upload_refuse(x, 503, "the bucket may have the file, and does not answer; try again later");
	if (r == -ENOENT)
		return upload_refuse(x, 404, "Not Found");
	if (r == -EPERM)
		return upload_refuse(x, 403, "symfs add has put this file here, or into the bucket; purging it "
			"needs a token with the right added");
	if (r < 0)
		return upload_refuse_errno(x, r, NULL);
	r = b ? wait_for_removal(x, &k) : 0;
	if (r == 0)
		return upload_answer(x, 204, PLAIN);
	if (r == -EINTR)
		return upload_refuse(x, 503, "removed from this server, which is stopping; its removal from the "
			"bucket is "
			"queued; do not upload the file again within %d seconds", DELETE_ORDER_MS / 1000);
	buf_adds(&x->reply, "removed from this server; its removal from the bucket is queued\n");
	return upload_answer(x, 202, PLAIN);
}

const struct upload_ops upload_put[] = {
	{ROUTE_PUT, .body = UPLOAD_FILE, .file = put_file},
	{ROUTE_DELETE, .body = UPLOAD_TEXT, .done = delete_done},
	{ROUTE_NONE}};
