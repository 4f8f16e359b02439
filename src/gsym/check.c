/* Reads everything in a GSYM file once, and finds the damage that a lookup would meet. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsym/gsym.h"
#include "gsym/walk.h"

static const char *check_lines(const struct gsym *g, const struct gsym_func *f)
{
	const char *dir, *base;
	struct gsym_rows it;
	struct gsym_row row;
	int r = gsym_rows_begin(&it, f);

	while (r >= 0 && (r = rows_step(&it, &row)) > 0)
		if (gsym_file(g, row.file, &dir, &base) < 0)
			return "a line of a file that is not there";
	if (r < 0)
		return it.bad;
	return it.p == it.end ? NULL : "a line table that ends too soon";
}

static const char *check_inlines(const struct gsym *g, const struct gsym_func *f)
{
	const char *dir, *base;
	struct gsym_nodes it;
	struct gsym_node node;
	int r;

	gsym_nodes_begin(&it, g, f);
	while ((r = gsym_nodes_next(&it, &node)) > 0) {
		if (!gsym_string(g, node.name))
			return "an inlined call without a name";
		if (call_site(g, node.call_file, &dir, &base) < 0)
			return "an inlined call from a file that is not there";
		if (node.call_line > UINT32_MAX)
			return "an inlined call from an invalid line number";
	}
	if (r < 0)
		return it.bad;
	return it.p == it.end ? NULL : "inlined calls that end too soon";
}

int gsym_check(const struct gsym *g, struct err *e)
{
	const char *dir, *base;

	for (uint32_t i = 0; i < g->n_files; i++)
		if (gsym_file(g, i, &dir, &base) < 0)
			return err_set(e, -EBADMSG, "is broken: file %u has no name", i);
	for (uint32_t i = 0; i < g->count; i++) {
		struct gsym_func f;
		const char *bad = func_read(g, i, &f);

		if (!bad && i && f.addr < gsym_addr(g, i - 1))
			bad = "its address is out of order";
		if (!bad)
			bad = check_lines(g, &f);
		if (!bad)
			bad = check_inlines(g, &f);
		if (bad)
			return err_set(e, -EBADMSG, "is broken at function %u: %s", i, bad);
	}
	return 0;
}
