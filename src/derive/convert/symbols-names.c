/* Collects symbols, without those that debug information describes already, and chooses between the names that debug
 * information and the symbol table have for one function.
 *
 * The symbol at which a function begins names it, as in llvm-symbolizer. Debug information calls a constructor
 * C4, leaves out the mangled name of a static function, and has one name for a function and its clones. Of
 * several symbols at one address, this order decides:
 *  1. the symbol that has the name in debug information;
 *  2. a symbol of the same function: C1 for C4, `_ZL4workPKc` or `work.cold` for `work`;
 *  3. any function's symbol.
 * Among equals, .symtab comes before .dynsym, then the largest symbol, then the last in the table. In ELF local
 * symbols are the first of a table, so a global symbol comes before a local one. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "derive/convert/symbols-private.h"

#include <stdio.h>

/* Longer names are compared with equal ones only. */
#define NAME_MOST 4096
/* Comparisons of names for each symbol and function. A hostile file has many of both at one address. */
#define BUDGET_EACH 16
#define BUDGET_LEAST (1u << 16)

static int compare_aliases(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return COMPARE(x->addr, y->addr) ?: COMPARE(x->table, y->table) ?: COMPARE(y->size, x->size)
		?: COMPARE(y->index, x->index);
}

/* Adds a symbol at the start of `last`, the last function in s->known with that start. 0, -ENOMEM. */
static int add_alias(struct symbols *s, struct known *last, const struct symbol *x)
{
	struct symbol own = *x;
	bool single = last == s->known || last[-1].start != last->start;

	if (single && !last->exact)
		last->exact = strcmp(gsym_function_name(s->w, last->entry), x->name) == 0;
	if ((single && last->exact) || s->n_aliases == UINT32_MAX)
		return 0;
	own.table = s->table;
	own.index = (uint32_t)s->n_aliases;
	return APPEND(s->aliases, s->aliases_room, s->n_aliases, own);
}

/* ---- symbols beside debug information ------------------------------------------------ */

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
		return add_alias(s, k, x);
	/* Debug information covers a symbol without a size: the symbol is a label. */
	if (!text || (k && !x->size && s->reach[k - s->known] > x->addr))
		return 0;
	own.size = MIN(x->size, text->end - x->addr);
	return APPEND(s->all, s->room, s->n, own);
}

/* ---- the same function ----------------------------------------------------------------- */

/* Whether `symbol` is the mangled name, perhaps of a clone: `_ZN1AC2Ev.part.0` for `_ZN1AC4Ev`. */
static bool is_mangled_of(const char *symbol, const char *name)
{
	while (*name && *symbol == *name) {
		symbol++;
		name++;
		/* C4 and D4 are a constructor and destructor of no certain kind; see Itanium's C++ ABI. */
		if (*name == '4' && (name[-1] == 'C' || name[-1] == 'D') && *symbol >= '0' && *symbol <= '9') {
			symbol++;
			name++;
		}
	}
	return !*name && (!*symbol || *symbol == '.');
}

/* Finds the function's own name in a qualified one: `f` in `a::b<c::d>::f<int>`. Returns its length. */
static size_t own_name(const char *name, const char **out)
{
	unsigned deep = 0;
	size_t n;

	*out = name;
	for (const char *p = name; *p && p - name < NAME_MOST; p++) {
		deep += *p == '<';
		deep -= *p == '>' && deep;
		if (!deep && p[0] == ':' && p[1] == ':' && p[2])
			*out = p + 2;
	}
	n = strcspn(*out, "<(");
	return n ? n : strlen(*out);
}

/* Whether the mangled name has the identifier: its length in decimal digits, then its characters. */
static bool has_identifier(const char *symbol, const char *name, size_t n)
{
	char wanted[32];
	int digits = snprintf(wanted, sizeof(wanted), "%zu", n);

	for (const char *p = symbol; (p = strstr(p, wanted)); p++)
		if (strncmp(p + digits, name, n) == 0 && (p == symbol || p[-1] < '0' || p[-1] > '9'))
			return true;
	return false;
}

static bool is_same_function(const char *symbol, const char *name)
{
	const char *own;
	size_t n;

	if (strnlen(symbol, NAME_MOST) == NAME_MOST || strnlen(name, NAME_MOST) == NAME_MOST)
		return false;
	if (name[0] == '_' && name[1] == 'Z')
		return is_mangled_of(symbol, name);
	n = own_name(name, &own);
	if (strncmp(symbol, own, n) == 0 && (!symbol[n] || symbol[n] == '.'))
		return true;
	return symbol[0] == '_' && symbol[1] == 'Z' && has_identifier(symbol, own, n);
}

/* ---- the choice ------------------------------------------------------------------------ */

static bool spend(struct symbols *s)
{
	s->budget -= s->budget > 0;
	return s->budget;
}

/* The best symbol for a function, of those at its start, which are sorted. NULL: the function keeps its name. */
static const struct symbol *best_alias(struct symbols *s, const char *name, const struct symbol *all, size_t n)
{
	const struct symbol *same = NULL, *any = NULL;

	for (size_t i = 0; i < n && spend(s); i++) {
		if (strcmp(all[i].name, name) == 0)
			return NULL;
		if (!same && is_same_function(all[i].name, name))
			same = &all[i];
		if (!any && all[i].typed)
			any = &all[i];
	}
	if (!s->budget)
		return NULL;
	return same ? same : any;
}

/* Gives the name of a symbol to a function. `n` symbols begin where the function begins. */
static void name_function(struct symbols *s, const struct known *k, const struct symbol *all, size_t n)
{
	const struct symbol *best =
		k->exact || !spend(s) ? NULL : best_alias(s, gsym_function_name(s->w, k->entry), all, n);

	if (best)
		gsym_rename(s->w, k->entry, gsym_name(s->w, best->name, strlen(best->name)));
}

/* Chooses among functions that the linker folded into one: that of the first symbol, or else the first in debug
 * information. */
static void prefer_function(struct symbols *s, const struct known *all, size_t n_known, const struct symbol *first)
{
	const char *name = NULL;
	size_t lowest = 0;

	for (size_t i = 0; i < n_known; i++) {
		lowest = all[i].entry < all[lowest].entry ? i : lowest;
		if (first && strcmp(gsym_function_name(s->w, all[i].entry), first->name) == 0)
			name = first->name;
	}
	if (!name)
		name = gsym_function_name(s->w, all[lowest].entry);
	for (size_t i = 0; i < n_known; i++)
		if (strcmp(gsym_function_name(s->w, all[i].entry), name) == 0)
			gsym_prefer(s->w, all[i].entry);
}

void symbols_name_known(struct symbols *s)
{
	size_t alias = 0, n, n_known;

	s->budget = BUDGET_LEAST + (uint64_t)BUDGET_EACH * (s->n_aliases + s->n_known);
	sort_array(s->aliases, s->n_aliases, sizeof(*s->aliases), compare_aliases);
	for (size_t k = 0; k < s->n_known; k += n_known, alias += n) {
		const struct known *all = &s->known[k];
		const struct symbol *first = s->n_aliases ? &s->aliases[alias] : NULL;

		for (n_known = 1; k + n_known < s->n_known && all[n_known].start == all->start;)
			n_known++;
		for (n = 0; alias + n < s->n_aliases && first[n].addr == all->start;)
			n++;
		for (size_t i = 0; n && i < n_known; i++)
			name_function(s, &all[i], first, n);
		if (n_known > 1)
			prefer_function(s, all, n_known, n ? first : NULL);
	}
}
