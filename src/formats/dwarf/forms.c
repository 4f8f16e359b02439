/* Reads an attribute's value of any DWARF form, or moves past it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/dwarf/forms.h"
#include "base/util.h"

static bool pass(uint64_t n, const uint8_t **p, const uint8_t *end)
{
	if (n > (uint64_t)(end - *p))
		return false;
	*p += n;
	return true;
}

static bool pass_counted(unsigned size, bool swap, const uint8_t **p, const uint8_t *end)
{
	const uint8_t *at = *p;

	return pass(size, p, end) && pass(load_sized(at, size, swap), p, end);
}

bool skip_form(unsigned form, struct dwarf_sizes s, bool swap, const uint8_t **p,
	const uint8_t *end)
{
	int size = form_size(form, s);
	const uint8_t *nul;
	uint64_t n;

	if (size >= 0)
		return pass((uint64_t)size, p, end);
	switch (form) {
	case DW_FORM_string:
		nul = memchr(*p, 0, (size_t)(end - *p));
		*p = nul ? nul + 1 : *p;
		return nul;
	case DW_FORM_block1:
		return pass_counted(1, swap, p, end);
	case DW_FORM_block2:
		return pass_counted(2, swap, p, end);
	case DW_FORM_block4:
		return pass_counted(4, swap, p, end);
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return take_uleb(p, end, &n) && pass(n, p, end);
	case DW_FORM_sdata:
		return take_sleb(p, end, &(int64_t){0});
	case DW_FORM_LLVM_addrx_offset:
		return take_uleb(p, end, &n) && pass(4, p, end);
	case DW_FORM_indirect: /* the form that it names must not be DW_FORM_indirect again */
		return take_uleb(p, end, &n) && n != DW_FORM_indirect && n <= UINT16_MAX &&
		       skip_form((unsigned)n, s, swap, p, end);
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return take_uleb(p, end, &n);
	default:
		return false;
	}
}

bool read_form(unsigned form, int64_t implicit, struct dwarf_sizes s, bool swap,
	const uint8_t **p, const uint8_t *end, struct dwarf_value *out)
{
	int size = form_size(form, s);
	const uint8_t *at = *p;
	uint64_t n;
	int64_t v;

	*out = (struct dwarf_value){.form = (uint16_t)form, .p = at};
	if (form == DW_FORM_flag_present) {
		out->v = 1;
		return true;
	}
	if (form == DW_FORM_implicit_const) {
		out->v = (uint64_t)implicit;
		return true;
	}
	if (size > 0) {
		if ((size_t)(end - at) < (size_t)size)
			return false;
		out->v = load_sized(at, (unsigned)size, swap);
		*p = at + size;
		return true;
	}
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return take_uleb(p, end, &out->v);
	case DW_FORM_sdata:
		if (!take_sleb(p, end, &v))
			return false;
		out->v = (uint64_t)v;
		return true;
	case DW_FORM_indirect:
		return take_uleb(p, end, &n) && n != DW_FORM_indirect &&
		       n != DW_FORM_implicit_const && n <= UINT16_MAX &&
		       read_form((unsigned)n, 0, s, swap, p, end, out);
	case DW_FORM_LLVM_addrx_offset:
		if (!take_uleb(p, end, &n) || (size_t)(end - *p) < 4 || n > UINT32_MAX)
			return false;
		out->v = n | (uint64_t)load32(*p, swap) << 32;
		*p += 4;
		return true;
	default:
		return skip_form(form, s, swap, p, end);
	}
}
