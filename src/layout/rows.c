/* Compiles the rows of all layouts at their first use, and finds those that a path can match. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/rows.h"
#include "base/util.h"
#include "layout/layouts.h"
#include "layout/never.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ROWS_MOST (64 * ROW_WORDS)
#define LAYOUTS_MOST 32
#define COMPONENTS_MOST 192
#define TOKENS_MOST 512

/* A component, and the rows that have it at one place of their patterns. */
struct entry {
	const struct component *component;
	struct row_set rows;
};

/* The components at one place of all patterns. */
struct place {
	unsigned n;
	struct entry entries[COMPONENTS_MOST];
	struct row_set others; /* rows that accept anything: {path} has begun */
	struct row_set ending; /* rows whose last component was at the place before */
};

static struct {
	unsigned first[LAYOUTS_MOST + 1]; /* row numbers */
	struct pattern patterns[ROWS_MOST];
	struct component components[COMPONENTS_MOST];
	struct token *tokens;
	unsigned n_components, n_tokens;
	struct place places[PATTERN_COMPONENTS + 1];
} all;

static void set_add(struct row_set *set, unsigned row)
{
	set->word[row / 64] |= 1ull << row % 64;
}

bool rows_has(const struct row_set *set, unsigned row)
{
	return set->word[row / 64] >> row % 64 & 1;
}

/* ---- compiling ---------------------------------------------------------------------- */

/* The tables of layouts are part of the program: a table that does not fit is a mistake in it. */
static void must_fit(bool fits)
{
	if (!fits)
		abort();
}

/* The letter case of a field counts only in print, so such components are different ones. */
static const struct component *component_of(const char *text, size_t n)
{
	struct component *c = all.components;

	for (unsigned i = 0; i < all.n_components; i++, c++)
		if (c->n == n && memcmp(c->text, text, n) == 0)
			return c;
	must_fit(all.n_components < COMPONENTS_MOST);
	all.n_tokens += component_compile(text, n, c, tokens_at(all.tokens, all.n_tokens), TOKENS_MOST - all.n_tokens);
	must_fit(all.n_tokens < TOKENS_MOST);
	all.n_components++;
	return c;
}

static void compile(const char *text, struct pattern *out)
{
	for (;;) {
		size_t n = strcspn(text, "/");

		must_fit(out->n < PATTERN_COMPONENTS);
		out->rest = strcmp(text, "{path}") == 0;
		out->components[out->n++] = component_of(text, n);
		if (!text[n])
			break;
		text += n + 1;
	}
	pattern_complete(out);
}

static void enter(struct place *at, const struct component *c, unsigned row)
{
	struct entry *e = at->entries;

	while (e < at->entries + at->n && e->component != c)
		e++;
	at->n += e == at->entries + at->n;
	e->component = c;
	set_add(&e->rows, row);
}

static void enter_row(unsigned row)
{
	const struct pattern *p = &all.patterns[row];

	for (unsigned i = 0; i < PATTERN_COMPONENTS + 1; i++)
		if (i < p->n - p->rest)
			enter(&all.places[i], p->components[i], row);
		else if (p->rest)
			set_add(&all.places[i].others, row);
		else
			set_add(&all.places[i].ending, row);
}

static void compile_all(void)
{
	unsigned row = 0, i = 0;

	all.tokens = tokens_new(TOKENS_MOST);
	must_fit(all.tokens);
	for (; layouts[i].name; i++) {
		must_fit(i < LAYOUTS_MOST);
		all.first[i] = row;
		for (const struct layout_row *r = layouts[i].rows; r->pattern; r++, row++) {
			must_fit(row < ROWS_MOST);
			compile(r->pattern, &all.patterns[row]);
			if (!(r->flags & ROW_PRINTED))
				enter_row(row);
		}
	}
	all.first[i] = row;
}

static void ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, compile_all);
}

/* ---- rows --------------------------------------------------------------------------- */

unsigned rows_first(const struct layout *l)
{
	ready();
	return all.first[l - layouts];
}

const struct pattern *rows_pattern(const struct layout *l, unsigned row)
{
	return &all.patterns[rows_first(l) + row];
}

void rows_add(const struct layout *l, struct row_set *set)
{
	unsigned end = (ready(), all.first[l - layouts + 1]);

	for (unsigned row = all.first[l - layouts]; row < end; row++)
		if (!(l->rows[row - all.first[l - layouts]].flags & ROW_PRINTED))
			set_add(set, row);
}

/* ---- paths -------------------------------------------------------------------------- */

void split_path(const char *path, struct split *out)
{
	const char *p = path;

	*out = (struct split){.path = path};
	for (;; p++) {
		struct part *part = &out->parts[MIN(out->n, (unsigned)SPLIT_PARTS - 1)], other;

		part = out->n < SPLIT_PARTS ? part : &other;
		p = part_read(p, part);
		out->never = out->never || layout_never(part->p, part->n);
		if (!part_is_name(part))
			out->names_from = out->n + 1;
		if (*p && part->n == 6 && strncasecmp(part->p, "source", 6) == 0)
			out->source = out->n;
		out->n++;
		if (!*p)
			break;
	}
	out->length = (size_t)(p - path);
}

static bool is_empty(const struct row_set *a)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < ROW_WORDS; i++)
		any |= a->word[i];
	return !any;
}

static bool meets(const struct row_set *a, const struct row_set *b)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < ROW_WORDS; i++)
		any |= a->word[i] & b->word[i];
	return any;
}

static void join(struct row_set *a, const struct row_set *b)
{
	for (unsigned i = 0; i < ROW_WORDS; i++)
		a->word[i] |= b->word[i];
}

void rows_match(const struct split *s, unsigned from, struct row_set *set)
{
	unsigned n = s->n - from;

	for (unsigned i = 0; i < MIN(n, (unsigned)PATTERN_COMPONENTS + 1) && !is_empty(set); i++) {
		const struct place *at = &all.places[i];
		struct row_set fits = {{0}};

		if (s->names_from <= from + i)
			fits = at->others;
		for (const struct entry *e = at->entries; e < at->entries + at->n; e++)
			if (meets(&e->rows, set) && component_fits(e->component, &s->parts[from + i]))
				join(&fits, &e->rows);
		for (unsigned w = 0; w < ROW_WORDS; w++)
			set->word[w] &= fits.word[w];
	}
}
