/* What all uploads of a server share: their routes and threads, and the bounds that a request meets before its
 * body is read. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "conf/conf.h"
#include "http/upload/upload-begun.h"
#include "intake/upload/assemble.h"

#include <stdio.h>
#include <string.h>

#define SWEEP_EVERY_MS 600000 /* between looks whether chunks are to be swept */

static void chunks_job(void *ctx)
{
	struct http *h = ctx;

	if (!atomic_load(&h->stopping))
		upload_sweep_chunks(h, getenv("SYMFS_TEST_SWEEP") != NULL);
	atomic_store(&h->uploads->sweeping, false);
}

/* For the tests, SYMFS_TEST_SWEEP (milliseconds) takes the place of the intervals. */
static bool sweep(struct uploads *u, struct http *h)
{
	uint64_t now = clock_ms(), every = (uint64_t)clock_limit("SYMFS_TEST_SWEEP", SWEEP_EVERY_MS);

	if ((!u->swept || now - u->swept >= every) && !atomic_exchange(&u->sweeping, true)) {
		u->swept = now;
		if (workers_post(u->judges, chunks_job, h) < 0)
			atomic_store(&u->sweeping, false);
	}
	return begun_sweep(u, false) || every != SWEEP_EVERY_MS;
}

int uploads_new(struct uploads **out)
{
	struct uploads *u = calloc(1, sizeof(*u));
	int r = u ? workers_new(&u->writers, UPLOAD_WRITERS) : -ENOMEM;

	if (u) {
		pthread_mutex_init(&u->lock, NULL);
		pthread_mutex_init(&u->slots_lock, NULL);
		pthread_mutex_init(&u->begun_lock, NULL);
	}
	if (r == 0)
		r = workers_new(&u->judges, UPLOAD_JUDGES);
	if (r == 0 && !(u->begun = calloc(BEGUN_MOST, sizeof(*u->begun))))
		r = -ENOMEM;
	if (r < 0) {
		uploads_free(u);
		return r;
	}
	u->sweep = sweep;
	*out = u;
	return 0;
}

void uploads_free(struct uploads *u)
{
	if (!u)
		return;
	if (u->writers)
		workers_free(u->writers);
	if (u->judges)
		workers_free(u->judges);
	if (u->begun)
		begun_sweep(u, true);
	free(u->begun);
	pthread_mutex_destroy(&u->lock);
	pthread_mutex_destroy(&u->slots_lock);
	pthread_mutex_destroy(&u->begun_lock);
	free(u);
}

/* ---- the head ------------------------------------------------------------------------- */

static const struct upload_ops *find_ops(struct exchange *x)
{
	static const struct upload_ops *const kinds[] = {
		upload_put, upload_tecken, upload_tecken2, upload_sym, upload_sentry, upload_minidump};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		for (const struct upload_ops *o = kinds[i]; o->what != ROUTE_NONE; o++)
			if (o->what == x->route->what && (!o->takes || o->takes(x)))
				return o;
	return NULL;
}

int upload_begin(struct exchange *x)
{
	const struct upload_ops *ops = find_ops(x);
	struct upload *u = ops ? calloc(1, sizeof(*u)) : NULL;

	if (!u)
		return 503;
	u->ops = ops;
	u->file_most = u->ops->file_most ? u->ops->file_most : x->h->opts.upload_most;
	u->most = u->ops->body == UPLOAD_TEXT ? x->h->body_most : u->ops->most;
	u->most = u->most ? u->most : x->h->opts.upload_most;
	x->upload = u;
	x->upload_free = upload_free;
	return 0;
}

int upload_judge(struct exchange *x)
{
	const char *length = exchange_header(x, "Content-Length");
	struct upload *u = x->upload;
	struct store_hold hold;
	struct err e = {0};
	int status = x->route->what == ROUTE_SYM_BYTES ? begun_admit(x) : 0;

	if (status)
		return status;
	status = u->ops->answers ? 0 : exchange_hold(x, false, &hold, &e);
	if (status)
		return upload_refuse(x, status, "%s", e.text);
	status = x->route->what == ROUTE_PUT || x->route->what == ROUTE_DELETE ? file_condition(x) : 0;
	if (status)
		return upload_refuse(x, status, "Precondition Failed: this server has another version, or none");
	/* A part of a file would be stored as the whole file (RFC 9110, 14.4). */
	if (exchange_header(x, "Content-Range") && !u->ops->ranges)
		return upload_refuse(x, 400, "a file must be uploaded as a whole, without Content-Range");
	if (length && strtoull(length, NULL, 10) > u->most)
		return upload_refuse(x, 413, "the upload is larger than %llu bytes, the limit of this server",
			(unsigned long long)u->most);
	/* The client learns before it sends the body that there is no slot for it. */
	status = u->ops->body == UPLOAD_TEXT ? 0 : upload_slot_check(x);
	return status || !u->ops->admit ? status : u->ops->admit(x);
}

