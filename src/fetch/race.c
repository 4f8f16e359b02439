/* The race of the sources for one key: all are asked at once, the first in order that has it
 * wins, and what it sends is believed only when it was checked. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight.h"
#include "source/ptr.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_MS 50 /* and up to three times as much more, so that not all come at once */

#define REST_MS 1000 /* for a source that broke off to send the rest, while another has other bytes */

static void attempt_start(struct attempt *at);
static ptr_followed ptr_led;

/* ---- wrong files, remembered in memory ---------------------------------------------- */

static uint64_t asked_for(const struct attempt *at)
{
	return seen_number(at->flight->number, at->source, &at->ask);
}

static const struct mismatch *mismatch_find(const struct attempt *at)
{
	struct fetch *f = at->flight->f;
	uint64_t now = clock_ms(), asked = asked_for(at);

	for (size_t i = 0; i < MISMATCHES; i++) {
		const struct mismatch *m = &f->mismatches[i];

		if (m->asked == asked && m->until > now)
			return m;
	}
	return NULL;
}

void attempt_set_aside(const struct attempt *at, int error, const char *text)
{
	struct fetch *f = at->flight->f;
	struct mismatch *m = &f->mismatches[f->next_mismatch++ % MISMATCHES];

	*m = (struct mismatch){clock_ms() + MISMATCH_MS, asked_for(at), error, ""};
	snprintf(m->text, sizeof(m->text), "%.190s", text);
}

static void mismatch_add(const struct attempt *at, int error, const char *text)
{
	attempt_set_aside(at, error, text);
	atomic_fetch_add(&at->flight->f->stats.mismatches, 1);
	log_warn("%s: source %s sent %s: %s", at->flight->canon, at->source->name,
		error == -EFBIG ? "too much" : "the wrong file", text);
}

/* ---- one source --------------------------------------------------------------------- */

void attempt_release(struct attempt *at)
{
	source_ask_release(&at->ask);
	buf_release(&at->ptr);
	blob_unref(take(at->blob));
	symstore_known_release(&at->facts);
	symstore_wait_stop(&at->wait);
}

/* It is not asked, because of an answer that it gave before. */
static void attempt_skip(struct attempt *at, int error, const char *text)
{
	at->state = ATTEMPT_FAILED;
	at->error = error;
	snprintf(at->text, sizeof(at->text), "%.190s", text);
	log_debug(LOG_FETCH, "%s: %s: %s", at->flight->canon, at->source->name, at->text);
}

static void attempt_fail(struct attempt *at, int error, const char *text)
{
	attempt_skip(at, error, text);
	seen_add(at->flight->f, asked_for(at), error, at->text);
}

static void blame_host(struct attempt *at, const struct judgement *j, const struct net_reply *r)
{
	uint64_t hold = r->retry_after > 0 ? (uint64_t)r->retry_after * 1000 : 0;

	breaker_tell(at->flight->f->breakers, at->source->origin, clock_ms(), j, hold);
}

/* Retry a transient error once, silently: neither the breaker nor the caller hears of it. Only for a host
 * that has been healthy, so that a flaky one does not cost every caller a second wait. */
static bool wants_again(struct attempt *at, const struct judgement *j)
{
	if (!j->again || at->retried ||
		!breaker_well(at->flight->f->breakers, at->source->origin))
		return false;
	at->retried = at->again = true;
	at->error = j->error;
	snprintf(at->text, sizeof(at->text), "%.190s", j->text);
	log_debug(LOG_FETCH, "%s: %s: %s: once more", at->flight->canon, at->source->name, j->text);
	return true;
}

static void again_now(void *ctx)
{
	struct attempt *at = ctx;

	attempt_start(at);
	race_look_soon(at->flight);
}

static void attempt_again(struct attempt *at)
{
	uint64_t mixed[] = {at->asked, at->flight->number, (uint64_t)getpid()};
	unsigned jitter = (unsigned)(hash_mix(mixed, sizeof(mixed)) % (3 * AGAIN_MS));

	at->again = false;
	at->state = ATTEMPT_ASKING;
	net_timer_set(at->flight->f->net, &at->later, AGAIN_MS + jitter, again_now, at);
}

/* Who may not have it should know: a key is wrong, or has run out. Not for each of many files. */
static void refused_tell(struct attempt *at, const char *text)
{
	struct fetch *f = at->flight->f;
	const char *name = at->source->name;
	uint64_t *until = &f->refused_until[hash_mix(name, strlen(name)) % REFUSED_SLOTS];

	if (*until > clock_ms())
		return;
	*until = clock_ms() + REFUSED_MS;
	log_warn("%s: source %s refuses: %s", at->flight->canon, name, text);
}

/* It answers, but its first range never comes: perhaps the whole does. */
static bool tries_plain(struct attempt *at, const struct net_reply *r)
{
	if (!at->asked_range || at->plain || !at->answered || r->error == -ECANCELED || r->error == -EBADMSG)
		return false;
	at->plain = at->again = true;
	return true;
}

/* The rest of what broke off, of the same version: then it is as good as the whole. */
static bool is_the_rest(const struct attempt *at, const struct net_reply *r)
{
	const struct flight *fl = at->flight;

	return at->asked_from && r->status == 206 && r->range_start == (int64_t)at->asked_from &&
		r->range_total == (int64_t)part_size(fl->part) &&
		same_version(fl, r);
}

/* A range of something else than the rest: some servers ignore If-Range. */
static bool is_other_version(const struct attempt *at, const struct net_reply *r)
{
	const struct flight *fl = at->flight;

	return at->asked_from && r->status == 206 &&
		(r->range_total != (int64_t)part_size(fl->part) || !same_version(fl, r));
}

static void attempt_stale(struct attempt *at)
{
	at->stale = true;
	attempt_fail(at, -ESTALE, "it has another version of what is being read");
}

/* The first bytes that were asked for, of a file that goes on; or all of a short one. */
static bool is_the_first(const struct attempt *at, const struct net_reply *r)
{
	return at->asked_range && r->status == 206 && r->range_start == 0 && r->range_total > 0 &&
		r->size == MIN(r->range_total, (int64_t)EARLY_BYTES);
}

/* Later ranges could not be told to be of the same version: it is asked for as a whole at once. */
static bool is_no_use(struct attempt *at, const struct net_reply *r)
{
	uint64_t most = fetch_most(at->flight->f, at->source);
	bool versioned = (r->etag[0] && strncmp(r->etag, "W/", 2) != 0) || r->modified[0];

	if (!at->asked_range || (r->status != 416 && r->status != 206))
		return false;
	if (is_the_first(at, r) && most && (uint64_t)r->range_total > most)
		return true; /* and then it is too large */
	if (is_the_first(at, r) && (versioned || r->range_total <= EARLY_BYTES))
		return false;
	if (r->status == 206)
		ranges_refuse(at->flight->f, at->source);
	return true;
}

static int attempt_head(void *ctx, const struct net_reply *reply)
{
	struct attempt *at = ctx;
	struct net_reply rest;
	const struct net_reply *r = reply;
	struct judgement j;

	at->answered = true;
	if (is_no_use(at, r)) {
		at->plain = at->again = true;
		return -ECANCELED;
	}
	if (is_other_version(at, r)) {
		at->verdict_set = true;
		attempt_stale(at);
		return -ECANCELED;
	}
	at->ranged = is_the_first(at, r);
	if (at->asked_range && r->status == 200 && r->size > EARLY_BYTES)
		ranges_refuse(at->flight->f, at->source);
	if (at->ranged || is_the_rest(at, r)) {
		rest = *r;
		rest.status = 200;
		rest.size = r->range_total;
		r = &rest;
		at->from = at->ranged ? 0 : at->asked_from;
		if (at->ranged && rest.size <= EARLY_BYTES)
			at->ranged = false; /* this is all of it */
	}
	source_judge(at->source, r, &j);
	at->size = r->size;
	snprintf(at->etag, sizeof(at->etag), "%s", r->etag);
	snprintf(at->modified, sizeof(at->modified), "%s", r->modified);
	at->verdict_set = j.verdict != VERDICT_FOUND;
	if (wants_again(at, &j))
		return r->status >= 400 ? 0 : -ECANCELED;
	blame_host(at, &j, r);
	if (j.verdict == VERDICT_FOUND)
		return 0;
	if (j.verdict == VERDICT_REFUSED)
		refused_tell(at, j.text);
	/* A miss is one of this spelling: until attempt_done() tried the others, the source is
	 * still being asked, and nobody may conclude that it has nothing. */
	if (j.verdict != VERDICT_MISSING)
		attempt_fail(at, j.error, j.text);
	else
		seen_add(at->flight->f, asked_for(at), j.error, j.text);
	return r->status >= 400 ? 0 : -ECANCELED;
}

/* What was here before one broke off is compared, so that versions are never mixed: -ESTALE. */
static int same_bytes(struct flight *fl, uint64_t off, const void *p, size_t n)
{
	int fd = fl->sparse ? sparse_fd(fl->sparse) : draft_fd(fl->draft);
	const char *new = p;
	char old[4096];

	while (n) {
		size_t step = MIN(n, sizeof(old));
		ssize_t got = pread(fd, old, step, (off_t)off);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		if (memcmp(old, new, (size_t)got) != 0)
			return -ESTALE;
		off += (size_t)got;
		new += got;
		n -= (size_t)got;
	}
	return 0;
}

/* What is here of a file with holes is compared, block by block; all goes into a draft, and what was
 * missing is shown when every block was compared: a later one may tell that this is another version. */
static int keep_aside(struct flight *fl, uint64_t off, const void *p, size_t n)
{
	const char *at = p;
	uint64_t to = off;
	int r = 0;

	if (off > sparse_size(fl->sparse) || n > sparse_size(fl->sparse) - off)
		return -ESTALE;
	for (size_t left = n; left && r == 0;) {
		size_t step = MIN(left, (size_t)(SPARSE_BLOCK - to % SPARSE_BLOCK));

		/* Of a block that is not whole, pages may have been read. */
		if (!sparse_has(fl->sparse, to, step))
			step = MIN(step, (size_t)(AHEAD_PAGE - to % AHEAD_PAGE));
		if (sparse_has_pieces(fl->sparse, to, step))
			r = same_bytes(fl, to, at, step);
		to += step;
		at += step;
		left -= step;
	}
	return r < 0 ? r : draft_write(fl->draft, off, p, n);
}

static int keep(struct flight *fl, uint64_t off, const void *p, size_t n)
{
	uint64_t have = flight_here(fl);
	size_t old = off < have ? (size_t)MIN(n, have - off) : 0;
	int r;

	if (fl->sparse)
		return keep_aside(fl, off, p, n);
	r = same_bytes(fl, off, p, old);

	if (r == 0 && fl->part && n > part_size(fl->part) - MIN(off, part_size(fl->part)))
		return -ESTALE;
	return r < 0 || n == old ? r : draft_write(fl->draft, off + old, (const char *)p + old, n - old);
}

/* The bytes of the winner go into the draft. */
static int winner_body(struct attempt *at, uint64_t off, const void *p, size_t n)
{
	struct flight *fl = at->flight;
	int r;

	if (fl->making_room || (fl->parked && flight_here(fl) >= PARK_BYTES))
		return -EAGAIN;
	r = keep(fl, at->from + off, p, n);
	if (r == -ENOSPC && body_make_room(fl, n) == 0)
		return -EAGAIN;
	if (r == -ESTALE)
		return r;
	if (r < 0) {
		fl->disk_error = r;
		return r;
	}
	atomic_fetch_add(&fl->f->stats.bytes, n);
	if (fl->part)
		part_advance(fl->part, flight_here(fl));
	if (!fl->early_done && !fl->sparse && flight_here(fl) >= fl->early_at)
		body_identify(fl);
	return 0;
}

/* Of a fat file one slice is served, and how long it is stands in a table that is not read yet. No
 * other file that is served begins so. */
static bool is_fat(const uint8_t head[static OBJ_HEAD])
{
	return memcmp(head, "\xca\xfe\xba", 3) == 0;
}

/* Programs and their debug files begin alike. */
static uint32_t alike(const void *head, size_t n)
{
	uint32_t bits = 0;

	for (unsigned t = 0; t < FILETYPES; t++)
		if (filetype_row(t)->twin != FILETYPE_NONE && obj_may_be(t, head, n))
			bits |= 1u << t;
	return bits;
}

/* By its first bytes, which are more than OBJ_HEAD unless it is shorter. */
static bool may_win(struct attempt *at, const void *head, size_t n, bool all)
{
	enum filetype t = at->flight->key.type;
	uint8_t inside[OBJ_HEAD];

	at->packing = packed_as(t, head, n);
	if (at->packing) {
		n = packed_inside(at->packing, head, n, all, inside);
		head = inside;
		at->unsure = !n;
		if (at->unsure)
			return true;
	}
	at->may_be = alike(head, n);
	return obj_may_be(t, head, n);
}

/* Before the election, as few bytes are taken as show what kind of file it is. */
static int attempt_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct attempt *at = ctx;
	uint8_t head[HEAD_MOST]; /* what is packed shows more when more is there */

	if (at->state == ATTEMPT_WON)
		return winner_body(at, off, p, n);
	if (at->ask.ptr)
		return at->ptr.n + n > PTR_MOST ? -EBADMSG : buf_add(&at->ptr, p, n);
	if (at->state == ATTEMPT_PROMISING)
		return -EAGAIN;
	if (at->from) { /* the first bytes were seen long ago */
		at->state = ATTEMPT_PROMISING;
		race_look_soon(at->flight);
		return -EAGAIN;
	}
	if (at->head_n + n < OBJ_HEAD) {
		memcpy(at->head + at->head_n, p, n);
		at->head_n += n;
		return 0;
	}
	memcpy(head, at->head, at->head_n);
	n = MIN(n, sizeof(head) - at->head_n);
	memcpy(head + at->head_n, p, n);
	n += at->head_n;
	if (!may_win(at, head, n, at->size >= 0 && (uint64_t)at->size == n))
		return -EBADMSG;
	at->parted = is_fat(head);
	at->state = ATTEMPT_PROMISING;
	race_look_soon(at->flight);
	return -EAGAIN;
}

/* Words for a body that cannot be what was asked for. */
static void mismatch_head(struct attempt *at)
{
	struct view v = view_of_mem(at->head, at->head_n);
	struct obj_slice slice;
	struct err e = {0};

	obj_check(&v, &at->flight->own, &slice, &e);
	mismatch_add(at, -EBADMSG, e.text[0] ? e.text : "not a file of the kind that was asked for");
	attempt_fail(
		at, -EBADMSG, e.text[0] ? e.text : "not a file of the kind that was asked for");
}

/* A body so short that the election has all of it. */
static void short_body(struct attempt *at)
{
	if (at->state == ATTEMPT_PROMISING)
		return;
	if (at->ask.ptr) {
		ptr_follow(at, ptr_led);
		return;
	}
	if (!may_win(at, at->head, at->head_n, true)) {
		mismatch_head(at);
		return;
	}
	at->whole = true;
	at->state = ATTEMPT_PROMISING;
}

static void winner_done(struct attempt *at, const struct net_reply *r)
{
	struct flight *fl = at->flight;
	struct judgement j;

	if (fl->disk_error) {
		log_error("%s: the store: %s", fl->canon, err_text(fl->disk_error));
		flight_fail(fl, fl->disk_error, "the store cannot be written");
	} else if (r->error == -ESTALE || (fl->part && r->error == 0 &&
			draft_size(fl->draft) != part_size(fl->part))) {
		winner_fail(fl, -ESTALE, "it has another version of what is being read");
	} else if (r->error < 0) {
		/* Each break may have its second try, as long as they get on. */
		if (fl->part && flight_here(fl) > fl->broke_at)
			at->retried = false;
		source_judge(at->source, r, &j);
		if (!wants_again(at, &j) && !(at->ranged && tries_plain(at, r)))
			blame_host(at, &j, r);
		fl->broke = j.error;
		snprintf(fl->broke_text, sizeof(fl->broke_text), "%.190s", j.text);
		if (!fl->looking)
			winner_broke(fl);
	} else if (at->ranged && flight_here(fl) < fl->size && !at->packing && !at->parted) {
		ranges_begin(fl);
	} else if (at->ranged && flight_here(fl) < (uint64_t)at->size) {
		/* What is packed, or holds several, is needed as a whole. */
		at->plain = at->again = true;
		winner_fail(fl, -EREMOTEIO, "its first bytes say that all are needed");
	} else {
		flight_say(fl, (struct event){SAID_ALL});
	}
}

static void attempt_done(void *ctx, const struct net_reply *r)
{
	struct attempt *at = ctx;
	struct judgement j;

	at->transfer = NULL;
	if (at->state == ATTEMPT_WON) {
		winner_done(at, r);
		return;
	}
	if (at->again) {
		attempt_again(at);
	} else if (at->verdict_set) {
		if (at->state == ATTEMPT_ASKING) {
			at->spelling++;
			attempt_start(at);
		}
	} else if (r->error == -EBADMSG) {
		mismatch_add(at, -EBADMSG, "its first bytes are of another kind of file");
		attempt_fail(at, -EBADMSG, "its first bytes are of another kind of file");
	} else if (r->error < 0) {
		source_judge(at->source, r, &j);
		if (wants_again(at, &j) || tries_plain(at, r)) {
			attempt_again(at);
			return;
		}
		blame_host(at, &j, r);
		/* A length that is told costs nothing to hear again. */
		if (j.error == -EFBIG && at->state == ATTEMPT_PROMISING)
			mismatch_add(at, j.error, j.text);
		attempt_fail(at, j.error, j.text);
	} else {
		short_body(at);
	}
	race_look_soon(at->flight);
}

static const struct net_sink sink = {attempt_head, attempt_body, attempt_done};

/* May this source be asked for this key now? Else it has failed, and says why. */
static bool may_ask(struct attempt *at)
{
	const struct mismatch *m = mismatch_find(at);
	char why[240];

	if (at->stale) {
		attempt_skip(at, -ESTALE, "it has another version of what is being read");
		return false;
	}
	if (m) {
		attempt_skip(at, m->error, m->text);
		return false;
	}
	/* Who reads a file cannot do without the rest of it. */
	if (at->flight->part ||
		breaker_may(at->flight->f->breakers, at->source->origin, clock_ms(), why))
		return true;
	attempt_skip(at, breaker_error(at->flight->f->breakers, at->source->origin), why);
	return false;
}

/* From where it stopped, if it is still the same version there. Without a strong validator nobody
 * could tell, and all of it comes anew. */
static int ask_for_the_rest(struct attempt *at, struct net_req *req)
{
	const struct flight *fl = at->flight;
	bool strong = fl->first_etag[0] && strncmp(fl->first_etag, "W/", 2) != 0;
	char line[256];
	int r;

	at->from = at->asked_from = 0;
	at->ranged = false;
	at->asked_range = !fl->part && ranges_wanted(at);
	if (at->asked_range) {
		req->coded = true; /* some have no other */
		snprintf(line, sizeof(line), "Range: bytes=0-%u", EARLY_BYTES - 1);
		return source_add_header(req, line);
	}
	if (!fl->part || fl->sparse || at->source != fl->first || !fl->first_where || !at->ask.where ||
		strcmp(at->ask.where, fl->first_where) != 0 || !(strong || fl->first_modified[0]))
		return 0;
	snprintf(line, sizeof(line), "If-Range: %s", strong ? fl->first_etag : fl->first_modified);
	r = source_add_header(req, line);
	snprintf(line, sizeof(line), "Range: bytes=%llu-", (unsigned long long)flight_here(fl));
	if (r == 0)
		r = source_add_header(req, line);
	at->asked_from = flight_here(fl);
	return r;
}

/* Servers that lead to each other shall notice. */
static int tell_hops(struct attempt *at, struct net_req *req)
{
	char line[ARTIFACT_VIA + 16];

	if (!at->flight->asked.via[0])
		return 0;
	snprintf(line, sizeof(line), "X-Symfs-Via: %s", at->flight->asked.via);
	return source_add_header(req, line);
}

static int attempt_request(struct attempt *at)
{
	struct fetch *f = at->flight->f;
	struct net_req req;
	int r = source_request(at->source, &at->ask, &req);

	if (r < 0)
		return r;
	if (!req.most)
		req.most = f->opts.max_file_size;
	req.rank = NET_FIRST;
	r = tell_hops(at, &req);
	if (r == 0)
		r = ask_for_the_rest(at, &req);
	if (r < 0) {
		net_req_release(&req);
		return r;
	}
	r = net_get(f->net, &req, &sink, at, &at->transfer);
	net_req_release(&req);
	if (r == 0)
		atomic_fetch_add(&f->stats.requests, 1);
	return r;
}

/* No spelling is left. */
static void attempt_exhausted(struct attempt *at)
{
	int r = symstore_after(&at->wait, &at->facts, at->spelling > 0, at->text);

	if (r == -EINPROGRESS)
		return;
	if (r == 1) {
		at->spelling = 0;
		attempt_start(at);
	} else if (r < 0) {
		char text[200];

		snprintf(text, sizeof(text), "%s", at->text);
		attempt_fail(at, r, text);
	} else {
		at->state = ATTEMPT_MISSING;
	}
}

/* What the attempt waited for is known, or cannot be known. */
static void attempt_waited(struct symstore_wait *w)
{
	struct attempt *at = (struct attempt *)((char *)w - offsetof(struct attempt, wait));

	attempt_start(at);
	race_look_soon(at->flight);
}

/* Asks for the current spelling, or finds that there is none left. */
static void attempt_start(struct attempt *at)
{
	int r;

	at->answered = at->verdict_set = at->whole = at->parted = at->unsure = at->again = false;
	buf_release(&at->ptr);
	at->ptr = BUF_UP_TO(PTR_MOST + 1);
	at->job++;
	at->packing = NULL;
	at->may_be = 0;
	at->head_n = 0;
	at->asked = clock_ms();
	source_ask_release(&at->ask);
	at->state = ATTEMPT_ASKING;
	if (at->spelling == 0) {
		symstore_wait_stop(&at->wait);
		at->wait = (struct symstore_wait){at->flight->f, at->flight->sources, at->source, attempt_waited};
		if (symstore_before(&at->wait, at->text))
			return;
		symstore_known_release(&at->facts);
		at->facts = symstore_known(at->flight->f, at->source);
	}
	r = source_plan(at->source, &at->facts, &at->flight->what, at->spelling, &at->ask);
	if (r == -ENOENT) {
		attempt_exhausted(at);
		return;
	}
	if (r == 0 && !may_ask(at))
		return;
	if (r == 0)
		r = attempt_request(at);
	if (r < 0) {
		breaker_unheard(at->flight->f->breakers, at->source->origin);
		attempt_fail(at, r, err_text(r));
	} else {
		at->state = ATTEMPT_ASKING;
	}
}

static void ptr_led(struct attempt *at, int r, struct blob *blob, const struct key *own, const char *text)
{
	if (at->state != ATTEMPT_ASKING)
		return;
	if (r == 0 && blob) {
		at->blob = blob_ref(blob);
		at->flight->own = *own;
		at->state = ATTEMPT_PROMISING;
	} else if (r == -ENOENT) {
		log_debug(LOG_FETCH, "%s: %s: %s", at->flight->canon, at->source->name, text);
		at->spelling++;
		attempt_start(at);
	} else if (r == -EBADMSG) {
		mismatch_add(at, r, text);
		attempt_fail(at, r, text);
	} else {
		attempt_fail(at, r, text[0] ? text : err_text(r));
	}
	race_look_soon(at->flight);
}

/* ---- the election ------------------------------------------------------------------- */

static void give_up(struct attempt *at)
{
	struct judgement j = {.error = at->error, .blame = BLAME_SOFT};

	/* The retry is not made, so the breaker hears of the error that it was for. */
	memcpy(j.text, at->text, sizeof(j.text));
	if (at->later.due)
		breaker_tell(at->flight->f->breakers, at->source->origin, clock_ms(), &j, 0);
	net_timer_stop(at->flight->f->net, &at->later);
	if (at->transfer) {
		transfer_cancel(take(at->transfer));
		/* It may have been the one that tries a host which was down. */
		if (!at->answered)
			breaker_unheard(at->flight->f->breakers, at->source->origin);
	}
	at->job++;
	symstore_wait_stop(&at->wait);
	blob_unref(take(at->blob));
	if (at->state == ATTEMPT_ASKING || at->state == ATTEMPT_PROMISING)
		at->state = ATTEMPT_IDLE;
}

/* The file lies on a disk of this machine, and was checked. */
static void elect_blob(struct flight *fl, struct blob *blob)
{
	struct fetched a = {.key = fl->own, .blob = blob, .size = blob_size(blob), .why = ""};

	flight_finish(fl, &a);
	blob_unref(blob);
}

void race_stop(struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		give_up(&fl->attempts[i]);
}

static void wins(struct flight *fl, struct attempt *at)
{
	at->state = ATTEMPT_WON;
	for (unsigned i = 0; i < fl->n; i++)
		if (&fl->attempts[i] != at)
			give_up(&fl->attempts[i]);
	fl->winner = at;
	fl->state = FLIGHT_BODY;
}

/* It goes on with what another one, or the same, began. A source that broke off and begins anew may break off
 * there again: where another version is to be had, readers need not wait for that. */
static void elect_again(struct flight *fl, struct attempt *at)
{
	int r = fl->draft ? 0 : draft_new_at_once(&fl->draft, fl->f->store, NULL);

	if (r == 0 && at->cut && !at->from && version_has_other(fl)) {
		give_up(at);
		attempt_fail(at, -EREMOTEIO, "it broke off, and begins anew");
		race_look_soon(fl);
		return;
	}

	if (r < 0) {
		flight_fail(fl, r, "the store cannot be written");
		return;
	}
	r = at->packing || at->parted || at->whole ||
			(at->size >= 0 && (uint64_t)at->size != part_size(fl->part))
		? -ESTALE
		: keep(fl, 0, at->head, at->head_n);

	if (r < 0) {
		give_up(at);
		attempt_stale(at);
		race_look_soon(fl);
		return;
	}
	wins(fl, at);
	log_debug(LOG_FETCH, "%s: %s goes on %s byte %llu", fl->canon, at->source->name,
		at->from ? "from" : "up to and past", (unsigned long long)flight_here(fl));
	flight_found(fl);
	flight_sure(fl);
	transfer_resume(at->transfer);
}

static void elect(struct flight *fl, struct attempt *at)
{
	struct err e = {0};
	int r;

	if (at->blob) {
		elect_blob(fl, take(at->blob));
		return;
	}
	if (fl->draft || fl->sparse) {
		elect_again(fl, at);
		return;
	}
	r = draft_new_at_once(&fl->draft, fl->f->store, &e);

	if (r == 0 && at->head_n)
		r = draft_write(fl->draft, 0, at->head, at->head_n);
	if (r == -ENOSPC && body_make_room(fl, at->head_n) == 0) {
		draft_discard(take(fl->draft)); /* race_has_room() has it elected again */
		return;
	}
	if (r < 0) {
		log_error("%s: the store: %s", fl->canon, e.text[0] ? e.text : err_text(r));
		flight_fail(fl, r, e.text[0] ? e.text : "the store cannot be written");
		return;
	}
	wins(fl, at);
	for (unsigned i = 0; i < fl->n; i++)
		fl->attempts[i].stale = false;
	fl->early_done = fl->sure = fl->looking = false;
	fl->early_at = EARLY_BYTES;
	fl->broke_at = 0;
	version_take(fl, at);
	fl->size = at->size >= 0 ? (uint64_t)at->size : FETCH_SIZE_UNKNOWN;
	if (at->whole)
		fl->size = at->head_n;
	if (at->parted || at->packing)
		fl->size = FETCH_SIZE_UNKNOWN; /* of what is inside */
	if (!at->unsure)
		flights_say_found(fl->f->store, fl->number);
	log_debug(LOG_FETCH, "%s: %s has it, %lld bytes%s%s", fl->canon, at->source->name,
		(long long)at->size, at->packing ? " of " : "",
		at->packing ? packing_name(at->packing) : "");
	flight_found(fl);
	if (at->whole) {
		flight_say(fl, (struct event){SAID_ALL});
		return;
	}
	flight_park(fl);
	transfer_resume(at->transfer);
}

void winner_resume(struct flight *fl)
{
	if (fl->ranged)
		ranges_resume(fl);
	else if (fl->winner && fl->winner->transfer)
		transfer_resume(fl->winner->transfer);
}

void race_has_room(struct flight *fl, int r, const char *text)
{
	if (r < 0) {
		log_error("%s: the store: %s", fl->canon, text);
		flight_fail(fl, r, text);
	} else if (fl->state == FLIGHT_ASK) {
		race_look_soon(fl);
	} else {
		winner_resume(fl);
	}
}

/* The errno that tells best why no source had it: a person can mend a refusal, a wrong file is a server's
 * fault, a timeout says which wait it was, and a useless answer says more than no connection. */
static int rank(int error)
{
	static const int order[] = {-EACCES, -EBADMSG, -EFBIG, -ETIMEDOUT, -EREMOTEIO};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (order[i] == error)
			return (int)(ARRAY_SIZE(order) - i);
	return 0;
}

/* Readers have a part of it, and an error would end them: all are asked for the rest until the
 * deadline. */
static void ask_again(void *ctx)
{
	struct flight *fl = ctx;

	if (fl->state != FLIGHT_ASK || !fl->part)
		return;
	for (unsigned i = 0; i < fl->n; i++) {
		struct attempt *at = &fl->attempts[i];

		if (at->state != ATTEMPT_FAILED && at->state != ATTEMPT_MISSING)
			continue;
		at->state = ATTEMPT_IDLE;
		at->spelling = 0;
	}
	race_start(fl);
}

/* No source goes on with what readers have a part of. */
static void conclude_read(struct flight *fl)
{
	switch (version_look(fl, false)) {
	case VERSION_CHANGE:
		version_change(fl);
		break;
	case VERSION_WAIT:
		net_timer_set(fl->f->net, &fl->poll, RESUME_MS, ask_again, fl);
		break;
	case VERSION_LOST:
		flight_fail(fl, -ETIMEDOUT, "it broke off, and no source has the rest");
		break;
	}
}

static void conclude(struct flight *fl)
{
	const struct attempt *worst = NULL;
	bool fresh = false;

	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		if (at->state == ATTEMPT_FAILED && (!worst || rank(at->error) > rank(worst->error)))
			worst = at;
		fresh |= at->state == ATTEMPT_MISSING && !at->remembered;
	}
	if (fl->part) {
		conclude_read(fl);
		return;
	}
	fl->end_error = worst ? worst->error : fl->check.store_error ? fl->check.store_error : fl->check.dir_error;
	if (worst)
		snprintf(fl->end_text, sizeof(fl->end_text), "%.63s: %.130s", worst->source->name,
			worst->text);
	else if (fl->check.store_error)
		snprintf(fl->end_text, sizeof(fl->end_text), "the store cannot be read: %s",
			err_text(fl->check.store_error));
	else
		snprintf(fl->end_text, sizeof(fl->end_text), "%s", fl->check.dir_text);
	/* Also when another could not be asked: who said no is not asked again meanwhile. */
	if (fresh || fl->end_error) {
		fl->state = FLIGHT_MISS;
		misses_write(fl);
		return;
	}
	miss_counts_add(fl->f, &fl->key);
	race_over(fl);
}

void race_over(struct flight *fl)
{
	struct fetched a = {
		.r = -ENOENT, .key = fl->key, .miss_ms = MISS_ANSWER_MS, .why = "no source has it"};

	a.unnamed = !fetch_can_name(fl->sources, &fl->what);
	if (a.unnamed)
		a.why = FETCH_UNNAMED;
	if (fl->end_error)
		flight_fail(fl, fl->end_error, fl->end_text);
	else
		flight_finish(fl, &a);
}

static void grace_over(void *ctx)
{
	struct flight *fl = ctx;

	fl->grace_over = true;
	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		if (at->state == ATTEMPT_PROMISING)
			break;
		if (at->state == ATTEMPT_ASKING && !at->answered)
			breaker_outrun(fl->f->breakers, at->source->origin);
	}
	race_look_soon(fl);
}

/* May it still win against a later one? */
static bool holds_back(const struct attempt *at)
{
	/* Who had a bad moment holds back nobody. */
	if (at->later.due)
		return false;
	if (at->state == ATTEMPT_ASKING)
		return at->answered || breaker_may_hold(at->flight->f->breakers, at->source->origin);
	return at->state == ATTEMPT_PROMISING;
}

static void start_tier(struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].state == ATTEMPT_IDLE &&
			fl->attempts[i].source->o.tier <= fl->tier)
			attempt_start(&fl->attempts[i]);
	race_look_soon(fl);
}

/* Nobody of the tiers so far has it, or could be asked: the next one may. False: there is none.
 * Sources stand in the order of their tiers. */
static bool next_tier(struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].state == ATTEMPT_IDLE) {
			fl->tier = fl->attempts[i].source->o.tier;
			start_tier(fl);
			return true;
		}
	return false;
}

/* A source that broke off is asked for the rest, and another one has another version: a short wait. */
static void look_at_version(struct flight *fl)
{
	if (!fl->part || !version_has_other(fl))
		return;
	if (version_look(fl, true) == VERSION_CHANGE)
		version_change(fl);
	else if (!fl->grace.due && !fl->grace_over)
		net_timer_set(fl->f->net, &fl->grace, REST_MS, grace_over, fl);
}

static void race_look(void *ctx)
{
	struct flight *fl = ctx;
	bool asking = false, held = false;

	if (fl->state != FLIGHT_ASK || fl->making_room)
		return;
	for (unsigned i = 0; i < fl->n; i++) {
		struct attempt *at = &fl->attempts[i];

		if (at->state == ATTEMPT_PROMISING && (!held || fl->grace_over)) {
			elect(fl, at);
			return;
		}
		/* An earlier source may still win, but a slow one does not hold up a fast one long.
		 */
		if (at->state == ATTEMPT_PROMISING && !fl->grace.due)
			net_timer_set(fl->f->net, &fl->grace, fl->f->opts.grace_ms, grace_over, fl);
		held |= holds_back(at);
		asking |= at->state == ATTEMPT_ASKING || at->state == ATTEMPT_PROMISING;
	}
	if (asking)
		look_at_version(fl);
	else if (!next_tier(fl))
		conclude(fl);
}

void race_look_soon(struct flight *fl)
{
	net_timer_set(fl->f->net, &fl->look, 0, race_look, fl);
}

void race_start(struct flight *fl)
{
	fl->state = FLIGHT_ASK;
	fl->grace_over = false;
	net_timer_stop(fl->f->net, &fl->grace);
	start_tier(fl);
}

void winner_fail(struct flight *fl, int error, const char *text)
{
	struct attempt *at = fl->winner;

	bool bad = error == -EBADMSG || error == -ENOENT;
	bool resumes = fl->part && (fl->draft || fl->sparse) && !bad && error != -EFBIG;

	if (resumes && flight_here(fl) > fl->broke_at) {
		fl->broke_at = flight_here(fl);
		fl->stuck_since = clock_ms();
	}
	at->stale = resumes && error == -ESTALE;
	at->broke |= resumes && error != -ESTALE;
	at->cut |= resumes && error != -ESTALE && !fl->ranged;
	give_up(at);
	if (error == -EBADMSG || error == -EFBIG)
		mismatch_add(at, error, text);
	else if (!at->plain && error != -ENOENT)
		log_warn("%s: source %s: %s", fl->canon, at->source->name, text);
	if (at->again)
		attempt_again(at);
	else if (error == -ENOENT)
		at->state = ATTEMPT_MISSING;
	else
		attempt_fail(at, error, text);
	fl->winner = NULL;
	fl->room_for = 0;
	ranges_stop(fl);
	if (!resumes)
		version_drop(fl, bad, true, error);
	else if (fl->sparse)
		draft_discard(take(fl->draft));
	flight_unpark(fl);
	fl->found = false;
	flight_deadline(fl);
	/* Those who were given up for this one are asked again. */
	race_start(fl);
}

/* What came is worth keeping if it was identified: so it waits for who looks at it. */
void winner_broke(struct flight *fl)
{
	int error = fl->broke;
	char text[200];

	snprintf(text, sizeof(text), "%s", fl->broke_text);
	fl->broke = 0;
	winner_fail(fl, error, text);
}

/* Is a body coming from there right now? Then a request without an answer may well have waited
 * for one of the host's connections, and says nothing against it. */
static bool is_sending(const struct fetch *f, const char *origin)
{
	for (const struct flight *fl = f->flights; fl; fl = fl->next)
		if (fl->state == FLIGHT_BODY && !fl->parked && fl->winner &&
			(fl->winner->transfer || fl->ranges) && strcmp(fl->winner->source->origin, origin) == 0)
			return true;
	return false;
}

bool race_is_queued(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		if (at->state == ATTEMPT_ASKING && at->transfer && transfer_is_queued(at->transfer))
			return true;
	}
	return false;
}

unsigned race_time_left(const struct flight *fl, unsigned ms)
{
	uint64_t now = clock_ms(), least = now > ms ? now - ms : 0, since = least;

	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		/* Its answer is here, and only we have not looked at it, or have no room yet. */
		if (at->state == ATTEMPT_PROMISING)
			return ms;
		if (at->state == ATTEMPT_ASKING && at->transfer)
			since = MAX(since, transfer_its_turn(at->transfer));
	}
	return (unsigned)(since - least);
}

void race_deadline(struct flight *fl)
{
	static const struct judgement silent = {
		.error = -ETIMEDOUT, .blame = BLAME_SILENT, .text = "no answer before the lookup deadline"};

	for (unsigned i = 0; i < fl->n; i++) {
		struct attempt *at = &fl->attempts[i];

		if (at->state == ATTEMPT_ASKING && !at->answered && !at->wait.on &&
			!(at->transfer && transfer_is_queued(at->transfer)) && !is_sending(fl->f, at->source->origin) &&
			!breaker_alive(fl->f->breakers, at->source->origin, at->asked))
			breaker_tell(fl->f->breakers, at->source->origin, clock_ms(), &silent, 0);
	}
}
