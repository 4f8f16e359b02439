/* Tests that a walk of a minidump reports why it ends early: it is told to stop within a thread, or memory is
 * short. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "unit.h"
#include "walk-dump.h"

#include <sys/mman.h>

static unsigned allocations, fails_at; /* the number of the allocation that fails; 0: none */

static void *allocate(size_t n)
{
	return ++allocations == fails_at ? NULL : malloc(n);
}

#define malloc allocate
#include "stacks/walk/cpus.c"
#include "stacks/walk/rules.c"
#include "stacks/walk/sym.c"
#undef malloc

static const char text_amd64[] = "MODULE Linux x86_64 0 a\nFUNC 0 1000 0 f\n"
				 "STACK CFI INIT 100 40 .cfa: $rsp 16 + .ra: .cfa 8 - ^\n"
				 "STACK CFI INIT 200 100 .cfa: $rsp 16 + .ra: .cfa 8 - ^\n";
static const char text_x86[] =
	"MODULE windows x86 0 a.pdb\nFUNC 0 1000 0 f\n"
	"STACK WIN 4 100 40 0 0 8 4 8 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n"
	"STACK WIN 0 200 40 0 0 4 4 8 0 0 0\n";
static const char *text;

static int load(struct walk *w, const struct walk_source *from)
{
	struct view v = view_of_mem(text, strlen(text));
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->n_modules; i++) {
		if (w->module[i].state != SYM_WANTED)
			continue;
		w->module[i].state = SYM_KNOWN;
		r = sym_open(&w->module[i].sym, &v, &w->budget);
	}
	return r;
}

static struct dump_bytes D;

/* A stack of five frames in one module. */
static void amd64_dump(void)
{
	const uint64_t S = DUMP_STACK;

	dump_begin(&D, CPU_AMD64, 0x8201);
	dump_module(&D, 'a', 0x400000, 0x10000);
	put(&D, 0x1000 + 0xf8, 0x400110, 8);
	put(&D, 0x1000 + 0x78 + 8 * 4, S + 0x90, 8);
	for (unsigned i = 0; i < 4; i++)
		put_stack(&D, S + 0x98 + 16 * i, 0x400211 + 16 * i, 8);
	text = text_amd64;
}

static void x86_dump(void)
{
	const uint32_t S = DUMP_STACK;

	dump_begin(&D, CPU_X86, 2);
	dump_module(&D, 'a', 0x400000, 0x10000);
	put(&D, 0x1000 + 0xb8, 0x400110, 4);
	put(&D, 0x1000 + 0xc4, S + 0x10, 4);
	put(&D, 0x1000 + 0xb4, S + 0x20, 4);
	put_stack(&D, S + 0x20, S + 0x100, 4);
	put_stack(&D, S + 0x24, 0x400210, 4);
	put_stack(&D, S + 0x3c, 0x400300, 4);
	put_stack(&D, S + 0x100, 0, 4);
	put_stack(&D, S + 0x104, 0x400400, 4);
	text = text_x86;
}

/* The result of a walk. After success, *frames is how many it found. */
static int walk(struct view v, const struct walk_source *from, size_t *frames)
{
	struct stacks s = {0};
	struct err e = {0};
	int r = walk_with(&s, &v, load, from, &e);

	ck_assert(r == 0 || e.text[0]);
	*frames = s.n_frames;
	stacks_release(&s);
	return r;
}

/* ---- told to stop ----------------------------------------------------------------------- */

static atomic_bool stop, gone;
static atomic_bool *set; /* becomes true when the walk reads the stack */

static bool has(const void *ctx, uint64_t at, uint64_t n)
{
	if (set && at + n > 0x2000)
		atomic_store(set, true);
	return true;
}

/* The dump has one thread: only a look between its frames sees that the walk is to stop. */
START_TEST(stops_within_a_thread)
{
	struct walk_source from = {.stop = &stop, .gone = &gone};
	atomic_bool *const flags[] = {NULL, &stop, &gone};
	int fd = memfd_create("dump", MFD_CLOEXEC);
	size_t frames = 0;

	amd64_dump();
	ck_assert_int_eq(write(fd, D.p, sizeof(D.p)), sizeof(D.p));
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		set = flags[i];
		ck_assert_int_eq(walk(view_of_holes(fd, sizeof(D.p), has, NULL), &from, &frames), set ? -EINTR : 0);
		if (set)
			atomic_store(set, false);
		else
			ck_assert_uint_eq(frames, 5);
	}
	close(fd);
}
END_TEST

/* ---- without memory --------------------------------------------------------------------- */

static void each_allocation_fails(size_t want)
{
	struct view v = view_of_mem(D.p, sizeof(D.p));
	unsigned all;
	size_t frames = 0;

	allocations = fails_at = 0;
	ck_assert_int_eq(walk(v, NULL, &frames), 0);
	ck_assert_uint_eq(frames, want);
	all = allocations;
	ck_assert_uint_ge(all, 2 * want); /* one of each frame, and one of each rule at least */
	for (unsigned i = 1; i <= all; i++) {
		allocations = 0;
		fails_at = i;
		ck_assert_int_eq(walk(v, NULL, &frames), -ENOMEM);
	}
	fails_at = 0;
}

START_TEST(no_memory)
{
	amd64_dump();
	each_allocation_fails(5);
	x86_dump();
	each_allocation_fails(4);
}
END_TEST

UNIT_MAIN("walk-ends", stops_within_a_thread, no_memory)
