/* The mount as one tree. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/tree.h"
#include "base/util.h"
#include "id/key.h"
#include "layout/layouts.h"
#include "layout/source-name.h"

#include <string.h>

static const struct fixed {
	const char *folder, *name; /* folder "": the root */
	enum tree_what what;
	const char *text;
} fixed[] = {
	{"", ".build-id", TREE_LINK, "gdb/.build-id"},
	{"", ".symfs", TREE_STATE, ""},
	/* symsrv pings a store with this name; index2.txt makes it two-tiered. */
	{"", "pingme.txt", TREE_TEXT, "symfs\n"},
	{"symstore", "pingme.txt", TREE_TEXT, "symfs\n"},
	{"symstore2", "pingme.txt", TREE_TEXT, "symfs\n"},
	{"symstore2", "index2.txt", TREE_TEXT, "symfs: two tiers\n"},
};

static const struct fixed *fixed_find(const char *folder, size_t n, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (strlen(fixed[i].folder) == n && memcmp(fixed[i].folder, folder, n) == 0 &&
			strcmp(fixed[i].name, name) == 0)
			return &fixed[i];
	return NULL;
}

static bool key_known(const struct tree_hit *out, const struct artifact *a)
{
	struct key k, have;

	if (key_of(&k, a) < 0)
		return true;
	for (unsigned i = 0; i < out->n; i++)
		if (key_of(&have, &out->files[i]) == 0 && key_equal(&have, &k))
			return true;
	return false;
}

/* Several rows, and several layouts, may mean the same file: once is enough. */
static void take_hit(const struct layout_hit *hit, struct tree_hit *out)
{
	for (unsigned i = 0; i < hit->n && out->n < LAYOUT_CANDIDATES; i++)
		if (!key_known(out, &hit->files[i]))
			out->files[out->n++] = hit->files[i];
	if (hit->what == (LAYOUT_DIR | LAYOUT_FILE))
		out->what = TREE_EITHER;
	else if (hit->what == LAYOUT_FILE)
		out->what = TREE_LEAF;
	else if (hit->what == LAYOUT_DIR && out->what == TREE_NONE)
		out->what = TREE_DIR;
}

/* A path that names no layout: whatever any of them can mean by it. */
static void parse_any(const char *path, struct tree_hit *out)
{
	_cleanup_free_ struct layout_hit *hit = malloc(sizeof(*hit));

	for (const struct layout *l = layouts; hit && l->name; l++) {
		layout_parse(l, path, hit);
		take_hit(hit, out);
	}
}

static void parse_folder(const struct layout *l, const char *rest, struct tree_hit *out)
{
	_cleanup_free_ struct layout_hit *hit = malloc(sizeof(*hit));

	if (!hit)
		return;
	out->layout = l;
	out->rest = rest;
	layout_parse(l, rest, hit);
	if (hit->what == LAYOUT_NONE)
		parse_any(rest, out);
	else
		take_hit(hit, out);
}

static const struct layout *folder_find(const char *path, size_t n)
{
	for (const struct layout *l = layouts; l->name; l++)
		if (strlen(l->folder) == n && memcmp(l->folder, path, n) == 0)
			return l;
	return NULL;
}

static bool parse_fixed(const char *path, size_t first, struct tree_hit *out)
{
	const char *rest = path[first] ? path + first + 1 : path + first;
	const struct fixed *f =
		path[first] ? fixed_find(path, first, rest) : fixed_find("", 0, path);

	if (first == 6 && memcmp(path, ".symfs", 6) == 0) {
		out->what = TREE_STATE;
		out->rest = rest;
		return true;
	}
	if (!f)
		return false;
	out->what = f->what;
	out->text = f->text;
	return true;
}

void tree_parse(const char *path, struct tree_hit *out)
{
	size_t first = strcspn(path, "/");
	const struct layout *l = folder_find(path, first);

	memset(out, 0, offsetof(struct tree_hit, files));
	out->rest = path;
	if (!*path) {
		out->what = TREE_DIR;
		return;
	}
	if (parse_fixed(path, first, out))
		return;
	if (l)
		parse_folder(l, path[first] ? path + first + 1 : path + first, out);
	else
		parse_any(path, out);
	if (out->what == TREE_EITHER)
		out->file_like = source_name_is_file(path);
}

const char *tree_entry(const char *path, unsigned nth, enum tree_what *what)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (strcmp(fixed[i].folder, path) == 0 && nth-- == 0) {
			if (what)
				*what = fixed[i].what;
			return fixed[i].name;
		}
	if (what)
		*what = TREE_DIR;
	if (!*path)
		return layout_at(nth) && nth < 64 ? layout_at(nth)->folder : NULL;
	for (const struct layout *l = layouts; l->name; l++)
		if (strcmp(l->folder, path) == 0 && l->prefix[0] && nth == 0)
			return l->prefix;
	return NULL;
}
