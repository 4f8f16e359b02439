/* Writes STACK CFI records. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/unwind/text.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/util.h"
#include "formats/unwind/expr.h"

#include <stdio.h>
#include <string.h>

#define OUT_ROOM (256u << 10)
/* A row has at most one rule of each register, its CFA and its return address. */
#define RULE_MOST (UNWIND_TEXT_MOST + 32)
#define ROW_MOST ((UNWIND_REGS_MOST + 2) * RULE_MOST + 64)
#define BODY_MOST (64u << 20) /* the records of one function */
#define PLT_MOST 65536	      /* entries of a procedure linkage table */

const char *const unwind_gap_names[UNWIND_GAPS] = {[UNWIND_GAP_CFA] = "cfa-expression",
	[UNWIND_GAP_REGISTER] = "register-without-name", [UNWIND_GAP_RA] = "return-address",
	[UNWIND_GAP_ROWS] = "too-many-rows", [UNWIND_GAP_BROKEN] = "broken",
	[UNWIND_GAP_UNKNOWN] = "unknown-instruction", [UNWIND_GAP_OUTSIDE] = "outside",
	[UNWIND_GAP_NONE] = "no-information"};

/* The records of a run of addresses without a gap are collected in `body`, because the first one has the length of
 * the run. */
struct unwind_text {
	struct unwind_text_opts o;
	struct unwind_counts counts;
	int r;
	uint64_t floor;		 /* the end of what is written */
	uint64_t end;		 /* of the function */
	bool open;
	uint64_t start;		 /* of the run */
	struct unwind_row force; /* the rules in force */
	char *body;
	size_t n, room;
	char cfa[RULE_MOST], ra[RULE_MOST]; /* texts of the new row; "": unchanged */
	size_t out_n;
	char out[OUT_ROOM];
};

int unwind_text_new(struct unwind_text **out, const struct unwind_text_opts *o)
{
	struct unwind_text *t = malloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	memset(t, 0, offsetof(struct unwind_text, out));
	t->o = *o;
	*out = t;
	return 0;
}

void unwind_text_free(struct unwind_text *t)
{
	if (t)
		free(t->body);
	free(t);
}

void unwind_text_arch(struct unwind_text *t, const struct unwind_arch *a)
{
	t->o.arch = a;
}

struct unwind_counts *unwind_text_counts(struct unwind_text *t)
{
	return &t->counts;
}

/* ---- numbers and words ---------------------------------------------------------------- */

static char *put(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static char *put_digits(char *at, uint64_t v, unsigned base)
{
	char room[24], *end = room + sizeof(room), *p = digits_back(end, v, base);

	return mempcpy(at, p, (size_t)(end - p));
}

static char *put_hex(char *at, uint64_t v)
{
	return put_digits(at, v, 16);
}

static char *put_number(char *at, int64_t v)
{
	if (v < 0)
		*at++ = '-';
	return put_digits(at, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10);
}

/* ---- rules ---------------------------------------------------------------------------- */

static char *put_cfa_plus(char *at, int64_t off)
{
	at = put_number(put(at, ".cfa "), off);
	return put(at, " +");
}

/* The text of a rule, or NULL if the records cannot say it; `own` is the register's name, `lost` the text of a value
 * that is lost. At most RULE_MOST bytes, less those of the register's name. */
static char *put_rule(const struct unwind_text *t, char *at, const struct unwind_rule *r, const char *own,
	const char *lost)
{
	char text[UNWIND_TEXT_MOST];
	const char *name;

	switch ((enum unwind_kind)r->kind) {
	case UNWIND_NONE:
	case UNWIND_SAME:
		return own ? put(at, own) : NULL;
	case UNWIND_UNDEFINED:
		return put(at, lost);
	case UNWIND_AT:
		return put(put_cfa_plus(at, r->off), " ^");
	case UNWIND_IS:
		return put_cfa_plus(at, r->off);
	case UNWIND_REGISTER:
		name = unwind_name(t->o.arch, r->reg);
		if (!name)
			return NULL;
		at = put(at, name);
		if (!r->off)
			return at;
		*at++ = ' ';
		return put(put_number(at, r->off), " +");
	case UNWIND_EXPR_AT:
	case UNWIND_EXPR_IS:
		if (unwind_expr(t->o.arch, r, t->o.big, true, text) < 0)
			return NULL;
		at = put(at, text);
		return r->kind == UNWIND_EXPR_AT ? put(at, " ^") : at;
	}
	return NULL;
}

static bool is_same(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return a->kind == b->kind && a->off == b->off && a->reg == b->reg && a->expr_len == b->expr_len &&
		(a->expr == b->expr || memcmp(a->expr, b->expr, a->expr_len) == 0);
}

/* The CFA: a register and a number, even if that is 0, or an expression. */
static bool say_cfa(struct unwind_text *t, const struct unwind_row *row)
{
	const char *name = unwind_name(t->o.arch, row->cfa.reg);
	char text[UNWIND_TEXT_MOST], *end = t->cfa;

	if (t->open && is_same(&t->force.cfa, &row->cfa))
		return true;
	if (row->cfa.kind == UNWIND_REGISTER && name)
		end = put(put_number(put(put(put(end, ".cfa: "), name), " "), row->cfa.off), " +");
	else if (row->cfa.kind == UNWIND_EXPR_IS && unwind_expr(t->o.arch, &row->cfa, t->o.big, false, text) >= 0)
		end = put(put(end, ".cfa: "), text);
	*end = '\0';
	return end != t->cfa;
}

/* A link register that the table does not mention still has the return address. */
static bool say_ra(struct unwind_text *t, const struct unwind_row *row)
{
	const char *own = t->o.arch->link ? unwind_name(t->o.arch, row->ra_column) : NULL;
	char *end;

	if (t->open && is_same(&t->force.ra, &row->ra) && t->force.ra_column == row->ra_column)
		return true;
	/* Both walkers end the stack at a return address below 4096. Breakpad's takes 0 for a rule that failed, and
	 * then searches the stack. */
	end = put_rule(t, put(t->ra, ".ra: "), &row->ra, own, "1");
	if (!end) {
		t->ra[0] = '\0';
		return false;
	}
	*end = '\0';
	return true;
}

static enum unwind_gap reason_of(const struct unwind_text *t, const struct unwind_rule *r, enum unwind_gap other)
{
	bool nameless = (r->kind == UNWIND_REGISTER || r->kind == UNWIND_NONE) && !unwind_name(t->o.arch, r->reg);

	return nameless ? UNWIND_GAP_REGISTER : other;
}

/* ---- records -------------------------------------------------------------------------- */

static int take_text(struct unwind_text *t, const char *p, size_t n)
{
	if (t->r == 0 && t->out_n + n > OUT_ROOM) {
		t->r = t->o.pass(t->o.ctx, t->out, t->out_n);
		t->out_n = 0;
	}
	if (t->r == 0 && n > OUT_ROOM) {
		t->r = t->o.pass(t->o.ctx, p, n);
	} else if (t->r == 0) {
		memcpy(t->out + t->out_n, p, n);
		t->out_n += n;
	}
	return t->r;
}

/* Ends the run at `to`. */
static void shut(struct unwind_text *t, uint64_t to)
{
	char head[64], *end;

	if (!t->open)
		return;
	t->open = false;
	t->floor = to;
	if (to == t->start)
		return;
	end = put_hex(put(head, "STACK CFI INIT "), t->start - t->o.base);
	*end++ = ' ';
	end = put_hex(end, to - t->start);
	take_text(t, head, (size_t)(end - head));
	take_text(t, t->body, t->n);
}

static char *room_for_row(struct unwind_text *t)
{
	size_t room = MAX(t->room * 2, (size_t)4 * ROW_MOST);
	char *body;

	if (t->n + ROW_MOST <= t->room)
		return t->body + t->n;
	body = room <= BODY_MOST ? realloc(t->body, room) : NULL;
	if (!body) {
		t->r = t->r ? t->r : room <= BODY_MOST ? -ENOMEM : -EFBIG;
		return NULL;
	}
	t->body = body;
	t->room = room;
	return body + t->n;
}

/* Appends the registers whose rules differ from those in force. */
static char *put_registers(struct unwind_text *t, char *at, const struct unwind_row *row)
{
	for (unsigned i = 0; i < t->o.arch->n; i++) {
		struct unwind_rule *old = &t->force.regs[i];
		const struct unwind_rule *new = &row->regs[i];
		const char *name = t->o.arch->names[i];
		char *end;

		if (!name || i == row->ra_column || is_same(old, new) ||
			(new->kind == UNWIND_NONE && old->kind == UNWIND_SAME))
			continue;
		*old = *new;
		if (new->kind == UNWIND_NONE) /* this undoes the rule of an earlier row */
			old->kind = UNWIND_SAME;
		*at++ = ' ';
		at = put(put(at, name), ": ");
		end = put_rule(t, at, new, name, ".undef");
		t->counts.lost += !end;
		/* One text for a rule that cannot be said: a walker then has no value of the register. */
		at = end ? end : put(at, ".undef");
	}
	return at;
}

/* A row that can be said. */
static void say(struct unwind_text *t, uint64_t from, const struct unwind_row *row)
{
	char *line = room_for_row(t), *at = line, *rules;

	if (!line)
		return;
	if (!t->open) {
		t->n = 0;
		line = at = t->body;
		t->start = from;
		memset(&t->force, 0, sizeof(t->force));
	} else {
		at = put_hex(put(at, "STACK CFI "), from - t->o.base);
	}
	rules = at;
	if (t->cfa[0]) {
		*at++ = ' ';
		at = put(at, t->cfa);
	}
	if (t->ra[0]) {
		*at++ = ' ';
		at = put(at, t->ra);
	}
	at = put_registers(t, at, row);
	t->force.cfa = row->cfa;
	t->force.ra = row->ra;
	t->force.ra_column = row->ra_column;
	t->open = true;
	if (at == rules) /* nothing has changed */
		return;
	*at++ = '\n';
	t->n += (size_t)(at - line);
}

static bool say_or_gap(struct unwind_text *t, uint64_t from, const struct unwind_row *row)
{
	t->cfa[0] = t->ra[0] = '\0';
	if (!say_cfa(t, row))
		unwind_gap(t, from, reason_of(t, &row->cfa, UNWIND_GAP_CFA));
	else if (!say_ra(t, row))
		unwind_gap(t, from, reason_of(t, &row->ra, UNWIND_GAP_RA));
	else
		say(t, from, row);
	return t->open;
}

/* A procedure linkage table has 16 bytes for each entry, with the same two rules. */
static bool say_plt(struct unwind_text *t, uint64_t from, uint64_t to, const struct unwind_row *row,
	const struct unwind_plt *plt)
{
	struct unwind_row one = *row;
	uint64_t at = from;

	if ((to - from) / 16 > PLT_MOST) {
		unwind_gap(t, from, UNWIND_GAP_ROWS);
		return false;
	}
	one.cfa = (struct unwind_rule){.kind = UNWIND_REGISTER, .reg = (uint16_t)plt->reg};
	while (at < to) {
		bool late = (at & 15) >= plt->from;

		one.cfa.off = plt->off + (late ? plt->more : 0);
		if (!say_or_gap(t, at, &one))
			return false;
		at = (at & ~15ull) + (late || !plt->from ? 16 : plt->from);
	}
	return true;
}

bool unwind_begin(struct unwind_text *t, uint64_t start, uint64_t end)
{
	size_t low = search_first(i, 0, t->o.n_ranges, t->o.ranges[i].end <= start);

	t->counts.functions++;
	t->end = t->floor;
	if (start >= end || start < t->o.base || low == t->o.n_ranges || t->o.ranges[low].start > start) {
		t->counts.gaps[UNWIND_GAP_OUTSIDE]++;
		return false;
	}
	end = MIN(end, t->o.ranges[low].end);
	if (end <= t->floor) {
		t->counts.doubled++;
		return false;
	}
	t->end = end;
	t->floor = MAX(t->floor, start);
	return true;
}

void unwind_row(struct unwind_text *t, uint64_t from, uint64_t to, const struct unwind_row *row)
{
	struct unwind_plt plt;

	t->counts.rows++;
	from = MAX(from, t->floor);
	to = MIN(to, t->end);
	if (from >= to) /* an earlier function has these addresses */
		return;
	if (unwind_plt(t->o.arch, &row->cfa, &plt))
		t->counts.said += say_plt(t, from, to, row, &plt);
	else
		t->counts.said += say_or_gap(t, from, row);
}

void unwind_gap(struct unwind_text *t, uint64_t from, enum unwind_gap why)
{
	t->counts.gaps[why]++;
	shut(t, MAX(MIN(from, t->end), t->start));
}

int unwind_end(struct unwind_text *t)
{
	shut(t, t->end);
	t->floor = MAX(t->floor, t->end);
	return t->r;
}

int unwind_text_flush(struct unwind_text *t)
{
	if (t->r == 0 && t->out_n)
		t->r = t->o.pass(t->o.ctx, t->out, t->out_n);
	t->out_n = 0;
	return t->r;
}
