/* Posts a job of a flight to a worker, and brings the job back to the net thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/flight/job.h"

#include <stdlib.h>

void job_free(struct job *j)
{
	free(j);
}

static void job_back(void *ctx)
{
	struct job *j = ctx;
	struct flight *fl = j->flight;

	j->kind->back(j);
	j->kind->free(j);
	fl->jobs--;
	flight_say(fl, (struct event){.said = SAID_JOB_BACK});
}

static void job_run(void *ctx)
{
	struct job *j = ctx;

	j->kind->run(j);
	net_post_by(j->flight->f->net, &j->home, job_back, j);
}

void job_tell(struct job *j, void (*fn)(void *flight))
{
	if (j->told)
		return; /* `word` may still be in the queue */
	j->told = true;
	net_post_by(j->flight->f->net, &j->word, fn, j->flight);
}

static int job_start_on(struct workers *on, struct job *j, struct flight *fl, const struct job_kind *kind)
{
	j->flight = fl;
	j->kind = kind;
	if (!on || workers_post(on, job_run, j) < 0) {
		kind->free(j);
		return -ENOMEM;
	}
	fl->jobs++;
	return 0;
}

int job_start(struct job *j, struct flight *fl, const struct job_kind *kind)
{
	return job_start_on(fl->f->workers, j, fl, kind);
}

int job_start_in_dirs(struct job *j, struct flight *fl, const struct job_kind *kind)
{
	if (!fl->f->lookers)
		workers_new(&fl->f->lookers, LOOKERS);
	return job_start_on(fl->f->lookers, j, fl, kind);
}
