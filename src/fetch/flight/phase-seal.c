/* The last phase of a download: judges the whole file, and publishes it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/job.h"

#include <stdio.h>
#include <string.h>

static void seal_start(struct flight *fl);

/* ---- merge: fills the sparse file from the draft, which was compared with its blocks ------------------- */

struct merge_job {
	struct job job;
	struct sparse *sparse;
	struct draft *draft;
	int r;
};

static void merge_run(struct job *j)
{
	struct merge_job *m = (struct merge_job *)j;
	const size_t room = 1 << 20;
	_cleanup_free_ char *p = malloc(room);
	uint64_t size = sparse_size(m->sparse);
	struct sparse_hole h;

	m->r = p ? 0 : -ENOMEM;
	while (m->r == 0 && sparse_missing(m->sparse, 0, size, &h)) {
		ssize_t n = pread(draft_fd(m->draft), p, (size_t)MIN(h.n, room), (off_t)h.off);

		m->r = n > 0 ? sparse_write(m->sparse, h.off, p, (size_t)n) : n < 0 ? -errno : -EIO;
	}
}

static void merge_back(struct job *j)
{
	struct merge_job *m = (struct merge_job *)j;
	struct flight *fl = j->flight;

	if (flight_is_over(fl))
		return;
	if (m->r < 0) {
		log_error("%s: cannot be stored: %s", fl->canon, err_text(m->r));
		flight_say(fl, (struct event){SAID_FAILED, .error = m->r, .text = "the store cannot be written"});
		return;
	}
	if (fl->readers.part)
		part_advance(fl->readers.part, 0);
	seal_start(fl);
}

static void merge_free(struct job *j)
{
	struct merge_job *m = (struct merge_job *)j;

	sparse_unref(m->sparse);
	draft_discard(m->draft);
	free(m);
}

static const struct job_kind merge_kind = {merge_run, merge_back, merge_free};

static void merge_start(struct flight *fl)
{
	struct merge_job *m = calloc(1, sizeof(*m));

	if (m) {
		m->sparse = sparse_ref(fl->body.file);
		body_take(fl, &m->draft, NULL);
	}
	if (!m || job_start(&m->job, fl, &merge_kind) < 0)
		flight_say_no_memory(fl);
}

/* ---- seal: checks the file, and publishes it ----------------------------------------------------------- */

struct seal_job {
	struct job job;
	struct attempt *winner;
	struct draft *draft;   /* the file; NULL: it is in `sparse` */
	struct sparse *sparse;
	const struct packing *packing; /* of `draft`; NULL: it is not packed */
	uint64_t most;	       /* size limit of the unpacked file, in bytes; 0: no limit */
	uint64_t part;	       /* part_number() of the readers' part; 0: no part */
	bool offered;	       /* readers are let in as soon as the file is identified */
	struct blob_facts facts;
	char digest[SHA256_TEXT]; /* SHA-256 that the file must have; "": not known */
	bool may_improve;	/* another source may have a better file */
	int64_t better_seconds; /* seconds for which to remember that no better file exists */
	/* results */
	int r;
	bool bad;    /* the file is not what was asked for */
	bool beaten; /* meanwhile another file got the key, and is as good or pinned: `blob` is that file */
	struct blob *blob;
	struct key own;
	char text[400];
};

/* Replaces the draft by a draft of the unpacked file. */
static int seal_unpack(struct seal_job *s, struct err *e)
{
	struct draft *inside;
	int r = packed_open(s->job.flight->f, s->packing, draft_fd(s->draft), draft_size(s->draft), s->most,
		&inside, e);

	s->bad = r == -EBADMSG || r == -EFBIG;
	if (r < 0)
		return r;
	draft_discard(s->draft);
	s->draft = inside;
	return 0;
}

static struct view view_of_all(const struct seal_job *s)
{
	return s->sparse ? view_of_fd(sparse_fd(s->sparse), sparse_size(s->sparse))
			 : view_of_fd(draft_fd(s->draft), draft_size(s->draft));
}

/* Whether the file has the SHA-256 by which the bucket names it. */
static int seal_digest(struct seal_job *s, struct err *e)
{
	char is[SHA256_TEXT];
	int r = s->sparse ? sha256_of_fd(sparse_fd(s->sparse), sparse_size(s->sparse), is)
			  : sha256_of_fd(draft_fd(s->draft), draft_size(s->draft), is);

	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	s->bad = strcmp(is, s->digest) != 0;
	if (s->bad && s->sparse)
		sparse_drop(s->sparse);
	return s->bad ? err_set(e, -EBADMSG, "its SHA-256 is not the one in the object's name") : 0;
}

/* Whether the file's type is not the one asked for. If so, publishes the file for requests of its own type. */
static bool seal_other(struct seal_job *s, struct err *e)
{
	struct flight *fl = s->job.flight;
	struct view v = view_of_all(s);
	struct key own;

	if (!is_other_use(s->winner, &fl->own, &v, &own))
		return false;
	if (s->sparse)
		sparse_drop(s->sparse);
	else
		learn_publish(fl->f, take(s->draft), &own, &s->facts, NULL, NULL);
	err_set(e, -ENOENT, "has only %s there", filetypes[own.type].name);
	return true;
}

/* Publishes a copy of the sparse file, because the original was removed from the store while it was filled, or was
 * published for a request by another of its keys. */
static int publish_copy(struct seal_job *s, struct err *e)
{
	struct flight *fl = s->job.flight;
	struct draft *d;
	int r = draft_new(&d, fl->f->store, e);

	if (r < 0)
		return r;
	r = draft_copy(d, sparse_fd(s->sparse), 0, sparse_size(s->sparse));
	if (r < 0) {
		draft_discard(d);
		return err_set(e, r, "%s", err_text(r));
	}
	return learn_publish(fl->f, d, &fl->own, &s->facts, &s->blob, e);
}

static int finish_sparse(struct seal_job *s, struct err *e)
{
	struct flight *fl = s->job.flight;
	int r = learn_finish(fl->f, s->sparse, &fl->own, &s->facts, &s->blob, e);

	return (r == -ESTALE || r == -EALREADY) && sparse_is_full(s->sparse) ? publish_copy(s, e) : r;
}

static int seal_publish(struct seal_job *s, struct err *e)
{
	struct flight *fl = s->job.flight;
	struct fetch *f = fl->f;
	const struct key *k = &fl->own;
	struct draft *d;
	int r;

	if (seal_other(s, e)) {
		s->bad = true;
		return -ENOENT;
	}
	d = take(s->draft);
	r = s->sparse ? finish_sparse(s, e)
		: s->packing ? packed_publish(f, s->packing, d, k, &s->facts, &s->blob, e)
			     : learn_publish(f, d, k, &s->facts, &s->blob, e);

	s->bad = r == -EBADMSG;
	if (s->bad && s->sparse)
		sparse_drop(s->sparse);
	if (r == 0)
		store_main_key(f->store, k, &s->own);
	return r == -ENOENT ? -EIO : r; /* an error of the store; -ENOENT would look like a miss */
}

static void seal_proven(void *flight)
{
	struct flight *fl = flight;

	if (!flight_is_over(fl) && fl->phase == FLIGHT_SEAL)
		flight_say(fl, (struct event){SAID_PROVEN});
}

/* Identifies the whole file, so that readers need not wait until it is synced to disk. */
static void seal_prove(struct seal_job *s)
{
	struct flight *fl = s->job.flight;
	struct view v = view_of_all(s);
	struct obj_slice slice;
	struct err e = {0};

	if (obj_check(&v, &fl->own, &slice, &e) != 1 || slice.size != draft_size(s->draft))
		return;
	slice.worth.made = blob_is_made(&s->facts);
	if (s->may_improve && !worth_suffices(&slice.worth, fl->own.type))
		return;
	learn_early(fl->f, &slice, &fl->own);
	atomic_store(&fl->body.poor, !worth_suffices(&slice.worth, fl->own.type));
	job_tell(&s->job, seal_proven);
}

static void seal_run(struct job *j)
{
	struct seal_job *s = (struct seal_job *)j;
	struct flight *fl = j->flight;
	struct err e = {0};

	s->r = s->digest[0] ? seal_digest(s, &e) : 0;
	if (s->r == 0 && s->offered)
		seal_prove(s);
	if (s->r == 0 && s->packing)
		s->r = seal_unpack(s, &e);
	if (s->r == 0)
		s->r = seal_publish(s, &e);
	if (s->r == 0 && s->blob)
		better_remember(fl, s->blob, s->better_seconds);
	/* Do this at once: a request that now finds the file in the store must get the part_number() of its
	 * download. */
	if (s->r == 0 && s->blob && s->part)
		was_add(fl->f, s->part, blob_number(s->blob));
	snprintf(s->text, sizeof(s->text), "%.390s", e.text[0] ? e.text : err_text(s->r));
	if (s->r == -ESTALE && learn_find(fl->f, &fl->own, &s->blob, &s->own) == 0) {
		s->beaten = true;
		s->r = 0;
	}
}

static void seal_log(const struct seal_job *s)
{
	if (s->beaten) {
		log_info("%s: another process stored a file that is as good: the download is dropped",
			s->job.flight->canon);
	} else if (s->r == 0 && s->blob) {
		atomic_fetch_add(&s->job.flight->f->stats.published, 1);
		log_debug(LOG_FETCH, "%s: stored, %llu bytes from %s%s%s", s->job.flight->canon,
			(unsigned long long)blob_size(s->blob), s->facts.source,
			s->packing ? ", unpacked from " : "", s->packing ? packing_name(s->packing) : "");
	}
}

static void seal_back(struct job *j)
{
	struct seal_job *s = (struct seal_job *)j;
	struct flight *fl = j->flight;

	seal_log(s);
	if (flight_is_over(fl))
		return;
	if (s->bad) {
		flight_say(fl, (struct event){SAID_BODY_FAILED, .error = s->r, .text = s->text});
	} else if (s->r < 0) {
		log_error("%s: %s", fl->canon, s->text);
		flight_say(fl, (struct event){SAID_FAILED, .error = s->r, .text = s->text});
	} else {
		flight_say(fl, (struct event){s->beaten ? SAID_BEATEN : SAID_HERE, .key = &s->own, .blob = s->blob});
	}
}

static void seal_free(struct job *j)
{
	struct seal_job *s = (struct seal_job *)j;

	blob_unref(s->blob);
	draft_discard(s->draft);
	sparse_unref(s->sparse);
	free(s);
}

static const struct job_kind seal_kind = {seal_run, seal_back, seal_free};

static void seal_start(struct flight *fl)
{
	struct seal_job *s;
	_cleanup_buf_ struct buf url = BUF_UP_TO(8192);

	if (fl->body.draft && fl->body.file) {
		merge_start(fl);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		flight_say_no_memory(fl);
		return;
	}
	s->offered = fl->readers.offer == OFFER_UNPROVEN;
	body_take(fl, &s->draft, &s->sparse);
	s->part = fl->readers.part ? part_number(fl->readers.part) : 0;
	s->winner = fl->body.winner;
	s->packing = fl->body.winner->answer.packing;
	memcpy(s->digest, fl->body.winner->lead.digest, sizeof(s->digest));
	s->most = fetch_most(fl->f, fl->body.winner->source);
	s->may_improve = better_is_possible(fl);
	s->better_seconds = better_seconds(fl);
	s->facts.modified = body_modified(fl);
	s->facts.fetched = fl->readers.part ? part_time(fl->readers.part) : clock_wall();
	snprintf(s->facts.source, sizeof(s->facts.source), "%s", fl->body.winner->source->name);
	url_without_credentials(fl->body.winner->ask.where, &url);
	snprintf(s->facts.url, sizeof(s->facts.url), "%s", buf_text(&url));
	if (fl->body.winner->answer.made[0])
		blob_set_maker(&s->facts, fl->body.winner->answer.made);
	if (job_start(&s->job, fl, &seal_kind) < 0)
		flight_say_no_memory(fl);
}

const struct phase phase_seal = {seal_start, NULL};
