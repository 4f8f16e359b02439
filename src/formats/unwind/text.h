/* Writes rows of unwind rules as STACK CFI records: sorted by address, without overlaps, and only what changes from
 * a row to the next. What the records cannot say becomes a gap, in which a walker uses other means; never a wrong
 * rule. One thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/unwind/rules.h"

enum unwind_gap {
	UNWIND_GAP_CFA,	     /* the CFA is an expression that the records cannot say */
	UNWIND_GAP_REGISTER, /* the CFA or the return address is in a register without a name */
	UNWIND_GAP_RA,	     /* the return address has no rule, or an expression that the records cannot say */
	UNWIND_GAP_ROWS,     /* after the most rows of a function */
	UNWIND_GAP_BROKEN,   /* the table is damaged */
	UNWIND_GAP_UNKNOWN,  /* an instruction is unknown */
	UNWIND_GAP_OUTSIDE,  /* the function is not in a loaded segment of instructions */
	UNWIND_GAP_NONE,     /* the table says that it knows nothing of the function */
	UNWIND_GAPS
};

struct unwind_counts {
	uint64_t functions; /* entries of the tables */
	uint64_t doubled;   /* entries whose addresses another entry has; left out */
	uint64_t rows, said; /* rows of the tables, and rows that are in force in the text */
	uint64_t lost;	    /* rules of single registers that cannot be said; their rows are said without */
	uint64_t at_calls;  /* functions whose rules do not hold in epilogs: the table does not describe them */
	uint64_t gaps[UNWIND_GAPS];
};

/* A name for each reason: "cfa-expression" and so on. */
extern const char *const unwind_gap_names[UNWIND_GAPS];

/* Addresses of instructions: [start, end). */
struct unwind_range {
	uint64_t start, end;
};

struct unwind_text;

struct unwind_text_opts {
	const struct unwind_arch *arch;
	bool big;	/* the byte order of expressions */
	uint64_t base;	/* subtracted from addresses */
	const struct unwind_range *ranges; /* sorted; functions must begin in one, and are cut at its end */
	size_t n_ranges;
	/* Takes the next part of the text. 0, -errno: no more is written. */
	int (*pass)(void *ctx, const char *p, size_t n);
	void *ctx;
};

/* 0, -ENOMEM. */
int unwind_text_new(struct unwind_text **out, const struct unwind_text_opts *o);
void unwind_text_free(struct unwind_text *t);

/* The functions that begin from now on have the registers of `a`, which stays the caller's. */
void unwind_text_arch(struct unwind_text *t, const struct unwind_arch *a);
/* Begins the function [start, end). Functions come in order of address; what an earlier one has is left out. Returns
 * whether anything of the function can be written; else the caller passes none of its rows. */
bool unwind_begin(struct unwind_text *t, uint64_t start, uint64_t end);
/* A row in force at [from, to). Rows come in order of address. */
void unwind_row(struct unwind_text *t, uint64_t from, uint64_t to, const struct unwind_row *row);
/* From this address on, the function has no row. */
void unwind_gap(struct unwind_text *t, uint64_t from, enum unwind_gap why);
/* Ends the function. 0; -ENOMEM, -EFBIG, errors of pass(): the text is incomplete. */
int unwind_end(struct unwind_text *t);
/* Passes the rest of the text to pass(). Returns as unwind_end(). */
int unwind_text_flush(struct unwind_text *t);

struct unwind_counts *unwind_text_counts(struct unwind_text *t);
