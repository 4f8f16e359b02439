/* The tables of a file, as its format's reader finds them, and what is done with them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "formats/unwind/entries.h"
#include "formats/unwind/execute.h"
#include "formats/unwind/text.h"

/* The entries of call frame information, listed by libdwarf; formats/unwind/execute.h executes them. abi.c has both
 * forms of its interface: that of 20210528 (Debian 12), and that of 0.8 and later (Debian 13); configure chooses. */
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

struct tables {
	struct rows_file rows;
	/* The processor, with the numbers of registers that each table has; the others have those of .eh_frame. NULL:
	 * no names are known. */
	const struct unwind_arch *arch[ROWS_TABLES];
	uint64_t base;			/* addresses of records are relative to it */
	struct unwind_range *ranges;	/* of instructions; free() it */
	size_t n_ranges;
	struct unwind_entries others; /* entries of a table that is not DWARF */
	void *owner; /* libelf's; NULL: not an ELF file */
	uint8_t *unpacked[ROWS_TABLES]; /* tables that are compressed in the file */
};

/* Finds the tables of an ELF file. 0; -ENOMSG, -EBADMSG, -ENOMEM. The caller releases the result in any case. */
int tables_elf(struct span file, struct tables *out, struct err *e);
void tables_release(struct tables *t); /* of any file */

/* Writes the STACK WIN records of a PDB. *counts: each record is a function and a row. 0; -ENODATA: it has none;
 * -ENOMSG: it is no PDB; -EBADMSG, -ENOMEM, errors of pass(). */
int win_write(struct span file, int (*pass)(void *ctx, const char *p, size_t n), void *ctx,
	struct unwind_counts *counts, struct err *e);

