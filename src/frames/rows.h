/* The entries of call frame information, listed by libdwarf; unwind/execute.h executes them. abi.c has both
 * forms of its interface: that of 20210528 (Debian 12), and that of 0.8 and later (Debian 13); configure chooses.
 * One thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "unwind/execute.h"

enum rows_table { ROWS_EH, ROWS_DEBUG, ROWS_TABLES }; /* .eh_frame, .debug_frame */

/* The sections of a file. The caller keeps the bytes until rows_close(). */
struct rows_file {
	struct {
		struct span bytes; /* n is 0: the file has no such section */
		uint64_t addr;
	} tables[ROWS_TABLES];
	bool big;
	unsigned address_bytes;
};

struct rows;

struct rows_fde {
	uint64_t start, size;
	struct unwind_code code; /* its `end` is not set */
};
