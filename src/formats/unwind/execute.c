/* Executes call frame instructions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/unwind/execute.h"
#include "base/bytes.h"
#include "base/util.h"

#define KEPT_MOST 32 /* states on the stack of remember_state; compilers need 2 */
/* Bytes of instructions that are executed for a file. All functions can share the instructions of a large CIE, so the
 * size of a file alone does not bound them. */
#define BYTES_MOST (1ull << 30)

enum {
	CFA_NOP, CFA_SET_LOC, CFA_ADVANCE1, CFA_ADVANCE2, CFA_ADVANCE4, CFA_OFFSET_EXTENDED, CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED, CFA_SAME_VALUE, CFA_REGISTER, CFA_REMEMBER_STATE, CFA_RESTORE_STATE, CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER, CFA_DEF_CFA_OFFSET, CFA_DEF_CFA_EXPRESSION, CFA_EXPRESSION, CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF, CFA_DEF_CFA_OFFSET_SF, CFA_VAL_OFFSET, CFA_VAL_OFFSET_SF, CFA_VAL_EXPRESSION,
	CFA_ADVANCE8 = 0x1d, CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c, CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e, CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	CFA_ADVANCE = 1, CFA_OFFSET, CFA_RESTORE /* the upper two bits; the other six are the operand */
};

/* Pointers of .eh_frame: the lower four bits are the form, three are what it is relative to, the last is an
 * indirection. */
enum {
	FORM_ADDRESS, FORM_ULEB, FORM_U2, FORM_U4, FORM_U8, FORM_SLEB = 9, FORM_S2, FORM_S4, FORM_S8, FORM = 0x0f,
	RELATIVE_TO_ITSELF = 0x10, ALIGNED = 0x50, RELATIVE = 0xf0
};

struct unwind_executor {
	struct unwind_executor_opts o;
	bool swap;
	uint64_t executed; /* bytes */
	/* Of the function: */
	const struct unwind_code *c;
	const struct unwind_arch *arch;
	struct unwind_text *to;
	const uint8_t *p, *end; /* the next instruction */
	bool in_cie, failed;
	enum unwind_gap why;	/* it failed */
	uint64_t pc;		/* of the row */
	unsigned n_rows, n_kept;
	struct unwind_rule nameless; /* takes the rules of registers without a name */
	struct unwind_row row, initial, kept[KEPT_MOST];
};

int unwind_executor_new(struct unwind_executor **out, const struct unwind_executor_opts *o)
{
	struct unwind_executor *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->o = *o;
	x->swap = o->big != HOST_BIG;
	*out = x;
	return 0;
}

void unwind_executor_free(struct unwind_executor *x)
{
	free(x);
}

/* ---- operands ------------------------------------------------------------------------- */

static void fail(struct unwind_executor *x, enum unwind_gap why)
{
	if (!x->failed)
		x->why = why;
	x->failed = true;
}

static uint64_t uleb(struct unwind_executor *x)
{
	uint64_t v = 0;

	if (!take_uleb(&x->p, x->end, &v))
		fail(x, UNWIND_GAP_BROKEN);
	return v;
}

static int64_t sleb(struct unwind_executor *x)
{
	int64_t v = 0;

	if (!take_sleb(&x->p, x->end, &v))
		fail(x, UNWIND_GAP_BROKEN);
	return v;
}

/* A number of 1, 2, 4 or 8 bytes. */
static uint64_t fixed(struct unwind_executor *x, unsigned n)
{
	const uint8_t *p = x->p;

	if ((size_t)(x->end - p) < n) {
		fail(x, UNWIND_GAP_BROKEN);
		return 0;
	}
	x->p += n;
	return n == 1 ? *p : n == 2 ? load16(p, x->swap) : n == 4 ? load32(p, x->swap) : load64(p, x->swap);
}

/* An offset from zero; one that does not fit an int64_t is broken. */
static int64_t plain(struct unwind_executor *x)
{
	uint64_t v = uleb(x);

	if (v <= INT64_MAX)
		return (int64_t)v;
	fail(x, UNWIND_GAP_BROKEN);
	return 0;
}

static int64_t scaled(struct unwind_executor *x, int64_t v)
{
	if (__builtin_mul_overflow(v, x->c->data_unit, &v))
		fail(x, UNWIND_GAP_BROKEN);
	return v;
}

/* An expression behind its length. */
static struct unwind_rule expression(struct unwind_executor *x, enum unwind_kind kind)
{
	uint64_t n = uleb(x);
	struct unwind_rule r = {.kind = (uint8_t)kind, .expr = x->p};

	if (n > (uint64_t)(x->end - x->p) || n > UINT32_MAX) {
		fail(x, UNWIND_GAP_BROKEN);
		return r;
	}
	r.expr_len = (uint32_t)n;
	x->p += n;
	return r;
}

static uint64_t location(struct unwind_executor *x)
{
	unsigned form = x->c->pointer & FORM, relative = x->c->pointer & RELATIVE, bytes = x->o.address_bytes;
	uint64_t at = x->c->more_at + (uint64_t)(x->p - x->c->more.p), v = 0;

	if (x->c->pointer == UNWIND_POINTER_UNKNOWN || (relative && relative != RELATIVE_TO_ITSELF) ||
		(form == FORM_ADDRESS && bytes != 2 && bytes != 4 && bytes != 8))
		fail(x, UNWIND_GAP_UNKNOWN);
	else if (form == FORM_ADDRESS)
		v = fixed(x, bytes);
	else if (form == FORM_ULEB)
		v = uleb(x);
	else if (form == FORM_SLEB)
		v = (uint64_t)sleb(x);
	else if (form >= FORM_U2 && form <= FORM_U8)
		v = fixed(x, 2u << (form - FORM_U2));
	else if (form == FORM_S2)
		v = (uint64_t)(int64_t)(int16_t)fixed(x, 2);
	else if (form == FORM_S4)
		v = (uint64_t)(int64_t)(int32_t)fixed(x, 4);
	else if (form == FORM_S8)
		v = fixed(x, 8);
	else
		fail(x, UNWIND_GAP_UNKNOWN);
	v += relative ? at : 0;
	return bytes < 8 ? v & ((1ull << 8 * bytes) - 1) : v;
}

/* ---- rows ----------------------------------------------------------------------------- */

/* Ends the row before the address `to`. */
static void row_until(struct unwind_executor *x, uint64_t to)
{
	to = MIN(to, x->c->end);
	if (x->failed || to <= x->pc)
		return;
	if (x->n_rows++ == UNWIND_ROWS_MOST) {
		fail(x, UNWIND_GAP_ROWS);
		return;
	}
	unwind_row(x->to, x->pc, to, &x->row);
	x->pc = to;
}

static void move_to(struct unwind_executor *x, uint64_t to)
{
	/* A CIE has no addresses, and an address below the row's makes its end unknown. */
	if (x->in_cie || to < x->pc)
		fail(x, UNWIND_GAP_BROKEN);
	row_until(x, to);
}

static void advance(struct unwind_executor *x, uint64_t n)
{
	uint64_t to = 0;

	if (__builtin_mul_overflow(n, x->c->unit, &to) || __builtin_add_overflow(to, x->pc, &to))
		fail(x, UNWIND_GAP_BROKEN);
	move_to(x, to);
}

/* The processor's registers alone: a row has room for more. */
static void copy_row(const struct unwind_executor *x, struct unwind_row *to, const struct unwind_row *from)
{
	memcpy(to, from, offsetof(struct unwind_row, regs) + x->arch->n * sizeof(from->regs[0]));
}

static void remember(struct unwind_executor *x)
{
	if (x->n_kept == KEPT_MOST)
		fail(x, UNWIND_GAP_BROKEN);
	else
		copy_row(x, &x->kept[x->n_kept++], &x->row);
}

static void take_back(struct unwind_executor *x)
{
	if (!x->n_kept)
		fail(x, UNWIND_GAP_BROKEN);
	else
		copy_row(x, &x->row, &x->kept[--x->n_kept]);
}

/* ---- rules ---------------------------------------------------------------------------- */

static struct unwind_rule *rule_in(struct unwind_executor *x, struct unwind_row *row, uint64_t reg)
{
	return reg == x->c->ra_column ? &row->ra : reg < x->arch->n ? &row->regs[reg] : &x->nameless;
}

static void set_rule(struct unwind_executor *x, uint64_t reg, struct unwind_rule r)
{
	*rule_in(x, &x->row, reg) = r;
}

static void set_offset(struct unwind_executor *x, uint64_t reg, enum unwind_kind kind, int64_t off)
{
	set_rule(x, reg, (struct unwind_rule){.kind = (uint8_t)kind, .off = scaled(x, off)});
}

/* The return address without a rule keeps its column, which is the reason of a gap if it has no name. */
static void set_none(struct unwind_executor *x, uint64_t reg)
{
	set_rule(x, reg, (struct unwind_rule){.reg = (uint16_t)(reg == x->c->ra_column ? reg : 0)});
}

static void set_initial(struct unwind_executor *x, uint64_t reg)
{
	if (x->in_cie)
		fail(x, UNWIND_GAP_BROKEN);
	else
		set_rule(x, reg, *rule_in(x, &x->initial, reg));
}

static void set_register(struct unwind_executor *x, uint64_t reg, uint64_t from)
{
	set_rule(x, reg, (struct unwind_rule){.kind = UNWIND_REGISTER, .reg = (uint16_t)MIN(from, UINT16_MAX)});
}

static void set_cfa(struct unwind_executor *x, uint64_t reg, int64_t off)
{
	x->row.cfa = (struct unwind_rule){.kind = UNWIND_REGISTER, .reg = (uint16_t)MIN(reg, UINT16_MAX), .off = off};
}

/* The offset and the register can be set one after the other, also at first. An expression has neither: the CFA is
 * then unknown until an instruction sets all of it. */
static bool cfa_changes(struct unwind_executor *x)
{
	bool ok = x->row.cfa.kind == UNWIND_REGISTER || x->row.cfa.kind == UNWIND_NONE;

	if (!ok)
		x->row.cfa = (struct unwind_rule){.kind = UNWIND_UNDEFINED};
	return ok;
}

static void set_cfa_offset(struct unwind_executor *x, int64_t off)
{
	if (cfa_changes(x))
		x->row.cfa.off = off;
}

static void set_cfa_register(struct unwind_executor *x, uint64_t reg)
{
	if (cfa_changes(x))
		set_cfa(x, reg, x->row.cfa.off);
}

/* ---- instructions --------------------------------------------------------------------- */

static void run_cfa(struct unwind_executor *x, unsigned op)
{
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = uleb(x);
		set_cfa(x, reg, plain(x));
		break;
	case CFA_DEF_CFA_SF:
		reg = uleb(x);
		set_cfa(x, reg, scaled(x, sleb(x)));
		break;
	case CFA_DEF_CFA_REGISTER:
		set_cfa_register(x, uleb(x));
		break;
	case CFA_DEF_CFA_OFFSET:
		set_cfa_offset(x, plain(x));
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_offset(x, scaled(x, sleb(x)));
		break;
	default: /* CFA_DEF_CFA_EXPRESSION: the CFA is the value itself */
		x->row.cfa = expression(x, UNWIND_EXPR_IS);
	}
}

/* Instructions whose first operand is a register. */
static void run_register(struct unwind_executor *x, unsigned op)
{
	uint64_t reg = uleb(x);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
	case CFA_VAL_OFFSET:
		set_offset(x, reg, op == CFA_VAL_OFFSET ? UNWIND_IS : UNWIND_AT, plain(x));
		break;
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_VAL_OFFSET_SF:
		set_offset(x, reg, op == CFA_VAL_OFFSET_SF ? UNWIND_IS : UNWIND_AT, sleb(x));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_offset(x, reg, UNWIND_AT, -plain(x));
		break;
	case CFA_RESTORE_EXTENDED:
		set_initial(x, reg);
		break;
	case CFA_UNDEFINED:
		set_rule(x, reg, (struct unwind_rule){.kind = UNWIND_UNDEFINED});
		break;
	case CFA_SAME_VALUE: /* walkers keep the value of a register without a rule, too */
		set_none(x, reg);
		break;
	case CFA_REGISTER:
		set_register(x, reg, uleb(x));
		break;
	default: /* CFA_EXPRESSION, CFA_VAL_EXPRESSION */
		set_rule(x, reg, expression(x, op == CFA_EXPRESSION ? UNWIND_EXPR_AT : UNWIND_EXPR_IS));
	}
}

static void run_other(struct unwind_executor *x, unsigned op)
{
	switch (op) {
	case CFA_NOP:
		break;
	case CFA_SET_LOC:
		move_to(x, location(x));
		break;
	case CFA_ADVANCE1:
	case CFA_ADVANCE2:
	case CFA_ADVANCE4:
		advance(x, fixed(x, 1u << (op - CFA_ADVANCE1)));
		break;
	case CFA_ADVANCE8:
		advance(x, fixed(x, 8));
		break;
	case CFA_REMEMBER_STATE:
		remember(x);
		break;
	case CFA_RESTORE_STATE:
		take_back(x);
		break;
	case CFA_GNU_ARGS_SIZE: /* for exceptions alone */
		uleb(x);
		break;
	case CFA_AARCH64_NEGATE_RA_STATE: /* walkers remove signatures of return addresses from all of them */
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		if (x->arch->ra == 30 && x->arch->link)
			break;
		/* fall through */
	default:
		fail(x, UNWIND_GAP_UNKNOWN);
	}
}

static void run_one(struct unwind_executor *x)
{
	unsigned op = *x->p++, low = op & 0x3f;

	if (op >> 6 == CFA_ADVANCE)
		advance(x, low);
	else if (op >> 6 == CFA_OFFSET)
		set_offset(x, low, UNWIND_AT, plain(x));
	else if (op >> 6 == CFA_RESTORE)
		set_initial(x, low);
	else if (op >= CFA_DEF_CFA && op <= CFA_DEF_CFA_EXPRESSION)
		run_cfa(x, op);
	else if (op == CFA_DEF_CFA_SF || op == CFA_DEF_CFA_OFFSET_SF)
		run_cfa(x, op);
	else if ((op >= CFA_OFFSET_EXTENDED && op <= CFA_REGISTER) ||
		(op >= CFA_EXPRESSION && op <= CFA_VAL_EXPRESSION) || op == CFA_GNU_NEGATIVE_OFFSET_EXTENDED)
		run_register(x, op);
	else
		run_other(x, op);
}

static void run(struct unwind_executor *x, struct span instructions)
{
	x->p = instructions.p;
	x->end = instructions.p + instructions.n;
	while (!x->failed && x->p < x->end && x->pc < x->c->end)
		run_one(x);
	x->executed += (uint64_t)(x->p - instructions.p);
}

void unwind_execute(struct unwind_executor *x, const struct unwind_arch *a, const struct unwind_code *c,
	struct unwind_text *to)
{
	x->c = c;
	x->arch = a;
	x->to = to;
	x->failed = false;
	x->pc = c->start;
	x->n_rows = x->n_kept = 0;
	memset(&x->row, 0, offsetof(struct unwind_row, regs) + a->n * sizeof(x->row.regs[0]));
	memset(&x->nameless, 0, sizeof(x->nameless));
	x->row.ra_column = c->ra_column;
	x->row.ra.reg = (uint16_t)c->ra_column;
	if (x->executed > BYTES_MOST)
		fail(x, UNWIND_GAP_ROWS);
	x->in_cie = true;
	run(x, c->first);
	x->in_cie = false;
	copy_row(x, &x->initial, &x->row);
	run(x, c->more);
	row_until(x, c->end);
	if (x->failed)
		unwind_gap(to, x->pc, x->why);
}

uint8_t unwind_pointer(const char *augmentation, struct span data, unsigned address_bytes)
{
	static const uint8_t bytes[16] = {[FORM_U2] = 2, [FORM_U4] = 4, [FORM_U8] = 8, [FORM_S2] = 2, [FORM_S4] = 4,
		[FORM_S8] = 8};
	size_t at = 0;

	if (*augmentation != 'z')
		return *augmentation ? UNWIND_POINTER_UNKNOWN : UNWIND_POINTER_ADDRESS;
	while (*++augmentation) {
		const uint8_t *p = span_at(data, at, 1);
		unsigned form = p ? *p & FORM : FORM;

		if (*augmentation == 'S' || *augmentation == 'B' || *augmentation == 'G') /* they have no data */
			continue;
		if (!p || !strchr("LPR", *augmentation))
			return UNWIND_POINTER_UNKNOWN;
		if (*augmentation == 'R')
			return *p;
		at++;
		if (*augmentation == 'L' || *p == UNWIND_POINTER_UNKNOWN) /* no pointer follows */
			continue;
		if ((*p & RELATIVE) == ALIGNED || (form != FORM_ADDRESS && !bytes[form]))
			return UNWIND_POINTER_UNKNOWN;
		at += form == FORM_ADDRESS ? address_bytes : bytes[form];
	}
	return UNWIND_POINTER_ADDRESS;
}
