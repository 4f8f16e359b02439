/* Derived files: GSYM and Breakpad files that symfs makes of debug files, in worker processes that may crash
 * (derive/convert/worker.h). Each file is made once, however many callers and processes ask, and stored under the
 * identity of its input. A conversion that failed is remembered with the reason. Any thread. A call waits
 * only if its comment says so. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/fetch.h"

struct derive;
struct making;
struct partial;

/* The fetch must live until derive_stop(), its store until derive_free(). 0, -errno. */
int derive_new(struct derive **out, struct fetch *f);
/* Starts no more requests, cancels all conversions, and has every caller called back soon. */
void derive_stop(struct derive *d); /* NULL is fine */
/* derive_stop(); then waits until every caller was called back, and ends the threads. NULL is fine. */
void derive_free(struct derive *d);

/* *out: the artifact that would be made of `input`. `object`: GSYM inside an object file. 0. -ENOENT: nothing is
 * made of such files, or `input` lacks an identifier. */
int derive_artifact(const struct artifact *input, bool object, struct artifact *out);

/* derive_artifact() for the form of derive/convert/eliot.h, which only symfs reads; also for Portable PDBs
 * (derive/convert/from-ppdb.h). `lenient`, only for Breakpad files: a bad line is left out, and the rest is
 * converted. */
int derive_exact(struct derive *d, const struct artifact *input, bool lenient, struct artifact *out);

/* *out: the Breakpad file that would be made if no source has the file `sym`. 0. -ENOENT: none is made, because `sym`
 * is not a Breakpad file, has no debug id (nor the object type, code id and name of a PE file), or the option
 * `synthesize` is off. (waits for the store's index) */
int derive_breakpad(struct derive *d, const struct artifact *sym, struct artifact *out);

/* Why the Breakpad file `a` of derive_breakpad() is missing, after derive_open() could not find its inputs. */
const char *derive_breakpad_why(const struct artifact *a);

/* The key of the derived file; `a` is an artifact that one of these functions wrote. 0, -ENOENT. */
int derive_key(const struct artifact *a, struct key *out);

/* Looks into the store only. `in` is the first input; NULL: use the stored input. 0: `f` is the answer, and f->blob
 * is the caller's to unref. f->r is negative if a recent conversion failed: -ENOENT, the input has nothing to
 * convert; -EBADMSG, the input is broken; -ETIMEDOUT, the conversion took too long; -ENOMEM, it needed too much
 * memory. -EAGAIN: the file is not stored, or a better input may exist. */
int derive_try(struct derive *d, const struct artifact *a, struct blob *in, struct fetched *f);

/* Whether a file with this URL (blob_facts()), made as `a`, may have been made of an input that is not the best. */
bool derive_is_stale(struct derive *d, const struct artifact *a, const char *url);

/* Whether a recent conversion failed, of whichever input. For listings, after derive_try() returned -EAGAIN, because
 * a better input may exist by now. */
bool derive_failed(struct derive *d, const struct artifact *a);

/* Fetches the input and makes the file. `ready` runs as with fetch_open(), also for errors: the errors of fetching
 * the input, -EBADMSG, -ETIMEDOUT, -EINTR; it may be NULL. `*out` is written before `ready` can run, and is the
 * caller's until making_unref(). 0, -ENOMEM, -ENOENT as derive_artifact(). */
int derive_open(struct derive *d, const struct artifact *a, fetch_ready *ready, void *ctx,
	struct making **out);

/* The caller stops waiting: ready(-EINTR) runs in this call, unless `ready` ran. When the last caller leaves,
 * the worker process is ended. */
void making_cancel(struct making *m);
void making_unref(struct making *m); /* NULL is fine */

/* A request for more addresses of a PDB that is stored, or in a directory, converts the whole PDB. This number of
 * addresses is in most modules of a PDB of 60 MB: reading these modules costs half as much as the conversion, whose
 * result later requests can use. */
#define DERIVE_WHOLE_MOST 512

/* From now on files that were answered from a part are converted while no conversion is asked for, one at a time. The
 * server calls this; a command ends after its answer. */
void derive_convert_idle(struct derive *d);

/* Makes GSYM of a few addresses of the PDB `a`, and reads only the bytes that they need (derive/convert/partial.h).
 * `whole`: the stored PDB; NULL: the bytes are fetched. `ready` runs as with derive_open(). The GSYM in f->blob is
 * not stored.
 * f->r is an error of fetch_open(), or -EALREADY: use derive_open() instead, because the file is small or damaged, or
 * comes from front to back only. If much of the file was fetched, or a stored file was asked for often, all of the
 * file is converted later. At most PARTIAL_ADDRESSES_MOST addresses, or of a PDB DERIVE_WHOLE_MOST with `whole`.
 * `a` may also be a Breakpad file, with `whole`: all of its lines are checked, and its GSYM has the form of
 * derive_exact(). `*out` is written before `ready` can run, and is the caller's until partial_unref(). 0, -EALREADY,
 * -ENOMEM, -EINTR. */
int derive_partial(struct derive *d, const struct artifact *a, struct blob *whole, const uint32_t *addrs, size_t n,
	fetch_ready *ready, void *ctx, struct partial **out);
/* The caller stops waiting: ready(-EINTR) runs soon, unless `ready` ran. */
void partial_cancel(struct partial *p);
void partial_unref(struct partial *p); /* NULL is fine */
