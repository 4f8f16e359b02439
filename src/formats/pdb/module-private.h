/* Declarations that the readers of a module share: its symbols, its lines, and ranges of addresses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/little.h"
#include "formats/pdb/module.h"

enum {
	S_END = 0x0006, S_THUNK32 = 0x1102, S_BLOCK32 = 0x1103, S_WITH32 = 0x1104, S_PUB32 = 0x110e,
	S_LPROC32 = 0x110f, S_GPROC32 = 0x1110, S_GMANPROC = 0x112a, S_LMANPROC = 0x112b, S_TRAMPOLINE = 0x112c,
	S_SEPCODE = 0x1132, S_LPROC32_ID = 0x1146, S_GPROC32_ID = 0x1147, S_INLINESITE = 0x114d,
	S_INLINESITE_END = 0x114e, S_PROC_ID_END = 0x114f, S_LPROC32_DPC = 0x1155, S_LPROC32_DPC_ID = 0x1156,
	S_INLINESITE2 = 0x115d
};

struct pdb_symbol {
	uint16_t kind;
	uint32_t at;	    /* offset of the record in the symbols */
	struct span record; /* the record, from its length field on */
};

/* Reads the record at *at, which must end at or before `end`, and moves *at past it. False: no
 * record follows, or the record is broken. */
static inline bool pdb_symbol_next(struct span all, uint32_t *at, uint32_t end, struct pdb_symbol *out)
{
	const uint8_t *h;
	uint32_t len;

	if (*at > end || end - *at < 4 || !(h = span_at(all, *at, 4)))
		return false;
	len = le16(h);
	if (len < 2 || len > end - *at - 2)
		return false;
	*out = (struct pdb_symbol){.kind = (uint16_t)le16(h + 2), .at = *at, .record = {h, (size_t)len + 2}};
	*at += len + 2;
	return true;
}

/* Whether the record opens a scope, which lasts up to the record that closes it. */
static inline bool pdb_symbol_opens(uint16_t kind)
{
	switch (kind) {
	case S_LPROC32: case S_GPROC32: case S_LPROC32_ID: case S_GPROC32_ID: case S_LPROC32_DPC:
	case S_LPROC32_DPC_ID: case S_THUNK32: case S_BLOCK32: case S_WITH32: case S_SEPCODE:
	case S_INLINESITE: case S_INLINESITE2: case S_GMANPROC: case S_LMANPROC:
		return true;
	default:
		return false;
	}
}

static inline bool pdb_symbol_closes(uint16_t kind)
{
	return kind == S_END || kind == S_INLINESITE_END || kind == S_PROC_ID_END;
}

/* A step of pdb_code_open(), after it has loaded the bytes of the module. 0; -ENOMEM. */
int pdb_read_lines(struct pdb_code *c);

/* Sorts ranges by section and address, and sets their `reach`. */
void pdb_ranges_sort(struct pdb_range *all, size_t n);
/* The index of the first range that begins at or after `to` in the section, or in a later section. */
size_t pdb_ranges_end(const struct pdb_range *all, size_t n, unsigned section, uint64_t to);
