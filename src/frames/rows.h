/* Rows of call frame information, read by libdwarf. There is one file for each form of its interface: abi-2021.c for
 * 20210528 (Debian 12), abi-0.11.c for 0.8 and later (Debian 13); configure chooses. One thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "unwind/rules.h"

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
	unsigned ra_column;
	uint64_t unit; /* in which the instructions count addresses */
	struct span first, more; /* the instructions of its CIE, and its own */
};

/* 0; -ENOMEM; -EBADMSG: libdwarf cannot read such a file. */
int rows_open(struct rows **out, const struct rows_file *f);
void rows_close(struct rows *r);

/* Reads the entries of a table, and sets *n to their number. rows_fde() gives them in order of address. 0; -ENODATA:
 * the table has no entries; -EBADMSG: it is damaged. */
int rows_list(struct rows *r, enum rows_table table, size_t *n);
/* 0; -EBADMSG. */
int rows_fde(struct rows *r, enum rows_table table, size_t i, struct rows_fde *out);
/* Rules are asked for registers below this number from now on. */
void rows_columns(struct rows *r, unsigned n);

/* The rule of the CFA at the address `pc` of entry i. *next is the address of the next row; 0: this is the last one.
 * 0; -EBADMSG. */
int rows_cfa(struct rows *r, enum rows_table table, size_t i, uint64_t pc, struct unwind_rule *out, uint64_t *next);
/* The rule of a register there. 0; -EBADMSG. */
int rows_register(struct rows *r, enum rows_table table, size_t i, unsigned reg, uint64_t pc,
	struct unwind_rule *out);
/* Frees what libdwarf keeps of entry i. */
void rows_release(struct rows *r, enum rows_table table, size_t i);
