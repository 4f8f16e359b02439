/* What frames.c and abi.c share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/cfi/private.h"

#include <errno.h>
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

/* Frees the error of a failed call. Returns -EBADMSG. */
static inline int rows_failed(struct rows *r, Dwarf_Error e)
{
	if (e)
		dwarf_dealloc_error(r->dbg, e);
	return -EBADMSG;
}

/* What each interface has: opens r->dbg. 0, -ENOMEM, -EBADMSG. */
int abi_open(struct rows *r);
void abi_close(struct rows *r);
/* Sets the members of *fde for an entry, except `code.more_at`. 0, -EBADMSG. */
int abi_fde(struct rows *r, Dwarf_Fde fde, struct rows_fde *out);
