/* Shared by the files of `symfs push`: cmd-push.c reads options, push-files.c finds and hashes files, push-send.c
 * sends them. One thread; push-send.c starts further ones, which only send chunks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "cmd/progress.h"
#include "intake/upload/sentry.h"
#include "net/send.h"

#include <stdatomic.h>
#include <stdbool.h>

#define PUSH_BATCH 256u /* files of one request to assemble */
#define PUSH_THREADS 8u /* that send chunks */

enum push_result { PUSH_WAITS, PUSH_ADDED, PUSH_PRESENT, PUSH_REFUSED };

/* A local file. It is opened only while its bytes are needed. */
struct push_file {
	char *path;
	uint64_t size;
	struct sha1 sha1;
	struct sha1 *chunks;
	uint32_t n_chunks;
	bool named; /* the command line names it */
	enum push_result result;
	uint64_t to_send;		  /* bytes of its chunks that the server lacks */
	atomic_uint_fast64_t sent, began; /* of these bytes; clock_ms() of the first of them, 0 before */
};

struct push {
	/* the command line */
	const char *query; /* of the requests to assemble: "?class=try", or "" */
	bool verbose;
	char *base;	 /* URL of the server, without a slash at its end */
	struct buf where; /* `base` without credentials, for messages */
	struct net_req way; /* of the configured source at `base`; zeroed: there is none */
	char *unix_path; /* of the server's socket; NULL: none */
	char *header;	 /* "Authorization: Bearer ..."; NULL: no token */
	/* the server */
	struct sentry_options server;
	/* the files */
	struct push_file *files;
	size_t n_files, room;
	uint64_t skipped; /* files in directories that are no debug files */
	uint64_t added, present, refused;
	int status; /* the exit status so far */
	/* progress */
	struct progress progress;
	uint64_t shown; /* clock_ms() of the last drawing */
	atomic_uint_fast64_t sent; /* bytes of chunks, before compression */
	uint64_t to_send;
	atomic_bool stop, waits; /* the user has interrupted the command; a message says for what it waits */
};

/* ---- push-files.c ---- */

void push_show(struct push *p, const char *what); /* draws progress, at most every 200 ms */
/* Prints why a file was not pushed, and counts it. */
void push_refuse(struct push *p, const struct push_file *f, const char *why);
/* Prints a message once, and sets the exit status. Returns -1. */
int push_fail(struct push *p, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Adds the files that a word of the command line names: the file, or the debug files in the directory. 0; -1: the
 * command must end (out of memory). */
int push_find(struct push *p, const char *word);
/* Reads the files [from, to), and computes the digests of their chunks of p->server.chunk bytes. A file that cannot
 * be read is refused. 0; -1. */
int push_hash(struct push *p, size_t from, size_t to);

/* ---- push-send.c ---- */

/* Asks the server for its limits. 0; -1: the command must end. */
int push_ask(struct push *p);
/* Pushes the files [from, to), at most PUSH_BATCH, and sets their results. 0; -1. */
int push_batch(struct push *p, size_t from, size_t to);
