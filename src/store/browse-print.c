/* Listings: the names that one key has in the directory, cut out of the paths that its layout prints. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/browse-private.h"
#include "base/path.h"
#include "base/util.h"
#include "layout/never.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* The key of a row, with its name in the spelling that listings show. */
int browse_key_of_row(const struct browse *b, const struct index_row *row, struct key *out)
{
	const char *name = b->named ? b->name.name : row->text;

	if (key_parse(out, row->key) < 0)
		return -EUCLEAN;
	if (name[0])
		snprintf(out->name, sizeof(out->name), "%s", name);
	return 0;
}

int browse_take_first(void *ctx, const struct browse_entry *e, unsigned row, unsigned nth)
{
	struct browse_entry *out = ctx;

	*out = *e;
	return 1;
}
