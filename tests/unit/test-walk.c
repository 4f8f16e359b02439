/* Tests walk/: expressions, rules of Breakpad files, and walks of minidumps that are built here, on three processors;
 * then 1,000 damaged minidumps. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "stacks/walk/eval.h"
#include "stacks/walk/private.h"
#include "unit.h"
#include "walk-dump.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- expressions ------------------------------------------------------------------------- */

static bool word_at(void *ctx, uint64_t at, uint64_t *out)
{
	*out = at * 2;
	return at < 1000;
}

START_TEST(expressions)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t value;
	} rows[] = {{"1", true, 1}, {"-1", true, UINT64_MAX}, {"$rsp 8 +", true, 108}, {"$rsp 8 - ^", true, 184},
		{"7 2 /", true, 3}, {"7 0 /", false, 0}, {"7 0 %", false, 0}, {"100 16 @", true, 96}, {"", false, 0},
		{"1 2", false, 0},
		{"+", false, 0}, {"$none", false, 0}, {"0x10", false, 0}, {"1000 ^", false, 0},
		{".cfa 3 *", true, 30},
		{"99999999999999999999", false, 0}, {"$rsp", true, 100}};
	struct eval v = {.read = word_at}, n = {.narrow = true, .read = word_at};
	static char deep[3000];
	uint64_t value = 0;

	eval_set(&v, "$rsp", 100);
	eval_set(&v, ".cfa", 10);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ck_assert_int_eq(eval_value(&v, rows[i].text, strlen(rows[i].text), &value), rows[i].ok);
		if (rows[i].ok)
			ck_assert_uint_eq(value, rows[i].value);
	}
	for (size_t i = 0; i + 2 < sizeof(deep); i += 2)
		memcpy(deep + i, "1 ", 2);
	ck_assert(!eval_value(&v, deep, strlen(deep), &value));
	eval_set(&n, "$ebp", 100);
	ck_assert(eval_program(&n, "$T0 $ebp 4 + =$eip $T0 ^ =", 26));
	ck_assert(eval_get(&n, "$eip", &value) && value == 208 && eval_assigned(&n, "$eip") &&
		!eval_assigned(&n, "$ebp"));
	ck_assert(!eval_program(&n, ".cfa 1 =", 8));
	ck_assert(!eval_program(&n, "$T0 1", 5));
	ck_assert(eval_value(&n, "0 1 -", 5, &value) && value == UINT32_MAX);
}
END_TEST

/* ---- rules ------------------------------------------------------------------------------- */

static const char text[] =
	"MODULE Linux x86_64 000000000000000000000000000000000 a\r\n"
	"FUNC 100 40 8 f\n100 40 1 0\nFUNC m 200 20 0 g\nPUBLIC 180 0 p\nPUBLIC m 400 4 q\n"
	"STACK CFI INIT 100 40 .cfa: $rsp 8 + .ra: .cfa 8 - ^\n"
	"STACK CFI 101 .cfa: $rsp 16 + $rbp: .cfa 16 - ^\n"
	"STACK CFI 104 .cfa: $rbp 16 +\n"
	"STACK CFI INIT 200 20 .cfa: $rsp 8 +\n"
	"STACK CFI INIT 300 10 nonsense\n"
	"STACK WIN 4 500 40 3 2 8 4 c 0 1 $eip 4 + ^ =\n"
	"STACK WIN 0 508 10 0 0 4 0 0 0 0 1\n"
	"STACK WIN 4 50a 8 0 0 4 0 0 0 1 inner\n"
	"STACK WIN 0 600 10 0 0 4 0 0 0 0 1\n"
	"STACK WIN 3 700 10 0 0 4 0 0 0 0 1";

static struct sym *sym_of(const char *t)
{
	size_t budget = 1u << 20;
	struct view v = view_of_mem(t, strlen(t));
	struct sym *s = NULL;

	ck_assert_int_eq(sym_open(&s, &v, &budget), 0);
	return s;
}

static const char *rule_of(const struct sym_rules *r, const char *name)
{
	static char out[256];

	for (unsigned i = 0; i < r->n; i++)
		if (r->rule[i].name_n == strlen(name) && memcmp(r->text + r->rule[i].name, name, strlen(name)) == 0) {
			snprintf(out, sizeof(out), "%.*s", (int)r->rule[i].value_n, r->text + r->rule[i].value);
			return out;
		}
	return "";
}

START_TEST(records)
{
	static struct sym_rules r;
	static struct sym_win w;
	struct sym *s = sym_of(text);
	uint32_t n = 0;

	ck_assert(sym_rules(s, 0x100, &r));
	ck_assert_str_eq(rule_of(&r, ".cfa"), "$rsp 8 +");
	ck_assert_str_eq(rule_of(&r, "$rbp"), "");
	ck_assert(sym_rules(s, 0x103, &r));
	ck_assert_str_eq(rule_of(&r, ".cfa"), "$rsp 16 +");
	ck_assert_str_eq(rule_of(&r, "$rbp"), ".cfa 16 - ^");
	ck_assert(sym_rules(s, 0x13f, &r));
	ck_assert_str_eq(rule_of(&r, ".cfa"), "$rbp 16 +");
	ck_assert_str_eq(rule_of(&r, ".ra"), ".cfa 8 - ^");
	ck_assert(!sym_rules(s, 0x140, &r) && !sym_rules(s, 0xff, &r) && !sym_rules(s, 0x300, &r));
	ck_assert(sym_names(s, 0x100) && sym_names(s, 0x13f) && !sym_names(s, 0x140) && sym_names(s, 0x180));
	ck_assert(!sym_names(s, 0xff) && !sym_names(s, 0x220) && sym_names(s, 0x1000));
	ck_assert(sym_params(s, 0x110, &n) && n == 8 && !sym_params(s, 0x180, &n));
	ck_assert(sym_win(s, 0x500, &w) && !w.fpo && w.params == 8 && w.saved == 4 && w.locals == 12);
	ck_assert_str_eq(w.program, "$eip 4 + ^ =");
	ck_assert(sym_win(s, 0x50b, &w));
	ck_assert_str_eq(w.program, "inner");
	ck_assert(sym_win(s, 0x600, &w) && w.fpo && w.allocates_bp && !w.program[0]);
	ck_assert(!sym_win(s, 0x700, &w));
	sym_free(s);
}
END_TEST

START_TEST(bounds)
{
	static char line[200000];
	static struct sym_rules r;
	size_t budget = 7000; /* for records of one kind, and not of two */
	struct view v = view_of_mem(text, sizeof(text) - 1);
	struct sym *s = NULL;

	ck_assert_int_eq(sym_open(&s, &v, &budget), -EFBIG);
	ck_assert_uint_eq(budget, 7000);
	/* A line longer than the reader's buffer is cut, and the next one is read. */
	memset(line, 'x', sizeof(line) - 1);
	memcpy(line, "FUNC 100 10 0 ", 14);
	memcpy(line + sizeof(line) - 24, "\nFUNC 200 10 0 g\n", 17);
	line[sizeof(line) - 7] = '\0';
	s = sym_of(line);
	ck_assert(sym_names(s, 0x100) && sym_names(s, 0x200));
	sym_free(s);
	/* 5,000 rows, whose text is longer than a struct sym_rules. */
	budget = (size_t)snprintf(line, sizeof(line), "STACK CFI INIT 0 10000 .cfa: $rsp 8 + .ra: .cfa 8 - ^\n");
	for (unsigned i = 1; i <= 5000; i++)
		budget += (size_t)snprintf(line + budget, sizeof(line) - budget, "STACK CFI %x .cfa: $rsp %u +\n", i,
			i % 2 ? 16 : 24);
	s = sym_of(line);
	ck_assert(sym_rules(s, 5000, &r));
	ck_assert_str_eq(rule_of(&r, ".cfa"), "$rsp 24 +");
	sym_free(s);
	memset(line, 'y', sizeof(line) - 1);
	memcpy(line, ".cfa: ", 6);
	r.n = r.used = 0;
	ck_assert(!sym_rules_add(&r, line, sizeof(line) - 1));
}
END_TEST

/* ---- walks ------------------------------------------------------------------------------- */

static const char *texts[2]; /* the files of the modules a and b; NULL: none */
static unsigned loads;

static int load(struct walk *w, const struct walk_source *from)
{
	loads++;
	for (size_t i = 0; i < w->n_modules; i++) {
		const char *t = w->module[i].m.code_file[0] == 'a' ? texts[0] : texts[1];
		struct view v = view_of_mem(t, t ? strlen(t) : 0);

		if (w->module[i].state != SYM_WANTED)
			continue;
		w->module[i].state = SYM_KNOWN;
		if (t)
			sym_open(&w->module[i].sym, &v, &w->budget);
	}
	return 0;
}

/* The frames as "a+100 cfi, b+20 scan". */
static const char *walked(const struct dump_bytes *d)
{
	static char out[4096];
	struct view v = view_of_mem(d->p, sizeof(d->p));
	struct stacks s = {0};
	struct err e = {0};
	size_t n = 0;

	loads = 0;
	ck_assert_int_eq(walk_with(&s, &v, load, NULL, &e), 0);
	ck_assert_uint_eq(s.n_threads, 1);
	ck_assert(s.thread[0].crashed);
	out[0] = '\0';
	for (size_t i = 0; i < s.n_frames && n + 100 < sizeof(out); i++) {
		const struct stack_frame *f = &s.frame[i];
		const struct stack_module *m = f->module == STACKS_NO_MODULE ? NULL : &s.module[f->module];

		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s+%llx %s", i ? ", " : "",
			m ? m->m.code_file : "",
			(unsigned long long)(f->address - (m ? m->base : 0)), stack_found_name(f->found));
	}
	stacks_release(&s);
	return out;
}

static void amd64_registers(struct dump_bytes *d, uint64_t ip, uint64_t sp, uint64_t bp)
{
	put(d, 0x1000 + 0xf8, ip, 8);
	put(d, 0x1000 + 0x78 + 8 * 4, sp, 8);
	put(d, 0x1000 + 0x78 + 8 * 5, bp, 8);
}

static struct dump_bytes D;

static void amd64_dump(void)
{
	const uint64_t S = DUMP_STACK;

	dump_begin(&D, CPU_AMD64, 0x8201);
	dump_module(&D, 'a', 0x400000, 0x10000);
	dump_module(&D, 'b', 0x800000, 0x10000);
	amd64_registers(&D, 0x400110, S + 0x90, S + 0x100);
	put_stack(&D, S + 0x100, S + 0x140, 8); /* rules: rbp + 16 */
	put_stack(&D, S + 0x108, 0x800030, 8);
	put_stack(&D, S + 0x140, S + 0x200, 8); /* b has no rules: frame pointer */
	put_stack(&D, S + 0x148, 0x800060, 8);
	put_stack(&D, S + 0x200, 5, 8); /* no frame pointer: search */
	put_stack(&D, S + 0x208, 0x1234, 8);
	put_stack(&D, S + 0x210, 0x400141, 8); /* not in a function */
	put_stack(&D, S + 0x218, 0x400201, 8);
}

START_TEST(amd64)
{
	amd64_dump();
	texts[0] = text;
	texts[1] = NULL;
	ck_assert_str_eq(walked(&D), "a+110 context, b+30 cfi, b+60 fp, a+201 scan");
	ck_assert_uint_le(loads, 3);
	/* Windows has no frame pointers; a leaf function has its return address on top. */
	put(&D, 0x94, 2, 4);
	amd64_registers(&D, 0x800500, DUMP_STACK + 0x148, 0);
	ck_assert_str_eq(walked(&D), "b+500 context, b+60 scan, a+201 scan");
	/* A stack that is not in the dump: the first frame only. */
	put(&D, 0x604 + 36, 0xffffff00, 4);
	ck_assert_str_eq(walked(&D), "b+500 context");
}
END_TEST

START_TEST(arm64)
{
	static const char rules[] = "MODULE Linux arm64 0 a\nFUNC 0 1000 0 f\n"
				    "STACK CFI INIT 100 40 .cfa: sp 0 + .ra: x30\n"
				    "STACK CFI 108 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^\n";
	const uint64_t S = DUMP_STACK, pac = 0x003a000000000000;

	dump_begin(&D, CPU_ARM64, 0x8201);
	dump_module(&D, 'a', 0x400000, 0x10000);
	put(&D, 0x1008 + 8 * 32, 0x400110, 8);
	put(&D, 0x1008 + 8 * 31, S + 0x10, 8);
	put(&D, 0x1008 + 8 * 29, S + 0x10, 8);
	put(&D, 0x1008 + 8 * 30, 0x400114, 8);
	put_stack(&D, S + 0x10, S + 0x40, 8);
	put_stack(&D, S + 0x18, 0x400200 | pac, 8); /* rules */
	put_stack(&D, S + 0x40, S + 0x80, 8);
	put_stack(&D, S + 0x48, 0x400300 | pac, 8); /* frame pointer */
	put_stack(&D, S + 0x80, 0, 8);
	put_stack(&D, S + 0x88, 0, 8);
	texts[0] = rules;
	ck_assert_str_eq(walked(&D), "a+110 context, a+200 cfi, a+300 fp");
	texts[0] = NULL; /* the link register may still have the last callee's return address */
	ck_assert_str_eq(walked(&D), "a+110 context, a+114 fp, a+200 fp, a+300 fp");
}
END_TEST

/* A crash in a leaf of b, in a program without frame pointers: x29 leads to the thread's first record. */
START_TEST(arm64_leaf)
{
	static const char rules[] = "MODULE Linux arm64 0 a\nFUNC 100 100 0 work\nFUNC 300 100 0 main\n"
				    "STACK CFI INIT 100 100 .cfa: sp 16 + .ra: .cfa -8 + ^\n",
			  functions[] = "MODULE Linux arm64 0 a\nFUNC 100 100 0 work\nFUNC 300 100 0 main\n";
	const uint64_t S = DUMP_STACK;

	dump_begin(&D, CPU_ARM64, 0x8201);
	dump_module(&D, 'a', 0x400000, 0x10000);
	dump_module(&D, 'b', 0x800000, 0x10000);
	put(&D, 0x1008 + 8 * 32, 0x800040, 8);
	put(&D, 0x1008 + 8 * 31, S + 0x10, 8);
	put(&D, 0x1008 + 8 * 29, S + 0x80, 8); /* {0, 0} */
	put(&D, 0x1008 + 8 * 30, 0x400114, 8);
	put_stack(&D, S + 0x10, 0x400700, 8); /* in no function */
	put_stack(&D, S + 0x18, 0x400320, 8);
	texts[1] = NULL;
	texts[0] = rules;
	ck_assert_str_eq(walked(&D), "b+40 context, a+114 fp, a+320 cfi");
	texts[0] = functions;
	ck_assert_str_eq(walked(&D), "b+40 context, a+114 fp, a+320 scan");
	put(&D, 0x1008 + 8 * 29, 0, 8);
	ck_assert_str_eq(walked(&D), "b+40 context, a+114 fp, a+320 scan");
	/* Without a link register the stack is searched at once. */
	put(&D, 0x1008 + 8 * 30, 0, 8);
	ck_assert_str_eq(walked(&D), "b+40 context, a+320 scan");
}
END_TEST

START_TEST(x86)
{
	static const char rules[] = "MODULE windows x86 0 a.pdb\nFUNC 0 1000 0 f\n"
				    "STACK WIN 4 100 40 0 0 8 4 8 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp "
				    "$T0 8 + =\n"
				    "STACK WIN 0 200 40 0 0 4 4 8 0 0 0\n";
	const uint32_t S = 0x7fff1000;

	dump_begin(&D, CPU_X86, 2);
	dump_module(&D, 'a', 0x400000, 0x10000);
	put(&D, 0x1000 + 0xb8, 0x400110, 4);
	put(&D, 0x1000 + 0xc4, S + 0x10, 4);
	put(&D, 0x1000 + 0xb4, S + 0x20, 4);
	put_stack(&D, S + 0x20, S + 0x100, 4);
	put_stack(&D, S + 0x24, 0x400210, 4);
	/* esp is S + 0x28; 8 bytes of the callee's parameters, 4 of registers and 8 of locals follow */
	put_stack(&D, S + 0x3c, 0x400300, 4);
	put_stack(&D, S + 0x100, 0, 4);
	put_stack(&D, S + 0x104, 0x400400, 4);
	texts[0] = rules;
	ck_assert_str_eq(walked(&D), "a+110 context, a+210 cfi, a+300 cfi, a+400 fp");
}
END_TEST

/* A dump that was asked for has no exception, and no thread of it crashed: also not the one that Breakpad notes. */
START_TEST(asked_for)
{
	struct view v = view_of_mem(D.p, sizeof(D.p));
	struct stacks s = {0};
	struct err e = {0};

	amd64_dump();
	put(&D, 0x20 + 12 * 2, 0x47670001, 4); /* Breakpad's stream in place of the exception */
	put(&D, 0x700, 2, 4);
	put(&D, 0x708, 77, 4);
	ck_assert_int_eq(walk_with(&s, &v, load, NULL, &e), 0);
	ck_assert_uint_eq(s.n_threads, 1);
	ck_assert_uint_eq(s.thread[0].id, 77);
	ck_assert(!s.thread[0].crashed && s.n_frames > 1);
	ck_assert_str_eq(s.reason, "");
	stacks_release(&s);
}
END_TEST

/* ---- damaged dumps --------------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

/* Changes some bytes or words, or cuts the dump. */
static size_t damage(uint8_t *p, size_t n)
{
	static const uint32_t words[] = {0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0xfffffff0, 4096, 65536};

	if (any(8) == 0)
		n = any((uint32_t)n + 1);
	for (unsigned i = any(12) + 1; i > 0 && n > 8; i--) {
		/* Most numbers are in the directory and at the beginning of streams. */
		size_t at = any(2) ? any((uint32_t)MIN(n, 4096) - 3) : any((uint32_t)n - 3);
		uint32_t word = any(2) ? words[any(ARRAY_SIZE(words))] : any(UINT32_MAX);

		memcpy(p + at, &word, any(4) + 1);
	}
	return n;
}

static void walk_damaged(const uint8_t *p, size_t n, unsigned times, unsigned *done, unsigned *errors)
{
	for (unsigned i = 0; i < times; i++) {
		_cleanup_free_ uint8_t *copy = malloc(n + 1), *exact = NULL;
		struct stacks s = {0};
		struct err e = {0};
		struct view v;
		size_t size;
		int r;

		memcpy(copy, p, n);
		size = damage(copy, n);
		exact = malloc(size ? size : 1); /* ends where the dump ends */
		memcpy(exact, copy, size);
		v = view_of_mem(exact, size);
		r = walk_with(&s, &v, load, NULL, &e);
		ck_assert(r == 0 || e.text[0]);
		*errors += r < 0;
		++*done;
		stacks_release(&s);
	}
}

START_TEST(damaged)
{
	const char *top = getenv("top_srcdir");
	_cleanup_free_ char *dir = NULL;
	unsigned done = 0, errors = 0, files = 0;
	struct dirent *entry;
	DIR *all;

	seed = unit_seed(20261123);
	texts[0] = texts[1] = text;
	amd64_dump();
	walk_damaged(D.p, sizeof(D.p), 400, &done, &errors);
	ck_assert_int_gt(asprintf(&dir, "%s/../shared/fixtures/minidump", top ? top : "."), 0);
	all = opendir(dir);
	while (all && (entry = readdir(all))) {
		_cleanup_free_ char *path = NULL, *p = NULL;
		_cleanup_close_ int fd = -1;
		struct stat st;

		if (!strstr(entry->d_name, ".dmp"))
			continue;
		ck_assert_int_gt(asprintf(&path, "%s/%s", dir, entry->d_name), 0);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		ck_assert(fd >= 0 && fstat(fd, &st) == 0 && (p = malloc((size_t)st.st_size)));
		ck_assert_int_eq(read(fd, p, (size_t)st.st_size), st.st_size);
		walk_damaged((uint8_t *)p, (size_t)st.st_size, 30, &done, &errors);
		files++;
	}
	if (all)
		closedir(all);
	else
		unit_part_skipped("no ../shared/fixtures/minidump: minidumps of other programs");
	if (done < 1000)
		walk_damaged(D.p, sizeof(D.p), 1000 - done, &done, &errors);
	printf("%u damaged minidumps of %u files and one built here: %u with an error message, %u walked\n", done,
		files, errors, done - errors);
	ck_assert_uint_ge(done, 1000);
}
END_TEST

UNIT_MAIN("walk", expressions, records, bounds, amd64, arm64, arm64_leaf, x86, asked_for, damaged)
