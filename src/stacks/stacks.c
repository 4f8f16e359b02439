/* The lists of modules, threads and frames, and which module an address is in. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/stacks.h"
#include "base/grow.h"
#include "base/path.h"
#include "base/search.h"
#include "base/util.h"
#include "stacks/dump/state.h"
#include "stacks/libdw/wire.h"
#include "stacks/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *stack_found_name(enum stack_found f)
{
	static const char *const names[] = {"context", "cfi", "fp", "scan", "given"};

	return (unsigned)f < ARRAY_SIZE(names) ? names[f] : "given";
}

int stacks_module(struct stacks *s, const struct stack_module *m)
{
	struct stack_module copy = *m;

	if (s->n_modules == STACKS_MODULES_MOST)
		return -E2BIG;
	if (grow(&s->module, &s->room_modules, s->n_modules, sizeof(*s->module)) < 0)
		return -ENOMEM;
	if (m->path && !(copy.path = strdup(m->path)))
		return -ENOMEM;
	free(s->order);
	s->order = NULL;
	s->module[s->n_modules] = copy;
	return (int)s->n_modules++;
}

int stacks_thread(struct stacks *s, const struct stack_thread *t)
{
	struct stack_thread *to;

	if (s->n_threads == STACKS_THREADS_MOST)
		return -E2BIG;
	if (grow(&s->thread, &s->room_threads, s->n_threads, sizeof(*s->thread)) < 0)
		return -ENOMEM;
	to = &s->thread[s->n_threads];
	*to = *t;
	to->name[sizeof(to->name) - 1] = '\0';
	to->end[sizeof(to->end) - 1] = '\0';
	to->first = s->n_frames;
	to->n = 0;
	return (int)s->n_threads++;
}

int stacks_frame(struct stacks *s, const struct stack_frame *f)
{
	if (!s->n_threads || (f->module != STACKS_NO_MODULE && f->module >= s->n_modules))
		return -EINVAL;
	if (s->n_frames == STACKS_FRAMES_MOST)
		return -E2BIG;
	if (grow(&s->frame, &s->room_frames, s->n_frames, sizeof(*s->frame)) < 0)
		return -ENOMEM;
	s->frame[s->n_frames] = *f;
	s->thread[s->n_threads - 1].n++;
	return (int)s->n_frames++;
}

static int by_base(const void *a, const void *b, void *of)
{
	const struct stack_module *m = of;
	const struct stack_module *x = &m[*(const uint32_t *)a], *y = &m[*(const uint32_t *)b];

	return x->base < y->base ? -1 : x->base > y->base;
}

static int sort_modules(struct stacks *s)
{
	s->order = calloc(s->n_modules + 1, sizeof(*s->order));
	if (!s->order)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_modules; i++)
		s->order[i] = (uint32_t)i;
	qsort_r(s->order, s->n_modules, sizeof(*s->order), by_base, s->module);
	return 0;
}

uint32_t stacks_module_at(struct stacks *s, uint64_t address)
{
	size_t low;

	if (!s->order && sort_modules(s) < 0)
		return STACKS_NO_MODULE;
	low = search_first(i, 0, s->n_modules, s->module[s->order[i]].base <= address);
	return low && address < s->module[s->order[low - 1]].end ? s->order[low - 1] : STACKS_NO_MODULE;
}

void stacks_release(struct stacks *s)
{
	for (size_t i = 0; i < s->n_modules; i++)
		free(s->module[i].path);
	free(s->module);
	free(s->thread);
	free(s->frame);
	free(s->order);
	*s = (struct stacks){0};
}

struct taking {
	struct stacks *s;
	const struct stacks_records *of;
	const struct unwinder_record *x; /* the next one */
	size_t n;			 /* that are left */
	struct stacks_cut at;
	bool cut; /* a thread before this one has no end */
};

static int add_thread(struct taking *t, size_t index, const char *end)
{
	const struct dump_thread *from = &t->of->thread[index];
	struct stack_thread to = {.id = from->id, .crashed = index == 0 && t->of->crashed};

	snprintf(to.name, sizeof(to.name), "%s", from->name);
	snprintf(to.end, sizeof(to.end), "%s", from->lacks[0] ? from->lacks : end);
	return stacks_thread(t->s, &to);
}

/* Whether a frame pointer led out of all modules: it was probably no frame pointer. */
static bool is_guess(const struct stack_frame *f)
{
	return f->found == STACK_POINTER && f->module == STACKS_NO_MODULE;
}

/* Why no caller of the last frame that is not a guess was found: most often its module has no file. */
static void say_stuck(const struct stacks *s, struct stack_thread *t)
{
	static const char *const lacks[] = {
		[STACK_FILE_UNASKED] = "has no build id",
		[STACK_FILE_DEBUG] = "is on no source, only its debug file is",
		[STACK_FILE_MISSING] = "is on no source",
		[STACK_FILE_FAILED] = "could not be fetched",
	};
	const struct stack_frame *f = &s->frame[t->first + t->n - 1];
	const struct stack_module *m;
	const char *id;

	while (is_guess(f)) /* the first frame is not */
		f--;
	m = f->module == STACKS_NO_MODULE ? NULL : &s->module[f->module];
	id = m ? m->m.code_id : "";
	if (!m)
		snprintf(t->end, sizeof(t->end), "unwinding stopped: 0x%" PRIx64 " is in no module", f->address);
	else if (m->file == STACK_FILE_THERE || (m->file == STACK_FILE_UNASKED && id[0]))
		snprintf(t->end, sizeof(t->end), "unwinding stopped: no caller of %.80s + 0x%" PRIx64
			" was found", stack_module_name(m), f->address - m->base);
	else
		snprintf(t->end, sizeof(t->end), "unwinding stopped: %.80s%s%.8s%s %s", stack_module_name(m),
			id[0] ? " (" : "", id, id[0] ? "…)" : "", lacks[m->file]);
}

/* The trampoline of a signal handler and the frame that the signal interrupted both stop at an instruction. */
static int add_frame(struct stacks *s, const struct unwinder_record *x, const struct stack_frame *last)
{
	struct stack_frame f = {.address = x->pc, .look = x->activation || !x->pc ? x->pc : x->pc - 1,
		.found = !last ? STACK_CONTEXT : x->rules ? STACK_RULES : STACK_POINTER,
		.signal = last && x->activation && !last->signal};

	f.module = stacks_module_at(s, f.look);
	return stacks_frame(s, &f);
}

/* The sentence for a thread whose records have no end, or "". A thread without registers has no records. */
static const char *missing(struct taking *t, size_t index)
{
	const struct dump_thread *thread = &t->of->thread[index];

	if (!t->of->cut || !thread->n)
		return "";
	if (t->cut)
		t->at.after++;
	else
		t->at.id = thread->id;
	return t->cut ? "the callers are missing: the program that unwinds stacks ended before"
		      : "the callers are missing: the program that unwinds stacks ended here";
}

/* The records of one thread. */
static int add_stack(struct taking *t, size_t index)
{
	const struct dump_thread *thread = &t->of->thread[index];
	const struct unwinder_record registers = {.pc = thread->pc, .activation = 1}, *x = t->x;
	char end[sizeof(x->text) + 1] = "";
	const char *why = end;
	bool stuck = false;
	size_t frames = 0;
	int r;

	while (frames < t->n && x[frames].thread == index && x[frames].kind == UNWINDER_FRAME)
		frames++;
	t->x += frames;
	t->n -= frames;
	if (t->n && t->x->thread == index) {
		memcpy(end, t->x->text, sizeof(t->x->text));
		stuck = t->x->kind == UNWINDER_STUCK && frames && !thread->lacks[0];
		t->x++;
		t->n--;
	} else {
		why = missing(t, index);
		t->cut |= why[0] != '\0';
	}
	if (!frames && thread->n) {
		x = &registers;
		frames = 1;
	}
	r = add_thread(t, index, why);
	for (size_t i = 0; r >= 0 && i < frames; i++)
		r = add_frame(t->s, &x[i], i ? &t->s->frame[t->s->n_frames - 1] : NULL);
	if (r >= 0 && (stuck || (frames && !why[0] && !thread->lacks[0] && is_guess(&t->s->frame[r]))))
		say_stuck(t->s, &t->s->thread[t->s->n_threads - 1]);
	return r;
}

int stacks_records(struct stacks *s, const struct stacks_records *of, const struct unwinder_record *x, size_t n,
	struct stacks_cut *at)
{
	struct taking t = {.s = s, .of = of, .x = x, .n = n};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < of->n_threads; i++)
		r = add_stack(&t, i);
	*at = t.at;
	return r < 0 ? r : t.cut;
}
