/* Translates expressions of DWARF: both languages work on a stack, so most operators translate one to one. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/unwind/expr.h"
#include "base/bytes.h"
#include "base/util.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	OP_ADDR = 0x03, OP_DEREF = 0x06, OP_CONST1U = 0x08, OP_CONST1S, OP_CONST2U, OP_CONST2S, OP_CONST4U,
	OP_CONST4S, OP_CONST8U, OP_CONST8S, OP_CONSTU, OP_CONSTS, OP_DUP, OP_DROP, OP_OVER, OP_SWAP = 0x16,
	OP_AND = 0x1a, OP_MINUS = 0x1c, OP_MUL = 0x1e, OP_PLUS = 0x22, OP_PLUS_UCONST, OP_SHL, OP_GE = 0x2a,
	OP_LIT0 = 0x30, OP_LIT31 = 0x4f, OP_BREG0 = 0x70, OP_BREG31 = 0x8f, OP_BREGX = 0x92, OP_NOP = 0x96
};
#define STACK_MOST 16
#define STEPS_MOST 256

struct item {
	char text[UNWIND_TEXT_MOST];
	int64_t value;
	bool constant; /* `text` is the number `value` */
};

struct machine {
	const struct unwind_arch *arch;
	const uint8_t *p, *end;
	bool swap, bad;
	unsigned n;
	struct item stack[STACK_MOST];
};

/* The value of bits that the processor's words do not have does not count. */
static int64_t word_of(const struct machine *m, int64_t v)
{
	return m->arch->bytes == 4 ? (int32_t)v : v;
}

static struct item *push(struct machine *m)
{
	if (m->n == STACK_MOST) {
		m->bad = true;
		return &m->stack[0];
	}
	m->stack[m->n].constant = false;
	return &m->stack[m->n++];
}

static void push_number(struct machine *m, int64_t v)
{
	struct item *i = push(m);

	i->value = word_of(m, v);
	i->constant = true;
	snprintf(i->text, sizeof(i->text), "%" PRId64, i->value);
}

static void push_register(struct machine *m, uint64_t reg, int64_t off)
{
	const char *name = reg < m->arch->n ? m->arch->names[reg] : NULL;
	struct item *i = push(m);

	if (!name)
		m->bad = true;
	else if (off)
		snprintf(i->text, sizeof(i->text), "%s %" PRId64 " +", name, word_of(m, off));
	else
		snprintf(i->text, sizeof(i->text), "%s", name);
}

/* Appends to an item; a text that does not fit makes the whole expression untranslatable. */
static void append(struct machine *m, struct item *to, const char *text)
{
	size_t n = m->bad ? 0 : strlen(to->text), more = strlen(text);

	if (m->bad)
		return;
	if (n + 1 + more >= sizeof(to->text)) {
		m->bad = true;
		return;
	}
	to->constant = false;
	to->text[n] = ' ';
	memcpy(to->text + n + 1, text, more + 1);
}

static struct item *top(struct machine *m, unsigned below)
{
	if (m->n <= below) {
		m->bad = true;
		return &m->stack[0];
	}
	return &m->stack[m->n - 1 - below];
}

/* Takes the two upper items off and pushes their combination. */
static void combine(struct machine *m, const char *op)
{
	struct item *a = top(m, 1), *b = top(m, 0);

	if (m->bad)
		return;
	append(m, a, b->text);
	append(m, a, op);
	m->n--;
}

/* `and` with a number whose low bits alone are 0 aligns the value, which the records can say. */
static void align(struct machine *m)
{
	struct item *b = top(m, 0);
	uint64_t step = !m->bad && b->constant ? 0 - (uint64_t)b->value : 0;

	if (m->bad || !step || (step & (step - 1)) || step >> 31) {
		m->bad = true;
		return;
	}
	snprintf(b->text, sizeof(b->text), "%" PRIu64, step);
	combine(m, "@");
}

static uint64_t fixed(struct machine *m, unsigned n, bool is_signed)
{
	const uint8_t *p = m->p;
	uint64_t v;

	if ((size_t)(m->end - p) < n) {
		m->bad = true;
		return 0;
	}
	m->p += n;
	v = n == 1 ? *p : n == 2 ? load16(p, m->swap) : n == 4 ? load32(p, m->swap) : load64(p, m->swap);
	if (is_signed && n < 8)
		v = (uint64_t)((int64_t)(v << (64 - 8 * n)) >> (64 - 8 * n));
	return v;
}

static uint64_t uleb(struct machine *m)
{
	uint64_t v = 0;

	m->bad |= !take_uleb(&m->p, m->end, &v);
	return v;
}

static int64_t sleb(struct machine *m)
{
	int64_t v = 0;

	m->bad |= !take_sleb(&m->p, m->end, &v);
	return v;
}

/* Operators that only move items. */
static void move(struct machine *m, unsigned op)
{
	struct item *a = top(m, op == OP_OVER || op == OP_SWAP), kept;

	if (m->bad)
		return;
	if (op == OP_DROP) {
		m->n--;
	} else if (op == OP_SWAP) {
		kept = *a;
		*a = *top(m, 0);
		*top(m, 0) = kept;
	} else {
		kept = *a;
		*push(m) = kept;
	}
}

static void number(struct machine *m, unsigned op)
{
	if (op == OP_CONSTU || op == OP_CONSTS)
		push_number(m, op == OP_CONSTU ? (int64_t)uleb(m) : sleb(m));
	else
		push_number(m, (int64_t)fixed(m, 1u << ((op - OP_CONST1U) / 2), (op - OP_CONST1U) & 1));
}

static void plus(struct machine *m, uint64_t v)
{
	push_number(m, (int64_t)v);
	combine(m, "+");
}

static void step(struct machine *m)
{
	unsigned op = *m->p++;
	uint64_t reg;

	if (op >= OP_LIT0 && op <= OP_LIT31)
		push_number(m, op - OP_LIT0);
	else if (op >= OP_BREG0 && op <= OP_BREG31)
		push_register(m, op - OP_BREG0, sleb(m));
	else if (op >= OP_CONST1U && op <= OP_CONSTS)
		number(m, op);
	else if (op == OP_BREGX)
		reg = uleb(m), push_register(m, reg, sleb(m));
	else if (op == OP_DEREF)
		append(m, top(m, 0), "^");
	else if (op == OP_PLUS_UCONST)
		plus(m, uleb(m));
	else if (op == OP_PLUS || op == OP_MINUS || op == OP_MUL)
		combine(m, op == OP_PLUS ? "+" : op == OP_MINUS ? "-" : "*");
	else if (op == OP_AND)
		align(m);
	else if (op == OP_DUP || op == OP_DROP || op == OP_OVER || op == OP_SWAP)
		move(m, op);
	else if (op != OP_NOP)
		m->bad = true;
}

int unwind_expr(const struct unwind_arch *a, const struct unwind_rule *r, bool big, bool cfa,
	char out[static UNWIND_TEXT_MOST])
{
	struct machine m;

	/* The items need no values before they are pushed. */
	m.arch = a;
	m.p = r->expr;
	m.end = r->expr_len ? r->expr + r->expr_len : r->expr;
	m.swap = big != HOST_BIG;
	m.bad = r->expr_len > STEPS_MOST;
	m.n = 0;
	if (cfa)
		memcpy(push(&m)->text, ".cfa", 5);
	while (!m.bad && m.p < m.end)
		step(&m);
	if (m.bad || !m.n)
		return -1;
	memcpy(out, m.stack[m.n - 1].text, UNWIND_TEXT_MOST);
	return (int)strlen(out);
}

bool unwind_plt(const struct unwind_arch *a, const struct unwind_rule *cfa, struct unwind_plt *out)
{
	const uint8_t *p = cfa->expr, *end;
	int64_t zero;

	if (cfa->kind != UNWIND_EXPR_IS || cfa->expr_len < 8 || *p < OP_BREG0 || *p > OP_BREG31)
		return false;
	end = p + cfa->expr_len;
	out->reg = *p++ - (unsigned)OP_BREG0;
	if (!take_sleb(&p, end, &out->off) || end - p < 2 || *p++ != OP_BREG0 + a->ra ||
		!take_sleb(&p, end, &zero) || zero || end - p != 7)
		return false;
	if (p[0] != OP_LIT0 + 15 || p[1] != OP_AND || p[2] < OP_LIT0 || p[2] > OP_LIT0 + 15 || p[3] != OP_GE ||
		p[4] < OP_LIT0 || p[4] > OP_LIT0 + 4 || p[5] != OP_SHL || p[6] != OP_PLUS)
		return false;
	out->from = p[2] - (unsigned)OP_LIT0;
	out->more = 1 << (p[4] - OP_LIT0);
	return unwind_name(a, out->reg) != NULL && !a->link;
}
