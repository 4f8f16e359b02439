/* Fuzzes paths as the kernel and people send them. Every artifact that a path names has a key that
 * survives conversion to text, and a path in the same layout that parses back to it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "names/id/key.h"
#include "names/layout/tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_key(const struct artifact *a)
{
	struct key k, again;
	char text[KEY_TEXT];

	if (key_of(&k, a) < 0)
		return;
	must(key_parse(&again, key_text(&k, text)) == 0);
	must(key_equal(&k, &again));
	must(key_number(&k) == key_number(&again));
}

static void check_print(const struct layout *l, const struct artifact *a)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	struct layout_hit *hit = malloc(sizeof(*hit));
	struct key want, have;
	bool found = false;

	if (hit && key_of(&want, a) == 0 && layout_path(l, a, CASING_DEFAULT, 0, &path) == 0) {
		layout_parse(l, buf_text(&path), hit);
		for (unsigned i = 0; i < hit->n; i++)
			found |= key_of(&have, &hit->files[i]) == 0 && key_equal(&have, &want);
		must(found);
	}
	free(hit);
}

/* A link leads to a file of its bundle, and Info.plist stands in one. */
static void check_bundle(const struct artifact *a)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX), target = BUF_UP_TO(LAYOUT_PATH_MAX),
				 plist = BUF_UP_TO(LAYOUT_PATH_MAX);
	struct tree_hit *hit = calloc(1, sizeof(*hit));
	struct key want, have;

	must(hit && key_of(&want, a) == 0);
	must(tree_link(a, &path, &target) == 0 && tree_plist(a, &plist) == 0);
	tree_parse(strstr(target.p, "dsym/"), hit);
	must(hit->what == TREE_LEAF && key_of(&have, &hit->files[0]) == 0 && key_equal(&have, &want));
	tree_parse(path.p, hit);
	must(hit->what == TREE_TOLD && hit->told == TOLD_LINK);
	tree_parse(plist.p, hit);
	must(hit->what == TREE_TOLD && hit->told == TOLD_PLIST);
	free(hit);
}

FUZZ_TARGET("path", p, n)
{
	char *path = strndup((const char *)p, n);
	struct tree_hit *hit = calloc(1, sizeof(*hit));

	must(path && hit);
	tree_parse(path, hit);
	must(hit->n <= LAYOUT_CANDIDATES);
	must((hit->n > 0) ==
		(hit->what == TREE_LEAF || hit->what == TREE_EITHER || hit->what == TREE_TOLD));
	for (unsigned i = 0; i < hit->n; i++) {
		check_key(&hit->files[i]);
		if (hit->layout)
			check_print(hit->layout, &hit->files[i]);
		if (hit->files[i].type == FILETYPE_MACH_DEBUG)
			check_bundle(&hit->files[i]);
	}
	free(hit);
	free(path);
	return 0;
}
