/* Plans how a directory is listed: finds the rows of a layout that have entries in it, and the keys to
 * read. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/layout/listing-plan.h"
#include "base/util.h"
#include "names/layout/rows.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DIGITS_MOST 12 /* most digits of an entry's name: their value and other fields must fit into the 63
			  bits of a directory offset */

/* ---- which keys a row lists --------------------------------------------------------- */

struct sampling {
	bool rows[LISTING_ROWS];
};

static int sampled(void *ctx, unsigned row, const char *path)
{
	struct sampling *s = ctx;

	if (row < LISTING_ROWS)
		s->rows[row] = true;
	return 0;
}

/* Finds the rows that print example keys of a class, with or without a name. */
static int sample(const struct layout *l, unsigned class, struct sampling *out)
{
	struct artifact a;
	struct key k;
	int r;

	memset(out, 0, sizeof(*out));
	if (key_sample(class, class / KEY_FORMS == FILETYPE_SOURCE ? "/n" : "n", &k) < 0)
		return 0;
	key_artifact(&k, &a);
	r = layout_each_printed(l, &a, sampled, out);
	k.name[0] = '\0';
	key_artifact(&k, &a);
	return r == 0 ? layout_each_printed(l, &a, sampled, out) : r;
}

static int add_classes(struct listing_plan *out)
{
	bool types[FILETYPES] = {false};
	struct sampling s;
	int r = 0;

	for (unsigned i = 0; i < out->n; i++)
		for (unsigned row = 0; row < LISTING_ROWS; row++)
			if (out->parts[i].rows[row])
				types[out->layout->rows[row].type] = true;
	for (unsigned class = 0; r == 0 && class < KEY_CLASSES; class++) {
		if (!types[class / KEY_FORMS] || class % KEY_FORMS == KEY_FORM_NONE)
			continue;
		r = sample(out->layout, class, &s);
		for (unsigned i = 0; i < out->n; i++)
			for (unsigned row = 0; row < LISTING_ROWS; row++)
				if (s.rows[row] && out->parts[i].rows[row])
					out->parts[i].range.classes[class] = true;
	}
	return r;
}

/* ---- parts -------------------------------------------------------------------------- */

static void fold(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

static void lower(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%s", from);
	fold(to);
}

/* The kind of the part. -1: the part cannot be listed, because no order of the keys makes equal names
 * adjacent. */
static int what_of(const struct pattern_part *p)
{
	if (p->whole || p->completes)
		return LISTING_IDS;
	if (p->by_other || p->by_case || (p->by_digits && p->by_name))
		return -1;
	if (p->by_digits)
		return p->digits - strlen(p->prefix) <= DIGITS_MOST ? LISTING_DIGITS : -1;
	return p->by_name && !p->name[0] ? LISTING_NAMES : LISTING_ONE;
}

static bool one_token(const char *text, size_t n)
{
	return n && text[0] == '{' && memchr(text, '}', n) == text + n - 1;
}

static bool range_same(const struct listing_range *a, const struct listing_range *b)
{
	return a->tiered == b->tiered && a->whole == b->whole && strcmp(a->tier, b->tier) == 0 &&
	       strcmp(a->name, b->name) == 0 && strcmp(a->prefix, b->prefix) == 0;
}

/* Whether the rows of both parts can share one listing. */
static bool joins(const struct listing_part *have, const struct listing_part *new,
	const struct pattern_part *have_p, const struct pattern_part *p)
{
	if (have->what != new->what || !range_same(&have->range, &new->range) ||
		have->digits != new->digits || have->with_case != new->with_case)
		return false;
	/* A prefix with an age after it can print the same name as a longer prefix without an age. */
	if (have->what == LISTING_IDS)
		return have_p->by_other == p->by_other;
	if (have->what != LISTING_ONE && one_token(have_p->text, have_p->n) &&
		one_token(p->text, p->n))
		return true;
	return have_p->n == p->n && strncasecmp(have_p->text, p->text, p->n) == 0;
}

struct making {
	struct listing_plan *out;
	const char *inner; /* the directory without the tier */
	bool tiers;	   /* the entries are the tiers themselves */
	struct pattern_part p[LISTING_PARTS];
};

static void new_part(const struct making *m, const struct pattern_part *p, int what,
	struct listing_part *out)
{
	size_t tier = strcspn(m->out->dir, "/");

	memset(out, 0, sizeof(*out));
	out->what = what == LISTING_NAMES && m->tiers ? LISTING_TIERS : (enum listing_what)what;
	out->digits = what == LISTING_DIGITS ? p->digits : 0;
	out->one_each = what == LISTING_IDS && !p->by_name && !p->by_other && !p->by_case;
	out->with_case = p->by_case;
	lower(out->range.name, sizeof(out->range.name), p->name);
	lower(out->range.prefix, sizeof(out->range.prefix), p->prefix);
	out->range.whole = p->whole;
	out->range.tiered = what == LISTING_NAMES && m->out->layout->flags & LAYOUT_TWO_TIER && !m->tiers;
	if (out->range.tiered && tier < sizeof(out->range.tier)) {
		memcpy(out->range.tier, m->out->dir, tier);
		fold(out->range.tier);
	}
	if (what == LISTING_ONE && !m->tiers && !memchr(p->text, '{', p->n)) {
		out->text = p->text;
		out->text_n = p->n;
	}
}

static void add_row(struct making *m, unsigned row, const struct pattern_part *p, int what)
{
	struct listing_plan *out = m->out;
	struct listing_part new;
	unsigned i = 0;

	new_part(m, p, what, &new);
	while (i < out->n && !joins(&out->parts[i], &new, &m->p[i], p))
		i++;
	if (i == LISTING_PARTS)
		return;
	if (i == out->n) {
		m->p[i] = *p;
		out->parts[out->n++] = new;
	}
	out->parts[i].rows[row] = true;
	out->parts[i].one_each = out->parts[i].one_each && new.one_each;
}

static void add_rows(struct making *m)
{
	const struct layout *l = m->out->layout;

	for (unsigned row = 0; row < LISTING_ROWS && l->rows[row].pattern; row++) {
		struct pattern_part p;
		int what;

		if (l->rows[row].flags & ROW_ACCEPTED ||
			pattern_part(&rows_rules(l)[row]->pattern, m->inner, &p) < 0 || p.ends)
			continue;
		what = what_of(&p);
		if (what >= 0)
			add_row(m, row, &p, what);
		if (p.rest && p.rest_at)
			m->out->with_case = (size_t)(m->inner - m->out->dir) + p.rest_at;
	}
}

static int by_what(const void *a, const void *b)
{
	const struct listing_part *pa = a, *pb = b;

	if (pa->what != pb->what)
		return (int)pa->what - (int)pb->what;
	return (int)listing_first_row(pa) - (int)listing_first_row(pb);
}

/* The directory without the tier. */
static const char *inner_of(const struct listing_plan *l)
{
	size_t n = l->layout->flags & LAYOUT_TWO_TIER ? strcspn(l->dir, "/") : 0;

	return l->dir + n + (n && l->dir[n]);
}

/* `dir` without the layout's prefix. NULL: the directory is above the prefix, which is its only entry. */
static const char *after_prefix(const struct layout *l, const char *dir)
{
	size_t n = strlen(l->prefix);

	if (n == 0)
		return dir;
	if (!*dir)
		return NULL;
	if (strncasecmp(dir, l->prefix, n) == 0 && (!dir[n] || dir[n] == '/'))
		return dir + n + (dir[n] == '/');
	return dir;
}

int listing_plan_of(const struct layout *l, const char *dir, struct listing_plan *out)
{
	_cleanup_free_ struct making *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	out->layout = l;
	out->n = 0;
	out->with_case = SIZE_MAX;
	dir = after_prefix(l, dir);
	if (!dir || strlen(dir) >= sizeof(out->dir))
		return 0;
	snprintf(out->dir, sizeof(out->dir), "%s", dir);
	m->out = out;
	m->inner = inner_of(out);
	m->tiers = l->flags & LAYOUT_TWO_TIER && !out->dir[0];
	add_rows(m);
	qsort(out->parts, out->n, sizeof(out->parts[0]), by_what);
	return add_classes(out);
}

/* ---- names -------------------------------------------------------------------------- */

/* Whether the n bytes are equal. Ignores case before l->with_case. */
static bool same_dir(const struct listing_plan *l, const char *path, const char *dir, size_t n)
{
	size_t at = (size_t)(dir - l->dir);
	size_t folds = l->with_case <= at ? 0 : MIN(n, l->with_case - at);

	return strncasecmp(path, dir, folds) == 0 && strncmp(path + folds, dir + folds, n - folds) == 0;
}

const char *listing_component(const struct listing_plan *l, const char *path)
{
	const char *dir = l->dir;
	size_t n;

	/* Some clients derive the tier in another way; the name that follows identifies the directory. */
	if (l->layout->flags & LAYOUT_TWO_TIER && strchr(dir, '/') && strchr(path, '/')) {
		dir += strcspn(dir, "/") + 1;
		path += strcspn(path, "/") + 1;
	}
	n = strlen(dir);
	if (!n)
		return path;
	return strnlen(path, n + 1) > n && same_dir(l, path, dir, n) && path[n] == '/' ? path + n + 1
										       : NULL;
}

bool listing_has(const struct listing_plan *l, const struct key *k)
{
	char id[KEY_ID_MAX], name[MODULE_NAME_MAX];
	unsigned class = key_class(k);

	key_id_prefix(k, id);
	key_folded(k, name);
	for (const struct listing_part *part = l->parts; part < l->parts + l->n; part++) {
		const struct listing_range *g = &part->range;
		size_t n = strlen(g->prefix);

		if (g->classes[class] && strncmp(id, g->prefix, n) == 0 && !(g->whole && id[n]) &&
			(!g->name[0] || strcmp(g->name, name) == 0))
			return true;
	}
	return false;
}

unsigned listing_first_row(const struct listing_part *part)
{
	unsigned row = 0;

	while (row < LISTING_ROWS - 1 && !part->rows[row])
		row++;
	return row;
}

bool listing_row_of(const struct listing_plan *l, const struct listing_part *part, unsigned row,
	const char *name, struct listing_range *range)
{
	const char *inner = inner_of(l);
	const struct pattern *pattern = &rows_rules(l->layout)[row]->pattern;
	_cleanup_free_ char *sub = NULL;
	struct pattern_part p;
	bool tiers = l->layout->flags & LAYOUT_TWO_TIER && !l->dir[0];

	if (part->text && (strncasecmp(part->text, name, part->text_n) != 0 || name[part->text_n]))
		return false;
	if (pattern_part(pattern, inner, &p) < 0 ||
		(!tiers && !pattern_accepts(&p, name, strlen(name))))
		return false;
	*range = part->range;
	if (part->what == LISTING_TIERS)
		lower(range->tier, sizeof(range->tier), name);
	range->tiered = range->tiered || part->what == LISTING_TIERS;
	if (tiers || p.rest)
		return true;
	if (asprintf(&sub, "%s%s%s", inner, *inner ? "/" : "", name) < 0 ||
		pattern_part(pattern, sub, &p) < 0)
		return false;
	if (p.name[0])
		lower(range->name, sizeof(range->name), p.name);
	if (p.prefix[0])
		lower(range->prefix, sizeof(range->prefix), p.prefix);
	range->whole = range->whole || p.whole;
	return true;
}
