/* The entries of call frame information, listed by libdwarf; unwind/execute.h executes them. There is one file for
 * each form of its interface: abi-2021.c for 20210528 (Debian 12), abi-0.11.c for 0.8 and later (Debian 13);
 * configure chooses. One thread. */
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

/* 0; -ENOMEM; -EBADMSG: libdwarf cannot read such a file. */
int rows_open(struct rows **out, const struct rows_file *f);
void rows_close(struct rows *r);

/* Reads the entries of a table, and sets *n to their number. rows_fde() gives them in order of address. 0; -ENODATA:
 * the table has no entries; -EBADMSG: it is damaged. */
int rows_list(struct rows *r, enum rows_table table, size_t *n);
/* 0; -EBADMSG. */
int rows_fde(struct rows *r, enum rows_table table, size_t i, struct rows_fde *out);
/* Frees what libdwarf keeps of entry i. */
void rows_release(struct rows *r, enum rows_table table, size_t i);
