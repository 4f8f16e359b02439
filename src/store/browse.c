/* Listings: the directories of layouts, from the index. Each part of a listing is a walk along one order of the
 * index, in all classes of keys at once. An offset names a place in that order, so that nothing is kept between
 * two calls. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/browse.h"
#include "base/util.h"
#include "names/layout/layout.h"
#include "store/browse-private.h"
#include "store/session.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The part with a single entry, and the part with an entry for each value of some digits of the ids. */

static int browse_fill_one(struct browse *b, uint64_t after)
{
	struct browse_entry e;
	int r = after ? 0 : browse_first_of_range(b, b->part, &b->part->range, NULL, &e);

	return r > 0 ? browse_add(b, &e, 1) : r;
}

/* Writes the common beginning of the range's prefixes, and then `value` in `width` digits. */
static void prefix_with(const struct listing_range *g, size_t width, uint64_t value,
	char out[static KEY_ID_MAX])
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%0*llx", (int)width, (unsigned long long)value);
	snprintf(out, KEY_ID_MAX, "%.*s%s", (int)(KEY_ID_MAX - sizeof(digits)), g->prefix, digits);
}

/* Moves *value forward to the next value that the id prefix of some key has, which may be *value itself.
 * UINT64_MAX: there is no such value. */
static int next_value(struct browse *b, const struct listing_range *g, size_t digits,
	uint64_t *value)
{
	size_t had = strlen(g->prefix);
	char from[KEY_ID_MAX], end[KEY_ID_MAX + 1], least[KEY_ID_MAX] = "";

	prefix_with(g, digits - had, *value, from);
	browse_range_end(g, end);
	for (unsigned class = 0; class < KEY_CLASSES; class++) {
		struct index_row row;
		int r = !g->classes[class] ? 0
			: index_view_ids(b->v, class, b->named ? &b->name : NULL, from, 0, end, &row,
				  1);

		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (strlen(row.place) >= digits && (!least[0] || strcmp(row.place, least) < 0))
			snprintf(least, sizeof(least), "%.*s", KEY_ID_MAX - 1, row.place);
		free(row.text);
		free(row.key);
	}
	*value = UINT64_MAX;
	if (least[0]) {
		least[digits] = '\0';
		*value = strtoull(least + had, NULL, 16);
	}
	return 0;
}

static int browse_fill_digits(struct browse *b, uint64_t after)
{
	struct listing_range g = b->part->range;
	size_t width = b->part->digits - strlen(g.prefix);
	uint64_t value = after, past = 1ull << 4 * width;
	int r = 0;

	b->named = g.name[0];
	if (b->named)
		r = index_view_name(b->v, g.name, &b->name);
	for (; r == 0 && value < past && !browse_is_full(b); value++) {
		struct browse_entry e;

		b->named = g.name[0];
		r = next_value(b, &b->part->range, b->part->digits, &value);
		if (r < 0 || value >= past)
			break;
		prefix_with(&b->part->range, width, value, g.prefix);
		r = browse_first_of_range(b, b->part, &g, NULL, &e);
		r = r > 0 ? browse_add(b, &e, value + 1) : r;
	}
	return r == -ENOENT ? 0 : r;
}

/* The parts that have one entry for each file name, and one for each tier of file names. */

/* Whether a key of the class with this name prints an entry. 1: the entry is in *out; 0: no; -errno. */
static int prints_any(struct browse *b, unsigned class, const char *name, struct browse_entry *out)
{
	struct browse_print p = {.b = b, .part = b->part};
	struct listing_range g = {.prefix = ""};
	struct index_name had = b->name;
	bool named = b->named;
	struct key k = {.type = class / KEY_FORMS};
	char folded[MODULE_NAME_MAX];
	int r;

	snprintf(k.name, sizeof(k.name), "%s", name);
	r = index_view_name(b->v, key_folded(&k, folded), &b->name);
	b->named = true;
	if (r == 0)
		r = browse_first_of_class(b, &p, &g, class, out);
	b->name = had;
	b->named = named;
	return r == -ENOENT ? 0 : r;
}

/* Whether layout_each() can list one key of a class (key_class()) and omit another key of the same class and name:
 * then one key is not an example of all keys. Whether a path parses back depends on the age for signatures of PDB
 * 2.0, and on the length for short ids of WASM modules. */
static bool layout_class_varies(unsigned class)
{
	unsigned type = class / KEY_FORMS, form = class % KEY_FORMS;
	bool wasm = type == FILETYPE_WASM_CODE || type == FILETYPE_WASM_DEBUG;

	return form == KEY_SIG || (wasm && form == KEY_CODE_TIME);
}

/* Adds the entry of the name at a place, from the first class that prints such an entry. */
static int fill_name(struct browse *b, const struct browse_place *at)
{
	struct browse_entry e;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < b->streams; i++) {
		const struct browse_stream *st = &b->stream[i];
		const struct index_row *row = &st->rows[st->i];

		if (st->i < st->n && row->id == at->id)
			r = layout_class_varies(st->class) ? prints_any(b, st->class, row->text, &e)
				: browse_print_name(b, b->part, st->class, row->text, NULL, &e);
	}
	return r > 0 ? browse_add(b, &e, (uint64_t)at->id) : r;
}

/* The place of the name that an offset stands for, even if that name was dropped recently. */
static int name_place(struct browse *b, uint64_t after, struct browse_place *at)
{
	*at = (struct browse_place){.id = (int64_t)after};
	return after ? index_view_name_place(b->v, at->id, at->text) : 0;
}

static int browse_fill_names(struct browse *b, uint64_t after)
{
	const struct index_row *row;
	struct browse_place at, next;
	int r = name_place(b, after, &at);

	if (r == 0)
		r = browse_streams_begin(b);
	while (r == 0 && !browse_is_full(b)) {
		r = browse_least_row(b, &at, &row);
		if (r < 0 || !row)
			break;
		next.id = row->id;
		snprintf(next.text, sizeof(next.text), "%s", row->place);
		r = fill_name(b, &next);
		at = next;
	}
	return r;
}

/* Adds one entry for each tier. The offset of a tier is the offset of a name in the tier. */
static int browse_fill_tiers(struct browse *b, uint64_t after)
{
	struct browse_place at;
	int r = name_place(b, after, &at);

	while (r == 0 && !browse_is_full(b)) {
		struct browse_place least = {.id = 0};
		struct browse_entry e;

		at.id = at.text[0] ? INT64_MAX : 0;
		for (unsigned class = 0; class < KEY_CLASSES; class++) {
			struct index_row row;

			if (!b->part->range.classes[class])
				continue;
			r = index_view_names(b->v, class, NULL, at.text, at.id, &row, 1);
			if (r < 0)
				return r;
			if (r == 0)
				continue;
			if (!least.id || strcmp(row.place, least.text) < 0) {
				least.id = row.id;
				snprintf(least.text, sizeof(least.text), "%s", row.place);
			}
			free(row.text);
		}
		if (!least.id)
			return 0;
		at = least;
		r = browse_tier_has(b, b->part, at.text, NULL, &e);
		if (r > 0)
			r = browse_add(b, &e, (uint64_t)at.id);
	}
	return r;
}

/* The part whose entries come in the order of id prefixes. */

#define NTH_BITS 6 /* bits of an offset for the number of a path, among the paths of one key in one layout */
#define GROUP 64   /* names of one prefix that are sorted at a time */

/* The first names of one prefix after the name `last`, sorted. */
struct group {
	struct browse *b;
	char last[MODULE_NAME_MAX]; /* "": from the first name */
	int64_t id;		    /* the number of the key whose names are added */
	bool more;		    /* there are further names */
	unsigned n;
	struct group_name {
		struct browse_entry e;
		unsigned row;
		uint64_t place;
	} names[GROUP];
};

static int name_order(const struct listing_part *part, const char *a, const char *b)
{
	return part->with_case ? strcmp(a, b) : strcasecmp(a, b);
}

static void group_set(struct group *g, unsigned i, const struct browse_entry *e, unsigned row,
	unsigned nth)
{
	g->names[i] = (struct group_name){
		.e = *e, .row = row, .place = (uint64_t)g->id << NTH_BITS | nth};
}

static int group_add(void *ctx, const struct browse_entry *e, unsigned row, unsigned nth)
{
	struct group *g = ctx;
	unsigned i = g->n;
	int c = 1;

	if (g->last[0] && name_order(g->b->part, e->name, g->last) <= 0)
		return 0;
	while (i > 0 && (c = name_order(g->b->part, e->name, g->names[i - 1].e.name)) < 0)
		i--;
	if (i > 0 && c == 0) {
		/* A look-up tries the rows in their order. */
		if (row < g->names[i - 1].row)
			group_set(g, i - 1, e, row, nth);
		return 0;
	}
	g->more = g->more || g->n == GROUP;
	if (i == GROUP)
		return 0;
	g->n = MIN(g->n + 1, (unsigned)GROUP);
	memmove(&g->names[i + 1], &g->names[i], (g->n - 1 - i) * sizeof(g->names[0]));
	group_set(g, i, e, row, nth);
	return 0;
}

/* Adds the names of the keys of one prefix and one class. */
static int group_class(struct group *g, struct browse_stream *st, const char *prefix)
{
	struct browse_print p = {.b = g->b, .part = g->b->part, .each = group_add, .ctx = g};
	struct browse_place at = {.id = 0};
	const struct index_row *row;
	int r;

	snprintf(at.text, sizeof(at.text), "%s", prefix);
	while ((r = browse_stream_row(g->b, st, &at, &row)) == 0 && row && strcmp(row->place, prefix) == 0) {
		struct key k;

		at.id = g->id = row->id;
		if (g->b->part->one_each && p.any)
			continue;
		r = browse_key_of_row(g->b, row, &k);
		p.k = &k;
		if (r == 0)
			r = browse_print_key(&p);
		if (r < 0)
			return r;
	}
	return r;
}

/* Adds the entries of a prefix after the name `last`. *more: further entries are left. */
static int fill_prefix(struct browse *b, const char *prefix, const char *last, bool *more)
{
	_cleanup_free_ struct group *g = calloc(1, sizeof(*g));
	int r = g ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	g->b = b;
	snprintf(g->last, sizeof(g->last), "%s", last);
	for (unsigned i = 0; r == 0 && i < b->streams; i++)
		r = group_class(g, &b->stream[i], prefix);
	*more = g->more;
	for (unsigned i = 0; r == 0 && i < g->n; i++) {
		if (browse_is_full(b)) {
			*more = true;
			break;
		}
		r = browse_add(b, &g->names[i].e, g->names[i].place);
	}
	return r;
}

struct nth_name {
	unsigned nth;
	char name[MODULE_NAME_MAX];
};

static int find_nth(void *ctx, const struct browse_entry *e, unsigned row, unsigned nth)
{
	struct nth_name *f = ctx;

	if (nth == f->nth)
		snprintf(f->name, sizeof(f->name), "%s", e->name);
	return nth == f->nth;
}

/* Finds the id prefix of an offset's key, and the name that the key printed at that offset. The key may
 * have been dropped recently. */
static int prefix_place(struct browse *b, uint64_t after, struct browse_place *at,
	char last[static MODULE_NAME_MAX])
{
	struct nth_name f = {.nth = after & ((1u << NTH_BITS) - 1)};
	struct browse_print p = {.b = b, .part = b->part, .each = find_nth, .ctx = &f};
	struct key k;
	int r;

	*at = (struct browse_place){.id = 0};
	last[0] = '\0';
	if (!after) {
		snprintf(at->text, sizeof(at->text), "%s", b->part->range.prefix);
		return 0;
	}
	r = index_view_key_place(b->v, (int64_t)(after >> NTH_BITS), at->text, &k);
	p.k = &k;
	if (r == 0)
		r = MIN(browse_print_key(&p), 0);
	snprintf(last, MODULE_NAME_MAX, "%s", f.name);
	return r;
}

static int browse_fill_ids(struct browse *b, uint64_t after)
{
	char last[MODULE_NAME_MAX];
	struct browse_place at;
	int r = prefix_place(b, after, &at, last);

	b->named = b->part->range.name[0];
	if (r == 0 && b->named)
		r = index_view_name(b->v, b->part->range.name, &b->name);
	if (r == 0)
		r = browse_streams_begin(b);
	while (r == 0 && !browse_is_full(b)) {
		const struct index_row *row;
		struct browse_place next;
		bool more;

		r = browse_least_row(b, &at, &row);
		if (r < 0 || !row)
			break;
		snprintf(next.text, sizeof(next.text), "%s", row->place);
		if (strcmp(next.text, at.text) != 0)
			last[0] = '\0';
		at = next;
		r = fill_prefix(b, at.text, last, &more);
		if (r < 0 || browse_is_full(b))
			break;
		if (more) {
			snprintf(last, sizeof(last), "%s", b->out[b->n - 1].name);
			at.id = 0;
			r = browse_streams_begin(b);
		} else {
			at.id = INT64_MAX;
		}
	}
	return r;
}

static int fill_part(struct browse *b, uint64_t after)
{
	static int (*const fills[])(struct browse *b, uint64_t after) = {
		[LISTING_ONE] = browse_fill_one,
		[LISTING_DIGITS] = browse_fill_digits,
		[LISTING_IDS] = browse_fill_ids,
		[LISTING_TIERS] = browse_fill_tiers,
		[LISTING_NAMES] = browse_fill_names,
	};
	int r;

	b->part = &b->l->parts[b->nth_part];
	b->named = false;
	r = fills[b->part->what](b, after);
	browse_streams_end(b);
	/* The name that the offset stands for never existed, or was dropped so long ago that its place is not
	 * known. */
	return r == -ENOENT ? 0 : r;
}

static int fill(struct browse *b, uint64_t after)
{
	unsigned part = after & BROWSE_PART_FREE;
	uint64_t place = after >> BROWSE_PART_BITS;
	int r = 0;

	for (b->nth_part = part ? part - 1 : 0; r == 0 && b->nth_part < b->l->n && !browse_is_full(b);
		b->nth_part++) {
		r = fill_part(b, place);
		place = 0;
	}
	free(b->stream);
	b->stream = NULL;
	return r;
}

int store_browse(struct store *s, const struct listing_plan *l, uint64_t after, struct browse_entry *out,
	unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s};
	struct browse b = {.l = l, .out = out, .room = n};

	while (session_next(&ses)) {
		b.n = 0;
		ses.r = index_view_open(ses.ix, &b.v);
		if (ses.r < 0)
			continue;
		ses.r = fill(&b, after);
		index_view_close(b.v);
	}
	return ses.r < 0 ? ses.r : (int)b.n;
}

int store_browse_has(struct store *s, const struct listing_plan *l, const char *name)
{
	_cleanup_session_ struct session ses = {.s = s};
	struct browse b = {.l = l};
	int has = 0;

	while (session_next(&ses)) {
		ses.r = index_view_open(ses.ix, &b.v);
		if (ses.r < 0)
			continue;
		has = 0;
		for (unsigned i = 0; has == 0 && i < l->n; i++)
			has = browse_part_has(&b, &l->parts[i], name);
		index_view_close(b.v);
		ses.r = MIN(has, 0);
	}
	return ses.r < 0 ? ses.r : has;
}
