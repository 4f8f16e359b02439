/* Tests formats/unwind/execute.c: call frame instructions become rows, and a gap begins where one is unknown or
 * broken. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "formats/unwind/execute.h"
#include "unit.h"

#include <string.h>

enum { EM_X86_64 = 62, EM_AARCH64 = 183, START = 0x2000, END = 0x2100 };
#define USUAL 0x0c, 7, 8, 0x90, 1 /* def_cfa rsp 8; rip at CFA - 8 */
#define FIRST "STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^"

static const struct unwind_range text_ranges[] = {{0x1000, 0x9000}};

static int pass(void *ctx, const char *p, size_t n)
{
	return buf_add(ctx, p, n);
}

/* Executes a function, and compares its text; `gap` is the reason of the only gap, or UNWIND_GAPS. */
static void executes(unsigned machine, struct unwind_code c, enum unwind_gap gap, const char *want)
{
	struct buf text = BUF_UP_TO(1 << 20);
	struct unwind_text_opts o = {.arch = unwind_arch_elf(machine, true), .base = 0x1000, .ranges = text_ranges,
		.n_ranges = 1, .pass = pass, .ctx = &text};
	struct unwind_executor_opts own = {.address_bytes = 8};
	struct unwind_executor *x = NULL;
	struct unwind_text *t = NULL;

	ck_assert_int_eq(unwind_text_new(&t, &o), 0);
	ck_assert_int_eq(unwind_executor_new(&x, &own), 0);
	ck_assert(unwind_begin(t, c.start, c.end));
	unwind_execute(x, o.arch, &c, t);
	ck_assert_int_eq(unwind_end(t), 0);
	ck_assert_int_eq(unwind_text_flush(t), 0);
	ck_assert_str_eq(buf_text(&text), want);
	for (unsigned i = 0; i < UNWIND_GAPS; i++)
		ck_assert_msg(unwind_text_counts(t)->gaps[i] == (i == gap), "%s", unwind_gap_names[i]);
	unwind_text_free(t);
	unwind_executor_free(x);
	buf_release(&text);
}

static struct unwind_code code(const uint8_t *first, size_t n_first, const uint8_t *more, size_t n_more)
{
	return (struct unwind_code){.start = START, .end = END, .unit = 1, .data_unit = -8, .ra_column = 16,
		.first = {first, n_first}, .more = {more, n_more}, .more_at = 0x9000};
}

/* With the CIE that compilers write for x86-64. */
static void amd64(const uint8_t *more, size_t n, enum unwind_gap gap, const char *want)
{
	static const uint8_t first[] = {USUAL};

	executes(EM_X86_64, code(first, sizeof(first), more, n), gap, want);
}
#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define AMD64(gap, want, ...) amd64(BYTES(__VA_ARGS__), gap, want)

START_TEST(usual_function)
{
	AMD64(UNWIND_GAPS, FIRST "\nSTACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^\n"
		"STACK CFI 1004 .cfa: $rbp 16 +\nSTACK CFI 1010 .cfa: $rsp 8 + $rbp: $rbp\n"
		"STACK CFI 1011 .cfa: $rbp 16 + $rbp: .cfa -16 + ^\n",
		0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x4c, 0x0a, 0xc6, 0x0c, 7, 8, 0x41, 0x0b, 0, 0);
	AMD64(UNWIND_GAPS, FIRST "\n", 0);
	amd64(NULL, 0, UNWIND_GAPS, FIRST "\n");
}
END_TEST

/* Rules of registers, in all their forms. */
START_TEST(rules)
{
	AMD64(UNWIND_GAPS, FIRST " $rbx: .cfa -24 + ^ $rbp: .cfa -16 +\n", 0x05, 3, 3, 0x14, 6, 2);
	AMD64(UNWIND_GAPS, FIRST " $rbx: .cfa 24 + ^ $rbp: .cfa 16 +\n", 0x11, 3, 0x7d, 0x15, 6, 0x7e);
	AMD64(UNWIND_GAPS, FIRST " $rbx: .cfa 24 + ^ $rbp: $rax\n", 0x2f, 3, 3, 0x09, 6, 0);
	AMD64(UNWIND_GAPS, FIRST " $rbx: .undef $rbp: $rsp 16 + ^\n", 0x07, 3, 0x10, 6, 2, 0x77, 16);
	AMD64(UNWIND_GAPS, FIRST " $rbp: $rsp 16 +\n", 0x08, 3, 0x16, 6, 2, 0x77, 16, 0x2e, 0x80, 1);
	AMD64(UNWIND_GAPS, FIRST "\n", 0x91, 4, 0x05, 0x80, 2, 3); /* registers without a name */
	AMD64(UNWIND_GAPS, FIRST " $rbx: .cfa -24 + ^\nSTACK CFI 1002 $rbx: $rbx\n", 0x83, 3, 0x42, 0xc3);
	AMD64(UNWIND_GAPS, FIRST " $rbx: .cfa -24 + ^\nSTACK CFI 1002 $rbx: $rbx\n", 0x83, 3, 0x42, 0x06, 3);
	AMD64(UNWIND_GAPS, "STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: 1\n", 0x07, 16);
	AMD64(UNWIND_GAPS, FIRST "\nSTACK CFI 1001 .ra: .cfa -16 + ^\nSTACK CFI 1002 .ra: .cfa -8 + ^\n",
		0x41, 0x90, 2, 0x41, 0xd0);
}
END_TEST

START_TEST(cfas)
{
	AMD64(UNWIND_GAPS, "STACK CFI INIT 1000 100 .cfa: $rbp 16 + .ra: .cfa -8 + ^\n", 0x12, 6, 0x7e);
	AMD64(UNWIND_GAPS, "STACK CFI INIT 1000 100 .cfa: $rsp -16 + .ra: .cfa -8 + ^\n", 0x13, 2);
	AMD64(UNWIND_GAPS, "STACK CFI INIT 1000 100 .cfa: $rsp 8 + ^ .ra: .cfa -8 + ^\n", 0x0f, 3, 0x77, 8, 0x06);
}
END_TEST

/* LLVM writes the CIE of MIPS so: the register alone, whose offset is then 0. */
START_TEST(cfa_parts)
{
	executes(EM_X86_64, code(BYTES(0x0d, 7, 0x90, 1), BYTES(0x42, 0x0e, 16)), UNWIND_GAPS,
		"STACK CFI INIT 1000 100 .cfa: $rsp 0 + .ra: .cfa -8 + ^\nSTACK CFI 1002 .cfa: $rsp 16 +\n");
	executes(EM_X86_64, code(BYTES(0x0e, 8, 0x0d, 7, 0x90, 1), BYTES(0)), UNWIND_GAPS, FIRST "\n");
	executes(EM_X86_64, code(BYTES(0x0e, 8, 0x90, 1), BYTES(0x42, 0x0d, 7)), UNWIND_GAP_CFA,
		"STACK CFI INIT 1002 fe .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
}
END_TEST

/* An expression has no offset that could change; the next full CFA ends the gap. */
START_TEST(cfa_gaps)
{
	static const char *const around = "STACK CFI INIT 1000 1 .cfa: $rsp 8 + ^ .ra: .cfa -8 + ^\n"
		"STACK CFI INIT 1002 fe .cfa: $rsp 16 + .ra: .cfa -8 + ^\n";

	AMD64(UNWIND_GAP_CFA, around, 0x0f, 3, 0x77, 8, 0x06, 0x41, 0x0e, 16, 0x41, 0x0c, 7, 16);
	AMD64(UNWIND_GAP_CFA, around, 0x0f, 3, 0x77, 8, 0x06, 0x41, 0x0d, 6, 0x41, 0x0c, 7, 16);
	AMD64(UNWIND_GAP_REGISTER, "", 0x0c, 0x80, 0x80, 0x10, 8); /* a register of 18 bits */
	AMD64(UNWIND_GAP_CFA, "", 0x0f, 1, 0x1a); /* `and` of nothing */
	AMD64(UNWIND_GAP_CFA, "", 0x0f, 2, 0x38, 0x1a); /* `and` of one number */
}
END_TEST

START_TEST(addresses)
{
	AMD64(UNWIND_GAPS, FIRST "\nSTACK CFI 1010 .cfa: $rsp 16 +\nSTACK CFI 1020 .cfa: $rsp 24 +\n"
		"STACK CFI 1030 .cfa: $rsp 32 +\nSTACK CFI 1040 .cfa: $rsp 40 +\n",
		0x02, 16, 0x0e, 16, 0x03, 16, 0, 0x0e, 24, 0x04, 16, 0, 0, 0, 0x0e, 32, 0x1d, 16, 0, 0, 0, 0, 0, 0, 0,
		0x0e, 40);
	AMD64(UNWIND_GAPS, FIRST "\nSTACK CFI 1010 .cfa: $rsp 16 +\n",
		0x01, 0x10, 0x20, 0, 0, 0, 0, 0, 0, 0x0e, 16);
	/* What follows the end of the function does not count. */
	AMD64(UNWIND_GAPS, FIRST "\n", 0x03, 0, 1, 0x0e, 16, 0x3f);
	AMD64(UNWIND_GAPS, FIRST "\n", 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0x0e, 16);
	/* Back, and too far. */
	AMD64(UNWIND_GAP_BROKEN, "STACK CFI INIT 1000 4 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n",
		0x44, 0x01, 0, 0x20, 0, 0, 0, 0, 0, 0);
	AMD64(UNWIND_GAP_BROKEN, "", 0x1d, 255, 255, 255, 255, 255, 255, 255, 255);
}
END_TEST

static void located(uint8_t pointer, const uint8_t *more, size_t n, bool known)
{
	static const uint8_t first[] = {USUAL};
	struct unwind_code c = code(first, sizeof(first), more, n);

	c.pointer = pointer;
	executes(EM_X86_64, c, known ? UNWIND_GAPS : UNWIND_GAP_UNKNOWN,
		known ? FIRST "\nSTACK CFI 1010 .cfa: $rsp 16 +\n" : "");
}

/* set_loc in the encodings of .eh_frame: 0x2010, also from 0x9001. */
START_TEST(pointers)
{
	located(0x01, BYTES(0x01, 0x90, 0x40, 0x0e, 16), true);
	located(0x02, BYTES(0x01, 0x10, 0x20, 0x0e, 16), true);
	located(0x03, BYTES(0x01, 0x10, 0x20, 0, 0, 0x0e, 16), true);
	located(0x04, BYTES(0x01, 0x10, 0x20, 0, 0, 0, 0, 0, 0, 0x0e, 16), true);
	located(0x09, BYTES(0x01, 0x90, 0xc0, 0x00, 0x0e, 16), true);
	located(0x1a, BYTES(0x01, 0x0f, 0x90, 0x0e, 16), true);
	located(0x1b, BYTES(0x01, 0x0f, 0x90, 0xff, 0xff, 0x0e, 16), true);
	located(0x1c, BYTES(0x01, 0x0f, 0x90, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0e, 16), true);
	located(0x9b, BYTES(0x01, 0x0f, 0x90, 0xff, 0xff, 0x0e, 16), false); /* indirect */
	located(0x3b, BYTES(0x01, 0x0f, 0x90, 0xff, 0xff, 0x0e, 16), false); /* relative to data */
	located(0x05, BYTES(0x01, 0x0f, 0x90, 0xff, 0xff, 0x0e, 16), false);
	located(0xff, BYTES(0x01, 0x10, 0x20, 0, 0, 0, 0, 0, 0, 0x0e, 16), false);
}
END_TEST

START_TEST(augmentations)
{
	static const uint8_t data[] = {0x9b, 1, 2, 3, 4, 0x1b, 0x0b};

	ck_assert_uint_eq(unwind_pointer("", (struct span){0}, 8), UNWIND_POINTER_ADDRESS);
	ck_assert_uint_eq(unwind_pointer("z", (struct span){0}, 8), UNWIND_POINTER_ADDRESS);
	ck_assert_uint_eq(unwind_pointer("zR", (struct span){data, 1}, 8), 0x9b);
	ck_assert_uint_eq(unwind_pointer("zPLR", (struct span){data, 7}, 8), 0x0b);
	ck_assert_uint_eq(unwind_pointer("zSBPR", (struct span){data, 7}, 8), 0x1b);
	ck_assert_uint_eq(unwind_pointer("zPLR", (struct span){data, 6}, 8), UNWIND_POINTER_UNKNOWN);
	ck_assert_uint_eq(unwind_pointer("zXR", (struct span){data, 7}, 8), UNWIND_POINTER_UNKNOWN);
	ck_assert_uint_eq(unwind_pointer("eh", (struct span){data, 7}, 8), UNWIND_POINTER_UNKNOWN);
	ck_assert_uint_eq(unwind_pointer("zPR", (struct span){BYTES(0xff, 0x1b)}, 8), 0x1b);
	ck_assert_uint_eq(unwind_pointer("zPR", (struct span){BYTES(0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0x1b)}, 8),
		UNWIND_POINTER_UNKNOWN);
	ck_assert_uint_eq(unwind_pointer("zPR", (struct span){BYTES(0, 0, 0, 0, 0, 0x1b)}, 4), 0x1b);
}
END_TEST

/* A gap begins at the row of the instruction that is unknown or broken. */
START_TEST(broken)
{
	static const char *const before = "STACK CFI INIT 1000 4 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n";

	AMD64(UNWIND_GAP_UNKNOWN, before, 0x44, 0x0e, 16, 0x1c, 0x44, 0x0e, 24);
	AMD64(UNWIND_GAP_UNKNOWN, before, 0x44, 0x2d); /* negate_ra_state of another processor */
	AMD64(UNWIND_GAP_UNKNOWN, before, 0x44, 0x3f);
	AMD64(UNWIND_GAP_BROKEN, before, 0x44, 0x0e);
	AMD64(UNWIND_GAP_BROKEN, before, 0x44, 0x0e, 0x80);
	AMD64(UNWIND_GAP_BROKEN, before, 0x44, 0x03, 1);
	AMD64(UNWIND_GAP_BROKEN, before, 0x44, 0x0f, 3, 0x77, 8);
	AMD64(UNWIND_GAP_BROKEN, before, 0x44, 0x10, 3, 0xff, 0xff, 0xff, 0xff, 0x7f, 8);
	AMD64(UNWIND_GAP_BROKEN, before, 0x44, 0x0b); /* nothing was remembered */
	AMD64(UNWIND_GAP_BROKEN, before, 0x44, 0x0e, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1);
	AMD64(UNWIND_GAP_BROKEN, before, 0x44, 0x83, 255, 255, 255, 255, 255, 255, 255, 255, 127);
	AMD64(UNWIND_GAP_BROKEN, before, 0x44, 0x2f, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1);
}
END_TEST

START_TEST(broken_cie)
{
	executes(EM_X86_64, code(BYTES(USUAL, 0x41), BYTES(0)), UNWIND_GAP_BROKEN, "");
	executes(EM_X86_64, code(BYTES(USUAL, 0xc3), BYTES(0)), UNWIND_GAP_BROKEN, "");
	executes(EM_X86_64, code(BYTES(USUAL, 0x1f), BYTES(0)), UNWIND_GAP_UNKNOWN, "");
	executes(EM_X86_64, code(BYTES(0x0c, 7), BYTES(0)), UNWIND_GAP_BROKEN, "");
	executes(EM_X86_64, code(BYTES(0x90, 1), BYTES(0)), UNWIND_GAP_CFA, "");
	executes(EM_X86_64, code(BYTES(0x0c, 7, 8), BYTES(0)), UNWIND_GAP_RA, "");
	executes(EM_X86_64, code(NULL, 0, NULL, 0), UNWIND_GAP_CFA, "");
}
END_TEST

START_TEST(states)
{
	uint8_t deep[66];

	memset(deep, 0x0a, 33); /* remember_state */
	memset(deep + 33, 0x0b, 33);
	amd64(deep + 1, 64, UNWIND_GAPS, FIRST "\n");
	amd64(deep, 64, UNWIND_GAP_BROKEN, "");
	amd64(deep + 1, 65, UNWIND_GAP_BROKEN, "");
}
END_TEST

/* A function of 4,096 rows is whole; with one more, it has a gap at the end. */
START_TEST(many_rows)
{
	static const uint8_t first[] = {USUAL};
	uint8_t more[4096];

	memset(more, 0x41, sizeof(more));
	for (unsigned n = 4095; n <= 4096; n++) {
		struct unwind_code c = code(first, sizeof(first), more, n);

		c.end = START + 0x1800;
		executes(EM_X86_64, c, n == 4095 ? UNWIND_GAPS : UNWIND_GAP_ROWS,
			n == 4095 ? "STACK CFI INIT 1000 1800 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
				  : "STACK CFI INIT 1000 1000 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
	}
}
END_TEST

/* Signatures of return addresses, and the link register. */
START_TEST(arm64)
{
	struct unwind_code c = code(BYTES(0x0c, 31, 0), BYTES(0x2d, 0x44, 0x0e, 16, 0x9d, 2, 0x9e, 1, 0x44, 0x2c,
		0xde));

	c.unit = 4;
	c.ra_column = 30;
	executes(EM_AARCH64, c, UNWIND_GAPS, "STACK CFI INIT 1000 100 .cfa: sp 0 + .ra: x30\n"
		"STACK CFI 1010 .cfa: sp 16 + .ra: .cfa -8 + ^ x29: .cfa -16 + ^\nSTACK CFI 1020 .ra: x30\n");
}
END_TEST

UNIT_MAIN("execute", usual_function, rules, cfas, cfa_parts, cfa_gaps, addresses, pointers, augmentations, broken,
	broken_cie, states, many_rows, arm64)
