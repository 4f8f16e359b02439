/* For the writer: stores each different text once, and gives it a number. A file is a text of two numbers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>
#include <stdint.h>
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

/* The hash of a text, for texts_add(). Callers compute it before they take their lock. */
uint64_t texts_hash(const void *p, size_t n);
/* Numbers a text of `n` bytes; "" has number 0. `hash`: its texts_hash(). 0, -ENOMEM, -EFBIG. */
int texts_add(struct texts *t, const void *p, size_t n, uint64_t hash, uint32_t *out);
/* Adds an empty text with a number of its own, which is not 0. 0, -ENOMEM, -EFBIG. */
int texts_add_empty(struct texts *t, uint32_t *out);
const char *texts_at(const struct texts *t, uint32_t i);
size_t texts_length(const struct texts *t, uint32_t i);
void texts_release(struct texts *t);

/* Frees the memory that only texts_add() needs. Do not call that afterwards. */
void texts_close(struct texts *t);

static inline struct pair texts_pair(const struct texts *files, uint32_t i)
{
	struct pair p = {0};

	if (i)
		memcpy(&p, texts_at(files, i), sizeof(p));
	return p;
}
