/* Flights: the downloads under way, and the attempts, bodies and jobs of each. (net thread, unless a
 * comment says otherwise) */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/ahead.h"
#include "fetch/fetch-private.h"
#include "fetch/follow.h"

#include <errno.h>

enum attempt_state {
	ATTEMPT_IDLE,	   /* not started, or given up for a better one: may be started again */
	ATTEMPT_ASKING,	   /* a transfer runs */
	ATTEMPT_PROMISING, /* its first bytes look right; it waits for the election */
	ATTEMPT_WON,	   /* its body fills the draft */
	ATTEMPT_MISSING,   /* every spelling was a miss */
	ATTEMPT_FAILED	   /* refused, unreachable, wrong file */
};

/* One source in the race of one flight. */
struct attempt {
	struct flight *flight;
	const struct source *source;
	enum attempt_state state;
	unsigned nth;		  /* source */
	unsigned spelling;	  /* the nth of its plan */
	struct source_ask ask;
	struct source_facts facts; /* by which its spellings are counted */
	struct symstore_wait wait; /* for what is being found out */
	struct transfer *transfer;
	bool answered;		  /* the head came */
	uint64_t asked;		  /* clock_ms() */
	bool remembered;	  /* missing by memory: not asked */
	int64_t remembered_until;
	uint8_t head[OBJ_HEAD];
	size_t head_n;		  /* bytes taken into `head` before the election */
	bool parted;		  /* by its first bytes only a part of it will be served */
	const struct packing *packing; /* what its first bytes are; NULL: it is not packed */
	bool unsure;		  /* of what kind the file inside is */
	uint32_t may_be;	  /* a bit for each type of a program or its debug file that can begin so */
	struct buf ptr;		  /* what a file.ptr says */
	struct blob *blob;	  /* where it led: it needs no body */
	unsigned job;		  /* grows: what a worker brings back of an older one is late */
	bool whole;		  /* the body was so short that `head` holds all of it */
	bool verdict_set;	  /* the head already said that no body is wanted */
	bool stale;		  /* it has another version than the one that is being read */
	bool broke;		  /* it broke off while it sent that one; */
	bool cut;		  /* and sent no ranges */
	bool again, retried;	  /* it is asked a second time; it was */
	struct net_timer later;	  /* when */
	int64_t size;		  /* -1: not told */
	uint64_t from;		  /* of the file, where its body begins */
	uint64_t asked_from;	  /* where it was asked to begin; 0 */
	bool asked_range, ranged; /* for the first bytes only; and that is what came */
	bool plain;		  /* it is not asked so */
	char etag[128], modified[64]; /* of the answer; "" */
	int error;		  /* of FAILED */
	char text[200];
};

void attempt_release(struct attempt *at); /* what it owns */

enum flight_state {
	FLIGHT_CHECK,  /* a worker looks into the store, at misses and directories */
	FLIGHT_FOLLOW, /* another process fetches it */
	FLIGHT_ASK,    /* the race */
	FLIGHT_BODY,   /* one source won, its bytes come */
	FLIGHT_SEAL,   /* a worker checks and publishes */
	FLIGHT_MISS,   /* a worker writes the misses down */
	FLIGHT_DONE
};

/* What a part of a flight reports to it. */
enum said {
	SAID_BACK,	  /* a job came back */
	SAID_FAILED,	  /* the flight cannot go on: `error`, `text` */
	SAID_HERE,	  /* the file is in the store: `key`, `blob` */
	SAID_FOUND,	  /* the file exists */
	SAID_NOT_FOUND,	  /* no directory has it, although SAID_FOUND may have come */
	SAID_ABSENT,	  /* it is neither in the store nor in a directory: servers are asked */
	SAID_FAILED_BODY, /* the winner's file is no good: `error`, `text` */
	SAID_BROKE,	  /* the winner broke off while its first bytes were looked at */
	SAID_SURE,	  /* what is here was identified */
	SAID_ALL,	  /* all bytes are here */
	SAID_ROOM,	  /* the disk has room now, or (`error`, `text`) has none */
	SAID_PROVEN,	  /* all bytes that wait for the disk are the file */
	SAID_BEATEN,	  /* other bytes were pinned meanwhile: `key`, `blob` */
	SAID_MISSED,	  /* the misses are written down */
};
struct event {
	enum said said;
	int error;
	const char *text;
	const struct key *key;
	struct blob *blob; /* borrowed */
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

struct flight {
	void (*event)(struct flight *fl, const struct event *e); /* the only way up to flight.c */
	struct flight *next;
	struct fetch *f;
	struct sources *sources;
	struct artifact asked; /* by its first asker */
	struct artifact what;  /* completed by what other files taught */
	struct key key;	       /* of what was asked; `canon` and `number` are its */
	struct key own;	       /* what a file is judged by and stored under, and what is answered */
	char canon[KEY_TEXT];
	uint64_t number;
	enum flight_state state;

	struct ticket *tickets;
	unsigned jobs;	  /* on workers: the flight lives until they are back */
	bool dead;	  /* nobody wants it any more */
	struct follow follow; /* which process works on it */
	bool following;	  /* we said that we want it whole */
	bool found;	  /* a source has it, by its first bytes */
	bool overdue;	  /* the lookup deadline passed without an answer */
	bool linger;	  /* goes on for the next asker although nobody waits */
	bool grace_over, early_done, parked;
	bool sure;	  /* the file was identified by what came of it so far */

	struct check check;
	int disk_error;	  /* of the draft; 0 */
	bool making_room; /* a worker evicts; the winner waits */
	uint64_t room_for; /* the draft's end + 1 when room was last made: not twice for the same */
	int end_error;	  /* what a race ended with that nobody won; 0: no source has it */
	char end_text[200];

	struct net_timer deadline, grace, poll, park, look, beats;
	uint64_t began;
	uint64_t size;	  /* or FETCH_SIZE_UNKNOWN */
	struct draft *draft;
	struct sparse *sparse;	   /* in place of `draft`, once it is filled by ranges */
	bool fresh;		   /* nothing of that was here before */
	struct part *part;	   /* what readers have of it; NULL: nobody was let in yet */
	struct part *untouched;	   /* of a version that was given up, and of which no byte was read: its readers
				      get the next version if that has the same size. Then `part` is NULL */
	unsigned changes;	   /* how many versions were given up */
	enum { OFFER_NONE, OFFER_UNPROVEN, OFFER_MADE } offer; /* `part` has all of it, which is being sealed; is
							    it known to be the file? */
	bool looking;		   /* a worker looks at it */
	int broke;		   /* why the winner broke off meanwhile; 0 */
	char broke_text[200];
	uint64_t early_at;	   /* the identity is looked at when so much is here */
	uint64_t broke_at;	   /* how much was here when the last one broke off, */
	uint64_t stuck_since;	   /* and when it was first no more: clock_ms() */
	/* The version that `draft` is of: who sent it, and by what it is known there. */
	const struct source *first;
	char *first_where, first_etag[128], first_modified[64];
	struct attempt *winner;

	/* ranges.c */
	bool ranged;		   /* the winner sends what it is asked for; no transfer of it runs */
	bool plain;		   /* ranges went wrong: the whole is asked for */
	bool probing, committing;  /* a worker looks at it, syncs it */
	bool all;		   /* somebody reads it who will read all of it */
	bool fill;		   /* all of it is wanted */
	uint64_t fill_at, touched;
	uint64_t want_off, want_len; /* what is looked at next */
	struct range *ranges;
	unsigned range_errors; /* since `range_had` bytes were here */
	uint64_t range_had;
	struct ahead ahead;
	enum { HEADS_UNKNOWN, HEADS_WANTED, HEADS_KNOWN } heads; /* of `ahead` */
	struct ahead_span queue[AHEAD_BATCH]; /* pieces that were not asked for yet: */
	unsigned queue_at, queued;	      /* from, to */
	unsigned reached;		      /* a bit for each run whose marked bytes are read */
	struct net_timer later;

	unsigned n;
	unsigned tier;		   /* sources up to this one are asked */
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

/* Joins the flight of a key, or starts one. (net) */
void flight_join(struct fetch *f, struct ticket *t, const struct artifact *a, const struct key *k);
/* (net) Finds the servers that can be asked for it; `until` has for each source how long its miss counts. */
void attempts_plan(struct flight *fl, const int64_t *until);
void flight_leave(struct flight *fl, struct ticket *t);	     /* (net) the asker has gone */
/* (net) the asker's time is up: unless the bytes come already, it waits no more, and the flight
 * goes on to its own deadline. Whether it left. */
bool flight_overdue(struct flight *fl, struct ticket *t);
bool flight_is_lonely(const struct flight *fl); /* (net) nobody waits for it or reads it */
void flight_deadline(struct flight *fl); /* (net) begins the wait for "does it exist" */
void flight_cancel(struct flight *fl);			     /* (net) ends it; its tickets must be gone */
void flight_reap(struct flight *fl);			     /* (net) frees it when it is over and no job is out */
void flight_finish(struct flight *fl, const struct fetched *a); /* (net) answers everybody, ends it */
void flight_fail(struct flight *fl, int error, const char *why);
void flight_found(struct flight *fl);  /* (net) a source has it: answers those who only ask that */
void flight_sure(struct flight *fl);   /* (net) what is here was identified: lets readers in */
/* (net) All of it is here and will be sealed: who opens it may be let in as soon as it is known to be the file, */
void flight_offer(struct flight *fl);
void flight_proven(struct flight *fl); /* which it is. */
void flight_readers(struct flight *fl); /* (net) readers came, went, or want something */
void flight_park(struct flight *fl);   /* (net) when nobody wants the whole yet */
/* (net) Nobody waits for it any more, because its source answered too late; it goes on for the next asker. */
bool flight_lingers(const struct flight *fl);
void flight_unpark(struct flight *fl);

/* part.c: what readers get before all is here. Made, advanced and ended on the net thread. */
int part_new(struct part **out, struct flight *fl, int fd, uint64_t size, uint64_t have,
	struct sparse *sp);
/* The nth that is waited for. False: there are not so many. */
bool part_wanted(struct part *p, unsigned nth, uint64_t *off, uint64_t *end);
void part_advance(struct part *p, uint64_t have); /* so much is here from the front; of one with holes 0 */
/* Takes the reference. What is here stays readable, unless it is bad; no more comes, because of the
 * error. */
void part_end(struct part *p, bool bad, int error);
/* No more of it comes, and no byte of it was read: then another file of the same size may take its place, with
 * `have` bytes from the front. False: some were read, or may have been. */
bool part_suspend(struct part *p);
int part_renew(struct part *p, int fd, uint64_t have);
/* The first read of these bytes is told, by flight_readers() and a bit of part_reached(). */
void part_mark(struct part *p, unsigned i, uint64_t off, uint64_t end);
unsigned part_reached(struct part *p); /* since the last time */
void part_spare(struct part *p, bool sparing); /* part_refuses() may */
void part_nudge(struct part *p); /* flight_readers() runs soon */
bool part_is_open(struct part *p);

/* version.c: which version of a file is read. (net) */
void version_take(struct flight *fl, const struct attempt *at); /* it is that of the attempt's answer */
bool same_version(const struct flight *fl, const struct net_reply *r);
enum version_next {
	VERSION_WAIT,	/* it may still go on */
	VERSION_CHANGE, /* another one is read: who saw bytes of this one gets an error */
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
/* Gives it up with its readers. forget: nor is what came of it kept; wrong: nor may they read that any more. */
void version_drop(struct flight *fl, bool forget, bool wrong, int error);
void version_change(struct flight *fl); /* may end the flight */

/* race.c: the race. (net) */
void attempt_set_aside(const struct attempt *at, int error, const char *text); /* not asked for a while */
void race_start(struct flight *fl);  /* starts what may be asked */
void race_has_room(struct flight *fl, int r, const char *text); /* what came of work_room() */
void race_look_soon(struct flight *fl); /* after any change: elects, or concludes */
void race_stop(struct flight *fl);   /* cancels every transfer */
void race_over(struct flight *fl);   /* nobody won, and the misses are written: answers */
bool race_is_queued(const struct flight *fl); /* a source was not asked yet: others are before us */
/* How many of so many ms a source still has that was asked late, because others were before us, or whose
 * answer came just now; 0: there is none, or it had them. */
unsigned race_time_left(const struct flight *fl, unsigned ms);
void race_deadline(struct flight *fl); /* blames those who have not answered */
/* What came of work_ptr(). */
void race_followed(struct attempt *at, int r, struct blob *blob, const struct key *own, const char *text);
void winner_fail(struct flight *fl, int error, const char *text); /* its file was no good */
void winner_broke(struct flight *fl); /* the same, when it was looked at what came before it broke off */
void winner_resume(struct flight *fl);

/* ranges.c: files that are filled where readers look. (net) */
bool ranges_wanted(const struct attempt *at); /* is it asked for its first bytes only? */
void ranges_refuse(struct fetch *f, const struct source *s); /* it answers none */
void ranges_begin(struct flight *fl); /* the first range is in the draft */
void ranges_go(struct flight *fl);    /* something changed: asks for what is wanted now */
void ranges_resume(struct flight *fl);
void ranges_stop(struct flight *fl);
struct probed {
	bool opens, fresh; /* the file was opened; none of it was here before */
	int opened;	   /* 0; the error */
	int r;		   /* of obj_check() */
	int sparse; /* of obj_is_sparse() */
	bool sure;
	uint64_t want_off, want_len;
	struct obj_walk walk; /* if it is sparse */
	uint64_t *heads; /* room for HEADS_MOST; NULL: they are not wanted */
	int n_heads;	 /* of obj_heads() */
	char text[400];
};
/* How much of it is here; whether anything was kept. */
uint64_t flight_here(const struct flight *fl);

/* ptr.c: follows `at->ptr`. The answer comes on the net thread, unless the attempt is started anew. */
typedef void ptr_followed(struct attempt *at, int r, struct blob *blob, const struct key *own, const char *text);
void ptr_follow(struct attempt *at, ptr_followed *followed);

/* probe.c: sparse files on workers. ready() runs on the net thread. 0, -ENOMEM. */
typedef void probed_ready(struct flight *fl, const struct attempt *winner, struct sparse *sp, const struct probed *p);
int probe_first(struct flight *fl, probed_ready *ready); /* the draft becomes a sparse file */
int probe_again(struct flight *fl, uint64_t *heads, probed_ready *ready); /* takes `heads` */
void sparse_job_commit(struct flight *fl);

/* phase-check.c */
void check_start(struct flight *fl);
void check_stop(struct flight *fl); /* the phase is over: directories are not waited for any longer */

/* phase-body.c */
/* Where files of several types have one path, one of another type is not a wrong file; `own` becomes its key.
 * (any thread) */
bool is_other_use(const struct attempt *at, const struct key *k, struct view *v, struct key *own);
void body_identify(struct flight *fl); /* begins to look at the first bytes */
int body_make_room(struct flight *fl, uint64_t need); /* 0: SAID_ROOM follows; -ENOMEM; -ENOSPC: in vain */

/* phase-seal.c */
void seal_start(struct flight *fl); /* takes the body */
void sparse_close_later(struct flight *fl, bool drop); /* on a worker; drop: what is here is forgotten */

/* phase-miss.c */
void misses_write(struct flight *fl);
