/* Follows a file.ptr of a symbol store: finds the file that it names, on a disk of this machine. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/flight/job.h"
#include "source/ptr.h"

#include <string.h>

struct follow_ptr {
	struct job job;
	struct attempt *attempt;
	unsigned nth; /* `job` of the attempt; if the attempt has a newer job, the result is discarded */
	char ptr[PTR_MOST];
	size_t n;
	ptr_followed *followed;
	/* results */
	int r;
	struct blob *blob;
	struct key key;
	char text[200];
};

static void ptr_found(void *flight)
{
	struct flight *fl = flight;

	if (!flight_is_over(fl))
		flight_say(fl, (struct event){SAID_FOUND});
}

static void ptr_has_it(void *ctx)
{
	job_tell(ctx, ptr_found);
}

static void ptr_run(struct job *j)
{
	struct follow_ptr *p = (struct follow_ptr *)j;
	struct flight *fl = j->flight;

	p->key = fl->own;
	p->r = local_follow(fl->f, p->attempt->source, &fl->own, p->ptr, p->n, ptr_has_it, j, &p->blob, p->text);
	if (p->r == 0)
		store_main_key(fl->f->store, &fl->own, &p->key);
}

static void ptr_back(struct job *j)
{
	struct follow_ptr *p = (struct follow_ptr *)j;

	if (!flight_is_over(j->flight) && p->attempt->job == p->nth)
		p->followed(p->attempt, p->r, p->blob, &p->key, p->text);
}

static void ptr_free(struct job *j)
{
	struct follow_ptr *p = (struct follow_ptr *)j;

	blob_unref(p->blob);
	free(p);
}

static const struct job_kind ptr_kind = {ptr_run, ptr_back, ptr_free};

void ptr_follow(struct attempt *at, ptr_followed *followed)
{
	struct follow_ptr *p = calloc(1, sizeof(*p));

	if (p) {
		p->attempt = at;
		p->nth = at->job;
		p->n = MIN(at->answering->ptr.n, sizeof(p->ptr));
		memcpy(p->ptr, buf_text(&at->answering->ptr), p->n);
		p->followed = followed;
	}
	if (!p || job_start_in_dirs(&p->job, at->flight, &ptr_kind) < 0)
		flight_say_no_memory(at->flight);
}
