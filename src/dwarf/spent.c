/* Gives memory of .debug_info back, behind the units that were read, if no later unit can refer to them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "dwarf/forms.h"

#include <sys/mman.h>

#define EACH (4u << 20) /* fewer bytes are not worth a system call */

/* The offsets at which tables of abbreviations begin, in order. */
struct starts {
	uint64_t *at;
	size_t n, room;
};

/* Moves *p behind the attributes of one abbreviation. 1; 0: a value of it can lie in another unit; -EBADMSG. */
static int pass_attributes(const uint8_t **p, const uint8_t *end)
{
	uint64_t name, form;

	do {
		if (!take_uleb(p, end, &name) || !take_uleb(p, end, &form) ||
			(form == DW_FORM_implicit_const && !take_sleb(p, end, &(int64_t){0})))
			return -EBADMSG;
		if (form == DW_FORM_ref_addr || form == DW_FORM_indirect)
			return 0;
	} while (name || form);
	return 1;
}

/* Reads all tables, one after the other. Returns as pass_attributes(); -ENOMEM. */
static int pass_tables(struct span all, struct starts *s)
{
	const uint8_t *p = all.p, *end = all.p + all.n;
	bool begins = true;
	uint64_t v;
	int r = 1;

	while (r > 0 && p < end) {
		if (begins && grow(&s->at, &s->room, s->n, sizeof(*s->at)) < 0)
			return -ENOMEM;
		if (begins)
			s->at[s->n++] = (uint64_t)(p - all.p);
		if (!take_uleb(&p, end, &v))
			return -EBADMSG;
		begins = !v;
		if (begins)
			continue;
		if (!take_uleb(&p, end, &v) || p == end)
			return -EBADMSG;
		p++;
		r = pass_attributes(&p, end);
	}
	return r;
}

bool dwarf_units_are_apart(const struct dwarf_file *f)
{
	struct starts s = {0};
	bool apart = pass_tables(f->s[DWARF_ABBREV], &s) > 0;

	/* A table that begins within another one can have other forms. */
	for (size_t i = 0; apart && i < f->n_units; i++)
		apart = f->units[i].abbrevs >= f->s[DWARF_ABBREV].n || (s.n && bsearch(&f->units[i].abbrevs, s.at,
			s.n, sizeof(*s.at), compare_u64));
	free(s.at);
	return apart;
}

void dwarf_spend(struct dwarf_file *f, uint64_t end)
{
	size_t to = (size_t)end & ~((size_t)sysconf(_SC_PAGESIZE) - 1);

	if (!f->mapped[DWARF_INFO] || to < f->spent + EACH)
		return;
	madvise((void *)(uintptr_t)(f->s[DWARF_INFO].p + f->spent), to - f->spent, MADV_DONTNEED);
	f->spent = to;
}
