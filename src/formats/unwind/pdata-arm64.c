/* Reads the unwind tables of PE files for arm64: each function has a word that describes a usual prolog ("packed"),
 * or a list with a code for each instruction of its prolog, and others for its epilogs. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/util.h"
#include "formats/unwind/entries.h"

enum {
	FP = 29, LR = 30, SP = 31, INSTRUCTION = 4, FIRST_SAVED = 19, LAST_SAVED = 30, D0 = 64,
	PACKED = 1, PACKED_WITHOUT_PROLOG = 2,
	STEPS_MOST = 64 /* instructions of a prolog; compilers need some 20 */
};

/* What an instruction of a prolog does. */
enum step_kind {
	STEP_NONE, STEP_SAVE, STEP_NEXT, STEP_FRAME, STEP_END, STEP_END_CHAINED, STEP_MACHINE, STEP_UNKNOWN
};

struct step {
	enum step_kind kind;
	unsigned reg, and; /* saved registers, by their numbers in DWARF; `and` is 0: only one */
	int64_t alloc;	   /* bytes by which it lowers the stack pointer at first */
	int64_t off;	   /* from the new stack pointer, to where the registers are, or the frame pointer points */
};

/* The rules after a step. */
struct state {
	struct unwind_rule cfa, ra, saved[LAST_SAVED - FIRST_SAVED];
};

/* A prolog, or an epilog as the prolog that it undoes. */
struct steps {
	struct step all[STEPS_MOST]; /* in order of time */
	unsigned n, own;	     /* the last `own` ones are instructions of this part of the function */
	struct state states[STEPS_MOST + 1]; /* before the first step, and after each one */
	enum unwind_gap why;	     /* they could not be read */
};

/* The record in .xdata. */
struct record {
	uint32_t size; /* bytes of the function */
	struct span codes, scopes; /* bytes; words that describe epilogs */
	bool single; /* there is one epilog, at the end of the function, and no scope */
	uint32_t index; /* its first code */
};

/* ---- codes ---------------------------------------------------------------------------- */

static unsigned size_of(uint8_t code)
{
	static const uint8_t high[32] = {[0x00] = 4, 1, 2, 1, 1, 1, 1, 3, [0x18] = 2, 3, 4, 5};

	if (code < 0xc0)
		return 1;
	if (code < 0xe0)
		return 2;
	return high[code - 0xe0] ? high[code - 0xe0] : 1;
}

static struct step saves(unsigned reg, unsigned and, int64_t alloc, int64_t off)
{
	return (struct step){.kind = STEP_SAVE, .reg = reg, .and = and, .alloc = alloc, .off = off};
}

/* The codes of two bytes. */
static struct step decode_two(unsigned w)
{
	unsigned x = w >> 6 & 15, z = w & 63;

	switch (w >> 8) {
	case 0xc0: case 0xc1: case 0xc2: case 0xc3: case 0xc4: case 0xc5: case 0xc6: case 0xc7:
		return (struct step){.alloc = 16 * (int64_t)(w & 0x7ff)};
	case 0xc8: case 0xc9: case 0xca: case 0xcb:
		return saves(19 + x, 20 + x, 0, 8 * (int64_t)z);
	case 0xcc: case 0xcd: case 0xce: case 0xcf:
		return saves(19 + x, 20 + x, 8 * (int64_t)z + 8, 0);
	case 0xd0: case 0xd1: case 0xd2: case 0xd3:
		return saves(19 + x, 0, 0, 8 * (int64_t)z);
	case 0xd4: case 0xd5:
		return saves(19 + (w >> 5 & 15), 0, 8 * (int64_t)(w & 31) + 8, 0);
	case 0xd6: case 0xd7:
		return saves(19 + 2 * (x & 7), LR, 0, 8 * (int64_t)z);
	case 0xd8: case 0xd9:
		return saves(D0 + 8 + (x & 7), D0 + 9 + (x & 7), 0, 8 * (int64_t)z);
	case 0xda: case 0xdb:
		return saves(D0 + 8 + (x & 7), D0 + 9 + (x & 7), 8 * (int64_t)z + 8, 0);
	case 0xdc: case 0xdd:
		return saves(D0 + 8 + (x & 7), 0, 0, 8 * (int64_t)z);
	case 0xde:
		return saves(D0 + 8 + (w >> 5 & 7), 0, 8 * (int64_t)(w & 31) + 8, 0);
	case 0xe2:
		return (struct step){.kind = STEP_FRAME, .off = 8 * (int64_t)(w & 255)};
	default: /* vectors of a variable length */
		return (struct step){.kind = STEP_UNKNOWN};
	}
}

/* The code at `p`, of which all bytes are there. */
static struct step decode(const uint8_t *p)
{
	unsigned c = *p;

	if (c < 0x20)
		return (struct step){.alloc = 16 * (int64_t)c};
	if (c < 0x40)
		return saves(19, 20, 8 * (int64_t)(c & 31), 0);
	if (c < 0x80)
		return saves(FP, LR, 0, 8 * (int64_t)(c & 63));
	if (c < 0xc0)
		return saves(FP, LR, 8 * (int64_t)(c & 63) + 8, 0);
	switch (c) {
	case 0xe0:
		return (struct step){.alloc = 16 * (int64_t)((unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3])};
	case 0xe1:
		return (struct step){.kind = STEP_FRAME};
	case 0xe3: /* nop */
	case 0xfc: /* the return address is signed, which walkers undo by themselves */
		return (struct step){0};
	case 0xe4:
		return (struct step){.kind = STEP_END};
	case 0xe5:
		return (struct step){.kind = STEP_END_CHAINED};
	case 0xe6:
		return (struct step){.kind = STEP_NEXT};
	case 0xe8: case 0xe9: case 0xea: case 0xeb: /* frames of interrupts */
		return (struct step){.kind = STEP_MACHINE};
	default:
		return size_of((uint8_t)c) == 2 ? decode_two(c << 8 | p[1]) : (struct step){.kind = STEP_UNKNOWN};
	}
}

static bool failed(struct steps *s, enum unwind_gap why)
{
	s->why = why;
	return false;
}

/* Reads the codes from `index` on. They are in the order of unwinding, and those behind the end of a chain are of
 * another part of the function. */
static bool read_codes(struct steps *s, struct span codes, uint32_t index)
{
	bool own = true;

	for (s->n = s->own = 0;;) {
		struct step *to = &s->all[s->n];
		const uint8_t *p = span_at(codes, index, 1);

		if (!p || !span_at(codes, index, size_of(*p)) || s->n == STEPS_MOST)
			return failed(s, UNWIND_GAP_BROKEN);
		*to = decode(p);
		index += size_of(*p);
		if (to->kind == STEP_MACHINE || to->kind == STEP_UNKNOWN)
			return failed(s, to->kind == STEP_MACHINE ? UNWIND_GAP_CFA : UNWIND_GAP_UNKNOWN);
		if (to->kind == STEP_END)
			break;
		if (to->kind == STEP_END_CHAINED) {
			own = false;
			continue;
		}
		s->n++;
		s->own += own;
	}
	for (unsigned i = 0; i < s->n / 2; i++) {
		struct step kept = s->all[i];

		s->all[i] = s->all[s->n - 1 - i];
		s->all[s->n - 1 - i] = kept;
	}
	return true;
}

/* ---- the packed form ------------------------------------------------------------------ */

struct packed {
	unsigned reg_f, reg_i, cr;
	bool homes;
	int64_t ints, floats, saved, local; /* bytes; `saved` is all but the local variables */
};

static struct packed unpack(uint32_t w)
{
	struct packed p = {.reg_f = w >> 13 & 7, .reg_i = w >> 16 & 15, .homes = w >> 20 & 1, .cr = w >> 21 & 3};

	p.ints = 8 * (int64_t)(p.reg_i + (p.cr == 1));
	p.floats = p.reg_f ? 8 * (int64_t)(p.reg_f + 1) : 0;
	p.saved = (p.ints + p.floats + (p.homes ? 64 : 0) + 15) & ~(int64_t)15;
	p.local = 16 * (int64_t)(w >> 23) - p.saved;
	return p;
}

/* The first instruction that stores makes room for all of `saved`. */
static void add_step(struct steps *s, struct packed *p, struct step one)
{
	if (one.kind == STEP_SAVE && one.alloc == 0 && p->saved) {
		one.alloc = p->saved;
		p->saved = 0;
	}
	s->all[s->n++] = one;
}

static void add_integers(struct steps *s, struct packed *p)
{
	unsigned i = 0;

	for (; i + 1 < p->reg_i; i += 2)
		add_step(s, p, saves(19 + i, 20 + i, 0, 8 * (int64_t)i));
	if (i < p->reg_i)
		add_step(s, p, saves(19 + i, p->cr == 1 ? LR : 0, 0, 8 * (int64_t)i));
	else if (p->cr == 1)
		add_step(s, p, saves(LR, 0, 0, p->ints - 8));
}

static void add_floats(struct steps *s, struct packed *p)
{
	unsigned n = p->reg_f ? p->reg_f + 1 : 0;

	for (unsigned i = 0; i < n; i += 2)
		add_step(s, p, saves(D0 + 8 + i, i + 1 < n ? D0 + 9 + i : 0, 0, p->ints + 8 * (int64_t)i));
}

/* Local variables, and the frame record below them. */
static void add_locals(struct steps *s, const struct packed *p)
{
	bool chained = p->cr >= 2;
	int64_t first = MIN(p->local, (int64_t)4080);

	if (chained && p->local <= 512) {
		s->all[s->n++] = saves(FP, LR, p->local, 0);
	} else {
		if (first)
			s->all[s->n++] = (struct step){.alloc = first};
		if (p->local > first)
			s->all[s->n++] = (struct step){.alloc = p->local - first};
		if (chained)
			s->all[s->n++] = saves(FP, LR, 0, 0);
	}
	if (chained)
		s->all[s->n++] = (struct step){.kind = STEP_FRAME};
}

static bool read_packed(struct steps *s, uint32_t w)
{
	struct packed p = unpack(w);

	s->n = 0;
	if (p.local < 0 || p.reg_i > 10 || (p.cr >= 2 && p.local < 16))
		return failed(s, UNWIND_GAP_BROKEN);
	if (p.cr == 2) /* the return address is signed */
		s->all[s->n++] = (struct step){0};
	add_integers(s, &p);
	add_floats(s, &p);
	for (unsigned i = 0; p.homes && i < 4; i++) /* stores arguments */
		add_step(s, &p, saves(0, 1, 0, 0));
	add_locals(s, &p);
	s->own = (w & 3) == PACKED ? s->n : 0;
	return true;
}

/* ---- rules ---------------------------------------------------------------------------- */

static void save(struct state *to, unsigned reg, int64_t off)
{
	struct unwind_rule r = {.kind = UNWIND_AT, .off = off};

	if (reg == LR)
		to->ra = r;
	else if (reg >= FIRST_SAVED && reg < LAST_SAVED)
		to->saved[reg - FIRST_SAVED] = r;
}

/* Whether `last` saved a pair that another pair can follow. */
static bool has_next(const struct step *last)
{
	return last && last->and == last->reg + 1 && (last->reg >= D0 ? last->reg < D0 + 13 : last->reg + 3 < FP);
}

static bool run_steps(struct steps *s)
{
	struct state now = {.cfa = {.kind = UNWIND_REGISTER, .reg = SP}, .ra = {.reg = LR}};
	struct step *last = NULL;
	int64_t depth = 0;
	bool framed = false;

	s->states[0] = now;
	for (unsigned i = 0; i < s->n; i++) {
		struct step *step = &s->all[i];

		if (step->kind == STEP_NEXT) {
			if (!has_next(last))
				return failed(s, UNWIND_GAP_BROKEN);
			*step = saves(last->reg + 2, last->and + 2, 0, last->off + 16);
		}
		depth += step->alloc;
		if (!framed)
			now.cfa.off = depth;
		if (step->kind == STEP_SAVE) {
			if (step->reg < D0 && (step->reg > LR || step->and > LR))
				return failed(s, UNWIND_GAP_BROKEN);
			save(&now, step->reg, step->off - depth);
			if (step->and)
				save(&now, step->and, step->off + 8 - depth);
			last = step;
		} else if (step->kind == STEP_FRAME) {
			framed = true;
			now.cfa.reg = FP;
			now.cfa.off = depth - step->off;
		} else if (step->alloc) { /* what follows is not beside the last pair */
			last = NULL;
		}
		s->states[i + 1] = now;
	}
	return true;
}

/* ---- rows ----------------------------------------------------------------------------- */

struct out {
	const struct unwind_entry *e;
	struct unwind_text *to;
	uint64_t at; /* the end of what is written */
	struct unwind_row row;
};

static void write_state(struct out *o, uint64_t to, const struct state *s)
{
	to = MIN(to, o->e->end);
	if (to <= o->at)
		return;
	o->row.cfa = s->cfa;
	o->row.ra = s->ra;
	memcpy(o->row.regs + FIRST_SAVED, s->saved, sizeof(s->saved));
	unwind_row(o->to, o->at, to, &o->row);
	o->at = to;
}

/* Each step undoes an instruction of the prolog; the return follows them. */
static void write_epilog(struct out *o, const struct steps *s)
{
	for (unsigned i = 0; i <= s->own; i++)
		write_state(o, o->at + INSTRUCTION, &s->states[s->n - i]);
}

/* Writes what is before the nth epilog, and its rows. False: the epilog is broken, or not behind the one before. */
static bool write_nth(struct out *o, const struct state *body, const struct record *x, size_t i)
{
	uint32_t scope = x->single ? 0 : le32(x->scopes.p + 4 * i), from = INSTRUCTION * (scope & 0x3ffff);
	struct steps epilog;

	if (!x->single && (o->e->start + from < o->at || o->e->start + from >= o->e->end))
		return false;
	if (!read_codes(&epilog, x->codes, x->single ? x->index : scope >> 22) || !run_steps(&epilog))
		return false;
	if (x->single) { /* it ends with the function */
		from = INSTRUCTION * (epilog.own + 1);
		if (from > x->size || o->e->start + (x->size - from) < o->at)
			return false;
		from = x->size - from;
	}
	write_state(o, o->e->start + from, body);
	write_epilog(o, &epilog);
	return true;
}

/* Writes the rows from the prolog to the end of the function, which hold everywhere if each epilog can be read. A
 * packed word does not describe the epilog. */
static void write_rows(struct out *o, const struct steps *prolog, const struct record *x)
{
	const struct state *body = &prolog->states[prolog->n];
	size_t n = !x ? 0 : x->single ? 1 : x->scopes.n / 4;
	bool whole = x;

	for (unsigned i = prolog->own; i; i--)
		write_state(o, o->at + INSTRUCTION, &prolog->states[prolog->n - i]);
	for (size_t i = 0; i < n; i++)
		whole = write_nth(o, body, x, i) && whole;
	write_state(o, o->e->end, body);
	unwind_text_counts(o->to)->at_calls += !whole;
}

/* ---- entries -------------------------------------------------------------------------- */

static bool read_record(const struct image *m, struct image_section *last, uint32_t rva, struct record *out)
{
	struct span s = image_at(m, last, rva);
	size_t words, scopes, at = 4;
	uint32_t w;

	if (s.n < 4)
		return false;
	w = le32(s.p);
	if (w >> 18 & 3) /* the version */
		return false;
	words = w >> 27;
	scopes = w >> 22 & 31;
	out->size = INSTRUCTION * (w & 0x3ffff);
	out->single = w >> 21 & 1;
	if (!words && !scopes) {
		if (s.n < 8)
			return false;
		scopes = le16(s.p + 4);
		words = s.p[6];
		at = 8;
	}
	out->index = (uint32_t)scopes;
	scopes = out->single ? 0 : scopes;
	if (s.n - at < 4 * (scopes + words))
		return false;
	out->scopes = (struct span){s.p + at, 4 * scopes};
	out->codes = (struct span){s.p + at + 4 * scopes, 4 * words};
	return true;
}

void unwind_write_arm64(const struct unwind_entries *l, const struct unwind_entry *e, struct unwind_text *to)
{
	struct out o = {.e = e, .to = to, .at = e->start, .row = {.ra_column = LR}};
	struct image_section last = {0};
	struct steps prolog = {.why = UNWIND_GAP_BROKEN};
	struct record x = {0};
	bool full = !(e->info & 3), ok;

	if (full)
		ok = read_record(l->image, &last, e->info, &x) && read_codes(&prolog, x.codes, 0);
	else
		ok = (e->info & 3) <= PACKED_WITHOUT_PROLOG && read_packed(&prolog, e->info);
	if (ok && run_steps(&prolog))
		write_rows(&o, &prolog, full ? &x : NULL);
	else
		unwind_gap(to, e->start, prolog.why);
}

uint32_t unwind_size_arm64(const struct image *m, struct image_section *last, uint32_t info)
{
	struct record x;

	if (info & 3)
		return INSTRUCTION * (info >> 2 & 0x7ff);
	/* a record that cannot be read is a gap, of any size */
	return read_record(m, last, info, &x) ? x.size : INSTRUCTION;
}
