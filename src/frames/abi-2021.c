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

int rows_fde(struct rows *r, enum rows_table table, size_t i, struct rows_fde *out)
{
	Dwarf_Fde fde = r->lists[table].fdes[i];
	Dwarf_Unsigned n, size, code;
	Dwarf_Signed index, data;
	Dwarf_Off cie_at, fde_at;
	Dwarf_Small version;
	Dwarf_Ptr bytes;
	Dwarf_Half ra, offset_bytes;
	Dwarf_Error e = NULL;
	Dwarf_Addr start;
	Dwarf_Cie cie;
	char *text;

	if (dwarf_get_fde_range(fde, &start, &n, &bytes, &size, &cie_at, &index, &fde_at, &e) != DW_DLV_OK)
		return rows_failed(r, e);
	out->start = start;
	out->size = n;
	if (dwarf_get_fde_instr_bytes(fde, &bytes, &n, &e) != DW_DLV_OK)
		return rows_failed(r, e);
	out->more = (struct span){bytes, n};
	if (dwarf_get_cie_of_fde(fde, &cie, &e) != DW_DLV_OK ||
		dwarf_get_cie_info_b(cie, &size, &version, &text, &code, &data, &ra, &bytes, &n, &offset_bytes,
			&e) != DW_DLV_OK)
		return rows_failed(r, e);
	out->ra_column = ra;
	out->unit = code;
	out->first = (struct span){bytes, n};
	return 0;
}

int rows_cfa(struct rows *r, enum rows_table table, size_t i, uint64_t pc, struct unwind_rule *out, uint64_t *next)
{
	Dwarf_Signed relevant, reg, n;
	Dwarf_Addr row, following;
	Dwarf_Ptr block = NULL;
	Dwarf_Error e = NULL;
	Dwarf_Small type;
	Dwarf_Bool more;

	if (dwarf_get_fde_info_for_cfa_reg3_b(r->lists[table].fdes[i], pc, &type, &relevant, &reg, &n, &block, &row,
		    &more, &following, &e) != DW_DLV_OK)
		return rows_failed(r, e);
	rows_rule_cfa(type, (uint64_t)reg, n, block, out);
	*next = more ? following : 0;
	return 0;
}

int rows_register(struct rows *r, enum rows_table table, size_t i, unsigned reg, uint64_t pc,
	struct unwind_rule *out)
{
	Dwarf_Signed relevant, other, n;
	Dwarf_Addr row, following;
	Dwarf_Ptr block = NULL;
	Dwarf_Error e = NULL;
	Dwarf_Small type;
	Dwarf_Bool more;

	if (dwarf_get_fde_info_for_reg3_b(r->lists[table].fdes[i], (Dwarf_Half)reg, pc, &type, &relevant, &other, &n,
		    &block, &row, &more, &following, &e) != DW_DLV_OK)
		return rows_failed(r, e);
	rows_rule(type, relevant, (uint64_t)other, n, block, out);
	return 0;
}
#endif
