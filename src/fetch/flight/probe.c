/* Opens the sparse file of a download, identifies it by the bytes present, and syncs it, all on workers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/flight/job.h"

#include <fcntl.h>
#include <stdio.h>

#define FIRST_MOST (CHOOSE_MOST + EARLY_BYTES) /* the transfer of the first bytes ends soon after CHOOSE_MOST */

struct probe_job {
	struct job job;
	struct attempt *winner;
	probed_ready *ready;
	bool opens; /* open the sparse file first, and write the first bytes into it */
	int fd;	    /* the draft that has the first bytes; -1: no draft */
	struct sparse_validator validator;
	char url[2048];
	/* results */
	struct sparse *sparse;
	struct probed probed;
};

static bool has_bytes(const void *ctx, uint64_t off, uint64_t n)
{
	return sparse_has(ctx, off, n);
}

/* Identifies the file, and finds its tables and unit heads, as far as the bytes present allow. */
static void identify(struct probe_job *b)
{
	struct flight *fl = b->job.flight;
	struct probed *p = &b->probed;
	struct view v = view_of_holes(sparse_fd(b->sparse), sparse_size(b->sparse), has_bytes, b->sparse);
	struct obj_slice slice;
	struct err e = {0};

	p->r = obj_check(&v, &fl->own, &slice, &e);
	if (p->r == -EBADMSG && is_other_use(b->winner, &fl->own, &v, NULL))
		p->r = -ENOENT;
	if (p->r == 1) {
		learn_early(fl->f, &slice, &fl->own);
		p->worth = slice.worth;
	}
	p->sure = (p->r == 1 && slice.size == sparse_size(b->sparse)) ||
		(p->r == -EAGAIN && obj_promises(&v, &fl->own));
	snprintf(p->text, sizeof(p->text), "%.390s", e.text);
	if (p->r >= 0)
		p->sparse = obj_is_sparse(&v, fl->own.type);
	p->walk.n_tables = 0;
	if (p->sparse == 1)
		obj_walk(&v, &p->walk);
	if (p->sparse == 1 && p->heads)
		p->n_heads = obj_heads(&v, p->heads, HEADS_MOST);
	p->want_off = v.want_off;
	p->want_len = v.want_len;
}

/* Opens the sparse file, and writes the first bytes into it. Sets `opened` to -EBUSY if another process has the
 * file open. */
static void open_with_first_bytes(struct probe_job *b)
{
	struct store *st = b->job.flight->f->store;
	_cleanup_free_ char *p = malloc(FIRST_MOST);
	struct probed *out = &b->probed;
	struct err e = {0};
	ssize_t n = p ? pread(b->fd, p, FIRST_MOST, 0) : -1;

	out->opened = n > 0 ? sparse_open(st, &b->job.flight->own, &b->validator, b->url, &b->sparse, &e) : -EIO;
	out->fresh = out->opened == 0 && sparse_present(b->sparse) == 0;
	if (out->opened == 0)
		out->opened = sparse_write(b->sparse, 0, p, (size_t)n);
	snprintf(out->text, sizeof(out->text), "%.390s", e.text[0] ? e.text : err_text(out->opened));
}

static void probe_run(struct job *j)
{
	struct probe_job *b = (struct probe_job *)j;

	if (b->opens)
		open_with_first_bytes(b);
	if (b->probed.opened == 0)
		identify(b);
}

static void probe_back(struct job *j)
{
	struct probe_job *b = (struct probe_job *)j;

	b->probed.opens = b->opens;
	b->ready(j->flight, b->winner, b->sparse, &b->probed);
}

static void probe_free(struct job *j)
{
	struct probe_job *b = (struct probe_job *)j;

	if (b->fd >= 0)
		close(b->fd);
	sparse_unref(b->sparse);
	free(b->probed.heads);
	free(b);
}

static const struct job_kind probe_kind = {probe_run, probe_back, probe_free};

/* The job opens the sparse file. */
static void prepare_open(struct probe_job *b, const struct flight *fl)
{
	_cleanup_buf_ struct buf url = BUF_UP_TO(8192);

	b->opens = true;
	b->fd = fcntl(draft_fd(fl->body.draft), F_DUPFD_CLOEXEC, 0);
	b->validator.size = fl->body.size;
	snprintf(b->validator.source, sizeof(b->validator.source), "%s", fl->body.winner->source->name);
	snprintf(b->validator.etag, sizeof(b->validator.etag), "%s", fl->body.version.etag);
	snprintf(b->validator.last_modified, sizeof(b->validator.last_modified), "%s", fl->body.version.modified);
	url_without_credentials(fl->body.winner->ask.where, &url);
	snprintf(b->url, sizeof(b->url), "%s", buf_text(&url));
}

int probe_start(struct flight *fl, uint64_t *heads, probed_ready *ready)
{
	struct probe_job *b = calloc(1, sizeof(*b));

	if (!b) {
		free(heads);
		return -ENOMEM;
	}
	b->winner = fl->body.winner;
	b->ready = ready;
	b->fd = -1;
	b->probed.heads = heads;
	if (fl->body.file)
		b->sparse = sparse_ref(fl->body.file);
	else
		prepare_open(b, fl);
	return job_start(&b->job, fl, &probe_kind);
}

/* ---- sync: the bytes survive a restart ----------------------------------------------------------------- */

struct commit_job {
	struct job job;
	struct sparse *sparse;
};

static void commit_run(struct job *j)
{
	sparse_commit(((struct commit_job *)j)->sparse);
}

static void commit_back(struct job *j)
{
	j->flight->ranges.committing = false;
}

static void commit_free(struct job *j)
{
	sparse_unref(((struct commit_job *)j)->sparse);
	free(j);
}

static const struct job_kind commit_kind = {commit_run, commit_back, commit_free};

void sparse_job_commit(struct flight *fl)
{
	struct commit_job *c = fl->ranges.committing ? NULL : calloc(1, sizeof(*c));

	if (!c)
		return; /* called again after the next block */
	c->sparse = sparse_ref(fl->body.file);
	fl->ranges.committing = job_start(&c->job, fl, &commit_kind) == 0;
}
