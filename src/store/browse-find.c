/* Listings: the names of a key in the directory, whether a part has an entry, adding an entry that no earlier part
 * has, and walks along an order of the index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/browse-private.h"
#include "base/path.h"
#include "base/util.h"
#include "names/layout/name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- printing: the names that one key has, cut out of the paths that its layout prints -- */

static bool same_name(const struct listing_part *part, const char *a, const char *b)
{
	return (part->with_case ? strcmp(a, b) : strcasecmp(a, b)) == 0;
}

/* Whether listings show a path: look-ups must accept every name in it. A directory that leads only to hidden
 * paths is hidden as well. */
static bool shows(const char *path, const char *from)
{
	for (size_t n;; from += n + 1) {
		n = strcspn(from, "/");
		if (!path_name_ok(from, n))
			return false;
		if ((memchr(from, '\\', n) || layout_never(from, n)) && !strcasestr(path, "/source/"))
			return false;
		if (!from[n])
			return true;
	}
}

static int print_one(void *ctx, unsigned row, const char *path)
{
	struct browse_print *p = ctx;
	const char *name = listing_component(p->b->l, path);
	size_t n = name ? strcspn(name, "/") : 0;
	struct browse_entry e = {.dir = name && name[n]};

	if (row >= LISTING_ROWS || !p->part->rows[row] || !name || n >= sizeof(e.name) ||
		!shows(path, name))
		return 0;
	memcpy(e.name, name, n);
	if (p->only && !same_name(p->part, e.name, p->only))
		return 0;
	if (!e.dir) {
		e.type = p->k->type;
		e.number = index_view_number(p->b->v, p->k);
	}
	p->any = true;
	return p->each(p->ctx, &e, row, p->nth++);
}

int browse_print_key(struct browse_print *p)
{
	struct artifact a;

	key_artifact(p->k, &a);
	p->nth = 0;
	return layout_each(p->b->l->layout, &a, print_one, p);
}

int browse_key_of_row(const struct browse *b, const struct index_row *row, struct key *out)
{
	const char *name = b->named ? b->name.name : row->text;

	if (key_parse(out, row->key) < 0)
		return -EUCLEAN;
	if (name[0])
		snprintf(out->name, sizeof(out->name), "%s", name);
	return 0;
}

/* An `each` that copies the first entry to its ctx, and stops. */
static int browse_take_first(void *ctx, const struct browse_entry *e, unsigned row, unsigned nth)
{
	struct browse_entry *out = ctx;

	*out = *e;
	return 1;
}

/* ---- whether there is an entry --------------------------------------------------------- */

void browse_range_end(const struct listing_range *g, char out[static KEY_ID_MAX + 1])
{
	snprintf(out, KEY_ID_MAX + 1, "%s%c", g->prefix, g->whole ? '0' : 'g');
}

int browse_first_of_class(struct browse *b, struct browse_print *p, const struct listing_range *g,
	unsigned class, struct browse_entry *out)
{
	char prefix[KEY_ID_MAX], end[KEY_ID_MAX + 1];
	struct index_row row = {.id = 0};
	int r;

	browse_range_end(g, end);
	snprintf(prefix, sizeof(prefix), "%s", g->prefix);
	while ((r = index_view_ids(b->v, class, b->named ? &b->name : NULL, prefix, row.id, end, &row, 1)) > 0) {
		struct key k;

		snprintf(prefix, sizeof(prefix), "%.*s", KEY_ID_MAX - 1, row.place);
		r = browse_key_of_row(b, &row, &k);
		p->k = &k;
		p->each = browse_take_first;
		p->ctx = out;
		if (r == 0)
			r = browse_print_key(p);
		free(row.text);
		free(row.key);
		if (r != 0)
			return r;
	}
	return r;
}

int browse_first_of_range(struct browse *b, const struct listing_part *part,
	const struct listing_range *g, const char *only, struct browse_entry *out)
{
	struct browse_print p = {.b = b, .part = part, .only = only};
	int r = 0;

	b->named = g->name[0];
	if (b->named)
		r = index_view_name(b->v, g->name, &b->name);
	if (r == -ENOENT)
		return 0;
	for (unsigned class = 0; r == 0 && class < KEY_CLASSES; class++)
		if (g->classes[class])
			r = browse_first_of_class(b, &p, g, class, out);
	return r;
}

int browse_print_name(struct browse *b, const struct listing_part *part, unsigned class,
	const char *name, const char *only, struct browse_entry *out)
{
	struct browse_print p = {.b = b, .part = part, .only = only, .each = browse_take_first, .ctx = out};
	struct key k;

	p.k = &k; /* any key of the class would print the same entry */
	return key_sample(class, name, &k) == 0 ? browse_print_key(&p) : 0;
}

static int tier_has_class(struct browse *b, const struct listing_part *part, unsigned class,
	const char *tier, const char *only, struct browse_entry *out)
{
	struct index_row row = {.id = 0};
	int r;

	while ((r = index_view_names(b->v, class, tier, NULL, row.id, &row, 1)) > 0) {
		r = browse_print_name(b, part, class, row.text, only, out);
		free(row.text);
		if (r != 0)
			return r;
	}
	return r;
}

int browse_tier_has(struct browse *b, const struct listing_part *part, const char *tier,
	const char *only, struct browse_entry *out)
{
	int r = 0;

	for (unsigned class = 0; r == 0 && class < KEY_CLASSES; class++)
		if (part->range.classes[class])
			r = tier_has_class(b, part, class, tier, only, out);
	return r;
}

int browse_part_has(struct browse *b, const struct listing_part *part, const char *name)
{
	unsigned row = listing_first_row(part);
	int r = 0;

	for (; r == 0 && row < LISTING_ROWS; row++) {
		struct listing_range g;
		struct browse_entry e;

		if (!part->rows[row])
			continue;
		if (!listing_row_of(b->l, part, row, name, &g)) {
			if (part->what != LISTING_IDS)
				break;
			continue;
		}
		r = part->what == LISTING_TIERS ? browse_tier_has(b, part, g.tier, name, &e)
						: browse_first_of_range(b, part, &g, name, &e);
		if (part->what != LISTING_IDS)
			break;
	}
	return r;
}

static uint64_t offset_of(const struct browse *b, uint64_t place)
{
	return place << BROWSE_PART_BITS | (b->nth_part + 1);
}

bool browse_is_full(const struct browse *b)
{
	return b->n == b->room;
}

int browse_add(struct browse *b, const struct browse_entry *e, uint64_t place)
{
	struct index_name name = b->name;
	bool named = b->named;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < b->nth_part; i++)
		r = browse_part_has(b, &b->l->parts[i], e->name);
	b->name = name;
	b->named = named;
	if (r != 0)
		return MIN(r, 0);
	b->out[b->n] = *e;
	b->out[b->n++].offset = offset_of(b, place);
	return 0;
}

/* ---- streams: one walk along an order of the index, in all classes of keys at once ------ */

void browse_streams_end(struct browse *b)
{
	for (unsigned i = 0; i < b->streams; i++)
		index_rows_release(b->stream[i].rows, b->stream[i].n);
	b->streams = 0;
}

int browse_streams_begin(struct browse *b)
{
	unsigned n = 1;

	browse_streams_end(b);
	for (unsigned class = 0; class < KEY_CLASSES; class++)
		n += b->part->range.classes[class];
	free(b->stream);
	b->stream = calloc(n, sizeof(*b->stream));
	if (!b->stream)
		return -ENOMEM;
	for (unsigned class = 0; class < KEY_CLASSES; class++)
		if (b->part->range.classes[class])
			b->stream[b->streams++].class = class;
	return 0;
}

static int compare(const char *text, int64_t id, const char *text2, int64_t id2)
{
	int c = strcmp(text, text2);

	return c ? c : (id > id2) - (id < id2);
}

static int refill(struct browse *b, struct browse_stream *st, const struct browse_place *from)
{
	const struct listing_range *g = &b->part->range;
	struct browse_place at = *from;
	int r;

	if (st->n) {
		const struct index_row *last = &st->rows[st->n - 1];

		if (compare(last->place, last->id, at.text, at.id) > 0) {
			snprintf(at.text, sizeof(at.text), "%s", last->place);
			at.id = last->id;
		}
	}
	index_rows_release(st->rows, st->n);
	st->n = st->i = 0;
	if (b->part->what == LISTING_IDS) {
		char end[KEY_ID_MAX + 1];

		browse_range_end(g, end);
		r = index_view_ids(b->v, st->class, b->named ? &b->name : NULL, at.text, at.id, end,
			st->rows, AHEAD);
	} else {
		r = index_view_names(b->v, st->class, g->tiered ? g->tier : NULL, at.text, at.id,
			st->rows, AHEAD);
	}
	if (r < 0)
		return r;
	st->n = (unsigned)r;
	st->end = r < AHEAD;
	return 0;
}

int browse_stream_row(struct browse *b, struct browse_stream *st, const struct browse_place *at,
	const struct index_row **out)
{
	for (*out = NULL;;) {
		const struct index_row *row = &st->rows[st->i];
		int r;

		if (st->i < st->n && compare(row->place, row->id, at->text, at->id) > 0) {
			*out = row;
			return 0;
		}
		if (st->i < st->n) {
			st->i++;
			continue;
		}
		if (st->end)
			return 0;
		r = refill(b, st, at);
		if (r < 0)
			return r;
	}
}

int browse_least_row(struct browse *b, const struct browse_place *at, const struct index_row **out)
{
	*out = NULL;
	for (unsigned i = 0; i < b->streams; i++) {
		const struct index_row *row;
		int r = browse_stream_row(b, &b->stream[i], at, &row);

		if (r < 0)
			return r;
		if (row && (!*out || compare(row->place, row->id, (*out)->place, (*out)->id) < 0))
			*out = row;
	}
	return 0;
}
