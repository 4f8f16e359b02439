/* Uploads: receives the body of a request into files that no client sees yet, and lets the route decide
 * what becomes of them. A body never stays in memory: libmicrohttpd's threads collect a chunk, and workers
 * write it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "http/private.h"
#include "store/store.h"

#define UPLOADS_MOST 64		    /* bodies that are received at the same time */
#define UPLOAD_REFUSED_MOST (1u << 20)	  /* bytes of a refused body that are read before the answer is sent */
#define UPLOAD_UNREAD_MOST (32u << 20)	  /* bytes that are read after that, while the client sends on */
#define UPLOAD_CHUNK (256u << 10)   /* bytes that are collected before a worker writes them */
#define UPLOAD_WRITERS 4	    /* threads that write chunks */
#define UPLOAD_JUDGES 4		    /* threads that judge and store whole files */
#define UPLOAD_NAME 256		    /* of a part of a form, or of its file */
#define UPLOAD_VALUE 1024	    /* bytes of a field of a form */
#define UPLOAD_PARTS_MOST 256	    /* parts of a form */

/* A place for a body that is being received. */
struct upload_slot {
	bool taken;
	uint8_t digest[32]; /* of the client's token; zeros: none */
};

/* What all uploads of a server share. */
struct uploads {
	struct workers *writers, *judges;
	pthread_mutex_t slots_lock;
	struct upload_slot slots[UPLOADS_MOST]; /* under slots_lock */
	pthread_mutex_t begun_lock;
	struct begun *begun; /* BEGUN_MOST, under begun_lock (upload-begun.c) */
	pthread_mutex_t lock;	 /* for space->assembly, while it is made */
	atomic_bool sweeping;	 /* a job of chunks_job() is posted */
	uint64_t swept;		 /* clock_ms() of the last one; of the watching thread */
	/* ends uploads that take too long; whether to call it again */
	bool (*sweep)(struct uploads *u, struct http *h);
};

enum upload_body {
	UPLOAD_FILE, /* the body is one file */
	UPLOAD_FORM, /* multipart/form-data, or a form of text fields */
	UPLOAD_TEXT  /* short text, or none: it is kept in x->body */
};

/* A file in the body of a request: the whole body, or a part of a form that has a file name. */
struct upload_file {
	char name[UPLOAD_NAME];	     /* of the part; "": the body is the file */
	char file_name[UPLOAD_NAME]; /* that the client gave to the part; "": the body is the file */
	struct draft *draft;	     /* the callback may take it */
	int fd; /* without a draft, and for upload_store_file() only: reads the `size` bytes of the file */
	uint64_t size;
	bool keep; /* if the store takes the draft, upload_store_file() opens `fd`, which was -1 */
};

/* What a route does with a body. The callbacks run on a worker while the connection is suspended, one at a
 * time. Each returns 0, or the result of upload_refuse(), which ends the request. */
struct upload_ops {
	enum route_what what; /* the route */
	/* NULL: the row is for all requests of the route that no earlier row takes; else for those that it accepts */
	bool (*takes)(struct exchange *x);
	enum upload_body body;
	uint64_t most; /* bytes of the body; 0: the server's limit for a file */
	uint64_t file_most; /* bytes of a file; 0: the server's limit */
	/* done() waits for files of sources; nothing is stored, and the route needs no right to upload */
	bool answers;
	bool json; /* errors are {"error": TEXT}, as Tecken and Sentry send them; else plain text */
	bool tecken; /* without a valid token the answer is a 403 with Tecken's text */
	bool ranges; /* a body can be a part of a file: Content-Range */
	/* Judges the head after all other checks. 0, or the status of a refusal. NULL: accepts it. */
	int (*admit)(struct exchange *x);
	bool quick; /* done() does not judge files, so it need not wait for requests that do */
	/* Takes the next bytes of a file. NULL: they go to a draft. */
	int (*bytes)(struct exchange *x, const void *p, size_t n);
	/* A file is complete. NULL: the files of the body are dropped. */
	int (*file)(struct exchange *x, struct upload_file *f);
	/* A field without a file name. NULL: fields are ignored. */
	int (*field)(struct exchange *x, const char *name, const char *value);
	/* The body is complete, after all other calls: calls upload_answer(). */
	int (*done)(struct exchange *x);
	void (*release)(void *ctx); /* NULL: `ctx` needs none */
};

struct upload {
	const struct upload_ops *ops;
	void *ctx;	/* of the route */
	uint64_t most;	/* bytes of the body */
	uint64_t file_most; /* bytes of each file */
	uint64_t files; /* the files that are complete */

	/* The thread of the connection; a worker while `writing`. */
	struct upload_slot *slot; /* NULL: the body has no memory for a chunk */
	bool writing;	/* a worker writes the chunk */
	uint8_t *chunk;
	size_t n; /* bytes in the chunk */
	uint64_t received;
	uint64_t skipped; /* bytes that came after the request was refused */
	struct MHD_PostProcessor *form;
	unsigned parts;
	bool in_part, in_field;
	bool some;	/* bytes of the part have come */
	struct upload_file file;	/* the part that arrives now; `draft` is NULL before its first byte */
	char value[UPLOAD_VALUE];	/* of the field that arrives now */
	size_t value_n;

	bool audited; /* a line of the audit log says which file was refused */
	bool try; /* the files are of the class "try" */

	/* the answer */
	int status;	  /* 0: not known yet */
	uint64_t here;	  /* of a 308: the bytes of the file that came, for its field Range; 0: none */
	const char *type; /* of x->reply */
	struct err e;	  /* the reason of a refusal */
};

/* ---- uploads.c ------------------------------------------------------------------------ */

/* For a server with uploads. 0, -errno. */
int uploads_new(struct uploads **out);
void uploads_free(struct uploads *u); /* runs what its workers have; NULL is fine */

/* Call it when the route is known to be that of an upload. 0; 503: out of memory. */
int upload_begin(struct exchange *x);
/* Judges the head of the upload: class, labels, Content-Range and length, and whether the server can take it now. 0,
 * or the status that refuses it. */
int upload_judge(struct exchange *x);

/* ---- upload.c ------------------------------------------------------------------------- */

/* Takes bytes of the body, as libmicrohttpd's access handler does: `*n` becomes the number of bytes that
 * were not taken. */
enum MHD_Result upload_take(struct exchange *x, const char *p, size_t *n);
/* Answers a request that is refused by its head, if its body is too long to be read to its end. False: the connection
 * must end. */
bool upload_refuse_head(struct exchange *x);
/* The handler of every upload route: calls the route's callbacks, and sends the answer. */
enum MHD_Result upload_handle(struct exchange *x);
void upload_free(struct exchange *x); /* discards files that were not taken */
/* In reply.c: sends an error in the form of the route's protocol. `text` is used if no reason is known. */
enum MHD_Result upload_send_error(struct exchange *x, int status, const char *text);

/* Refuses the request: sets the status and the reason, and returns the status. */
int upload_refuse(struct exchange *x, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* As upload_refuse(), for an error of the disk or of the system: 507 if the disk is full, 413 for -EFBIG,
 * else 503. `text` may be NULL. */
int upload_refuse_errno(struct exchange *x, int r, const char *text);
/* Refuses the request if there is no slot for its body: all are taken, or the client's token has its share of them.
 * 0, or the status of the refusal. Any thread. */
int upload_slot_check(struct exchange *x);
/* Whether the client may store files for as long as it likes; else only in the class "try". */
bool upload_is_regular(struct exchange *x);
/* Answers the request with x->reply. Returns 0. */
int upload_answer(struct exchange *x, int status, const char *type);
/* The same with JSON, unless `r`, the result of writing it, is an error. 0, or the status of a refusal. */
int upload_answer_json(struct exchange *x, int status, int r);
/* The context of the route, n bytes, zeroed when it is first needed. NULL: out of memory, and refused. */
void *upload_ctx(struct exchange *x, size_t n);

/* ---- the kinds of uploads -------------------------------------------------------------- */

/* The rows of a file, ended by ROUTE_NONE. uploads.c lists the files. */
extern const struct upload_ops upload_put[], upload_tecken[], upload_tecken2[], upload_sym[], upload_sentry[],
	upload_minidump[];

/* ---- upload-begun.c, upload-intake.c --------------------------------------------------- */

/* Ends uploads that were begun an hour ago and are not complete; or `all`. Whether any is left. */
bool begun_sweep(struct uploads *u, bool all);
/* Removes the chunks of all namespaces that no request has mentioned for a day: hourly, or with `now` at once. (waits
 * for the disk) */
void upload_sweep_chunks(struct http *h, bool now);
/* What keeps the record of the files that Sentry's and Tecken's clients sent to the request's namespace. NULL: the
 * request is refused. */
struct assembly *upload_assembly(struct exchange *x);
