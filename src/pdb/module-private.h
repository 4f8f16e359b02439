/* What the readers of a module share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/module.h"

enum {
	S_END = 0x0006, S_THUNK32 = 0x1102, S_BLOCK32 = 0x1103, S_WITH32 = 0x1104, S_PUB32 = 0x110e,
	S_LPROC32 = 0x110f, S_GPROC32 = 0x1110, S_GMANPROC = 0x112a, S_LMANPROC = 0x112b, S_TRAMPOLINE = 0x112c,
	S_SEPCODE = 0x1132, S_LPROC32_ID = 0x1146, S_GPROC32_ID = 0x1147, S_INLINESITE = 0x114d,
	S_INLINESITE_END = 0x114e, S_PROC_ID_END = 0x114f, S_LPROC32_DPC = 0x1155, S_LPROC32_DPC_ID = 0x1156,
	S_INLINESITE2 = 0x115d
};

struct pdb_symbol {
	uint16_t kind;
	uint32_t at;	    /* where the record begins */
	struct span record; /* from its length on */
};

/* The record at *at, which ends at or before `end`; moves *at behind it. False: no more, or it is broken. */
bool pdb_symbol_next(struct span all, uint32_t *at, uint32_t end, struct pdb_symbol *out);
bool pdb_symbol_opens(uint16_t kind); /* records up to the one that closes are in it */
bool pdb_symbol_closes(uint16_t kind);

int pdb_read_symbols(struct pdb_code *c);
int pdb_read_lines(struct pdb_code *c);

/* The line of a file where the body of an inlined function begins. False: it is not listed. */
bool pdb_inlinee_of(const struct pdb_code *c, uint32_t id, uint32_t *file, uint32_t *line);

/* Sorts ranges whose `reach` is not set yet. */
void pdb_ranges_sort(struct pdb_range *all, size_t n);
/* The first that begins at `to` or behind it. */
size_t pdb_ranges_end(const struct pdb_range *all, size_t n, unsigned section, uint64_t to);
/* From there back: moves *i to the next one that reaches over `from`. False: no more. */
bool pdb_ranges_back(const struct pdb_range *all, size_t *i, unsigned section, uint64_t from);
