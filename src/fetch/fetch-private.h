/* The inside of fetch/: shared by its files, seen by nobody else.
 *
 * Everything about flights happens on the net thread, so flights need no lock: callers post
 * their requests there, workers post their results there. What waits for a disk (SQLite, digests,
 * identity, directory sources) runs on workers, on plain values that a job takes along. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/workers.h"
#include "fetch/fetch.h"
#include "fetch/symstore.h"
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
#define LOOK_AGAIN_MS 10	/* when as many look into directories as may */
#define TREE_POLL_MS 100	/* looks at trees that are still being walked */
#define TREE_WAIT_MS 2000	/* for so long before servers are asked */
#define LINGER_MS 300000	/* an unanswered flight that nobody waits for ends after this */
#define MISS_ANSWER_MS 2000	/* an answer from misses is believed no longer: `symfs add` */

struct attempt;
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

#define MISS_COUNTS_MOST 64

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
#define DIR_THREADS_MOST 64
#define DIR_HUNG_MS 1000 /* after this the directory does not answer, and nobody else goes in, */
#define DIR_THREADS_EACH 8	   /* nor when so many are in it */
struct dir_thread {
	uint64_t dir; /* 0: a free slot */
	uint64_t since;
};

#define LOOKERS 32   /* threads for directories; a dead one costs DIR_THREADS_EACH of them */
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
	struct symstore *symstores; /* grows only */
	pthread_mutex_t recall_lock; /* one reads what an earlier process knew; others wait for it */
	struct store_asked miss_counts[MISS_COUNTS_MOST]; /* not yet in the store */
	unsigned n_miss_counts;
	uint64_t loops_told; /* a bit for each source whose loop the log knows of */
	struct was was[WAS_MOST];
	struct seen seen[SEEN_MOST];
	struct module hints[HINTS_MOST]; /* a ring */
	unsigned next_hint;
	struct dir_thread dir_threads[DIR_THREADS_MOST];

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

/* miss-counts.c: callers that asked for a key that is remembered as missing. (any thread) */
void miss_counts_add(struct fetch *f, const struct key *k);
void miss_counts_flush(struct fetch *f); /* (workers) writes the counts to the store */
int64_t miss_counts_get(struct fetch *f, const struct key *k); /* since the last flush (any thread) */

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
	/* (net) Takes a flight's answer for the current candidate. NULL: its sources were asked by another
	 * name, so the ticket joins a flight for the same candidate once more. */
	void (*answer)(struct ticket *t, const struct fetched *a);

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

/* part.c: what became of a download that was read while it came */
void was_add(struct fetch *f, uint64_t number, uint64_t blob); /* any thread */
uint64_t was_find(struct fetch *f, uint64_t blob); /* 0: none; any thread */

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

/* hung.c: which directories answer. Any thread. A disk that is gone (NFS, a stopped server) answers
 * nobody and cannot be interrupted, so nobody follows who has waited in it for long. */
/* A number for dir_leave(). With `why`: -EAGAIN, it has not answered yet; -ETIMEDOUT, nor is it likely to. */
int dir_enter(struct fetch *f, const struct source *s, char why[static 200]);
void dir_leave(struct fetch *f, int slot); /* negative: nothing */

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
