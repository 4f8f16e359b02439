/* Tests derive/convert/from-breakpad.c: the effect of each record, the cost of a bad line in either mode,
 * text in pieces of any size, and symbol files of other tools. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsyms.h"
#include "derive/convert/from-breakpad.h"
#include "derive/convert/eliot.h"
#include "unit.h"

#define HEAD "MODULE Linux x86_64 C0BCC3F19827FE653058404B2831D9E60 a.so\n"
#define FILES "FILE 0 /src/a.c\nFILE 1 /src/b.c\n"

struct made {
	struct buf file;
	struct gsym g;
	struct breakpad_counts counts;
	struct err e;
	int r;
	struct buf text;
};

static void made_release(struct made *m)
{
	buf_release(&m->file);
	buf_release(&m->text);
}
#define _cleanup_made_ __attribute__((cleanup(made_release)))

static int feed(struct breakpad *b, const char *text, size_t n, size_t piece, struct err *e)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < n; at += piece)
		r = breakpad_feed(b, text + at, MIN(piece, n - at), e);
	return r;
}

enum made_form { LENIENT = 0, STRICT = 1, MARKS = 2 };

static void make_pieces(struct made *m, const char *text, size_t n, unsigned form, size_t piece)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_breakpad_ struct breakpad *b = NULL;

	memset(m, 0, sizeof(*m));
	m->file = m->text = BUF_UP_TO(64 << 20);
	ck_assert_int_eq(gsym_writer_new(&w), 0);
	ck_assert_int_eq(breakpad_new(&b, w, form & STRICT, form & MARKS), 0);
	m->r = feed(b, text, n, piece, &m->e);
	if (m->r == 0)
		m->r = breakpad_finish(b, &m->counts, &m->e);
	if (m->r == 0)
		m->r = gsyms_write(w, GSYM_V1, false, &m->file, &m->e);
	if (m->r < 0)
		return;
	ck_assert_int_eq(
		gsym_open(&m->g, (struct span){(uint8_t *)m->file.p, m->file.n}, &m->e), 0);
	ck_assert_msg(gsym_check(&m->g, &m->e) == 0, "%s", m->e.text);
}

static void make(struct made *m, const char *text, unsigned form)
{
	make_pieces(m, text, strlen(text), form, 4096);
}

static const char *at(struct made *m, uint64_t addr)
{
	ck_assert_msg(m->r == 0, "%s", m->e.text);
	return gsyms_frames(&m->g, addr, &m->text);
}

START_TEST(records)
{
	_cleanup_made_ struct made m;

	make(&m, HEAD "INFO CODE_ID F1C3BCC0279865FE3058404B2831D9E64135386C\r\n" FILES
		"INLINE_ORIGIN 3 inner(int)\nINLINE_ORIGIN 12 outer one\n"
		"FUNC 1000 40 0 main(int, char**)\r\n"
		"INLINE 0 11 0 12 1010 10 1030 8\n"
		"INLINE 1 22 1 3 1014 4\n"
		"INLINE 1 23 1 3 1030 4\n"
		"1004 c 10 0\n1010 20 20 1\n1030 10 -1 7\n"
		"FUNC m 2000 10 8 shared\n2000 10 5 0\n"
		"FUNC 3000 0 0 empty\n3000 10 5 0\n"
		"FUNC 4000 8 0\n"
		"PUBLIC 5000 0 first\nPUBLIC m 5010 0 second one\nPUBLIC 6000 0\n"
		"STACK CFI INIT 1000 40 .cfa: $rsp 8 +\n", STRICT);
	ck_assert_str_eq(at(&m, 0xfff), "-");
	ck_assert_str_eq(at(&m, 0x1000), "main(int, char**)@:0");
	ck_assert_str_eq(at(&m, 0x1004), "main(int, char**)@/src/a.c:10");
	ck_assert_str_eq(at(&m, 0x1010), "outer one@/src/b.c:20 < main(int, char**)@/src/a.c:11");
	ck_assert_str_eq(at(&m, 0x1014), "inner(int)@/src/b.c:20 < outer one@/src/b.c:22 < "
		"main(int, char**)@/src/a.c:11");
	ck_assert_str_eq(at(&m, 0x1020), "main(int, char**)@/src/b.c:20");
	ck_assert_str_eq(at(&m, 0x1033), "inner(int)@:0 < outer one@/src/b.c:23 < "
		"main(int, char**)@/src/a.c:11");
	ck_assert_str_eq(at(&m, 0x103f), "main(int, char**)@:0");
	ck_assert_str_eq(at(&m, 0x1040), "-");
	ck_assert_str_eq(at(&m, 0x2008), "shared@/src/a.c:5");
	ck_assert_str_eq(at(&m, 0x3000), "-");
	ck_assert_str_eq(at(&m, 0x4007), "<unknown>@:0");
	ck_assert_str_eq(at(&m, 0x4008), "-");
	ck_assert_str_eq(at(&m, 0x500f), "first@:0");
	ck_assert_str_eq(at(&m, 0x5010), "second one@:0");
	ck_assert_str_eq(at(&m, 0x6000), "<unknown>@:0");
	ck_assert_str_eq(at(&m, 0xfffffffe), "<unknown>@:0");
	ck_assert_uint_eq(m.g.base, 0);
	ck_assert_uint_eq(m.g.id.n, 20);
	ck_assert_int_eq(m.g.id.p[0], 0xf1);
	ck_assert_uint_eq(m.counts.funcs, 4);
	ck_assert_uint_eq(m.counts.publics, 3);
	ck_assert_uint_eq(m.counts.bad, 0);
}
END_TEST

/* Addresses of more than 32 bits. The service that look-ups with marks must equal has 32 bits. */
START_TEST(far_addresses)
{
	static const char text[] = HEAD FILES "INLINE_ORIGIN 0 inner\nFUNC 1000 10 0 near\n1000 10 3 0\n"
		"FUNC 1900000000 40 0 far\nINLINE 0 11 0 0 1900000010 10\n1900000000 40 7 0\n"
		"PUBLIC 1ffffffff 0 public\nPUBLIC ffffffffffffff00 0 last\n";
	_cleanup_made_ struct made m, marked;

	make(&m, text, STRICT);
	ck_assert_str_eq(at(&m, 0x1000), "near@/src/a.c:3");
	ck_assert_str_eq(at(&m, 0x1010), "-");
	ck_assert_str_eq(at(&m, 0x1fffffffe), "-");
	ck_assert_str_eq(at(&m, 0x1ffffffff), "public@:0");
	ck_assert_str_eq(at(&m, 0x1900000000), "far@/src/a.c:7");
	ck_assert_str_eq(at(&m, 0x1900000010), "inner@/src/a.c:7 < far@/src/a.c:11");
	ck_assert_str_eq(at(&m, 0x1900000040), "-");
	ck_assert_str_eq(at(&m, 0xfffffffffffffff0), "last@:0");
	make(&marked, text, STRICT | MARKS);
	ck_assert_str_eq(at(&marked, 0x1900000000), "-");
}
END_TEST

/* Of two lines of a call that begin at one address the first holds; the second hides the caller's line, too. */
START_TEST(lines_that_begin_together)
{
	_cleanup_made_ struct made m;

	make(&m, HEAD FILES "INLINE_ORIGIN 0 x\n"
		"FUNC 1000 20 0 f\n"
		"INLINE 0 5 0 0 1000 10\n"
		"1000 4 10 0\n1000 8 11 0\n1010 10 12 0\n", STRICT);
	ck_assert_str_eq(at(&m, 0x1000), "x@/src/a.c:10 < f@/src/a.c:5");
	ck_assert_str_eq(at(&m, 0x1004), "x@/src/a.c:10 < f@/src/a.c:5");
	ck_assert_str_eq(at(&m, 0x1010), "f@/src/a.c:12");
}
END_TEST

/* White space of Unicode at the end of a line is not part of the name. */
START_TEST(wide_space_behind_a_name)
{
	_cleanup_made_ struct made m;

	make(&m, HEAD "PUBLIC 5000 0 first\xc2\xa0\nPUBLIC 6000 0 last\xe2\x80\x83\n", STRICT);
	ck_assert_str_eq(at(&m, 0x5000), "first@:0");
	ck_assert_str_eq(at(&m, 0x6000), "last@:0");
}
END_TEST

/* As Breakpad's own tools write them: by first address, so that a child may come behind a sibling
 * of its parent; and a call that two callers share. */
START_TEST(inlines_in_any_order)
{
	_cleanup_made_ struct made m;

	make(&m, HEAD FILES "INLINE_ORIGIN 0 x\nINLINE_ORIGIN 1 y\nINLINE_ORIGIN 2 z\n"
		"FUNC 1000 100 0 f\n1000 100 1 0\n"
		"INLINE 0 10 0 0 1010 10 1040 10\n"
		"INLINE 0 20 0 1 1020 10\n"
		"INLINE 1 30 0 2 1044 4 1024 4 1014 4\n"
		"INLINE 2 40 0 0 1015 1 1045 1\n"
		"INLINE 1 50 0 1 1080 4\n", STRICT);
	ck_assert_str_eq(at(&m, 0x1012), "x@/src/a.c:1 < f@/src/a.c:10");
	ck_assert_str_eq(at(&m, 0x1014), "z@/src/a.c:1 < x@/src/a.c:30 < f@/src/a.c:10");
	ck_assert_str_eq(
		at(&m, 0x1045), "x@/src/a.c:1 < z@/src/a.c:40 < x@/src/a.c:30 < f@/src/a.c:10");
	ck_assert_str_eq(at(&m, 0x1024), "z@/src/a.c:1 < y@/src/a.c:30 < f@/src/a.c:20");
	ck_assert_str_eq(at(&m, 0x1080), "f@/src/a.c:1"); /* without a caller */
}
END_TEST

/* Numbers without the calling file, and origins with one, as Breakpad wrote for some months. */
START_TEST(old_inlines)
{
	_cleanup_made_ struct made m, marked;
	static const char text[] = HEAD FILES "INLINE_ORIGIN 0 1 x\nINLINE_ORIGIN 1 -1 y z\n"
		"FUNC 1000 100 0 f\n1000 100 1 0\n"
		"INLINE 0 10 0 1 1010 10\nINLINE 0 10 1 1020 10\n";

	make(&m, text, LENIENT);
	ck_assert_uint_eq(m.counts.bad, 0);
	ck_assert_str_eq(at(&m, 0x1010), "-1 y z@/src/a.c:1 < f@/src/a.c:10");
	ck_assert_str_eq(at(&m, 0x1020), "f@/src/a.c:1"); /* GSYM has no call from an unknown file */
	make(&marked, text, LENIENT | MARKS);
	ck_assert_str_eq(at(&marked, 0x1020), "y z@/src/a.c:1 < f@\1:10");
}
END_TEST

START_TEST(functions_that_meet)
{
	_cleanup_made_ struct made m;

	make(&m,
		HEAD FILES
		"FUNC 1000 100 0 wide\n1000 100 1 0\n"
		"FUNC 1020 10 0 within\n1020 10 2 0\n"
		"FUNC 2000 10 0 early\nFUNC 2000 10 0 late\n"
		"FUNC 3000 10 0 hidden\nFUNC 3000 20 0 hides\n"
		"FUNC 4000 20 0 long\nFUNC 4000 10 0 short\n"
		"FUNC 5000 10 0 lines\n5008 4 2 0\n5000 4 1 0\n5008 4 3 1\n5004 0 9 0\n4fff 10 7 "
		"0\n"
		"PUBLIC 1000 0 at_func\nPUBLIC 1050 0 in_func\nPUBLIC 5002 0 in_lines\nPUBLIC 5008 "
		"0 at_line\n"
		"PUBLIC 3ff0 0 before\nPUBLIC 0 0 zero\nPUBLIC 5100 0 twice\nPUBLIC 5100 0 last\n",
		true);
	ck_assert_str_eq(at(&m, 0x1000), "wide@/src/a.c:1");
	ck_assert_str_eq(at(&m, 0x1020), "within@/src/a.c:2");
	ck_assert_str_eq(at(&m, 0x1030), "-");
	ck_assert_str_eq(at(&m, 0x1050), "in_func@:0");
	ck_assert_str_eq(at(&m, 0x10ff), "in_func@:0");
	ck_assert_str_eq(at(&m, 0x1100), "-");
	ck_assert_str_eq(at(&m, 0x2000), "early@:0");
	ck_assert_str_eq(at(&m, 0x3000), "hidden@:0");
	ck_assert_str_eq(at(&m, 0x3010), "-");
	ck_assert_str_eq(at(&m, 0x4008), "long@:0");
	ck_assert_str_eq(at(&m, 0x4018), "-");
	ck_assert_str_eq(at(&m, 0x3ff0), "before@:0");
	ck_assert_str_eq(at(&m, 0x3fff), "before@:0");
	ck_assert_str_eq(at(&m, 0x5001), "lines@/src/a.c:1");
	ck_assert_str_eq(at(&m, 0x5002), "in_lines@:0");
	ck_assert_str_eq(at(&m, 0x5008), "lines@/src/a.c:2");
	ck_assert_str_eq(at(&m, 0), "zero@:0");
	ck_assert_str_eq(at(&m, 0xfff), "zero@:0");
	ck_assert_str_eq(at(&m, 0x5100), "twice@:0");
}
END_TEST

#define FOUR FILES "INLINE_ORIGIN 0 x\nINLINE_ORIGIN 1 a\nINLINE_ORIGIN 2 b\nINLINE_ORIGIN 3 c\n"

/* Three calls of one range: after the call before them left the heap, the second of them is on top. In the
 * order of the file `a` would be found, as `a` is where no call comes before. */
START_TEST(calls_that_tie)
{
	_cleanup_made_ struct made m, first;

	make(&m, HEAD FOUR "FUNC 1000 100 0 f\n1000 100 1 0\nINLINE 0 10 0 0 1000 4\nINLINE 0 11 0 1 1010 8\n"
		"INLINE 0 12 0 2 1010 8\nINLINE 0 13 0 3 1010 8\n", STRICT);
	ck_assert_str_eq(at(&m, 0x1010), "b@/src/a.c:1 < f@/src/a.c:12");
	make(&first, HEAD FOUR "FUNC 1000 100 0 f\n1000 100 1 0\nINLINE 0 11 0 1 1010 8\n"
		"INLINE 0 12 0 2 1010 8\nINLINE 0 13 0 3 1010 8\n", STRICT);
	ck_assert_str_eq(at(&first, 0x1010), "a@/src/a.c:1 < f@/src/a.c:11");
}
END_TEST

/* Rust's BinaryHeap gives twelve calls of one address, and two before them, in this order. */
START_TEST(order_of_ties)
{
	struct nest_queue q = {0};
	struct buf got = BUF_UP_TO(1000);

	for (uint32_t i = 0; i < 14; i++)
		ck_assert_int_eq(nest_push(&q, &(struct nest_call){.addr = i < 2 ? i : 10, .size = 4, .name = i}), 0);
	while (q.n)
		buf_addf(&got, "%u ", nest_pop(&q).name);
	ck_assert_str_eq(buf_text(&got), "0 1 2 6 12 11 13 9 8 5 7 10 4 3 ");
	buf_release(&got);
	free(q.at);
}
END_TEST

/* A call that no call one level above covers is dropped. A call that begins before its sibling has ended is
 * moved to that end. A call longer than its caller continues in the next one, or is dropped. */
START_TEST(calls_that_overlap)
{
	_cleanup_made_ struct made m;

	make(&m, HEAD FOUR "FUNC 1000 100 0 f\n1000 100 1 0\n"
		"INLINE 1 20 0 0 1000 8\n"		    /* no caller */
		"INLINE 0 10 0 1 1010 10\nINLINE 0 11 0 2 1018 10\n" /* the second has 1020 to 1027 */
		"INLINE 1 21 0 3 1018 20\n"		    /* in both of them, and not behind */
		"INLINE 0 12 0 1 1040 8\nINLINE 0 13 0 2 1042 4\n"  /* covered by a sibling */
		"INLINE 0 14 0 1 1050 ffffffffffffffff\n" /* ends behind 2^64 */
		"INLINE 0 15 0 1 ff0 20\n",		    /* begins before the FUNC */
		STRICT);
	ck_assert_str_eq(at(&m, 0x1000), "f@/src/a.c:1");
	ck_assert_str_eq(at(&m, 0x1010), "a@/src/a.c:1 < f@/src/a.c:10");
	ck_assert_str_eq(at(&m, 0x1018), "c@/src/a.c:1 < a@/src/a.c:21 < f@/src/a.c:10");
	ck_assert_str_eq(at(&m, 0x1020), "c@/src/a.c:1 < b@/src/a.c:21 < f@/src/a.c:11");
	ck_assert_str_eq(at(&m, 0x1028), "f@/src/a.c:1");
	ck_assert_str_eq(at(&m, 0x1042), "a@/src/a.c:1 < f@/src/a.c:12");
	ck_assert_str_eq(at(&m, 0x1050), "f@/src/a.c:1");
}
END_TEST

/* Each piece of a line belongs to the innermost call that covers it; what lies outside of the FUNC is nothing. */
START_TEST(lines_that_are_split)
{
	_cleanup_made_ struct made m;

	make(&m, HEAD FOUR "FUNC 1000 40 0 f\nINLINE 0 10 0 1 1010 10\nINLINE 1 11 0 2 1014 4\nINLINE 0 12 0 1 1050 "
		"8\n"
		"1000 100 1 0\nff0 4 9 0\n1048 4 9 0\n", STRICT);
	ck_assert_str_eq(at(&m, 0xff0), "-");
	ck_assert_str_eq(at(&m, 0x100f), "f@/src/a.c:1");
	ck_assert_str_eq(at(&m, 0x1010), "a@/src/a.c:1 < f@/src/a.c:10");
	ck_assert_str_eq(at(&m, 0x1014), "b@/src/a.c:1 < a@/src/a.c:11 < f@/src/a.c:10");
	ck_assert_str_eq(at(&m, 0x1018), "a@/src/a.c:1 < f@/src/a.c:10");
	ck_assert_str_eq(at(&m, 0x1020), "f@/src/a.c:1");
	ck_assert_str_eq(at(&m, 0x103f), "f@/src/a.c:1");
	ck_assert_str_eq(at(&m, 0x1040), "-");
	ck_assert_str_eq(at(&m, 0x1050), "-");
}
END_TEST

/* The first address and the last, and no address between them that has nothing. */
START_TEST(all_addresses)
{
	_cleanup_made_ struct made m, last;

	make(&m, HEAD "PUBLIC 0 0 all\n", STRICT);
	ck_assert_str_eq(at(&m, 0), "all@:0");
	ck_assert_str_eq(at(&m, 0xfffffffe), "all@:0");
	ck_assert_str_eq(at(&m, 0xffffffff), "all@:0");
	make(&last, HEAD FILES "FUNC ffffffff 1 0 end\nFUNC fffffff0 f 0 f\nfffffff0 f 4294967303 0\n", STRICT);
	ck_assert_str_eq(at(&last, 0xffffffff), "end@:0");
	ck_assert_str_eq(at(&last, 0xfffffffe), "f@/src/a.c:7"); /* the line modulo 2^32 */
	ck_assert_str_eq(at(&last, 0xffffffef), "-");
}
END_TEST

/* What one more line costs: `bad` in lenient mode, and whether strict mode has nothing then. The
 * function before it, and those after, are there. */
START_TEST(bad_lines)
{
	static const struct {
		const char *line;
		unsigned bad;
		bool fatal;
	} rows[] = {
		{"1010 4 7 0\n", 0, false},
		{"  1010  4\t7  0 \n", 0, false},
		{"1010 4 -7 0\n", 0, false},
		{"1010 4 99999999999 0\n", 0, false},
		{"1010 0 7 0\n", 0, false},
		{"000000000000000001010 4 7 0\n", 0, false},
		{"\n", 0, false},
		{"\r\n", 0, false},
		{" \n", 1, true},
		{"1010 4 7\n", 1, true},
		{"1010 4 7 0 0\n", 1, true},
		{"1010 4 +7 0\n", 1, true},
		{"1010 4 7 -1\n", 1, true},
		{"1010 4 18446744073709551616 0\n", 1, true},
		{"1010 zz 7 0\n", 1, true},
		{"0x1010 4 7 0\n", 1, true},
		{"1010 4 7 0\xff\n", 1, true},
		{"11110000111100001 4 7 0\n", 1, true},
		{"hello\n", 1, true},
		{"INFO URL https://127.0.0.1/\n", 1, true},
		{"FILE 7 /src/late.c\n", 1, true},
		{"MODULE x\n", 1, true},
		{"INLINE_ORIGIN 7\n", 1, true},
		{"INLINE_ORIGIN 7 late\n", 0, false},
		{"INLINE_ORIGIN  7  late\n", 0, false},
		{"INLINE_ORIGIN\t7 late\n", 1, true},
		{"INLINE_ORIGIN x y\n", 1, true},
		{"INLINE 0 1 0 0 1000 zz\n", 1, true},
		{"INLINE 0 1 0 0 1000\n", 0, true},
		{"INLINE 0 1 0 0 1000 10 1020\n", 0, true},
		{"INLINE 0 -1 0 0 1010 4\n", 0, true},
		{"INLINE  0  1  0  0  1010  4 \n", 0, false},
		{"INLINE 0 1 9 9 1010 4\n", 0, false},
		{"INLINE 4294967296 1 0 0 1010 4\n", 0, false},
		{"INLINE 300 1 0 0 1010 4\n", 0, false},
		{"INLINE x 1 0 0 1000 10\n", 1, true},
		{" INLINE 0 1 0 0 1010 4\n", 1, true},
		{"FUNC 2000 10 lost\n", 1, true},
		{"FUNC x 10 0 lost\n", 1, true},
		{"FUNC m2000 10 0 lost\n", 1, true},
		{"FUNC 2000 10 0 lost\xff\n", 1, true},
		{" FUNC 2000 10 0 lost\n", 1, true},
		{"FUNC ffffffffffffffff 10 0 lost\n", 0, false},
		{"FUNC 2000 ffffffffffffffff 0 behind\n", 0, false},
		{"PUBLIC x 0 lost\n", 1, false},
		{"PUBLIC 1020 0 lost\xff\n", 1, false},
		{"PUBLIC 1 2\n", 0, false},
		{"PUBLIC \n", 1, false},
		{"PUBLIC\n", 1, true},
		{"FUNC 2000 ffffffffff 0 too_long\n", 0, false},
		{"STACK what\n", 0, false},
		{"STACK\n", 1, true},
	};
	char text[1024];

	for (unsigned i = 0; i < ARRAY_SIZE(rows) * 2; i++) {
		bool strict = i & 1;
		_cleanup_made_ struct made m;

		snprintf(text, sizeof(text), HEAD FILES "INLINE_ORIGIN 0 x\nFUNC 1000 20 0 before\n"
			"1000 10 1 0\n%s%sFUNC 3000 10 0 after\n3000 10 1 1\n", rows[i / 2].line,
			strncmp(rows[i / 2].line, "FUNC", 4) == 0 ? "2004 4 1 0\n" : "");
		make(&m, text, strict ? STRICT : LENIENT);
		if (strict && rows[i / 2].fatal) {
			ck_assert_msg(m.r == -EBADMSG, "%s: %d", rows[i / 2].line, m.r);
			ck_assert_msg(
				strncmp(m.e.text, "is broken: line 7: ", 19) == 0, "%s", m.e.text);
			continue;
		}
		ck_assert_str_eq(at(&m, 0x1000), "before@/src/a.c:1");
		if (strncmp(rows[i / 2].line, "STACK ", 6) != 0)
			ck_assert_str_eq(at(&m, 0x3000), "after@/src/b.c:1");
		ck_assert_msg(m.counts.bad == rows[i / 2].bad, "%s: %d bad", rows[i / 2].line,
			(int)m.counts.bad);
		ck_assert_uint_eq(m.counts.first_bad, rows[i / 2].bad ? 7 : 0);
		ck_assert_ptr_null(strstr(at(&m, 0x2004), "lost"));
	}
}
END_TEST

START_TEST(no_symbol_file)
{
	static const char *const rows[] = {
		"", "\n\n", "hello\n", "FUNC 1000 10 0 f\n", "MODULES\n"};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_made_ struct made m;

		make(&m, rows[i], LENIENT);
		ck_assert_int_eq(m.r, -EBADMSG);
		ck_assert_str_eq(m.e.text, "is not a Breakpad file: it has no MODULE line");
	}
}
END_TEST

START_TEST(ids)
{
	static const struct {
		const char *head;
		unsigned n, first;
	} rows[] = {
		{"MODULE Linux x86 C0BCC3F19827FE653058404B2831D9E60 a\nINFO CODE_ID ABCD\n", 2,
			0xab},
		{"MODULE Linux x86 C0BCC3F19827FE653058404B2831D9E60 a\nINFO CODE_ID ABC\n", 0, 0},
		{"MODULE Linux x86 C0BCC3F19827FE653058404B2831D9E60 a\n", 0, 0},
		{"MODULE mac x86_64 C0BCC3F19827FE653058404B2831D9E60 a\n", 16, 0xc0},
		{"MODULE mac x86_64 C0BCC3F1 a\n", 0, 0},
		{"MODULE windows x86 C0BCC3F19827FE653058404B2831D9E61 a\nINFO CODE_ID 5AB38077 "
		 "a\n",
			0, 0},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_made_ struct made m;
		char text[512];

		snprintf(text, sizeof(text), "%sFUNC 1000 10 0 f\n", rows[i].head);
		make(&m, text, STRICT);
		ck_assert_int_eq(m.r, 0);
		ck_assert_uint_eq(m.g.id.n, rows[i].n);
		if (rows[i].n)
			ck_assert_int_eq(m.g.id.p[0], rows[i].first);
	}
}
END_TEST

/* A name of 200 KB is a name; a line longer than a line may be costs itself. */
START_TEST(long_lines)
{
	size_t most = BREAKPAD_LINE_MOST + 100, n = 0;
	char *text = malloc(2 * most);
	_cleanup_made_ struct made m;

	n += (size_t)snprintf(text, 2 * most, HEAD "FUNC 1000 10 0 ");
	memset(text + n, 'x', 200000);
	n += 200000;
	n += (size_t)snprintf(text + n, 2 * most - n, "\nFUNC 2000 10 0 ");
	memset(text + n, 'y', most);
	n += most;
	n += (size_t)snprintf(text + n, 2 * most - n, "\n2000 10 1 0\nFUNC 3000 10 0 end\n");
	make_pieces(&m, text, n, LENIENT, 1000);
	ck_assert_int_eq(m.r, 0);
	ck_assert_uint_eq(m.counts.bad, 1);
	ck_assert_uint_eq(m.counts.first_bad, 3);
	ck_assert_uint_eq(strlen(at(&m, 0x1000)), 200003);
	ck_assert_str_eq(at(&m, 0x2000), "-");
	ck_assert_str_eq(at(&m, 0x3000), "end@:0");
	free(text);
}
END_TEST

/* Any pieces of the text, the same file. */
START_TEST(pieces)
{
	static const char text[] = HEAD "INFO CODE_ID ABCD\n" FILES "INLINE_ORIGIN 0 x\n"
		"FUNC 1000 40 0 f g\r\nINLINE 0 11 0 0 1010 10\n1000 c 10 0\nbad\n100c 20 20 1\n"
		"PUBLIC 2000 0 p";
	_cleanup_made_ struct made whole;

	make_pieces(&whole, text, sizeof(text) - 1, LENIENT, sizeof(text));
	ck_assert_str_eq(at(&whole, 0x2000), "p@:0");
	ck_assert_uint_eq(whole.counts.bad, 1);
	for (size_t n = 1; n < 40; n++) {
		_cleanup_made_ struct made m;

		make_pieces(&m, text, sizeof(text) - 1, LENIENT, n);
		ck_assert_int_eq(m.r, 0);
		ck_assert_uint_eq(m.file.n, whole.file.n);
		ck_assert_mem_eq(m.file.p, whole.file.p, m.file.n);
		ck_assert_uint_eq(m.counts.first_bad, whole.counts.first_bad);
	}
}
END_TEST

/* A call of a call of ... deeper than the format's readers go, and one cut to many pieces. */
START_TEST(deep_and_wide)
{
	struct buf text = BUF_UP_TO(1 << 22);
	_cleanup_made_ struct made m;

	buf_adds(&text, HEAD FILES "INLINE_ORIGIN 0 x\nFUNC 1000 10000 0 f\n1000 10000 1 0\n");
	for (unsigned i = 0; i < 400; i++)
		buf_addf(&text, "INLINE %u 1 0 0 1000 100\n", i);
	buf_adds(&text, "INLINE 0 1 0 0");
	for (unsigned i = 0; i < 20000; i++)
		buf_addf(&text, " %x 1", 0x2000 + i * 2);
	for (unsigned k = 0; k < 60; k++)
		buf_addf(&text, "\nINLINE %u 1 0 0 2000 e000", k + 1);
	make_pieces(&m, text.p, text.n, STRICT, 4096);
	ck_assert_int_eq(m.r, 0);
	ck_assert_str_eq(at(&m, 0x1000 + 0x101), "f@/src/a.c:1");
	buf_release(&text);
}
END_TEST

/* Calls that reach over all of those before them are split by each. Many are nested, too many cost the file. */
START_TEST(calls_without_end)
{
	static const struct {
		unsigned n;
		int r;
	} rows[] = {{100, 0}, {20000, -EFBIG}};

	for (unsigned k = 0; k < ARRAY_SIZE(rows); k++) {
		struct buf text = BUF_UP_TO(1 << 22);
		_cleanup_made_ struct made m;

		buf_adds(&text, HEAD FILES "INLINE_ORIGIN 0 x\nFUNC 1000 100000 0 f\n1000 100000 1 0\n");
		for (unsigned i = 0; i < rows[k].n; i++)
			buf_addf(&text, "INLINE 0 %u 0 0 %x 2\n", i + 1, 0x1000 + 2 * i);
		for (unsigned i = 1; i < 250; i++)
			buf_addf(&text, "INLINE %u 1 0 0 1000 100000\n", i);
		make_pieces(&m, text.p, text.n, STRICT, 4096);
		ck_assert_int_eq(m.r, rows[k].r);
		if (m.r == 0)
			ck_assert_msg(strlen(at(&m, 0x1065)) > 249 * strlen("x@/src/a.c:1 < "), "%s", at(&m, 0x1065));
		buf_release(&text);
	}
}
END_TEST

UNIT_MAIN("gsym-breakpad", records, far_addresses, lines_that_begin_together, wide_space_behind_a_name,
	inlines_in_any_order, old_inlines, functions_that_meet, calls_that_tie, order_of_ties,
	calls_that_overlap, lines_that_are_split, all_addresses, bad_lines, no_symbol_file, ids, long_lines, pieces,
	deep_and_wide, calls_without_end)
