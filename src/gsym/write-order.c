/* Sorts the functions of a file, and chooses among functions with the same addresses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "gsym/write-private.h"

static const char *name_of(const struct gsym_writer *w, const struct entry *x)
{
	return texts_at(&w->texts, x->name);
}

/* Decides which of two functions with the same addresses stays; see enum gsym_rank. */
static int compare_worth(const struct entry *x, const struct entry *y, const struct gsym_writer *w)
{
	const char *a = name_of(w, x), *b = name_of(w, y);
	size_t n = strlen(a), m = strlen(b);

	return COMPARE(!n, !m) ?: COMPARE(x->rank, y->rank) ?: COMPARE(y->preferred, x->preferred)
		?: COMPARE(!x->n_nodes, !y->n_nodes) ?: COMPARE(!x->n_rows, !y->n_rows) ?: COMPARE(n, m)
		?: strcmp(a, b);
}

static int compare_files(const struct gsym_writer *w, uint32_t a, uint32_t b)
{
	struct pair f = texts_pair(&w->files, a), g = texts_pair(&w->files, b);

	return strcmp(texts_at(&w->texts, f.base), texts_at(&w->texts, g.base))
		?: strcmp(texts_at(&w->texts, f.dir), texts_at(&w->texts, g.dir));
}

/* Orders two functions of the same name and rank by unit (gsym_set_order()), then by content. So the result
 * does not depend on which thread added its function first. */
static int compare_content(
	const struct entry *x, const struct entry *y, const struct gsym_writer *w)
{
	int r = COMPARE(x->order, y->order) ?: COMPARE(y->n_rows, x->n_rows) ?: COMPARE(y->n_nodes, x->n_nodes);

	for (uint32_t i = 0; !r && i < x->n_rows; i++) {
		const struct row *a = &x->of->rows[x->rows + i], *b = &y->of->rows[y->rows + i];

		r = COMPARE(a->at, b->at) ?: COMPARE(a->line, b->line) ?: COMPARE(!a->file, !b->file)
			?: compare_files(w, a->file, b->file);
	}
	return r;
}

static int compare_entries(const void *a, const void *b, void *w)
{
	const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;

	/* A function without a size is kept only if no other function begins at its address. */
	return COMPARE(x->addr, y->addr) ?: COMPARE(!x->size, !y->size) ?: COMPARE(x->size, y->size)
		?: compare_worth(x, y, w) ?: compare_content(x, y, w) ?: COMPARE(x->rows, y->rows);
}

int write_sort_all(const struct gsym_writer *main, const struct entry ***out, size_t *count)
{
	const struct entry **all;
	size_t n = 0;

	for (const struct gsym_writer *w = main; w; w = w->next) {
		if (w->r < 0)
			return w->r;
		n += w->n_entries;
	}
	all = malloc((n + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (const struct gsym_writer *w = main; w; w = w->next)
		for (size_t i = 0; i < w->n_entries; i++)
			all[n++] = &w->entries[i];
	if (n)
		qsort_r(all, n, sizeof(*all), compare_entries, (void *)main);
	*out = all;
	*count = n;
	return 0;
}

int write_sort(struct output *o)
{
	size_t n;
	int r = write_sort_all(o->w, &o->all, &n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct entry *last = o->n ? o->all[o->n - 1] : NULL, *x = o->all[i];

		if (!x->name || (last && last->addr == x->addr &&
					(last->size == x->size || !x->size)))
			continue;
		o->all[o->n++] = x;
	}
	return r;
}
