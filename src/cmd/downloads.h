/* The downloads of a command line: whole files, several at once, with a progress line for each. Only the
 * thread that calls downloads_run() may use these functions. Threads of fetch/ deliver answers under `lock`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "cmd/progress.h"
#include "derive/derive.h"
#include "fetch/fetch.h"

#include <pthread.h>

#define DOWNLOADS_MOST 500000u

/* One file to fetch: the first of the candidates that exists. */
struct download {
	void *of;     /* for the caller's own use */
	bool begun;   /* the file was requested; false: the command was interrupted before the request */
	/* the answer: these members mean the same as in struct fetched */
	int r;
	bool unnamed;
	struct key key;
	uint64_t size;
	struct blob *blob; /* valid until `over` returns; NULL: there is no file */
	char why[240];
	unsigned n;
	/* private */
	struct downloads *all;
	struct ticket *ticket;
	struct making *making; /* under lock; of a Breakpad file that no source has, or of GSYM */
	bool done;	   /* under lock */
	struct artifact cands[]; /* the candidates; the caller may read them */
};

struct downloads {
	/* set by the caller */
	struct fetch *fetch;
	bool total;	     /* the progress ends with a line for all downloads together */
	bool gsym;	     /* the answer is not the file, but the GSYM that is made of it */
	/* the caller may read these */
	struct download **list;
	unsigned n;
	/* private */
	size_t room; /* entries allocated for `list` */
	unsigned begun, told; /* downloads that began; downloads for which `over` was called */
	struct derive *derive; /* NULL: nothing is made */
	struct progress progress;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under lock */
	unsigned running, over;
	uint64_t bytes;
};

void downloads_init(struct downloads *d, struct fetch *f);

/* Adds a download at the end of the list. 0; -E2BIG: more than DOWNLOADS_MOST; -ENOMEM. */
int downloads_add(struct downloads *d, const struct artifact *cands, unsigned n, void *of);

/* Fetches all files, 16 at once, and calls `over` for each, in the order of downloads_add(). Handles SIGINT and
 * SIGTERM meanwhile. True: a signal ended the downloads, and `over` was also called for files that were not
 * requested. */
bool downloads_run(struct downloads *d, void (*over)(void *ctx, struct download *one), void *ctx);

/* Frees the downloads. Call it after app_close(), when no answer can come any more. */
void downloads_release(struct downloads *d);
