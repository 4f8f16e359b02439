/* For the writer: stores each different text and pair of numbers once, and gives it a number. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>
#include <stdint.h>

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

struct pair {
	uint32_t dir, base;
};

struct pairs {
	struct slots slots;
	struct pair *at; /* pair 0 is (0, 0) */
	size_t n, room;
};

/* The hash of a text, for texts_add(). Callers compute it before they take their lock. */
uint64_t texts_hash(const char *p, size_t n);
/* Numbers a text of `n` bytes without a NUL; "" has number 0. `hash`: its texts_hash(). 0, -ENOMEM, -EFBIG. */
int texts_add(struct texts *t, const char *p, size_t n, uint64_t hash, uint32_t *out);
/* Adds an empty text with a number of its own, which is not 0. 0, -ENOMEM, -EFBIG. */
int texts_add_empty(struct texts *t, uint32_t *out);
const char *texts_at(const struct texts *t, uint32_t i);
size_t texts_length(const struct texts *t, uint32_t i);
void texts_release(struct texts *t);

int pairs_add(struct pairs *t, struct pair p, uint32_t *out);
void pairs_release(struct pairs *t);

/* Frees the memory that only texts_add() and pairs_add() need. Do not call these afterwards. */
void texts_close(struct texts *t, struct pairs *p);
