/* The table of kinds, and the set of sources. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/sources.h"
#include "base/util.h"

#include <string.h>

static const struct source_kind *const kinds[] = {&source_http, &source_debuginfod, &source_dir};

const struct source_kind *source_kind_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

static bool named_before(const struct conf *c, const struct conf_section *s)
{
	for (const struct conf_section *t = conf_next(c, "source", NULL); t != s;
		t = conf_next(c, "source", t))
		if (strcmp(t->name, s->name) == 0)
			return true;
	return false;
}

static int add_sources(struct sources *set, const struct conf *c,
	const struct source_opts *defaults, struct err *e)
{
	for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));) {
		struct source *one;
		int r = source_new(&one, s, defaults, e);

		if (r < 0)
			return r;
		/* The first of a name replaces later ones, also when it only says `enabled = no`.
		 */
		if (named_before(c, s) || !one->o.enabled)
			source_free(one);
		else
			set->list[set->n++] = one;
	}
	return 0;
}

int sources_new(struct sources **out, const struct conf *c, const struct source_opts *defaults,
	struct err *e)
{
	struct sources *set;
	size_t n = 0;
	int r;

	for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));)
		n++;
	set = calloc(1, sizeof(*set) + n * sizeof(struct source *));
	if (!set)
		return -ENOMEM;
	set->refs = 1;
	r = add_sources(set, c, defaults, e);
	if (r < 0) {
		sources_unref(set);
		return r;
	}
	*out = set;
	return 0;
}

struct sources *sources_ref(struct sources *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void sources_unref(struct sources *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (unsigned i = 0; i < s->n; i++)
		source_free(s->list[i]);
	free(s);
}

void sources_keep_local(struct sources *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++) {
		if (s->list[i]->kind->local)
			s->list[n++] = s->list[i];
		else
			source_free(s->list[i]);
	}
	s->n = n;
}
