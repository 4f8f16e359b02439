/* Reads entries, and decodes their values: texts, addresses, address ranges, numbers, references. Opens units by
 * their first entry. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "formats/dwarf/forms.h"

/* ---- entries -------------------------------------------------------------------------- */

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

static bool address_by_index(const struct dwarf_unit *u, uint64_t i, uint64_t *out)
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

static bool address_of(const struct dwarf_unit *u, const struct dwarf_value *v, uint64_t *out)
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
		return address_by_index(u, v->v, out);
	case DW_FORM_LLVM_addrx_offset:
		if (!address_by_index(u, (uint32_t)v->v, out))
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

/* ---- units --------------------------------------------------------------------------- */

static uint64_t number_or(const struct dwarf_die *d, enum dwarf_field f, uint64_t otherwise)
{
	uint64_t v;

	return die_has(d, f) && dwarf_number(&d->v[f], &v) ? v : otherwise;
}

/* Bases come first: without them the texts and addresses of the same entry have no meaning. */
static void set_bases(struct dwarf_unit *u, const struct dwarf_die *root)
{
	const struct dwarf_unit *skeleton = u->skeleton;
	unsigned head = u->head->off_size == 8 ? 16 : 8;
	bool split = u->file->dwo && u->head->version >= 5;

	u->str_offsets = u->file->s[DWARF_STR_OFFSETS];
	u->rnglists = u->file->s[DWARF_RNGLISTS];
	u->str_base = number_or(root, AT_STR_BASE, split ? head : 0);
	u->rnglists_base = number_or(root, AT_RNGLISTS_BASE, split ? head + 4 : 0);
	u->addr_base = skeleton ? skeleton->addr_base : number_or(root, AT_ADDR_BASE, 0);
	/* Only the split unit uses the ranges base of the skeleton. */
	u->ranges_base = skeleton ? skeleton->ranges_base : 0;
}

static const char *text_or(const struct dwarf_unit *u, const struct dwarf_die *d,
	enum dwarf_field f, const char *otherwise)
{
	const char *s = die_has(d, f) ? dwarf_text(u, &d->v[f]) : NULL;

	return s ? s : otherwise;
}

static void set_rest(struct dwarf_unit *u, const struct dwarf_die *root)
{
	const struct dwarf_unit *skeleton = u->skeleton;

	u->tag = root->abbrev->tag;
	u->children = root->abbrev->children ? root->next : 0;
	u->language = (unsigned)number_or(root, AT_LANGUAGE, 0);
	u->comp_dir = text_or(u, root, AT_COMP_DIR, skeleton ? skeleton->comp_dir : "");
	u->dwo_name = text_or(u, root, AT_DWO_NAME, NULL);
	u->dwo_id = u->head->version >= 5 ? u->head->id : number_or(root, AT_DWO_ID, 0);
	u->has_lines = die_has(root, AT_LINES);
	u->lines = number_or(root, AT_LINES, 0);
	if (!die_has(root, AT_LOW) || !address_of(u, &root->v[AT_LOW], &u->low))
		u->low = 0;
	if (skeleton) {
		u->low = skeleton->low;
		u->has_lines = skeleton->has_lines;
		u->lines = skeleton->lines;
	}
}

int dwarf_unit_open(struct dwarf_unit *u, struct dwarf_reader *r, const struct dwarf_file *f,
	const struct dwarf_head *h, const struct dwarf_unit *skeleton)
{
	struct dwarf_die root;
	int result;

	memset(u, 0, sizeof(*u));
	u->file = f;
	u->main = skeleton ? skeleton->main : f;
	u->head = h;
	u->skeleton = skeleton;
	if (!h->first)
		return -EBADMSG;
	result = dwarf_abbrevs_get(r, f, h, &u->abbrevs);
	if (result < 0)
		return result;
	if (!dwarf_die_at(u, h->first, &root)) {
		dwarf_unit_close(u);
		return -EBADMSG;
	}
	set_bases(u, &root);
	set_rest(u, &root);
	/* The ranges base in a skeleton of version 4 is for its split unit only. */
	if (!skeleton && u->dwo_name)
		u->ranges_base = number_or(&root, AT_GNU_RANGES_BASE, 0);
	return 0;
}

void dwarf_unit_close(struct dwarf_unit *u)
{
	dwarf_abbrevs_drop(u->abbrevs);
	u->abbrevs = NULL;
}

void dwarf_reader_release(struct dwarf_reader *r)
{
	for (unsigned i = 0; i < DWARF_FOREIGN; i++) {
		if (!r->foreign[i])
			continue;
		dwarf_unit_close(&r->foreign[i]->unit);
		free(r->foreign[i]->scopes.all);
		free(r->foreign[i]);
	}
	for (unsigned i = 0; i < DWARF_TABLES; i++)
		dwarf_abbrevs_drop(r->tables[i]);
	memset(r, 0, sizeof(*r));
}

/* ---- address ranges of an entry: .debug_ranges and .debug_rnglists --------------------------- */

enum {
	DW_RLE_end = 0, DW_RLE_base_addressx = 1, DW_RLE_startx_endx = 2, DW_RLE_startx_length = 3,
	DW_RLE_offset_pair = 4, DW_RLE_base_address = 5, DW_RLE_start_end = 6,
	DW_RLE_start_length = 7
};

static int add_range(struct dwarf_ranges *out, uint64_t start, uint64_t end)
{
	if (start >= end)
		return 0;
	return APPEND(out->all, out->room, out->n, (struct dwarf_range){start, end});
}

static bool spend(const struct dwarf_file *f, int64_t bytes)
{
	struct dwarf_file *own = (struct dwarf_file *)f; /* the budget changes, but not what the file contains */

	return atomic_fetch_sub_explicit(&own->budget, bytes, memory_order_relaxed) >= bytes;
}

/* Reads .debug_ranges, used until version 4. Split units use the section of the linked file. */
static int old_ranges(const struct dwarf_unit *u, uint64_t off, struct dwarf_ranges *out)
{
	unsigned size = u->head->addr_size;
	uint64_t top = size == 8 ? UINT64_MAX : (1ull << 8 * size) - 1, base = u->low;
	struct span s = u->main->s[DWARF_RANGES];
	const uint8_t *p;
	int r = 0;

	for (; r == 0 && (p = span_at(s, off, 2 * size)); off += 2 * size) {
		uint64_t start = load_sized(p, size, u->main->swap),
			 end = load_sized(p + size, size, u->main->swap);

		if (!spend(u->main, 2 * size))
			return -E2BIG;
		if (!start && !end)
			return 0;
		if (start == top)
			base = end;
		else
			r = add_range(out, (base + start) & top, (base + end) & top);
	}
	return r < 0 ? r : -EBADMSG;
}

struct rnglist {
	const struct dwarf_unit *u;
	const uint8_t *p, *end;
	uint64_t base;
};

static bool take_address(struct rnglist *l, uint64_t *out)
{
	unsigned size = l->u->head->addr_size;

	if ((size_t)(l->end - l->p) < size)
		return false;
	*out = load_sized(l->p, size, l->u->file->swap);
	l->p += size;
	return true;
}

static bool take_index(struct rnglist *l, uint64_t *out)
{
	uint64_t i;

	return take_uleb(&l->p, l->end, &i) && address_by_index(l->u, i, out);
}

/* Reads one entry of the list. 1: a range; 0: the end; 2: a base address; -EBADMSG. */
static int next_range(struct rnglist *l, uint64_t *start, uint64_t *end)
{
	bool ok = false;

	if (l->p == l->end)
		return -EBADMSG;
	switch (*l->p++) {
	case DW_RLE_end:
		return 0;
	case DW_RLE_base_addressx:
		return take_index(l, &l->base) ? 2 : -EBADMSG;
	case DW_RLE_base_address:
		return take_address(l, &l->base) ? 2 : -EBADMSG;
	case DW_RLE_startx_endx:
		ok = take_index(l, start) && take_index(l, end);
		break;
	case DW_RLE_startx_length:
		ok = take_index(l, start) && take_uleb(&l->p, l->end, end);
		*end += *start;
		break;
	case DW_RLE_offset_pair:
		ok = take_uleb(&l->p, l->end, start) && take_uleb(&l->p, l->end, end);
		*start += l->base;
		*end += l->base;
		break;
	case DW_RLE_start_end:
		ok = take_address(l, start) && take_address(l, end);
		break;
	case DW_RLE_start_length:
		ok = take_address(l, start) && take_uleb(&l->p, l->end, end);
		*end += *start;
		break;
	}
	return ok ? 1 : -EBADMSG;
}

static int new_ranges(const struct dwarf_unit *u, uint64_t off, struct dwarf_ranges *out)
{
	struct rnglist l = {.u = u, .base = u->low};
	uint64_t start = 0, end = 0;
	int r;

	if (off >= u->rnglists.n)
		return -EBADMSG;
	l.p = u->rnglists.p + off;
	l.end = u->rnglists.p + u->rnglists.n;
	while ((r = next_range(&l, &start, &end)) > 0) {
		if (!spend(u->file, 4))
			return -E2BIG;
		if (r == 1 && add_range(out, start, end) < 0)
			return -ENOMEM;
	}
	return r;
}

static int listed_ranges(
	const struct dwarf_unit *u, const struct dwarf_value *v, struct dwarf_ranges *out)
{
	unsigned size = u->head->off_size;
	const uint8_t *p;

	if (v->form == DW_FORM_rnglistx) {
		if (v->v > u->rnglists.n || u->rnglists_base > u->rnglists.n)
			return -EBADMSG;
		p = span_at(u->rnglists, u->rnglists_base + v->v * size, size);
		return p ? new_ranges(u, u->rnglists_base + load_sized(p, size, u->file->swap), out)
			 : -EBADMSG;
	}
	if (u->head->version >= 5)
		return new_ranges(u, v->v, out);
	return old_ranges(u, u->ranges_base + v->v, out);
}

int dwarf_die_ranges(const struct dwarf_unit *u, const struct dwarf_die *d,
	struct dwarf_ranges *out)
{
	uint64_t low, high;

	if (die_has(d, AT_LOW) && die_has(d, AT_HIGH)) {
		if (!address_of(u, &d->v[AT_LOW], &low))
			return -EBADMSG;
		if (!address_of(u, &d->v[AT_HIGH], &high)) {
			if (!dwarf_number(&d->v[AT_HIGH], &high))
				return -EBADMSG;
			high += low;
		}
		return add_range(out, low, high);
	}
	return die_has(d, AT_RANGES) ? listed_ranges(u, &d->v[AT_RANGES], out) : 0;
}
