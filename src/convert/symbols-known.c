/* Collects symbols, without those that debug information describes already. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "convert/symbols-private.h"

static int compare_ranges(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return COMPARE(x->start, y->start) ?: COMPARE(x->end, y->end) ?: COMPARE(x->entry, y->entry);
}

int symbols_collect_known(struct symbols *s)
{
	size_t n = gsym_functions(s->w);
	uint64_t reach = 0, size;

	s->known = malloc(n * sizeof(*s->known) + 1);
	s->reach = malloc(n * sizeof(*s->reach) + 1);
	if (!s->known || !s->reach)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		gsym_function_at(s->w, i, &s->known[i].start, &size);
		s->known[i].end = s->known[i].start + size;
		s->known[i].entry = (uint32_t)i;
		s->known[i].exact = false;
	}
	sort_array(s->known, n, sizeof(*s->known), compare_ranges);
	for (size_t i = 0; i < n; i++)
		s->reach[i] = reach = MAX(reach, s->known[i].end);
	s->n_known = n;
	return 0;
}

/* The last function of debug information that begins at or before the address; NULL: no function begins there. */
static struct known *known_before(const struct symbols *s, uint64_t addr)
{
	size_t from = search_first(i, 0, s->n_known, s->known[i].start <= addr);

	return from ? &s->known[from - 1] : NULL;
}

int symbols_add(struct symbols *s, const struct symbol *x)
{
	const struct text_range *text = text_range_of(s->text, s->n_text, x->addr);
	struct symbol own = *x;
	struct known *k = text ? known_before(s, x->addr) : NULL;

	if (k && k->start == x->addr)
		return symbols_add_alias(s, k, x);
	/* Debug information covers a symbol without a size: the symbol is a label. */
	if (!text || (k && !x->size && s->reach[k - s->known] > x->addr))
		return 0;
	own.size = MIN(x->size, text->end - x->addr);
	return APPEND(s->all, s->room, s->n, own);
}
