/* The same artifacts over HTTP, for who cannot mount: every layout, the protocols of symbol servers
 * at the root, and what symfs is doing. The only user of libmicrohttpd. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>

struct fetch;
struct http;
struct symb_limits;

struct http_opts {
	const char *listen; /* "ADDRESS:PORT" (port 0: any), "unix:PATH", "systemd" */
	int socket;	    /* of http_listen(), which http_start() takes; 0: it opens one */
	const char *id;	    /* by which a request of our own is known, see http_id(); NULL: none is */
	const char *token;  /* who asks must show it; NULL: nobody must */
	bool anyone;	    /* an address that others reach may be listened on without a token */
	char *const *names; /* of this server, beside its address and localhost: lists, NULL at the end; NULL */
	char *const *origins; /* of pages that may read answers: the same */
	const char *access_log; /* a file, appended to; "-": stderr; NULL: none */
	unsigned connections; /* at once; 0: 4096, or what descriptors allow */
	const struct symb_limits *limits; /* of requests to symbolicate; NULL: symb_limits_default */
	unsigned idle_ms;     /* without a request, or for all of its head; 0: 60000 */
};

/* A new id, at random, for http_opts and (as "serve/ID") for fetch_opts.agent: so a server that is
 * its own source is found out. 0, -EIO. */
#define HTTP_ID_TEXT 33
int http_id(char out[static HTTP_ID_TEXT]);

/* Opens the socket of http_opts.listen before the process gives up the right to. -EINVAL, -errno. */
int http_listen(const char *listen, int *socket, struct err *e);
void http_unlisten(const char *listen, int socket); /* when it does not come to http_start() */

/* Listens, and answers from now on. The fetch stays the caller's and must outlive it. -EINVAL: what
 * is asked for makes no sense, or is not safe; others: the address. `e` says which. */
int http_start(struct http **out, struct fetch *f, const struct http_opts *o, struct err *e);

/* Where it listens: "http://127.0.0.1:8080", "unix:/run/symfs.socket". */
const char *http_where(const struct http *h);

/* Opens the access log anew, when somebody has moved it away. Any thread. */
void http_reopen_log(struct http *h);

/* Ends what waits, answers, and stops. NULL is fine. */
void http_stop(struct http *h);
