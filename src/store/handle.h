/* Defines `struct store`, for src/store/ only. Locks are taken in the order write lock, index_lock,
 * pending.lock. A thread that holds flights.lock takes no other lock. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/flights.h"
#include "store/index/index.h"
#include "store/store.h"
#include "store/time.h"

#include <pthread.h>
#include <stdatomic.h>

struct flight_want {
	uint64_t number;
	unsigned count;
};

struct flights {
	pthread_mutex_t lock;
	int fd;
	struct flight_want *wants; /* flights that this process waits for; one file lock each, for all threads */
	size_t n, room;
};

/* The pending list: uses of artifacts, and missing files, that readers noticed. The list is kept in memory until the
 * next write session writes it to the index. */
#define PENDING_MOST 128

struct pending_item {
	int64_t object; /* the number of the artifact's row */
	char sha256[SHA256_TEXT];
	bool broken; /* true: the file is gone or has another size; false: the file was used */
};

struct pending {
	pthread_mutex_t lock;
	struct pending_item list[PENDING_MOST]; /* under lock, as are the next fields */
	unsigned n;
	uint64_t oldest; /* clock_ms() when the first item was added */
};

/* The sparse files that this process fills. `opening` is taken before the write lock, `lock` after it. */
struct sparses {
	pthread_mutex_t opening; /* one thread opens a sparse file at a time */
	pthread_mutex_t lock;
	struct sparse *first; /* a list; under lock */
};

struct store {
	/* fixed once open */
	char *dir;
	/* The open directory; flock(2) on it is the write lock between processes. When the directory is
	 * replaced, the new directory gets the same descriptor number. */
	int dirfd;
	char id[17];
	uint64_t quota, min_free;

	char boot[40]; /* the boot's id; "": unknown */
	pthread_mutex_t time_lock; /* taken alone */
	struct store_time time;	   /* under time_lock: as the last writer of this process left it in the index */

	pthread_mutex_t write_lock; /* between threads of this process; taken before the flock(2) */
	atomic_uint_fast64_t hurry; /* clock_ms() at which threads stop waiting for the write lock; 0: no such time */

	pthread_mutex_t index_lock;
	struct index *index; /* under index_lock; replaced only with the write lock */
	atomic_uint_fast64_t looked; /* clock_ms(): when a reader last asked whether the index is at its place */
	atomic_uint_fast64_t held_until; /* clock_ms(): until then a download may have an evicted file open */
	atomic_bool broken; /* it was logged that the directory was removed and cannot be made again */
	atomic_bool lost; /* files were removed, but the disk had no room to drop their rows: a sweep is due */

	struct {
		pthread_mutex_t lock; /* taken alone */
		store_arrived *arrived;
		void *ctx;
	} watch;

	struct pending pending;
	struct flights flights;
	struct sparses sparses;
};

int flights_init(struct store *s, struct err *e);
int flights_reopen(struct store *s, int dirfd, struct err *e); /* opens the file again, in the directory
								  that replaced the old one */

void store_canon(struct store *s, const struct key *k, char canon[static KEY_TEXT]); /* the text of store_key(k) */
/* Finds the index row of store_key(k). 0, -ENOENT. */
int store_hit(struct store *s, const struct key *k, struct index_hit *out);
struct worth store_worth(struct store *s, const struct index_hit *h); /* the worth of the file; may read the
									 file */

#define DRAFT_HEAD "draft-" /* 16 hex digits follow */
int draft_lock(int fd); /* the lock of a draft's writer. 0, -errno */
void drafts_clean(int dirfd, const char *path); /* removes the drafts of dead processes; `path`: for the log */
int drafts_count(int dirfd, uint64_t *out);	/* 0, -errno */
/* Makes a draft of the full sparse file sparse/NAME. If the draft is discarded, the sparse file stays.
 * Duplicates the descriptor. 0, -errno. */
int draft_of_sparse(struct draft **out, struct store *s, int fd, const char *name);
/* Makes a draft read-only, syncs it, and computes its digest and size. 0, -errno. */
int draft_seal(struct draft *d, char sha256[static SHA256_TEXT], uint64_t *size);
/* Renames a sealed draft to its place among the blobs, over any file there. Does nothing if the draft is
 * there already. 0, -errno. */
int draft_place(struct draft *d, const char *sha256);
/* Copies a draft into a new file if the store's directory was removed or replaced: the old file can still be read.
 * -ENOENT: the draft is in its place, or is a sparse file. (waits) */
int draft_copy_anew(struct draft *d);
/* Moves a placed draft back, so that it can be placed again. */
void draft_take_back(struct draft *d, const char *sha256);

/* Removes index rows of sparse files that are gone, and sparse files that no row names and no process has
 * open. */
void sparses_clean(struct store *s);
