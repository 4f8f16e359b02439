/* Rules of unwinding: where the registers of a caller are, at an address. Readers of unwind tables make rows of
 * rules, and the writer of text.h writes them. Plain values; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unwind_kind {
	UNWIND_NONE,	  /* the table has no rule for the register */
	UNWIND_SAME,	  /* the register has the value that it has in the caller */
	UNWIND_UNDEFINED, /* the value is lost; for the return address: no frame calls this one */
	UNWIND_AT,	  /* the value is in memory at CFA + off */
	UNWIND_IS,	  /* the value is CFA + off */
	UNWIND_REGISTER,  /* the value is register `reg` + off; always so for a CFA without an expression */
	UNWIND_EXPR_AT,	  /* the value is in memory at the address that the DWARF expression gives */
	UNWIND_EXPR_IS	  /* the value is that of the DWARF expression */
};

struct unwind_rule {
	int64_t off;
	const uint8_t *expr; /* expr_len bytes, owned by the table */
	uint32_t expr_len;
	uint16_t reg; /* number in DWARF */
	uint8_t kind; /* enum unwind_kind */
};

/* A processor: the names that Breakpad's files have for its registers. */
struct unwind_arch {
	const char *const *names; /* by DWARF number; NULL: the files have no name for it */
	unsigned n;
	unsigned ra;	 /* the usual column of the return address */
	bool link;	 /* a call puts the return address into a register, not on the stack */
	unsigned bytes;	 /* of an address */
};

#define UNWIND_REGS_MOST 66 /* no processor here has more named registers */

struct unwind_row {
	struct unwind_rule cfa, ra;
	unsigned ra_column; /* the register that `ra` is about; its rule in `regs` does not count */
	struct unwind_rule regs[UNWIND_REGS_MOST];
};

/* The processor of an ELF file, by e_machine; of Mach-O, by cputype, with the numbers of registers that __eh_frame
 * and compact unwind information have (`eh`), or __debug_frame; of PE, by Machine. NULL: Breakpad's files have no
 * names for its registers. */
const struct unwind_arch *unwind_arch_elf(unsigned machine, bool is64);
const struct unwind_arch *unwind_arch_macho(unsigned cpu, bool eh);
const struct unwind_arch *unwind_arch_pe(unsigned machine);

/* The name of a register, or NULL. */
const char *unwind_name(const struct unwind_arch *a, unsigned reg);
