/* Lists the source files that a file of debug information names, as absolute paths. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "dwarf/dwarf.h"

#include <stdio.h>

#define NAMES_MOST (64u << 20) /* names of one file: a broken file can name one table often */

struct naming {
	int (*each)(void *ctx, const char *path);
	void *ctx;
	struct dwarf_lines lines;
	unsigned left;
};

/* Passes "FIRST/SECOND/NAME" on; each part may be "". Names that stay relative are left out. */
static int tell(struct naming *n, const char *first, const char *second, const char *name)
{
	_cleanup_free_ char *full = NULL, *path = NULL;

	if (n->left-- == 0)
		return -EFBIG;
	if (asprintf(&full, "%s%s%s%s%s", first, *first ? "/" : "", second, *second ? "/" : "", name) < 0)
		return -ENOMEM;
	path = full[0] == '/' ? path_absolute(full) : NULL;
	return path ? n->each(n->ctx, path) : full[0] == '/' ? -ENOMEM : 0;
}

/* The name in a unit's first entry is not always in its line table. */
static int tell_unit(struct naming *n, const struct dwarf_unit *u)
{
	const char *first, *second, *name;
	struct dwarf_die d;
	int r = 0;

	if (u->tag != DW_TAG_partial_unit && dwarf_die_at(u, u->head->first, &d) && die_has(&d, AT_NAME) &&
		(name = dwarf_text(u, &d.v[AT_NAME])))
		r = tell(n, name[0] == '/' ? "" : u->comp_dir, "", name);
	if (r < 0 || !u->has_lines ||
		(n->lines.opened && n->lines.at == u->lines && n->lines.comp_dir == u->comp_dir))
		return r;
	r = dwarf_lines_open(&n->lines, u);
	for (size_t i = 0; r == 0 && i < n->lines.n_files; i++) {
		const struct dwarf_line_file *f = dwarf_line_file(&n->lines, i);

		if (!f)
			continue;
		dwarf_line_dirs(&n->lines, f, &first, &second);
		r = tell(n, first, second, f->name);
	}
	return r == -EBADMSG || r == -ENOTSUP ? 0 : r;
}

int dwarf_each_source(const struct dwarf_file *f, int (*each)(void *ctx, const char *path), void *ctx)
{
	struct naming n = {.each = each, .ctx = ctx, .left = NAMES_MOST};
	struct dwarf_reader reader = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->n_units; i++) {
		struct dwarf_unit u;

		r = dwarf_unit_open(&u, &reader, f, &f->units[i], NULL);
		if (r == 0) {
			r = tell_unit(&n, &u);
			dwarf_unit_close(&u);
		}
		r = r == -EBADMSG ? 0 : r;
	}
	dwarf_lines_release(&n.lines);
	dwarf_reader_release(&reader);
	return r;
}
