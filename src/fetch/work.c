/* What a flight gives to workers: each job takes plain values along, does the waiting, and comes
 * back to the net thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "source/ptr.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct work {
	struct flight *fl;
	struct attempt *winner; /* of an early check */
	void (*run)(struct work *w);  /* on a worker */
	void (*back)(struct work *w); /* on the net thread */
	/* results and arguments; a flight's constant parts (asked, key, sources, and after the check
	 * what, own) are read directly */
	int r;
	bool walking; /* a tree that may have it is still being walked */
	struct artifact what;
	struct key own;
	char text[400];
	struct blob *blob;
	struct draft *draft;
	struct sparse *sparse;
	struct sparse_validator validator;
	struct probed probed;
	bool opens, fresh; /* a file with holes; which was not there before */
	const struct packing *packing; /* of what is in `draft` or `fd` */
	bool bad;		       /* the file is no good */
	bool beaten;		       /* other bytes were pinned under its key meanwhile: `blob` has these */
	bool sure;		       /* it is what was asked for, by what is here of it */
	bool offered;		       /* flight_offer() */
	uint64_t want;		       /* how much would tell more */
	struct blob_facts facts;
	uint64_t part; /* part_number(); 0 */
	int fd;
	uint64_t have, size;
	char ptr[PTR_MOST];
	size_t ptr_n;
	unsigned job;
	int64_t *until; /* of each source */
};

static void work_free(struct work *w)
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

static struct work *work_new(
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
static int work_start_on(struct workers *workers, struct work *w)
{
	if (!workers || workers_post(workers, work_run, w) < 0) {
		work_free(w);
		return -ENOMEM;
	}
	w->fl->jobs++;
	return 0;
}

static int work_start(struct work *w)
{
	return work_start_on(w->fl->f->workers, w);
}

/* Threads that may hang, so that the others do not. NULL: none can be had. */
static struct workers *lookers(struct fetch *f)
{
	if (!f->lookers)
		workers_new(&f->lookers, LOOKERS);
	return f->lookers;
}

static void out_of_memory(struct flight *fl)
{
	flight_fail(fl, -ENOMEM, "out of memory");
}

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
		facts_recall(f, s);
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

/* Where files of several types have one path, another one than was asked for is no wrong file: the one
 * that was is not there. */
static bool is_other(const struct work *w, struct view *v, struct key *own)
{
	return w->winner->source->layout->one_name && obj_is_other_use(v, &w->fl->own, own);
}

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

/* ---- files with holes ---------------------------------------------------------------- */

static bool has_bytes(const void *ctx, uint64_t off, uint64_t n)
{
	return sparse_has(ctx, off, n);
}

/* What its first bytes, and those that they lead to, say of it. */
static void probe_run(struct work *w)
{
	struct probed *p = &w->probed;
	enum filetype t = w->fl->own.type;
	struct view v = view_of_holes(sparse_fd(w->sparse), sparse_size(w->sparse), has_bytes, w->sparse);
	struct obj_slice slice;
	struct err e = {0};

	p->r = obj_check(&v, &w->fl->own, &slice, &e);
	if (p->r == -EBADMSG && is_other(w, &v, NULL))
		p->r = -ENOENT;
	if (p->r == 1)
		learn_early(w->fl->f, &slice, &w->fl->own);
	p->sure = (p->r == 1 && slice.size == sparse_size(w->sparse)) || (p->r == -EAGAIN && obj_promises(&v, &w->fl->own));
	snprintf(p->text, sizeof(p->text), "%.390s", e.text);
	if (p->r >= 0)
		p->sparse = obj_is_sparse(&v, t);
	p->walk.n_tables = 0;
	if (p->sparse == 1)
		obj_walk(&v, &p->walk);
	if (p->sparse == 1 && p->wants_heads)
		p->n_heads = obj_heads(&v, p->heads, HEADS_MOST);
	p->want_off = v.want_off;
	p->want_len = v.want_len;
}

/* -EBUSY: a process that just let go of it has not yet written what it has. */
static void sparse_run(struct work *w)
{
	_cleanup_free_ char *p = malloc(EARLY_BYTES);
	struct err e = {0};
	ssize_t n = p ? pread(w->fd, p, EARLY_BYTES, 0) : -1;

	w->r = n > 0 ? sparse_open(w->fl->f->store, &w->fl->own, &w->validator, w->facts.url, &w->sparse, &e)
		     : -EIO;
	w->fresh = w->r == 0 && sparse_present(w->sparse) == 0;
	if (w->r == 0)
		w->r = sparse_write(w->sparse, 0, p, (size_t)n);
	snprintf(w->text, sizeof(w->text), "%.390s", e.text[0] ? e.text : err_text(w->r));
	if (w->r == 0)
		probe_run(w);
}

static void probe_back(struct work *w)
{
	struct flight *fl = w->fl;

	fl->probing = false;
	if (fl->dead || fl->state != FLIGHT_BODY || fl->winner != w->winner || !fl->ranged)
		return;
	if (w->opens)
		ranges_opened(fl, w->r, w->sparse, w->fresh, w->text);
	if (!w->opens || w->r == 0)
		ranges_probed(fl, &w->probed);
}

static void start_probe(struct work *w)
{
	struct flight *fl = w->fl;

	w->winner = fl->winner;
	fl->probing = true;
	if (work_start(w) < 0)
		out_of_memory(fl);
}

void work_sparse(struct flight *fl)
{
	_cleanup_buf_ struct buf url = BUF_UP_TO(8192);
	struct work *w = fl->probing ? NULL : work_new(fl, sparse_run, probe_back);

	if (!w) {
		if (!fl->probing)
			out_of_memory(fl);
		return;
	}
	w->opens = true;
	w->fd = fcntl(draft_fd(fl->draft), F_DUPFD_CLOEXEC, 0);
	w->validator.size = fl->size;
	snprintf(w->validator.source, sizeof(w->validator.source), "%s", fl->winner->source->name);
	snprintf(w->validator.etag, sizeof(w->validator.etag), "%s", fl->first_etag);
	snprintf(w->validator.last_modified, sizeof(w->validator.last_modified), "%s", fl->first_modified);
	url_without_credentials(fl->winner->ask.where, &url);
	snprintf(w->facts.url, sizeof(w->facts.url), "%s", buf_text(&url));
	start_probe(w);
}

void work_probe(struct flight *fl)
{
	struct work *w = fl->probing ? NULL : work_new(fl, probe_run, probe_back);

	if (!w) {
		if (!fl->probing)
			out_of_memory(fl);
		return;
	}
	w->sparse = sparse_ref(fl->sparse);
	if (fl->heads == HEADS_WANTED) {
		w->probed.heads = calloc(HEADS_MOST, sizeof(*w->probed.heads));
		w->probed.wants_heads = w->probed.heads != NULL;
		fl->heads = w->probed.heads ? HEADS_WANTED : HEADS_KNOWN;
	}
	start_probe(w);
}

static void commit_run(struct work *w)
{
	sparse_commit(w->sparse);
}

static void commit_back(struct work *w)
{
	w->fl->committing = false;
}

void work_commit(struct flight *fl)
{
	struct work *w = fl->committing ? NULL : work_new(fl, commit_run, commit_back);

	if (!w)
		return; /* later */
	w->sparse = sparse_ref(fl->sparse);
	fl->committing = work_start(w) == 0;
}

static void merge_run(struct work *w)
{
	const size_t room = 1 << 20;
	_cleanup_free_ char *p = malloc(room);
	uint64_t size = sparse_size(w->sparse);
	struct sparse_hole h;

	w->r = p ? 0 : -ENOMEM;
	while (w->r == 0 && sparse_missing(w->sparse, 0, size, &h)) {
		ssize_t n = pread(draft_fd(w->draft), p, (size_t)MIN(h.n, room), (off_t)h.off);

		w->r = n > 0 ? sparse_write(w->sparse, h.off, p, (size_t)n) : n < 0 ? -errno : -EIO;
	}
}

static void merge_back(struct work *w)
{
	struct flight *fl = w->fl;

	if (fl->dead)
		return;
	if (w->r < 0) {
		log_error("%s: the store: %s", fl->canon, err_text(w->r));
		flight_fail(fl, w->r, "the store cannot be written");
		return;
	}
	if (fl->part)
		part_advance(fl->part, 0);
	work_seal(fl);
}

void work_merge(struct flight *fl)
{
	struct work *w = work_new(fl, merge_run, merge_back);

	fl->state = FLIGHT_SEAL;
	if (!w) {
		out_of_memory(fl);
		return;
	}
	w->sparse = sparse_ref(fl->sparse);
	w->draft = take(fl->draft);
	if (work_start(w) < 0)
		out_of_memory(fl);
}

static void let_go(void *ctx)
{
	sparse_commit(ctx);
	sparse_unref(ctx);
}

static void forget(void *ctx)
{
	sparse_drop(ctx);
	sparse_unref(ctx);
}

void work_drop(struct flight *fl, bool bad)
{
	struct sparse *sp = take(fl->sparse);

	if (workers_post(fl->f->workers, bad ? forget : let_go, sp) < 0)
		sparse_unref(sp);
}

/* ---- seal: is it what was asked for? then it is published --------------------------- */

/* The draft becomes one of what is inside. */
static int seal_unpack(struct work *w, struct err *e)
{
	struct draft *inside;
	int r = packed_open(w->fl->f, w->packing, draft_fd(w->draft), draft_size(w->draft), w->size,
		&inside, e);

	w->bad = r == -EBADMSG || r == -EFBIG;
	if (r < 0)
		return r;
	draft_discard(w->draft);
	w->draft = inside;
	return 0;
}

/* It came in vain for who asked, and is kept for who will ask for that. True: it is of another use. */
static bool seal_other(struct work *w, struct err *e)
{
	struct draft *d = w->draft;
	struct view v = w->sparse ? view_of_fd(sparse_fd(w->sparse), sparse_size(w->sparse))
				  : view_of_fd(draft_fd(d), draft_size(d));
	struct key own;

	if (!is_other(w, &v, &own))
		return false;
	if (w->sparse)
		sparse_drop(w->sparse);
	else
		learn_publish(w->fl->f, take(w->draft), &own, &w->facts, NULL, NULL);
	err_set(e, -ENOENT, "has only %s there", filetype_name(own.type));
	return true;
}

/* It was removed from the store while it was filled, or was published already for who asked by another of
 * its keys. All of it is here: a copy is as good. */
static int publish_copy(struct work *w, struct err *e)
{
	struct draft *d;
	int r = draft_new(&d, w->fl->f->store, e);

	if (r < 0)
		return r;
	r = draft_copy(d, sparse_fd(w->sparse), 0, sparse_size(w->sparse));
	if (r < 0) {
		draft_discard(d);
		return err_set(e, r, "%s", err_text(r));
	}
	return learn_publish(w->fl->f, d, &w->fl->own, &w->facts, &w->blob, e);
}

static int finish_sparse(struct work *w, struct err *e)
{
	int r = learn_finish(w->fl->f, w->sparse, &w->fl->own, &w->facts, &w->blob, e);

	return (r == -ESTALE || r == -EALREADY) && sparse_is_full(w->sparse) ? publish_copy(w, e) : r;
}

static int seal_publish(struct work *w, struct err *e)
{
	struct fetch *f = w->fl->f;
	const struct key *k = &w->fl->own;
	struct draft *d;
	int r;

	if (seal_other(w, e)) {
		w->bad = true;
		return -ENOENT;
	}
	d = take(w->draft);
	r = w->sparse ? finish_sparse(w, e)
		: w->packing ? packed_publish(f, w->packing, d, k, &w->facts, &w->blob, e)
			   : learn_publish(f, d, k, &w->facts, &w->blob, e);

	w->bad = r == -EBADMSG;
	if (w->bad && w->sparse)
		sparse_drop(w->sparse);
	if (r == 0)
		store_main_key(f->store, k, &w->own);
	return r == -ENOENT ? -EIO : r; /* of the store: nobody said that there is no such file */
}

/* All of it is the file: who only reads need not wait until the disk has it. */
static void let_in(void *ctx)
{
	struct flight *fl = ctx;

	if (!fl->dead && fl->state == FLIGHT_SEAL && fl->offer == OFFER_UNPROVEN)
		flight_proven(fl);
}

static void seal_look(struct work *w)
{
	struct view v = view_of_fd(draft_fd(w->draft), draft_size(w->draft));
	struct obj_slice slice;
	struct err e = {0};

	if (obj_check(&v, &w->fl->own, &slice, &e) != 1 || slice.size != draft_size(w->draft))
		return;
	learn_early(w->fl->f, &slice, &w->fl->own);
	net_post(w->fl->f->net, let_in, w->fl); /* before work_back(): the flight lives */
}

static void seal_run(struct work *w)
{
	struct err e = {0};

	if (w->offered)
		seal_look(w);
	w->r = w->packing ? seal_unpack(w, &e) : 0;
	if (w->r == 0)
		w->r = seal_publish(w, &e);
	/* At once: who finds it in the store from now on should hear whose bytes these were. */
	if (w->r == 0 && w->blob && w->part)
		was_add(w->fl->f, w->part, blob_number(w->blob));
	snprintf(w->text, sizeof(w->text), "%.390s", e.text[0] ? e.text : err_text(w->r));
	if (w->r == -ESTALE && learn_find(w->fl->f, &w->fl->own, &w->blob, &w->own) == 0) {
		w->beaten = true;
		w->r = 0;
	}
}

/* The user added another file for the key: that is the answer, but not for readers of what was downloaded. */
static void seal_beaten(struct work *w)
{
	log_info("%s: other bytes are pinned in the store: the download is dropped", w->fl->canon);
	if (!w->fl->dead)
		version_drop(w->fl, false, false, -EIO);
}

static void seal_back(struct work *w)
{
	struct flight *fl = w->fl;
	struct fetched a = {.key = w->own, .blob = w->blob, .why = ""};

	if (w->beaten) {
		seal_beaten(w);
	} else if (w->r == 0 && w->blob) {
		atomic_fetch_add(&fl->f->stats.published, 1);
		log_debug(LOG_FETCH, "%s: stored, %llu bytes from %s%s%s", fl->canon,
			(unsigned long long)blob_size(w->blob), w->facts.source,
			w->packing ? ", unpacked from " : "",
			w->packing ? packing_name(w->packing) : "");
	}
	if (fl->dead)
		return;
	if (w->bad) {
		winner_fail(fl, w->r, w->text);
	} else if (w->r < 0) {
		log_error("%s: %s", fl->canon, w->text);
		flight_fail(fl, w->r, w->text);
	} else {
		a.size = blob_size(w->blob);
		flight_finish(fl, &a);
	}
}

void work_seal(struct flight *fl)
{
	struct work *w = work_new(fl, seal_run, seal_back);
	_cleanup_buf_ struct buf url = BUF_UP_TO(8192);

	fl->state = FLIGHT_SEAL;
	flight_unpark(fl); /* nothing is left to wait for: it must not make room for others */
	if (!w) {
		out_of_memory(fl);
		return;
	}
	if (fl->draft && !fl->sparse && !fl->winner->packing)
		flight_offer(fl);
	w->offered = fl->offer == OFFER_UNPROVEN;
	w->draft = take(fl->draft);
	w->sparse = take(fl->sparse);
	w->part = fl->part ? part_number(fl->part) : 0;
	w->winner = fl->winner;
	w->packing = fl->winner->packing;
	w->size = fetch_most(fl->f, fl->winner->source);
	w->facts.fetched = fl->part ? part_time(fl->part) : clock_wall();
	snprintf(w->facts.source, sizeof(w->facts.source), "%s", fl->winner->source->name);
	url_without_credentials(fl->winner->ask.where, &url);
	snprintf(w->facts.url, sizeof(w->facts.url), "%s", buf_text(&url));
	if (work_start(w) < 0)
		out_of_memory(fl);
}

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

/* ---- misses: of every source that said no ------------------------------------------- */

/* Of the key that was asked for, and of the name by which it was. */
static void miss_add(struct flight *fl, const struct attempt *at)
{
	const char *name = layout_name_of(at->source->layout, &fl->what);
	struct key shown = fl->key;

	if (*name)
		snprintf(shown.name, sizeof(shown.name), "%s", name);
	if (!key_equal(&shown, &fl->key))
		shown = fl->key;
	store_miss_add(fl->f->store, &shown, name, at->source->memory, at->source->o.miss_seconds,
		"not there");
}

static void misses_run(struct work *w)
{
	struct flight *fl = w->fl;

	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		/* The race is over: nothing of an attempt changes while this runs. */
		if (at->state == ATTEMPT_MISSING && !at->remembered)
			miss_add(fl, at);
	}
	/* Another process may have got it meanwhile, from where we did not, or `symfs add` brought it. */
	w->own = fl->own;
	if (fl->end_error)
		learn_find(fl->f, &fl->own, &w->blob, &w->own);
}

static void misses_back(struct work *w)
{
	struct fetched a = {.key = w->own, .blob = w->blob, .why = ""};

	if (w->fl->dead)
		return;
	if (!w->blob) {
		race_over(w->fl);
		return;
	}
	a.size = blob_size(w->blob);
	flight_finish(w->fl, &a);
}

void work_misses(struct flight *fl)
{
	struct work *w = work_new(fl, misses_run, misses_back);

	fl->state = FLIGHT_MISS;
	if (!w || work_start(w) < 0)
		out_of_memory(fl);
}
