/* Opens the sparse file of a download, and reads from the bytes that are here what the file is. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/job.h"

#include <fcntl.h>
#include <stdio.h>

/* ---- files with holes ---------------------------------------------------------------- */

static bool has_bytes(const void *ctx, uint64_t off, uint64_t n)
{
	return sparse_has(ctx, off, n);
}

/* What its first bytes, and those that they lead to, say of it. */
static void probe_run(struct work *w)
{
	struct probed *p = &w->probed;
	enum filetype t = w->fl->own.type;
	struct view v = view_of_holes(sparse_fd(w->sparse), sparse_size(w->sparse), has_bytes, w->sparse);
	struct obj_slice slice;
	struct err e = {0};

	p->r = obj_check(&v, &w->fl->own, &slice, &e);
	if (p->r == -EBADMSG && is_other(w, &v, NULL))
		p->r = -ENOENT;
	if (p->r == 1)
		learn_early(w->fl->f, &slice, &w->fl->own);
	p->sure = (p->r == 1 && slice.size == sparse_size(w->sparse)) || (p->r == -EAGAIN && obj_promises(&v, &w->fl->own));
	snprintf(p->text, sizeof(p->text), "%.390s", e.text);
	if (p->r >= 0)
		p->sparse = obj_is_sparse(&v, t);
	p->walk.n_tables = 0;
	if (p->sparse == 1)
		obj_walk(&v, &p->walk);
	if (p->sparse == 1 && p->wants_heads)
		p->n_heads = obj_heads(&v, p->heads, HEADS_MOST);
	p->want_off = v.want_off;
	p->want_len = v.want_len;
}

/* -EBUSY: a process that just let go of it has not yet written what it has. */
static void sparse_run(struct work *w)
{
	_cleanup_free_ char *p = malloc(EARLY_BYTES);
	struct err e = {0};
	ssize_t n = p ? pread(w->fd, p, EARLY_BYTES, 0) : -1;

	w->r = n > 0 ? sparse_open(w->fl->f->store, &w->fl->own, &w->validator, w->facts.url, &w->sparse, &e)
		     : -EIO;
	w->fresh = w->r == 0 && sparse_present(w->sparse) == 0;
	if (w->r == 0)
		w->r = sparse_write(w->sparse, 0, p, (size_t)n);
	snprintf(w->text, sizeof(w->text), "%.390s", e.text[0] ? e.text : err_text(w->r));
	if (w->r == 0)
		probe_run(w);
}

static void probe_back(struct work *w)
{
	struct flight *fl = w->fl;

	fl->probing = false;
	if (fl->dead || fl->state != FLIGHT_BODY || fl->winner != w->winner || !fl->ranged)
		return;
	if (w->opens)
		ranges_opened(fl, w->r, w->sparse, w->fresh, w->text);
	if (!w->opens || w->r == 0)
		ranges_probed(fl, &w->probed);
}

static void start_probe(struct work *w)
{
	struct flight *fl = w->fl;

	w->winner = fl->winner;
	fl->probing = true;
	if (work_start(w) < 0)
		out_of_memory(fl);
}

void work_sparse(struct flight *fl)
{
	_cleanup_buf_ struct buf url = BUF_UP_TO(8192);
	struct work *w = fl->probing ? NULL : work_new(fl, sparse_run, probe_back);

	if (!w) {
		if (!fl->probing)
			out_of_memory(fl);
		return;
	}
	w->opens = true;
	w->fd = fcntl(draft_fd(fl->draft), F_DUPFD_CLOEXEC, 0);
	w->validator.size = fl->size;
	snprintf(w->validator.source, sizeof(w->validator.source), "%s", fl->winner->source->name);
	snprintf(w->validator.etag, sizeof(w->validator.etag), "%s", fl->first_etag);
	snprintf(w->validator.last_modified, sizeof(w->validator.last_modified), "%s", fl->first_modified);
	url_without_credentials(fl->winner->ask.where, &url);
	snprintf(w->facts.url, sizeof(w->facts.url), "%s", buf_text(&url));
	start_probe(w);
}

void work_probe(struct flight *fl)
{
	struct work *w = fl->probing ? NULL : work_new(fl, probe_run, probe_back);

	if (!w) {
		if (!fl->probing)
			out_of_memory(fl);
		return;
	}
	w->sparse = sparse_ref(fl->sparse);
	if (fl->heads == HEADS_WANTED) {
		w->probed.heads = calloc(HEADS_MOST, sizeof(*w->probed.heads));
		w->probed.wants_heads = w->probed.heads != NULL;
		fl->heads = w->probed.heads ? HEADS_WANTED : HEADS_KNOWN;
	}
	start_probe(w);
}

static void commit_run(struct work *w)
{
	sparse_commit(w->sparse);
}

static void commit_back(struct work *w)
{
	w->fl->committing = false;
}

void work_commit(struct flight *fl)
{
	struct work *w = fl->committing ? NULL : work_new(fl, commit_run, commit_back);

	if (!w)
		return; /* later */
	w->sparse = sparse_ref(fl->sparse);
	fl->committing = work_start(w) == 0;
}
