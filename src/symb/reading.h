/* Helpers of the files that read a request: access to its JSON tokens, and errors. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/hash.h"
#include "base/jtext.h"
#include "symb/form.h"
#include "symb/private.h"

struct reading {
	struct symb_request *q;
	const struct jtext *j;
	unsigned job;
};

static inline const struct symb_limits *limits_of(const struct reading *r)
{
	return &r->q->symb->limits;
}

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

/* 0, or the HTTP status of the error that adding something to the request had. */
int reading_status(const struct reading *r);

/* Copies a string member of an object: at most `room` bytes with its NUL; "" if the member is missing.
 * False: the member is not a string, or is too long. */
bool reading_text(struct reading *r, uint32_t object, const char *name, char *out, size_t room);

/* Reads a member that is a string such as "0x1f", or a JSON number. False: the member is missing or invalid. */
bool reading_hex(struct reading *r, uint32_t object, const char *name, uint64_t *out);

/* form-stacks.c: reads the stacks of a job into the request. 0, or the HTTP status of the refusal, with its title in
 * r->q->e. */
int reading_stacks(struct reading *r, uint32_t token);
