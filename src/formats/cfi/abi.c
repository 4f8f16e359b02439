/* libdwarf's two interfaces for the rows of unwind tables: that of 2021, as Debian 12 has it, and that since 0.8, as
 * Debian 13 has it. They have the same functions, and other names of types and members. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "base/util.h"
#include "formats/cfi/rows-private.h"

#if LIBDWARF_2021
typedef Dwarf_Half abi_number;
typedef Dwarf_Obj_Access_Section abi_section;
typedef Dwarf_Obj_Access_Methods abi_methods;
typedef Dwarf_Obj_Access_Interface abi_interface;
typedef Dwarf_Endianness abi_order;
typedef Dwarf_Ptr abi_bytes;
#define NAMED(prefix, name) name
#define ORDER_BIG DW_OBJECT_MSB
#define ORDER_LITTLE DW_OBJECT_LSB
#else
#include <dwarf.h>

typedef Dwarf_Unsigned abi_number;
typedef Dwarf_Obj_Access_Section_a abi_section;
typedef Dwarf_Obj_Access_Methods_a abi_methods;
typedef Dwarf_Obj_Access_Interface_a abi_interface;
typedef Dwarf_Small abi_order;
typedef Dwarf_Small *abi_bytes;
#define NAMED(prefix, name) prefix##name
#define ORDER_BIG DW_END_big
#define ORDER_LITTLE DW_END_little

static Dwarf_Unsigned file_size(void *obj)
{
	const struct rows *r = obj;

	return r->file.tables[ROWS_EH].bytes.n + r->file.tables[ROWS_DEBUG].bytes.n;
}
#endif

/* The sections as libdwarf sees them: number 0 is empty, as in an ELF file. */
#define ROWS_SECTIONS (ROWS_TABLES + 1)
static const char *const section_names[ROWS_SECTIONS] = {"", ".eh_frame", ".debug_frame"};

static int section_info(void *obj, abi_number i, abi_section *out, int *error)
{
	const struct rows *r = obj;

	memset(out, 0, sizeof(*out));
	if (i >= ROWS_SECTIONS)
		return DW_DLV_NO_ENTRY;
	out->NAMED(as_, name) = section_names[i];
	out->NAMED(as_, type) = i > 0; /* SHT_PROGBITS */
	if (i) {
		out->NAMED(as_, addr) = r->file.tables[i - 1].addr;
		out->NAMED(as_, size) = r->file.tables[i - 1].bytes.n;
	}
	return DW_DLV_OK;
}

static abi_order byte_order(void *obj)
{
	return ((struct rows *)obj)->file.big ? ORDER_BIG : ORDER_LITTLE;
}

static Dwarf_Small address_bytes(void *obj)
{
	return (Dwarf_Small)((struct rows *)obj)->file.address_bytes;
}

static Dwarf_Unsigned section_count(void *obj)
{
	return ROWS_SECTIONS;
}

static int load(void *obj, abi_number i, Dwarf_Small **out, int *error)
{
	const struct rows *r = obj;

	if (i < 1 || i >= ROWS_SECTIONS)
		return DW_DLV_NO_ENTRY;
	*out = (Dwarf_Small *)(uintptr_t)r->file.tables[i - 1].bytes.p;
	return DW_DLV_OK;
}

static const abi_methods methods = {.NAMED(om_, get_section_info) = section_info,
	.NAMED(om_, get_byte_order) = byte_order,
	.NAMED(om_, get_length_size) = address_bytes,
	.NAMED(om_, get_pointer_size) = address_bytes,
#if !LIBDWARF_2021
	.om_get_filesize = file_size,
#endif
	.NAMED(om_, get_section_count) = section_count,
	.NAMED(om_, load_section) = load};

int abi_open(struct rows *r)
{
	abi_interface *a = malloc(sizeof(*a));
	Dwarf_Error e = NULL;

	r->access = a;
	if (!a)
		return -ENOMEM;
	*a = (abi_interface){.NAMED(ai_, object) = r, .NAMED(ai_, methods) = &methods};
	if (dwarf_object_init_b(a, NULL, NULL, DW_GROUPNUMBER_ANY, &r->dbg, &e) == DW_DLV_OK)
		return 0;
	return rows_failed(r, e);
}

void abi_close(struct rows *r)
{
#if LIBDWARF_2021
	Dwarf_Error e = NULL;

	if (dwarf_object_finish(r->dbg, &e) == DW_DLV_ERROR && e)
		dwarf_dealloc_error(NULL, e);
#else
	dwarf_object_finish(r->dbg);
#endif
}

/* The encoding of addresses in the instructions of a CIE. */
static uint8_t pointer_of(struct rows *r, Dwarf_Cie cie, const char *augmentation)
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

int abi_fde(struct rows *r, Dwarf_Fde fde, struct rows_fde *out)
{
	Dwarf_Unsigned n, size, unit;
	Dwarf_Signed index, data_unit;
	Dwarf_Off cie_at, fde_at;
	Dwarf_Small version;
	abi_bytes bytes;
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
	out->code.pointer = pointer_of(r, cie, augmentation);
	return 0;
}
