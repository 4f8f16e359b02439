/* Helpers of the files that read a request: access to its JSON tokens, lists that grow, and errors. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/hash.h"
#include "symb/private.h"

struct reading {
	struct request *q;
	const struct jtext *j;
	const struct symb_limits *limits;
	unsigned job;
	struct err *e;
};

static inline enum jkind kind_of(const struct reading *r, uint32_t token)
{
	return r->j->token[token].kind;
}

static inline uint32_t next_of(const struct reading *r, uint32_t token)
{
	return r->j->token[token].next;
}

static inline uint32_t count_of(const struct reading *r, uint32_t token)
{
	return r->j->token[token].n;
}

static inline bool is_hex(char c)
{
	return hex_value(c) >= 0;
}

/* Both write r->e and return the HTTP status. */
int reading_no_memory(struct reading *r);
int reading_too_many(struct reading *r, const char *what, unsigned most);

/* Makes room for n + 1 members of `size` bytes in a list. 0, -ENOMEM. */
int reading_grow(void *list, size_t *room, size_t n, size_t size);

/* Copies a string member of an object: at most `room` bytes with its NUL; "" if the member is missing.
 * False: the member is not a string, or is too long. */
bool reading_text(struct reading *r, uint32_t object, const char *name, char *out, size_t room);

/* Reads a member that is a string such as "0x1f", or a JSON number. False: the member is missing or invalid. */
bool reading_hex(struct reading *r, uint32_t object, const char *name, uint64_t *out);

/* Reads a member of a job into the request. 0, or the HTTP status of the refusal, with its title in
 * r->e. */
int request_stacks(struct reading *r, uint32_t token, struct asked_job *job);
