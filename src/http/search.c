/* The search of the status page: a path of any layout, a key as `symfs cache ls` prints it, or an
 * identifier alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/private.h"
#include "store/search.h"

#include <string.h>

struct results {
	struct artifact *list;
	unsigned n;
};

static void add(struct results *r, enum filetype t, const struct module *m)
{
	struct artifact a = {.type = t, .m = *m};
	struct key k, have;

	if (r->n == SEARCH_MOST || key_of(&k, &a) < 0)
		return;
	for (unsigned i = 0; i < r->n; i++)
		if (key_of(&have, &r->list[i]) == 0 && key_equal(&have, &k))
			return;
	r->list[r->n++] = a;
}

static void add_key(struct results *r, const struct key *k)
{
	struct artifact a;

	key_artifact(k, &a);
	add(r, a.type, &a.m);
}

unsigned search(struct space *s, const char *words, struct artifact *out)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	struct results r = {out, 0};
	struct key k;

	if (!hit)
		return 0;
	tree_parse(words + strspn(words, "/"), hit);
	for (unsigned i = 0; i < hit->n; i++)
		add(&r, hit->files[i].type, &hit->files[i].m);
	if (r.n)
		return r.n;
	if (key_parse(&k, words) == 0)
		add_key(&r, &k);
	else
		r.n = search_id(s->store, words, out, SEARCH_MOST);
	return r.n;
}
