/* Directories of layouts, from the index. Each part of a listing is a walk along one order of the
 * index, in all classes of keys at once; an offset names a place in that order, so that nothing is
 * kept between two calls. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/browse.h"
#include "base/path.h"
#include "base/util.h"
#include "layout/never.h"
#include "store/turn.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NTH_BITS 6 /* paths of one key in one layout */
#define AHEAD 32   /* rows of a class that are read at a time */
#define GROUP 64   /* names of one stem that are sorted at a time */

/* The rows of one class that come next. */
struct stream {
	unsigned class;
	bool end;
	unsigned n, i;
	struct index_row rows[AHEAD];
};

struct browse {
	struct index_view *v;
	const struct roster *l;
	struct browse_entry *out;
	unsigned n, room;
	/* of the part at hand */
	const struct roster_part *part;
	unsigned nth_part;
	bool named; /* the range has a file name: */
	struct index_name name;
	unsigned streams;
	struct stream *stream; /* one for each class of the range */
};

/* ---- printing ----------------------------------------------------------------------- */

/* What a key prints in the directory, of the rows of a part. */
struct print {
	const struct browse *b;
	const struct roster_part *part;
	const struct key *k;
	const char *only; /* no other name than this */
	unsigned nth;
	bool any;
	int (*each)(void *ctx, const struct browse_entry *e, unsigned row, unsigned nth);
	void *ctx;
};

static bool same_name(const struct roster_part *part, const char *a, const char *b)
{
	return (part->with_case ? strcmp(a, b) : strcasecmp(a, b)) == 0;
}

/* Paths with a name that no look-up takes are in no listing, nor is what leads to them alone. */
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
	struct print *p = ctx;
	const char *name = roster_component(p->b->l, path);
	size_t n = name ? strcspn(name, "/") : 0;
	struct browse_entry e = {.dir = name && name[n]};

	if (row >= ROSTER_ROWS || !p->part->rows[row] || !name || n >= sizeof(e.name) ||
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

static int print_key(struct print *p)
{
	struct artifact a;

	key_artifact(p->k, &a);
	p->nth = 0;
	return layout_each(p->b->l->layout, &a, print_one, p);
}

/* The key of a row, by the name that all of that name are shown by. */
static int key_of_row(const struct browse *b, const struct index_row *row, struct key *out)
{
	const char *name = b->named ? b->name.name : row->text;

	if (key_parse(out, row->key) < 0)
		return -EUCLEAN;
	if (name[0])
		snprintf(out->name, sizeof(out->name), "%s", name);
	return 0;
}

static int take_first(void *ctx, const struct browse_entry *e, unsigned row, unsigned nth)
{
	struct browse_entry *out = ctx;

	*out = *e;
	return 1;
}

/* ---- any key of a range ------------------------------------------------------------- */

/* The first stem that is not in the range any more. */
static void range_end(const struct roster_range *g, char out[static KEY_ID_MAX + 1])
{
	snprintf(out, KEY_ID_MAX + 1, "%s%c", g->stem, g->whole ? '0' : 'g');
}

/* Looks through the keys of one class for one that prints. 1, 0, -errno. */
static int first_of_class(struct browse *b, struct print *p, const struct roster_range *g,
	unsigned class, struct browse_entry *out)
{
	char stem[KEY_ID_MAX], end[KEY_ID_MAX + 1];
	struct index_row row = {.id = 0};
	int r = 1;

	range_end(g, end);
	snprintf(stem, sizeof(stem), "%s", g->stem);
	while (r > 0) {
		struct key k;

		r = index_view_stems(b->v, class, b->named ? &b->name : NULL, stem, row.id, end, &row,
			1);
		if (r <= 0)
			break;
		snprintf(stem, sizeof(stem), "%.*s", KEY_ID_MAX - 1, row.place);
		r = key_of_row(b, &row, &k);
		p->k = &k;
		p->each = take_first;
		p->ctx = out;
		if (r == 0)
			r = print_key(p);
		free(row.text);
		free(row.key);
		if (r != 0)
			return r;
		r = 1;
	}
	return r;
}

/* 1: *out is an entry of the part that keys of the range have; 0; -errno. */
static int first_of_range(struct browse *b, const struct roster_part *part,
	const struct roster_range *g, const char *only, struct browse_entry *out)
{
	struct print p = {.b = b, .part = part, .only = only};
	int r = 0;

	b->named = g->name[0];
	if (b->named)
		r = index_view_name(b->v, g->name, &b->name);
	if (r == -ENOENT)
		return 0;
	for (unsigned class = 0; r == 0 && class < KEY_CLASSES; class++)
		if (g->classes[class])
			r = first_of_class(b, &p, g, class, out);
	return r;
}

/* The same where it is names that are looked for, of one tier. */
static int tier_has(struct browse *b, const struct roster_part *part, const char *tier,
	const char *only, struct browse_entry *out);

/* Whether the part has the name. 1, 0, -errno. */
static int part_has(struct browse *b, const struct roster_part *part, const char *name)
{
	unsigned row = roster_first_row(part);
	int r = 0;

	for (; r == 0 && row < ROSTER_ROWS; row++) {
		struct roster_range g;
		struct browse_entry e;

		if (!part->rows[row])
			continue;
		if (!roster_row_of(b->l, part, row, name, &g)) {
			if (part->what != ROSTER_STEMS)
				break;
			continue;
		}
		r = part->what == ROSTER_TIERS ? tier_has(b, part, g.tier, name, &e)
						: first_of_range(b, part, &g, name, &e);
		if (part->what != ROSTER_STEMS)
			break;
	}
	return r;
}

/* ---- entries ------------------------------------------------------------------------ */

static uint64_t offset_of(const struct browse *b, uint64_t place)
{
	return place << BROWSE_PART_BITS | (b->nth_part + 1);
}

static bool is_full(const struct browse *b)
{
	return b->n == b->room;
}

/* Adds an entry, unless a part before this one has its name. 0, -errno. */
static int add(struct browse *b, const struct browse_entry *e, uint64_t place)
{
	struct index_name name = b->name;
	bool named = b->named;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < b->nth_part; i++)
		r = part_has(b, &b->l->parts[i], e->name);
	b->name = name;
	b->named = named;
	if (r != 0)
		return MIN(r, 0);
	b->out[b->n] = *e;
	b->out[b->n++].offset = offset_of(b, place);
	return 0;
}

/* ---- one name ----------------------------------------------------------------------- */

static int fill_one(struct browse *b, uint64_t after)
{
	struct browse_entry e;
	int r = after ? 0 : first_of_range(b, b->part, &b->part->range, NULL, &e);

	return r > 0 ? add(b, &e, 1) : r;
}

/* ---- digits ------------------------------------------------------------------------- */

/* The beginning of the range's stems, and `width` digits more. */
static void stem_with(const struct roster_range *g, size_t width, uint64_t value,
	char out[static KEY_ID_MAX])
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%0*llx", (int)width, (unsigned long long)value);
	snprintf(out, KEY_ID_MAX, "%.*s%s", (int)(KEY_ID_MAX - sizeof(digits)), g->stem, digits);
}

/* The lowest value from `value` on that some stem has; *value past the last when none has. */
static int next_value(struct browse *b, const struct roster_range *g, size_t digits,
	uint64_t *value)
{
	size_t had = strlen(g->stem);
	char from[KEY_ID_MAX], end[KEY_ID_MAX + 1], least[KEY_ID_MAX] = "";

	stem_with(g, digits - had, *value, from);
	range_end(g, end);
	for (unsigned class = 0; class < KEY_CLASSES; class++) {
		struct index_row row;
		int r = !g->classes[class] ? 0
			: index_view_stems(b->v, class, b->named ? &b->name : NULL, from, 0, end, &row,
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

static int fill_digits(struct browse *b, uint64_t after)
{
	struct roster_range g = b->part->range;
	size_t width = b->part->digits - strlen(g.stem);
	uint64_t value = after, past = 1ull << 4 * width;
	int r = 0;

	b->named = g.name[0];
	if (b->named)
		r = index_view_name(b->v, g.name, &b->name);
	for (; r == 0 && value < past && !is_full(b); value++) {
		struct browse_entry e;

		b->named = g.name[0];
		r = next_value(b, &b->part->range, b->part->digits, &value);
		if (r < 0 || value >= past)
			break;
		stem_with(&b->part->range, width, value, g.stem);
		r = first_of_range(b, b->part, &g, NULL, &e);
		r = r > 0 ? add(b, &e, value + 1) : r;
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- streams of all classes --------------------------------------------------------- */

static void streams_end(struct browse *b)
{
	for (unsigned i = 0; i < b->streams; i++)
		index_rows_release(b->stream[i].rows, b->stream[i].n);
	b->streams = 0;
}

static int streams_begin(struct browse *b)
{
	unsigned n = 1;

	streams_end(b);
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

/* A place in the order that the index has. */
struct place {
	char text[MODULE_NAME_MAX]; /* stem, tier */
	int64_t id;
};

static int compare(const char *text, int64_t id, const char *text2, int64_t id2)
{
	int c = strcmp(text, text2);

	return c ? c : (id > id2) - (id < id2);
}

static int refill(struct browse *b, struct stream *st, const struct place *from)
{
	const struct roster_range *g = &b->part->range;
	struct place at = *from;
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
	if (b->part->what == ROSTER_STEMS) {
		char end[KEY_ID_MAX + 1];

		range_end(g, end);
		r = index_view_stems(b->v, st->class, b->named ? &b->name : NULL, at.text, at.id, end,
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

/* The first row of a stream behind the place; NULL: there is none. */
static int stream_row(struct browse *b, struct stream *st, const struct place *at,
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

/* The least row of all streams behind the place. */
static int least_row(struct browse *b, const struct place *at, const struct index_row **out)
{
	*out = NULL;
	for (unsigned i = 0; i < b->streams; i++) {
		const struct index_row *row;
		int r = stream_row(b, &b->stream[i], at, &row);

		if (r < 0)
			return r;
		if (row && (!*out || compare(row->place, row->id, (*out)->place, (*out)->id) < 0))
			*out = row;
	}
	return 0;
}

/* ---- names -------------------------------------------------------------------------- */

/* What a name prints: any key of the class would do. 1, 0, -errno. */
static int print_name(struct browse *b, const struct roster_part *part, unsigned class,
	const char *name, const char *only, struct browse_entry *out)
{
	struct print p = {.b = b, .part = part, .only = only, .each = take_first, .ctx = out};
	struct key k;

	p.k = &k;
	return key_sample(class, name, &k) == 0 ? print_key(&p) : 0;
}

/* Whether it takes more than the name to say whether a key of the class is listed: signatures of PDB 2.0 with
 * ages that it did not have, and short ids of WASM modules, are read back by nobody. */
static bool is_mixed(unsigned class)
{
	unsigned type = class / KEY_FORMS, form = class % KEY_FORMS;
	bool wasm = filetype_row(type)->object == OBJECT_WASM;

	return form == KEY_SIG || (wasm && form == KEY_CODE_TIME);
}

/* Whether a key of the class and of this name prints. 1, 0, -errno. */
static int prints_any(struct browse *b, unsigned class, const char *name, struct browse_entry *out)
{
	struct print p = {.b = b, .part = b->part};
	struct roster_range g = {.stem = ""};
	struct index_name had = b->name;
	bool named = b->named;
	struct key k = {.type = class / KEY_FORMS};
	char folded[MODULE_NAME_MAX];
	int r;

	snprintf(k.name, sizeof(k.name), "%s", name);
	r = index_view_name(b->v, key_folded(&k, folded), &b->name);
	b->named = true;
	if (r == 0)
		r = first_of_class(b, &p, &g, class, out);
	b->name = had;
	b->named = named;
	return r == -ENOENT ? 0 : r;
}

/* The name at the place, in the first class that prints it. */
static int fill_name(struct browse *b, const struct place *at)
{
	struct browse_entry e;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < b->streams; i++) {
		const struct stream *st = &b->stream[i];
		const struct index_row *row = &st->rows[st->i];

		if (st->i < st->n && row->id == at->id)
			r = is_mixed(st->class) ? prints_any(b, st->class, row->text, &e)
				: print_name(b, b->part, st->class, row->text, NULL, &e);
	}
	return r > 0 ? add(b, &e, (uint64_t)at->id) : r;
}

/* Where an offset's name stands, or stood. */
static int name_place(struct browse *b, uint64_t after, struct place *at)
{
	*at = (struct place){.id = (int64_t)after};
	return after ? index_view_name_place(b->v, at->id, at->text) : 0;
}

static int fill_names(struct browse *b, uint64_t after)
{
	const struct index_row *row;
	struct place at, next;
	int r = name_place(b, after, &at);

	if (r == 0)
		r = streams_begin(b);
	while (r == 0 && !is_full(b)) {
		r = least_row(b, &at, &row);
		if (r < 0 || !row)
			break;
		next.id = row->id;
		snprintf(next.text, sizeof(next.text), "%s", row->place);
		r = fill_name(b, &next);
		at = next;
	}
	return r;
}

/* ---- tiers -------------------------------------------------------------------------- */

static int tier_has_class(struct browse *b, const struct roster_part *part, unsigned class,
	const char *tier, const char *only, struct browse_entry *out)
{
	struct index_row row = {.id = 0};
	int r = 1;

	while (r > 0) {
		r = index_view_names(b->v, class, tier, NULL, row.id, &row, 1);
		if (r <= 0)
			break;
		r = print_name(b, part, class, row.text, only, out);
		free(row.text);
		if (r != 0)
			return r;
		r = 1;
	}
	return r;
}

static int tier_has(struct browse *b, const struct roster_part *part, const char *tier,
	const char *only, struct browse_entry *out)
{
	int r = 0;

	for (unsigned class = 0; r == 0 && class < KEY_CLASSES; class++)
		if (part->range.classes[class])
			r = tier_has_class(b, part, class, tier, only, out);
	return r;
}

/* The offset of a tier is that of a name in it. */
static int fill_tiers(struct browse *b, uint64_t after)
{
	struct place at;
	int r = name_place(b, after, &at);

	while (r == 0 && !is_full(b)) {
		struct place least = {.id = 0};
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
		r = tier_has(b, b->part, at.text, NULL, &e);
		if (r > 0)
			r = add(b, &e, (uint64_t)at.id);
	}
	return r;
}

/* ---- stems -------------------------------------------------------------------------- */

/* The names of one stem, sorted: those that come first behind `last`. */
struct group {
	struct browse *b;
	char last[MODULE_NAME_MAX]; /* "": all */
	int64_t id;		    /* of the key that prints */
	bool more;		    /* and there are others */
	unsigned n;
	struct group_name {
		struct browse_entry e;
		unsigned row;
		uint64_t place;
	} names[GROUP];
};

static int name_order(const struct roster_part *part, const char *a, const char *b)
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

/* The keys of one stem and one class. */
static int group_class(struct group *g, struct stream *st, const char *stem)
{
	struct print p = {.b = g->b, .part = g->b->part, .each = group_add, .ctx = g};
	struct place at = {.id = 0};
	const struct index_row *row;
	int r;

	snprintf(at.text, sizeof(at.text), "%s", stem);
	while ((r = stream_row(g->b, st, &at, &row)) == 0 && row && strcmp(row->place, stem) == 0) {
		struct key k;

		at.id = g->id = row->id;
		if (g->b->part->one_each && p.any)
			continue;
		r = key_of_row(g->b, row, &k);
		p.k = &k;
		if (r == 0)
			r = print_key(&p);
		if (r < 0)
			return r;
	}
	return r;
}

/* The names of a stem behind `last`; *more: and some are left. */
static int fill_stem(struct browse *b, const char *stem, const char *last, bool *more)
{
	_cleanup_free_ struct group *g = calloc(1, sizeof(*g));
	int r = g ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	g->b = b;
	snprintf(g->last, sizeof(g->last), "%s", last);
	for (unsigned i = 0; r == 0 && i < b->streams; i++)
		r = group_class(g, &b->stream[i], stem);
	*more = g->more;
	for (unsigned i = 0; r == 0 && i < g->n; i++) {
		if (is_full(b)) {
			*more = true;
			break;
		}
		r = add(b, &g->names[i].e, g->names[i].place);
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

/* The stem that an offset's key has, or had, and the name that it printed. */
static int stem_place(struct browse *b, uint64_t after, struct place *at,
	char last[static MODULE_NAME_MAX])
{
	struct nth_name f = {.nth = after & ((1u << NTH_BITS) - 1)};
	struct print p = {.b = b, .part = b->part, .each = find_nth, .ctx = &f};
	struct key k;
	int r;

	*at = (struct place){.id = 0};
	last[0] = '\0';
	if (!after) {
		snprintf(at->text, sizeof(at->text), "%s", b->part->range.stem);
		return 0;
	}
	r = index_view_key_place(b->v, (int64_t)(after >> NTH_BITS), at->text, &k);
	p.k = &k;
	if (r == 0)
		r = MIN(print_key(&p), 0);
	snprintf(last, MODULE_NAME_MAX, "%s", f.name);
	return r;
}

static int fill_stems(struct browse *b, uint64_t after)
{
	char last[MODULE_NAME_MAX];
	struct place at;
	int r = stem_place(b, after, &at, last);

	b->named = b->part->range.name[0];
	if (r == 0 && b->named)
		r = index_view_name(b->v, b->part->range.name, &b->name);
	if (r == 0)
		r = streams_begin(b);
	while (r == 0 && !is_full(b)) {
		const struct index_row *row;
		struct place next;
		bool more;

		r = least_row(b, &at, &row);
		if (r < 0 || !row)
			break;
		snprintf(next.text, sizeof(next.text), "%s", row->place);
		if (strcmp(next.text, at.text) != 0)
			last[0] = '\0';
		at = next;
		r = fill_stem(b, at.text, last, &more);
		if (r < 0 || is_full(b))
			break;
		if (more) {
			snprintf(last, sizeof(last), "%s", b->out[b->n - 1].name);
			at.id = 0;
			r = streams_begin(b);
		} else {
			at.id = INT64_MAX;
		}
	}
	return r;
}

/* ---- all parts ---------------------------------------------------------------------- */

static int fill_part(struct browse *b, uint64_t after)
{
	int r;

	b->part = &b->l->parts[b->nth_part];
	b->named = false;
	switch (b->part->what) {
	case ROSTER_ONE:
		r = fill_one(b, after);
		break;
	case ROSTER_DIGITS:
		r = fill_digits(b, after);
		break;
	case ROSTER_STEMS:
		r = fill_stems(b, after);
		break;
	case ROSTER_TIERS:
		r = fill_tiers(b, after);
		break;
	default:
		r = fill_names(b, after);
		break;
	}
	streams_end(b);
	/* There never was such a name, or so long ago that nobody knows where it stood. */
	return r == -ENOENT ? 0 : r;
}

static int fill(struct browse *b, uint64_t after)
{
	unsigned part = after & BROWSE_PART_FREE;
	uint64_t place = after >> BROWSE_PART_BITS;
	int r = 0;

	for (b->nth_part = part ? part - 1 : 0; r == 0 && b->nth_part < b->l->n && !is_full(b);
		b->nth_part++) {
		r = fill_part(b, place);
		place = 0;
	}
	free(b->stream);
	b->stream = NULL;
	return r;
}

int store_browse(struct store *s, const struct roster *l, uint64_t after, struct browse_entry *out,
	unsigned n)
{
	_cleanup_turn_ struct turn t = {.s = s};
	struct browse b = {.l = l, .out = out, .room = n};

	while (turn_next(&t)) {
		b.n = 0;
		t.r = index_view_open(t.ix, &b.v);
		if (t.r < 0)
			continue;
		t.r = fill(&b, after);
		index_view_close(b.v);
	}
	return t.r < 0 ? t.r : (int)b.n;
}

int store_browse_has(struct store *s, const struct roster *l, const char *name)
{
	_cleanup_turn_ struct turn t = {.s = s};
	struct browse b = {.l = l};
	int has = 0;

	while (turn_next(&t)) {
		t.r = index_view_open(t.ix, &b.v);
		if (t.r < 0)
			continue;
		has = 0;
		for (unsigned i = 0; has == 0 && i < l->n; i++)
			has = part_has(&b, &l->parts[i], name);
		index_view_close(b.v);
		t.r = MIN(has, 0);
	}
	return t.r < 0 ? t.r : has;
}
