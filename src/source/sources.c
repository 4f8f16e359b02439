/* The set of sources. A section of configuration inherits entries from later sections of the same name. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/sources.h"
#include "base/util.h"
#include "source/kinds.h"

#include <string.h>

/* ---- overriding --------------------------------------------------------------------- */

/* Whether a configuration key names the place of a source: "url", "path", or the key that a kind has instead
 * ("bucket"). */
static bool is_place(const char *key)
{
	for (size_t i = 0; i < SOURCE_KINDS; i++)
		if (source_kinds[i]->place && strcmp(source_kinds[i]->place, key) == 0)
			return true;
	return strcmp(key, "url") == 0 || strcmp(key, "path") == 0;
}

/* Replaces an alias of a configuration key by the key. */
static const char *key_of_word(const char *word)
{
	static const char *const same[][2] = {
		{"kind", "type"}, {"headers", "header"}, {"types", "filetypes"}};

	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		if (strcmp(same[i][0], word) == 0)
			return same[i][1];
	return word;
}

static bool has_place(const struct conf_section *s)
{
	for (const struct conf_entry *x = s->entries; x; x = x->next)
		if (is_place(x->name))
			return true;
	return false;
}

static bool has_key(const struct conf_section *s, const struct conf_entry *end, const char *word)
{
	for (const struct conf_entry *x = s->entries; x && x != end; x = x->next)
		if (strcmp(key_of_word(x->name), key_of_word(word)) == 0)
			return true;
	return false;
}

/* Whether both sections give the place of the source in the same way: a URL and a path are different
 * kinds of sources. */
static bool same_place(const struct conf_section *s, const struct conf_section *from)
{
	for (const struct conf_entry *x = s->entries; x; x = x->next)
		if (is_place(x->name) && !conf_get(from, x->name))
			return false;
	return true;
}

/* Inherits all entries of a key together, if the section had no entry of that key before. */
static int inherit(struct conf_section *s, const struct conf_section *from)
{
	bool placed = has_place(s), typed = !same_place(s, from);
	struct conf_entry *own = s->entries;
	int r = 0;

	while (own && own->next)
		own = own->next;
	for (const struct conf_entry *x = from->entries; r == 0 && x; x = x->next) {
		if (placed && (is_place(x->name) ||
				      (typed && strcmp(key_of_word(x->name), "type") == 0)))
			continue;
		if (!own || !has_key(s, own->next, x->name))
			r = conf_set_from(
				s, x->name, x->value, x->file ? x->file : from->file, x->line);
	}
	return r;
}

int sources_inherit(struct conf *c)
{
	int r = 0;

	for (const struct conf_section *s = NULL; r == 0 && (s = conf_next(c, "source", s));) {
		struct conf_section *from = conf_find_after(s);

		/* Earlier sections take precedence: a later section of this name does not change a key
		 * that is set. */
		for (; r == 0 && from; from = conf_find_after(from))
			if (from->preset || !has_place(s))
				r = inherit((struct conf_section *)s, from);
	}
	return r;
}

/* ---- the set ------------------------------------------------------------------------ */

static bool named_before(const struct conf *c, const struct conf_section *s)
{
	for (const struct conf_section *t = conf_next(c, "source", NULL); t != s;
		t = conf_next(c, "source", t))
		if (strcmp(t->name, s->name) == 0)
			return true;
	return false;
}

/* Inserts a source after the other sources of its tier. */
static void insert(struct sources *set, struct source *one)
{
	unsigned at = set->n++;

	for (; at && source_tier(set->list[at - 1]) > source_tier(one); at--)
		set->list[at] = set->list[at - 1];
	set->list[at] = one;
}

static int add_sources(struct sources *set, const struct conf *c,
	const struct source_opts *defaults, struct err *e)
{
	for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));) {
		struct source *one;
		int r = source_new(&one, s, defaults, e);

		if (r < 0)
			return r;
		/* The first section of a name replaces later ones, even if it only says `enabled = no`. */
		if (named_before(c, s) || !one->o.enabled)
			source_free(one);
		else
			insert(set, one);
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
