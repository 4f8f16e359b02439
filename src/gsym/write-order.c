/* Sorts the functions of a file, and chooses among functions with the same addresses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
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

	if (!n != !m)
		return n ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->preferred != y->preferred)
		return x->preferred ? -1 : 1;
	if (!x->n_nodes != !y->n_nodes)
		return x->n_nodes ? -1 : 1;
	if (!x->n_rows != !y->n_rows)
		return x->n_rows ? -1 : 1;
	if (n != m)
		return n < m ? -1 : 1;
	return strcmp(a, b);
}

/* Orders two functions of the same name and rank by unit (gsym_set_order()), then by content. So the result
 * does not depend on which thread added its function first. */
static int compare_content(
	const struct entry *x, const struct entry *y, const struct gsym_writer *w)
{
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->n_rows != y->n_rows)
		return x->n_rows > y->n_rows ? -1 : 1;
	if (x->n_nodes != y->n_nodes)
		return x->n_nodes > y->n_nodes ? -1 : 1;
	for (uint32_t i = 0; i < x->n_rows; i++) {
		const struct row *a = &x->of->rows[x->rows + i], *b = &y->of->rows[y->rows + i];
		struct pair f, g;
		int r;

		if (a->at != b->at)
			return a->at < b->at ? -1 : 1;
		if (a->line != b->line)
			return a->line < b->line ? -1 : 1;
		if (!a->file || !b->file) {
			if (a->file != b->file)
				return a->file ? -1 : 1;
			continue;
		}
		f = w->files.at[a->file];
		g = w->files.at[b->file];
		r = strcmp(texts_at(&w->texts, f.base), texts_at(&w->texts, g.base));
		if (!r)
			r = strcmp(texts_at(&w->texts, f.dir), texts_at(&w->texts, g.dir));
		if (r)
			return r;
	}
	return 0;
}

static int compare_entries(const void *a, const void *b, void *w)
{
	const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;
	int r;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* A function without a size is kept only if no other function begins at its address. */
	if (x->size != y->size)
		return !x->size != !y->size ? (x->size ? -1 : 1) : (x->size < y->size ? -1 : 1);
	r = compare_worth(x, y, w);
	if (!r)
		r = compare_content(x, y, w);
	return r ? r : (x->rows > y->rows) - (x->rows < y->rows);
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
