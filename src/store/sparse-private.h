/* Defines `struct sparse`, a sparse file in memory, for sparse*.c only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/sparse-file.h"
#include "store/sparse.h"

#include <stdatomic.h>

#define WORD 64      /* bits of a word of a bitmap */
#define STRIPES 16   /* blocks that can be written at the same time */
#define RUNS_MOST 8  /* pieces that are remembered of an incomplete block */

struct partial {
	uint64_t block;
	unsigned n;
	struct {
		uint32_t from, to;
	} runs[RUNS_MOST]; /* of bytes that are written; ascending, with gaps between them */
};

struct stripe {
	pthread_mutex_t lock; /* held while a block is written, so that no writer changes a block that
				 is already present */
	struct partial *list; /* incomplete blocks */
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
	struct sparse *next; /* in the store's list; under sparses.lock */
	bool listed;	     /* under sparses.lock */

	/* Bitmap of the present blocks. A bit is set, with release, after the bytes of its block were
	 * written. */
	_Atomic uint64_t *here;
	atomic_uint_fast64_t present; /* bytes of the present blocks */
	/* `dirty`: bytes that are not committed. `dirty_since`: clock_ms() of the first of them; 0: there are
	 * none. `looked`: bytes written since the free space was checked. */
	atomic_uint_fast64_t dirty, dirty_since, looked;
	atomic_bool stale; /* sparse_is_stale() */
	atomic_bool lost; /* the disk could not sync the written bytes; then the file is stale, too */
	struct stripe stripes[STRIPES];

	pthread_mutex_t committing;
	/* under `committing` */
	uint64_t *saved; /* bitmap of the committed blocks */
	uint64_t saved_bytes;
	bool finished; /* published as a blob */
};

void sparse_unlist(struct sparse *f); /* takes the file off the list, so that later openers do not get it */
uint32_t sparse_block_size(const struct sparse *f, uint64_t block);
void sparse_row_of(const struct sparse *f, struct store_sparse_row *row);
