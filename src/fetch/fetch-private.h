/* The inside of fetch/, for its own files only.
 *
 * Flights live on the net thread and need no lock: callers post their requests there, workers post their
 * results there. What waits for a disk (SQLite, digests, identity, directory sources) runs on workers, on
 * plain values in the job. */
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
#define EARLY_BYTES (256u << 10) /* the identity is looked at here, before the end */
#define MISS_ANSWER_MS 2000	/* an answer from misses is believed no longer: `symfs add` */

struct attempt;
struct flight;

/* A source sent a wrong file for a key, or too large a file. It is not asked for that key for a while. This
 * is not a miss, so the store does not remember it. */
#define MISMATCHES 64
#define MISMATCH_MS 60000
struct mismatch {
	uint64_t until, asked; /* seen_number() */
	int error;
	char text[200];
};

/* The last answer of a source other than the file. A slot keeps the newest. */
#define SEEN_MOST 256
struct seen {
	uint64_t number, when; /* seen_number(); clock_ms(), 0: a free slot */
	int error;
	char text[200];
};

#define MISS_COUNTS_MOST 64

/* Which blob a download became that was read while it came. */
#define WAS_MOST 256
struct was {
	uint64_t number, blob;
};

/* Identifiers from files that are not stored yet, or that will never be stored as a whole. */
#define HINTS_MOST 64

/* Sources that answered no range lately are not asked for one, and those that answered no more than one
 * at once not for several. */
#define NO_RANGES 64
#define NO_RANGES_MS 600000
struct no_ranges {
	uint64_t until, several_until;
};

#define HEADS_MOST 16384 /* of units of one file; there is no reading ahead behind them */

/* A thread inside a directory source. */
#define DIR_THREADS_MOST 64
#define DIR_HUNG_MS 1000   /* a thread that is in it for longer keeps others out, */
#define DIR_THREADS_EACH 8 /* and so do as many threads */
struct dir_thread {
	uint64_t dir; /* 0: a free slot */
	uint64_t since;
};

#define LOOKERS 32   /* threads for directories; a hung directory holds up to DIR_THREADS_EACH of them */

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
	pthread_mutex_t recall_lock; /* one thread loads what an earlier process saved; others wait */
	struct store_asked miss_counts[MISS_COUNTS_MOST]; /* not yet in the store */
	unsigned n_miss_counts;
	uint64_t loops_logged; /* a bit for each source whose loop is in the log */
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
	uint64_t refused_until[REFUSED_SLOTS]; /* a source's refusal is not logged again before */

	atomic_uint derives; /* how many were ever made: they share the memory of workers (any thread) */
	atomic_bool closing; /* written on the net thread; workers stop long work */
};

/* miss-counts.c: callers that asked for a key that is remembered as missing. (any thread) */
void miss_counts_add(struct fetch *f, const struct key *k);
void miss_counts_flush(struct fetch *f); /* (workers) writes the counts to the store */
int64_t miss_counts_get(struct fetch *f, const struct key *k); /* since the last flush (any thread) */

struct sources *fetch_sources(struct fetch *f); /* the set in use, a reference; any thread */
/* Whether a source has a name for the artifact. (any thread) */
bool fetch_can_name(const struct sources *so, const struct artifact *a);

/* why.c: sends one request, and reads only so much of the body as shows what it is; `via` as an artifact's.
 * NULL: there are no credentials for it, or no memory. why_end() waits for the answer until a time
 * (clock_ms()) or until *stop, and frees the probe; false: no answer came. (not on the net thread) */
struct probe *why_begin(struct fetch *f, const struct source *s, const struct source_ask *ask, const char *via);
bool why_end(struct probe *p, uint64_t until, const atomic_bool *stop, struct net_reply *out);

/* seen.c: the last answers of sources. Any thread. seen_number() is for a key (its key_number()), a source and
 * a URL. */
uint64_t seen_number(uint64_t key_number, const struct source *s, const struct source_ask *ask);
void seen_add(struct fetch *f, uint64_t number, int error, const char *text);
bool seen_find(struct fetch *f, uint64_t number, struct seen *out);

/* ---- tickets: one caller's place ----------------------------------------------------- */

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
	struct net_timer deadline; /* of all candidates together; set from the second on */
	uint64_t began;
	struct flight *flight; /* where it waits now */
	struct ticket *prev, *next;
	bool done;
	unsigned at;	  /* which candidate */
	bool again;	  /* it asks for the same candidate once more */
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

/* learn.c: identifiers that files prove. (workers, and callers of fetch_try() and fetch_why()) */
/* Completes a request with identifiers from files of its module that are stored or being read. `k`, its key,
 * becomes the key that a file is judged by and stored under. False: no identifier was added. */
bool learn_complete(struct fetch *f, struct artifact *a, struct key *k);
/* Notes the identifiers of a file that was asked for by `k` and identified before it was stored. */
void learn_early(struct fetch *f, const struct obj_slice *s, const struct key *k);
/* The stored file; `main` is the key of the answer, whatever key found it. 0, -ENOENT. */
int learn_find(struct fetch *f, const struct key *k, struct blob **out, struct key *main);
/* Judges a whole file and publishes it under every key that it proves. Of a fat file, publishes the slice that
 * was asked for, and the others beside it. Takes the draft. -EBADMSG: it is not what was asked for. Others:
 * errors of this machine. */
int learn_publish(struct fetch *f, struct draft *d, const struct key *k, struct blob_facts *facts,
	struct blob **out, struct err *e);
/* The same for a sparse file that has no holes any more. */
int learn_finish(struct fetch *f, struct sparse *sp, const struct key *k, struct blob_facts *facts,
	struct blob **out, struct err *e);
/* Publishes a part of a file that obj_check() found; it stays the caller's. The copy is judged again:
 * -EBADMSG. */
int learn_publish_part(struct fetch *f, int fd, const struct obj_slice *s, const struct key *k,
	const struct blob_facts *facts, struct blob **out, struct err *e);

/* unpack.c: packed files. The packing that the first bytes show, when a file of that type cannot begin so
 * itself. NULL: it is not packed, or not in a way that symfs reads. (any thread) */
const struct packing *packed_as(enum filetype t, const void *head, size_t n);
/* Unpacks so much of the first bytes as obj_may_be() looks at; `all`: the file has no further bytes. How many
 * bytes; 0: the inside cannot be seen. (any thread) */
size_t packed_inside(const struct packing *p, const void *head, size_t n, bool all,
	uint8_t inside[static OBJ_HEAD]);
/* -EBADMSG: the bytes so far show that it is not what was asked for. 0: it may be. (workers) */
int packed_early(const struct packing *p, int fd, uint64_t have, const struct key *k, struct err *e);
/* Unpacks a whole file into a new draft; `most` 0: no bound. -EBADMSG, -EFBIG: the file is bad. Others: errors
 * of this machine. (workers) */
int packed_open(struct fetch *f, const struct packing *p, int fd, uint64_t size, uint64_t most,
	struct draft **out, struct err *e);
/* learn_publish(), with "packed" in the texts of errors. */
int packed_publish(struct fetch *f, const struct packing *p, struct draft *d, const struct key *k,
	struct blob_facts *facts, struct blob **out, struct err *e);
uint64_t fetch_most(const struct fetch *f, const struct source *s); /* the size limit for files of a source, in bytes; 0: no limit */

/* hung.c: detects hung directory sources. Any thread. A dead disk (NFS, a stopped server) blocks its callers
 * uninterruptibly, so no thread enters a directory in which another is stuck. */
/* A number for dir_leave(). Errors, with `why`: -EAGAIN, a thread is stuck in it; -ETIMEDOUT, for long. */
int dir_enter(struct fetch *f, const struct source *s, char why[static 200]);
void dir_leave(struct fetch *f, int slot); /* negative: nothing */

/* local.c: directory sources. (lookers) 0: *out. -ENOENT. -EAGAIN: ask again soon (the tree is still being
 * walked, or another thread waits for its disk). Others: the directory could not be read. A packed file is
 * unpacked into the store, which may take longer: found() runs before that. With found NULL nothing goes into
 * the store, and *out may stay NULL. */
int local_find(struct fetch *f, const struct source *s, const struct artifact *a, const struct key *k,
	void (*found)(void *ctx), void *ctx, struct blob **out, char why[static 200]);
/* The same for the n bytes of a server's file.ptr. -ENOENT: it leads to no file; `why` may have its message
 * instead. */
int local_follow(struct fetch *f, const struct source *s, const struct key *k, const char *text, size_t n,
	void (*found)(void *ctx), void *ctx, struct blob **out, char why[static 200]);
int local_refuse(int fd); /* 0; -ELOOP: the file lies in a symfs mount */
/* Opens a directory source's base (O_PATH). -ELOOP: it lies in a symfs mount. */
int local_open_base(const struct source *s, int *fd);
bool local_two_tier(int base); /* a symbol store there has two tiers */

/* local-ids.c: whether names in a directory source may show the code id that a request lacks. */
bool local_tells_ids(const struct source *s, const struct artifact *a);
/* Calls `each` with the request completed by each code id that the directory has, until it returns something
 * other than -ENOENT; returns that. (lookers) */
typedef int local_each(void *ctx, const struct artifact *a);
int local_each_id(const struct source *s, const struct source_facts *facts, int base, const struct artifact *a,
	local_each *each, void *ctx);

/* trees.c: sources that are scanned. Any thread, short waits. */
void trees_set(struct fetch *f, const struct sources *so); /* begins and ends scans; NULL ends all */
/* As scan_find(); -EHOSTUNREACH: no source has the tree any more, or it could not be walked at all. */
int trees_find(struct fetch *f, const struct source *s, const struct key *k, unsigned nth,
	struct buf *path);
/* Calls `each` with the keys that are known so far, until it returns non-zero; returns that. `each` must not
 * call trees_*(). */
int trees_each(struct fetch *f, const struct source *s, int (*each)(void *ctx, const struct key *k),
	void *ctx);
void trees_state(struct fetch *f, const struct source *s, char out[static 240]);
