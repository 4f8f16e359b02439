/* Flights: the downloads under way, one for each key, with the attempts, bytes and jobs of each. Everything
 * here runs on the net thread, unless a comment says otherwise. Only flight.c changes the phase of a flight.
 * Every other file reports to flight.c by an event, and calls none of its functions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/fetch-private.h"
#include "fetch/flight/ahead.h"
#include "fetch/follow.h"
#include "store/files/blob.h"

#include <errno.h>

/* ---- one source in the race of one flight ---------------------------------------------------------------- */

enum attempt_state {
	ATTEMPT_IDLE,	   /* not started, or given up for a better attempt; may be started again */
	ATTEMPT_ASKING,	   /* a transfer runs, or the attempt waits for one */
	ATTEMPT_PROMISING, /* the first bytes look right; the attempt waits for the election */
	ATTEMPT_WON,	   /* its body fills the download */
	ATTEMPT_LESS,	   /* its file is worth less than the key wants: a better file is looked for first */
	ATTEMPT_MISSING,   /* every spelling was a miss */
	ATTEMPT_FAILED	   /* refused, unreachable, or the file is wrong */
};

struct attempt;

/* The state of one spelling. */
enum query_state {
	QUERY_IDLE,    /* not sent yet, or cancelled before an answer came */
	QUERY_ASKING,
	QUERY_MISSING, /* the source does not have this spelling, and is not asked for it again */
	QUERY_FAILED,  /* an error, or a wrong file */
	QUERY_POINTS   /* the answer was a file.ptr or a bucket's key object; `ptr` is its text */
};

/* One spelling of the file, asked of an attempt's source. */
struct query {
	struct attempt *attempt;
	enum query_state state;
	struct source_ask ask;
	struct transfer *transfer;
	bool asked_range;	   /* a range from byte 0 was requested: the first EARLY_BYTES, */
	bool open_ended;	   /* or all bytes; body_choose() can end the transfer earlier */
	uint64_t asked_from;	   /* offset in the Range line of the request; 0: the whole file */
	uint64_t sent;		   /* clock_ms() of the request */
	struct buf ptr;		   /* contents of a file.ptr or a key object */
};

/* What is known of the answer of `answering`. */
struct answer {
	bool here;		   /* the HTTP head arrived */
	bool whole;		   /* the body was so short that `head` holds all of it */
	bool parted;		   /* its first bytes show a fat file, of which only one slice is served */
	bool unsure;		   /* the file is packed, and its first bytes do not show what is inside */
	bool other;		   /* the file is not the flight's, but what all its requests may mean next */
	bool ranged;		   /* the answer is the first range that was requested */
	bool chosen;		   /* body_choose() ended the open-ended range; other ranges follow */
	const struct packing *packing; /* the packing that the first bytes show; NULL: the file is not packed */
	uint32_t may_be;	   /* a bit for each type (program or its debug file) that can begin like `head` */
	uint8_t head[OBJ_HEAD];	   /* first bytes of the body */
	size_t head_n;		   /* bytes in `head`; they arrived before the election */
	int64_t size;		   /* bytes of the file; -1: not announced */
	uint64_t from;		   /* offset in the file at which its body begins */
	char etag[128], modified[64]; /* from the HTTP head; "": none */
	char made[BLOB_MAKER];	   /* the source is a symfs and made the file: the maker; "": it did not */
};

/* What happened to earlier answers. It is forgotten when all sources are asked for another version. */
struct retry {
	bool soon;  /* the source will be asked for the same spelling once more */
	bool used;  /* the retry after a transient error is used up */
	bool renew; /* the next start forgets which spellings were missing */
	bool stale; /* the source has another version than the one being read */
	/* How the source broke off while it sent the version being read. */
	enum { BROKE_NOT, BROKE_RANGE, BROKE_WHOLE } broke;
};

struct failure {
	enum {
		FAILED_NOT,
		FAILED_QUERY, /* a query failed */
		FAILED_LAST   /* a query failed, and no further spelling is asked for */
	} which;
	int error;	/* -errno; kept until the next failure */
	char text[200]; /* message of `error` */
};

struct attempt {
	struct flight *flight;
	const struct source *source;
	enum attempt_state state;
	struct {
		char digest[SHA256_TEXT]; /* digest of the file; "": none yet */
		int64_t time;		  /* time of the file at its origin; 0: unknown */
	} lead;			   /* from the key object of a bucket */
	struct source_facts facts; /* the facts with which the spellings were planned */
	struct symstore_wait wait; /* for facts about a symbol store */
	struct query *queries;	   /* one for each planned spelling; NULL: not planned yet */
	unsigned n_queries;
	struct query *likely;	   /* sent alone until it is answered; NULL: no spelling is known as likely */
	bool spread;		   /* all spellings are asked for */
	struct net_timer hurry;	   /* asks for the other spellings, if the first has no answer yet */
	struct query *answering;   /* the query whose answer is the attempt's answer; NULL: none yet */
	struct source_ask ask;	   /* request of the latest `answering`, which owns the strings */
	struct answer answer;
	struct blob *blob;	   /* the file to which file.ptr led, so that no body is needed; NULL: none */
	const struct net_sink *taker; /* receives the body and the end of the winner's transfer; NULL: no winner */
	unsigned job;		   /* number of the newest job; results of jobs with a lower number are discarded */
	uint64_t asked;		   /* clock_ms() of the last request */
	bool remembered;	   /* the store remembers a miss, so the source is not asked */
	bool plain;		   /* the source is not asked for ranges */
	bool blamed;		   /* the breaker has counted a failure since the attempt started */
	struct retry retry;
	struct net_timer later;	   /* sends the retry */
	struct failure failure;
	struct worth worth;	   /* in ATTEMPT_LESS: the worth of the source's file */
};

/* ---- events ----------------------------------------------------------------------------------------------- */

/* Events that the other files of a flight report to flight.c. Here "the file" is the file of the flight's key. */
enum said {
	SAID_JOB_BACK,	   /* a job returned from its worker */
	SAID_FAILED,	   /* the flight cannot continue: `error`, `text` */
	SAID_FOLLOWS,	   /* another process downloads the file */
	SAID_LEADS,	   /* this process is to download the file */
	SAID_HERE,	   /* the file is in the store, or in a directory: `key`, `blob` */
	SAID_FOUND,	   /* the file exists */
	SAID_NOT_FOUND,	   /* no directory has the file, although SAID_FOUND may have come before */
	SAID_ABSENT,	   /* the file is neither in the store nor in a directory; servers are to be asked */
	SAID_ATTEMPT,	   /* the state of an attempt changed */
	SAID_ELECTED,	   /* `attempt` won the race */
	SAID_OTHER_VERSION, /* the version being read will not be completed, but a source has another version */
	SAID_LOST,	   /* no source won the race: see struct race; `fresh`: there are new misses */
	SAID_SURE,	   /* the bytes so far identify the file */
	SAID_LESS,	   /* the winner's file is worth less than wanted: `worth` */
	SAID_READERS,	   /* readers came or left, or want other bytes */
	SAID_SETTLED,	   /* the time to ask for a better file is over */
	SAID_BODY_FAILED,  /* the winner broke off, or sent a wrong file: `error`, `text` */
	SAID_UNWANTED,	   /* no request came while the flight was parked */
	SAID_WANTED,	   /* another process wants the file of a parked flight */
	SAID_ALL,	   /* all bytes are present */
	SAID_ROOM,	   /* eviction ended: the disk has room now, or (`error`, `text`) has none */
	SAID_PROVEN,	   /* the whole file was identified; it is not synced to disk yet */
	SAID_BEATEN,	   /* meanwhile the user pinned other bytes for the key: `key`, `blob` */
	SAID_MISSES_STORED, /* the misses of this race are in the store */
};

struct event {
	enum said said;
	int error;
	const char *text;
	const struct key *key;
	struct blob *blob; /* borrowed */
	struct attempt *attempt;
	const struct worth *worth; /* borrowed */
	bool fresh; /* SAID_LOST: the race had misses that the store does not remember yet */
};

/* ---- the phases of a flight, and the data of each ---------------------------------------------------------- */

enum flight_phase {
	FLIGHT_CHECK,  /* looks into the store, at remembered misses, and into directories */
	FLIGHT_FOLLOW, /* another process downloads the file */
	FLIGHT_RACE,   /* servers are asked */
	FLIGHT_BODY,   /* a source won, and its bytes arrive */
	FLIGHT_PARKED, /* as FLIGHT_BODY, but no request needs the bytes yet */
	FLIGHT_SEAL,   /* a worker checks and publishes the file */
	FLIGHT_CUT,    /* no source has the section; servers are asked for a file to cut it out of */
	FLIGHT_MISS,   /* a worker writes the misses to the store */
	FLIGHT_DONE    /* all requests were answered; the flight is freed when its jobs have returned */
};

/* What the file of a phase offers. start() begins the phase, stop() ends it when the flight ends. */
struct phase {
	void (*start)(struct flight *fl);
	void (*stop)(struct flight *fl); /* NULL: nothing is to be stopped */
};
/* phase_follow ends with SAID_LEADS or SAID_FOLLOWS. phase_check also stops when it has its result. phase_race starts
 * anew after each winner that failed. phase_seal takes the body. phase_cut ends with SAID_HERE, or once more with
 * SAID_LOST. */
extern const struct phase phase_follow, phase_check, phase_race, phase_seal, phase_cut, phase_miss;

/* phase-check.c */
struct check {
	enum { CHECK_STORE, CHECK_DIRS, CHECK_OVER } step;
	unsigned job;	 /* number of the newest directory job; results of older jobs are discarded */
	struct net_timer timer; /* the next step, or the time limit of the current one */
	int store_error; /* error of the search of the store: -errno; 0: none */
	int dir_error;	 /* error of the search of a directory: -errno; 0: none */
	char dir_text[200]; /* message of `dir_error` */
	uint64_t partial; /* bytes that an earlier download by ranges left in the store */
};

/* phase-race.c */
struct race {
	unsigned tier;		/* sources with source_tier() up to this are asked */
	bool grace_over;	/* a later source may win now, although an earlier source has not answered */
	struct net_timer look;	/* holds the next election; runs at once after a change */
	struct net_timer grace; /* ends the time in which an earlier source may hold back a later one */
	struct net_timer again; /* asks all sources again for bytes that readers lack */
	int error;		/* if no source won the race: -errno; 0: no source has the file */
	char text[200];		/* message of `error` */
};

/* phase-cut.c */
struct cut {
	bool may_come;		/* a server may have a container, as far as the store knows */
	unsigned nth;		/* index of the container that is asked for, or read */
	struct ticket *ticket;	/* the request for the container; NULL: it was answered */
	struct cutting from;	/* the container */
	struct part_wait *wait; /* for its bytes */
	bool working;		/* a job reads the container */
	struct blob *out;	/* its results */
	int r;
	bool fresh;		/* as in struct event */
	bool again;		/* a container broke off, and was asked for once more */
	bool trouble;		/* a container could not be read */
	bool missed;		/* the servers have no container with the section */
};

/* A version of the file: the source that sent it, and the URL and validators by which the source knows it. */
struct version {
	const struct source *source;
	char *where;		      /* URL */
	char etag[128], modified[64]; /* "": the answer had none */
};

struct range;

/* The bytes of the file that have arrived (phase-body.c). */
struct body {
	enum {
		BODY_NONE,
		BODY_STREAM, /* `draft`, filled from front to back */
		BODY_SPARSE, /* `file`, filled where readers read */
		BODY_BESIDE, /* `draft`, filled from front to back and compared with every block that `file` has */
	} kind;
	struct draft *draft;
	struct sparse *file;
	bool fresh; /* `file` was empty when this flight opened it */
	atomic_bool poor; /* the file lacks the content for which its type is requested; FLIGHT_SEAL also sets it */
	struct version version; /* the version that is being read */
	unsigned versions_left; /* number of versions that were given up */
	uint64_t size;		/* bytes of the whole file, or FETCH_SIZE_UNKNOWN */
	struct attempt *winner; /* the attempt that sends the bytes; NULL: no winner yet, or the winner failed */
	bool sure; /* the bytes so far identify the file */

	enum { LOOK_LATER, LOOK_RUNS, LOOK_OVER } look; /* a worker tries to identify the file by its first bytes */
	uint64_t look_at; /* bytes that must be present before that worker is started */
	int broke;	  /* the winner broke off while that worker was busy: -errno; 0: it did not */
	char broke_text[200]; /* message of `broke` */

	uint64_t broke_at;    /* the most bytes that were present when a winner broke off */
	uint64_t stuck_since; /* clock_ms() when a winner last broke off with more bytes than before */

	int disk_error; /* the draft could not be written: -errno; 0: no error */
};

/* body.c: when the disk is full, a worker evicts other files. */
struct room {
	bool making;	/* the worker is busy, and the winner waits */
	/* Bytes present when room was last made for the winner, plus 1; 0: never. Prevents a second try there. */
	uint64_t made_at;
};

/* ranges.c: a sparse file that is filled by ranges */
struct ranges {
	bool on;		   /* the winner is asked for single ranges; its own transfer has ended */
	bool off;		   /* ranges failed, so sources are asked for the whole file */
	struct range *list;	   /* requests under way */
	struct net_timer later;	   /* sends the next request after an error */
	struct net_timer others;   /* checks whether another process wants the whole file */
	int disk_error;		   /* the sparse file could not be written: -errno; 0: no error */
	unsigned errors;	   /* errors in a row without a new block */
	uint64_t had;		   /* bytes present at the last error */
	bool probing;		   /* a worker tries to identify the file */
	bool committing;	   /* a worker syncs the file */
	uint64_t want_off, want_len; /* bytes that the worker needs to identify the file; want_len 0: none */
	bool fill;		   /* the whole file is wanted */
	uint64_t fill_at;	   /* offset at which filling continues */
	bool dense;		   /* readers like those of debuggers will read most of the file */
	uint64_t touched;	   /* bytes requested so far, without the bytes requested because of `fill` */
	unsigned waited;	   /* number of successive requests that readers waited for */
	uint64_t beside;	   /* bytes that were requested while a stream filled the file */
	struct ahead ahead;
	enum { HEADS_UNKNOWN, HEADS_WANTED, HEADS_KNOWN } heads; /* whether `ahead` has the unit heads */
	struct ahead_span queue[AHEAD_BATCH]; /* pieces to request: indexes queue_at to queued - 1 */
	unsigned queue_at, queued;
	unsigned reached;		      /* a bit for each run whose marked bytes a reader has read */
};

/* The parts through which readers read the file before it is published. */
struct readers {
	struct part *part;	/* NULL: no reader was let in yet */
	struct part *untouched; /* part of a version that was given up before any byte was read. Its readers get
				   the next version if both versions have the same size. Meanwhile `part` is
				   NULL. NULL: no such part */
	enum {
		OFFER_NONE,
		OFFER_UNPROVEN, /* `part` has all bytes; a worker seals the file, but has not identified it yet */
		OFFER_MADE	/* the worker has identified the file */
	} offer;
};

/* better.c: asks further sources while the best file so far is worth less than its key wants */
struct better {
	bool settled;	       /* the best file so far is the answer; no source is asked for a better one */
	bool known;	       /* the store remembers that no server has a better file, so no server is asked */
	struct net_timer over; /* sets `settled` */
	struct blob *blob;     /* the best file on this machine; NULL: none */
	struct key key;	       /* of `blob` */
};

/* phase-parked.c */
struct park {
	struct net_timer over; /* ends the flight if no OPEN came */
	struct net_timer look; /* checks whether other processes want the file */
};

/* phase-follow.c: of several processes that want one key, one leads (downloads). */
struct lead {
	struct follow follow;
	bool wants;		/* this process has asked the leader for the whole file */
	struct net_timer timer; /* a follower's next look, or a leader's next heartbeat */
};

struct flight {
	struct flight *next;
	struct fetch *f;
	void (*event)(struct flight *fl, const struct event *e); /* the only way to report to flight.c */
	struct sources *sources; /* a reference to the set that was in use at the start */
	struct artifact asked; /* the request of the first ticket */
	struct artifact what;  /* `asked`, with identifiers that learn_complete() added */
	struct key key;	       /* of `asked` */
	struct key own;	       /* of `what`: the file is judged by this key, stored under it, and answered with it */
	char canon[KEY_TEXT];  /* key_canon() of `key` */
	uint64_t number;       /* key_number() of `key` */
	uint64_t began;	       /* clock_ms() */

	enum flight_phase phase;
	struct ticket *tickets;
	unsigned jobs; /* number of jobs on workers; the flight is freed after they returned */
	bool found;    /* the file exists, and all FETCH_EXISTS requests were answered */
	bool linger;   /* the lookup deadline passed; the flight continues for later requests */
	bool first;    /* a request has the key as the first meaning of its path */
	bool streamed; /* a reader will read the whole file */
	struct net_timer deadline; /* the lookup deadline; later ends a flight that lingers */
	uint64_t waits_since;	   /* the beginning of that deadline, and */
	unsigned waits_ms;	   /* its length */

	struct check check;
	struct lead lead;
	struct race race;
	struct cut cut;
	struct better better;
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

/* The number of bytes that are present. */
static inline uint64_t body_here(const struct body *b)
{
	if (b->file)
		return sparse_present(b->file);
	return b->draft ? draft_size(b->draft) : 0;
}

/* Whether a source won, and its last bytes have not arrived yet. */
static inline bool flight_receives(const struct flight *fl)
{
	return fl->phase == FLIGHT_BODY || fl->phase == FLIGHT_PARKED;
}

/* ---- flight.c ---------------------------------------------------------------------------------------------- */

/* Joins the flight of a key, or starts one. */
void flight_join(struct fetch *f, struct ticket *t, const struct artifact *a, const struct key *k);
void flight_leave(struct flight *fl, struct ticket *t); /* the request was cancelled */
/* The time limit of a request passed. Returns whether the request left the flight. The request stays
 * while bytes arrive, or while a source may still answer. */
bool flight_overdue(struct flight *fl, struct ticket *t);
/* Answers all tickets, and ends the flight. */
void flight_finish(struct flight *fl, const struct fetched *a);

/* ---- readers.c: the requests that wait for a flight ------------------------------------------------- */

void tickets_add(struct flight *fl, struct ticket *t);
void tickets_remove(struct ticket *t);
/* Whether the file that was found may be one of another type that the request's path can also mean, because its
 * first bytes do not show the type. */
bool ticket_may_mean_other(const struct flight *fl, const struct ticket *t);
/* Returns the first ticket whose caller wants to read the file while the bytes arrive. NULL: no caller does. */
const struct ticket *tickets_reader(const struct flight *fl);
bool flight_is_lonely(const struct flight *fl); /* no request waits for the flight, and no reader has the file open */
bool flight_is_wanted_whole(const struct flight *fl); /* a request or a reader needs more than "it exists" */
enum tickets_which { TICKETS_ALL, TICKETS_READERS, TICKETS_OPENERS, TICKETS_EXISTS, TICKETS_EXISTS_SURE };
/* Answers the tickets of one kind, and removes them from the flight. */
void tickets_answer(struct flight *fl, const struct fetched *a, enum tickets_which which);

/* ---- readers.c: the requests that read the file while its bytes arrive -------------------------------------- */

void readers_sure(struct flight *fl); /* the bytes so far identify the file: lets readers in, if its size is known */
bool readers_admit(struct flight *fl, struct ticket *t); /* answers a new ticket, if it is a reader and may enter */
/* All bytes are present, and a worker will seal the file. Offers a debug file to readers as soon as it is identified,
 * before it is synced to disk, because debuggers wait for one debug file after the other. Other files must be stored
 * first, because their readers may use identifiers that the file proves, or ask for the file by another key. */
void readers_offer(struct flight *fl);
void readers_proven(struct flight *fl); /* the worker has identified the file: lets in readers with an offer */
/* Drops the bytes of the current version, and its readers. `forget`: also deletes the blocks that the store keeps of
 * a sparse file. `wrong`: readers may not even read the bytes present. */
void readers_drop_version(struct flight *fl, bool forget, bool wrong, int error);
void readers_withdraw(struct flight *fl); /* withdraws an offer that no reader has used yet */
/* `error` 0: all bytes are present. `whole`: the file, with which readers of a version that was given up continue;
 * NULL: there is no file. */
void readers_end(struct flight *fl, int error, struct blob *whole);

/* ---- part.c: reading a file while its bytes arrive --------------------------------------------------------- */

struct part_opts {
	int fd;		   /* the file; part_new() duplicates it */
	uint64_t size;	   /* bytes of the whole file */
	uint64_t have;	   /* bytes present from the front; unused with `sp` */
	struct sparse *sp; /* the sparse file; NULL: the bytes arrive from front to back */
	bool touched;	   /* bytes of `sp` may have been read before */
	bool poor;	   /* the result of part_is_poor() */
	const char *maker; /* the result of part_maker() */
	int64_t modified;  /* the result of part_modified() */
	struct net *net;
	/* Runs on the net thread soon after readers came, left, or asked for bytes. Does not run after part_end(). */
	void (*changed)(void *ctx);
	void *ctx;
};
int part_new(struct part **out, const struct part_opts *o); /* 0, -ENOMEM, -EMFILE */
/* The byte range for which the nth reader waits. False: fewer readers wait. While only needed bytes are fetched,
 * readers that wait for PART_FAR are left out: see part_pieces(). */
bool part_wanted(struct part *p, unsigned nth, uint64_t *off, uint64_t *end);
/* Lists the ranges of the waits for PART_FAR, in whole pages, at most `most` ranges. Returns the number of ranges. */
unsigned part_pieces(struct part *p, struct ahead_span *out, unsigned most);
/* More bytes are present. `have`: bytes present from the front; 0 for a sparse file. Wakes the readers of these
 * bytes. */
void part_advance(struct part *p, uint64_t have);
/* No more bytes will arrive; `error` is the reason, or 0. The bytes present stay readable, unless `bad`. Takes
 * the caller's reference. */
void part_end(struct part *p, bool bad, int error);
/* Prepares for another version of the file. part_renew() then replaces the file by another of the same size, with
 * `have` bytes from the front. False: bytes may have been read, so no other version can follow. */
bool part_suspend(struct part *p);
int part_renew(struct part *p, int fd, uint64_t have); /* 0, -errno */
/* Marks bytes of a sparse file. The first read of them runs changed() and sets bit i of part_reached(). */
void part_mark(struct part *p, unsigned i, uint64_t off, uint64_t end);
unsigned part_reached(struct part *p); /* the bits set since the last call */
void part_spare(struct part *p, bool sparing); /* allows or forbids part_refuses() to return true */
void part_nudge(struct part *p); /* changed() runs soon */
unsigned part_opens(struct part *p); /* the number of readers */

/* ---- attempt.c: one source --------------------------------------------------------------------------------- */

void attempt_release(struct attempt *at); /* frees all that the attempt owns, but not the struct */
/* Asks for the most likely spelling alone, and soon for all others. Does not ask again for a spelling that is known
 * to be missing. If all are missing, the source does not have the file. */
void attempt_start(struct attempt *at);
/* Stops the attempt's transfers. The attempt may be started again. */
void attempt_give_up(struct attempt *at);
void attempt_fail(struct attempt *at, int error, const char *text);
void attempt_again(struct attempt *at); /* asks for the same spelling again, after a random pause */
/* Judges the end of a transfer that broke off. True: the source is to be asked once more, by attempt_again(), because
 * the error is transient, or (`ranged`) because the first range did not arrive and the whole file may. False: the
 * breaker has counted the failure. */
bool attempt_broke(struct attempt *at, const struct net_reply *r, bool ranged, struct judgement *j);

/* answer.c: judges the head and the first bytes of an answer. */
enum answer_part {
	ANSWER_USABLE,	/* the file, its first range, or the rest of a download that broke off; or an error */
	ANSWER_USELESS, /* no range, or a range without a validator */
	ANSWER_OTHER_VERSION
};
/* Makes the query's answer the answer of its attempt. *as_whole: the head, if the answer is usable, as of an answer
 * with the whole file. */
enum answer_part answer_take(struct query *q, const struct net_reply *r, struct net_reply *as_whole);
/* Whether the file can begin with these n bytes; n is OBJ_HEAD or more, unless the file is shorter. Sets the
 * attempt's `parted`, `packing`, `unsure`, `other` and `may_be`. `all`: the file has no further bytes. */
bool answer_may_win(struct attempt *at, const void *head, size_t n, bool all);

/* query.c: the spellings of an attempt. `sink` gets the query as its context. */
int queries_plan(struct attempt *at); /* one query for each spelling; 0, -ENOMEM */
void queries_release(struct attempt *at); /* no transfer may run */
/* Cancels the transfers of all queries except one (NULL: of all). Returns whether any was cancelled. */
bool queries_cancel(struct attempt *at, const struct query *except);
bool queries_run(const struct attempt *at); /* whether a query has a transfer that runs or waits for its host */
struct query *queries_first(const struct attempt *at, enum query_state state); /* NULL: none */
bool queries_are_queued(const struct attempt *at); /* whether transfers exist, and all wait for their host */
uint64_t queries_turn(const struct attempt *at); /* the latest transfer_its_turn(); 0: none */
int query_send(struct query *q, const struct net_sink *sink); /* 0, -ENOMEM; -EACCES: no credentials */
/* Call it when the head of the answer has come, or when the request ended without an answer. */
void latency_add(const struct query *q, bool answered);

/* query.c: answers for the next meaning of a path. */
void kept_add(struct query *q, const struct net_reply *r); /* takes its transfer, if one runs */
/* Continues the answer to the same request: fills `head` of the attempt and *r, and passes the rest to `sink`. If
 * q->transfer is NULL then, `head` is the whole file. False: no such answer is kept. */
bool kept_take(struct query *q, const struct net_sink *sink, struct net_reply *r);

/* query.c: wrong files, remembered in memory. */
const struct mismatch *mismatch_find(const struct query *q); /* NULL: no mismatch that still counts */
/* Also remembered: spellings that a source did not have, while a request for another spelling failed. */
void absent_add(const struct attempt *at); /* adds all missing spellings of an attempt that failed */
void mismatch_add(const struct attempt *at, int error, const char *text); /* also logs the mismatch */
void attempt_set_aside(const struct attempt *at, int error, const char *text); /* mismatch_add() without a log */

/* no-ranges.c: decides whether a source is asked for ranges, and whether a file is filled by ranges. */
bool flight_wants_all(const struct flight *fl); /* a request wants the whole file, or reads it from front to back */
/* Whether only the first bytes are to be requested. *open_ended: whether this range may become the whole file. */
bool ranges_wanted(const struct query *q, bool *open_ended);
/* Whether the rest of the file, in one stream, takes less time than the ranges that its readers would wait for.
 * `streams`: that stream is already running. */
bool ranges_cost_more(const struct flight *fl, bool streams);
void ranges_refuse(struct fetch *f, const struct source *s); /* notes that the source answers no ranges */
bool ranges_takes_several(struct fetch *f, const struct source *s); /* one request may ask it for several */
void ranges_refuse_several(struct fetch *f, const struct source *s); /* notes that no request may ask for several */

/* ptr.c: finds the file that the file.ptr of `at->answering` names. followed() runs on the net thread, unless the
 * attempt is started anew. */
typedef void ptr_followed(struct attempt *at, int r, struct blob *blob, const struct key *own, const char *text);
void ptr_follow(struct attempt *at, ptr_followed *followed);

/* ---- phase-race.c ------------------------------------------------------------------------------------------ */

/* Makes an attempt for each server that can be asked for the file. `until[i]`: wall clock until which the
 * remembered miss of source i counts. */
void attempts_plan(struct flight *fl, const int64_t *until);
void race_look_soon(struct flight *fl); /* after any change: holds an election soon */
void race_won(struct flight *fl, const struct attempt *winner); /* gives up the other attempts */
/* How long requests wait, in ms: the lookup deadline, or less if all that the race waits for are servers that have
 * never answered. */
unsigned race_patience(const struct flight *fl);
/* How many of these milliseconds remain for a request that waits in the queue of its host or left it late, or for a
 * source that has just answered. 0: there is no such request. */
unsigned race_time_left(const struct flight *fl);
void race_deadline(struct flight *fl); /* blames the hosts that have not answered */

/* State of an election. race_see() updates the state with one attempt after the other. */
struct election {
	bool grace_over; /* set by the caller */
	bool settled;	 /* set by the caller: the time to look for a better file is over */
	bool have;	 /* set by the caller: this machine has a file that is worth `less_rank` */
	unsigned less_rank; /* worth_rank() of that file, or of the file of `less` */
	unsigned seen;	 /* number of attempts so far */
	unsigned best;	 /* the first attempt that may win, counted from 1; 0: none */
	unsigned idle;	 /* the first attempt that was not started, counted from 1; 0: none */
	unsigned less;	 /* the attempt with the best file of those in ATTEMPT_LESS, counted from 1; 0: none */
	bool held;	 /* an attempt so far holds back later ones */
	bool promised;	 /* an attempt so far has the file */
	bool asking;	 /* an attempt so far has not answered */
};
enum race_says {
	RACE_WAIT,	/* wait for answers */
	RACE_HOLD,	/* a source has the file; wait for earlier sources, but no longer than the grace time */
	RACE_ELECT,
	RACE_NEXT_TIER, /* every attempt so far lost, and a later tier is left */
	RACE_SETTLE,	/* no source has a better file than an attempt in ATTEMPT_LESS */
	RACE_KEEP,	/* no source has a better file than the one on this machine */
	RACE_LOST
};
/* Adds the next attempt, in the order of sources. `holds_back`: its answer is worth waiting for.
 * `rank`: worth_rank() of its file, if the attempt is in ATTEMPT_LESS. Pure. */
void race_see(struct election *el, enum attempt_state state, bool holds_back, unsigned rank);
/* Decides. *which: index of the attempt that is elected or settled for, or of the first of the next tier. Pure. */
enum race_says race_judge(const struct election *el, unsigned *which);

/* ---- better.c: asks other sources when a file is worth less than its key wants
 * ------------------------------------- */

/* Whether a server may have a better file than the stored file `b`. Any thread; reads the index. */
bool better_may_exist(struct fetch *f, const struct sources *so, const struct key *k, const struct blob *b);
bool better_is_possible(const struct flight *fl); /* whether another source may have a better file than the winner */
/* Whether other sources should be asked for a better file than one of this worth. */
bool better_is_wanted(const struct flight *fl, const struct worth *w);
/* Keeps a file of this machine as the answer in case no source has a better one. */
void better_hold(struct flight *fl, const struct key *k, struct blob *b);
bool better_than_held(const struct flight *fl, const struct blob *b); /* true if none is kept */
/* Puts an attempt that won into ATTEMPT_LESS. Its source is asked again if no source has a better file. */
void better_set_aside(struct flight *fl, struct attempt *at, const struct worth *w);
int64_t better_seconds(const struct flight *fl); /* seconds for which to believe that no source has a better file */
/* Remembers for `seconds` that no source has a better file than `b`, unless `b` has all that is wanted. Call this
 * on a worker, after `b` was published. */
void better_remember(const struct flight *fl, const struct blob *b, int64_t seconds);

/* ---- body.c: which version of a file is read ------------------------------------------------------------ */

bool same_version(const struct version *v, const struct net_reply *r);
/* The value for If-Range: a strong ETag, or the date. NULL: the server cannot compare versions. */
const char *version_validator(const struct version *v);
/* What to do when the source of the version being read broke off. */
enum version_next {
	VERSION_WAIT,	/* a source may still send the rest */
	VERSION_CHANGE, /* change to another version; readers that saw bytes of this one get an error */
	VERSION_LOST
};
/* `asking`: a source was asked, and has not answered yet. */
enum version_next version_look(const struct flight *fl, bool asking);
bool version_has_other(const struct flight *fl); /* a source has another version */

/* ---- body.c: the bytes ------------------------------------------------------------------------------------- */

/* Whether the type of the file in `v` is not that of `k`, in a layout in which files of several types share one
 * path. Such a file is a miss, not a mismatch. *own: its key; `own` may be NULL. (any thread) */
bool is_other_use(const struct attempt *at, const struct key *k, struct view *v, struct key *own);
int body_open_draft(struct flight *fl, struct err *e); /* does nothing if there is a draft; 0, or the store's error */
void body_drop_draft(struct flight *fl);
/* Replaces the draft, which holds the first range, with the sparse file `sp`. */
void body_become_sparse(struct flight *fl, struct sparse *sp, bool fresh);
void body_take(struct flight *fl, struct draft **draft, struct sparse **file); /* NULL: this one stays */
/* The time of the winner's file at its origin, in seconds since 1970; 0: the source did not say. */
int64_t body_modified(const struct flight *fl);
/* Closes the draft and the sparse file. `forget`: also deletes the blocks that the store keeps of the latter. */
void body_drop(struct flight *fl, bool forget);
/* Adds n bytes at `off` of a transfer from front to back. Bytes already present are compared, not written.
 * 0. -ESTALE: the bytes are of another version. Others: the store's errors. */
int body_keep(struct flight *fl, uint64_t off, const void *p, size_t n);

/* ---- phase-body.c: the source that won --------------------------------------------------------------------- */

/* Starts the flight's body with the attempt's answer. The attempt becomes the winner. 0. -EAGAIN: SAID_ROOM will
 * come, and the election is to be repeated. Others: the store's errors, with text in `e`. */
int body_begin(struct flight *fl, struct attempt *at, struct err *e);
/* Continues the body with the attempt, which becomes the winner. 0. -ESTALE: the source has another version.
 * -EREMOTEIO: the source may break off again at the same byte. Others: the store's errors. */
int body_resume(struct flight *fl, struct attempt *at);
/* The winner failed. Returns whether readers may continue with the bytes present. */
bool body_lost(struct flight *fl, int error, const char *text);
void body_set_aside(struct flight *fl); /* gives up the winner's bytes; a sparse file keeps them for later */
/* The current version was given up. Sources that were given up, too, may be asked for another version, without
 * ranges. */
void body_leave_version(struct flight *fl);
void body_flow(struct flight *fl); /* resumes the winner's transfers */

/* body.c */
/* Makes room for `need` bytes, on a worker. 0: SAID_ROOM will come. -ENOMEM. -ENOSPC: room was made at this
 * point before, and did not suffice. */
int body_make_room(struct flight *fl, uint64_t need);

/* ---- ranges.c: files that are filled where readers read ---------------------------------------------------- */

void ranges_begin(struct flight *fl); /* call it when the first range is in the draft */
void ranges_go(struct flight *fl);    /* after any change: requests the bytes that are wanted now */
void ranges_resume(struct flight *fl); /* after a pause for room on the disk, or for a parked flight */
void ranges_stop(struct flight *fl);

/* probe.c: jobs that open, identify and sync the sparse file on a worker. */
struct probed {
	bool opens;	   /* the job was to open the sparse file */
	bool fresh;	   /* the file that was opened had no blocks */
	int opened;	   /* 0, or the error of opening: -errno */
	int r;		   /* result of obj_check() */
	struct worth worth; /* set if `r` is 1 */
	int sparse;	   /* result of obj_is_sparse() */
	bool sure;	   /* the bytes so far identify the file */
	uint64_t want_off, want_len; /* bytes that are needed to say more; want_len 0: none */
	struct obj_walk walk; /* set if `sparse` is 1 */
	uint64_t *heads; /* offsets of unit heads, room for HEADS_MOST; NULL: they are not wanted */
	int n_heads;	 /* result of obj_heads() */
	char text[400];	 /* message of the error */
};
/* Runs on the net thread. `winner` is the winner for which the job was started. */
typedef void probed_ready(struct flight *fl, const struct attempt *winner, struct sparse *sp, const struct probed *p);
/* Starts a worker that identifies the sparse file. If the flight has no sparse file yet, the worker copies the draft
 * to one first. The worker frees `heads`. 0, -ENOMEM. */
int probe_start(struct flight *fl, uint64_t *heads, probed_ready *ready);
void sparse_job_commit(struct flight *fl); /* syncs the sparse file */

/* ---- phase-parked.c ---------------------------------------------------------------------------------------- */

bool park_begin(struct flight *fl); /* false: the flight cannot park, because its connection is needed */
void park_end(struct flight *fl);   /* the bytes are needed again, or the download is over */
void park_for_others(struct flight *fl); /* continues while other processes request the file; then SAID_UNWANTED */

/* later.c: sees to one more request, after that time. */
void later_note(struct fetch *f, const struct artifact *what, const struct key *k, int64_t seconds);
void laters_stop(struct fetch *f);
