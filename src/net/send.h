/* Requests that send a body, in the calling thread, for commands: small bodies from memory, and forms
 * (multipart/form-data) whose parts are read while they are sent. A sender keeps its connection between
 * requests. It belongs to one thread at a time. Redirects are not followed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "net/request.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sender;

struct send_opts {
	const char *user_agent;
	const char *unix_path; /* connect to this socket; NULL: to the host of the URL */
	char *const *headers;  /* "Name: value" of every request, NULL at the end; may be NULL */
	const struct net_req *way; /* how the server is reached: certificates, netrc, proxy; NULL: by default */
	unsigned connect_ms;   /* 0: 4000 */
	unsigned stall_ms;     /* less than a byte a second for that long is -ETIMEDOUT; 0: 60000 */
	const atomic_bool *stop; /* becomes true: requests end with -EINTR. May be NULL */
};

/* Copies what `o` points to, except `stop`. Make the first sender before the command starts threads. 0, -ENOMEM. */
int sender_new(struct sender **out, const struct send_opts *o);
void sender_free(struct sender *s); /* NULL is fine */

/* A part of a form, which has a file name. */
struct send_part {
	const char *name, *file_name;
	/* Writes the next bytes to p, at most n. Returns their number; 0: the end; -errno. */
	ssize_t (*read)(void *ctx, void *p, size_t n);
	int (*rewind)(void *ctx); /* the next bytes are the first ones; each request begins with it: 0, -ENOMEM */
	void *ctx;
};

struct send_req {
	const char *url;
	const char *type; /* Content-Type of `body` */
	const void *body; /* NULL: a form with `parts`; without parts: a GET */
	size_t body_n;
	const struct send_part *parts;
	unsigned n_parts;
};

/* The answer. Release `body`; set its limit (BUF_UP_TO) before the request. */
struct send_reply {
	int status;	     /* of HTTP; 0: no answer */
	char text[200];	     /* the error in words; "": none */
	int64_t retry_after; /* seconds from now; -1: not stated */
	char location[512];  /* where a redirect leads, without its query; "": no redirect */
	struct buf body;
};

/* 0: an answer came, with any status. -EINTR: stopped. Others: net_errors of request.h, -EFBIG for a body past
 * its limit, the error of a part's read(). */
int sender_do(struct sender *s, const struct send_req *q, struct send_reply *out);
