/* Evaluates the postfix expressions of STACK records in Breakpad files: registers, decimal numbers, + - * / % @, ^ to
 * read memory, and = to assign. The work is bounded by the length of the text. One thread at a time. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVAL_VARIABLES 64
#define EVAL_NAME 20	   /* bytes of a name; longer names are unknown */
#define EVAL_TEXT_MOST 8192 /* bytes of an expression; a longer one fails */

struct eval {
	bool narrow; /* values and memory words have 32 bits */
	/* Reads a word of memory. */
	bool (*read)(void *ctx, uint64_t at, uint64_t *out);
	void *ctx;
	struct eval_variable {
		char name[EVAL_NAME];
		uint64_t value;
		bool assigned; /* by the expression */
	} var[EVAL_VARIABLES];
	unsigned n;
};

/* Sets a variable. False: too many, or the name is too long. */
bool eval_set(struct eval *v, const char *name, uint64_t value);
bool eval_get(const struct eval *v, const char *name, uint64_t *out); /* false: there is no such variable */
bool eval_assigned(const struct eval *v, const char *name);	      /* whether eval_program() assigned it */

/* The one value of an expression of n bytes. False: it has no value, or it reads memory that is missing. */
bool eval_value(struct eval *v, const char *p, size_t n, uint64_t *out);
/* Runs a program of assignments. False: it is malformed, or reads memory that is missing. */
bool eval_program(struct eval *v, const char *p, size_t n);
