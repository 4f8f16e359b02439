/* Assembles files from uploaded chunks, and gives them to the intake: what a server does between the requests of
 * Sentry's protocol. The state of a file is on disk (its chunks, then its record), so a server that is started
 * anew continues where the earlier one was. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "intake/intake.h"
#include "intake/upload/sentry.h"

struct assembly;
struct bucket;

/* A file that was assembled, or refused. Valid during the call. */
struct assembly_event {
	const char *user, *peer, *project; /* of the request that began it; `peer` "": unknown */
	const char *name;
	const struct sha1 *sha1;
	uint64_t size;
	const char *what;      /* "added", "improved", "present" or "refused" */
	const char *detail;    /* the reason for a refusal; "": none */
	const struct key *key; /* the first key; NULL: refused */
};

struct assembly_opts {
	struct store *store;
	struct bucket *bucket; /* a file counts as stored when the bucket has it; NULL: at once */
	uint64_t file_most; /* bytes of one file; 0: no limit */
	bool allow_unsandboxed; /* as in intake_opts */
	/* Called on a worker when a file has come to its end. May be NULL. */
	void (*done)(void *ctx, const struct assembly_event *ev);
	void *ctx;
};

/* 0; -errno with a message in `e`. (waits for the disk) */
int assembly_new(struct assembly **out, const struct assembly_opts *o, struct err *e);
/* Waits for the files that are being stored. Drops the files that are not complete yet; their chunks stay. NULL is
 * fine. */
void assembly_free(struct assembly *a);
struct chunks *assembly_chunks(struct assembly *a);
void assembly_count(struct assembly *a, unsigned *waiting); /* files that wait, or are being assembled */

/* The request to which the files belong. It is copied. */
struct assembly_for {
	const char *user, *peer, *project; /* `peer`: the client's address; NULL: unknown */
	struct store_hold hold; /* how long the files stay; a file that is stored already is held, too */
};

/* Keeps the record of a stored file under `name`: the SHA-1 of its bytes, or a digest of what else names it. `f` has
 * its keys; the digests are filled in. 0, -errno. (waits for the disk) */
struct filed;
int assembly_record(struct assembly *a, const struct sha1 *name, struct filed *f);
/* Whether the file with this record is stored, and in the bucket. It is held as `hold` says. (waits for the disk) */
bool assembly_has(struct assembly *a, const struct sha1 *name, const struct store_hold *hold);

/* Answers for one file of a request: begins to assemble it if all its chunks are there. `chunks` are those of the
 * request. `missing` has room for f->n chunks, and out->missing points to it. An earlier refusal counts only for the
 * same chunks, name and debug id. (waits for the disk) */
void assembly_ask(struct assembly *a, const struct sentry_file *f, const struct sha1 *chunks,
	const struct assembly_for *by, struct sha1 *missing, struct sentry_answer *out);
