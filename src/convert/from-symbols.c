/* Turns symbol tables into functions: which symbols are functions, and where each ends. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/from-symbols.h"
#include "base/util.h"
#include "convert/symbols-private.h"

/* Orders symbols by address. At one address, symbols with a size come first, then symbols with a type. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	if (x->typed != y->typed)
		return x->typed ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Adds the lines in [start, end) that belong to no function of the debug information. */
static int tell_rows(struct symbols *s, uint64_t start, uint64_t end)
{
	const struct strays *all = s->strays;
	size_t from = 0, to = all->n;
	int r = 0;

	while (from < to) { /* finds the first entry whose `reach` is beyond the start */
		size_t mid = from + (to - from) / 2;

		if (all->all[mid].reach <= start)
			from = mid + 1;
		else
			to = mid;
	}
	for (; r == 0 && from < all->n && all->all[from].low < end; from++) {
		const struct stray_row *rows = all->rows + all->all[from].rows;
		uint32_t n = all->all[from].n_rows, i = 0;
		uint64_t stop = MIN(end, all->all[from].high);

		if (stop <= start)
			continue;
		for (uint32_t k = n; i < k;) { /* finds the first row after the start */
			uint32_t mid = i + (k - i) / 2;

			if (rows[mid].addr <= start)
				i = mid + 1;
			else
				k = mid;
		}
		for (i = i ? i - 1 : 0; r == 0 && i < n && rows[i].addr < stop; i++)
			r = gsym_add_row(s->w, MAX(rows[i].addr, start), rows[i].file, rows[i].line);
	}
	return r;
}

static int tell_symbol(struct symbols *s, const struct symbol *x, uint64_t size)
{
	uint32_t name;
	int r = gsym_name(s->w, x->name, strlen(x->name), &name);

	if (r == 0)
		r = gsym_begin(s->w, x->addr, size, name, x->rank);
	if (r == -ERANGE)
		return 0;
	if (r == 0)
		r = tell_rows(s, x->addr, x->addr + size);
	return r < 0 ? r : gsym_end(s->w);
}

/* Where a symbol without a size ends. */
static uint64_t symbol_end(const struct symbols *s, size_t i)
{
	const struct symbol *x = &s->all[i];
	const struct text_range *text = text_range_of(s->text, s->n_text, x->addr);
	uint64_t end = text->end;
	size_t from = 0, to = s->n_known;

	while (from < to) { /* finds the first known function after the symbol */
		size_t mid = from + (to - from) / 2;

		if (s->known[mid].start <= x->addr)
			from = mid + 1;
		else
			to = mid;
	}
	if (from < s->n_known)
		end = MIN(end, s->known[from].start);
	while (i < s->n && s->all[i].addr == x->addr)
		i++;
	return i < s->n ? MIN(end, s->all[i].addr) : end;
}

/* Writes the symbols that are functions. A symbol with neither type nor size is a label if it lies in a
 * function, and a function otherwise. But a global symbol is a function even inside another symbol, if that
 * symbol has no type: assembler has tables of functions. A symbol with a type but no size is a function,
 * unless a symbol with a size begins at its address. */
static int tell_symbols(struct symbols *s)
{
	uint64_t typed_reach = 0, reach = 0, sized_at = UINT64_MAX, same_at = UINT64_MAX,
		 same_end = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct symbol *x = &s->all[i];
		uint64_t size = x->size;
		int r;

		if (size)
			sized_at = x->addr;
		else if (x->addr == sized_at ||
			 (!x->typed &&
				 x->addr < (x->rank == GSYM_LOCAL ? reach : typed_reach)))
			continue;
		if (!size) {
			if (same_at != x->addr)
				same_end = symbol_end(s, i);
			same_at = x->addr;
			size = same_end - x->addr;
		}
		r = tell_symbol(s, x, size);
		if (r < 0)
			return r;
		reach = MAX(reach, x->addr + size);
		if (x->typed)
			typed_reach = MAX(typed_reach, x->addr + size);
	}
	return 0;
}

static int read_symbols(struct symbols *s)
{
	int r = text_ranges(s->m, &s->text, &s->n_text);

	if (r == 0)
		r = symbols_collect_known(s);
	if (r == 0)
		r = s->m->kind == IMAGE_ELF	  ? symbols_of_elf(s)
		    : s->m->kind == IMAGE_MACHO ? symbols_of_macho(s)
						  : symbols_of_pe(s);
	if (r == 0)
		r = symbols_name_known(s);
	if (r == 0 && s->n) {
		qsort(s->all, s->n, sizeof(*s->all), compare_symbols);
		r = tell_symbols(s);
	}
	return r;
}

static int compare_strays(const void *a, const void *b)
{
	const struct stray_lines *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->rows > y->rows) - (x->rows < y->rows);
}

int gsym_from_symbols(
	struct gsym_writer *w, const struct image *m, struct strays *strays, struct err *e)
{
	struct symbols s = {.w = w, .m = m, .strays = strays};
	uint64_t reach = 0;
	int r;

	if (strays->n)
		qsort(strays->all, strays->n, sizeof(*strays->all), compare_strays);
	for (size_t i = 0; i < strays->n; i++)
		strays->all[i].reach = reach = MAX(reach, strays->all[i].high);
	r = read_symbols(&s);

	free(s.text);
	free(s.all);
	free(s.known);
	free(s.aliases);
	free(s.reach);
	free(s.names);
	buf_release(&s.debugdata);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}
