/* The search of the page: a path of any layout, a URL, a key as `symfs cache ls` prints it, or an identifier with or
 * without a name. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/private.h"
#include "layout/name.h"
#include "store/search.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* Adds the files of a path of any layout. */
static void add_path(struct results *r, const char *path, struct tree_hit *hit)
{
	tree_parse(path, hit);
	for (unsigned i = 0; i < hit->n; i++)
		add(r, hit->files[i].type, &hit->files[i].m);
}

/* The same without directories before it, as in the URL of another server, or the path of a mount. */
static void add_end_of_path(struct results *r, const char *path, struct tree_hit *hit)
{
	for (; r->n == 0 && path; path = strchr(path, '/') ? strchr(path, '/') + 1 : NULL)
		if (strncmp(path, ".build-id/", 10) == 0) {
			char whole[ROUTE_PATH_MAX + 8];

			snprintf(whole, sizeof(whole), "gdb/%s", path);
			add_path(r, whole, hit);
		} else {
			add_path(r, path, hit);
		}
}

/* A symbol store and a store of symbol files have paths of a name and an identifier. */
static void add_named(struct results *r, const char *name, const char *id, struct tree_hit *hit)
{
	char path[2 * MODULE_NAME_MAX + MODULE_ID_TEXT + 16];
	size_t bare = strlen(name);

	snprintf(path, sizeof(path), "%s/%s/%s", name, id, name);
	add_path(r, path, hit);
	if (bare > 4 && strcasecmp(name + bare - 4, ".pdb") == 0)
		bare -= 4;
	snprintf(path, sizeof(path), "%s/%s/%.*s.sym", name, id, (int)bare, name);
	add_path(r, path, hit);
}

/* A shared library, which has a build id: no symbol store has it by its name. */
static bool name_is_elf(const char *name)
{
	return strstr(name, ".so.") || name_ends(name, ".so") || name_ends(name, ".debug");
}

static void add_pasted(struct results *r, struct store *st, const struct pasted_id *one, struct tree_hit *hit)
{
	_cleanup_free_ struct artifact *found = calloc(SEARCH_MOST, sizeof(*found));
	unsigned n;

	if (!found)
		return;
	if (one->name[0] && !name_is_elf(one->name))
		add_named(r, one->name, one->id, hit);
	n = search_id(st, one->id, found, SEARCH_MOST);
	for (unsigned i = 0; i < n; i++)
		add(r, found[i].type, &found[i].m);
}

unsigned search_pasted(struct space *s, const struct pasted_id *one, struct artifact *out)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	struct results r = {out, 0};

	if (hit)
		add_pasted(&r, s->store, one, hit);
	return r.n;
}

/* "ntdll.dll 5AB380779000" */
static void add_two_words(struct results *r, const char *words, struct tree_hit *hit)
{
	char name[MODULE_NAME_MAX], id[MODULE_ID_TEXT];
	size_t n = strcspn(words, " "), skip = n + strspn(words + n, " "), m = strlen(words + skip);

	if (n == 0 || m == 0 || n >= sizeof(name) || m >= sizeof(id) || strchr(words + skip, ' '))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)n, words);
	snprintf(id, sizeof(id), "%s", words + skip);
	add_named(r, name, id, hit);
}

unsigned search(struct space *s, const char *words, struct artifact *out)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	char path[ROUTE_PATH_MAX];
	struct results r = {out, 0};
	struct pasted_id one;
	struct key k;

	if (!hit || !pasted_path(words, path, sizeof(path)))
		return 0;
	words = path + strspn(path, "/");
	add_path(&r, words, hit);
	if (r.n == 0 && key_parse(&k, path) == 0)
		add_key(&r, &k);
	if (r.n == 0)
		add_end_of_path(&r, words, hit);
	if (r.n == 0)
		r.n = search_id(s->store, path, out, SEARCH_MOST);
	if (r.n == 0)
		add_two_words(&r, path, hit);
	if (r.n == 0 && pasted_ids(path, &one, 1))
		add_pasted(&r, s->store, &one, hit);
	return r.n;
}
