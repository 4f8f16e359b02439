/* The tables of a file, as its format's reader finds them, and what is done with them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "frames/rows.h"
#include "unwind/text.h"

struct tables {
	struct rows_file rows;
	const struct unwind_arch *arch; /* NULL: no names are known */
	uint64_t base;			/* addresses of records are relative to it */
	struct unwind_range *ranges;	/* of instructions; free() it */
	size_t n_ranges;
	void *owner; /* the reader's */
};

/* Finds the tables of an ELF file. 0; -ENOMSG, -EBADMSG, -ENOMEM. The caller releases the result in any case. */
int tables_elf(struct span file, struct tables *out, struct err *e);
void tables_elf_release(struct tables *t);

/* Writes the rows of .eh_frame and .debug_frame. 0; -ENODATA, -EBADMSG, -ENOMEM, errors of the writer. */
int cfi_write(const struct tables *t, struct unwind_text *to, struct err *e);
