/* Identifies the first bytes of a download, and makes room for the rest. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/job.h"

#include <fcntl.h>
#include <stdio.h>

bool is_other_use(const struct attempt *at, const struct key *k, struct view *v, struct key *own)
{
	return at->source->layout->flags & LAYOUT_ONE_NAME && obj_is_other_use(v, k, own);
}

/* ---- the first bytes: a wrong file is thrown away before all of it came -------------------------------- */

struct early_job {
	struct job job;
	struct attempt *winner;
	unsigned nth; /* of the winner */
	const struct packing *packing;
	int fd;
	uint64_t have, size;
	/* results */
	int r;
	bool sure;     /* it is what was asked for, by what is here of it */
	uint64_t want; /* with so many bytes more could be said */
	char text[400];
};

static void early_run(struct job *j)
{
	struct early_job *b = (struct early_job *)j;
	struct flight *fl = j->flight;
	struct view v = view_of_stream(b->fd, b->have, b->size);
	struct obj_slice slice;
	struct err e = {0};

	b->r = b->packing ? packed_early(b->packing, b->fd, b->have, &fl->own, &e)
			  : obj_check(&v, &fl->own, &slice, &e);
	if (b->r == -EAGAIN)
		b->want = v.want_off + MIN(v.want_len, UINT64_MAX - v.want_off);
	if (b->r == -EBADMSG && !b->packing && is_other_use(b->winner, &fl->own, &v, NULL))
		b->r = -ENOENT;
	if (b->r == 1 && !b->packing)
		learn_early(fl->f, &slice, &fl->own);
	b->sure = !b->packing && ((b->r == 1 && slice.size == b->size) || (b->r == -EAGAIN && obj_promises(&v, &fl->own)));
	snprintf(b->text, sizeof(b->text), "%.390s", e.text);
}

static void early_back(struct job *j)
{
	struct early_job *b = (struct early_job *)j;
	struct flight *fl = j->flight;

	/* The attempt whose bytes these were may have failed meanwhile, and another have won. */
	if (fl->dead || fl->state != FLIGHT_BODY || fl->winner != b->winner || b->winner->job != b->nth)
		return;
	fl->looking = false;
	if (b->r == -EBADMSG || b->r == -ENOENT) {
		fl->broke = 0;
		flight_say(fl, (struct event){SAID_FAILED_BODY, .error = b->r, .text = b->text});
		return;
	}
	if (!fl->found) {
		/* So much of it is as it should be that a request need not wait for the rest. */
		fl->winner->may_be = 0;
		flight_say(fl, (struct event){SAID_FOUND});
	}
	if (b->sure && !fl->winner->parted) {
		flight_say(fl, (struct event){SAID_SURE});
	} else if (b->want && !b->packing && !fl->winner->parted) {
		/* What identifies it lies further behind: each look is at twice as much. */
		fl->early_at = MAX(b->want, 2 * b->have);
		fl->early_done = false;
	}
	if (fl->broke)
		flight_say(fl, (struct event){SAID_BROKE});
}

static void early_free(struct job *j)
{
	struct early_job *b = (struct early_job *)j;

	if (b->fd >= 0)
		close(b->fd);
	free(b);
}

static const struct job_kind early_kind = {early_run, early_back, early_free};

void body_identify(struct flight *fl)
{
	struct early_job *b = calloc(1, sizeof(*b));

	fl->early_done = true;
	if (!b)
		return; /* the check at the end still stands */
	b->winner = fl->winner;
	b->nth = fl->winner->job;
	b->packing = fl->winner->packing;
	b->fd = fcntl(draft_fd(fl->draft), F_DUPFD_CLOEXEC, 0);
	b->have = draft_size(fl->draft);
	b->size = fl->size == FETCH_SIZE_UNKNOWN ? VIEW_UNKNOWN : fl->size;
	if (b->fd < 0) {
		early_free(&b->job);
		return;
	}
	fl->looking = job_start(&b->job, fl, &early_kind) == 0;
}

/* ---- the disk is full: what was least recently used makes room ----------------------------------------- */

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

	fl->making_room = false;
	if (!fl->dead)
		flight_say(fl, (struct event){SAID_ROOM, .error = m->r, .text = m->text});
}

static void room_free(struct job *j)
{
	free(j);
}

static const struct job_kind room_kind = {room_run, room_back, room_free};

int body_make_room(struct flight *fl, uint64_t need)
{
	uint64_t at = flight_here(fl) + 1;
	struct room_job *m;

	if (fl->room_for == at)
		return -ENOSPC;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->need = MAX(need, 1);
	if (job_start(&m->job, fl, &room_kind) < 0)
		return -ENOMEM;
	fl->room_for = at;
	fl->making_room = true;
	return 0;
}
