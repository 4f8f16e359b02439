/* Declarations that the files of net/ share. All functions here run on the net thread. Other threads use
 * only the fields "under lock". */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "net/net.h"
#include "net/speed.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#define ORIGINS 64 /* origins that are remembered */

struct net_host {
	uint64_t origin; /* a hash; 0: a free slot */
	struct speed speed;
};

struct net_socket {
	int fd;
	uint64_t watched; /* bytes read at the first look of the watch at this round */
	unsigned flooded; /* its local port, if the watch has shut it down; else 0 */
};

struct net {
	/* net thread only */
	CURLM *multi;
	struct net_timer timers; /* a ring; the timer that is due next comes first */
	struct transfer *transfers; /* the newest first */
	unsigned waiting;	    /* how many transfers wait for a slot at an origin */
	unsigned host_usual; /* concurrent requests to one origin, unless a request says how many */
	long host_most;	     /* connections to one host that libcurl may open: never fewer than host_usual */
	uint64_t many[ORIGINS]; /* hashes of origins that speak HTTP/2: one connection takes many requests */
	uint64_t flooding[ORIGINS]; /* hashes of origins that flooded a connection: they get HTTP/1.1 */
	struct net_host hosts[ORIGINS];
	bool ending; /* the thread has seen `stopping` */

	/* any thread */
	_Atomic uint64_t rounds; /* the number of rounds of the loop so far */
	_Atomic uint64_t took;	 /* the bytes of heads and bodies so far, as libcurl gives them to transfers */

	pthread_mutex_t lock;
	pthread_cond_t called; /* a net_call() has run */
	pthread_cond_t watch;  /* `busy` or `ended` has changed */
	/* under lock */
	struct net_post *first, **last; /* calls to run */
	bool stopping;
	bool busy;  /* there are transfers; the net thread changes it, and reads it without the lock */
	bool ended; /* the net thread has ended */
	struct net_socket *sockets; /* of libcurl's connections; the net thread alone changes the list */
	unsigned n_sockets;
	uint64_t watched_round, watched_took; /* at the first look of the watch at this round */

	/* constant after net_start() */
	pthread_t thread, watcher;
	char *user_agent;
};

/* timer.c */
void timers_init(struct net *n);
void timers_run(struct net *n);	       /* runs the timers that are due */

/* socket.c: the sockets of libcurl's connections */
int socket_open(struct net *n, int family, int type, int protocol); /* a socket, or -1 with errno */
int socket_close(void *ctx, curl_socket_t fd);			    /* CURLOPT_CLOSESOCKETFUNCTION of a struct net */
void *watch_main(void *net); /* the watch's thread, until n->ended */
/* Whether the watch has ended the connection from this local port. */
bool sockets_flooded(struct net *n, unsigned port);
/* Acknowledges at once what came on the connection from this local port. Some servers (Ceph's gateway, unless its
 * option tcp_nodelay is set) write head and body separately under Nagle's algorithm. The body then waits for the
 * acknowledgement of the head, which Linux delays by 40 ms on a connection that is used again. */
void sockets_acknowledge(struct net *n, unsigned port);

/* transfer.c: what the loop in net.c calls */
void transfer_ended(struct transfer *t, CURLcode result);
void transfers_drop(struct net *n);
void transfers_stopped(struct net *n, uint64_t ms); /* the process was stopped for `ms`, which count for
						       no timeout */
void transfers_admit(struct net *n); /* starts the waiting transfers that now get a slot */

/* request.c: a parsed URL. `url` has no user:password and no fragment. */
struct target {
	char *url, *user, *password; /* owned; user and password may be NULL */
	char origin[NET_HOST_MAX];
};

/* Parses `ref`, resolved against `base` (NULL: `ref` is absolute). 0, -ENOMEM; -EINVAL: not a URL of http
 * or https. */
int target_of(struct target *out, const char *base, const char *ref);
void target_release(struct target *t);

/* How a server is reached: its certificates, and a proxy. 0, -ENOMEM. */
int easy_way(CURL *e, const struct net_req *req);
/* Takes credentials from the netrc file `path`; NULL: from none. A file that is not regular is left out, because
 * libcurl would wait for the writer of a FIFO, and all transfers of the thread with it. */
CURLcode easy_netrc(CURL *e, const char *path);
int slist_add(struct curl_slist **list, const char *line); /* copies the line. 0, -ENOMEM */
#if LIBCURL_VERSION_NUM < 0x080600
#define CURLE_TOO_LARGE ((CURLcode)100)
#endif
int error_of_curl(CURLcode code, long os_errno); /* 0, or a negative errno of net_errors (request.h) */
