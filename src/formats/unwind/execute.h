/* Executes call frame instructions (DWARF 2 to 5, and GNU's), and passes their rows to the writer of text. The bytes
 * are hostile. Each executor serves one thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/unwind/text.h"

/* Rows of a function that are written; the function has a gap from there on. */
#define UNWIND_ROWS_MOST 4096

/* How DW_CFA_set_loc has its address: an encoding of .eh_frame (DW_EH_PE_*), or the following. */
enum { UNWIND_POINTER_ADDRESS = 0, UNWIND_POINTER_UNKNOWN = 0xff };

/* A function of .eh_frame or .debug_frame. The table owns the bytes. */
struct unwind_code {
	uint64_t start, end;	 /* addresses; nothing is written from `end` on */
	uint64_t unit;		 /* in which the instructions count addresses, in bytes */
	int64_t data_unit;	 /* in which they count offsets, in bytes */
	unsigned ra_column;	 /* the column of the return address */
	struct span first, more; /* the instructions of its CIE, and its own */
	uint64_t more_at;	 /* the address of `more`, for addresses that are relative to themselves */
	uint8_t pointer;
};

struct unwind_executor;

struct unwind_executor_opts {
	bool big;
	unsigned address_bytes; /* 1 to 8 */
};

/* 0, -ENOMEM. */
int unwind_executor_new(struct unwind_executor **out, const struct unwind_executor_opts *o);
void unwind_executor_free(struct unwind_executor *x);

/* Passes the rows of a function to `to`, for which unwind_begin() has returned true. `a` has the names of registers;
 * rules of further registers are left out. Where an instruction is unknown or broken, a gap begins. */
void unwind_execute(struct unwind_executor *x, const struct unwind_arch *a, const struct unwind_code *c,
	struct unwind_text *to);

/* The encoding of addresses in the instructions of a CIE of .eh_frame, from its augmentation: the text, and the data
 * behind it. UNWIND_POINTER_UNKNOWN: the augmentation has a letter that is not known, or is cut short. */
uint8_t unwind_pointer(const char *augmentation, struct span data, unsigned address_bytes);
