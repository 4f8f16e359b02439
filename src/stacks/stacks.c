/* The lists of modules, threads and frames, and which module an address is in. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/stacks.h"
#include "base/grow.h"
#include "base/path.h"
#include "base/search.h"
#include "base/util.h"

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

const char *stack_module_name(const struct stack_module *m)
{
	if (m->path && path_base(m->path)[0])
		return path_base(m->path);
	return m->m.code_file[0] ? m->m.code_file : m->m.debug_file[0] ? m->m.debug_file : "<unknown>";
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
