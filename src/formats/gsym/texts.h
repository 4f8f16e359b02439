/* For the writer: stores each different text once, and gives it a number. A file is a text of two numbers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A hash table of numbers from 1; its owner knows the texts or pairs with these numbers. */
struct slot {
	uint32_t number; /* 0: a free slot */
	uint32_t hash;	 /* the low bits, so that texts with other hashes are not read */
};

struct slots {
	struct slot *slot;
	size_t room, n;
};

struct texts {
	struct slots slots;
	char *bytes;
	size_t n_bytes, bytes_room;
	uint32_t *at; /* where text i begins; text 0 is "" */
	size_t n, room;
};

/* The directory and the name of a file. */
struct pair {
	uint32_t dir, base;
};

/* Numbers a text of `n` bytes; "" has number 0. `hash`: of its bytes. 0, -ENOMEM, -EFBIG. */
int texts_add(struct texts *t, const void *p, size_t n, uint64_t hash, uint32_t *out);
/* Adds an empty text with a number of its own, which is not 0. 0, -ENOMEM, -EFBIG. */
int texts_add_empty(struct texts *t, uint32_t *out);
void texts_release(struct texts *t);

/* Frees the memory that only texts_add() needs. Do not call that afterwards. */
static inline void texts_close(struct texts *t)
{
	free(t->slots.slot);
	t->slots.slot = NULL;
}

static inline const char *texts_at(const struct texts *t, uint32_t i)
{
	return i ? t->bytes + t->at[i] : "";
}

/* Each text ends where the next one begins. */
static inline size_t texts_length(const struct texts *t, uint32_t i)
{
	if (!i)
		return 0;
	return (i + 1 < t->n ? t->at[i + 1] : t->n_bytes) - t->at[i] - 1;
}

static inline struct pair texts_pair(const struct texts *files, uint32_t i)
{
	struct pair p = {0};

	if (i)
		memcpy(&p, texts_at(files, i), sizeof(p));
	return p;
}
