/* Reads the unwind tables of PE files for x64: each function has a list of what its prolog does. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/little.h"
#include "base/util.h"
#include "formats/unwind/entries.h"

enum {
	PUSH_NONVOL, ALLOC_LARGE, ALLOC_SMALL, SET_FPREG, SAVE_NONVOL, SAVE_NONVOL_FAR, EPILOG, SPARE, SAVE_XMM128,
	SAVE_XMM128_FAR, PUSH_MACHFRAME, FLAG_CHAINED = 4, RSP = 7, RIP = 16, ENTRY = 12, ENTRY_ARM64 = 8,
	AMD64 = 0x8664, ARM64 = 0xaa64
};
#define CHAIN_MOST 32 /* parts of a function, each chained to the one before */

/* The numbers of registers in DWARF, by their numbers in instructions. */
static const uint8_t dwarf_of[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

struct codes {
	const uint8_t *p; /* two bytes each */
	unsigned n;
	unsigned frame_register, frame_off;
};

struct prolog {
	struct codes chain[CHAIN_MOST]; /* 0: that of the function itself; the next: of what it is chained to */
	unsigned n;
	int64_t depth; /* bytes from the CFA down to the stack pointer */
	bool framed;   /* the CFA is found by a frame register */
	bool machine;  /* the processor pushed a frame for an interrupt */
	struct unwind_row row;
};

static int compare_entries(const void *a, const void *b)
{
	const struct unwind_entry *x = a, *y = b;

	return COMPARE(x->start, y->start);
}

/* The slots of two bytes that a code has; 0: it is unknown. */
static unsigned slots_of(const uint8_t *code)
{
	switch (code[1] & 15) {
	case PUSH_NONVOL:
	case ALLOC_SMALL:
	case SET_FPREG:
	case PUSH_MACHFRAME:
		return 1;
	case ALLOC_LARGE:
		return code[1] >> 4 == 0 ? 2 : code[1] >> 4 == 1 ? 3 : 0;
	case SAVE_NONVOL:
	case SAVE_XMM128:
	case EPILOG:
		return 2;
	case SAVE_NONVOL_FAR:
	case SAVE_XMM128_FAR:
	case SPARE:
		return 3;
	default:
		return 0;
	}
}

/* Reads the codes at `info`, and those of the entries that they are chained to. */
static bool read_chain(const struct image *m, uint32_t info, struct prolog *p)
{
	struct image_section last = {0};

	for (p->n = 0; p->n < CHAIN_MOST;) {
		struct span s = image_at(m, &last, info);
		struct codes *c = &p->chain[p->n];
		size_t after;

		if (info & 1) { /* another entry, which has the codes */
			s = image_at(m, &last, info - 1);
			if (s.n < ENTRY || (le32(s.p + 8) & 1))
				return false;
			info = le32(s.p + 8);
			continue;
		}
		if (s.n < 4 || (s.p[0] & 7) < 1 || (s.p[0] & 7) > 2 || s.n < 4 + 2u * s.p[2])
			return false;
		*c = (struct codes){s.p + 4, s.p[2], s.p[3] & 15, s.p[3] >> 4};
		p->n++;
		if (!(s.p[0] >> 3 & FLAG_CHAINED))
			return true;
		after = 4 + 2u * ((c->n + 1) & ~1u);
		if (s.n < after + ENTRY)
			return false;
		info = le32(s.p + after + 8);
	}
	return false;
}

static int64_t alloc_of(const uint8_t *code)
{
	unsigned op = code[1] & 15;

	if (op == PUSH_NONVOL)
		return 8;
	if (op == ALLOC_SMALL)
		return 8 * (code[1] >> 4) + 8;
	if (op == ALLOC_LARGE)
		return code[1] >> 4 ? (int64_t)le32(code + 2) : 8 * (int64_t)le16(code + 2);
	return 0;
}

/* The offsets of the codes in order of time, which is the reverse of their order in the table. False: one is
 * unknown or cut short. */
static bool order_codes(const struct codes *c, uint8_t at[static 256], unsigned *n)
{
	unsigned found = 0;

	for (unsigned i = 0, slots; i < c->n; i += slots) {
		slots = slots_of(c->p + 2 * i);
		if (!slots || i + slots > c->n)
			return false;
		at[found++] = (uint8_t)i;
	}
	for (unsigned i = 0; i < found / 2; i++) {
		uint8_t kept = at[i];

		at[i] = at[found - 1 - i];
		at[found - 1 - i] = kept;
	}
	*n = found;
	return true;
}

/* The depth from which registers are saved upwards: that of the whole frame, or where the frame register was set. */
static int64_t base_depth(const struct codes *c, const uint8_t *at, unsigned n, int64_t depth)
{
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *code = c->p + 2 * at[i];

		if ((code[1] & 15) == SET_FPREG)
			return depth;
		depth += alloc_of(code);
	}
	return depth;
}

static void save(struct prolog *p, unsigned reg, int64_t off)
{
	p->row.regs[dwarf_of[reg & 15]] = (struct unwind_rule){.kind = UNWIND_AT, .off = off};
}

/* The effect of one code. */
static void run_code(struct prolog *p, const struct codes *c, const uint8_t *code, int64_t base)
{
	unsigned op = code[1] & 15, info = code[1] >> 4;

	p->depth += alloc_of(code);
	if (op == PUSH_NONVOL)
		save(p, info, -p->depth);
	else if (op == SAVE_NONVOL)
		save(p, info, 8 * (int64_t)le16(code + 2) - base);
	else if (op == SAVE_NONVOL_FAR)
		save(p, info, (int64_t)le32(code + 2) - base);
	else if (op == PUSH_MACHFRAME)
		p->machine = true;
	if (op == SET_FPREG) {
		p->framed = true;
		p->row.cfa.reg = dwarf_of[c->frame_register];
		p->row.cfa.off = p->depth - 16 * (int64_t)c->frame_off;
	} else if (!p->framed) {
		p->row.cfa.off = p->depth;
	}
}

/* Runs the codes of one part, and writes the rows of the part if `e` is not NULL. False: the codes are broken. */
static bool run_part(struct prolog *p, const struct codes *c, const struct unwind_entry *e, struct unwind_text *to)
{
	uint64_t from = e ? e->start : 0;
	uint8_t at[256];
	unsigned n = 0;
	int64_t base;

	if (!order_codes(c, at, &n))
		return false;
	base = base_depth(c, at, n, p->depth);
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *code = c->p + 2 * at[i];
		uint64_t next = e ? e->start + code[0] : 0;

		if ((code[1] & 15) == EPILOG)
			continue;
		if (e && next > from) {
			if (!p->machine)
				unwind_row(to, from, next, &p->row);
			from = next;
		}
		run_code(p, c, code, base);
	}
	if (e && !p->machine)
		unwind_row(to, from, e->end, &p->row);
	return true;
}

static void pdata_write(const struct unwind_entries *l, const struct unwind_entry *e, struct unwind_text *to)
{
	struct prolog p = {.depth = 8};
	bool sound = read_chain(l->image, e->info, &p);

	p.row.cfa = (struct unwind_rule){.kind = UNWIND_REGISTER, .reg = RSP, .off = 8};
	p.row.ra = (struct unwind_rule){.kind = UNWIND_AT, .off = -8};
	p.row.ra_column = RIP;
	for (unsigned i = p.n; sound && i--;)
		sound = run_part(&p, &p.chain[i], i ? NULL : e, to);
	if (!sound)
		unwind_gap(to, e->start, UNWIND_GAP_BROKEN);
	else if (p.machine)
		unwind_gap(to, e->start, UNWIND_GAP_CFA);
	else
		unwind_text_counts(to)->at_calls++;
}

/* An entry of x64 has start, end and the address of its codes; one of arm64 has no end. */
static int pdata_list(const struct image *m, struct span table, uint64_t base, struct unwind_entries *out)
{
	bool arm64 = m->machine == ARM64;
	size_t each = arm64 ? ENTRY_ARM64 : ENTRY, n = table.n / each;
	struct image_section last = {0};

	out->all = n ? malloc(n * sizeof(*out->all)) : NULL;
	if (!out->all)
		return n ? -ENOMEM : -ENODATA;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *p = table.p + i * each;
		uint32_t info = le32(p + each - 4);
		uint64_t start = le32(p), end = arm64 ? start + unwind_size_arm64(m, &last, info) : le32(p + 4);

		if (start < end)
			out->all[out->n++] = (struct unwind_entry){base + start, base + end, info};
	}
	out->write = arm64 ? unwind_write_arm64 : pdata_write;
	return 0;
}

int unwind_pdata(const struct image *m, struct unwind_entries *out)
{
	struct image_pe pe;
	int r;

	memset(out, 0, sizeof(*out));
	if (m->kind != IMAGE_COFF || !m->linked || (m->machine != AMD64 && m->machine != ARM64))
		return -ENODATA;
	image_pe(m, &pe);
	r = pdata_list(m, pe.unwind, pe.base, out);
	if (r < 0)
		return r;
	sort_array(out->all, out->n, sizeof(*out->all), compare_entries);
	out->image = m;
	out->base = pe.base;
	return 0;
}

void unwind_entries_release(struct unwind_entries *l)
{
	free(l->all);
	memset(l, 0, sizeof(*l));
}
