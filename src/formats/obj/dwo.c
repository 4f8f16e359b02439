/* Reads ids of split units. A skeleton unit in a program and the unit that was split off have the same id.
 * DWARF 5 has the id in the header of the unit. GNU's extension of DWARF 4 has it in the first entry (DIE). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/dwo.h"
#include "base/bytes.h"
#include "base/util.h"

#include <errno.h>

#define SLOTS_MOST (1u << 22)
#define UNITS_MOST 4096	   /* units that are read: type units may come first */
#define ENTRY_MOST 512	   /* bytes of a unit's header and first entry; most attributes are references */
#define ABBREVS_MOST 16384 /* bytes of abbreviations, up to that of the first entry */

enum {
	DW_UT_split_compile = 5, DW_AT_GNU_dwo_id = 0x2131, DW_FORM_implicit_const = 0x21,
	DW_FORM_GNU_addr_index = 0x1f01, DW_FORM_GNU_str_index = 0x1f02
};

struct bytes {
	const uint8_t *p, *end;
	bool big;
	bool bad; /* the bytes end too early */
};

static uint64_t take_number(struct bytes *b, unsigned n)
{
	if ((size_t)(b->end - b->p) < n) {
		b->bad = true;
		return 0;
	}
	b->p += n;
	return load_number(b->p - n, n, b->big);
}

static uint64_t take_leb(struct bytes *b)
{
	uint64_t v = 0;

	for (unsigned shift = 0; b->p < b->end; shift += 7) {
		uint8_t c = *b->p++;

		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return v;
	}
	b->bad = true;
	return 0;
}

/* Reads up to `n` bytes at offset `at` of a section, fewer at its end. 0; -EAGAIN, -EIO. */
static int fill(struct view *v, struct dwo_range s, uint64_t at, uint8_t *room, size_t n, struct bytes *out)
{
	int r;

	n = at < s.size ? (size_t)MIN(n, s.size - at) : 0;
	r = n && s.off <= UINT64_MAX - at ? view_read(v, s.off + at, room, n) : 0;
	out->p = room;
	out->end = room + (r == 0 ? n : 0);
	out->bad = false;
	return r == -ENODATA ? 0 : r;
}

/* ---- the first entry ---------------------------------------------------------------------- */

/* Skips the value of an attribute. False: compilers do not use the form in the first entry of a unit. */
static bool pass(struct bytes *b, uint64_t form, unsigned off_size, unsigned addr_size)
{
	switch (form) {
	case 0x19: /* flag_present */
	case DW_FORM_implicit_const:
		return true;
	case 0x0b: /* data1, flag */
	case 0x0c:
		take_number(b, 1);
		return true;
	case 0x05: /* data2 */
		take_number(b, 2);
		return true;
	case 0x06: /* data4 */
		take_number(b, 4);
		return true;
	case 0x07: /* data8 */
		take_number(b, 8);
		return true;
	case 0x01: /* addr */
		take_number(b, addr_size);
		return true;
	case 0x0e: /* strp, sec_offset */
	case 0x17:
		take_number(b, off_size);
		return true;
	case 0x0d: /* sdata, udata */
	case 0x0f:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		take_leb(b);
		return true;
	case 0x08: /* string */
		while (!b->bad && take_number(b, 1))
			;
		return true;
	default:
		return false;
	}
}

/* Finds the abbreviation of a code, and moves `a` behind its tag and its children flag. False: not found. */
static bool find_abbrev(struct bytes *a, uint64_t code)
{
	while (!a->bad) {
		uint64_t own = take_leb(a);

		if (!own)
			return false;
		take_leb(a);
		take_number(a, 1);
		if (own == code)
			return !a->bad;
		for (uint64_t name = 1, form = 1; !a->bad && (name || form);) {
			name = take_leb(a);
			form = take_leb(a);
			if (form == DW_FORM_implicit_const)
				take_leb(a);
		}
	}
	return false;
}

static uint64_t id_of_entry(struct bytes *d, struct bytes *a, unsigned off_size, unsigned addr_size)
{
	if (!find_abbrev(a, take_leb(d)))
		return 0;
	while (!a->bad && !d->bad) {
		uint64_t name = take_leb(a), form = take_leb(a), id;

		if (!name && !form)
			return 0;
		if (form == DW_FORM_implicit_const)
			take_leb(a);
		if (name == DW_AT_GNU_dwo_id && form == 7) {
			id = take_number(d, 8);
			return d->bad ? 0 : id;
		}
		if (!pass(d, form, off_size, addr_size))
			return 0;
	}
	return 0;
}

/* ---- units ---------------------------------------------------------------------------- */

static int id_of_old(struct view *v, const struct dwo_sections *s, struct bytes *d, unsigned off_size, uint64_t *out)
{
	struct bytes a = {.big = s->big};
	uint8_t room[ABBREVS_MOST];
	uint64_t abbrevs = take_number(d, off_size), addr_size = take_number(d, 1);
	int r = d->bad ? 0 : fill(v, s->abbrev, abbrevs, room, sizeof(room), &a);

	if (r == 0 && !d->bad)
		*out = id_of_entry(d, &a, off_size, (unsigned)MIN(addr_size, 8));
	return r;
}

static int id_of_units(struct view *v, const struct dwo_sections *s, uint64_t *out)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < UNITS_MOST && at < s->info.size; i++) {
		struct bytes d = {.big = s->big};
		unsigned off_size = 4;
		uint8_t room[ENTRY_MOST];
		uint64_t length, version, head;
		int r = fill(v, s->info, at, room, sizeof(room), &d);

		if (r < 0)
			return r;
		length = take_number(&d, 4);
		if (length == UINT32_MAX) {
			length = take_number(&d, 8);
			off_size = 8;
		}
		head = (uint64_t)(d.p - room);
		version = take_number(&d, 2);
		if (d.bad || !length || length > s->info.size - at)
			return 0;
		if (version < 5)
			return id_of_old(v, s, &d, off_size, out);
		if (take_number(&d, 1) == DW_UT_split_compile) {
			take_number(&d, 1 + off_size);
			*out = take_number(&d, 8);
			*out = d.bad ? 0 : *out;
			return 0;
		}
		at += head + length;
	}
	return 0;
}

/* ---- packages ------------------------------------------------------------------------- */

/* The hash table has more slots than units; an empty slot has the id 0. */
static int id_of_package(struct view *v, const struct dwo_sections *s, uint64_t *out)
{
	struct bytes b = {.big = s->big};
	uint8_t room[4096];
	uint64_t slots, lowest = 0;
	int r = fill(v, s->index, 0, room, 16, &b);

	take_number(&b, 12);
	slots = take_number(&b, 4);
	if (r < 0 || b.bad || slots > SLOTS_MOST || 16 + slots * 12 > s->index.size)
		return r;
	for (uint64_t at = 16; at < 16 + slots * 8; at += sizeof(room)) {
		r = fill(v, s->index, at, room, (size_t)MIN(sizeof(room), 16 + slots * 8 - at), &b);
		if (r == -EAGAIN)
			view_want(v, s->index.off, 16 + slots * 8);
		if (r < 0)
			return r;
		while (b.p < b.end) {
			uint64_t id = take_number(&b, 8);

			if (id && (!lowest || id < lowest))
				lowest = id;
		}
	}
	*out = lowest;
	return 0;
}

int dwo_id_of(struct view *v, const struct dwo_sections *s, uint64_t *out)
{
	*out = 0;
	return s->index.size ? id_of_package(v, s, out) : s->info.size ? id_of_units(v, s, out) : 0;
}
