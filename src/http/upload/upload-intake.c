/* Gives the files of uploads to the intake, which identifies and stores them, and collects its results for the
 * answer. Keeps the assembly of each namespace, which does the same for files of chunks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/upload/upload-intake.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "intake/upload/assemble.h"
#include "intake/upload/wait-list.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUCKET_WAIT_MS 60000

struct watching {
	struct exchange *x;
	struct wait_list stored;
	bool waits; /* for the bucket */
	struct upload_outcome *out;
	intake_report_fn *each;
	void *ctx;
};

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
		wait_list_add_all(&w->stored, w->x->space->store, r);
	if (w->each)
		w->each(w->ctx, r);
}

int upload_refuse_file(struct exchange *x, const struct upload_outcome *out, int status)
{
	return upload_refuse(x, out->error == -EFBIG || out->error == -E2BIG ? 413 : status, "%s", out->why);
}

unsigned upload_bucket_ms(unsigned ms)
{
	return (unsigned)clock_limit("SYMFS_TEST_BUCKET_WAIT", ms);
}

/* An upload succeeds when the team's bucket has its files. After a 503 they are still stored here and queued, so a
 * client that tries again waits only for the files that the bucket still lacks. */
static int wait_for_bucket(struct exchange *x, const struct wait_list *l)
{
	int r = wait_list_run(l, x->space->bucket, upload_bucket_ms(BUCKET_WAIT_MS), &x->h->stopping);

	if (l->error)
		return upload_refuse_errno(x, r, NULL);
	return r == 0 ? 0 : upload_refuse(x, 503, "the file is stored on this server, but the bucket does not have "
		"it yet; try again later");
}

/* A file was stored: code ids that no server knew may be known now. */
static void forget_unknown(struct http *h, struct space *s)
{
	LOCK_SCOPE(&h->lock);

	memset(s->unknown, 0, sizeof(s->unknown));
}

int upload_store_file(struct exchange *x, struct upload_file *f, struct intake_item *it,
	struct upload_outcome *out, intake_report_fn *each, void *ctx)
{
	struct intake_opts opts = {.store = x->space->store, .source = "upload", .stop = &x->h->stopping,
		.max_file_size = x->h->opts.upload_most, .allow_unsandboxed = x->h->opts.allow_unsandboxed};
	struct watching w = {.x = x, .out = out, .each = each, .ctx = ctx,
		.waits = x->space->bucket != NULL};
	_cleanup_close_ int fd = fcntl(f->draft ? draft_fd(f->draft) : f->fd, F_DUPFD_CLOEXEC, 0);
	char from[ROUTE_PATH_MAX + LISTEN_TEXT];
	struct err e = {0};
	int r;

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return upload_refuse_errno(x, -errno, NULL);
	/* Without the query, which can have a token, and without the key of an upload. */
	snprintf(from, sizeof(from), "%s/%s", x->h->where, x->route->what == ROUTE_SYM_BYTES ? "upload/v2/"
		: x->route->what == ROUTE_SYM_COMPLETE ? "v1/uploads/-:complete" : x->route->path);
	r = exchange_hold(x, x->upload->try, &it->hold, &e);
	if (r)
		return upload_refuse(x, r, "%s", e.text);
	it->fd = fd;
	it->size = f->draft ? draft_size(f->draft) : f->size;
	it->draft = &f->draft;
	it->from = from;
	r = intake_take(&opts, it, note, &w);
	if (out->added)
		forget_unknown(x->h, x->space);
	if (f->keep && !f->draft && f->fd < 0) {
		f->fd = take_fd(&fd);
		f->size = it->size;
	}
	if (r < 0)
		r = upload_refuse_errno(x, r, out->why);
	else if (w.waits)
		r = wait_for_bucket(x, &w.stored);
	wait_list_release(&w.stored);
	return r;
}

/* ---- the files that a namespace assembles of chunks ------------------------------------- */

/* A file was stored or refused. The request that began it has usually ended. */
static void on_end(void *ctx, const struct assembly_event *ev)
{
	struct space *s = ctx;
	char hex[SHA1_TEXT], key[KEY_TEXT];

	if (ev->key)
		forget_unknown(s->http, s);
	audit_add(s->http, s, &(struct audit_line){.event = !ev->key ? "refused"
			: strcmp(ev->what, "present") == 0	  ? "present"
								  : "upload",
		.user = ev->user,
		.space = s->name,
		.peer = ev->peer[0] ? ev->peer : NULL,
		.target = ev->project,
		.file = ev->name,
		.key = ev->key,
		.why = ev->key ? NULL : ev->detail});
	log_debug(LOG_HTTP, "%s: %s uploads %s (%s): %s%s%s", ev->project, ev->user, ev->name,
		sha1_text(ev->sha1, hex), ev->what, ev->key ? ", " : ": ",
		ev->key ? key_text(ev->key, key) : ev->detail);
}

/* Makes the assembly of a namespace, when it is first needed. 0, -errno. */
static int open_assembly(struct http *h, struct space *s, struct err *e)
{
	struct assembly_opts o = {.store = s->store, .file_most = h->opts.upload_most, .done = on_end, .ctx = s,
		.allow_unsandboxed = h->opts.allow_unsandboxed, .bucket = s->bucket};
	LOCK_SCOPE(&h->uploads->lock);

	s->http = h;
	return s->assembly ? 0 : assembly_new(&s->assembly, &o, e);
}

struct assembly *upload_assembly(struct exchange *x)
{
	struct err e = {0};
	int r = open_assembly(x->h, x->space, &e);

	if (r < 0)
		upload_refuse_errno(x, r, e.text);
	return r < 0 ? NULL : x->space->assembly;
}

/* On a worker. A space that has had no upload since the server was started can have chunks, too. The walk needs no
 * spaces_lock: `next` is atomic and set once, and no space is freed before uploads_free() has ended the workers. */
void upload_sweep_chunks(struct http *h, bool now)
{
	char path[PATH_MAX];
	struct err e = {0};

	for (struct space *s = h->public; s; s = s->next) {
		if (snprintf(path, sizeof(path), "%s/uploads", store_dir(s->store)) < (int)sizeof(path) &&
			access(path, F_OK) == 0 && open_assembly(h, s, &e) == 0) {
			if (now)
				chunks_sweep(assembly_chunks(s->assembly), clock_wall());
			else
				chunks_sweep_sometimes(assembly_chunks(s->assembly));
		}
	}
}
