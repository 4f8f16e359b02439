/* What a `struct store` is made of, for this folder only. Locks are taken in the order write lock,
 * index, pending; those of flights and drafts stand alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/flights.h"
#include "store/index/index.h"
#include "store/pending.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

struct flight_want {
	uint64_t number;
	unsigned count;
};

struct flights {
	pthread_mutex_t lock;
	int fd;
	struct flight_want *wants; /* of this process: one lock stands for all of them */
	unsigned n, room;
};

/* The files with holes that this process fills. `opening` is taken before the write lock, `lock` after it. */
struct sparses {
	pthread_mutex_t opening; /* one at a time */
	pthread_mutex_t lock;
	struct sparse *first; /* under lock */
};

struct store {
	/* fixed once open */
	char *dir;
	int dirfd; /* flock(2): the write lock between processes. The number stays when the directory is replaced */
	char id[17];
	uint64_t quota, min_free;

	pthread_mutex_t write_lock; /* between threads of this process; taken before the flock(2) */
	atomic_uint_fast64_t hurry; /* clock_ms() at which threads stop waiting for the write lock; 0: no such time */

	pthread_mutex_t index_lock;
	struct index *index; /* under index_lock; replaced only with the write lock */
	atomic_uint_fast64_t looked; /* clock_ms(): when a reader last asked whether the index is at its place */
	atomic_uint_fast64_t held_until; /* clock_ms(): until then a download may hold a file that was evicted */
	atomic_bool broken; /* the directory was removed and cannot be made anew: that was logged */
	atomic_bool lost; /* files were removed, and the disk had no room to write that down: sweep the rows */

	struct pending pending;
	struct flights flights;
	struct sparses sparses;
};

int flights_init(struct store *s, struct err *e);
int flights_reopen(struct store *s, int dirfd, struct err *e); /* in another directory, under the same number */
void flights_release(struct store *s);

/* The index's row of a key, or of the key by id and name where there is such a file. 0, -ENOENT. */
int store_hit(struct store *s, const struct key *k, struct index_hit *out);

/* A draft that is a full file with holes: NAME of sparse/. Where it is not published it stays what it
 * was. Duplicates the descriptor. */
int draft_of_sparse(struct draft **out, struct store *s, int fd, const char *name);
/* Makes the bytes of a draft final: read-only, synced, and their digest is known. */
int draft_seal(struct draft *d, char sha256[static SHA256_TEXT], uint64_t *size);
/* Moves a sealed draft to its place among the blobs, over whatever lies there; once. */
int draft_place(struct draft *d, const char *sha256);
/* Whether its file is not in the store's directory any more, because that was removed or replaced. */
bool draft_is_lost(const struct draft *d);
/* Copies it into a new file: what was removed with the directory can still be read. (waits) -ENOENT: it is a
 * file with holes. */
int draft_copy_anew(struct draft *d);
/* Takes a placed one back, so that it can be placed again. */
void draft_take_back(struct draft *d, const char *sha256);

void sparses_init(struct store *s);
void sparses_release(struct store *s);
/* Removes rows without their file, and files that no row names and no process has open. */
void sparses_clean(struct store *s);
