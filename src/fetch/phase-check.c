/* The first phase of a flight: looks into the store, at remembered misses, and into directory sources. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/job.h"

#include <stdio.h>

/* ---- check: is it here already, is it known to be missing? ---------------------------- */

static void check_run(struct work *w)
{
	struct flight *fl = w->fl;
	struct fetch *f = fl->f;

	w->what = fl->asked;
	w->own = fl->key;
	w->r = learn_find(f, &fl->key, &w->blob, &w->own);
	if (w->r == 0)
		return;
	if (learn_complete(f, &w->what, &w->own) && !key_equal(&w->own, &fl->key) &&
		learn_find(f, &w->own, &w->blob, &w->own) == 0)
		return;
	for (unsigned i = 0; i < fl->sources->n; i++) {
		const struct source *s = fl->sources->list[i];

		if (s->kind->local)
			continue;
		symstore_recall(f, s);
		w->until[i] = store_miss_until(f->store, &fl->key,
				layout_name_of(s->layout, &w->what), s->memory);
	}
}

static void finish_with(struct flight *fl, struct work *w)
{
	struct fetched a = {.key = w->own, .blob = w->blob, .size = blob_size(w->blob), .why = ""};

	flight_finish(fl, &a);
}

static void look_or_race(struct flight *fl);

static void check_back(struct work *w)
{
	struct flight *fl = w->fl;
	int64_t now = clock_wall();

	if (fl->dead)
		return;
	if (w->blob) {
		finish_with(fl, w);
		return;
	}
	fl->what = w->what;
	fl->own = w->own;
	fl->store_error = w->r == -ENOENT ? 0 : w->r;
	flight_plan(fl);
	for (unsigned i = 0; i < fl->n; i++) {
		struct attempt *at = &fl->attempts[i];

		at->remembered = w->until[at->nth] > now;
		at->remembered_until = w->until[at->nth];
		at->state = at->remembered ? ATTEMPT_MISSING : ATTEMPT_IDLE;
		at->spelling = 0;
	}
	look_or_race(fl);
}

void work_check(struct flight *fl)
{
	struct work *w = work_new(fl, check_run, check_back);

	fl->state = FLIGHT_CHECK;
	if (!w || work_start(w) < 0)
		out_of_memory(fl);
}

/* ---- look: does a directory have it? Its disk may be gone, and then nobody waits for it. -- */

/* A source that leads to ourselves: one line for each, until they are configured anew. */
static void tell_loop(struct fetch *f, unsigned nth, const struct source *s)
{
	uint64_t bit = 1ull << nth % 64;
	LOCK_SCOPE(&f->lock);

	if (!(f->loops_told & bit))
		log_warn("source %s: %s leads into a symfs mount: skipped", s->name, s->shown);
	f->loops_told |= bit;
}

/* What a directory has is packed, or part of a file, and nobody who asks for no more need wait until it
 * is not. */
static void found_in_dir(void *ctx)
{
	struct flight *fl = ctx;

	if (fl->dead || !fl->in_dirs)
		return;
	net_timer_stop(fl->f->net, &fl->poll); /* it takes as long as it takes */
	flight_found(fl);
}

static void dir_has_it(void *ctx)
{
	struct work *w = ctx;

	net_post(w->fl->f->net, found_in_dir, w->fl); /* before work_back(): the flight lives */
}

static void look_run(struct work *w)
{
	struct flight *fl = w->fl;

	for (unsigned i = 0; i < fl->sources->n && !w->blob; i++) {
		const struct source *s = fl->sources->list[i];
		char why[200];
		int r;

		if (!s->kind->local)
			continue;
		r = local_find(fl->f, s, &w->what, &w->own, dir_has_it, w, &w->blob, why);
		if (r == -EAGAIN) {
			w->walking = true;
			r = -ETIMEDOUT; /* unless another has it: that it is missing cannot be said */
		}
		if (r == -ELOOP)
			tell_loop(fl->f, i, s);
		if (r < 0 && r != -ENOENT && r != -ELOOP && !w->r) {
			w->r = r;
			snprintf(w->text, sizeof(w->text), "%s: %.200s", s->name,
				why[0] ? why : err_text(r));
		}
	}
}

static bool any_server(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].state == ATTEMPT_IDLE)
			return true;
	return false;
}

/* What is on this machine is worth a short wait, and all of the time when there is nobody else. */
static unsigned patience(const struct flight *fl)
{
	unsigned most = fl->f->opts.lookup_deadline_ms;

	return any_server(fl) ? MIN(TREE_WAIT_MS, most / 2) : most;
}

static void check_again(void *ctx)
{
	struct flight *fl = ctx;

	if (fl->state == FLIGHT_CHECK && !fl->jobs)
		work_check(fl);
}

static void look_over(struct flight *fl, int r, const char *text)
{
	fl->local_error = r;
	snprintf(fl->local_text, sizeof(fl->local_text), "%.190s", text);
	race_start(fl);
}

void work_looked(struct flight *fl)
{
	if (!fl->in_dirs)
		return;
	fl->in_dirs = false;
	fl->f->looks--;
	net_timer_stop(fl->f->net, &fl->poll);
}

static void look_late(void *ctx)
{
	struct flight *fl = ctx;

	if (!fl->in_dirs)
		return;
	work_looked(fl);
	log_debug(LOG_FETCH, "%s: a directory does not answer", fl->canon);
	look_over(fl, -ETIMEDOUT, "a directory does not answer");
}

static void look_back(struct work *w)
{
	struct flight *fl = w->fl;

	if (fl->dead || !fl->in_dirs || fl->dirs_job != w->job)
		return;
	work_looked(fl);
	if (w->blob) {
		finish_with(fl, w);
		return;
	}
	if (fl->found) { /* it was not, after all */
		if (!fl->tickets) {
			flight_cancel(fl);
			return;
		}
		fl->found = false;
		flight_deadline(fl);
	}
	if (w->walking && (clock_ms() - fl->began < patience(fl) || !any_server(fl))) {
		net_timer_set(fl->f->net, &fl->poll, TREE_POLL_MS, check_again, fl);
		return;
	}
	look_over(fl, w->r, w->text);
}

static void look(void *ctx)
{
	struct flight *fl = ctx;
	struct fetch *f = fl->f;
	struct work *w;

	if (f->looks >= LOOKS_MOST) {
		net_timer_set(f->net, &fl->poll, LOOK_AGAIN_MS, look, fl);
		return;
	}
	w = work_new(fl, look_run, look_back);
	if (w) {
		w->what = fl->what;
		w->own = fl->own;
		w->job = ++fl->dirs_job;
	}
	if (!w || work_start_on(lookers(f), w) < 0) {
		out_of_memory(fl);
		return;
	}
	fl->in_dirs = true;
	f->looks++;
	net_timer_set(f->net, &fl->poll, patience(fl), look_late, fl);
}

static void look_or_race(struct flight *fl)
{
	for (unsigned i = 0; i < fl->sources->n; i++)
		if (fl->sources->list[i]->kind->local) {
			look(fl);
			return;
		}
	look_over(fl, 0, "");
}
