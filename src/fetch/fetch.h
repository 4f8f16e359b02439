/* Gets each artifact once. The first request for an artifact starts a download (a flight), later requests
 * join it. No byte is shown before the file was identified. Any thread. A call waits only if its
 * comment says so.
 *
 * A request: fetch_try() answers at once from the store or from remembered misses, or returns -EAGAIN. Then
 * fetch_open() with the same arguments gives a ticket and calls `ready` once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "fetch/part.h"
#include "names/id/key.h"
#include "store/store.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fetch;
struct ticket;
struct sources;

enum fetch_need {
	FETCH_EXISTS, /* LOOKUP: answered when first bytes of the right type came; the lookup deadline applies */
	FETCH_OPEN,   /* OPEN: answered when the file was identified; missing bytes arrive while it is read */
	FETCH_STREAM, /* as FETCH_OPEN; the caller will also read the whole file from front to back */
	FETCH_WHOLE   /* all bytes, verified (`symfs get`) */
};

#define FETCH_SIZE_UNKNOWN UINT64_MAX

/* The text of `why` if no source has a name for the artifact, so that no source was asked. See
 * fetch_unnamed(). */
#define FETCH_KNOWN "known to be missing" /* no source was asked, because misses are remembered */
#define FETCH_UNNAMED "no source is configured that can have it"

/* An answer. `r` is 0, or
 *	-ENOENT		no source has it; `miss_ms` says for how long that may be believed
 *	-ETIMEDOUT	the deadline passed
 *	-EHOSTUNREACH	a source that may have it could not be reached
 *	-EREMOTEIO	such a source gave a useless answer (5xx, 429, not HTTP)
 *	-EACCES		such a source refused the request (401, 403)
 *	-EBADMSG	a source sent another file; -EFBIG: a file larger than is allowed
 *	-ELOOP		a source leads back into a symfs mount
 *	-EINTR		the ticket was cancelled
 *	-ENOSPC, -EIO, -ENOMEM	an error of this machine */
struct fetched {
	int r;
	struct key key;	    /* of the candidate that was found */
	struct blob *blob;  /* borrowed: blob_ref() to keep. Never NULL for FETCH_WHOLE and r == 0 */
	struct part *part;  /* borrowed. For FETCH_OPEN and FETCH_STREAM, and r == 0, `blob` or `part`
			       is not NULL. To keep it, call part_open() before `ready` returns */
	bool ranges;	    /* with `part`: its source answers byte ranges */
	uint64_t was;	    /* part_number() of the bytes of `blob` during their download; 0: unknown */
	uint64_t size;	    /* bytes, or FETCH_SIZE_UNKNOWN */
	unsigned miss_ms;   /* with -ENOENT: milliseconds for which the miss may be believed */
	bool unnamed;	    /* with -ENOENT: no source was asked, and `why` is FETCH_UNNAMED */
	const char *why;    /* words for a log, never NULL; valid during ready() */
};

/* Runs once for each fetch_open() that returned 0: on the net thread or on a worker, with no
 * lock held. It must not wait. */
typedef void fetch_ready(void *ctx, const struct fetched *f);

/* When a file of a source that supports byte ranges is filled by ranges. */
enum fetch_ranges {
	RANGES_AUTO,   /* when the needed ranges take less time than the whole file */
	RANGES_ALWAYS, /* even when the ranges take longer, to transfer the fewest bytes */
	RANGES_NEVER
};

struct fetch_opts {
	unsigned lookup_deadline_ms; /* usually 10000 */
	unsigned first_answer_ms;    /* instead of that, for servers that have not answered yet; 0: that */
	unsigned park_ms;	     /* how long a flight waits for OPEN after LOOKUP; usually 10000 */
	unsigned silence_ms;	     /* time without a heartbeat after which another process has stalled; 0: 5000 */
	unsigned grace_ms;	     /* how long a source may hold back a later source that has the file */
	unsigned breaker_ms;	     /* how long a host that failed is not asked; usually 60000 */
	uint64_t max_file_size;
	bool ask_on; /* when a file lacks what its key wants, ask the other sources for a better one */
	enum fetch_ranges ranges;
	bool synthesize;	/* make Breakpad files that no source has */
	bool allow_unsandboxed; /* make GSYM also where no system-call filter can be set */
	const char *agent; /* words added to the User-Agent header; NULL: none */
};

/* Takes the sources. The store stays the caller's and must outlive the fetch. */
int fetch_new(struct fetch **out, struct store *st, struct sources *so, const struct fetch_opts *o,
	struct err *e);

/* Cancels every ticket, waits until every `ready` ran, and ends the threads. 0: all is freed. -EBUSY: a
 * thread is stuck in a directory source, and nothing was freed; leave the store open, and exit. */
int fetch_free(struct fetch *f);

/* Replaces the sources (SIGHUP); flights under way keep the old set. Takes `so`. */
void fetch_set_sources(struct fetch *f, struct sources *so);

/* `cands`: one to LAYOUT_CANDIDATES artifacts, best first. The first that exists is the answer.
 * 0: `out` is the answer (also when out->r < 0), and out->blob is the caller's to unref.
 * -EAGAIN: the answer takes longer; call fetch_open(). */
int fetch_try(struct fetch *f, const struct artifact *cands, unsigned n, enum fetch_need need,
	struct fetched *out);

/* Like fetch_try(), but a stored file is the answer even if a directory or server may have a better file. fetch_try()
 * returns -EAGAIN for such a file. */
int fetch_stored(struct fetch *f, const struct artifact *cands, unsigned n, struct fetched *out);

/* Whether the next request for the stored file `b` asks servers for a better one. It does if `b` lacks the content
 * for which its type is requested, unless the store remembers that no server has a better file. (reads the index) */
bool fetch_may_improve(struct fetch *f, const struct key *k, const struct blob *b);

/* `*out` is written before `ready` can run, and is the caller's until ticket_unref(). 0, -ENOMEM. */
int fetch_open(struct fetch *f, const struct artifact *cands, unsigned n, enum fetch_need need,
	fetch_ready *ready, void *ctx, struct ticket **out);

/* The caller stops waiting: ready(-EINTR) runs soon, unless `ready` ran. Never waits. Any thread. A flight
 * ends when its last ticket leaves. */
void ticket_cancel(struct ticket *t);
void ticket_unref(struct ticket *t);

/* Sets the thread that waits for the request, for fetch_downloads(). */
void ticket_set_pid(struct ticket *t, int pid);

/* ---- status --------------------------------------------------- */

/* Reads the directories of directory sources that can have files for the listing, at most six levels deep and 200,000
 * entries in each source, and calls `each` with the keys of the files, in no order; a key may come twice. Stops when
 * `each` returns more than 0, and returns that value. (waits for disk) */
struct listing_plan;
int fetch_local(struct fetch *f, const struct listing_plan *plan, int (*each)(void *ctx, const struct key *k),
	void *ctx);

/* scan_places() in the tree of each source. -EAGAIN: a tree is still being walked, or a source has no tree, so there
 * may be more files than those. */
struct scan_found;
int fetch_places(struct fetch *f, int (*each)(void *ctx, const struct key *, const struct scan_found *), void *ctx);

/* Opens a file of a directory source again, or a file beside it, by the path that the first opening reported. Links
 * are judged as for a file of type `t`. 0, -ENOENT; -EACCES and others: symfs may not open the file. (waits for
 * disk) */
int fetch_in_place(struct fetch *f, const char *source, const char *path, enum filetype t, int *fd);

/* Publishes a copy of a file that a directory source serves in place, and replaces *b with the stored file. `k`: the
 * key of the answer. A stored file stays as it is. 0; -EBADMSG: the file has changed to another; others: errors of
 * this machine. (waits) */
int fetch_copy(struct fetch *f, const struct key *k, struct blob **b, struct err *e);

/* A line for each download under way: key, source, bytes, percent, rate, number of waiting callers. */
void fetch_activity(struct fetch *f, struct buf *out);

/* fetch_activity() for programs: a line for each download, fields separated by tabs: key, state, source, bytes
 * present, bytes in all, bytes per second, milliseconds since the start, and the waiting processes as "PID PROGRAM",
 * commas between. Unknown fields are empty. */
void fetch_downloads(struct fetch *f, struct buf *out);

/* The progress of a download: bytes so far and in all (or FETCH_SIZE_UNKNOWN). False: no download of that key
 * is under way, or it has no bytes yet. */
bool fetch_progress(struct fetch *f, const struct key *k, uint64_t *have, uint64_t *size);

/* A line for each source: number, name, kind, layout, where, health; tabs between. */
void fetch_sources_text(struct fetch *f, struct buf *out);
struct source;
/* The health of one source, in words: "ok", "failing, retry in 1 s". */
void fetch_source_state(struct fetch *f, const struct source *s, char out[static 240]);
/* What the last scan of a scanned source has found, as the store in `dir` remembers it, in words. 0; -ENOENT: no scan
 * is remembered. */
int fetch_scan_saved(const char *dir, const struct source *s, char out[static 200]);
void fetch_missing(struct fetch *f, struct buf *out);	   /* remembered misses, CSV */
void fetch_missing_row(struct buf *out, const struct store_miss_row *row, int64_t asked); /* a further line of it */

/* Adds identifiers that the artifact lacks, from stored files of its module. False: no such file is stored.
 * (waits for the store's index) */
bool fetch_complete(struct fetch *f, struct artifact *a);

/* Asks servers for the debug id that belongs to the code id of a program, as Mozilla's server knows it.
 * `path` is "PROGRAM/CODE-ID/x.sym"; `via` as in struct artifact. 0: debug_file and debug_id of `out` are set.
 * -ENOENT: no server knows the code id; others: a server could not be asked. fetch_may_locate(): whether such a
 * server is configured. (waits for servers until the lookup deadline, or until *stop) */
bool fetch_may_locate(struct fetch *f);
int fetch_locate(struct fetch *f, const char *path, const char *via, const atomic_bool *stop, struct module *out);

struct fetch_attempt {
	char source[64];
	char url[2048];		/* or path; without credentials */
	char spelling[64];	/* layout and casing */
	char verdict[32];	/* "not asked", "found", "missing", "refused", "mismatch", "failed", "skipped",
				   "loop" */
	int status;		/* HTTP status; 0: no HTTP answer */
	int64_t remembered_until; /* wall clock until which a remembered miss counts; 0: no miss */
	char error[240];	/* the reason for the verdict; "": no reason is known */
};

/* How long fetch_why() may ask sources. */
struct fetch_asking {
	uint64_t until; /* clock_ms(); later requests are not sent, and have their remembered result */
	const atomic_bool *stop; /* once it is set, fetch_why() returns soon, with the rows that it has */
};

/* Writes the requests for an artifact, in order, each with its remembered result. With `asking` it sends the
 * requests, one after the other, writes the answers, and forgets the misses of a file that a source has (waits; not
 * on the net thread, not in a FUSE worker). NULL: it sends no request. Returns the number of rows, at most `most`, or
 * -errno if the artifact has no key. */
int fetch_why(struct fetch *f, const struct artifact *a, const struct fetch_asking *asking,
	struct fetch_attempt *rows, unsigned most);
/* Why a scanned tree does not take a file that has the name of the module: "SOURCE: app is build id X, not Y". "": no
 * tree has such a file. (waits for disks) */
void fetch_named(struct fetch *f, const struct module *m, char out[static 280]);
/* Why no source can be asked for the artifact: FETCH_UNNAMED, or a source needs a checksum. (any thread) */
const char *fetch_unnamed(struct fetch *f, const struct artifact *a);

struct store *fetch_store(struct fetch *f);
const struct fetch_opts *fetch_opts(const struct fetch *f);

/* ---- for derive/, which makes files of fetched ones ------------- */

/* The number of struct derive that use this fetch. All their conversions share one memory limit. */
atomic_uint *fetch_makers(struct fetch *f);
/* Notes the identifiers of a file that was asked for by `k`, and was identified before it was stored. */
struct obj_slice;
void learn_early(struct fetch *f, const struct obj_slice *s, const struct key *k);
/* Gets a file that another server made from the team's bucket, and publishes it. `url` as in the facts of the file
 * that would be made. 0: *out is the file. -ENOENT: there is no bucket, or it does not have the file. -EINTR. Others:
 * the bucket does not answer, its file is wrong, or the file cannot be stored. (waits; not on the net thread) */
int fetch_made(struct fetch *f, const struct key *k, const char *url, atomic_bool *stop, struct blob **out);

/* How long a source took from the request to the head of the answer. The time before the request got its turn at the
 * host does not count. */
#define FETCH_LATENCY_BOUNDS 11
#define FETCH_LATENCIES_MOST 64 /* sources; later ones are not counted */
extern const unsigned fetch_latency_bounds[FETCH_LATENCY_BOUNDS]; /* milliseconds, rising */
struct fetch_latency {
	char source[64]; /* its name */
	uint64_t answers[FETCH_LATENCY_BOUNDS + 1]; /* [i]: from bound i - 1 to bound i; last: above all bounds */
	uint64_t ms;	 /* the sum of all answers */
	uint64_t failed; /* requests without any answer of HTTP */
};
/* Writes a row for each source that was asked, at most `most`. Returns their number. */
unsigned fetch_latencies(struct fetch *f, struct fetch_latency *rows, unsigned most);

/* The number of jobs (digests, index, identity) that wait for a worker. */
unsigned fetch_queued(struct fetch *f);

/* Counters, for `.symfs/stats` and /metrics; fetch_stat_rows names them. */
struct fetch_stats {
	atomic_uint_fast64_t lookups, opens, hits, misses, remembered, flights, joined, requests,
		bytes, published, mismatches, failures, timeouts, cancelled, listed_dirs;
};
struct fetch_stat_row {
	const char *name, *help;
	size_t offset; /* into struct fetch_stats */
};
extern const struct fetch_stat_row fetch_stat_rows[]; /* ends with a NULL name */
struct fetch_stats *fetch_stats(struct fetch *f);
