/* libdwarf's interface of 2021, as Debian 12 has it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#if LIBDWARF_2021
#include "base/util.h"
#include "frames/rows-private.h"

static int section_info(void *obj, Dwarf_Half i, Dwarf_Obj_Access_Section *out, int *error)
{
	const struct rows *r = obj;

	memset(out, 0, sizeof(*out));
	if (i >= ROWS_SECTIONS)
		return DW_DLV_NO_ENTRY;
	out->name = rows_section_names[i];
	out->type = i > 0; /* SHT_PROGBITS */
	if (i) {
		out->addr = r->file.tables[i - 1].addr;
		out->size = r->file.tables[i - 1].bytes.n;
	}
	return DW_DLV_OK;
}

static Dwarf_Endianness byte_order(void *obj)
{
	return ((struct rows *)obj)->file.big ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}

static Dwarf_Small address_bytes(void *obj)
{
	return (Dwarf_Small)((struct rows *)obj)->file.address_bytes;
}

static Dwarf_Unsigned section_count(void *obj)
{
	return ROWS_SECTIONS;
}

static int load(void *obj, Dwarf_Half i, Dwarf_Small **out, int *error)
{
	const struct rows *r = obj;

	if (i < 1 || i >= ROWS_SECTIONS)
		return DW_DLV_NO_ENTRY;
	*out = (Dwarf_Small *)(uintptr_t)r->file.tables[i - 1].bytes.p;
	return DW_DLV_OK;
}

static const Dwarf_Obj_Access_Methods methods = {.get_section_info = section_info, .get_byte_order = byte_order,
	.get_length_size = address_bytes, .get_pointer_size = address_bytes, .get_section_count = section_count,
	.load_section = load};

int abi_open(struct rows *r)
{
	Dwarf_Obj_Access_Interface *a = malloc(sizeof(*a));
	Dwarf_Error e = NULL;

	r->access = a;
	if (!a)
		return -ENOMEM;
	*a = (Dwarf_Obj_Access_Interface){.object = r, .methods = &methods};
	if (dwarf_object_init_b(a, NULL, NULL, DW_GROUPNUMBER_ANY, &r->dbg, &e) == DW_DLV_OK)
		return 0;
	return rows_failed(r, e);
}

void abi_close(struct rows *r)
{
	Dwarf_Error e = NULL;

	if (dwarf_object_finish(r->dbg, &e) == DW_DLV_ERROR && e)
		dwarf_dealloc_error(NULL, e);
}

int abi_fde(struct rows *r, Dwarf_Fde fde, struct rows_fde *out)
{
	Dwarf_Unsigned n, size, unit;
	Dwarf_Signed index, data_unit;
	Dwarf_Off cie_at, fde_at;
	Dwarf_Small version;
	Dwarf_Ptr bytes;
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
