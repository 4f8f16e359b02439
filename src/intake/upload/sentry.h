/* The JSON of Sentry's chunk upload, both sides: a server reads assemble requests and writes answers, and
 * `symfs push` writes requests and reads answers. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/span.h"
#include "intake/upload/chunks.h"
#include "names/id/debugid.h"

#define SENTRY_FILES_MOST 4096	 /* of one request */
#define SENTRY_CHUNKS_MOST 65536 /* of all files of one request */
#define SENTRY_PARTS_MOST 64	 /* chunks in one POST */
#define SENTRY_REQUEST_MOST (32u << 20) /* bytes of one POST of chunks, as they are sent */
#define SENTRY_NAME_MAX 256
#define SENTRY_TEXT_MAX 400 /* of the reason for a refusal */

/* ---- paths ------------------------------------------------------------------------------ */

enum sentry_path { SENTRY_PATH_NONE, SENTRY_PATH_CHUNKS, SENTRY_PATH_ASSEMBLE };

/* Parses a decoded path without its leading slash: "api/0/organizations/ORG/chunk-upload/", or
 * "api/0/projects/ORG/PROJECT/files/difs/assemble/". Any names will do, and `project` becomes "ORG" or
 * "ORG/PROJECT". */
#define SENTRY_PROJECT_MAX 160
enum sentry_path sentry_path_parse(const char *path, char project[static SENTRY_PROJECT_MAX]);

/* ---- a request to assemble files ------------------------------------------------------ */

struct sentry_file {
	struct sha1 sha1;
	char name[SENTRY_NAME_MAX]; /* without directories; "": no name, or an invalid one */
	struct debug_id debug_id;   /* not set: the client does not state it */
	uint32_t first, n;	    /* its chunks, in order, among those of the request */
};

struct sentry_request {
	struct sentry_file *files;
	struct sha1 *chunks;
	uint32_t n_files, n_chunks;
};

/* 0; -EBADMSG: not a request, -E2BIG: too large, both with a text in `e`; -ENOMEM. On error `out` is empty. */
int sentry_request_read(struct sentry_request *out, struct span body, struct err *e);
int sentry_request_write(struct buf *out, const struct sentry_request *q); /* 0, -ENOMEM, -EFBIG */
void sentry_request_release(struct sentry_request *q);

/* ---- the answer for each file --------------------------------------------------------- */

enum sentry_state { SENTRY_NOT_FOUND, SENTRY_CREATED, SENTRY_ASSEMBLING, SENTRY_OK, SENTRY_ERROR, SENTRY_STATES };

/* A stored file, as the answer describes it. */
struct sentry_dif {
	char name[SENTRY_NAME_MAX];
	char arch[32], format[32], kind[16]; /* `kind` by Sentry's words: "exe", "lib", "dbg", "src", ... */
	char code_id[136], debug_id[DEBUG_ID_TEXT]; /* "": none */
	uint64_t size;
	int64_t stored;	   /* seconds since 1970 */
	char what[16];	   /* "added", "improved" or "present" */
};

struct sentry_answer {
	struct sha1 sha1;
	enum sentry_state state;
	const struct sha1 *missing; /* of SENTRY_NOT_FOUND */
	uint32_t n_missing;
	char detail[SENTRY_TEXT_MAX]; /* the reason of SENTRY_ERROR; a remark on SENTRY_OK; "": none */
	struct sentry_dif dif;	      /* of SENTRY_OK */
	int trouble; /* -errno: the server failed, not the file, and the client should ask again; `detail` says how */
};

/* Writes one answer into a document; `first`: no answer was written before it. Write "{" before the first answer
 * and "}" after the last. 0, -ENOMEM, -EFBIG. */
int sentry_answer_write(struct buf *out, bool first, const struct sentry_answer *a);

/* Reads a document of answers, and passes each to `each`, which ends the reading by a result other than 0. 0;
 * -EBADMSG, -E2BIG with a text in `e`; -ENOMEM; the result of `each`. */
typedef int sentry_each(void *ctx, const struct sentry_answer *a);
int sentry_answers_read(struct span body, sentry_each *each, void *ctx, struct err *e);

/* ---- what a server accepts ------------------------------------------------------------- */

struct sentry_options {
	char url[1024]; /* for the chunks */
	uint64_t chunk, request, file; /* limits in bytes; `file` 0: no limit */
	uint32_t chunks; /* in one POST */
	uint32_t concurrency;
	bool gzip;
};

int sentry_options_write(struct buf *out, const struct sentry_options *o); /* 0, -ENOMEM, -EFBIG */
/* 0; -EBADMSG with a text in `e`: not such a document, or a value that no client can use; -ENOMEM. */
int sentry_options_read(struct sentry_options *out, struct span body, struct err *e);

/* Reads the reason out of the body of a refusal, {"error":"..."} or {"detail":"..."}. "": it has none. */
void sentry_refusal_read(struct span body, char out[static SENTRY_TEXT_MAX]);
