/* The first phase of a flight: looks into the store, at remembered misses, and into directory sources. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/job.h"

#include <stdio.h>

#define LOOKS_MOST 8	      /* the most jobs that look into directories at once */
#define LOOK_AGAIN_MS 10      /* pause while there are LOOKS_MOST jobs */
#define TREE_POLL_MS 100      /* pause between looks at trees that are still being walked */
#define TREE_WAIT_MS 2000     /* how long directories may delay the requests to servers */

struct check_job {
	struct job job;
	struct artifact what;
	struct key own;	    /* the key under which the file would be stored */
	struct blob *blob;  /* the stored file; NULL: it is not in the store */
	struct key here;    /* the key under which `blob` is stored */
	bool final;	    /* neither servers nor directories need be asked for a better file than `blob` */
	bool asked;	    /* servers need not be asked for a better file than `blob` */
	int r;		    /* result of the look into the store */
	int64_t *until;	    /* for each source: wall clock until which its remembered miss counts */
	uint64_t partial;   /* bytes of an earlier download by ranges */
};

static uint64_t find_partial(struct fetch *f, const struct key *k)
{
	_cleanup_sparse_ struct sparse *sp = NULL;

	return filetypes[k->type].flags & TYPE_RANDOM && sparse_peek(f->store, k, &sp) == 0 ? sparse_present(sp) : 0;
}

static void check_run(struct job *j)
{
	struct check_job *c = (struct check_job *)j;
	struct flight *fl = j->flight;
	struct fetch *f = fl->f;

	c->what = fl->asked;
	c->own = fl->key;
	c->r = learn_find(f, &fl->key, &c->blob, &c->here);
	if (learn_complete(f, &c->what, &c->own) && !key_equal(&c->own, &fl->key) && !c->blob)
		learn_find(f, &c->own, &c->blob, &c->here);
	if (!c->blob && embedded_find(f, fl->sources, &c->what, &c->own, &c->blob) == 0)
		c->here = c->own;
	c->asked = c->blob && !better_may_exist(f, fl->sources, &c->own, c->blob);
	c->final = c->asked && !local_may_improve(fl->sources, &c->what, c->blob);
	if (c->final)
		return;
	c->partial = find_partial(f, &c->own);
	for (unsigned i = 0; i < fl->sources->n; i++) {
		const struct source *s = fl->sources->list[i];
		char room[MISS_NAME];

		if (s->kind->local)
			continue;
		symstore_recall(f, s);
		taught_recall(f, s, &c->what);
		c->until[i] = store_miss_until(f->store, &fl->key, miss_name(s, &c->what, room), s->memory);
	}
}

static void look_into_dirs(void *ctx);

static void check_back(struct job *j)
{
	struct check_job *c = (struct check_job *)j;
	struct flight *fl = j->flight;

	if (flight_is_over(fl))
		return;
	if (c->final) {
		flight_say(fl, (struct event){SAID_HERE, .key = &c->here, .blob = c->blob});
		return;
	}
	fl->what = c->what;
	fl->own = c->own;
	fl->check.partial = c->partial;
	fl->check.store_error = c->r == -ENOENT ? 0 : c->r;
	attempts_plan(fl, c->until);
	if (c->blob)
		better_hold(fl, &c->here, c->blob);
	fl->better.settled = fl->better.known = c->asked;
	for (unsigned i = 0; i < fl->sources->n; i++)
		if (fl->sources->list[i]->kind->local) {
			look_into_dirs(fl);
			return;
		}
	fl->check.dir_error = 0;
	flight_say(fl, (struct event){SAID_ABSENT});
}

static void check_free(struct job *j)
{
	struct check_job *c = (struct check_job *)j;

	blob_unref(c->blob);
	free(c->until);
	free(c);
}

static const struct job_kind check_kind = {check_run, check_back, check_free};

static void check_start(struct flight *fl)
{
	struct check_job *c = calloc(1, sizeof(*c));

	fl->check.step = CHECK_STORE;
	if (c)
		c->until = calloc(fl->sources->n + 1, sizeof(*c->until));
	if (c && !c->until)
		check_free(&c->job);
	else if (c && job_start(&c->job, fl, &check_kind) == 0)
		return;
	flight_say_no_memory(fl);
}

/* ---- directories: the flight does not wait for a disk that does not answer --------------------------- */

struct dirs_job {
	struct job job;
	unsigned nth; /* the flight's `check.job` when this job started */
	struct artifact what;
	struct key own;	   /* of `blob` */
	struct blob *blob; /* NULL: no directory has the file */
	bool exists;	   /* no request needs more than to know that the file exists */
	bool there;	   /* a directory has the file; with `exists` perhaps without a blob */
	bool walking;	   /* a tree that may have the file is still being walked */
	int r;
	char text[400];
};

/* Logs one line for each source that leads into a symfs mount; no second line before a reload. */
static void log_loop(struct fetch *f, unsigned nth, const struct source *s)
{
	uint64_t bit = 1ull << nth % 64;
	LOCK_SCOPE(&f->lock);

	if (!(f->loops_logged & bit))
		log_warn("source %s: %s leads into a symfs mount: skipped", s->name, s->shown);
	f->loops_logged |= bit;
}

/* A directory has the file packed, or as a part of another file. A request that only asks whether the file
 * exists need not wait for the unpacking or the copy. */
static void dirs_found(void *flight)
{
	struct flight *fl = flight;

	if (flight_is_over(fl) || fl->check.step != CHECK_DIRS)
		return;
	net_timer_stop(fl->f->net, &fl->check.timer); /* unpacking has no deadline */
	flight_say(fl, (struct event){SAID_FOUND});
}

static void dir_has_it(void *ctx)
{
	job_tell(ctx, dirs_found);
}

static void dirs_run(struct job *j)
{
	struct dirs_job *d = (struct dirs_job *)j;
	struct flight *fl = j->flight;
	bool enough = false;

	for (unsigned i = 0; i < fl->sources->n && !enough; i++) {
		const struct source *s = fl->sources->list[i];
		struct blob *found = NULL;
		char why[200];
		int r;

		if (!s->kind->local)
			continue;
		r = local_find(fl->f, s, &d->what, &d->own, d->exists, dir_has_it, j, &found, why);
		d->there |= r == 0;
		if (r == 0)
			enough = local_take_better(&d->blob, &found, fl->key.type);
		if (r == -EAGAIN) {
			d->walking = true;
			r = -ETIMEDOUT; /* no miss, because the rest of the tree may have the file */
		}
		if (r == -ELOOP)
			log_loop(fl->f, i, s);
		if (r < 0 && r != -ENOENT && r != -ELOOP && !d->r) {
			d->r = r;
			snprintf(d->text, sizeof(d->text), "%s: %.200s", s->name, why[0] ? why : err_text(r));
		}
	}
	if (!d->there)
		d->there = embedded_find_in(fl->f, fl->sources, &d->own, d->walking, &d->blob) == 0;
}

static bool any_server(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].state == ATTEMPT_IDLE)
			return true;
	return false;
}

/* How long the flight waits for directories, in ms: TREE_WAIT_MS at most, or up to the lookup deadline if no
 * server can be asked. */
static unsigned patience(const struct flight *fl)
{
	unsigned most = fl->f->opts.lookup_deadline_ms;

	return any_server(fl) || fl->better.blob ? MIN(TREE_WAIT_MS, most / 2) : most;
}

static void check_again(void *ctx)
{
	struct flight *fl = ctx;

	if (!fl->jobs)
		check_start(fl);
}

static void absent(struct flight *fl, int r, const char *text)
{
	fl->check.dir_error = r;
	snprintf(fl->check.dir_text, sizeof(fl->check.dir_text), "%.190s", text);
	flight_say(fl, (struct event){SAID_ABSENT});
}

/* Later results of directories are discarded. */
static void check_stop(struct flight *fl)
{
	net_timer_stop(fl->f->net, &fl->check.timer);
	if (fl->check.step == CHECK_DIRS)
		fl->f->looks--;
	fl->check.step = CHECK_OVER;
}

static void dirs_late(void *ctx)
{
	struct flight *fl = ctx;

	check_stop(fl);
	log_debug(LOG_FETCH, "%s: a directory does not answer", fl->canon);
	absent(fl, -ETIMEDOUT, "a directory does not answer");
}

/* A directory has the file in an archive, and did not unpack it. If a request that came meanwhile needs the bytes,
 * the directories are searched again. */
static void say_exists(struct flight *fl)
{
	flight_say(fl, (struct event){SAID_FOUND});
	if (flight_is_over(fl))
		return;
	if (fl->tickets)
		check_start(fl);
	else
		flight_say(fl, (struct event){SAID_UNWANTED});
}

static void dirs_back(struct job *j)
{
	struct dirs_job *d = (struct dirs_job *)j;
	struct flight *fl = j->flight;

	if (flight_is_over(fl) || fl->check.step != CHECK_DIRS || fl->check.job != d->nth)
		return;
	check_stop(fl);
	if (d->there && !d->blob) {
		say_exists(fl);
		return;
	}
	if (d->blob && better_than_held(fl, d->blob))
		flight_say(fl, (struct event){SAID_HERE, .key = &d->own, .blob = d->blob});
	else if (!fl->better.blob)
		flight_say(fl, (struct event){SAID_NOT_FOUND});
	if (flight_is_over(fl))
		return;
	if (d->walking && (clock_ms() - fl->began < patience(fl) || !any_server(fl))) {
		net_timer_set(fl->f->net, &fl->check.timer, TREE_POLL_MS, check_again, fl);
		return;
	}
	absent(fl, d->r, d->text);
}

static void dirs_free(struct job *j)
{
	struct dirs_job *d = (struct dirs_job *)j;

	blob_unref(d->blob);
	free(d);
}

static const struct job_kind dirs_kind = {dirs_run, dirs_back, dirs_free};

static void look_into_dirs(void *ctx)
{
	struct flight *fl = ctx;
	struct fetch *f = fl->f;
	struct dirs_job *d;

	if (f->looks >= LOOKS_MOST) {
		net_timer_set(f->net, &fl->check.timer, LOOK_AGAIN_MS, look_into_dirs, fl);
		return;
	}
	d = calloc(1, sizeof(*d));
	if (d) {
		d->what = fl->what;
		d->own = fl->own;
		d->nth = ++fl->check.job;
		d->exists = !flight_is_wanted_whole(fl) && !fl->better.blob;
	}
	if (!d || job_start_in_dirs(&d->job, fl, &dirs_kind) < 0) {
		flight_say_no_memory(fl);
		return;
	}
	fl->check.step = CHECK_DIRS;
	f->looks++;
	net_timer_set(f->net, &fl->check.timer, patience(fl), dirs_late, fl);
}

const struct phase phase_check = {check_start, check_stop};
