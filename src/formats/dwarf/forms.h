/* The forms of attribute values, and functions that read or skip a value. Private to the DWARF reader. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/bytes.h"
#include "formats/dwarf/dwarf.h"

enum dwarf_form {
	DW_FORM_addr = 0x01, DW_FORM_block2 = 0x03, DW_FORM_block4 = 0x04, DW_FORM_data2 = 0x05,
	DW_FORM_data4 = 0x06, DW_FORM_data8 = 0x07, DW_FORM_string = 0x08, DW_FORM_block = 0x09,
	DW_FORM_block1 = 0x0a, DW_FORM_data1 = 0x0b, DW_FORM_flag = 0x0c, DW_FORM_sdata = 0x0d,
	DW_FORM_strp = 0x0e, DW_FORM_udata = 0x0f, DW_FORM_ref_addr = 0x10, DW_FORM_ref1 = 0x11,
	DW_FORM_ref2 = 0x12, DW_FORM_ref4 = 0x13, DW_FORM_ref8 = 0x14, DW_FORM_ref_udata = 0x15,
	DW_FORM_indirect = 0x16, DW_FORM_sec_offset = 0x17, DW_FORM_exprloc = 0x18,
	DW_FORM_flag_present = 0x19, DW_FORM_strx = 0x1a, DW_FORM_addrx = 0x1b,
	DW_FORM_ref_sup4 = 0x1c, DW_FORM_strp_sup = 0x1d, DW_FORM_data16 = 0x1e,
	DW_FORM_line_strp = 0x1f, DW_FORM_ref_sig8 = 0x20, DW_FORM_implicit_const = 0x21,
	DW_FORM_loclistx = 0x22, DW_FORM_rnglistx = 0x23, DW_FORM_ref_sup8 = 0x24,
	DW_FORM_strx1 = 0x25, DW_FORM_strx2 = 0x26, DW_FORM_strx3 = 0x27, DW_FORM_strx4 = 0x28,
	DW_FORM_addrx1 = 0x29, DW_FORM_addrx2 = 0x2a, DW_FORM_addrx3 = 0x2b, DW_FORM_addrx4 = 0x2c,
	DW_FORM_GNU_addr_index = 0x1f01, DW_FORM_GNU_str_index = 0x1f02,
	DW_FORM_GNU_ref_alt = 0x1f20, DW_FORM_GNU_strp_alt = 0x1f21,
	DW_FORM_LLVM_addrx_offset = 0x2001
};

/* The sizes that forms depend on. */
struct dwarf_sizes {
	uint8_t version, addr, off;
};

static inline struct dwarf_sizes sizes_of(const struct dwarf_head *h)
{
	return (struct dwarf_sizes){(uint8_t)h->version, h->addr_size, h->off_size};
}

/* Bytes of every value of the form; -1: the size varies; -2: the form is unknown. */
static inline int form_size(unsigned form, struct dwarf_sizes s)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return s.addr;
	case DW_FORM_ref_addr:
		return s.version <= 2 ? s.addr : s.off;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return s.off;
	case DW_FORM_string:
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_exprloc:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_indirect:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
	case DW_FORM_LLVM_addrx_offset:
		return -1;
	default:
		return -2;
	}
}

static inline uint64_t load_sized(const uint8_t *p, unsigned n, bool swap)
{
	switch (n) {
	case 1:
		return *p;
	case 2:
		return load16(p, swap);
	case 3:
		return swap != HOST_BIG ? (uint64_t)p[0] << 16 | p[1] << 8 | p[2]
					: (uint64_t)p[2] << 16 | p[1] << 8 | p[0];
	case 4:
		return load32(p, swap);
	default:
		return load64(p, swap);
	}
}

/* Moves *p after a value. False: the value is broken. */
bool skip_form(unsigned form, struct dwarf_sizes s, bool swap, const uint8_t **p,
	const uint8_t *end);

/* Reads the value at *p, and moves *p after it. False: the value is broken. */
bool read_form(unsigned form, int64_t implicit, struct dwarf_sizes s, bool swap,
	const uint8_t **p, const uint8_t *end, struct dwarf_value *out);
