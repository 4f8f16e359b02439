/* The HTTP server: every layout of the mount, the protocols of symbol servers at the root,
 * symbolication, and pages about the server. Only this module uses libmicrohttpd. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "store/files/hold.h"

#include <stdbool.h>
#include <stdint.h>

struct bucket;
struct fetch;
struct http;
struct symb_limits;

/* A class of uploaded files. */
struct http_class {
	char name[HOLD_CLASS];
	int64_t age; /* seconds without a use after which its files expire; 0: never */
};

#define HTTP_ID_TEXT 33 /* 32 hexadecimal digits and NUL */

struct http_opts {
	const char *listen; /* "ADDRESS:PORT" (port 0: any), "unix:PATH", "systemd" */
	int socket;	    /* from http_listen(), taken by http_start(); 0: http_start() opens one */
	const char *id;	    /* random digits, and in fetch_opts.agent "serve/ID": with it a server that is its own
			     * source detects the loop; NULL: no detection */
	const char *token_file; /* the tokens of clients (auth/tokens.h); NULL: clients need no token */
	bool anyone;	    /* allows an address that other machines reach without a token */
	char *const *names; /* further host names of this server: an array of lists, ended by NULL; NULL: none */
	char *const *origins; /* origins of the web pages that may read responses: an array like `names` */
	/* Opens a namespace that a token names; *out and *bucket (NULL: none) stay the callback's until http_stop()
	 * has returned. Any thread. 0, -errno; `e` has the reason. NULL: only the namespace "public" exists. */
	int (*open_space)(void *ctx, const char *name, struct fetch **out, struct bucket **bucket, struct err *e);
	void *ctx;
	const struct http_class *classes; /* "try" and "default" are among them; valid until http_stop() */
	unsigned n_classes;
	const char *audit_log;	/* a JSON line for each upload, removal and refusal; as access_log */
	const char *access_log; /* a file, appended to; "-": stderr; NULL: none */
	unsigned connections; /* at once; 0: 4096, or fewer if the process may not open enough descriptors */
	const struct symb_limits *limits; /* of symbolication requests; NULL: symb_limits_default */
	uint64_t upload_most; /* bytes of one upload; 0: the server accepts no uploads */
	bool allow_unsandboxed; /* uploaded archives are unpacked also where no system-call filter can be set */
	struct bucket *bucket; /* the caller's, which uploads files of the store; NULL: none */
	unsigned idle_ms;     /* milliseconds within which the head of a request must arrive; 0: 60000 */
};

/* Opens the socket of http_opts.listen, before the process gives up its rights. 0, -EINVAL, -errno. */
int http_listen(const char *listen, int *socket, struct err *e);
void http_unlisten(const char *listen, int socket); /* closes the socket; only if http_start() is not called */

/* Listens, and answers from now on. `f` stays the caller's and must outlive the server. 0; -EINVAL: the
 * options make no sense or are not safe; -errno: the address cannot be used. `e` says why. */
int http_start(struct http **out, struct fetch *f, const struct http_opts *o, struct err *e);

/* Where the server listens: "http://127.0.0.1:8080", "unix:/run/symfs.socket". */
const char *http_where(const struct http *h);

/* Opens the access log and the audit log again after it was moved away (log rotation). Any thread. */
void http_reopen_log(struct http *h);

/* The gentle end, in this order, each from any thread; then http_stop(). */
void http_drain(struct http *h);  /* /ready answers 503 from now on, and each connection ends with its answer */
void http_refuse(struct http *h); /* no client can connect any more, and connections without a request are closed */
unsigned http_running(struct http *h); /* the number of requests that have not ended */
uint64_t http_requests(struct http *h); /* since the start */

/* Cancels all waits, answers the requests that waited, stops the server and frees it. NULL is fine. */
void http_stop(struct http *h);
