/* Identifies the first bytes of a download, and makes room for the rest. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/job.h"

#include <fcntl.h>
#include <stdio.h>

/* ---- early: a wrong file is thrown away before all of it came ----------------------- */

static void early_run(struct work *w)
{
	struct view v = view_of_stream(w->fd, w->have, w->size);
	struct obj_slice slice;
	struct err e = {0};

	w->r = w->packing ? packed_early(w->packing, w->fd, w->have, &w->fl->own, &e)
			  : obj_check(&v, &w->fl->own, &slice, &e);
	if (w->r == -EAGAIN)
		w->want = v.want_off + MIN(v.want_len, UINT64_MAX - v.want_off);
	if (w->r == -EBADMSG && !w->packing && is_other(w, &v, NULL))
		w->r = -ENOENT;
	if (w->r == 1 && !w->packing)
		learn_early(w->fl->f, &slice, &w->fl->own);
	w->sure = !w->packing && ((w->r == 1 && slice.size == w->size) || (w->r == -EAGAIN && obj_promises(&v, &w->fl->own)));
	snprintf(w->text, sizeof(w->text), "%.390s", e.text);
}

static void early_back(struct work *w)
{
	struct flight *fl = w->fl;

	/* The one whose bytes these were may have failed meanwhile, and another have won. */
	if (fl->dead || fl->state != FLIGHT_BODY || fl->winner != w->winner || w->winner->job != w->job)
		return;
	fl->looking = false;
	if (w->r == -EBADMSG || w->r == -ENOENT) {
		fl->broke = 0;
		winner_fail(fl, w->r, w->text);
		return;
	}
	if (!fl->found) {
		/* So much of it is what it should be that nobody need wait for the rest. */
		fl->winner->may_be = 0;
		flight_found(fl);
	}
	if (w->sure && !fl->winner->parted) {
		flight_sure(fl);
	} else if (w->want && !w->packing && !fl->winner->parted) {
		/* What tells lies further behind: each look at twice as much. */
		fl->early_at = MAX(w->want, 2 * w->have);
		fl->early_done = false;
	}
	if (fl->broke)
		winner_broke(fl);
}

void work_early(struct flight *fl)
{
	struct work *w = work_new(fl, early_run, early_back);

	fl->early_done = true;
	if (!w)
		return; /* the check at the end still stands */
	w->winner = fl->winner;
	w->job = fl->winner->job;
	w->packing = fl->winner->packing;
	w->fd = fcntl(draft_fd(fl->draft), F_DUPFD_CLOEXEC, 0);
	w->have = draft_size(fl->draft);
	w->size = fl->size == FETCH_SIZE_UNKNOWN ? VIEW_UNKNOWN : fl->size;
	if (w->fd < 0) {
		work_free(w);
		return;
	}
	fl->looking = work_start(w) == 0;
}

/* ---- room: the disk is full, and what was least recently used makes room ------------ */

static void room_run(struct work *w)
{
	struct err e = {0};

	w->r = store_make_room(w->fl->f->store, w->size, &e);
	snprintf(w->text, sizeof(w->text), "%.390s", e.text);
}

static void room_back(struct work *w)
{
	w->fl->making_room = false;
	if (!w->fl->dead)
		race_has_room(w->fl, w->r, w->text);
}

/* A turn of the store may be a long wait, so it is none for the net thread. */
int work_room(struct flight *fl, uint64_t need)
{
	uint64_t at = flight_here(fl) + 1;
	struct work *w;

	if (fl->room_for == at)
		return -ENOSPC;
	w = work_new(fl, room_run, room_back);
	if (!w)
		return -ENOMEM;
	w->size = MAX(need, 1);
	if (work_start(w) < 0)
		return -ENOMEM;
	fl->room_for = at;
	fl->making_room = true;
	return 0;
}
