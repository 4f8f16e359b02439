/* Reads a GSYM file into a writer, which can give it another form or byte order, and drops strings that
 * nothing refers to. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/gsym/writer.h"
#include "formats/gsym/walk.h"

struct copy {
	struct gsym_writer *w;
	const struct gsym *g;
	const char *bad;
};

static int copy_file(struct copy *c, uint64_t index, uint32_t *out)
{
	const char *dir, *base;
	int r = call_site(c->g, index, &dir, &base);

	if (r < 0) {
		c->bad = "a file number that is out of range";
		return r;
	}
	if (index && index < c->g->n_files && !*dir && !*base && !file_is_none(c->g, (uint32_t)index))
		*out = gsym_add_unnamed_file(c->w);
	else
		*out = gsym_add_file(c->w, gsym_text(c->w, dir, strlen(dir)), gsym_text(c->w, base, strlen(base)));
	return 0;
}

static int copy_rows(struct copy *c, const struct gsym_func *f)
{
	uint32_t file = 0, last = 0;
	struct gsym_rows it;
	struct gsym_row row;
	int r = gsym_rows_begin(&it, f);

	while (r >= 0 && (r = gsym_rows_next(&it, &row)) > 0) {
		if (row.file != last)
			r = copy_file(c, row.file, &file);
		last = row.file;
		if (r < 0)
			return r;
		gsym_add_row(c->w, row.addr, row.file ? file : 0, row.line);
	}
	c->bad = it.bad;
	return r;
}

static int copy_node(struct copy *c, const struct gsym_node *node)
{
	const char *name = gsym_string(c->g, node->name);
	uint64_t start, size;
	uint32_t file;
	size_t at = 0;
	int r;

	if (!node->depth) /* the function */
		return 0;
	c->bad = "an inlined call without a name";
	if (!name)
		return -EBADMSG;
	r = copy_file(c, node->call_file, &file);
	if (r < 0)
		return r;
	gsym_add_inline(c->w, node->depth, gsym_name(c->w, name, strlen(name)), file,
		(uint32_t)MIN(node->call_line, (uint64_t)UINT32_MAX));
	while (gsym_node_range(node, &at, &start, &size))
		gsym_add_range(c->w, start, size);
	return 0;
}

static int copy_nodes(struct copy *c, const struct gsym_func *f)
{
	struct gsym_nodes it;
	struct gsym_node node;
	int r;

	gsym_nodes_begin(&it, c->g, f);
	while ((r = gsym_nodes_next(&it, &node)) > 0) {
		r = copy_node(c, &node);
		if (r < 0)
			return r;
	}
	c->bad = it.bad;
	return r;
}

static int copy_function(struct copy *c, uint32_t i)
{
	struct gsym_func f;
	int r;

	c->bad = func_read(c->g, i, true, &f);
	if (c->bad)
		return -EBADMSG;
	gsym_begin(c->w, f.addr, f.size, gsym_name(c->w, f.name, strlen(f.name)), GSYM_DEBUG);
	r = copy_rows(c, &f);
	if (r == 0)
		r = copy_nodes(c, &f);
	if (r < 0)
		return r;
	gsym_end(c->w);
	return gsym_error(c->w);
}

int gsym_copy(struct gsym_writer *w, const struct gsym *g, struct err *e)
{
	struct copy c = {.w = w, .g = g};

	if (g->form == GSYM_V1) {
		gsym_set_base(w, g->base);
		gsym_set_id(w, g->id.p, g->id.n);
	}
	for (uint32_t i = 0; i < g->count; i++) {
		int r = copy_function(&c, i);

		if (r == -EBADMSG)
			return err_set(e, r, "is broken at function %u: %s", i, c.bad);
		if (r < 0)
			return err_set(e, r, "%s", err_text(r));
	}
	return 0;
}
