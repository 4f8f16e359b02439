/* Posts a job of a flight to a worker, and brings it back to the net thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/job.h"
#include "base/util.h"

void work_free(struct work *w)
{
	blob_unref(w->blob);
	draft_discard(w->draft);
	sparse_unref(w->sparse);
	free(w->probed.heads);
	if (w->fd >= 0)
		close(w->fd);
	free(w->until);
	free(w);
}

static void work_back(void *ctx)
{
	struct work *w = ctx;

	w->back(w);
	w->fl->jobs--;
	flight_reap(w->fl);
	work_free(w);
}

static void work_run(void *ctx)
{
	struct work *w = ctx;

	w->run(w);
	/* The only way that this fails is that memory is gone for good. */
	while (net_post(w->fl->f->net, work_back, w) < 0)
		sched_yield();
}

struct work *work_new(
	struct flight *fl, void (*run)(struct work *), void (*back)(struct work *))
{
	struct work *w = calloc(1, sizeof(*w));

	if (w)
		w->until = calloc(fl->sources->n + 1, sizeof(*w->until));
	if (!w || !w->until) {
		free(w);
		return NULL;
	}
	w->fl = fl;
	w->run = run;
	w->back = back;
	w->fd = -1;
	return w;
}

/* Takes the work; what came of it is told by back(). -ENOMEM: nothing will. */
int work_start_on(struct workers *workers, struct work *w)
{
	if (!workers || workers_post(workers, work_run, w) < 0) {
		work_free(w);
		return -ENOMEM;
	}
	w->fl->jobs++;
	return 0;
}

int work_start(struct work *w)
{
	return work_start_on(w->fl->f->workers, w);
}

/* Threads that may hang, so that the others do not. NULL: none can be had. */
struct workers *lookers(struct fetch *f)
{
	if (!f->lookers)
		workers_new(&f->lookers, LOOKERS);
	return f->lookers;
}

void out_of_memory(struct flight *fl)
{
	flight_fail(fl, -ENOMEM, "out of memory");
}

/* Where files of several types have one path, another one than was asked for is no wrong file: the one
 * that was is not there. */
bool is_other(const struct work *w, struct view *v, struct key *own)
{
	return w->winner->source->layout->flags & LAYOUT_ONE_NAME && obj_is_other_use(v, &w->fl->own, own);
}
