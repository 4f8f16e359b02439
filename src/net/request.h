/* One request and one reply, as plain values. Known to source/, which plans the one and judges
 * the other, and does no transfer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define NET_HOST_MAX 280

/* Which requests go first when more wait for a host than it may get at once. */
enum net_rank {
	NET_WANTED, /* a reader waits for these bytes */
	NET_FIRST,  /* a caller waits to learn whether the file exists: before all bytes */
	NET_SPARE   /* read-ahead, for which no reader waits: after all others */
};

struct net_req {
	char *url;		/* percent-encoded; owned */
	char **headers;		/* "Name: value", NULL at the end; owned; sent to the origin of
				   `url` only, never to where a redirect leads elsewhere; but
				   Range and If-Range go there too */
	unsigned connect_ms;	/* 0: 5000 */
	unsigned stall_ms;	/* stall timeout: no byte for that long is -ETIMEDOUT; 0: 30000 */
	uint64_t most;		/* larger bodies are -EFBIG; 0: no bound */
	bool coded;		/* with a Range: the answer may have a Content-Encoding; then its size is
				   unknown, and it is a range of the encoded bytes */
	bool insecure;		/* do not verify TLS */

	/* The rest may be NULL or 0; owned. Credentials (user, cert, netrc) are sent to the origin of
	 * `url` only, as headers are. */
	char *user, *password;	/* in place of those in `url` */
	char *sigv4;		/* they sign the request: "aws:amz:REGION:s3" */
	char *cert, *key;	/* files */
	char *netrc;		/* a file */
	char *ca_file;		/* in place of the system's certificates */
	char *proxy;		/* URL; "none": no proxy; NULL: that of the environment */
	bool allow_private;	/* a redirect may lead to this machine or a private network, also when
				   the first host is not there */
	bool allow_http;	/* a redirect may lead from https to http */
	unsigned connections;	/* requests of one origin at once; 0: as the net has it. The same
				   for all requests of an origin, else the least counts */
	enum net_rank rank;
};

struct net_reply {
	int status;		/* of HTTP; 0: no answer, and `error` says why */
	int error;		/* 0, or a negative errno: see net_errors below */
	int http;		/* version: 10, 11, 20, 30; 0: no answer */
	char text[200];		/* the error in words, without credentials; "" */
	int64_t size;		/* of the decoded body; -1: unknown. X-DEBUGINFOD-SIZE counts
				   when there is no Content-Length */
	bool ranges;		/* Accept-Ranges: bytes */
	int64_t range_start, range_total; /* Content-Range; -1: unknown. What a 206 holds is
				   not always what was asked for */
	int64_t retry_after;	/* seconds from now; -1: unknown */
	char type[80];		/* Content-Type, "" */
	char etag[128], modified[64];
	char url[2048];		/* after redirects, without user:password */
};

/* net_errors: -ENOENT never (a status says that).
 * -EHOSTUNREACH	the name does not resolve, no route
 * -ECONNREFUSED	no program listens
 * -ETIMEDOUT		no connection in connect_ms, or no byte for stall_ms
 * -ECONNRESET		the connection broke, also before any answer
 * -EPROTO		what came was not HTTP, or had too long a header; TLS failed
 * -EKEYREJECTED	the certificate was not accepted
 * -EPIPE		the body ended before its Content-Length
 * -EFBIG		more than `most`, or a Content-Encoding that makes very much of little
 * -ELOOP		too many redirects
 * -EPROTONOSUPPORT	a redirect to something that is not http(s)
 * -EPERM		a redirect to where it may not lead: address.h, or from https to http
 * -ECANCELED		by a sink that returned it (any negative of a sink comes back as is)
 * -ENOMEM, -EMFILE, -EIO	this machine's trouble, not the server's */

void net_req_release(struct net_req *r);

/* "https://host:port" of a URL, lower case, default ports left out: the origin that headers and
 * breakers belong to. 0, -EINVAL. */
int net_origin(const char *url, char out[static NET_HOST_MAX]);
