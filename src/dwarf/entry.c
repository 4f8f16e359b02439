/* Reads entries, and decodes their values: texts, addresses, numbers, references. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "dwarf/forms.h"

/* ---- entries -------------------------------------------------------------------------- */

bool dwarf_skip_values(const struct dwarf_unit *u, const struct dwarf_abbrev *a,
	const uint8_t **p, const uint8_t *end)
{
	struct dwarf_sizes s = sizes_of(u->head);
	const struct dwarf_step *step;

	for (step = &u->abbrevs->steps[a->steps];; step++) {
		if ((size_t)(end - *p) < step->bytes)
			return false;
		*p += step->bytes;
		if (!step->form)
			return true;
		if (!skip_form(step->form, s, u->file->swap, p, end))
			return false;
	}
}

bool dwarf_read_die(const struct dwarf_unit *u, uint64_t at, const struct dwarf_abbrev *a,
	const uint8_t *p, struct dwarf_die *out)
{
	const uint8_t *start = u->file->s[DWARF_INFO].p, *end = start + u->head->end;
	const struct dwarf_attr *attr = &u->abbrevs->attrs[a->attrs], *last = attr + a->n_attrs;
	struct dwarf_sizes s = sizes_of(u->head);
	bool swap = u->file->swap;

	out->at = at;
	out->abbrev = a;
	out->has = 0;
	for (; attr < last; attr++) {
		if (!attr->field) {
			if (!skip_form(attr->form, s, swap, &p, end))
				return false;
			continue;
		}
		if (!read_form(attr->form, attr->value, s, swap, &p, end, &out->v[attr->field]))
			return false;
		out->has |= 1u << attr->field;
	}
	out->next = (uint64_t)(p - start);
	return true;
}

bool dwarf_die_at(const struct dwarf_unit *u, uint64_t at, struct dwarf_die *out)
{
	const uint8_t *start = u->file->s[DWARF_INFO].p, *p = start + at;
	const struct dwarf_abbrev *a;
	uint64_t code;

	if (at < u->head->first || at >= u->head->end)
		return false;
	if (!take_uleb(&p, start + u->head->end, &code) || !code)
		return false;
	a = dwarf_abbrev_of(u->abbrevs, code);
	return a && dwarf_read_die(u, at, a, p, out);
}

/* ---- values ---------------------------------------------------------------------------- */

static const char *text_in(struct span s, uint64_t off)
{
	return off < s.n ? (const char *)s.p + off : NULL;
}

/* Text number `i` of .debug_str_offsets. */
static const char *text_by_index(const struct dwarf_unit *u, uint64_t i)
{
	struct span s = u->str_offsets;
	unsigned size = u->head->off_size;
	const uint8_t *p;

	if (i > s.n / size || u->str_base > s.n)
		return NULL;
	p = span_at(s, u->str_base + i * size, size);
	return p ? text_in(u->file->s[DWARF_STR], load_sized(p, size, u->file->swap)) : NULL;
}

const char *dwarf_text(const struct dwarf_unit *u, const struct dwarf_value *v)
{
	switch (v->form) {
	case DW_FORM_string:
		return (const char *)v->p;
	case DW_FORM_strp:
		return text_in(u->file->s[DWARF_STR], v->v);
	case DW_FORM_line_strp:
		return text_in(u->file->s[DWARF_LINE_STR], v->v);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return text_by_index(u, v->v);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return u->file->alt ? text_in(u->file->alt->s[DWARF_STR], v->v) : NULL;
	default:
		return NULL;
	}
}

bool dwarf_address_by_index(const struct dwarf_unit *u, uint64_t i, uint64_t *out)
{
	struct span s = u->main->s[DWARF_ADDR];
	unsigned size = u->head->addr_size;
	const uint8_t *p;

	if (i > s.n / size || u->addr_base > s.n)
		return false;
	p = span_at(s, u->addr_base + i * size, size);
	if (p)
		*out = load_sized(p, size, u->main->swap);
	return p;
}

bool dwarf_address(const struct dwarf_unit *u, const struct dwarf_value *v, uint64_t *out)
{
	switch (v->form) {
	case DW_FORM_addr:
		*out = v->v;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return dwarf_address_by_index(u, v->v, out);
	case DW_FORM_LLVM_addrx_offset:
		if (!dwarf_address_by_index(u, (uint32_t)v->v, out))
			return false;
		*out += v->v >> 32;
		return true;
	default:
		return false;
	}
}

bool dwarf_number(const struct dwarf_value *v, uint64_t *out)
{
	switch (v->form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
	case DW_FORM_sec_offset:
	case DW_FORM_flag:
	case DW_FORM_flag_present:
		*out = v->v;
		return true;
	default:
		return false;
	}
}

bool dwarf_reference(const struct dwarf_unit *u, const struct dwarf_value *v,
	const struct dwarf_file **f, uint64_t *out)
{
	*f = u->file;
	switch (v->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		*out = u->head->at + v->v;
		return v->v < u->head->end - u->head->at;
	case DW_FORM_ref_addr:
		*out = v->v;
		return true;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*f = u->file->alt;
		*out = v->v;
		return *f;
	default:
		return false;
	}
}
