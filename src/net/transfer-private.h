/* One transfer, shared by the files of net/. transfer.c runs it, and queue.c orders it among the other
 * transfers of its host. peer.c judges which addresses it may reach. answer.c reads the answer, and
 * easy.c sets libcurl's options. (net) */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "net/address.h"
#include "net/net-private.h"

/* The head of one answer. */
struct head {
	size_t bytes; /* of all lines so far */
	int64_t length, debuginfod_size; /* -1: unknown */
	bool encoded, chunked;
	char *location; /* owned */
};

struct transfer {
	struct net *net;
	struct transfer *prev, *next;
	CURL *easy;
	bool added; /* the easy handle was added to the multi */
	struct net_sink sink;
	void *ctx;

	/* the request */
	struct target first; /* the URL of the request; its origin gets the headers, the user and the
				password */
	struct curl_slist *headers;
	struct curl_slist *elsewhere; /* headers that may go to other origins */
	unsigned connect_ms, stall_ms;
	uint64_t most;
	unsigned connections;
	char *proxy;	    /* as in the request */
	bool allow_private; /* redirects may lead to private addresses */
	bool allow_http;    /* redirects may lead from https to http */
	struct net_req proof; /* credentials: only sigv4, cert, key, netrc are set */

	const char *method; /* NULL: GET */
	uint64_t body_size, body_sent;
	ssize_t (*body)(void *ctx, uint64_t off, void *p, size_t n);
	void *body_ctx;

	/* this hop */
	char *url;
	char origin[NET_HOST_MAX];
	bool waiting;  /* the transfer waits for a slot at the origin */
	bool waited;   /* the transfer waited for the slot that it has now */
	bool promised; /* a running transfer was asked to yield its slot to this transfer */
	enum net_rank rank;
	uint64_t slot_since; /* clock_ms(): when the transfer got its slot, or began to wait for a slot */
	bool proxied; /* the settings name a proxy; an exception (no_proxy) may apply */
	const char *refused; /* why the last judged address is forbidden to a redirect; NULL: it is allowed */
	unsigned hops;
	struct address source; /* address of the first hop's server */
	bool source_known;
	struct address first_peer; /* of the first hop's connection: the address of the server or of its proxy */
	unsigned first_port;	   /* 0: not connected yet */
	unsigned local_port;	   /* of this hop's connection */
	bool strayed; /* a redirect led to a public host: the source's address no longer decides where
			 later redirects may lead */
	struct head head;
	bool head_over;	  /* all header lines of the answer have come */
	uint64_t skipped; /* bytes of an unwanted body */

	struct net_timer clock; /* the connect timeout, then the stall timeout */
	struct net_timer later; /* runs transfer_settle() */
	uint64_t began, heard;	/* clock_ms() at net_get(), and at the last byte received or sent */
	uint64_t received; /* bytes of the decoded body that the sink took */
	bool wanted;	/* the body goes to the sink */
	bool paused;	/* by the sink: body() is not called until transfer_resume() */
	bool held;	/* libcurl keeps bytes until curl_easy_pause() */
	bool cancelled;
	struct speed *flows; /* the speed of the first origin, while bytes of the body come; else NULL */
	uint64_t flows_round; /* the round of the net loop in which the first bytes of the body came */
	double hops_us;	     /* how long the redirects took, in microseconds */

	struct net_reply reply;
	char words[CURL_ERROR_SIZE]; /* libcurl's error text */
};

/* queue.c: the speeds of hosts */
void host_answered(struct transfer *t, bool over); /* an answer came; `over`: it is not a redirect */
void host_came(struct transfer *t, size_t n);	   /* n bytes of the body were taken */
void host_rests(struct transfer *t);		   /* no more bytes come for now, or ever */

/* answer.c: the head of one answer */
void head_begin(struct head *h, struct net_reply *r);
void head_release(struct head *h);

/* answer.c: handles what the server sends, for libcurl's callbacks, and writes the texts of errors. */
int transfer_fail(struct transfer *t, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))); /* returns `error` */
size_t answer_header(struct transfer *t, const char *p, size_t n); /* returns the bytes taken; another
								      number than n: failed */
/* libcurl's CURLOPT_WRITEFUNCTION; `t` is a transfer. Returns as answer_header(), or CURL_WRITEFUNC_PAUSE. */
size_t answer_body(char *p, size_t size, size_t n, void *t);
bool answer_is_redirect(const struct transfer *t);
void answer_curl_failed(struct transfer *t, CURLcode result); /* puts libcurl's error into the reply */

/* easy.c: libcurl's options */
int easy_open(struct transfer *t, const struct net_req *req); /* 0, -EINVAL, -ENOMEM */
/* Sets the version of HTTP, the headers and the credentials of a hop. `home`: the hop is at the origin of the
 * request; other hops get no credentials. */
CURLcode easy_set_hop(struct transfer *t, bool home);

/* peer.c: which addresses a transfer may reach. A function that returns false says in t->refused why not. */
bool peer_is_home(const struct transfer *t);	     /* this hop is at the origin of the request */
const char *peer_proxy(const struct transfer *t);    /* the proxy for this hop, by the settings; NULL: none */
bool peer_may_begin(struct transfer *t); /* this hop; judges an origin that is an address */
bool peer_may_connect(struct transfer *t, const struct sockaddr *to);
bool peer_connected(struct transfer *t, const char *ip, unsigned port); /* records the peer, too */

/* queue.c: the order of transfers of one origin */
bool queue_may_start(const struct transfer *t);
void queue_wait(struct transfer *t);
struct transfer *queue_next(struct net *n); /* the next transfer that may start; NULL: none */
void queue_leave(struct transfer *t);	    /* the transfer starts or ends; allowed even if it does not wait */
void queue_note_flood(struct transfer *t);	    /* its origin has flooded the connection */
bool queue_has_flooded(const struct transfer *t);
void queue_note_http2(struct transfer *t);  /* its origin speaks HTTP/2 and needs no limit of
					       connections */
