/* The last phase of a download: judges the whole file, and publishes it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/job.h"

#include <stdio.h>

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
