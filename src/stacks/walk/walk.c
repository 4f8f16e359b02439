/* Walks all threads of a minidump. Threads walk in turns: each goes on until it needs a Breakpad file, and then the
 * files of all threads are fetched together. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/walk/walk.h"
#include "base/grow.h"
#include "base/util.h"
#include "derive/derive.h"
#include "stacks/walk/private.h"
#include "store/store.h"
#include "symb/wait.h"

#include <stdio.h>
#include <string.h>

/* Gets Breakpad files for a stack walk: those that sources have, else those that symfs makes. */

/* A module whose file is asked for. */
struct asking {
	struct walk_module *m;
	struct question *q;
	bool made; /* `q` is a conversion */
};

static bool artifact_of(const struct module *m, struct artifact *out)
{
	struct key k;

	*out = (struct artifact){.type = FILETYPE_BREAKPAD, .m = *m};
	out->m.object = filetypes[FILETYPE_BREAKPAD].object;
	return !debug_id_is_nil(&m->debug_id) && m->debug_file[0] && key_of(&k, out) == 0;
}

static int ask(struct asking *a, struct waits *w, const struct walk_source *from, bool make)
{
	_cleanup_free_ struct artifact *want = calloc(2, sizeof(*want));
	int r;

	if (!want)
		return -ENOMEM;
	a->q = NULL;
	/* No source has the file of a program without a debug id: it is made by the code id. */
	if (!artifact_of(&a->m->m, &want[0])) {
		want[0].m.object = a->m->m.object;
		make = true;
	}
	if (make && derive_breakpad(from->derive, &want[0], &want[1]) < 0)
		return 0;
	a->q = question_new(w);
	if (!a->q)
		return -ENOMEM;
	a->q->of = a;
	a->made = make;
	if (!make) {
		question_fetch(a->q, from->fetch, want, 1);
		return 0;
	}
	r = derive_open(from->derive, &want[1], question_answered, a->q, &a->q->making);
	if (r < 0)
		question_fail(a->q, r);
	return 0;
}

/* Takes the file of an answer. A file that cannot be read is as good as none. */
static int take_answer(struct walk *w, struct asking *a, struct waits *waits, const struct walk_source *from)
{
	struct question *q = take(a->q);
	struct view v;
	int r = 0;

	if (q->r == 0 && q->blob) {
		v = view_of_fd(blob_fd(q->blob), blob_size(q->blob));
		r = sym_open(&a->m->sym, &v, &w->budget);
		if (r == 0)
			a->m->blob = blob_ref(q->blob);
		r = r == -ENOMEM ? r : 0;
	} else if (!a->made) {
		r = ask(a, waits, from, true);
	}
	question_unref(q);
	return r;
}

static int load_all(struct walk *w, struct asking *all, size_t n, struct waits *waits, const struct walk_source *from)
{
	struct question *q = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = ask(&all[i], waits, from, false);
	while (r == 0 && (r = wait_next(waits, from->stop, from->gone, &q)) == 0 && q)
		r = take_answer(w, q->of, waits, from);
	for (size_t i = 0; i < n; i++)
		question_cancel(all[i].q);
	return r;
}

/* Gets the files of all wanted modules; a module whose file cannot be had has none. 0, -EINTR, -ENOMEM. */
static int walk_load(struct walk *w, const struct walk_source *from)
{
	_cleanup_free_ struct asking *all = calloc(w->n_modules + 1, sizeof(*all));
	struct waits *waits = waits_new();
	size_t n = 0;
	int r = all && waits ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < w->n_modules; i++) {
		struct walk_module *m = &w->module[i];

		if (m->state != SYM_WANTED)
			continue;
		m->state = SYM_KNOWN;
		all[n++].m = m;
	}
	if (r == 0)
		r = load_all(w, all, n, waits, from);
	if (waits)
		waits_unref(waits);
	return r;
}

#define IP_LEAST 4096u /* no code is at a lower address */

/* ---- modules ------------------------------------------------------------------------------ */

static int add_module(void *ctx, const struct dump_module *d, bool unloaded)
{
	struct walk *w = ctx;
	struct walk_module m = {.m = d->m, .base = d->base, .end = d->end, .listed = -1};
	int r;

	m.path = d->path[0] ? strdup(d->path) : NULL;
	r = d->path[0] && !m.path ? -ENOMEM : APPEND(w->module, w->room, w->n_modules, m);
	if (r < 0)
		free(m.path);
	else
		w->n_loaded += !unloaded;
	return r;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct walk *w = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint64_t x = w->module[i].base, y = w->module[j].base;

	return x != y ? (x < y ? -1 : 1) : i < j ? -1 : 1;
}

/* The bits above those of the highest module may be a pointer's authentication code. */
static uint64_t mask_of(const struct walk *w)
{
	uint64_t mask = 0;

	if (w->dump.cpu != MINIDUMP_CPU_ARM64 || !w->n_loaded)
		return UINT64_MAX;
	for (size_t i = 0; i < w->n_loaded; i++)
		mask |= w->module[i].end;
	for (unsigned i = 1; i < 64; i *= 2)
		mask |= mask >> i;
	return mask;
}

static int read_modules(struct walk *w)
{
	int r = minidump_each_module(w->v, add_module, w);

	if (r < 0)
		return r;
	w->order = calloc(w->n_loaded + 1, sizeof(*w->order));
	if (!w->order)
		return -ENOMEM;
	for (size_t i = 0; i < w->n_loaded; i++)
		w->order[i] = (uint32_t)i;
	qsort_r(w->order, w->n_loaded, sizeof(*w->order), compare, w);
	w->mask = mask_of(w);
	return 0;
}

/* ---- one thread --------------------------------------------------------------------------- */

static int keep_frame(struct walker *t)
{
	uint64_t ip = t->now.reg[t->w->cpu->ip];
	struct stack_frame f = {.module = STACKS_NO_MODULE, .address = ip, .look = walker_look(t),
		.found = t->now.found};

	t->w->frames_left--;
	return APPEND(t->frame, t->room, t->n, f);
}

static int end_walk(struct walker *t, const char *why)
{
	t->over = true;
	t->end = why;
	return 0;
}

/* Whether the stack ends before this frame: no code is so low, and the stack pointer must grow. A first caller may
 * have the stack pointer of a function that does not use the stack. */
static bool is_end(const struct walker *t, const struct walk_frame *f)
{
	uint64_t sp = f->reg[t->w->cpu->sp], was = t->now.reg[t->w->cpu->sp];

	return f->reg[t->w->cpu->ip] < IP_LEAST || (t->now.found == STACK_CONTEXT ? sp < was : sp <= was);
}

static bool stops(const struct walk_source *from)
{
	return from && ((from->stop && atomic_load(from->stop)) || (from->gone && atomic_load(from->gone)));
}

/* Walks until the end, or until a file is wanted. 0, -ENOMEM, -EINTR. */
static int go_on(struct walker *t)
{
	struct walk_frame next;
	int r = 0;

	while (r == 0 && !t->over) {
		int found;

		/* A frame can cost a search of the stack, and each word a look into an index. */
		if (stops(t->w->from))
			return -EINTR;
		if (t->n == WALK_FRAMES_MOST)
			return end_walk(t, "the stack has more frames than symfs reads");
		if (!t->w->frames_left)
			return end_walk(t, "the stacks of the dump have more frames than symfs reads");
		next = (struct walk_frame){0};
		found = t->w->cpu->step(t, &next);
		if (found == -EAGAIN)
			return 0;
		if (found < 0)
			return found;
		if (found == 0 || is_end(t, &next))
			return end_walk(t, "");
		t->now = next;
		t->params = t->params_next;
		r = keep_frame(t);
	}
	return r;
}

static int begin(struct walk *w, struct walker *t, const struct minidump_thread *thread)
{
	*t = (struct walker){.w = w, .thread = thread, .end = ""};
	if (!w->cpu)
		return end_walk(t, "symfs does not know the processor of the dump");
	if (!thread->has_registers)
		return end_walk(t, "the dump does not have the registers of the thread");
	if (!w->frames_left)
		return end_walk(t, "the stacks of the dump have more frames than symfs reads");
	memcpy(t->now.reg, thread->reg, sizeof(t->now.reg));
	t->now.known = UINT64_MAX;
	t->now.found = STACK_CONTEXT;
	if (w->dump.cpu == MINIDUMP_CPU_ARM64)
		t->now.reg[REG_ARM64_LR] = walk_strip(w, t->now.reg[REG_ARM64_LR]);
	if (!thread->stack.size)
		end_walk(t, "the dump does not have the stack of the thread");
	return keep_frame(t);
}

/* ---- all threads -------------------------------------------------------------------------- */

static int walk_all(struct walk *w, struct walker *all, int (*load)(struct walk *w, const struct walk_source *from))
{
	size_t n = w->dump.n_threads;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = begin(w, &all[i], &w->dump.thread[i]);
	do {
		w->wants = false;
		for (size_t i = 0; r == 0 && i < n; i++)
			r = go_on(&all[i]);
		if (r == 0 && w->wants)
			r = load(w, w->from);
	} while (r == 0 && w->wants);
	return r;
}

static int put_module(struct walk *w, struct stacks *out, uint64_t look, uint32_t *index)
{
	struct walk_module *m = walk_module_at(w, look);
	int r = m && m->listed < 0 ? 0 : -1;

	*index = STACKS_NO_MODULE;
	if (!m)
		return 0;
	if (r == 0) {
		r = stacks_module(out, &(struct stack_module){.m = m->m,
					       .path = m->path,
					       .base = m->base,
					       .end = m->end,
					       .unverified = !m->m.code_id[0] && debug_id_is_nil(&m->m.debug_id)});
		if (r < 0)
			return r;
		m->listed = r;
	}
	*index = (uint32_t)m->listed;
	return 0;
}

static int put_thread(struct walk *w, struct walker *t, struct stacks *out)
{
	struct stack_thread s = {.id = t->thread->id, .crashed = t->thread->crashed};
	int r;

	snprintf(s.name, sizeof(s.name), "%s", t->thread->name);
	snprintf(s.end, sizeof(s.end), "%s", t->end);
	r = stacks_thread(out, &s);
	for (size_t i = 0; r >= 0 && i < t->n; i++) {
		r = put_module(w, out, t->frame[i].look, &t->frame[i].module);
		if (r >= 0)
			r = stacks_frame(out, &t->frame[i]);
	}
	return MIN(r, 0);
}

static void put_reason(const struct walk *w, struct stacks *out)
{
	out->address = w->dump.address;
	if (w->dump.crashed)
		snprintf(out->reason, sizeof(out->reason), "%s at 0x%llx", w->dump.reason,
			(unsigned long long)w->dump.address);
}

static void walk_free(struct walk *w)
{
	for (size_t i = 0; i < w->n_modules; i++) {
		sym_free(w->module[i].sym);
		blob_unref(w->module[i].blob);
		free(w->module[i].path);
	}
	free(w->module);
	free(w->order);
	minidump_release(&w->dump);
	free(w);
}

static int walk_threads(struct walk *w, struct stacks *out,
	int (*load)(struct walk *w, const struct walk_source *from))
{
	struct walker *all = calloc(w->dump.n_threads + 1, sizeof(*all));
	int r = all ? walk_all(w, all, load) : -ENOMEM;

	put_reason(w, out);
	out->whole = w->dump.whole;
	for (size_t i = 0; r == 0 && i < w->dump.n_threads; i++)
		r = put_thread(w, &all[i], out);
	for (size_t i = 0; all && i < w->dump.n_threads; i++)
		free(all[i].frame);
	free(all);
	return r;
}

int walk_with(struct stacks *out, struct view *dump, int (*load)(struct walk *w, const struct walk_source *from),
	const struct walk_source *from, struct err *e)
{
	struct walk *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	w->v = dump;
	w->from = from;
	w->budget = WALK_INDEX_MOST;
	w->frames_left = WALK_FRAMES_ALL;
	r = minidump_open(&w->dump, dump, e);
	if (r == 0) {
		w->cpu = walk_cpu_of(w->dump.cpu);
		r = read_modules(w);
		if (r == 0)
			r = walk_threads(w, out, load);
		if (r < 0)
			err_set(e, r, "%s", r == -EINTR ? "interrupted" : err_text(r));
	}
	walk_free(w);
	return r;
}

int walk_minidump(struct stacks *out, struct view *dump, const struct walk_source *from, struct err *e)
{
	return walk_with(out, dump, walk_load, from, e);
}
