/* Reads abbreviation tables: the attributes of each kind of entry, and what the walk does with it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "formats/dwarf/forms.h"

/* An entry is broken if its values together have more bytes than this. */
#define FIXED_MOST (1 << 24)

static uint8_t field_of(uint64_t attr)
{
	static const struct {
		uint16_t attr;
		uint8_t field;
	} fields[] = {
		{0x01, AT_SIBLING}, {0x03, AT_NAME}, {0x10, AT_LINES}, {0x11, AT_LOW},
		{0x12, AT_HIGH}, {0x13, AT_LANGUAGE}, {0x1b, AT_COMP_DIR}, {0x31, AT_ORIGIN},
		{0x3a, AT_DECL_FILE}, {0x3b, AT_DECL_LINE}, {0x3c, AT_DECLARATION}, {0x47, AT_SPEC},
		{0x55, AT_RANGES}, {0x58, AT_CALL_FILE}, {0x59, AT_CALL_LINE}, {0x6e, AT_LINKAGE},
		{0x72, AT_STR_BASE}, {0x73, AT_ADDR_BASE}, {0x74, AT_RNGLISTS_BASE},
		{0x76, AT_DWO_NAME}, {0x2007, AT_LINKAGE}, {0x2130, AT_DWO_NAME},
		{0x2131, AT_DWO_ID}, {0x2132, AT_GNU_RANGES_BASE}, {0x2133, AT_ADDR_BASE},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].attr == attr)
			return fields[i].field;
	return AT_NONE;
}

static uint8_t act_of(unsigned tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
		return ACT_FUNC;
	case DW_TAG_inlined_subroutine:
		return ACT_INLINE;
	case DW_TAG_lexical_block:
		return ACT_BLOCK;
	case DW_TAG_namespace:
		return ACT_SCOPE;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return ACT_TYPE;
	case DW_TAG_array_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
		return ACT_SKIP;
	default:
		return ACT_NONE;
	}
}

/* ---- reading ------------------------------------------------------------------------- */

static int add_step(struct dwarf_abbrevs *t, uint32_t bytes, unsigned form)
{
	return APPEND(t->steps, t->steps_room, t->n_steps, (struct dwarf_step){bytes, (uint16_t)form});
}

static int add_attr(struct dwarf_abbrevs *t, struct dwarf_abbrev *a, uint64_t name, unsigned form,
	int64_t value)
{
	uint8_t field = field_of(name);

	if (APPEND(t->attrs, t->attrs_room, t->n_attrs, (struct dwarf_attr){(uint16_t)form, field, value}) < 0)
		return -ENOMEM;
	a->n_attrs++;
	a->sibling = a->sibling || field == AT_SIBLING;
	return 0;
}

/* Prepares the steps that skip the values of an entry without decoding them. */
static int make_steps(struct dwarf_abbrevs *t, struct dwarf_abbrev *a)
{
	struct dwarf_sizes s = {t->version, t->addr_size, t->off_size};
	uint32_t bytes = 0;

	a->steps = (uint32_t)t->n_steps;
	for (uint32_t i = 0; i < a->n_attrs; i++) {
		unsigned form = t->attrs[a->attrs + i].form;
		int size = form_size(form, s);

		if (size == -2 || bytes > FIXED_MOST)
			return -EBADMSG;
		if (size >= 0) {
			bytes += (uint32_t)size;
			continue;
		}
		if (add_step(t, bytes, form) < 0)
			return -ENOMEM;
		bytes = 0;
	}
	a->fixed = t->n_steps == a->steps ? (int32_t)bytes : -1;
	return add_step(t, bytes, 0);
}

/* Reads one abbreviation. 1: it was added; 0: the table ends; -EBADMSG, -ENOMEM. */
static int read_abbrev(struct dwarf_abbrevs *t, const uint8_t **p, const uint8_t *end)
{
	struct dwarf_abbrev a = {.attrs = (uint32_t)t->n_attrs};
	uint64_t tag, name, form;
	int64_t value;
	int r;

	if (!take_uleb(p, end, &a.code))
		return -EBADMSG;
	if (!a.code)
		return 0;
	if (!take_uleb(p, end, &tag) || tag > UINT16_MAX || *p == end)
		return -EBADMSG;
	a.tag = (uint16_t)tag;
	a.act = act_of(a.tag);
	a.children = *(*p)++;
	for (;;) {
		value = 0;
		if (!take_uleb(p, end, &name) || !take_uleb(p, end, &form) || form > UINT16_MAX)
			return -EBADMSG;
		if (form == DW_FORM_implicit_const && !take_sleb(p, end, &value))
			return -EBADMSG;
		if (!name && !form)
			break;
		r = add_attr(t, &a, name, (unsigned)form, value);
		if (r < 0)
			return r;
	}
	r = make_steps(t, &a);
	if (r == 0)
		r = APPEND(t->all, t->room, t->n, a);
	return r < 0 ? r : 1;
}

static int compare_codes(const void *a, const void *b)
{
	const struct dwarf_abbrev *x = a, *y = b;

	return COMPARE(x->code, y->code) ?: COMPARE(x->attrs, y->attrs);
}

/* Reads a table. A table that is cut short is used as far as it goes. */
static int read_table(struct dwarf_abbrevs *t)
{
	struct span s = t->file->s[DWARF_ABBREV];
	const uint8_t *p, *end;
	int r;

	if (t->at >= s.n)
		return 0;
	p = s.p + t->at;
	end = s.p + s.n;
	do
		r = read_abbrev(t, &p, end);
	while (r > 0);
	if (r == -ENOMEM)
		return r;
	sort_array(t->all, t->n, sizeof(*t->all), compare_codes);
	return 0;
}

const struct dwarf_abbrev *dwarf_abbrev_of(const struct dwarf_abbrevs *t, uint64_t code)
{
	size_t from;

	if (code - 1 < t->n && t->all[code - 1].code == code)
		return &t->all[code - 1];
	from = search_first(i, 0, t->n, t->all[i].code < code);
	return from < t->n && t->all[from].code == code ? &t->all[from] : NULL;
}

/* ---- keeping ------------------------------------------------------------------------- */

void dwarf_abbrevs_drop(struct dwarf_abbrevs *t)
{
	if (!t || --t->users)
		return;
	free(t->all);
	free(t->attrs);
	free(t->steps);
	free(t);
}

int dwarf_abbrevs_get(struct dwarf_reader *r, const struct dwarf_file *f,
	const struct dwarf_head *h, struct dwarf_abbrevs **out)
{
	uint64_t hash = (h->abbrevs ^ (uintptr_t)f >> 4) * 0x9e3779b97f4a7c15;
	struct dwarf_abbrevs **slot = &r->tables[hash >> 32 & (DWARF_TABLES - 1)], *t = *slot;
	int result;

	if (!t || t->file != f || t->at != h->abbrevs || t->version != h->version ||
		t->addr_size != h->addr_size || t->off_size != h->off_size) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return -ENOMEM;
		t->file = f;
		t->at = h->abbrevs;
		t->version = (uint8_t)h->version;
		t->addr_size = h->addr_size;
		t->off_size = h->off_size;
		t->users = 1;
		/* Entries point at attributes even if the table has no attributes, so allocate one. */
		result = grow(&t->attrs, &t->attrs_room, 0, sizeof(*t->attrs));
		result = result < 0 ? result : read_table(t);
		if (result < 0) {
			dwarf_abbrevs_drop(t);
			return result;
		}
		dwarf_abbrevs_drop(*slot);
		*slot = t;
	}
	t->users++;
	*out = t;
	return 0;
}
