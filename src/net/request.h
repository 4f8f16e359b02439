/* One request and one reply, as plain values. source/ uses them, too: it plans requests and judges replies,
 * but transfers nothing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NET_HOST_MAX 280

/* The order of requests that wait because their host already has as many requests as it may get at once. */
enum net_rank {
	NET_WANTED, /* a reader waits for these bytes */
	NET_FIRST,  /* a caller waits to learn whether the file exists: ahead of all requests for bytes */
	NET_SPARE   /* read-ahead, for which no reader waits: behind all others */
};

struct net_req {
	char *url;		/* percent-encoded; owned */
	char **headers;		/* "Name: value", NULL at the end; owned; sent to the origin of `url` only.
				   After a redirect to another origin, only Range and If-Range are sent. */
	unsigned connect_ms;	/* connect timeout; 0: 4000 */
	unsigned stall_ms;	/* stall timeout: no byte for that long is -ETIMEDOUT; 0: 30000 */
	uint64_t most;		/* larger bodies are -EFBIG; 0: no bound */
	bool coded;		/* a request with a Range accepts a Content-Encoding. Then the size is
				   unknown, and the range counts encoded bytes */
	bool insecure;		/* do not verify TLS */

	/* The following fields may be NULL or 0; the strings are owned. Credentials (user, cert, netrc) are
	 * sent to the origin of `url` only, as headers are. */
	char *user, *password;	/* in place of the user and the password in `url` */
	char *sigv4;		/* user and password sign the request: "aws:amz:REGION:s3" */
	char *cert, *key;	/* files */
	char *netrc;		/* a file */
	char *ca_file;		/* in place of the system's certificates */
	char *proxy;		/* URL; "none": no proxy; NULL: the proxy of the environment */
	bool allow_private;	/* a redirect may lead to this machine or a private network, even if the
				   first host is elsewhere */
	bool allow_http;	/* a redirect may lead from https to http */
	unsigned connections;	/* most requests to one origin at once; 0: the default of the net. If
				   requests to an origin differ, the least value counts */
	enum net_rank rank;

	/* A request that is not a GET. It follows no redirect. */
	const char *method; /* "PUT", "HEAD", …: a constant; NULL: GET */
	uint64_t body_size; /* bytes of its body */
	/* Writes up to n bytes of the body at `off` to p. Returns their number; a negative errno ends the transfer.
	 * Runs on the net thread, and may run again for bytes that it gave before. NULL: no body. */
	ssize_t (*body)(void *ctx, uint64_t off, void *p, size_t n);
	void *body_ctx;
};

struct net_reply {
	int status;		/* of HTTP; 0: no answer, and `error` says why */
	int error;		/* 0, or a negative errno: see net_errors below */
	int http;		/* version: 10, 11, 20, 30; 0: no answer */
	char text[200];		/* the error in words, without credentials, or at the end the first line of a refusal
				   in plain text; "": none */
	int64_t size;		/* of the decoded body; -1: unknown. X-DEBUGINFOD-SIZE counts
				   when there is no Content-Length */
	bool ranges;		/* Accept-Ranges: bytes */
	int64_t range_start, range_total; /* Content-Range; -1: unknown. A 206 can hold another range than
					     the requested one */
	int64_t retry_after;	/* seconds from now; -1: unknown */
	int64_t date;		/* of the server's clock: seconds since 1970; -1: unknown */
	uint64_t began;		/* clock_ms() when net_get() was called */
	char type[80];		/* Content-Type; "": none */
	char etag[128], modified[64];
	char made[48];		/* X-Symfs-Synthesized: the maker, if another symfs made the file; "": none */
	char url[2048];		/* after redirects, without user:password */
};

/* net_errors. -ENOENT is not among them: `status` shows that a file is missing.
 * -EHOSTUNREACH	the name does not resolve, or there is no route
 * -ECONNREFUSED	no program listens
 * -ETIMEDOUT		no connection in connect_ms, or no byte for stall_ms
 * -ECONNRESET		the connection broke, before or during the answer
 * -EPROTO		the reply was not HTTP, or its header was too long; TLS failed
 * -EKEYREJECTED	the certificate was not accepted
 * -EPIPE		the body ended before its Content-Length
 * -EFBIG		more than `most`, or a Content-Encoding that expands too much
 * -ELOOP		too many redirects
 * -EPROTONOSUPPORT	a redirect to something that is not http(s)
 * -EPERM		a forbidden redirect: to an address (see address.h), or from https to http
 * -ECANCELED		a sink returned it (any negative value of a sink is passed on)
 * -ENOMEM, -EMFILE, -EIO	a problem of this machine, not of the server */

void net_req_release(struct net_req *r);

/* Writes "https://host:port" of a URL, in lower case, without a default port: the origin that headers and
 * breakers belong to. 0, -EINVAL. */
int net_origin(const char *url, char out[static NET_HOST_MAX]);
