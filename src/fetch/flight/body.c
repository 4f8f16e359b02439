/* The bytes of a download: a draft (from front to back), a sparse file, or both, and the change from one to the
 * other. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "base/view.h"
#include "fetch/flight/flight.h"
#include "fetch/flight/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHANGES_MOST 8 /* the most changes of version in one flight */

bool is_other_use(const struct attempt *at, const struct key *k, struct view *v, struct key *own)
{
	return at->source->layout->flags & LAYOUT_ONE_NAME && obj_is_other_use(v, k, own);
}

int body_open_draft(struct flight *fl, struct err *e)
{
	struct body *b = &fl->body;
	int r = b->draft ? 0 : draft_new_at_once(&b->draft, fl->f->store, e);

	if (r == 0)
		b->kind = b->file ? BODY_BESIDE : BODY_STREAM;
	return r;
}

void body_drop_draft(struct flight *fl)
{
	draft_discard(take(fl->body.draft));
	fl->body.kind = fl->body.file ? BODY_SPARSE : BODY_NONE;
}

void body_become_sparse(struct flight *fl, struct sparse *sp, bool fresh)
{
	fl->body.file = sparse_ref(sp);
	fl->body.fresh = fresh;
	body_drop_draft(fl);
}

/* The date of an object of a bucket is that of its upload. */
int64_t body_modified(const struct flight *fl)
{
	const struct attempt *at = fl->body.winner;
	int64_t when = !at ? 0 : at->lead.digest[0] ? at->lead.time : date_read(at->answer.modified);

	return when > 0 && when <= clock_wall() ? when : 0;
}

void body_take(struct flight *fl, struct draft **draft, struct sparse **file)
{
	struct body *b = &fl->body;

	if (draft)
		*draft = take(b->draft);
	if (file)
		*file = take(b->file);
	b->kind = b->draft ? BODY_STREAM : b->file ? BODY_SPARSE : BODY_NONE;
}

static void commit_and_close(void *ctx)
{
	sparse_commit(ctx);
	sparse_unref(ctx);
}

static void drop_and_close(void *ctx)
{
	sparse_drop(ctx);
	sparse_unref(ctx);
}

void body_drop(struct flight *fl, bool forget)
{
	struct sparse *sp;

	body_take(fl, NULL, &sp);
	if (sp && workers_post(fl->f->workers, forget ? drop_and_close : commit_and_close, sp) < 0)
		sparse_unref(sp);
	body_drop_draft(fl);
	fl->body.size = FETCH_SIZE_UNKNOWN;
	fl->body.sure = false;
}

/* ---- adding bytes, and comparing them with those present ---------------------------------------------------- */

/* Compares new bytes with those already present, so that versions are never mixed. -ESTALE: they differ. */
static int same_bytes(struct flight *fl, uint64_t off, const void *p, size_t n)
{
	int fd = fl->body.file ? sparse_fd(fl->body.file) : draft_fd(fl->body.draft);
	char old[4096];

	for (size_t at = 0; at < n; at += sizeof(old)) {
		size_t step = MIN(n - at, sizeof(old));
		int r = pread_all(fd, off + at, old, step);

		if (r < 0)
			return r == -ENODATA ? -EIO : r;
		if (memcmp(old, (const char *)p + at, step) != 0)
			return -ESTALE;
	}
	return 0;
}

/* Compares the bytes with the blocks that the sparse file has, and writes all bytes into the draft. Readers get the
 * missing bytes only when the draft is complete, because a later block may show that this is another version. */
static int keep_beside(struct flight *fl, uint64_t off, const void *p, size_t n)
{
	const char *at = p;
	uint64_t to = off;
	int r = 0;

	if (off > sparse_size(fl->body.file) || n > sparse_size(fl->body.file) - off)
		return -ESTALE;
	for (size_t left = n; left && r == 0;) {
		size_t step = MIN(left, (size_t)(SPARSE_BLOCK - to % SPARSE_BLOCK));

		/* An incomplete block may have pages that readers have read. */
		if (!sparse_has(fl->body.file, to, step))
			step = MIN(step, (size_t)(AHEAD_PAGE - to % AHEAD_PAGE));
		if (sparse_has_pieces(fl->body.file, to, step))
			r = same_bytes(fl, to, at, step);
		to += step;
		at += step;
		left -= step;
	}
	return r < 0 ? r : draft_write(fl->body.draft, off, p, n);
}

int body_keep(struct flight *fl, uint64_t off, const void *p, size_t n)
{
	uint64_t most = fl->readers.part ? part_size(fl->readers.part) : UINT64_MAX, have;
	size_t old;
	int r;

	if (fl->body.file)
		return keep_beside(fl, off, p, n);
	if (n > most - MIN(off, most))
		return -ESTALE;
	have = draft_size(fl->body.draft);
	old = off < have ? (size_t)MIN(n, have - off) : 0;
	r = old ? same_bytes(fl, off, p, old) : 0;
	return r < 0 || n == old ? r : draft_write(fl->body.draft, off + old, (const char *)p + old, n - old);
}

/* ---- room: when the disk is full, a worker evicts other files ----------------------------------------------- */

struct room_job {
	struct job job;
	uint64_t need;
	int r;
	char text[400];
};

static void room_run(struct job *j)
{
	struct room_job *m = (struct room_job *)j;
	struct err e = {0};

	m->r = store_make_room(j->flight->f->store, m->need, &e);
	snprintf(m->text, sizeof(m->text), "%.390s", e.text);
}

static void room_back(struct job *j)
{
	struct room_job *m = (struct room_job *)j;
	struct flight *fl = j->flight;

	fl->room.making = false;
	if (!flight_is_over(fl))
		flight_say(fl, (struct event){SAID_ROOM, .error = m->r, .text = m->text});
}

static const struct job_kind room_kind = {room_run, room_back, job_free};

int body_make_room(struct flight *fl, uint64_t need)
{
	uint64_t at = body_here(&fl->body) + 1;
	struct room_job *m;

	if (fl->room.made_at == at)
		return -ENOSPC;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->need = MAX(need, 1);
	if (job_start(&m->job, fl, &room_kind) < 0)
		return -ENOMEM;
	fl->room.made_at = at;
	fl->room.making = true;
	return 0;
}

/* ---- versions: bytes of two versions are never mixed --------------------------------------------------------- */

bool same_version(const struct version *v, const struct net_reply *r)
{
	return (!r->etag[0] || !v->etag[0] || strcmp(r->etag, v->etag) == 0) &&
		(!r->modified[0] || !v->modified[0] || strcmp(r->modified, v->modified) == 0);
}

const char *version_validator(const struct version *v)
{
	if (v->etag[0] && strncmp(v->etag, "W/", 2) != 0)
		return v->etag;
	return v->modified[0] ? v->modified : NULL;
}

bool version_has_other(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].retry.stale)
			return true;
	return false;
}

enum version_next version_look(const struct flight *fl, bool asking)
{
	bool same = false; /* a source may have this version */

	for (unsigned i = 0; i < fl->n; i++)
		same |= !fl->attempts[i].retry.stale;
	if (version_has_other(fl) && fl->body.versions_left < CHANGES_MOST)
		return asking && !fl->race.grace_over ? VERSION_WAIT : VERSION_CHANGE;
	if (asking || (same && clock_ms() - fl->body.stuck_since < fl->f->opts.lookup_deadline_ms))
		return VERSION_WAIT;
	return VERSION_LOST;
}
