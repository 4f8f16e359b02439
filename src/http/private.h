/* What the files of this folder share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/workers.h"
#include "fetch/derive.h"
#include "fetch/fetch.h"
#include "http/fields.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/route.h"
#include "symb/symb.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HTTP_THREADS 4
#define HTTP_HEAD_MOST (32 << 10)  /* of one connection's memory: a request's head must fit in */
/* POSTs that are answered at once, and those beside them that may wait for it. */
#define HTTP_WORKERS 16
#define HTTP_JOBS_MOST 256
#define HTTP_ASKERS 8
#define HTTP_LISTS_MOST 4
/* Bytes of all bodies that are here; more, when that is less than four of the largest. */
#define HTTP_BODIES_MOST (256ull << 20)
#define HTTP_RETRY_SECONDS "5"
#define HTTP_PACKING_MOST 256 /* answers that are packed on the way, each with a third of a megabyte */
#define HTTP_TOLD_CODES 4096 /* symbol files of which a client said whose they are */
/* What has an identity never changes under its path. */
#define HTTP_FOREVER "max-age=86400, immutable"
#define HTTP_STRUCTURAL "max-age=3600" /* no layout will ever mean what none means now */

struct http_counters {
	atomic_uint_fast64_t connections, requests, ok, redirected, refused, failed, bytes, gone,
		closed;
};

/* One connection. */
#define PEER_TEXT 64
struct conn {
	int fd;
	uint64_t number;
	char peer[PEER_TEXT];
	/* under http->lock */
	bool busy;	/* with a request that is here */
	bool shut;
	uint64_t since; /* clock_ms(): when it last began to wait for a head, or a body; later as that comes */
	struct conn *next, **at;
};

struct http {
	/* constant once started */
	struct fetch *fetch;
	struct derive *derive;
	struct symb *symb;
	struct workers *workers;
	struct workers *askers; /* of servers; who waits for those is waited for by nobody else */
	struct misses *misses;
	struct unknown {
		uint64_t asked, until;
	} unknown[256]; /* under lock: code ids of which servers know nothing */
	struct MHD_Daemon *daemon;
	char *token, *listen, *log_path;
	char **names, **origins; /* server-names, allow-origins; NULL at the end; NULL: none */
	bool anyone;
	char where[LISTEN_TEXT];
	char id[HTTP_ID_TEXT]; /* who we are */
	unsigned most; /* connections */
	uint64_t idle_ms;
	uint64_t body_most, bodies_most; /* bytes of one POST, and of all */
	int64_t started; /* wall clock */
	pthread_t watcher;
	int epoll, wake;

	/* any thread */
	struct http_counters counters;
	atomic_bool stopping;
	atomic_uint_fast64_t bodies; /* bytes of POSTs */
	atomic_uint waiting; /* requests that wait for fetch/ */
	atomic_uint packing; /* answers that are packed on the way */
	atomic_uint lists; /* of what is missing, that are being written */
	atomic_uint jobs; /* POSTs that wait for an answer, or for their turn */
	atomic_int log_fd;

	pthread_mutex_t lock;
	/* under lock */
	struct conn *conns;
	unsigned n_conns;
	uint64_t last_number;
	struct exchange *parked; /* those that wait */
};

/* How a request was answered, or why not: what fetch/ said, kept. */
struct answer {
	int r;
	struct key key;
	struct blob *blob; /* a reference */
	struct part *part; /* of what is still coming: a reference, and open */
	uint64_t was;	   /* of the blob: part_number() while it came; 0 */
	uint64_t size;
	unsigned miss_ms;
	char why[240];
};

/* Where a request is. On the thread of its connection, but for STEP_CUT; a request that waits is handled again
 * when its wait is over, and finds here what it waited for. Steps are only ever passed in this order. */
enum step {
	STEP_HEAD,   /* its head was not looked at yet */
	STEP_BODY,   /* its body comes; then the handler of its route begins */
	STEP_LOCATE, /* servers are asked where the symbol file of a code id is: `where` (code-id.c) */
	STEP_INPUT,  /* sources are asked which file of several GSYM is made of: `answer` (file.c) */
	STEP_ANSWER, /* the answer is fetched or made: `answer` or `reply` */
	STEP_CHECK,  /* the checksum of `answer` is compared with the client's (checksum.c) */
	STEP_SEND,   /* the response is queued, and its body is sent */
	STEP_CUT     /* the rest of the body will never come */
};

/* One request. It lives until MHD is done with it and nobody waits for it. */
struct exchange {
	struct http *h;
	struct MHD_Connection *c;
	struct conn *conn;
	char *target; /* as it came */
	const char *method, *version;
	struct route *route;
	uint64_t began; /* clock_ms() */
	enum step step;
	struct buf body;
	int refuse; /* an HTTP status, decided while the body comes */
	bool close; /* where the next request begins is not certain */

	/* of the wait */
	struct ticket *ticket;
	struct making *making;
	struct answer answer;
	char via[8 * HTTP_ID_TEXT + 1]; /* hops.c */
	struct module *where; /* of a symbol file that was asked for by code id; NULL */
	char *checksum; /* that the file must have; NULL */
	struct symb_flags flags;
	int symb_status;
	struct buf reply;
	atomic_uint refs;
	/* under http->lock */
	struct part_wait *awaited; /* of the file that is being sent */
	bool gone;		 /* its client is */
	atomic_bool left;	 /* the same, for who makes the answer */
	bool over, on_list;
	uint64_t number;
	struct exchange *next, **at;

	/* for the log */
	int status;
	uint64_t bytes;
};

/* ---- exchange.c ---------------------------------------------------------------------- */

/* The first that is heard of a request: its line. `ctx` is the struct http. NULL: out of memory. */
void *exchange_new(void *ctx, const char *target, struct MHD_Connection *c);
void exchange_unref(struct exchange *x);

const char *exchange_header(struct exchange *x, const char *name); /* NULL */
bool exchange_is_head(const struct exchange *x);

/* Whether its body is read before the request is refused. */
bool exchange_must_read(struct exchange *x);
/* n bytes of its body. False: the connection is to end. */
bool exchange_take_body(struct exchange *x, const char *p, size_t n);
/* Of a POST: it was read, or is not wanted. */
void exchange_drop_body(struct exchange *x);

/* fetch_try() or derive_try() returned `r` and answered at once: moves the answer to x->answer. */
void exchange_answered(struct exchange *x, enum step step, int r, struct fetched *f);
void answer_of(const struct fetched *f, struct answer *out);
void answer_release(struct answer *a);

/* ---- reply.c ------------------------------------------------------------------------- */

/* Takes the response, adds what all have, and queues it. */
enum MHD_Result exchange_reply(struct exchange *x, int status, struct MHD_Response *r);
/* A short text of our own; `cache` for Cache-Control. */
enum MHD_Result exchange_text(struct exchange *x, int status, const char *type, const char *cache,
	const char *text);
/* The same; takes the buffer's bytes. */
enum MHD_Result exchange_buf(struct exchange *x, int status, const char *type, const char *cache,
	struct buf *text);
/* What is said before anybody looks for anything. */
enum MHD_Result exchange_refuse(struct exchange *x, int status);
enum MHD_Result exchange_missing(struct exchange *x);
enum MHD_Result exchange_error(struct exchange *x, const struct answer *a); /* of a->r */
void response_header(struct MHD_Response *r, const char *name, const char *value);

/* ---- conn.c -------------------------------------------------------------------------- */

void conn_event(void *ctx, struct MHD_Connection *c, void **socket_context,
	enum MHD_ConnectionNotificationCode what);
void conn_busy(struct http *h, struct conn *c, bool busy);
void conn_moves(struct http *h, struct conn *c, size_t bytes); /* of a body */
/* Closes those whose head or body does not come in time. False: no connection is left. */
bool conn_sweep(struct http *h);

/* ---- wait.c ------------------------------------------------------------------------- */

/* Suspends the connection until fetch/ or derive/ has answered; then the request is handled again, and x->answer
 * is there, or it is refused. `need` NULL: derive's, of cands[0]. */
enum MHD_Result exchange_wait(struct exchange *x, enum step step, const struct artifact *cands, unsigned n,
	const enum fetch_need *need);
/* In a content reader, which then returns 0: suspends the connection until some of the n bytes at `off`
 * are here; n == 0: until the whole was judged. When they never will be, x->step is STEP_CUT. */
void exchange_wait_bytes(struct exchange *x, struct part *p, uint64_t off, size_t n);
/* Suspends the connection until one of those has done work(x), which ends with exchange_resume() and touches the
 * request only before that; then the request is handled again. False: it will not be done, and the request is
 * refused. A client that goes is seen in x->left. */
bool exchange_post(struct exchange *x, enum step step, struct workers *of, void (*work)(void *ctx));
void exchange_resume(struct exchange *x);

int watch_start(struct http *h);
/* Nobody waits any more, all were called back, and the thread has ended. */
void watch_stop(struct http *h);

/* ---- file.c ------------------------------------------------------------------------- */

enum MHD_Result file_handle(struct exchange *x);
enum MHD_Result file_reply(struct exchange *x); /* with x->answer */

/* ---- code-id.c ---------------------------------------------------------------------- */

enum MHD_Result code_id_handle(struct exchange *x);

/* ---- body.c ------------------------------------------------------------------------- */

/* Responses without header fields. NULL: out of memory or of descriptors. */
struct MHD_Response *body_empty(void);
/* For HEAD and 304: the length of a body that is not sent, or MHD_SIZE_UNKNOWN. */
struct MHD_Response *body_of_head(uint64_t size);
struct MHD_Response *body_of_file(struct blob *b, uint64_t off, uint64_t n);
/* n bytes of x->answer.part, as they come; `whole`: not a range of it. */
struct MHD_Response *body_of_part(struct exchange *x, uint64_t off, uint64_t n, bool whole);
struct MHD_Response *body_packed(struct exchange *x, struct blob *b); /* by gzip */

/* ---- misses.c ----------------------------------------------------------------------- */

int misses_new(struct misses **out); /* 0, -ENOMEM */
void misses_free(struct misses *m);  /* NULL is fine */
/* Of a request for a symbol file that is nowhere: keeps what it says of the program, for a while. */
void misses_tell(struct exchange *x);
/* "debug_file,debug_id,code_file,code_id", as Mozilla's server had it, until `gone`. 0, -ENOMEM, -EFBIG. (reads the
 * disk) */
int misses_text(struct http *h, const atomic_bool *gone, struct buf *out);

/* ---- head.c ------------------------------------------------------------------------- */

/* Takes names and origins from the options. -EINVAL: one is of no use; -ENOMEM. */
int head_configure(struct http *h, const struct http_opts *o, struct err *e);
/* 0; 400 (the connection ends then), 403 or 421. */
int head_judge(struct exchange *x);
/* The value of Access-Control-Allow-Origin; NULL: other origins may read no answer. */
const char *head_origin(struct exchange *x);
/* Whether that value depends on `Origin`. */
bool head_varies(const struct http *h);

/* ---- hops.c ------------------------------------------------------------------------- */

/* False: the request went through this server before, or through too many. Reads what hops_tell()
 * then gives to those who ask further. */
bool hops_may_pass(struct exchange *x);
void hops_tell(struct exchange *x);

/* ---- checksum.c --------------------------------------------------------------------- */

/* Of the request, for the sources and for later. */
void checksum_take(struct exchange *x);
/* Whether the answer is a file that was not yet held against it; then checksum_check() suspends the
 * connection until it was, and the request is handled again. Such a file is needed as a whole. */
bool checksum_waits(const struct exchange *x);
enum MHD_Result checksum_check(struct exchange *x);

/* ---- generated.c -------------------------------------------------------------------- */

enum MHD_Result generated_handle(struct exchange *x);

/* ---- symbolicate.c ------------------------------------------------------------------ */

enum MHD_Result symbolicate_handle(struct exchange *x);

/* ---- pages.c ------------------------------------------------------------------------ */

enum MHD_Result page_health(struct exchange *x);
enum MHD_Result page_metrics(struct exchange *x);
enum MHD_Result page_list(struct exchange *x); /* what is missing: of any type, or symbol files */
enum MHD_Result page_status(struct exchange *x);

/* ---- search.c ----------------------------------------------------------------------- */

/* The artifacts that a path, a key or an identifier may mean, SEARCH_MOST at most. How many. (reads the
 * index) */
#define SEARCH_MOST 24
unsigned search(struct http *h, const char *words, struct artifact *out);

/* ---- access.c ----------------------------------------------------------------------- */

int access_open(struct http *h, struct err *e);
void access_write(struct http *h, struct exchange *x, bool cut);
