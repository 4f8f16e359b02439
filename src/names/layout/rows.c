/* Compiles the rows of all layouts at their first use, and finds those that a path can match. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/layout/rows.h"
#include "base/util.h"
#include "names/layout/layouts.h"
#include "names/layout/name.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LAYOUTS_MOST 16
#define NODES_MOST 256

/* The patterns are a tree: patterns that begin with the same components share these. */
struct node {
	const struct component *component;
	bool rest;	    /* the component is {path} */
	unsigned layouts;   /* those with rules in this part of the tree */
	struct node *child, *next;
	struct rule *rules; /* that end here */
};

static struct {
	const struct rule *rows[LAYOUTS_MOST][LAYOUT_ROWS];
	struct rule rules[RULES_MOST];
	struct node nodes[NODES_MOST]; /* the first is the root */
	unsigned n_rules, n_nodes;
} all;

/* The tables of layouts are part of the program: a table that does not fit is a mistake in it. */
static void must_fit(bool fits)
{
	if (!fits)
		abort();
}

/* Finds the rule of a row, or adds it. Letter case counts only in print. */
static struct rule *rule_of(const struct layout_row *row)
{
	struct rule *r = all.rules;

	for (; r < all.rules + all.n_rules; r++)
		if (r->row->type == row->type && r->row->object == row->object &&
			strcasecmp(r->row->pattern, row->pattern) == 0)
			return r;
	must_fit(all.n_rules < RULES_MOST);
	r->number = all.n_rules++;
	r->row = row;
	pattern_compile(row->pattern, &r->pattern);
	return r;
}

static struct node *child_of(struct node *parent, const struct component *c)
{
	struct node **n = &parent->child;

	while (*n && (*n)->component != c)
		n = &(*n)->next;
	if (!*n) {
		must_fit(all.n_nodes + 1 < NODES_MOST);
		*n = &all.nodes[++all.n_nodes];
		(*n)->component = c;
	}
	return *n;
}

/* Adds a rule that the layout reads paths by. */
static void add_rule(struct rule *r, unsigned layout)
{
	struct node *n = all.nodes;
	struct rule **at;

	for (unsigned i = 0; i < r->pattern.n; i++) {
		n = child_of(n, r->pattern.components[i]);
		n->layouts |= layout;
	}
	n->rest = r->pattern.rest;
	for (at = &n->rules; *at && *at != r;)
		at = &(*at)->next;
	*at = r;
}

static void compile_all(void)
{
	for (unsigned i = 0; layouts[i].name; i++) {
		must_fit(i < LAYOUTS_MOST);
		for (unsigned row = 0; layouts[i].rows[row].pattern; row++) {
			struct rule *r = rule_of(&layouts[i].rows[row]);

			must_fit(row < LAYOUT_ROWS);
			all.rows[i][row] = r;
			if (!(layouts[i].rows[row].flags & ROW_PRINTED))
				add_rule(r, 1u << i);
		}
	}
}

const struct rule *const *rows_rules(const struct layout *l)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, compile_all);
	return all.rows[l - layouts];
}

/* ---- paths -------------------------------------------------------------------------- */

void split_path(const char *path, const struct layout *only, struct split *out)
{
	struct path_part other, *part;

	*out = (struct split){.path = path, .length = strlen(path), .wanted = only ? 1u << (only - layouts) : ~0u};
	if (out->length == 0 || out->length >= LAYOUT_PATH_MAX)
		return;
	for (;; path++) {
		part = out->n < SPLIT_PARTS ? &out->parts[out->n] : &other;
		path = path_part_read(path, part);
		out->n++;
		if (!path_part_is_name(part))
			out->names_from = out->n;
		if (!*path)
			break;
		if (part->n == 6 && strncasecmp(part->p, "source", 6) == 0)
			out->source = out->n - 1;
	}
}

/* Marks the rules of this part of the tree. */
static void mark(struct split *s, unsigned from, const struct node *n)
{
	s->layouts[from] |= n->layouts;
	for (const struct rule *r = n->rules; r; r = r->next)
		s->rules[from][r->number] = RULE_LIKE;
	for (const struct node *child = n->child; child; child = child->next)
		mark(s, from, child);
}

/* Compares the path from component `at` on with the patterns below a node. */
static void match(struct split *s, unsigned from, unsigned at, const struct node *parent)
{
	for (const struct node *n = parent->child; n; n = n->next) {
		if (!(n->layouts & s->wanted) ||
			(n->rest ? at < s->names_from : !component_fits(n->component, &s->parts[at])))
			continue;
		if (n->rest || at + 1 == s->n)
			mark(s, from, n);
		else
			match(s, from, at + 1, n);
	}
}

bool split_match(struct split *s, unsigned from, const struct layout *l)
{
	rows_rules(l); /* compiles them */
	if (!s->matched[from])
		match(s, from, from, all.nodes);
	s->matched[from] = true;
	return s->layouts[from] >> (l - layouts) & 1;
}
