/* What the two files for libdwarf's interfaces share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "frames/rows.h"

#include <libdwarf.h>

struct rows {
	struct rows_file file;
	void *access; /* the interface's description of the file; free() it */
	Dwarf_Debug dbg;
	struct {
		Dwarf_Cie *cies;
		Dwarf_Fde *fdes;
		Dwarf_Signed n_cies, n_fdes;
	} lists[ROWS_TABLES];
};

/* Numbers by which libdwarf marks rules that are no registers. It has one number for a register without a rule and
 * for one that keeps its value, which the records do not tell apart either. */
enum { ROWS_UNDEFINED = 1034, ROWS_SAME = 1035, ROWS_CFA = 1436 };

/* The sections as libdwarf sees them: number 0 is empty, as in an ELF file. */
#define ROWS_SECTIONS (ROWS_TABLES + 1)
extern const char *const rows_section_names[ROWS_SECTIONS];

/* Makes a rule of libdwarf's answer. `n` is an offset, or the number of bytes at `block`. */
void rows_rule(unsigned type, bool has_offset, uint64_t reg, int64_t n, const void *block, struct unwind_rule *out);
/* The same for the rule of a CFA, which is a register and an offset, or an expression. */
void rows_rule_cfa(unsigned type, uint64_t reg, int64_t n, const void *block, struct unwind_rule *out);
/* Frees the error of a failed call. Returns -EBADMSG. */
int rows_failed(struct rows *r, Dwarf_Error e);

/* What each interface has: opens r->dbg. 0, -ENOMEM, -EBADMSG. */
int abi_open(struct rows *r);
void abi_close(struct rows *r);
