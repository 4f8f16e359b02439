/* One source in the race for one key: asks it for each spelling, judges the head of its answer, and tries
 * again after a transient error. */
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

#define AGAIN_MS 50 /* and up to three times as much more, so that retries do not come all at once */

static ptr_followed ptr_led;

static void attempt_say(struct attempt *at)
{
	flight_say(at->flight, (struct event){SAID_ATTEMPT});
}

void attempt_release(struct attempt *at)
{
	source_ask_release(&at->ask);
	buf_release(&at->ptr);
	blob_unref(take(at->blob));
	symstore_known_release(&at->facts);
	symstore_wait_stop(&at->wait);
}

/* The source is not asked, because of an earlier answer. */
static void attempt_skip(struct attempt *at, int error, const char *text)
{
	at->state = ATTEMPT_FAILED;
	at->error = error;
	snprintf(at->text, sizeof(at->text), "%.190s", text);
	log_debug(LOG_FETCH, "%s: %s: %s", at->flight->canon, at->source->name, at->text);
}

void attempt_fail(struct attempt *at, int error, const char *text)
{
	attempt_skip(at, error, text);
	seen_add(at->flight->f, attempt_number(at), error, at->text);
}

void attempt_blame(struct attempt *at, const struct judgement *j, const struct net_reply *r)
{
	uint64_t hold = r->retry_after > 0 ? (uint64_t)r->retry_after * 1000 : 0;

	breaker_tell(at->flight->f->breakers, at->source->origin, clock_ms(), j, hold);
}

/* Retry a transient error once, silently: neither the breaker nor the caller hears of it. Only for a host
 * that has been healthy, so that a flaky one does not cost every caller a second wait. */
bool attempt_wants_again(struct attempt *at, const struct judgement *j)
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
	attempt_say(at);
}

void attempt_again(struct attempt *at)
{
	uint64_t mixed[] = {at->asked, at->flight->number, (uint64_t)getpid()};
	unsigned jitter = (unsigned)(hash_mix(mixed, sizeof(mixed)) % (3 * AGAIN_MS));

	at->again = false;
	at->state = ATTEMPT_ASKING;
	net_timer_set(at->flight->f->net, &at->later, AGAIN_MS + jitter, again_now, at);
}

/* Logs a refusal (401, 403), at most once per source every 10 s: the credentials may be wrong or expired. */
static void log_refusal(struct attempt *at, const char *text)
{
	struct fetch *f = at->flight->f;
	const char *name = at->source->name;
	uint64_t *until = &f->refused_until[hash_mix(name, strlen(name)) % REFUSED_SLOTS];

	if (*until > clock_ms())
		return;
	*until = clock_ms() + REFUSED_MS;
	log_warn("%s: source %s refuses: %s", at->flight->canon, name, text);
}

/* The source answers, but its first range never comes: perhaps the whole does. */
bool attempt_tries_plain(struct attempt *at, const struct net_reply *r)
{
	if (!at->asked_range || at->plain || !at->answered || r->error == -ECANCELED || r->error == -EBADMSG)
		return false;
	at->plain = at->again = true;
	return true;
}

/* ---- the head of an answer -------------------------------------------------------------------------------- */

/* Whether the answer is the rest of the download that broke off, in the same version: as good as the whole. */
static bool is_the_rest(const struct attempt *at, const struct net_reply *r)
{
	const struct flight *fl = at->flight;

	return at->asked_from && r->status == 206 && r->range_start == (int64_t)at->asked_from &&
		r->range_total == (int64_t)part_size(fl->readers.part) &&
		same_version(&fl->body.version, r);
}

/* Whether the answer is a range of another version: some servers ignore If-Range. */
static bool is_other_version(const struct attempt *at, const struct net_reply *r)
{
	const struct flight *fl = at->flight;

	return at->asked_from && r->status == 206 &&
		(r->range_total != (int64_t)part_size(fl->readers.part) || !same_version(&fl->body.version, r));
}

void attempt_stale(struct attempt *at)
{
	at->stale = true;
	attempt_fail(at, -ESTALE, "it has another version of what is being read");
}

/* Whether the answer is the first range that was asked for: all of it, or less of a short file. */
static bool is_the_first(const struct attempt *at, const struct net_reply *r)
{
	return at->asked_range && r->status == 206 && r->range_start == 0 && r->range_total > 0 &&
		r->size == MIN(r->range_total, (int64_t)EARLY_BYTES);
}

/* Whether the answer to a range is useless: without a validator later ranges may be of another version, so the
 * source is asked for the whole at once. */
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
	if (attempt_wants_again(at, &j))
		return r->status >= 400 ? 0 : -ECANCELED;
	attempt_blame(at, &j, r);
	if (j.verdict == VERDICT_FOUND)
		return 0;
	if (j.verdict == VERDICT_REFUSED)
		log_refusal(at, j.text);
	/* A miss is one of this spelling. Until attempt_done() has tried the others, the source is still being
	 * asked, and the race may not conclude that it has nothing. */
	if (j.verdict != VERDICT_MISSING)
		attempt_fail(at, j.error, j.text);
	else
		seen_add(at->flight->f, attempt_number(at), j.error, j.text);
	return r->status >= 400 ? 0 : -ECANCELED;
}

/* ---- its first bytes -------------------------------------------------------------------------------------- */

/* Of a fat Mach-O file one slice is served, whose size is in a table that was not read yet. No other type
 * begins like that. */
static bool is_fat(const uint8_t head[static OBJ_HEAD])
{
	return memcmp(head, "\xca\xfe\xba", 3) == 0;
}

/* The types that can begin so: programs and their debug files begin alike. */
static uint32_t alike(const void *head, size_t n)
{
	uint32_t bits = 0;

	for (unsigned t = 0; t < FILETYPES; t++)
		if (filetype_row(t)->twin != FILETYPE_NONE && obj_may_be(t, head, n))
			bits |= 1u << t;
	return bits;
}

/* Whether a file with these first bytes may be the right one. `head` has OBJ_HEAD bytes or more, unless the file
 * is shorter. */
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

/* Before the election the attempt takes only the bytes that show the type of the file. */
static int attempt_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct attempt *at = ctx;
	uint8_t head[HEAD_MOST]; /* what is packed shows more when more is there */

	if (at->state == ATTEMPT_WON)
		return at->taker->body(at, off, p, n);
	if (at->ask.ptr)
		return at->ptr.n + n > PTR_MOST ? -EBADMSG : buf_add(&at->ptr, p, n);
	if (at->state == ATTEMPT_PROMISING)
		return -EAGAIN;
	if (at->from) { /* the first bytes were seen long ago */
		at->state = ATTEMPT_PROMISING;
		attempt_say(at);
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
	attempt_say(at);
	return -EAGAIN;
}

/* The body cannot be what was asked for: the attempt fails, and says what it is instead. */
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

/* The body ended before the election: `head` holds all of it. */
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

static void attempt_done(void *ctx, const struct net_reply *r)
{
	struct attempt *at = ctx;
	struct judgement j;

	at->transfer = NULL;
	if (at->state == ATTEMPT_WON) {
		at->taker->done(at, r);
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
		if (attempt_wants_again(at, &j) || attempt_tries_plain(at, r)) {
			attempt_again(at);
			return;
		}
		attempt_blame(at, &j, r);
		/* The announced length is too large: remembered, so that the source is not asked again. */
		if (j.error == -EFBIG && at->state == ATTEMPT_PROMISING)
			mismatch_add(at, j.error, j.text);
		attempt_fail(at, j.error, j.text);
	} else {
		short_body(at);
	}
	attempt_say(at);
}

static const struct net_sink attempt_sink = {attempt_head, attempt_body, attempt_done};

/* ---- the question ----------------------------------------------------------------------------------------- */

/* Whether the source may be asked for this key now. Otherwise the attempt fails with the reason. */
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
	/* Readers of a file cannot do without the rest of it. */
	if (at->flight->readers.part ||
		breaker_may(at->flight->f->breakers, at->source->origin, clock_ms(), why))
		return true;
	attempt_skip(at, breaker_error(at->flight->f->breakers, at->source->origin), why);
	return false;
}

/* Asks for the rest from where it stopped, if the source can compare versions. Otherwise all of it comes anew. */
static int ask_for_the_rest(struct attempt *at, struct net_req *req)
{
	const struct flight *fl = at->flight;
	const struct version *v = &fl->body.version;
	const char *validator = version_validator(v);
	char line[256];
	int r;

	at->from = at->asked_from = 0;
	at->ranged = false;
	at->asked_range = !fl->readers.part && ranges_wanted(at);
	if (at->asked_range) {
		req->coded = true; /* some sources have the file compressed only */
		snprintf(line, sizeof(line), "Range: bytes=0-%u", EARLY_BYTES - 1);
		return source_add_header(req, line);
	}
	if (!fl->readers.part || fl->body.file || at->source != v->source || !v->where || !at->ask.where ||
		strcmp(at->ask.where, v->where) != 0 || !validator)
		return 0;
	snprintf(line, sizeof(line), "If-Range: %s", validator);
	r = source_add_header(req, line);
	snprintf(line, sizeof(line), "Range: bytes=%llu-", (unsigned long long)body_here(&fl->body));
	if (r == 0)
		r = source_add_header(req, line);
	at->asked_from = body_here(&fl->body);
	return r;
}

/* Sends X-Symfs-Via, so that servers which are each other's source detect the loop. */
static int add_hops(struct attempt *at, struct net_req *req)
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
	r = add_hops(at, &req);
	if (r == 0)
		r = ask_for_the_rest(at, &req);
	if (r < 0) {
		net_req_release(&req);
		return r;
	}
	r = net_get(f->net, &req, &attempt_sink, at, &at->transfer);
	net_req_release(&req);
	if (r == 0)
		atomic_fetch_add(&f->stats.requests, 1);
	return r;
}

/* Every spelling was a miss. */
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
	attempt_say(at);
}

/* Asks for the current spelling, or finds that no spelling is left. */
void attempt_start(struct attempt *at)
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
	attempt_say(at);
}

void attempt_give_up(struct attempt *at)
{
	struct judgement j = {.error = at->error, .blame = BLAME_SOFT};

	/* The source is not asked again, so the breaker now counts the error that the retry was for. */
	memcpy(j.text, at->text, sizeof(j.text));
	if (at->later.due)
		breaker_tell(at->flight->f->breakers, at->source->origin, clock_ms(), &j, 0);
	net_timer_stop(at->flight->f->net, &at->later);
	if (at->transfer) {
		transfer_cancel(take(at->transfer));
		/* This request may have been the one by which the breaker tries a failing host. */
		if (!at->answered)
			breaker_unheard(at->flight->f->breakers, at->source->origin);
	}
	at->job++;
	symstore_wait_stop(&at->wait);
	blob_unref(take(at->blob));
	if (at->state == ATTEMPT_ASKING || at->state == ATTEMPT_PROMISING)
		at->state = ATTEMPT_IDLE;
}
