/* The table of the best file types of a module for each purpose: Sentry's choices, as rows, and WebAssembly. The
 * Breakpad file that symfs makes (FILETYPE_SYM) comes last. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symb/best.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

const struct best_row best_rows[] = {
	{BEST_SYMTAB, OBJECT_MACHO, 0, {FILETYPE_MACH_DEBUG, FILETYPE_MACH_CODE, FILETYPE_BREAKPAD}},
	{BEST_SYMTAB, OBJECT_ELF, 0, {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE, FILETYPE_BREAKPAD}},
	{BEST_SYMTAB, OBJECT_PE, 0, {FILETYPE_PDB, FILETYPE_PE, FILETYPE_BREAKPAD}},
	{BEST_SYMTAB, OBJECT_WASM, 0, {FILETYPE_WASM_DEBUG, FILETYPE_WASM_CODE}},

	{BEST_DEBUG, OBJECT_MACHO, 0, {FILETYPE_MACH_DEBUG, FILETYPE_BREAKPAD}},
	{BEST_DEBUG, OBJECT_ELF, 0, {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE, FILETYPE_BREAKPAD}},
	{BEST_DEBUG, OBJECT_PE, 0, {FILETYPE_PDB, FILETYPE_BREAKPAD}},
	{BEST_DEBUG, OBJECT_WASM, 0, {FILETYPE_WASM_DEBUG, FILETYPE_WASM_CODE}},
	/* A .NET program can contain its Portable PDB. */
	{BEST_DEBUG, OBJECT_PE_DOTNET, 0, {FILETYPE_PORTABLEPDB, FILETYPE_PE}},

	{BEST_UNWIND, OBJECT_MACHO, 0, {FILETYPE_MACH_CODE, FILETYPE_BREAKPAD, FILETYPE_SYM}},
	{BEST_UNWIND, OBJECT_ELF, 0, {FILETYPE_ELF_CODE, FILETYPE_BREAKPAD, FILETYPE_SYM}},
	{BEST_UNWIND, OBJECT_PE, 32, {FILETYPE_PDB, FILETYPE_BREAKPAD, FILETYPE_SYM}},
	{BEST_UNWIND, OBJECT_PE, 64, {FILETYPE_PE, FILETYPE_BREAKPAD, FILETYPE_SYM}},
	{0},
};

static const char *const purposes[BEST_PURPOSES] = {
	[BEST_SYMTAB] = "symtab", [BEST_DEBUG] = "debug", [BEST_UNWIND] = "unwind"};

const struct best_row *best_row(enum best_purpose p, enum object_type o, unsigned bits)
{
	for (const struct best_row *row = best_rows; row->object != OBJECT_UNKNOWN; row++)
		if (row->purpose == p && row->object == o &&
			(!row->bits || row->bits == (bits ? bits : 64)))
			return row;
	return NULL;
}

const char *best_purpose_name(enum best_purpose p)
{
	return purposes[p];
}

int best_purpose_find(const char *name)
{
	for (int p = 0; p < BEST_PURPOSES; p++)
		if (strcmp(purposes[p], name) == 0)
			return p;
	return -EINVAL;
}

unsigned best_grade(enum best_purpose p, const struct worth *w)
{
	bool full = !w->known;

	switch (p) {
	case BEST_SYMTAB:
		return full || w->symbols || w->debug;
	case BEST_DEBUG:
		return full ? WORTH_DEBUG : w->debug;
	default:
		return full || w->unwind;
	}
}
