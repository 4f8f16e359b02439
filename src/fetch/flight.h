/* Flights: the downloads under way, one for each key, with the attempts, bytes and jobs of each. Everything
 * here runs on the net thread, unless a comment says otherwise. flight.c knows the phases; every other file
 * reports to it by an event, and calls nothing of it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/ahead.h"
#include "fetch/fetch-private.h"
#include "fetch/follow.h"

#include <errno.h>

/* ---- one source in the race of one flight ---------------------------------------------------------------- */

enum attempt_state {
	ATTEMPT_IDLE,	   /* not started, or given up for a better one: may be started again */
	ATTEMPT_ASKING,	   /* a transfer runs, or the attempt waits for one */
	ATTEMPT_PROMISING, /* its first bytes look right; it waits for the election */
	ATTEMPT_WON,	   /* its body fills the download */
	ATTEMPT_MISSING,   /* every spelling was a miss */
	ATTEMPT_FAILED	   /* refused, unreachable, wrong file */
};

struct attempt {
	struct flight *flight;
	const struct source *source;
	enum attempt_state state;
	unsigned nth;		   /* source */
	unsigned spelling;	   /* the nth of its plan */
	struct source_ask ask;
	struct source_facts facts; /* by which its spellings are counted */
	struct symstore_wait wait; /* for what is being found out */
	struct transfer *transfer;
	const struct net_sink *taker; /* of the body and the end of the winner's transfer; NULL */
	unsigned job;		   /* grows: what a worker brings back of an older number is late */
	uint64_t asked;		   /* clock_ms() */
	bool remembered;	   /* missing by memory: not asked */
	int64_t remembered_until;

	/* of the answer */
	bool answered;		   /* the head came */
	bool verdict_set;	   /* the head already said that no body is wanted */
	bool whole;		   /* the body was so short that `head` holds all of it */
	uint8_t head[OBJ_HEAD];
	size_t head_n;		   /* bytes taken into `head` before the election */
	bool parted;		   /* by its first bytes only a part of it will be served */
	const struct packing *packing; /* what its first bytes are; NULL: it is not packed */
	bool unsure;		   /* of what kind the file inside is */
	uint32_t may_be;	   /* a bit for each type of a program or its debug file that can begin so */
	struct buf ptr;		   /* what a file.ptr says */
	struct blob *blob;	   /* where it led: it needs no body */
	int64_t size;		   /* -1: not announced */
	uint64_t from;		   /* of the file, where its body begins */
	uint64_t asked_from;	   /* where it was asked to begin; 0 */
	bool asked_range, ranged;  /* for the first bytes only; and that is what came */
	char etag[128], modified[64]; /* "" */

	bool stale;		   /* it has another version than the one that is being read */
	bool broke;		   /* it broke off while it sent that one, */
	bool cut;		   /* and sent no ranges */
	bool again, retried;	   /* it is asked a second time; it was */
	bool plain;		   /* it is not asked for ranges */
	struct net_timer later;	   /* when it is asked again */
	int error;		   /* of FAILED */
	char text[200];
};

/* ---- events ----------------------------------------------------------------------------------------------- */

/* What a part of a flight reports. */
enum said {
	SAID_JOB_BACK,	   /* a job came back */
	SAID_FAILED,	   /* the flight cannot go on: `error`, `text` */
	SAID_FOLLOWS,	   /* another process downloads it */
	SAID_LEADS,	   /* this process is to download it */
	SAID_HERE,	   /* the file is in the store, or in a directory: `key`, `blob` */
	SAID_FOUND,	   /* the file exists */
	SAID_NOT_FOUND,	   /* no directory has it, although SAID_FOUND may have come */
	SAID_ABSENT,	   /* it is neither in the store nor in a directory: servers are asked */
	SAID_ATTEMPT,	   /* the state of an attempt changed */
	SAID_ELECTED,	   /* `attempt` is the best that there can be */
	SAID_OTHER_VERSION, /* the version that is read will not be completed, and there is another one */
	SAID_LOST,	   /* no source has it, or could be asked: see struct race; `fresh`: there are new misses */
	SAID_SURE,	   /* what is here was identified */
	SAID_BODY_FAILED,  /* the winner broke off, or its file is no good: `error`, `text` */
	SAID_UNWANTED,	   /* no request came while the flight was parked */
	SAID_WANTED,	   /* another process wants what is parked */
	SAID_ALL,	   /* all bytes are here */
	SAID_ROOM,	   /* the disk has room now, or (`error`, `text`) has none */
	SAID_PROVEN,	   /* all bytes that wait for the disk are the file */
	SAID_BEATEN,	   /* other bytes were pinned meanwhile: `key`, `blob` */
	SAID_MISSES_STORED,
};

struct event {
	enum said said;
	int error;
	const char *text;
	const struct key *key;
	struct blob *blob; /* borrowed */
	struct attempt *attempt;
	bool fresh;
};

/* ---- the phases of a flight, and what each needs ---------------------------------------------------------- */

enum flight_phase {
	FLIGHT_CHECK,  /* the store, remembered misses and directories are looked at */
	FLIGHT_FOLLOW, /* another process downloads it */
	FLIGHT_RACE,   /* servers are asked */
	FLIGHT_BODY,   /* a source won, and its bytes come */
	FLIGHT_PARKED, /* the same, but no request needs the bytes yet */
	FLIGHT_SEAL,   /* a worker checks and publishes it */
	FLIGHT_MISS,   /* a worker writes the misses down */
	FLIGHT_DONE    /* it waits for its jobs */
};

/* phase-check.c */
struct check {
	enum { CHECK_STORE, CHECK_DIRS, CHECK_OVER } step;
	unsigned job;	 /* the newest in directories: an answer of an older one is late */
	struct net_timer timer;
	int store_error; /* the store could not say whether it has the file; 0 */
	int dir_error;	 /* a directory could not; 0 */
	char dir_text[200];
};

/* phase-race.c */
struct race {
	unsigned tier;		/* sources up to this one are asked */
	bool grace_over;	/* a later source is elected, whatever an earlier one may still say */
	struct net_timer look;	/* the next election; at once after a change */
	struct net_timer grace; /* how long an earlier source may hold back a later one */
	struct net_timer again; /* when all are asked again for what readers lack */
	int error;		/* of a race that no source won; 0: no source has it */
	char text[200];
};

/* A version of the file: which source sent it, and by what it is known there. */
struct version {
	const struct source *source;
	char *where, etag[128], modified[64];
};

struct range;

/* What is here of the file (phase-body.c). */
struct body {
	enum {
		BODY_NONE,
		BODY_STREAM, /* `draft`, from front to back */
		BODY_SPARSE, /* `file`, where readers look */
		BODY_BESIDE, /* `draft` again, compared with every block that `file` has */
	} kind;
	struct draft *draft;
	struct sparse *file;
	bool fresh; /* no byte was in `file` before */
	struct version version;
	unsigned versions_left; /* that were given up */
	uint64_t size;		/* or FETCH_SIZE_UNKNOWN */
	struct attempt *winner;
	bool sure; /* the file was identified by what is here */

	enum { LOOK_LATER, LOOK_RUNS, LOOK_OVER } look; /* at the first bytes, on a worker */
	uint64_t look_at; /* when so much is here */
	int broke;	  /* why the winner broke off meanwhile; 0 */
	char broke_text[200];

	uint64_t broke_at;    /* how much was here when the last winner broke off, */
	uint64_t stuck_since; /* and when it was first no more: clock_ms() */

	int disk_error; /* 0 */
};

/* room.c: the disk is full, and a worker evicts. */
struct room {
	bool making;	/* the winner waits */
	uint64_t made_at; /* bytes that were here when room was last made, + 1: not twice for the same */
};

/* ranges.c: a sparse file that is filled by ranges */
struct ranges {
	bool on;		   /* the winner sends what it is asked for; no transfer of it runs */
	bool off;		   /* ranges went wrong: the whole is asked for from now on */
	struct range *list;	   /* under way */
	struct net_timer later;	   /* after an error: when it is asked again */
	struct net_timer others;   /* looks whether another process wants the whole */
	int disk_error;		   /* 0 */
	unsigned errors;	   /* since `had` bytes were here */
	uint64_t had;
	bool probing, committing;  /* a worker identifies it, syncs it */
	uint64_t want_off, want_len; /* what identifies it */
	bool fill;		   /* all of it is wanted */
	uint64_t fill_at, touched;
	struct ahead ahead;
	enum { HEADS_UNKNOWN, HEADS_WANTED, HEADS_KNOWN } heads; /* of `ahead` */
	struct ahead_span queue[AHEAD_BATCH]; /* pieces that were not asked for yet: */
	unsigned queue_at, queued;	      /* from, to */
	unsigned reached;		      /* a bit for each run whose marked bytes are read */
};

/* What readers have of the file before it is published. */
struct readers {
	struct part *part;	/* NULL: no reader was let in yet */
	struct part *untouched; /* of a version that was given up, and of which no byte was read: its readers get
				   the next version if that has the same size. Then `part` is NULL */
	enum { OFFER_NONE, OFFER_UNPROVEN, OFFER_MADE } offer; /* `part` has all of it, which is being sealed; is
								  it known to be the file? */
};

/* phase-parked.c */
struct park {
	struct net_timer over; /* when no OPEN came */
	struct net_timer look; /* for other processes that want the file */
};

/* phase-follow.c: of several processes that want one key, one leads. */
struct lead {
	struct follow follow;
	bool wants;		/* the leader was told that the whole is wanted */
	struct net_timer timer; /* the next look, or a leader's next beat */
};

struct flight {
	struct flight *next;
	struct fetch *f;
	void (*event)(struct flight *fl, const struct event *e); /* the only way up to flight.c */
	struct sources *sources;
	struct artifact asked; /* by the first ticket */
	struct artifact what;  /* completed by what other files taught */
	struct key key;	       /* of what was asked; `canon` and `number` are its */
	struct key own;	       /* what a file is judged by and stored under, and what is answered */
	char canon[KEY_TEXT];
	uint64_t number;
	uint64_t began;

	enum flight_phase phase;
	struct ticket *tickets;
	unsigned jobs; /* on workers: the flight lives until they are back */
	bool found;    /* it exists: requests that ask only for that are answered */
	bool linger;   /* the lookup deadline passed; it goes on for the next request */
	bool streamed; /* a reader will read all of it */
	struct net_timer deadline; /* for "does it exist", and then of a flight that lingers */

	struct check check;
	struct lead lead;
	struct race race;
	struct park park;
	struct body body;
	struct room room;
	struct ranges ranges;
	struct readers readers;

	unsigned n;
	struct attempt attempts[]; /* room for one of each source */
};

static inline void flight_say(struct flight *fl, struct event e)
{
	fl->event(fl, &e);
}

static inline void flight_say_no_memory(struct flight *fl)
{
	flight_say(fl, (struct event){.said = SAID_FAILED, .error = -ENOMEM, .text = "out of memory"});
}

static inline bool flight_is_over(const struct flight *fl)
{
	return fl->phase == FLIGHT_DONE;
}

/* How many bytes are here. */
static inline uint64_t body_here(const struct body *b)
{
	if (b->file)
		return sparse_present(b->file);
	return b->draft ? draft_size(b->draft) : 0;
}

/* Whether a source won, and the rest of its bytes is to come. */
static inline bool flight_receives(const struct flight *fl)
{
	return fl->phase == FLIGHT_BODY || fl->phase == FLIGHT_PARKED;
}

/* ---- flight.c ---------------------------------------------------------------------------------------------- */

/* Joins the flight of a key, or starts one. */
void flight_join(struct fetch *f, struct ticket *t, const struct artifact *a, const struct key *k);
void flight_leave(struct flight *fl, struct ticket *t); /* the request was cancelled */
/* The time of a request is up. Whether it left: it stays while the bytes come, or a source may still answer. */
bool flight_overdue(struct flight *fl, struct ticket *t);
/* Answers all tickets, and ends the flight. */
void flight_finish(struct flight *fl, const struct fetched *a);

/* ---- flight-tickets.c: the requests that wait for a flight ------------------------------------------------- */

void tickets_add(struct flight *fl, struct ticket *t);
void tickets_remove(struct ticket *t);
/* Whether something exists, but its first bytes do not say whether it is this file or another one that the
 * request's path can mean. */
bool ticket_may_mean_other(const struct flight *fl, const struct ticket *t);
bool ticket_is_reader(const struct ticket *t); /* it wants to read while the file comes */
const struct ticket *tickets_reader(const struct flight *fl); /* one of them; NULL */
bool tickets_may_open(const struct flight *fl); /* one waits to open the file, or may do so soon */
bool flight_is_read(const struct flight *fl);
bool flight_is_lonely(const struct flight *fl); /* no request waits for it, and no reader has it open */
bool flight_is_wanted_whole(const struct flight *fl);
enum tickets_which { TICKETS_ALL, TICKETS_READERS, TICKETS_OPENERS, TICKETS_EXISTS, TICKETS_EXISTS_SURE };
/* Answers some, which leave the flight. */
void tickets_answer(struct flight *fl, const struct fetched *a, enum tickets_which which);

/* ---- part.c: what readers get before all is here ----------------------------------------------------------- */

/* changed(ctx) runs soon after readers came, went, or want something, until part_end(). `touched`: bytes of
 * `sp` may have been read before. 0, -ENOMEM, -EMFILE. */
struct part_opts {
	int fd;
	uint64_t size, have;
	struct sparse *sp;
	bool touched;
	struct net *net;
	void (*changed)(void *ctx);
	void *ctx;
};
int part_new(struct part **out, const struct part_opts *o);
/* The nth that is waited for. False: there are fewer. */
bool part_wanted(struct part *p, unsigned nth, uint64_t *off, uint64_t *end);
void part_advance(struct part *p, uint64_t have); /* so much is here from the front; of a sparse file 0 */
/* Takes the reference. What is here stays readable, unless it is bad; no more comes, because of the
 * error. */
void part_end(struct part *p, bool bad, int error);
/* No more of it comes, and no byte of it was read: then another file of the same size may take its place, with
 * `have` bytes from the front. False: some were read, or may have been. */
bool part_suspend(struct part *p);
int part_renew(struct part *p, int fd, uint64_t have);
/* The first read of these bytes is reported by changed(), and by a bit of part_reached(). */
void part_mark(struct part *p, unsigned i, uint64_t off, uint64_t end);
unsigned part_reached(struct part *p); /* since the last time */
void part_spare(struct part *p, bool sparing); /* part_refuses() may */
void part_nudge(struct part *p); /* changed() runs soon */
bool part_is_open(struct part *p);

/* ---- attempt.c: one source --------------------------------------------------------------------------------- */

void attempt_release(struct attempt *at); /* what it owns */
void attempt_start(struct attempt *at); /* asks for the current spelling; after the last one the source counts as missing */
/* Stops its transfer. It may be started again. */
void attempt_give_up(struct attempt *at);
void attempt_fail(struct attempt *at, int error, const char *text);
void attempt_stale(struct attempt *at); /* it has another version than the one that is read */
void attempt_again(struct attempt *at); /* soon */
/* Of an error whose retry may help: whether there is one. Otherwise the host is blamed. */
bool attempt_wants_again(struct attempt *at, const struct judgement *j);
/* Whether the whole may come where a range did not. */
bool attempt_tries_plain(struct attempt *at, const struct net_reply *r);
void attempt_blame(struct attempt *at, const struct judgement *j, const struct net_reply *r);

/* mismatch.c: wrong files, remembered in memory. */
const struct mismatch *mismatch_find(const struct attempt *at);
void mismatch_add(const struct attempt *at, int error, const char *text); /* with a line in the log */
void attempt_set_aside(const struct attempt *at, int error, const char *text); /* not asked for a while */
uint64_t attempt_number(const struct attempt *at); /* seen_number() of what it asks for */

/* no-ranges.c: sources that answer no ranges, or no more than one at a time. */
bool flight_wants_all(const struct flight *fl); /* a request wants the whole, or reads it from front to back */
bool ranges_wanted(const struct attempt *at); /* is it asked for its first bytes only? */
void ranges_refuse(struct fetch *f, const struct source *s); /* it answers none */
bool ranges_takes_several(struct fetch *f, const struct source *s);
void ranges_refuse_several(struct fetch *f, const struct source *s);

/* ptr.c: follows `at->ptr`. The answer comes on the net thread, unless the attempt is started anew. */
typedef void ptr_followed(struct attempt *at, int r, struct blob *blob, const struct key *own, const char *text);
void ptr_follow(struct attempt *at, ptr_followed *followed);

/* ---- phase-follow.c ---------------------------------------------------------------------------------------- */

void lead_or_follow(struct flight *fl); /* SAID_LEADS or SAID_FOLLOWS follows */
void lead_end(struct flight *fl);

/* ---- phase-check.c ----------------------------------------------------------------------------------------- */

void check_start(struct flight *fl);
void check_stop(struct flight *fl); /* the phase is over: directories are not waited for any longer */

/* ---- phase-race.c ------------------------------------------------------------------------------------------ */

/* Finds the servers that can be asked for it; `until` has for each source how long its miss counts. */
void attempts_plan(struct flight *fl, const int64_t *until);
void race_start(struct flight *fl);  /* asks the sources that may be asked */
void race_look_soon(struct flight *fl); /* after any change: elects, or concludes */
void race_won(struct flight *fl, const struct attempt *winner); /* the others are given up */
void race_stop(struct flight *fl);   /* cancels every transfer */
bool race_is_queued(const struct flight *fl); /* a source was not asked yet: others are before it at its host */
/* How many of `ms` a source still has that was asked late, because others were before it, or whose
 * answer came just now; 0: no source does. */
unsigned race_time_left(const struct flight *fl, unsigned ms);
void race_deadline(struct flight *fl); /* blames the hosts that have not answered */

/* What an election knows of the attempts that it has seen so far. */
struct election {
	bool grace_over; /* set by the caller */
	unsigned seen;
	unsigned best, idle; /* the first that can be elected, or started: from 1; 0: none */
	bool held, promised, asking;
};
enum race_says {
	RACE_WAIT,	/* for those that are asked */
	RACE_HOLD,	/* the same, for the grace at most: one has the file, and an earlier one may */
	RACE_ELECT,
	RACE_NEXT_TIER, /* every attempt so far lost, and there are more */
	RACE_LOST
};
/* Pure. Sees the next attempt in the order of sources; holds_back: it is worth waiting for. */
void race_see(struct election *el, enum attempt_state state, bool holds_back);
/* Pure. *which: the one that is elected, or the first of the next tier. */
enum race_says race_judge(const struct election *el, unsigned *which);

/* ---- version.c: which version of a file is read ------------------------------------------------------------ */

void version_take(struct version *v, const struct attempt *at); /* it is that of the attempt's answer */
void version_release(struct version *v);
bool same_version(const struct version *v, const struct net_reply *r);
/* The line by which a server compares versions: a strong ETag, or the date. NULL: it cannot. */
const char *version_validator(const struct version *v);
enum version_next {
	VERSION_WAIT,	/* it may still go on */
	VERSION_CHANGE, /* another one is read: readers that saw bytes of this one get an error */
	VERSION_LOST
};
struct version_left {
	bool other;	 /* a source has another version */
	bool same;	 /* a source may have this one */
	bool asking;	 /* a source was asked, and has not answered yet */
	bool grace_over; /* for as long as others wait for that */
	unsigned changes;
	uint64_t stuck_ms, most_ms; /* since the last byte of it came; as long as that may be */
};
enum version_next version_judge(const struct version_left *v);
enum version_next version_look(const struct flight *fl, bool asking); /* of what broke off */
bool version_has_other(const struct flight *fl);
void version_forget_attempts(struct flight *fl); /* before all sources are asked for another version */

/* ---- body.c: the bytes ------------------------------------------------------------------------------------- */

/* Where files of several types have one path, one of another type is not a wrong file; `own` becomes its key.
 * (any thread) */
bool is_other_use(const struct attempt *at, const struct key *k, struct view *v, struct key *own);
int body_open_draft(struct flight *fl, struct err *e); /* unless the flight has a draft; 0, or the store's error */
void body_drop_draft(struct flight *fl);
/* The draft, which began with the first range, becomes a sparse file. */
void body_become_sparse(struct flight *fl, struct sparse *sp, bool fresh);
struct draft *body_take_draft(struct flight *fl);
struct sparse *body_take_file(struct flight *fl);
/* Lets go of all bytes; forget: also of what a sparse file keeps for later. */
void body_drop(struct flight *fl, bool forget);
/* Bytes that came from the front. -ESTALE: they are of another version than those that are here. */
int body_keep(struct flight *fl, uint64_t off, const void *p, size_t n);

/* ---- phase-body.c: the source that won --------------------------------------------------------------------- */

/* The attempt's body becomes the file. 0; -EAGAIN: SAID_ROOM follows; the store's error, with words. */
int body_begin(struct flight *fl, struct attempt *at, struct err *e);
/* The attempt goes on with what is here. -ESTALE: it has another version; -EREMOTEIO: it may break off
 * there again; others: the store's. */
int body_resume(struct flight *fl, struct attempt *at);
/* The winner failed. Whether its readers may go on with what is here. */
bool body_lost(struct flight *fl, int error, const char *text);
void body_leave_version(struct flight *fl);
void body_flow(struct flight *fl); /* the winner may send again */

/* room.c */
int body_make_room(struct flight *fl, uint64_t need); /* 0: SAID_ROOM follows; -ENOMEM; -ENOSPC: in vain */
void room_forget(struct flight *fl); /* for another winner it may be made anew */

/* ---- ranges.c: files that are filled where readers look ---------------------------------------------------- */

void ranges_begin(struct flight *fl); /* the first range is in the draft */
void ranges_go(struct flight *fl);    /* something changed: asks for what is wanted now */
void ranges_fill(struct flight *fl);  /* all of it is wanted from now on */
void ranges_give_up(struct flight *fl); /* the whole is asked for from now on */
void ranges_resume(struct flight *fl);
void ranges_stop(struct flight *fl);
void ranges_release(struct ranges *rs);

/* probe.c: sparse files on workers. ready() runs on the net thread. 0, -ENOMEM. */
struct probed {
	bool opens, fresh; /* the file was opened; none of it was here before */
	int opened;	   /* 0; the error */
	int r;		   /* of obj_check() */
	int sparse;	   /* of obj_is_sparse() */
	bool sure;
	uint64_t want_off, want_len;
	struct obj_walk walk; /* if it is sparse */
	uint64_t *heads; /* room for HEADS_MOST; NULL: they are not wanted */
	int n_heads;	 /* of obj_heads() */
	char text[400];
};
typedef void probed_ready(struct flight *fl, const struct attempt *winner, struct sparse *sp, const struct probed *p);
int probe_first(struct flight *fl, probed_ready *ready); /* the draft becomes a sparse file */
int probe_again(struct flight *fl, uint64_t *heads, probed_ready *ready); /* takes `heads` */
void sparse_job_commit(struct flight *fl);

/* ---- phase-parked.c ---------------------------------------------------------------------------------------- */

bool park_begin(struct flight *fl); /* false: its connection cannot be spared */
void park_end(struct flight *fl);   /* the bytes are needed again, or the download is over */
void park_stop(struct flight *fl);  /* the flight ends: its sparse file stays idle until it is closed */
void park_for_others(struct flight *fl); /* goes on for requests of other processes, as long as there are any */

/* ---- phase-seal.c, phase-miss.c ---------------------------------------------------------------------------- */

void seal_start(struct flight *fl); /* takes the body */
void misses_write(struct flight *fl);
