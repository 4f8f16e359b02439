/* libdwarf's interface since 0.8, as Debian 13 has it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#if !LIBDWARF_2021
#include "base/util.h"
#include "frames/rows-private.h"

#include <dwarf.h>

static int section_info(void *obj, Dwarf_Unsigned i, Dwarf_Obj_Access_Section_a *out, int *error)
{
	const struct rows *r = obj;

	memset(out, 0, sizeof(*out));
	if (i >= ROWS_SECTIONS)
		return DW_DLV_NO_ENTRY;
	out->as_name = rows_section_names[i];
	out->as_type = i > 0; /* SHT_PROGBITS */
	if (i) {
		out->as_addr = r->file.tables[i - 1].addr;
		out->as_size = r->file.tables[i - 1].bytes.n;
	}
	return DW_DLV_OK;
}

static Dwarf_Small byte_order(void *obj)
{
	return ((struct rows *)obj)->file.big ? DW_END_big : DW_END_little;
}

static Dwarf_Small address_bytes(void *obj)
{
	return (Dwarf_Small)((struct rows *)obj)->file.address_bytes;
}

static Dwarf_Unsigned file_size(void *obj)
{
	const struct rows *r = obj;

	return r->file.tables[ROWS_EH].bytes.n + r->file.tables[ROWS_DEBUG].bytes.n;
}

static Dwarf_Unsigned section_count(void *obj)
{
	return ROWS_SECTIONS;
}

static int load(void *obj, Dwarf_Unsigned i, Dwarf_Small **out, int *error)
{
	const struct rows *r = obj;

	if (i < 1 || i >= ROWS_SECTIONS)
		return DW_DLV_NO_ENTRY;
	*out = (Dwarf_Small *)(uintptr_t)r->file.tables[i - 1].bytes.p;
	return DW_DLV_OK;
}

static const Dwarf_Obj_Access_Methods_a methods = {.om_get_section_info = section_info,
	.om_get_byte_order = byte_order, .om_get_length_size = address_bytes, .om_get_pointer_size = address_bytes,
	.om_get_filesize = file_size, .om_get_section_count = section_count, .om_load_section = load};

int abi_open(struct rows *r)
{
	Dwarf_Obj_Access_Interface_a *a = malloc(sizeof(*a));
	Dwarf_Error e = NULL;

	r->access = a;
	if (!a)
		return -ENOMEM;
	*a = (Dwarf_Obj_Access_Interface_a){.ai_object = r, .ai_methods = &methods};
	if (dwarf_object_init_b(a, NULL, NULL, DW_GROUPNUMBER_ANY, &r->dbg, &e) == DW_DLV_OK)
		return 0;
	return rows_failed(r, e);
}

void abi_close(struct rows *r)
{
	dwarf_object_finish(r->dbg);
}

int abi_fde(struct rows *r, Dwarf_Fde fde, struct rows_fde *out)
{
	Dwarf_Unsigned n, size, unit;
	Dwarf_Signed index, data_unit;
	Dwarf_Off cie_at, fde_at;
	Dwarf_Small *bytes, version;
	Dwarf_Half ra, offset_bytes;
	Dwarf_Error e = NULL;
	Dwarf_Addr start;
	Dwarf_Cie cie;
	char *augmentation;

	if (dwarf_get_fde_range(fde, &start, &n, &bytes, &size, &cie_at, &index, &fde_at, &e) != DW_DLV_OK)
		return rows_failed(r, e);
	*out = (struct rows_fde){.start = start, .size = n};
	if (dwarf_get_fde_instr_bytes(fde, &bytes, &n, &e) != DW_DLV_OK)
		return rows_failed(r, e);
	out->code.more = (struct span){bytes, n};
	if (dwarf_get_cie_of_fde(fde, &cie, &e) != DW_DLV_OK ||
		dwarf_get_cie_info_b(cie, &size, &version, &augmentation, &unit, &data_unit, &ra, &bytes, &n,
			&offset_bytes, &e) != DW_DLV_OK)
		return rows_failed(r, e);
	out->code.first = (struct span){bytes, n};
	out->code.ra_column = ra;
	out->code.unit = unit;
	out->code.data_unit = data_unit;
	out->code.pointer = rows_pointer(r, cie, augmentation);
	return 0;
}
#endif
