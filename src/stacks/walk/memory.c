/* What a stack walk looks at: stack memory, the modules at addresses, and words that look like return addresses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/search.h"
#include "base/util.h"
#include "stacks/walk/private.h"

static const uint8_t *page_of(struct walk *w, uint64_t at, size_t n)
{
	if (at < w->page_at || at + n > w->page_at + w->page_n) {
		w->page_at = at & ~(uint64_t)(WALK_PAGE / 2 - 1);
		w->page_n = (size_t)MIN(WALK_PAGE, w->v->size - MIN(w->page_at, w->v->size));
		if (!w->page_n || view_read(w->v, w->page_at, w->page, w->page_n) < 0)
			w->page_n = 0;
	}
	return at + n <= w->page_at + w->page_n ? w->page + (at - w->page_at) : NULL;
}

bool walker_read(void *ctx, uint64_t at, uint64_t *out)
{
	struct walker *t = ctx;
	const struct minidump_range *s = &t->thread->stack;
	unsigned n = t->w->cpu->word;
	const uint8_t *p;

	if (at < s->start || at - s->start >= s->size || s->size - (at - s->start) < n)
		return false;
	p = page_of(t->w, s->at + (at - s->start), n);
	if (p)
		*out = n == 4 ? le32(p) : le64(p);
	return p;
}

struct walk_module *walk_module_at(struct walk *w, uint64_t address)
{
	size_t low = search_first(i, 0, w->n_loaded, w->module[w->order[i]].base <= address);

	if (low && address < w->module[w->order[low - 1]].end)
		return &w->module[w->order[low - 1]];
	for (size_t i = w->n_loaded; i < w->n_modules; i++)
		if (address >= w->module[i].base && address < w->module[i].end)
			return &w->module[i];
	return NULL;
}

int walk_sym_at(struct walk *w, uint64_t address, struct sym **sym, uint64_t *rva)
{
	struct walk_module *m = walk_module_at(w, address);

	if (!m)
		return 0;
	if (m->state == SYM_KNOWN) {
		*sym = m->sym;
		*rva = address - m->base;
		return m->sym != NULL;
	}
	m->state = SYM_WANTED;
	w->wants = true;
	return -EAGAIN;
}

uint64_t walker_look(const struct walker *t)
{
	uint64_t ip = t->now.reg[t->w->cpu->ip];

	return t->now.found == STACK_CONTEXT || ip == 0 ? ip : ip - 1;
}

uint64_t walk_strip(struct walk *w, uint64_t address)
{
	return walk_module_at(w, address & w->mask) ? address & w->mask : address;
}
