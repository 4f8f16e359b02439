/* Tests unwind/: rows become STACK CFI records, and what the records cannot say becomes a gap. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "formats/unwind/expr.h"
#include "formats/unwind/text.h"
#include "unit.h"

#include <string.h>

enum { EM_X86_64 = 62, EM_AARCH64 = 183 };

static const struct unwind_range text_ranges[] = {{0x1000, 0x9000}, {0x10000, 0x11000}};

static int pass(void *ctx, const char *p, size_t n)
{
	return buf_add(ctx, p, n);
}

static struct unwind_text *writer_of(struct buf *to, unsigned machine)
{
	struct unwind_text_opts o = {.arch = unwind_arch_elf(machine, true), .base = 0x1000, .ranges = text_ranges,
		.n_ranges = 2, .pass = pass, .ctx = to};
	struct unwind_text *t = NULL;

	ck_assert_int_eq(unwind_text_new(&t, &o), 0);
	return t;
}

/* Ends the writer, and compares all of its text. */
static void wrote(struct unwind_text *t, struct buf *got, const char *want)
{
	ck_assert_int_eq(unwind_text_flush(t), 0);
	ck_assert_str_eq(buf_text(got), want);
	unwind_text_free(t);
	buf_release(got);
}

static struct unwind_rule cfa(unsigned reg, int64_t off)
{
	return (struct unwind_rule){.kind = UNWIND_REGISTER, .reg = (uint16_t)reg, .off = off};
}

static struct unwind_rule at(int64_t off)
{
	return (struct unwind_rule){.kind = UNWIND_AT, .off = off};
}

static struct unwind_rule expression(unsigned kind, const uint8_t *p, size_t n)
{
	return (struct unwind_rule){.kind = (uint8_t)kind, .expr = p, .expr_len = (uint32_t)n};
}
#define EXPRESSION(kind, ...) \
	expression(kind, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static struct unwind_row amd64_row(int64_t off)
{
	return (struct unwind_row){.cfa = cfa(7, off), .ra = at(-8), .ra_column = 16};
}

START_TEST(changes_only)
{
	struct buf b = BUF_UP_TO(65536);
	struct unwind_text *t = writer_of(&b, EM_X86_64);
	struct unwind_row row = amd64_row(8);

	ck_assert(unwind_begin(t, 0x2000, 0x2100));
	unwind_row(t, 0x2000, 0x2001, &row);
	row.cfa.off = 16;
	row.regs[6] = at(-16);
	unwind_row(t, 0x2001, 0x2004, &row);
	unwind_row(t, 0x2004, 0x2010, &row); /* the same again */
	row.cfa = cfa(6, 16);
	row.regs[3] = (struct unwind_rule){.kind = UNWIND_IS, .off = -24};
	row.regs[12] = (struct unwind_rule){.kind = UNWIND_REGISTER, .reg = 0};
	unwind_row(t, 0x2010, 0x20f0, &row);
	row.regs[3].kind = UNWIND_SAME;
	row.regs[6].kind = UNWIND_NONE;
	row.regs[12].kind = UNWIND_UNDEFINED;
	unwind_row(t, 0x20f0, 0x2100, &row);
	ck_assert_int_eq(unwind_end(t), 0);
	ck_assert_uint_eq(unwind_text_counts(t)->rows, 5);
	ck_assert_uint_eq(unwind_text_counts(t)->said, 5);
	wrote(t, &b, "STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		     "STACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^\n"
		     "STACK CFI 1010 .cfa: $rbp 16 + $rbx: .cfa -24 + $r12: $rax\n"
		     "STACK CFI 10f0 $rbx: $rbx $rbp: $rbp $r12: .undef\n");
}
END_TEST

/* A row that cannot be said ends the record before it, and the next row begins a new one. */
START_TEST(gaps)
{
	struct buf b = BUF_UP_TO(65536);
	struct unwind_text *t = writer_of(&b, EM_X86_64);
	struct unwind_row row = amd64_row(8), bad = row;

	bad.cfa = EXPRESSION(UNWIND_EXPR_IS, 0x77, 8, 0x30, 0x2e); /* ne */
	ck_assert(unwind_begin(t, 0x2000, 0x2040));
	unwind_row(t, 0x2000, 0x2010, &row);
	unwind_row(t, 0x2010, 0x2020, &bad);
	unwind_row(t, 0x2020, 0x2030, &row);
	unwind_gap(t, 0x2030, UNWIND_GAP_ROWS);
	unwind_end(t);
	row.cfa = cfa(77, 8);
	ck_assert(unwind_begin(t, 0x3000, 0x3010));
	unwind_row(t, 0x3000, 0x3010, &row);
	unwind_end(t);
	row = amd64_row(8);
	row.ra.kind = UNWIND_SAME;
	ck_assert(unwind_begin(t, 0x3010, 0x3020));
	unwind_row(t, 0x3010, 0x3020, &row);
	unwind_end(t);
	ck_assert_uint_eq(unwind_text_counts(t)->said, 2);
	for (unsigned i = 0; i < UNWIND_GAPS; i++)
		ck_assert_uint_eq(unwind_text_counts(t)->gaps[i],
			i == UNWIND_GAP_CFA || i == UNWIND_GAP_ROWS || i == UNWIND_GAP_REGISTER ||
			i == UNWIND_GAP_RA);
	wrote(t, &b, "STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT 1020 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
}
END_TEST

/* Functions that overlap, and such that are not where instructions are. */
START_TEST(no_overlaps)
{
	struct buf b = BUF_UP_TO(65536);
	struct unwind_text *t = writer_of(&b, EM_X86_64);
	struct unwind_row row = amd64_row(8), later = amd64_row(32);

	ck_assert(!unwind_begin(t, 0, 0x10));
	ck_assert(!unwind_begin(t, 0x2000, 0x2000));
	ck_assert(unwind_begin(t, 0x2000, 0x2020));
	unwind_row(t, 0x2000, 0x2020, &row);
	unwind_end(t);
	ck_assert(!unwind_begin(t, 0x2008, 0x2020));
	ck_assert(unwind_begin(t, 0x2010, 0x2040));
	unwind_row(t, 0x2010, 0x2018, &row);
	unwind_row(t, 0x2018, 0x2040, &later);
	unwind_end(t);
	ck_assert(unwind_begin(t, 0x8ff0, UINT64_MAX)); /* cut at the end of the segment */
	unwind_row(t, 0x8ff0, UINT64_MAX, &row);
	unwind_end(t);
	ck_assert(!unwind_begin(t, 0x9000, 0x9010));
	ck_assert(unwind_begin(t, 0x10ff0, UINT64_MAX));
	unwind_row(t, 0x10ff0, 0x12000, &row);
	unwind_gap(t, 0x12000, UNWIND_GAP_BROKEN);
	unwind_end(t);
	ck_assert_uint_eq(unwind_text_counts(t)->doubled, 1);
	ck_assert_uint_eq(unwind_text_counts(t)->gaps[UNWIND_GAP_OUTSIDE], 3);
	wrote(t, &b, "STACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT 1020 20 .cfa: $rsp 32 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT 7ff0 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT fff0 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
}
END_TEST

/* rsp + 8 + ((rip & 15) >= 11) * 8 */
START_TEST(linkage_table)
{
	struct buf b = BUF_UP_TO(65536);
	struct unwind_text *t = writer_of(&b, EM_X86_64);
	struct unwind_row row = amd64_row(16);

	ck_assert(unwind_begin(t, 0x2000, 0x2028));
	unwind_row(t, 0x2000, 0x2006, &row);
	row.cfa.off = 24;
	unwind_row(t, 0x2006, 0x2010, &row);
	row.cfa = EXPRESSION(UNWIND_EXPR_IS, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	unwind_row(t, 0x2010, 0x2028, &row);
	unwind_end(t);
	wrote(t, &b, "STACK CFI INIT 1000 28 .cfa: $rsp 16 + .ra: .cfa -8 + ^\n"
		     "STACK CFI 1006 .cfa: $rsp 24 +\n"
		     "STACK CFI 1010 .cfa: $rsp 8 +\n"
		     "STACK CFI 101b .cfa: $rsp 16 +\n"
		     "STACK CFI 1020 .cfa: $rsp 8 +\n");
	t = writer_of(&b, EM_X86_64); /* one that is too long */
	ck_assert(unwind_begin(t, 0x2000, UINT64_MAX));
	unwind_row(t, 0x2000, UINT64_MAX, &row);
	unwind_end(t);
	ck_assert_uint_eq(unwind_text_counts(t)->said, 1);
	unwind_text_free(t);
	buf_release(&b);
}
END_TEST

START_TEST(outermost_and_link_register)
{
	struct buf b = BUF_UP_TO(65536);
	struct unwind_text *t = writer_of(&b, EM_X86_64);
	struct unwind_row row = amd64_row(8);

	row.ra.kind = UNWIND_UNDEFINED;
	ck_assert(unwind_begin(t, 0x2000, 0x2010));
	unwind_row(t, 0x2000, 0x2010, &row);
	unwind_end(t);
	wrote(t, &b, "STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: 1\n");

	t = writer_of(&b, EM_AARCH64);
	row = (struct unwind_row){.cfa = cfa(31, 0), .ra_column = 30};
	ck_assert(unwind_begin(t, 0x2000, 0x2010));
	unwind_row(t, 0x2000, 0x2004, &row);
	row.cfa.off = 32;
	row.ra = row.regs[30] = at(-24);
	row.regs[29] = at(-32);
	unwind_row(t, 0x2004, 0x200c, &row);
	row.ra.kind = UNWIND_NONE;
	row.regs[29].kind = UNWIND_NONE;
	unwind_row(t, 0x200c, 0x2010, &row);
	unwind_end(t);
	wrote(t, &b, "STACK CFI INIT 1000 10 .cfa: sp 0 + .ra: x30\n"
		     "STACK CFI 1004 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^\n"
		     "STACK CFI 100c .ra: x30 x29: x29\n");
}
END_TEST

/* Two tables of a Mach-O file for i386 number $esp and $ebp differently. */
START_TEST(numbers_by_table)
{
	struct buf b = BUF_UP_TO(65536);
	struct unwind_text *t = writer_of(&b, EM_X86_64);
	struct unwind_row row = {.cfa = cfa(4, 4), .ra = at(-4), .ra_column = 8};

	for (unsigned eh = 0; eh < 2; eh++) {
		unwind_text_arch(t, unwind_arch_macho(7, eh));
		ck_assert(unwind_begin(t, 0x2000 + 16 * eh, 0x2010 + 16 * eh));
		unwind_row(t, 0x2000 + 16 * eh, 0x2010 + 16 * eh, &row);
		unwind_end(t);
	}
	wrote(t, &b, "STACK CFI INIT 1000 10 .cfa: $esp 4 + .ra: .cfa -4 + ^\n"
		     "STACK CFI INIT 1010 10 .cfa: $ebp 4 + .ra: .cfa -4 + ^\n");
}
END_TEST

/* A register whose rule cannot be said costs only the register. */
START_TEST(lost_register)
{
	struct buf b = BUF_UP_TO(65536);
	struct unwind_text *t = writer_of(&b, EM_X86_64);
	struct unwind_row row = amd64_row(8);

	row.regs[3] = EXPRESSION(UNWIND_EXPR_AT, 0x77, 0x10, 0x94, 4); /* deref_size */
	ck_assert(unwind_begin(t, 0x2000, 0x2010));
	unwind_row(t, 0x2000, 0x2010, &row);
	unwind_end(t);
	ck_assert_uint_eq(unwind_text_counts(t)->lost, 1);
	wrote(t, &b, "STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^ $rbx: .undef\n");
}
END_TEST

static void translates(struct unwind_rule r, bool with_cfa, const char *want)
{
	char got[UNWIND_TEXT_MOST];
	int n = unwind_expr(unwind_arch_elf(EM_X86_64, true), &r, false, with_cfa, got);

	ck_assert_int_eq(n, want ? (int)strlen(want) : -1);
	if (want)
		ck_assert_str_eq(got, want);
}
#define TRANSLATES(want, with_cfa, ...) translates(EXPRESSION(UNWIND_EXPR_IS, __VA_ARGS__), with_cfa, want)

START_TEST(expressions)
{
	uint8_t many[400];

	TRANSLATES("$rsp 160 + ^", false, 0x77, 0xa0, 0x01, 0x06);
	TRANSLATES("$rbp -8 + ^", false, 0x76, 0x78, 0x06);
	TRANSLATES("$rsp 40 +", true, 0x77, 40); /* the CFA below is not used */
	TRANSLATES(".cfa 8 + ^", true, 0x23, 8, 0x06);
	TRANSLATES("$rsp 15 + 16 @", false, 0x77, 15, 0x09, 0xf0, 0x1a); /* const1s -16, and */
	TRANSLATES("$rax $rdx - 4 * 1000 +", false, 0x70, 0, 0x71, 0, 0x1c, 0x34, 0x1e, 0x0a, 0xe8, 3, 0x22);
	TRANSLATES("$r8 ^ $r8 ^ +", false, 0x92, 8, 0, 0x06, 0x12, 0x22); /* bregx, deref, dup, plus */
	TRANSLATES("$rax", false, 0x70, 0, 0x71, 0, 0x13); /* drop */
	TRANSLATES("-1", false, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
	TRANSLATES(NULL, false, 0x77, 8, 0x37, 0x1a);	   /* and 7 */
	TRANSLATES(NULL, false, 0x92, 77, 0);		   /* a register without a name */
	TRANSLATES(NULL, false, 0x22);			   /* an empty stack */
	TRANSLATES(NULL, false, 0x77);			   /* cut short */
	TRANSLATES(NULL, false, 0x0e, 1, 2, 3);		   /* likewise */
	TRANSLATES(NULL, false, 0x9f);			   /* an operator of no expression of frames */
	translates((struct unwind_rule){0}, false, NULL);
	memset(many, 0x30, sizeof(many));
	translates(expression(UNWIND_EXPR_IS, many, 17), false, NULL); /* the stack is full */
	many[0] = 0x70;
	many[1] = 0;
	memset(many + 2, 0x06, sizeof(many) - 2); /* a text that is too long */
	translates(expression(UNWIND_EXPR_IS, many, 256), false, NULL);
	translates(expression(UNWIND_EXPR_IS, many, 400), false, NULL);
}
END_TEST

UNIT_MAIN("unwind", changes_only, gaps, no_overlaps, linkage_table, outermost_and_link_register,
	numbers_by_table, lost_register, expressions)
