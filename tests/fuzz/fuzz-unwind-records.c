/* Fuzzes the reader of the records that the program libexec/symfs/unwind writes. The first byte is the number of
 * threads, the second has flags: crashed, cut, and which threads have no registers. The rest is records. Each thread
 * is there once and in order, frames are those of records or of registers, and a cut has a place. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "stacks/dump/state.h"
#include "stacks/libdw/wire.h"
#include "stacks/records.h"

#include <stdio.h>
#include <string.h>

#define THREADS 8u

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static void begin(struct dump_thread *t, unsigned n, unsigned flags)
{
	for (unsigned i = 0; i < n; i++) {
		t[i] = (struct dump_thread){.id = 1000 + i, .pc = 0x1000 * i, .n = 17};
		if (i % 3 == 1 && flags & 4) {
			t[i].n = 0;
			snprintf(t[i].lacks, sizeof(t[i].lacks), "did not stop");
		}
	}
}

static void check(const struct stacks *s, const struct stacks_records *of, size_t records)
{
	size_t frames = 0;

	must(s->n_threads == of->n_threads, "a thread is missing");
	for (size_t i = 0; i < s->n_threads; i++) {
		const struct stack_thread *t = &s->thread[i];

		must(t->id == of->thread[i].id && t->crashed == (i == 0 && of->crashed), "another thread");
		must(memchr(t->end, '\0', sizeof(t->end)), "a sentence without an end");
		must(t->first == frames && (t->n || !of->thread[i].n), "a thread has no frame");
		frames += t->n;
	}
	must(frames == s->n_frames && frames <= records + s->n_threads, "frames from nowhere");
	for (size_t i = 0; i < frames; i++) {
		const struct stack_frame *f = &s->frame[i];

		must(f->module == STACKS_NO_MODULE || (f->look >= s->module[f->module].base &&
			f->look < s->module[f->module].end), "a frame is in another module");
	}
}

static void print(const struct stacks *s)
{
	struct buf out = BUF_UP_TO(64u << 20);

	must(stacks_print(s, NULL, NULL, false, &out, NULL) == 0 && !memchr(buf_text(&out), '\033', out.n),
		"the text is not safe");
	buf_clear(&out);
	must(stacks_print(s, NULL, NULL, true, &out, NULL) == 0, "no JSON");
	buf_release(&out);
}

FUZZ_TARGET("unwind-records", p, n)
{
	static const struct stack_module modules[] = {{.base = 0x1000, .end = 0x2000},
		{.base = 0x5000, .end = UINT64_MAX}};
	struct dump_thread thread[THREADS];
	struct stacks_records of = {.thread = thread};
	struct stacks s = {0};
	struct stacks_cut at = {0};
	size_t records = n < 2 ? 0 : (n - 2) / sizeof(struct unwinder_record);
	/* exactly as many, so that a read behind them is seen */
	_cleanup_free_ struct unwinder_record *x = malloc(records ? records * sizeof(*x) : 1);
	int r;

	if (n < 2 || !x)
		return 0;
	if (records)
		memcpy(x, p + 2, records * sizeof(*x));
	of.n_threads = p[0] % (THREADS + 1);
	of.crashed = p[1] & 1;
	of.cut = p[1] & 2;
	begin(thread, (unsigned)of.n_threads, p[1]);
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		stacks_module(&s, &modules[i]);
	r = stacks_records(&s, &of, x, records, &at);
	must(r == 0 || (r == 1 && of.cut), "another result");
	must(r == 0 || (at.id >= 1000 && at.id - 1000 + at.after < of.n_threads), "the place of the cut");
	check(&s, &of, records);
	print(&s);
	stacks_release(&s);
	return 0;
}
