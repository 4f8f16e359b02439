/* What a file with holes is made of, for sparse*.c only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/sparse-file.h"
#include "store/sparse.h"

#include <stdatomic.h>

#define WORD 64
#define STRIPES 16   /* blocks that can be written at the same time */
#define RUNS_MOST 8  /* pieces of a block that is not whole yet */

struct partial {
	uint64_t block;
	unsigned n;
	struct {
		uint32_t from, to;
	} runs[RUNS_MOST]; /* in order, not touching */
};

struct stripe {
	pthread_mutex_t lock; /* also while a block is written: one that is here never changes */
	struct partial *list;
	unsigned n, room;
};

struct sparse {
	/* fixed once open */
	struct store *s;
	int fd;
	bool writer;
	char name[SPARSE_NAME];
	struct key key;
	struct sparse_validator validator;
	char *url;
	uint64_t blocks, words;

	atomic_uint refs;
	struct sparse *next; /* under the store's sparses.lock, as is: */
	bool listed;

	_Atomic uint64_t *here; /* set with release after the bytes were written */
	atomic_uint_fast64_t present;
	atomic_uint_fast64_t dirty, dirty_since, looked;
	atomic_bool stale;
	atomic_bool lost; /* what was written could not be synced; then it is stale, too */
	struct stripe stripes[STRIPES];

	pthread_mutex_t committing;
	uint64_t *saved; /* under committing, as are: */
	uint64_t saved_bytes;
	bool finished;
};

int sparse_new(struct sparse **out, struct store *s, const struct key *k,
	const struct sparse_validator *v, const char *url, bool writer);
void sparse_free(struct sparse *f);
void sparse_unlist(struct sparse *f); /* another opener does not get it any more */
uint32_t sparse_block_size(const struct sparse *f, uint64_t block);
void sparse_row_of(const struct sparse *f, struct store_sparse_row *row);
/* All of these bytes of the file: 0, -EIO. */
int sparse_read_raw(int fd, uint64_t off, void *p, size_t n);
