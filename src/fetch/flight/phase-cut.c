/* Cuts a section out of an ELF file (a container) of a server that answers byte ranges. Only the headers, the names
 * of the sections, and the section are fetched. The container is read as by any reader: after it was identified, and
 * without mixing versions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/flight/job.h"

#include <stdio.h>

static void cut_next(struct flight *fl);
static void cut_work(struct flight *fl);

static void close_container(struct cut *cu)
{
	if (cu->from.part)
		part_close(cu->from.part);
	part_unref(cu->from.part);
	blob_unref(cu->from.blob);
	cu->from = (struct cutting){0};
}

static void cut_stop(struct flight *fl)
{
	struct cut *cu = &fl->cut;

	if (cu->ticket)
		ticket_cancel(cu->ticket);
	if (cu->wait)
		part_wait_cancel(cu->wait);
	if (!cu->working)
		close_container(cu);
}

/* The container does not have the section, or (`error`) cannot be read. If the next one has the section, that is the
 * answer, whatever the error. */
static void cut_go_on(struct flight *fl, int error, const char *text)
{
	struct race *ra = &fl->race;

	close_container(&fl->cut);
	fl->cut.trouble |= error != 0;
	if (error && !ra->error) {
		ra->error = error;
		snprintf(ra->text, sizeof(ra->text), "%.190s", text);
	}
	fl->cut.nth++;
	cut_next(fl);
}

/* ---- reading a container ------------------------------------------------------------------------------------ */

static void cut_run(struct job *j)
{
	struct flight *fl = j->flight;

	fl->cut.r = embedded_cut(fl->f, &fl->own, &fl->cut.from, &fl->cut.out);
}

static void cut_ready(void *ctx, int r)
{
	struct flight *fl = ctx;

	part_wait_unref(take(fl->cut.wait));
	if (r != -EINTR)
		cut_work(fl); /* after an error, the bytes that are present may suffice */
}

/* The container lacks bytes. */
static void cut_wait(struct flight *fl)
{
	struct cut *cu = &fl->cut;
	const struct view *v = &cu->from.view;
	int r = part_over(cu->from.part);

	if (cu->from.at.n && !fl->found) {
		fl->body.size = cu->from.at.n;
		flight_say(fl, (struct event){SAID_FOUND});
	}
	if (r == 0)
		r = part_wait(cu->from.part, PART_ALL, v->want_off, (size_t)v->want_len, cut_ready, fl, &cu->wait);
	if (r < 0 && !cu->again) {
		cu->again = true; /* the server may have another version by now */
		close_container(cu);
		cut_next(fl);
	} else if (r < 0) {
		cut_go_on(fl, r, "the download of its file broke off");
	} else if (r == 1) {
		cut_work(fl);
	}
}

static void cut_back(struct job *j)
{
	struct flight *fl = j->flight;
	struct cut *cu = &fl->cut;
	_cleanup_blob_ struct blob *out = take(cu->out);
	bool missing;

	cu->working = false;
	if (flight_is_over(fl)) {
		close_container(cu);
	} else if (cu->r == 0) {
		flight_say(fl, (struct event){SAID_HERE, .key = &fl->own, .blob = out});
	} else if (cu->r == -EAGAIN && cu->from.part) {
		cut_wait(fl);
	} else {
		missing = cu->r == -ENOENT || (cu->r == -EBADMSG && cu->from.blob);
		cut_go_on(fl, missing ? 0 : cu->r, err_text(cu->r));
	}
}

static const struct job_kind cut_kind = {cut_run, cut_back, job_free};

static void cut_work(struct flight *fl)
{
	struct job *j = calloc(1, sizeof(*j));

	fl->cut.working = j && job_start(j, fl, &cut_kind) == 0;
	if (!fl->cut.working)
		flight_say_no_memory(fl);
}

/* ---- asking for containers ---------------------------------------------------------------------------------- */

/* (net) */
static void cut_opened(void *ctx, const struct fetched *a)
{
	struct flight *fl = ctx;
	struct cut *cu = &fl->cut;

	ticket_unref(take(cu->ticket));
	fl->jobs--;
	if (flight_is_over(fl)) {
		flight_say(fl, (struct event){SAID_JOB_BACK});
	} else if (a->blob) {
		cu->from.blob = blob_ref(a->blob);
		cut_work(fl);
	} else if (a->part && a->ranges) {
		cu->from = (struct cutting){.part = part_ref(a->part), .key = a->key};
		part_open(a->part);
		cut_work(fl);
	} else {
		if (a->part)
			cu->nth = CONTAINERS_MOST; /* its source would send the whole file */
		cut_go_on(fl, a->r == -ENOENT ? 0 : a->r, a->why);
	}
}

/* The request counts as a job of the flight, so that the flight lives until the request is answered. */
static void cut_next(struct flight *fl)
{
	struct container c[CONTAINERS_MOST];
	struct cut *cu = &fl->cut;

	if (cu->nth >= embedded_containers(&fl->own, c)) {
		cu->missed = !cu->trouble;
		flight_say(fl, (struct event){SAID_LOST, .fresh = cu->fresh || cu->missed});
	} else if (fetch_open(fl->f, &c[cu->nth].a, 1, FETCH_OPEN, cut_opened, fl, &cu->ticket) < 0) {
		flight_say_no_memory(fl);
	} else {
		fl->jobs++;
	}
}

const struct phase phase_cut = {cut_next, cut_stop};
