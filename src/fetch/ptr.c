/* Follows a file.ptr of a symbol store: it leads to a disk of this machine. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/job.h"

#include <string.h>

/* ---- file.ptr: where it leads is a disk of this machine ----------------------------- */

static void ptr_found(void *ctx)
{
	struct flight *fl = ctx;

	if (!fl->dead)
		flight_found(fl);
}

static void ptr_has_it(void *ctx)
{
	struct work *w = ctx;

	net_post(w->fl->f->net, ptr_found, w->fl); /* before work_back(): the flight lives */
}

static void ptr_run(struct work *w)
{
	struct flight *fl = w->fl;

	w->own = fl->own;
	w->r = local_follow(fl->f, w->winner->source, &fl->own, w->ptr, w->ptr_n, ptr_has_it, w,
		&w->blob, w->text);
	if (w->r == 0)
		store_main_key(fl->f->store, &fl->own, &w->own);
}

static void ptr_back(struct work *w)
{
	if (!w->fl->dead && w->winner->job == w->job)
		race_followed(w->winner, w->r, w->blob, &w->own, w->text);
}

void work_ptr(struct attempt *at)
{
	struct work *w = work_new(at->flight, ptr_run, ptr_back);

	if (!w) {
		out_of_memory(at->flight);
		return;
	}
	w->winner = at;
	w->job = at->job;
	w->ptr_n = MIN(at->ptr.n, sizeof(w->ptr));
	memcpy(w->ptr, buf_text(&at->ptr), w->ptr_n);
	if (work_start_on(lookers(at->flight->f), w) < 0)
		out_of_memory(at->flight);
}
