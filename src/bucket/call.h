/* Signed requests to the store of a team's bucket, which wait for the answer. For src/bucket/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "net/net.h"
#include "source/sources.h"

#include <pthread.h>
#include <stdatomic.h>

/* Several threads may call at once. The thread of `net` reads the bodies from the disk, so it should have no other
 * work. */
struct caller {
	struct net *net;
	pthread_rwlock_t lock;
	struct sources *sources; /* under lock: the set that `source` belongs to */
	const struct source *source; /* under lock */
	atomic_bool *stop; /* ends all calls with -EINTR */
	atomic_uint_fast64_t requests;
	atomic_int_fast64_t ahead; /* seconds by which the store's clock is ahead, as of the last answer */
	char self[600]; /* names this server and its store */
};

struct call {
	const char *method;
	const char *name;  /* of the object, below the prefix; NULL: the bucket itself */
	const char *query; /* encoded, its names in order; NULL: none */
	const char *header; /* another header; NULL: none */
	const void *text;  /* the body, `size` bytes; NULL: none, or the file `fd` */
	int fd;		   /* with `digest` */
	uint64_t size;
	const char *digest; /* SHA-256 of the body; NULL: there is no body, or it is `text` */
	int (*sink)(void *ctx, uint64_t off, const void *p, size_t n); /* gets the body in place of `answer`; (net) */
	void *sink_ctx;
	uint64_t most;	   /* bytes that `sink` gets at most; 0: no limit */
	unsigned wait_ms;  /* timeouts in place of the usual ones; 0: the usual ones */
	struct buf *answer; /* gets the body of the answer; NULL: it is not wanted */
	struct net_reply reply; /* result */
};

/* Sends the request and waits. 0: the status is 2xx.
 * -ENOENT	404 to GET, HEAD, DELETE, a copy and a PUT with If-Match: there is no such object, or no such bucket
 * (call_bucket()) -ENXIO	404 to a write or to a listing: the store does not have the bucket
 * -EEXIST	412: the condition does not hold
 * -EAGAIN	409: another request for the object runs; try again soon
 * -EACCES	401, 403, or there are no credentials
 * -EREMOTEIO	408, 429, 5xx
 * -EINVAL	any other status: the same request will never succeed
 * -EINTR	*stop was set
 * Others are the errors of a transfer (net/request.h). */
int call_run(struct caller *c, struct call *call);
/* As call_run(). A store that refuses an If-Match although the object has this ETag gets the ETag once more, without
 * quotes. */
int call_put_text(struct caller *c, const char *name, const struct buf *text, const char *header);
int call_delete(struct caller *c, const char *name); /* as call_run(); 0 also if there is no such object */
/* Gets a small object. As call_run(); -EFBIG: longer than out->most. */
int call_get(struct caller *c, const char *name, struct buf *out);
/* As call_get(), but -ENOENT says for sure that the bucket is there, and does not have the object: after a 404 the
 * bucket is looked for, and then the object once more. */
int call_get_sure(struct caller *c, const char *name, struct buf *out);

const char *call_text(int code); /* err_text(), or what the error means here */
