/* Fuzzes walks of minidumps: threads, registers, memory and modules are any bytes, and every module has the same
 * Breakpad file. The work is bounded, each frame is in its thread, and a dump that cannot be walked has a reason. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "stacks/walk/private.h"

#include <string.h>

static const char text[] =
	"MODULE Linux x86_64 000000000000000000000000000000000 a\n"
	"FUNC 100 40 8 f\nFUNC 200 20 0 g\nPUBLIC 180 0 p\nPUBLIC 1000 4 q\n"
	"STACK CFI INIT 100 40 .cfa: $rsp 8 + .ra: .cfa 8 - ^\nSTACK CFI 104 .cfa: $rbp 16 + $rbp: .cfa 16 - ^\n"
	"STACK CFI INIT 200 20 .cfa: sp 16 + .ra: .cfa 8 - ^ x29: .cfa 16 - ^\n"
	"STACK WIN 4 500 40 3 2 8 4 c 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n"
	"STACK WIN 0 600 10 0 0 4 4 4 0 0 1\nSTACK WIN 0 700 10 0 0 4 fffffffc 4 0 0 0\n";

static int load(struct walk *w, const struct walk_source *from)
{
	struct view v = view_of_mem(text, sizeof(text) - 1);

	for (size_t i = 0; i < w->n_modules; i++) {
		if (w->module[i].state != SYM_WANTED)
			continue;
		w->module[i].state = SYM_KNOWN;
		if (i % 2 == 0)
			sym_open(&w->module[i].sym, &v, &w->budget);
	}
	return 0;
}

FUZZ_TARGET("walk", p, n)
{
	_cleanup_free_ uint8_t *copy = calloc(n ? n : 1, 1); /* that ends where the dump ends */
	struct view v = view_of_mem(copy, n);
	struct stacks s = {0};
	struct err e = {0};
	int r;

	if (n)
		memcpy(copy, p, n);
	r = walk_with(&s, &v, load, NULL, &e);
	if ((r < 0 && !e.text[0]) || s.n_frames > WALK_FRAMES_ALL + MINIDUMP_THREADS)
		abort();
	for (size_t i = 0; i < s.n_threads; i++)
		if (s.thread[i].n > WALK_FRAMES_MOST || !memchr(s.thread[i].name, '\0', sizeof(s.thread[i].name)))
			abort();
	stacks_release(&s);
	return 0;
}
