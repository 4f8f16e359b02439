/* Get it once. Whoever asks for an artifact first starts a flight, whoever asks after joins it;
 * nothing is shown to anybody before it was judged. Any thread may ask; nobody waits in a call.
 *
 * A request: fetch_try() answers from the store, from remembered misses or from facts at once,
 * or says -EAGAIN; then fetch_open() with the same words gives a ticket and calls `ready`, once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "fetch/part.h"
#include "id/key.h"
#include "store/store.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fetch;
struct ticket;
struct sources;

enum fetch_need {
	FETCH_EXISTS, /* is it there? (LOOKUP): the type's magic was seen; the lookup deadline holds */
	FETCH_OPEN,   /* to be read (OPEN): it was identified, and what is not here yet is coming */
	FETCH_STREAM, /* the same, and all of it will be read, from front to back */
	FETCH_WHOLE   /* all bytes, verified (`symfs get`) */
};

#define FETCH_SIZE_UNKNOWN UINT64_MAX

/* `why` of what no source was asked for, because none of them can name it. */
#define FETCH_UNNAMED "no source is configured that can have it"

/* An answer. `r` is 0, or
 *	-ENOENT		not there; `miss_ms` says for how long that may be believed
 *	-ETIMEDOUT	the deadline passed; -EHOSTUNREACH: a source that may have it could not be reached
 *	-EREMOTEIO	such a source answered uselessly (5xx, 429, no HTTP); -EACCES: it refused
 *	-EBADMSG	it sent another file; -EFBIG: a larger one than is allowed; -ELOOP: it leads here
 *	-EINTR		the ticket was cancelled
 *	-ENOSPC, -EIO, -ENOMEM	here */
struct fetched {
	int r;
	struct key key;	    /* of the candidate that was found */
	struct blob *blob;  /* borrowed: blob_ref() to keep. Never NULL for FETCH_WHOLE and r == 0 */
	struct part *part;  /* borrowed; for FETCH_OPEN and FETCH_STREAM, and r == 0, one of the
			       two is not NULL. Who keeps it calls part_open() before this call
			       returns */
	uint64_t was;	    /* part_number() of the same bytes while they came; 0 */
	uint64_t size;	    /* or FETCH_SIZE_UNKNOWN */
	unsigned miss_ms;   /* with -ENOENT */
	bool unnamed;	    /* with -ENOENT: no source was asked, and `why` is FETCH_UNNAMED */
	const char *why;    /* words for a log, never NULL; valid during ready() */
};

/* Runs once for each fetch_open() that returned 0: on the net thread or on a worker, with no
 * lock held. It must not wait. */
typedef void fetch_ready(void *ctx, const struct fetched *f);

struct fetch_opts {
	unsigned lookup_deadline_ms; /* 10000 */
	unsigned park_ms;	     /* how long a flight waits for OPEN after LOOKUP: 10000 */
	unsigned silence_ms;	     /* how long another process that fetches may say nothing; 0: 5000 */
	unsigned grace_ms;	     /* how long an earlier source may hold back a later one that has it */
	unsigned breaker_ms;	     /* how long a dead host is left alone: 60000 */
	uint64_t max_file_size;
	bool allow_unsandboxed; /* GSYM is made also where no system-call filter can be set */
	const char *agent; /* more words of User-Agent; NULL */
};

/* Takes the sources. The store stays the caller's and must outlive the fetch. */
int fetch_new(struct fetch **out, struct store *st, struct sources *so, const struct fetch_opts *o,
	struct err *e);

/* Cancels every ticket, waits until every `ready` ran, ends its threads. */
/* 0. -EBUSY: a directory source does not answer who is in it, so nothing of `f` was freed, nor may its
 * store be closed: the process is to end soon. */
int fetch_free(struct fetch *f);

/* Replaces the sources (SIGHUP); flights under way go on with the old ones. Takes `so`. */
void fetch_set_sources(struct fetch *f, struct sources *so);

/* One to LAYOUT_CANDIDATES artifacts, best first: the first that exists is the answer.
 * 0: `out` is the answer (also when out->r < 0), and out->blob is the caller's to unref.
 * -EAGAIN: it takes longer. */
int fetch_try(struct fetch *f, const struct artifact *cands, unsigned n, enum fetch_need need,
	struct fetched *out);

/* `*out` is written before `ready` can run, and is the caller's until ticket_unref(). 0, -ENOMEM. */
int fetch_open(struct fetch *f, const struct artifact *cands, unsigned n, enum fetch_need need,
	fetch_ready *ready, void *ctx, struct ticket **out);

/* I stopped waiting: makes ready(-EINTR) run soon, unless it ran; never waits. Any thread. The
 * last to leave a flight ends it. */
void ticket_cancel(struct ticket *t);
void ticket_unref(struct ticket *t);

/* ---- what it is doing, for people --------------------------------------------------- */

/* Every artifact that is in a directory source, whose layout says so: what their trees hold when
 * they are walked, six levels deep and 200,000 entries in all. `each` gets keys in no order; a key
 * may come twice. It stops when `each` returns more than 0, and returns that. (waits for disk) */
int fetch_local(struct fetch *f, int (*each)(void *ctx, const struct key *k), void *ctx);

/* Opens a file of a directory source again, or one beside it, by the path that was told of it; links
 * are judged as for a file of that type. 0; negative: it is not there, or may not be had so.
 * (waits for disk) */
int fetch_in_place(struct fetch *f, const char *source, const char *path, enum filetype t, int *fd);

/* A line for each download under way: key, source, bytes, percent, rate, who waits. */
void fetch_activity(struct fetch *f, struct buf *out);

/* How far the download of a key is: bytes so far and in all (or FETCH_SIZE_UNKNOWN). False: none
 * is under way. */
bool fetch_progress(struct fetch *f, const struct key *k, uint64_t *have, uint64_t *size);

/* A line for each source: number, name, kind, layout, where, health; tabs between. */
void fetch_sources_text(struct fetch *f, struct buf *out);
struct source;
void fetch_source_state(struct fetch *f, const struct source *s, char out[static 240]);
void fetch_missing(struct fetch *f, struct buf *out);	   /* remembered misses, CSV */

/* What files taught of a module: fills in what the artifact lacks. False: nothing is known of it.
 * (waits for the index) */
bool fetch_complete(struct fetch *f, struct artifact *a);

/* Where a server that is asked for a symbol file by the code id of its program, as Mozilla's may be, says
 * that it is: `path` is "PROGRAM/CODE-ID/x.sym", `via` as an artifact's; debug_file and debug_id of `out`
 * are set. -ENOENT: none knows it; others: one of them could not be asked. fetch_may_locate():
 * there is a source that may. (waits for servers, as long as a lookup may take, or until *stop) */
bool fetch_may_locate(struct fetch *f);
int fetch_locate(struct fetch *f, const char *path, const char *via, const atomic_bool *stop, struct module *out);

struct fetch_attempt {
	char source[64];
	char url[2048];		/* or path; without credentials */
	char spelling[64];	/* layout and casing */
	char verdict[32];	/* "not asked", "found", "missing", "mismatch", "failed", "skipped" */
	int status;		/* HTTP; 0 */
	int64_t remembered_until; /* of a miss; 0 */
	char error[200];
};

/* What would be asked for an artifact, in order, and what is remembered of each; with `ask`, also
 * what each answers now (waits; not on the net thread, not in a FUSE worker). How many, <= most. */
int fetch_why(struct fetch *f, const struct artifact *a, bool ask, struct fetch_attempt *rows,
	unsigned most);

struct store *fetch_store(struct fetch *f);

/* Counters, for `.symfs/stats` and /metrics; the table names them. */
struct fetch_stats {
	atomic_uint_fast64_t lookups, opens, hits, misses, remembered, flights, joined, requests,
		bytes, published, mismatches, failures, timeouts, cancelled;
};
struct fetch_stat_row {
	const char *name, *help;
	size_t offset; /* into struct fetch_stats */
};
extern const struct fetch_stat_row fetch_stat_rows[]; /* ends with a NULL name */
struct fetch_stats *fetch_stats(struct fetch *f);
