/* Declarations that the files of http/ share: the server, its connections, and the requests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "auth/tokens.h"
#include "base/buf.h"
#include "base/workers.h"
#include "derive/derive.h"
#include "fetch/fetch.h"
#include "http/fields.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/page/pasted.h"
#include "http/route.h"
#include "symb/form.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HTTP_THREADS 4
#define HTTP_HEAD_MOST (32 << 10)  /* bytes of memory for a connection, which must hold the head of a request */
#define HTTP_WORKERS 16	   /* threads that answer POSTs and write lists */
#define HTTP_JOBS_MOST 256 /* POSTs that are being answered or wait for a worker */
#define HTTP_MINIDUMPS_MOST 4 /* minidumps that are received or answered at the same time */
#define HTTP_ASKERS 8	   /* threads that ask servers about code ids */
#define HTTP_LISTENERS_MOST 256u /* clients of /events; fewer if they would take a quarter of the connections */
#define HTTP_PAGES_MOST 64 /* pages that are written, or wait for a worker, at the same time */
#define HTTP_ASKING_MOST 2 /* pages that ask sources at the same time, on threads of HTTP_ASKERS */
#define HTTP_LISTS_MOST 4  /* lists of misses that are written at the same time */
/* The limit of all request bodies in memory, in bytes; larger if four bodies of the largest allowed size need
 * more. */
#define HTTP_BODIES_MOST (256ull << 20)
#define PAGE_TEXT_MOST (256u << 10) /* bytes of the text that the page searches for files */
#define HTTP_SPACES_MOST 32  /* namespaces of one server: each has threads, connections and a store */
#define HTTP_SPACE_RETRY_MS 5000 /* after a namespace could not be opened */
#define HTTP_RETRY_SECONDS "5"
#define HTTP_CHALLENGE "Bearer realm=\"symfs\"" /* of a 401 */
#define HTTP_PACKING_MOST 256 /* bodies packed at the same time, each with a third of a megabyte */
#define HTTP_PROGRAMS 4096 /* symbol files whose program a client named (misses.c) */
/* A file never changes under the path of its identity. */
#define HTTP_FOREVER "max-age=86400, immutable"
#define HTTP_SOON "no-cache" /* a better file may come */
#define PLAIN "text/plain; charset=utf-8"
#define HTTP_STRUCTURAL "max-age=3600" /* a path that fits no layout will not exist later */

struct http_counters {
	atomic_uint_fast64_t connections, requests, ok, redirected, refused, failed, bytes, gone,
		closed, saved;
};

/* One connection. */
#define PEER_TEXT 64
struct conn {
	int fd;
	struct loop *loop; /* whose thread handles the connection */
	char peer[PEER_TEXT];
	struct sockaddr_in6 here; /* the address that the client reached; or that of IPv4, or only the family */
	/* written by the connection's thread, and read under http->lock */
	atomic_bool asked; /* a request has begun and has not ended */
	atomic_bool busy;  /* a whole request has arrived and is being answered */
	atomic_uint_fast64_t since; /* clock_ms() when the wait for a head or body began; grows as the body arrives */
	/* under http->lock */
	bool shut;	/* this server has shut the connection down */
	struct conn *next, **at;
};

/* One namespace: a store, and what works on it. It is constant once it is on the list, and freed with the server.
 * A request has one space: that of its token, else "public". */
#define HOURS 24

/* The counters of requests for files as they were at the first request of each of the last hours (page-server.c). */
struct hours {
	atomic_int_fast64_t hour; /* the last one, since 1969-12-31: a clock can be at 1970, and a day lies before */
	pthread_mutex_t lock;
	uint64_t asked[HOURS], hits[HOURS]; /* under the lock; of an hour, at its number modulo 24 */
};

/* Notes the counters if a new hour has begun. For each request, before it counts. Any thread. */
struct space;
void hours_look(struct space *s);

/* The last uploads and errors of a space, for the page. In memory: a restart forgets them. */
enum journal_kind {
	JOURNAL_UPLOADS, /* files that came, were refused or were removed */
	JOURNAL_ERRORS,	 /* answers that were errors */
	JOURNAL_KINDS
};
#define JOURNAL_LINES 200 /* of each kind, in each space */
struct journal_line {
	int64_t when; /* wall clock */
	int status;   /* 0: none */
	char event[12], user[AUTH_NAME], file[240], key[240], why[240]; /* cut to fit; "": none */
};
struct journal {
	pthread_mutex_t lock;
	struct journal_ring {
		uint64_t next; /* line N is at N % JOURNAL_LINES */
		struct journal_line lines[JOURNAL_LINES];
	} rings[JOURNAL_KINDS];
};

/* The programs that clients named in their requests for symbol files. symfs only prints a program, and never looks
 * it up. */
struct misses {
	pthread_mutex_t lock;
	struct miss_program {
		uint64_t key; /* hash of the symbol file's key; 0: the slot is free */
		char file[128], id[64];
	} programs[HTTP_PROGRAMS];
};

struct space {
	char name[AUTH_SPACE];
	struct store *store;
	struct fetch *fetch;   /* the caller's */
	struct bucket *bucket; /* the caller's, which uploads files of the store; NULL: none */
	struct derive *derive;
	struct symb *symb;
	struct misses misses;
	struct missed *missed;	 /* missed.c */
	struct journal journal; /* access.c */
	struct events *events; /* events.c */
	struct hours hours;
	struct http *http;	   /* set with `assembly` */
	struct assembly *assembly; /* of Sentry's protocol (upload-intake.c); NULL until the first request of it */
	struct unknown {
		uint64_t asked, until; /* `asked`: hash of the path; `until`: clock_ms() */
	} unknown[256]; /* under http->lock: code ids that no server knows */
	struct space *_Atomic next; /* set once, when a space is appended to the list */
};

/* A thread that reads requests and sends answers (loop.c). */
struct loop {
	/* constant once started */
	struct http *http;
	struct MHD_Daemon *daemon;
	pthread_t thread;
	int wake;
	bool runs;
	bool closed; /* the thread only: its listening socket */
	atomic_bool ends;
};

struct http {
	/* constant once started */
	struct space *public; /* the first of the list of spaces; further ones are added under spaces_lock */
	struct http_opts opts; /* only: open_space, ctx, limits, bucket, classes, upload_most, allow_unsandboxed */
	struct auth *auth; /* the tokens of clients; NULL: no token is needed */
	struct workers *workers;
	struct workers *askers; /* threads that ask servers about code ids, and wait for them */
	struct loop loops[HTTP_THREADS];
	int listener; /* the listening socket, of which each loop has a duplicate */
	char *listen, *log_path, *audit_path;
	char **names, **origins; /* from server-names and allow-origins, ended by NULL; NULL: not configured */
	bool anyone;
	char where[LISTEN_TEXT];
	char id[HTTP_ID_TEXT]; /* of this server, against loops (head.c) */
	unsigned most; /* connections at the same time */
	uint64_t idle_ms;
	uint64_t body_most, bodies_most; /* the limits: bytes of one POST, and of all POSTs */
	struct uploads *uploads; /* upload.h; minidumps need it on each server */
	int64_t started; /* wall clock */
	pthread_t watcher;
	int epoll, wake;

	/* any thread */
	struct http_counters counters;
	atomic_bool leaving; /* no new clients are accepted */
	atomic_bool stopping;
	atomic_bool draining; /* the server ends soon: it is not ready, and each connection ends with its answer */
	atomic_uint running; /* requests that have begun and have not ended */
	atomic_uint_fast64_t bodies; /* bytes of POSTs */
	atomic_uint listeners; /* clients of /events, which count as waiting, too */
	atomic_uint waiting; /* requests that wait for fetch/ */
	atomic_uint packing; /* bodies that are being packed */
	atomic_uint lists; /* lists of misses that are being written */
	atomic_uint pages; /* pages that are being written */
	atomic_uint asking; /* pages that are asking sources */
	atomic_uint minidumps; /* that are being received or answered */
	atomic_uint jobs; /* POSTs that are being answered or wait for a worker */
	atomic_int log_fd, audit_fd;

	pthread_mutex_t spaces_lock;
	unsigned n_spaces; /* under spaces_lock */
	struct space_failure {
		char name[AUTH_SPACE];
		uint64_t when; /* clock_ms(); 0: none */
	} failed[HTTP_SPACES_MOST]; /* under spaces_lock: spaces that could not be opened */

	pthread_mutex_t lock;
	/* under lock */
	struct conn *conns;
	unsigned n_conns;
	struct {
		uint64_t began, checked; /* clock_ms() of the last check of the store; `checked` 0: none yet */
		bool checking;
		int r; /* its result */
	} ready;
	uint64_t last_number;
	struct exchange *parked; /* requests that wait and can be cancelled */
};

/* Counts one more of the things of which a server does `most` at the same time. False: it does as many already. The
 * caller ends it by atomic_fetch_sub(). */
static inline bool http_admit(atomic_uint *n, unsigned most)
{
	if (atomic_fetch_add(n, 1) < most)
		return true;
	atomic_fetch_sub(n, 1);
	return false;
}

/* A copy of an answer of fetch/ or derive/. */
struct answer {
	int r;
	struct key key;
	struct blob *blob; /* a reference */
	struct part *part; /* a reference to a file that is downloading; the part is open */
	uint64_t was;	   /* part_number() of the blob during its download; 0: none */
	uint64_t size;
	unsigned miss_ms;
	char why[240];
};

/* The progress of a request; the step never decreases. The thread of the connection writes the step, except
 * STEP_CUT. When a wait is over, the handler of the route is called again, and the step says what the
 * request has waited for. */
enum step {
	STEP_HEAD,   /* the head was not judged yet */
	STEP_BODY,   /* the body is arriving; then the handler of the route begins */
	STEP_LOCATE, /* servers are asked where the symbol file of a code id is: `where` (code-id.c) */
	STEP_INPUT,  /* sources are asked which possible input of a GSYM file exists: `answer` (file.c) */
	STEP_ANSWER, /* the answer is fetched or made: `answer` or `reply` */
	STEP_CHECK,  /* the checksum of `answer` is compared with the client's (checksum.c) */
	STEP_SEND,   /* the response is queued, and its body is sent */
	STEP_CUT     /* the rest of the body will never come */
};

/* One request. A request lives until libmicrohttpd has finished it, and its wait has ended. */
struct exchange {
	struct http *h;
	struct space *space; /* where the request looks and stores */
	struct auth_token token; /* of the client, if `known` */
	bool known;		 /* the client sent a valid token */
	enum auth_right lacks;	 /* the right for which the token was refused last; 0: for none */
	struct MHD_Connection *c;
	struct conn *conn;
	char *target; /* of the request line, undecoded */
	const char *method, *version;
	struct route *route;
	uint64_t began; /* clock_ms() */
	enum step step;
	struct buf body;
	int refuse; /* the HTTP status of a refusal, decided before the body ends; 0: not refused */
	bool answered; /* exchange_refuse_early() has sent the answer */
	bool close; /* the connection must end: it is not certain where the next request begins */

	/* the wait, and its result */
	struct ticket *ticket;
	struct making *making;
	bool made; /* the file was not found, and whether it can be made was decided (file.c) */
	struct answer answer;
	char via[8 * HTTP_ID_TEXT + 1]; /* ids of the servers that the request came through (head.c) */
	struct module *where; /* STEP_LOCATE: the symbol file, if debug_id.set; else NULL */
	char *checksum; /* the checksums that the client expects; NULL: none */
	struct symb_flags flags;
	int symb_status;
	struct upload *upload; /* NULL: not an upload */
	void (*upload_free)(struct exchange *x); /* frees `upload` */
	struct buf reply;
	atomic_uint refs;
	/* under http->lock */
	struct part_wait *awaited; /* STEP_SEND: the wait for bytes of the file */
	bool gone;		 /* the client disconnected */
	atomic_bool left;	 /* as `gone`, for the worker that makes the answer */
	bool over, on_list;
	uint64_t number;
	struct exchange *next, **at;

	bool stored; /* the answer was stored when the request came */

	bool not_found; /* a worker writes the page of a 404 (page.c) */
	struct listener *listener; /* to events; NULL: none (events.c) */

	/* for the log */
	int status;
	uint64_t bytes;
};

/* ---- exchange.c ---------------------------------------------------------------------- */

/* Called when libmicrohttpd has read the request line. `ctx` is the struct http. NULL: out of memory. */
void *exchange_new(void *ctx, const char *target, struct MHD_Connection *c);
void exchange_unref(struct exchange *x);

const char *exchange_header(struct exchange *x, const char *name); /* NULL: the request has none */
bool exchange_is_head(const struct exchange *x);
/* Whether the client is a browser that wants a page: it sent `Accept: text/html` with a GET. */
bool exchange_wants_page(struct exchange *x);
bool exchange_has_parts(struct exchange *x); /* the body is a form of parts: multipart/form-data */

/* In http.c: takes n bytes of the body. False: the connection must end. */
bool exchange_take_body(struct exchange *x, const char *p, size_t n);
/* Frees the body of a POST, after it was read, or if it is not wanted. */
void exchange_drop_body(struct exchange *x);

/* The name of the client's token; "-": none. */
const char *exchange_user(const struct exchange *x);
/* Writes the URL of this server as the client sees it, without a slash at its end: from `Host` if that has the form
 * of a host name and a port, and from the proxy's `X-Forwarded-Proto`. Otherwise the address on which the server
 * listens. */
#define ADDRESS_TEXT 320
void exchange_address(struct exchange *x, char out[static ADDRESS_TEXT]);
/* Gives the ids of the servers that the request came through to the sources. */
void hops_pass_on(struct exchange *x);
void answer_release(struct answer *a); /* drops the references; the answer may be filled again */

/* ---- reply.c ------------------------------------------------------------------------- */

/* Evaluates the preconditions of a GET or HEAD (RFC 9110, 13.2.2) but If-Range, for a file with this tag. `date`: its
 * Last-Modified, -1: none; `changed`: since when a client that has it would have this file. 200, 304 or 412. */
int exchange_condition(struct exchange *x, const char *tag, int64_t date, int64_t changed);
/* Takes the response, adds the common header fields, and queues it. A response without a tag is subject to
 * preconditions. */
enum MHD_Result exchange_reply(struct exchange *x, int status, struct MHD_Response *r);
/* Sends a short text; `cache` is the value of Cache-Control. */
enum MHD_Result exchange_text(struct exchange *x, int status, const char *type, const char *cache,
	const char *text);
/* As exchange_text(): plain text that no cache keeps. */
enum MHD_Result exchange_plain(struct exchange *x, int status, const char *text);
/* As exchange_text(); takes the bytes of the buffer. */
enum MHD_Result exchange_buf(struct exchange *x, int status, const char *type, const char *cache,
	struct buf *text);
/* Sends the text of a page; `r`: the result of writing it. */
enum MHD_Result page_reply(struct exchange *x, const char *type, int r, struct buf *text);
#define REFUSAL_TEXT 400
/* The text of a refusal, which `room` may hold. NULL: no refusal has this status. */
const char *refusal_text(struct exchange *x, int status, char room[static REFUSAL_TEXT]);
/* Refuses the request with a fixed text. */
enum MHD_Result exchange_refuse(struct exchange *x, int status);
/* Refuses an upload with x->refuse while its body still arrives: sends the answer past libmicrohttpd, which would
 * send it only after the body, and ends the sending side of the connection. False: it cannot be sent. */
bool exchange_refuse_early(struct exchange *x);
void response_header(struct MHD_Response *r, const char *name, const char *value);

/* ---- errors.c ------------------------------------------------------------------------ */

const char *exchange_missing_text(const struct exchange *x); /* of a 404 */
enum MHD_Result exchange_missing(struct exchange *x); /* replies 404, and notes the miss */
enum MHD_Result exchange_error(struct exchange *x, const struct answer *a); /* replies with the status of a->r */

/* ---- wait.c ------------------------------------------------------------------------- */

/* Call it when fetch_try() or derive_try() has returned `r` and answered at once: moves the answer to
 * x->answer. */
void exchange_answered(struct exchange *x, enum step step, int r, struct fetched *f);
/* Asks fetch/ for the files of the path. True: x->step is `step` and x->answer is filled in. False: the connection is
 * suspended until fetch/ has answered; then the request is handled again with both, or x->refuse is set. */
bool exchange_fetch(struct exchange *x, enum step step, enum fetch_need need);
/* Suspends the connection until derive/ has made the file; then the request is handled again: x->step is STEP_ANSWER
 * and x->answer is filled in, or x->refuse is set. */
enum MHD_Result exchange_make(struct exchange *x, const struct artifact *a);
/* Call it in a content reader, which must then return 0. Suspends the connection until some of the n bytes
 * at `off` have arrived; n == 0: until the whole file was verified. If that will never happen, x->step
 * becomes STEP_CUT. */
void exchange_wait_bytes(struct exchange *x, struct part *p, uint64_t off, size_t n);
/* Likewise, until x->listener has something to send. */
void exchange_wait_events(struct exchange *x);
/* Suspends the connection until a thread of `of` has run work(x). work() ends with exchange_resume(),
 * and does not touch the request after that; then the request is handled again. False: work() will not
 * run, and x->refuse is set. When the client disconnects, x->left becomes true. */
bool exchange_post(struct exchange *x, enum step step, struct workers *of, void (*work)(void *ctx));
void exchange_resume(struct exchange *x);

int watch_start(struct http *h); /* starts the thread that watches connections: 0, -errno */
/* Cancels all waits. On return every callback has run, and the thread has ended. */
void watch_stop(struct http *h);

/* ---- loop.c ------------------------------------------------------------------------- */

/* libmicrohttpd calls this when a connection begins or ends. `ctx` is the struct loop; `*socket_context`
 * becomes the struct conn, or NULL if it is out of memory. */
void conn_event(void *ctx, struct MHD_Connection *c, void **socket_context,
	enum MHD_ConnectionNotificationCode what);
void conn_busy(struct conn *c, bool busy); /* true: an answer begins; false: the connection
							      waits for the client */
void conn_asked(struct http *h, struct conn *c, bool asked); /* true: a request has begun; false: it has ended */
void conn_moves(struct conn *c, size_t bytes); /* bytes of a body have arrived */
/* Closes connections whose head or body does not arrive in time. False: no connection is left. */
bool conn_sweep(struct http *h);

/* Starts the threads, which accept from `fd`. 0, -EIO; loops_stop() in both cases. */
int loops_start(struct http *h, int fd, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback completed);
void loops_stop(struct http *h); /* ends all connections; none is suspended */
void http_leave(struct http *h); /* accepts no new clients from now on */


/* ---- the handlers of routes: http.c lists these ------------------------------------------ */

/* The rows of a file, ended by ROUTE_NONE. */
struct handler {
	enum route_what what;
	enum MHD_Result (*handle)(struct exchange *x);
};
extern const struct handler file_handlers[] /* code-id.c */, generated_handlers[], symbolicate_handlers[],
	page_handlers[] /* pages.c */, status_handlers[] /* page.c */, events_handlers[];

/* ---- file.c ------------------------------------------------------------------------- */

enum MHD_Result file_handle(struct exchange *x);
/* Evaluates the preconditions of a PUT or DELETE for the file that the store has: 0 or 412. */
int file_condition(struct exchange *x);
enum MHD_Result file_reply(struct exchange *x); /* replies with x->answer */

/* ---- body.c ------------------------------------------------------------------------- */

/* Responses without header fields. NULL: out of memory or of descriptors. */
struct MHD_Response *body_empty(void);
/* For HEAD and 304: the length of a body that is not sent, or MHD_SIZE_UNKNOWN. */
struct MHD_Response *body_of_head(uint64_t size);
struct MHD_Response *body_of_file(struct blob *b, uint64_t off, uint64_t n);
/* n bytes of x->answer.part, sent as they arrive; `whole`: not a range of it. */
struct MHD_Response *body_of_part(struct exchange *x, uint64_t off, uint64_t n, bool whole);
struct MHD_Response *body_packed(struct exchange *x, struct blob *b); /* the blob, packed by gzip */

/* ---- misses.c ----------------------------------------------------------------------- */

/* Call it when a request for a symbol file found nothing: remembers the program that the request names. */
void misses_note(struct exchange *x);
/* Writes lines of "debug_file,debug_id,code_file,code_id", as Mozilla's server does; `all`: those of fetch_missing(),
 * and all other files that clients asked for in vain. Stops early when `*gone` becomes true. 0, -ENOMEM, -EFBIG.
 * (reads the disk) */
int misses_text(struct space *s, bool all, const atomic_bool *gone, struct buf *out);

/* ---- head.c ------------------------------------------------------------------------- */

/* Takes names and origins from the options. 0; -EINVAL: a name or an origin does not parse; -ENOMEM. */
int head_configure(struct http *h, const struct http_opts *o, struct err *e);
/* Judges the head of a request, finds its token, and with it the client's rights and space. 0, or the status that
 * refuses the request: 400 (then x->close is set), 401, 403, 421, 501, 503 or 508. */
int head_judge(struct exchange *x);
/* The value of Access-Control-Allow-Origin; NULL: other origins may not read responses. */
const char *head_origin(struct exchange *x);
/* Whether the result of head_origin() depends on `Origin`. */
bool head_varies(const struct http *h);
/* Whether the client runs on this machine, and is not a web page that reached it by DNS rebinding. */
bool head_is_neighbour(struct exchange *x);

/* Whether the token of a request that was accepted a while ago is still valid, with its right and its namespace. */
bool rights_still(struct exchange *x);
/* Whether the client may do what the right allows. 0; 401: a valid token is needed; 403: the token does not have
 * the right. Without tokens, clients of this machine may do everything, and web pages may only read. */
int exchange_may(struct exchange *x, enum auth_right right);
bool exchange_has_token(struct exchange *x); /* whether the request carries a token, valid or not */

/* ---- uploads.c ---------------------------------------------------------------------- */

/* Reads how long an uploaded file is to stay: `class`, `expires` and `label` of the query. `try`: the protocol asks
 * for the class "try". Without a class it is "default", or "try" if the token may upload nothing else. 0; 400: a
 * word is wrong; 403: the token has no right to the class; `e` has the reason. */
int exchange_hold(struct exchange *x, bool try, struct store_hold *out, struct err *e);

/* ---- space.c ------------------------------------------------------------------------ */

/* Finds a namespace, and opens it if this is its first use (waits for the disk then). NULL: it cannot be opened;
 * the reason was logged. Any thread. */
struct space *space_find(struct http *h, const char *name);
/* Opens the public namespace, with files of `f`, which stays the caller's and must outlive it, and the namespaces of
 * all tokens. 0, -errno. */
int spaces_open(struct http *h, struct fetch *f, struct err *e);
/* Ends the symbolications of all spaces. */
void spaces_stop(struct http *h);
void spaces_free(struct http *h);

/* ---- checksum.c --------------------------------------------------------------------- */

/* Reads the checksum of the request, for the sources and for the check. */
void checksum_take(struct exchange *x);
/* Checks the answer first if it is a file with such a checksum: true: the connection is suspended, and the request is
 * handled again. */
bool checksum_check(struct exchange *x);

/* ---- page.c -------------------------------------------------------------------------- */

/* An answer without a file, as a page for a browser. */
enum MHD_Result page_error(struct exchange *x, int status, const char *text);
/* Has a worker write a page for a browser that gets 404: it says why. False: the client wants plain
 * text, or may not see the page. */
bool page_not_found(struct exchange *x, enum MHD_Result *result);
/* Sends the page, once a worker has written it. */
enum MHD_Result page_send_not_found(struct exchange *x);

/* ---- pages.c ------------------------------------------------------------------------ */

typedef void each_number(void *ctx, const char *name, const char *help, const char *type, uint64_t value);
/* Calls `each` with the counters and gauges of the server and of a space. */
void upload_numbers(struct http *h, const struct space *s, each_number *each, void *ctx); /* uploads.c: its part */
void numbers_each(struct http *h, const struct space *s, each_number *each, void *ctx);

/* ---- events.c ----------------------------------------------------------------------- */

/* Watches the store for keys that arrive. `resume` is exchange_resume(). 0, -ENOMEM. */
int events_new(struct events **out, struct store *s, void (*resume)(struct exchange *x));
void events_free(struct events *ev); /* NULL is fine; call it when no client listens any more */
/* Call it about once a second: keeps silent connections open, and ends those whose token has ended. */
void events_tick(struct events *ev);
void events_end(struct events *ev);  /* ends the response of each listener */
/* 0: the listener waits, and its request will be resumed once; 1: it has something to send. */
int listener_wait(struct listener *l);
/* A listener for the request, from now on: for the keys of its path, or for all keys. NULL: out of memory. */
struct listener *listener_new(struct exchange *x);
/* Copies text for the client. `still`, called every few seconds, checks the client's token, which can end before the
 * stream does. Returns the number of bytes; 0: no event waits now; -1: the stream has ended. */
ssize_t listener_read(struct listener *l, bool (*still)(struct exchange *x), char *out, size_t most);
void listener_cancel(struct listener *l); /* the client is gone: resumes the request if it waits */
void listener_free(struct listener *l); /* NULL is fine; after the response has ended */

/* ---- access.c ----------------------------------------------------------------------- */

/* Opens the access log and the audit log of the options, or opens them again. 0, also without a log; -errno and
 * `e`. */
int access_open(struct http *h, struct err *e);
/* Call it when the answer to a request has ended: writes its line of the access log, a line of the audit log if it
 * was refused, and keeps it in the journal if it was an error of the server, or refused an upload. `cut`: it ended
 * before the whole response was sent. Any thread. */
void access_end(struct exchange *x, bool cut);

/* For messages: the target of the request, without its secrets, cut to TARGET_TEXT. Returns `out`. */
#define TARGET_TEXT 300
const char *target_shown(const struct exchange *x, char out[static TARGET_TEXT]);

/* Appends a line to the audit log: `event` is "upload", "present", "purge" or "refused". `file` is the name of a
 * file or member, `k` its key, `why` the reason of a refusal; each may be NULL. Any thread that may use the
 * request. */
void audit_write(struct exchange *x, const char *event, const char *file, const struct key *k, const char *why);

/* A line without a request: for what is done after the request has ended. Fields may be NULL, `status` 0. */
struct audit_line {
	const char *event, *user, *space, *peer, *method, *target;
	int status;
	const char *file;
	const struct key *key;
	const char *why;
};
void audit_add(struct http *h, struct space *s, const struct audit_line *l); /* any thread */
/* Copies the lines since a time (wall clock), the latest first. Returns their number, at most `most`. */
unsigned journal_read(struct journal *j, enum journal_kind kind, int64_t since, struct journal_line *out,
	unsigned most);

/* ---- missed.c ----------------------------------------------------------------------- */

#define MISSED_DAYS 7
#define MISSED_KEYS 1000 /* files of a day that are counted alone */
struct missed_day {
	int64_t when; /* wall clock: the day's beginning (UTC) */
	uint64_t others; /* requests for further files */
	unsigned n;
	struct missed_row {
		char *key; /* its text */
		uint64_t asked;
	} *rows; /* most requests first */
};
/* Reads what the store has from an earlier server. 0, -ENOMEM. (reads the disk) */
int missed_new(struct missed **out, struct store *st);
void missed_free(struct missed *m); /* saves it; NULL is fine. (waits) */
/* Counts a request for a file that no source has. True: missed_save() is due; the caller posts it to a worker. */
bool missed_note(struct missed *m, const struct key *k);
void missed_save(struct missed *m); /* (waits) */
/* Reads the day that was `ago` days ago. Returns the number of rows; missed_day_release() frees them. */
unsigned missed_read(struct missed *m, unsigned ago, struct missed_day *out);
void missed_day_release(struct missed_day *d);
