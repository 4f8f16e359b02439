/* Reads the address ranges of an entry: .debug_ranges and .debug_rnglists. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "dwarf/forms.h"

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

	return take_uleb(&l->p, l->end, &i) && dwarf_address_by_index(l->u, i, out);
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
		if (!dwarf_address(u, &d->v[AT_LOW], &low))
			return -EBADMSG;
		if (!dwarf_address(u, &d->v[AT_HIGH], &high)) {
			if (!dwarf_number(&d->v[AT_HIGH], &high))
				return -EBADMSG;
			high += low;
		}
		return add_range(out, low, high);
	}
	return die_has(d, AT_RANGES) ? listed_ranges(u, &d->v[AT_RANGES], out) : 0;
}
