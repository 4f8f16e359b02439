/* Gives the files of uploads to the intake, which identifies and stores them, and collects its results for the
 * answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/upload-intake.h"
#include "base/clock.h"
#include "base/util.h"
#include "bucket/bucket.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKET_WAIT_MS 60000
#define BUCKET_LOOK_MS 500 /* between checks whether the server stops */

/* The keys of the stored parts. */
struct stored {
	char **list;
	size_t n;
	bool lacks; /* a key is not in the list: there was no memory */
};

struct watching {
	struct exchange *x;
	struct stored stored;
	bool waits; /* for the bucket */
	struct upload_outcome *out;
	intake_report_fn *each;
	void *ctx;
};

static void keep_key(struct stored *s, const struct key *k)
{
	char **more = realloc(s->list, (s->n + 1) * sizeof(*more)), room[KEY_TEXT];
	char *text = strdup(key_text(k, room));

	if (more)
		s->list = more;
	if (more && text)
		more[s->n++] = take(text);
	else
		s->lacks = true;
	free(text);
}

static void note(void *ctx, const struct intake_report *r)
{
	struct watching *w = ctx;
	struct upload_outcome *out = w->out;

	out->added += r->what == INTAKE_ADDED || r->what == INTAKE_IMPROVED;
	out->present += r->what == INTAKE_PRESENT;
	out->differs |= r->what == INTAKE_PRESENT && r->differs;
	if (r->what == INTAKE_REFUSED && out->refused++ == 0) {
		out->error = r->error;
		snprintf(out->why, sizeof(out->why), "%s: %s", r->shown, r->why);
	}
	audit_write(w->x, r->what == INTAKE_REFUSED ? "refused" : r->what == INTAKE_PRESENT ? "present" : "upload",
		r->shown, r->what == INTAKE_REFUSED ? NULL : &r->key, r->what == INTAKE_REFUSED ? r->why : NULL);
	if (r->what != INTAKE_REFUSED && w->waits)
		keep_key(&w->stored, &r->key);
	if (w->each)
		w->each(w->ctx, r);
}

/* An upload succeeds when the team's bucket has its files. After a 503 they are still stored here and queued, so a
 * client that tries again waits only for the files that the bucket still lacks. */
static int wait_for_bucket(struct exchange *x, const struct stored *s)
{
	const char *wait_ms = getenv("SYMFS_TEST_BUCKET_WAIT"); /* milliseconds, for the tests */
	uint64_t until = clock_ms() + (wait_ms ? strtoull(wait_ms, NULL, 10) : BUCKET_WAIT_MS);

	if (s->lacks)
		return upload_refuse_errno(x, -ENOMEM, NULL);
	for (size_t i = 0; i < s->n; i++) {
		struct key k;
		int r = key_parse(&k, s->list[i]) == 0 ? -ETIMEDOUT : -EINVAL;

		while (r == -ETIMEDOUT && clock_ms() < until && !atomic_load(&x->h->stopping))
			r = bucket_wait(x->space->bucket, &k, BUCKET_LOOK_MS);
		if (r < 0)
			return upload_refuse(x, 503, "the file is stored on this server, but the bucket does not have it "
				"yet; try again later");
	}
	return 0;
}

static void stored_release(struct stored *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->list[i]);
	free(s->list);
}

void upload_forget_unknown(struct http *h, struct space *s)
{
	LOCK_SCOPE(&h->lock);

	memset(s->unknown, 0, sizeof(s->unknown));
}

int upload_store_file(struct exchange *x, struct upload_file *f, struct intake_item *it,
	struct upload_outcome *out, intake_report_fn *each, void *ctx)
{
	_cleanup_intake_ struct intake *in = NULL;
	struct intake_opts opts = {.store = x->space->store, .source = "upload", .max_file_size = x->h->upload_most,
		.allow_unsandboxed = x->h->allow_unsandboxed, .stop = &x->h->stopping};
	struct watching w = {.x = x, .out = out, .each = each, .ctx = ctx,
		.waits = x->space->bucket != NULL};
	_cleanup_close_ int fd = fcntl(f->draft ? draft_fd(f->draft) : f->fd, F_DUPFD_CLOEXEC, 0);
	char from[ROUTE_PATH_MAX + LISTEN_TEXT];
	struct err e = {0};
	int r = fd < 0 ? -errno : intake_new(&in, &opts);

	memset(out, 0, sizeof(*out));
	if (r < 0)
		return upload_refuse_errno(x, r, NULL);
	/* Without the query, which can have a token, and without the key of an upload. */
	snprintf(from, sizeof(from), "%s/%s", x->h->where,
		x->route->what == ROUTE_SYM_COMPLETE ? "v1/uploads/-:complete" : x->route->path);
	r = exchange_hold(x, x->upload->try, &it->hold, &e);
	if (r)
		return upload_refuse(x, r, "%s", e.text);
	it->fd = fd;
	it->size = f->draft ? draft_size(f->draft) : f->size;
	it->draft = &f->draft;
	it->from = from;
	r = intake_take(in, it, note, &w);
	if (out->added)
		upload_forget_unknown(x->h, x->space);
	if (r < 0)
		r = upload_refuse_errno(x, r, out->why);
	else if (w.waits)
		r = wait_for_bucket(x, &w.stored);
	stored_release(&w.stored);
	return r;
}
