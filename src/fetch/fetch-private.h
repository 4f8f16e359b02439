/* The inside of fetch/: shared by its files, seen by nobody else.
 *
 * Everything about flights happens on the net thread, so flights need no lock: callers post
 * their requests there, workers post their results there. What waits for a disk (SQLite, digests,
 * identity, directory sources) runs on workers, on plain values that a job takes along. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/workers.h"
#include "fetch/ahead.h"
#include "fetch/fetch.h"
#include "net/net.h"
#include "obj/obj.h"
#include "source/breaker.h"
#include "source/sources.h"
#include "store/flights.h"
#include "store/sparse.h"
#include "unpack/unpack.h"

#define HEAD_MOST 4096	/* bytes that show what is inside of a packed file */
#define PARK_BYTES (1u << 20)	/* a parked flight stops reading here */
#define PARKED_MOST 4		/* of them at once */
#define EARLY_BYTES (256u << 10) /* the identity is looked at here, before the end */
#define RESUME_MS 500		/* a download that readers wait for is begun again so often */
#define POLL_MS 50		/* looks at other processes' flights */
#define LOOK_AGAIN_MS 10	/* when as many look into directories as may */
#define BEAT_MS FLIGHTS_BEAT_MS
#define SILENCE_MS FLIGHTS_SILENCE_MS
#define TREE_POLL_MS 100	/* looks at trees that are still being walked */
#define TREE_WAIT_MS 2000	/* for so long before servers are asked */
#define LINGER_MS 300000	/* an unanswered flight that nobody waits for ends after this */
#define MISS_ANSWER_MS 2000	/* an answer from misses is believed no longer: `symfs add` */

struct flight;

/* A source sent the wrong file for a key, or too much: it is not asked for it again for a while, and
 * nothing is written down, because that is no "does not exist". */
#define MISMATCHES 64
#define MISMATCH_MS 60000
struct mismatch {
	uint64_t until, asked; /* seen_number() */
	int error;
	char text[200];
};

/* The last answer of a source that was not the file. The newest of each slot is kept. */
#define SEEN_MOST 256
struct seen {
	uint64_t number, when; /* seen_number(); clock_ms(), 0: none */
	int error;
	char text[200];
};

#define ASKED_MOST 64

/* What became of files that were read while they came. */
#define WAS_MOST 256
struct was {
	uint64_t number, blob;
};

/* What files have told that are read already and not stored yet, or never will be as a whole. */
#define HINTS_MOST 64

/* Sources that answered no range lately are not asked for one, and those that answered no more than one
 * at once not for several. */
#define NO_RANGES 64
#define NO_RANGES_MS 600000
struct no_ranges {
	uint64_t until, several_until;
};

#define HEADS_MOST 16384 /* of units of one file; there is no reading ahead behind them */

/* Who is in which directory source just now. */
#define VISITS_MOST 64
#define VISIT_LONG_MS 1000 /* after this the directory does not answer, and nobody else goes in, */
#define VISITORS_MOST 8	   /* nor when so many are in it */
struct visit {
	uint64_t dir; /* 0: a free slot */
	uint64_t since;
};

#define LOOKERS 32   /* threads for directories; a dead one costs VISITORS_MOST of them */
#define LOOKS_MOST 8

#define REFUSED_SLOTS 32
#define REFUSED_MS 10000

struct fetch {
	/* constant */
	struct store *store;
	struct net *net;
	struct workers *workers;
	struct breakers *breakers;
	struct fetch_opts opts;
	struct fetch_stats stats;

	pthread_mutex_t lock;
	/* under lock */
	struct sources *sources;
	struct facts *facts; /* grows only */
	pthread_mutex_t recall_lock; /* one reads what an earlier process knew; others wait for it */
	struct store_asked asked[ASKED_MOST]; /* not told to the store yet */
	unsigned n_asked;
	uint64_t loops_told; /* a bit for each source whose loop the log knows of */
	struct was was[WAS_MOST];
	struct seen seen[SEEN_MOST];
	struct module hints[HINTS_MOST]; /* a ring */
	unsigned next_hint;
	struct visit visits[VISITS_MOST];

	pthread_mutex_t trees_lock;
	struct tree *trees; /* under trees_lock */

	/* net thread only */
	struct flight *flights; /* few: a list */
	struct workers *lookers; /* NULL until a directory is looked into */
	unsigned looks;		 /* jobs of theirs that are waited for */
	struct mismatch mismatches[MISMATCHES];
	unsigned next_mismatch;
	struct no_ranges no_ranges[NO_RANGES];
	uint64_t refused_until[REFUSED_SLOTS]; /* until when the log knows of a source's refusal */

	atomic_uint derives; /* ever made; they share the memory that workers may have (any thread) */
	atomic_bool closing; /* written there; workers stop what is long */
};

/* A key was asked for, and it was remembered that nobody has it. (any thread) */
void asked_again(struct fetch *f, const struct key *k);
void asked_tell(struct fetch *f); /* (workers) to the store */
int64_t asked_since(struct fetch *f, const struct key *k); /* how often since that (any thread) */

struct sources *fetch_sources(struct fetch *f); /* a reference; any thread */
/* Whether any of them could be asked for it. (any thread) */
bool fetch_can_name(const struct sources *so, const struct artifact *a);

/* Asks a source one question, without more of the body than shows what it is; `via` as an artifact's.
 * NULL: it may not be asked without credentials; no memory. why_end() waits for the answer, until a time
 * (clock_ms()) or until *stop, and frees the probe; false: there was none. (not on the net thread) */
struct probe *why_begin(struct fetch *f, const struct source *s, const struct source_ask *ask, const char *via);
bool why_end(struct probe *p, uint64_t until, const atomic_bool *stop, struct net_reply *out);

/* seen.c. Any thread. A number for a key (its key_number()), a source and a URL. */
uint64_t seen_number(uint64_t key_number, const struct source *s, const struct source_ask *ask);
void seen_add(struct fetch *f, uint64_t number, int error, const char *text);
bool seen_find(struct fetch *f, uint64_t number, struct seen *out);

/* ---- tickets: one asker's place ----------------------------------------------------- */

struct ticket {
	unsigned refs; /* atomic */
	struct fetch *f;
	enum fetch_need need;
	fetch_ready *ready;
	void *ctx;

	/* net thread only */
	struct net_timer deadline; /* over all candidates, from the second on */
	uint64_t began;
	struct flight *flight; /* where it waits now */
	struct ticket *prev, *next;
	bool done;
	unsigned at;	  /* which candidate */
	bool again;	  /* it goes on with the same, after a flight of another name */
	bool named;	  /* a source could be asked for one of the candidates so far */
	int worst;	  /* an error met so far; 0 */
	char worst_why[200];
	unsigned miss_ms; /* the least of the candidates' misses */

	unsigned n;
	struct artifact cands[];
};

/* The candidate that the ticket waits for has an answer: passes it on, or goes to the next
 * candidate. (net) */
void ticket_answer(struct ticket *t, const struct fetched *a);
void ticket_again(struct ticket *t); /* (net) the same candidate once more */

/* ---- flights: one key under way ----------------------------------------------------- */

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
	struct facts *waits;	   /* for what is being found out; NULL */
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

struct flight {
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
	bool leading;	  /* we hold the lock of `number` */
	bool alone;	  /* another process leads, and does not get on */
	bool beat;	  /* what we said last, or heard */
	unsigned silent;  /* how many looks ago that was */
	bool following;	  /* we said that we want it whole */
	bool found;	  /* a source has it, by its first bytes */
	bool overdue;	  /* the lookup deadline passed without an answer */
	bool linger;	  /* goes on for the next asker although nobody waits */
	bool grace_over, early_done, parked;
	bool sure;	  /* the file was identified by what came of it so far */

	bool in_dirs;	  /* directories are looked into, by the job of this number: */
	unsigned dirs_job;
	int local_error;  /* of a directory source; 0 */
	int store_error;  /* it could not say whether it has the file; 0 */
	int disk_error;	  /* of the draft; 0 */
	bool making_room; /* a worker evicts; the winner waits */
	uint64_t room_for; /* the draft's end + 1 when room was last made: not twice for the same */
	char local_text[200];
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

/* Joins the flight of a key, or starts one. (net) */
void flight_join(struct fetch *f, struct ticket *t, const struct artifact *a, const struct key *k);
void flight_plan(struct flight *fl); /* (net) finds the sources that can be asked for it */
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
void was_add(struct fetch *f, uint64_t number, uint64_t blob); /* any thread */
uint64_t was_find(struct fetch *f, uint64_t blob); /* 0: none; any thread */

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

void race_told(struct fetch *f, const struct facts *fa); /* what attempts waited for is known, or cannot be */

/* facts.c: what is found out about symbol stores. */
struct source_facts facts_get(struct fetch *f, const struct source *s); /* any thread */
void facts_put(struct source_facts *known);
void facts_renew(struct fetch *f); /* any thread; lists of what sources have are looked at again */
void facts_stop(struct fetch *f); /* (net) when no flight is left: nothing is asked any more */
void facts_free(struct fetch *f); /* when no thread runs any more */
void facts_recall(struct fetch *f, const struct source *s); /* (workers) what an earlier process knew */
/* (net) Before anything is asked. True: the attempt waits. */
bool facts_before(struct attempt *at);
/* (net) When nothing that was asked for was there. 0: that is all. 1: more is known now than the
 * attempt was planned by. -EINPROGRESS: it waits. Others: it cannot be said, and at->text is why. */
int facts_after(struct attempt *at);

/* ranges.c: files that are filled where readers look. (net) */
bool ranges_wanted(const struct attempt *at); /* is it asked for its first bytes only? */
void ranges_refuse(struct fetch *f, const struct source *s); /* it answers none */
void ranges_begin(struct flight *fl); /* the first range is in the draft */
void ranges_go(struct flight *fl);    /* something changed: asks for what is wanted now */
void ranges_resume(struct flight *fl);
void ranges_stop(struct flight *fl);
struct probed {
	int r;	    /* of obj_check() */
	int sparse; /* of obj_is_sparse() */
	bool sure;
	uint64_t want_off, want_len;
	struct obj_walk walk; /* if it is sparse */
	bool wants_heads;
	uint64_t *heads; /* room for HEADS_MOST, if they are wanted */
	int n_heads;	 /* of obj_heads() */
	char text[400];
};
void ranges_opened(struct flight *fl, int r, struct sparse *sp, bool fresh, const char *text);
void ranges_probed(struct flight *fl, const struct probed *p);
/* How much of it is here; whether anything was kept. */
uint64_t flight_here(const struct flight *fl);

/* work.c: what runs on workers, and what becomes of it. (net) */
void work_check(struct flight *fl);
void work_looked(struct flight *fl); /* the directories are waited for no longer */
void work_early(struct flight *fl);
void work_sparse(struct flight *fl); /* the draft becomes a file with holes, and is looked at */
void work_probe(struct flight *fl);  /* it is looked at again */
void work_commit(struct flight *fl); /* what came is there after a restart */
void work_merge(struct flight *fl);  /* what it lacks is in the draft, which was compared with it */
void work_drop(struct flight *fl, bool bad); /* lets go of `sparse`; bad: forgets it */
void work_seal(struct flight *fl);
void work_misses(struct flight *fl); /* writes them down; after an error the store is looked at once more */
void work_ptr(struct attempt *at); /* `ptr` is there: sees where it leads */
int work_room(struct flight *fl, uint64_t need); /* 0; -ENOMEM, -ENOSPC: in vain */

/* learn.c: what files teach. (workers, and who calls fetch_try() and fetch_why()) */
/* Fills in what files of the store, and those that are read already, know of the request and it does not;
 * `k`, its key, becomes the one that a file is judged by and stored under. Whether there was anything. */
bool learn_complete(struct fetch *f, struct artifact *a, struct key *k);
/* Of a file that was asked for by `k` and identified before all of it was stored. */
void learn_early(struct fetch *f, const struct obj_slice *s, const struct key *k);
/* What the store has; `main` is the key that answers for all that find the file. */
int learn_find(struct fetch *f, const struct key *k, struct blob **out, struct key *main);
/* Judges a whole file and publishes it, with all that it teaches: of a fat file the slice that was
 * asked for, and the others beside it. Takes the draft. -EBADMSG: it is not what was asked for.
 * Others: this machine. */
int learn_publish(struct fetch *f, struct draft *d, const struct key *k, struct blob_facts *facts,
	struct blob **out, struct err *e);
/* The same of a file that had holes, and is full now. */
int learn_finish(struct fetch *f, struct sparse *sp, const struct key *k, struct blob_facts *facts,
	struct blob **out, struct err *e);
/* Publishes a part of a file that obj_check() found; it stays the caller's. The copy is judged again:
 * -EBADMSG. */
int learn_publish_part(struct fetch *f, int fd, const struct obj_slice *s, const struct key *k,
	const struct blob_facts *facts, struct blob **out, struct err *e);

/* unpack.c: packed files. What the first bytes are, when they cannot begin a file of that type
 * itself; NULL: no packing, or none for us. (any thread) */
const struct packing *packed_as(enum filetype t, const void *head, size_t n);
/* What obj_may_be() wants to see of what is inside, as far as the first bytes tell; `all`: there are
 * no more. How many; 0: it cannot be seen. (any thread) */
size_t packed_inside(const struct packing *p, const void *head, size_t n, bool all,
	uint8_t inside[static OBJ_HEAD]);
/* -EBADMSG: by what is there so far, it is not what was asked for. Else nothing is sure. (workers) */
int packed_early(const struct packing *p, int fd, uint64_t have, const struct key *k, struct err *e);
/* Unpacks a whole file into a new draft; `most` 0: no bound. -EBADMSG, -EFBIG: it is no good.
 * Others: this machine. (workers) */
int packed_open(struct fetch *f, const struct packing *p, int fd, uint64_t size, uint64_t most,
	struct draft **out, struct err *e);
/* learn_publish(), and an error says that it was packed. */
int packed_publish(struct fetch *f, const struct packing *p, struct draft *d, const struct key *k,
	struct blob_facts *facts, struct blob **out, struct err *e);
uint64_t fetch_most(const struct fetch *f, const struct source *s); /* bytes of a file; 0: any */

/* visits.c: which directories answer. Any thread. A disk that is gone (NFS, a stopped server) answers
 * nobody and cannot be interrupted, so nobody follows who has waited in it for long. */
/* A number for visit_end(). With `why`: -EAGAIN, it has not answered yet; -ETIMEDOUT, nor is it likely to. */
int visit_begin(struct fetch *f, const struct source *s, char why[static 200]);
void visit_end(struct fetch *f, int visit); /* negative: nothing */

/* local.c: directory sources. (lookers) 0: *out. -ENOENT. -EAGAIN: it may be known soon (its tree is still
 * being walked, somebody waits for its disk). Others: it could not be looked at. What is packed is
 * unpacked into the store, which may take longer: found() says so before. Who only looks has no found():
 * nothing goes into the store, and *out may stay NULL. */
int local_find(struct fetch *f, const struct source *s, const struct artifact *a, const struct key *k,
	void (*found)(void *ctx), void *ctx, struct blob **out, char why[static 200]);
/* The same for what a file.ptr of a server says. -ENOENT: there is no file; `why` may hold what it says
 * instead. */
int local_follow(struct fetch *f, const struct source *s, const struct key *k, const char *text, size_t n,
	void (*found)(void *ctx), void *ctx, struct blob **out, char why[static 200]);
int local_refuse(int fd); /* -ELOOP: it lies in a symfs mount. Else 0 */
/* A directory's base, open (O_PATH); -ELOOP: it lies in a symfs mount. */
int local_open_base(const struct source *s, int *fd);
bool local_two_tier(int base); /* a symbol store there has two tiers */

/* local-ids.c: whether the names in a directory source may tell the code id that a request lacks. */
bool local_tells_ids(const struct source *s, const struct artifact *a);
/* Calls `each` with the request and a code id that stands in the directory, until it returns something
 * other than -ENOENT; returns that. (lookers) */
typedef int local_each(void *ctx, const struct artifact *a);
int local_each_id(const struct source *s, const struct source_facts *facts, int base, const struct artifact *a,
	local_each *each, void *ctx);

/* trees.c: sources that are scanned. Any thread, short waits. */
void trees_set(struct fetch *f, const struct sources *so); /* begins and ends scans; NULL ends all */
/* scan_find(); -EHOSTUNREACH: the tree is of no source any more, or could not be walked at all. */
int trees_find(struct fetch *f, const struct source *s, const struct key *k, unsigned nth,
	struct buf *path);
/* What is known so far; stops when `each` returns non-zero, and returns that. `each` must not ask
 * trees. */
int trees_each(struct fetch *f, const struct source *s, int (*each)(void *ctx, const struct key *k),
	void *ctx);
void trees_state(struct fetch *f, const struct source *s, char out[static 240]);
