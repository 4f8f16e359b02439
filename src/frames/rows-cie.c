/* What the two files for libdwarf's interfaces call: names of sections, failed calls, and the augmentation of a
 * CIE. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "frames/rows-private.h"

const char *const rows_section_names[ROWS_SECTIONS] = {"", ".eh_frame", ".debug_frame"};

int rows_failed(struct rows *r, Dwarf_Error e)
{
	if (e)
		dwarf_dealloc_error(r->dbg, e);
	return -EBADMSG;
}

uint8_t rows_pointer(struct rows *r, Dwarf_Cie cie, const char *augmentation)
{
	Dwarf_Unsigned n = 0;
	Dwarf_Small *data = NULL;
	Dwarf_Error e = NULL;

	if (!augmentation || !*augmentation)
		return UNWIND_POINTER_ADDRESS;
	if (dwarf_get_cie_augmentation_data(cie, &data, &n, &e) == DW_DLV_OK)
		return unwind_pointer(augmentation, (struct span){data, data ? n : 0}, r->file.address_bytes);
	rows_failed(r, e);
	return UNWIND_POINTER_UNKNOWN;
}
