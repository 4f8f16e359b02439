/* The kind "scan": any directory tree of this machine, such as a build directory. No layout says where a
 * file is; fetch/ asks source/scan/, which finds files by their contents. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/util.h"
#include "names/id/key.h"
#include "source/kinds.h"
#include "source/section.h"

#include <errno.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>

struct scan_keys {
	bool archives;
	char **roots; /* "DIR", or "FROM=DIR" */
};

static const struct conf_field scan_fields[] = {
	{"archives", CONF_BOOL, offsetof(struct scan_keys, archives), "yes", "of a scanned tree: look into archives"},
	{"source-roots", CONF_LIST, offsetof(struct scan_keys, roots), NULL,
		"of a scanned tree: directories of its sources"},
	{0},
};

static const struct layout_row no_rows[] = {{0}};

const struct layout source_anywhere = {
	"scan", "scan", "", "any tree, by what its files are", no_rows};

/* Plans a single request: whether any file of the tree is the artifact. */
static int scan_plan(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct source_ask *out)
{
	struct key k;

	if (nth > 0 || !source_allows(s, a) || key_of(&k, a) < 0)
		return -ENOENT;
	snprintf(out->spelling, sizeof(out->spelling), "anywhere below");
	out->where = strdup("");
	return out->where ? 0 : -ENOMEM;
}

static void scan_show(const struct source *s, struct buf *out)
{
	buf_addf(out, "path = %s\n", s->shown);
	if (!source_archives(s))
		buf_adds(out, "archives = no\n");
	for (char **p = ((const struct scan_keys *)s->own)->roots; p && *p; p++)
		buf_addf(out, "source-roots = %s\n", *p);
}

/* Splits the values into words. */
static int scan_init(struct source *s, const struct conf_section *c, struct err *e)
{
	struct scan_keys *own = s->own;
	struct source_root root;
	int r = source_split_words(&own->roots);

	for (unsigned i = 1; r == 0 && source_root(s, i, &root); i++)
		if (root.from[0] != '/' || root.dir[0] != '/')
			r = source_mistake(c, e, "source-roots", own->roots[i - 1], "/DIRECTORY or /FROM=/DIRECTORY");
	return r;
}

const struct source_kind source_scan = {
	.name = "scan",
	.layout = "scan",
	.local = true,
	.fields = scan_fields,
	.size = sizeof(struct scan_keys),
	.plan = scan_plan,
	.init = scan_init,
	.show = scan_show};

bool source_scans(const struct source *s)
{
	return s->kind == &source_scan;
}

bool source_archives(const struct source *s)
{
	const struct scan_keys *own = s->kind == &source_scan ? s->own : NULL;

	return own && own->archives;
}

bool source_root(const struct source *s, unsigned i, struct source_root *out)
{
	const struct scan_keys *own = s->own;
	const char *value = s->o.path, *equals = NULL;

	if (i) {
		char **p = own->roots;

		while (p && *p && --i)
			p++;
		value = p ? *p : NULL;
		equals = value ? strchr(value, '=') : NULL;
	}
	if (!value)
		return false;
	snprintf(out->from, sizeof(out->from), "%.*s",
		equals ? (int)MIN(equals - value, PATH_MAX - 1) : PATH_MAX - 1, value);
	out->dir = equals ? equals + 1 : value;
	return true;
}
