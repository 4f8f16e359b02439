/* symfs gsym stats: counts the functions, lines and inlined calls of a GSYM file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/gsym-text.h"

#include <inttypes.h>
#include <stdio.h>

struct counts {
	uint64_t functions, with_lines, with_inlines, without_size, overlapping;
	uint64_t rows, inlines, deepest, covered;
	uint64_t line_bytes, inline_bytes;
};

static const char *count_function(const struct gsym *g, const struct gsym_func *f, struct counts *c)
{
	struct gsym_rows rows;
	struct gsym_nodes nodes;
	struct gsym_node node;
	struct gsym_row row;
	int r = gsym_rows_begin(&rows, f);

	c->with_lines += f->lines.n > 0;
	c->with_inlines += f->inlines.n > 0;
	c->without_size += !f->size;
	c->line_bytes += f->lines.n;
	c->inline_bytes += f->inlines.n;
	while (r >= 0 && (r = gsym_rows_next(&rows, &row)) > 0)
		c->rows++;
	if (r < 0)
		return rows.bad;
	gsym_nodes_begin(&nodes, g, f);
	while ((r = gsym_nodes_next(&nodes, &node)) > 0) {
		c->inlines += node.depth > 0;
		c->deepest = MAX(c->deepest, node.depth);
	}
	return r < 0 ? nodes.bad : NULL;
}

static int count_all(const struct gsym *g, struct counts *c, struct err *e)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < g->count; i++) {
		struct gsym_func f;
		const char *bad;
		int r = gsym_func_at(g, i, &f, e);

		if (r < 0)
			return r;
		bad = count_function(g, &f, c);
		if (bad)
			return gsym_bad_function(i, bad, e);
		c->functions++;
		c->overlapping += f.addr < end;
		if (f.addr + f.size > end) {
			c->covered += f.addr + f.size - MAX(end, f.addr);
			end = f.addr + f.size;
		}
	}
	return 0;
}

struct stats_row {
	const char *name;
	uint64_t n;
};

static int stats_json(const struct gsym *g, const struct stats_row *rows, size_t n)
{
	struct json j;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	gsym_add_head(&j, g);
	for (size_t i = 0; i < n; i++)
		json_number(&j, rows[i].name, (long long)rows[i].n);
	json_end(&j);
	json_print(&j);
	return 0;
}

static int stats_text(const struct gsym *g, const struct stats_row *rows, size_t n)
{
	char room[64];

	printf("form %s\nbyte_order %s\nbase 0x%" PRIx64 "\naddress_bytes %u\nid %s\n",
		gsym_form_name(g->form), g->big ? "big" : "little", g->base, g->off_size,
		g->id.n ? gsym_id_text(g, room) : "-");
	for (size_t i = 0; i < n; i++)
		printf("%s %" PRIu64 "\n", rows[i].name, rows[i].n);
	return 0;
}

int gsym_stats(const struct gsym *g, bool json, struct err *e)
{
	struct counts c = {0};
	int r = count_all(g, &c, e);
	const struct stats_row rows[] = {
		{"functions", c.functions},
		{"with_lines", c.with_lines},
		{"with_inlines", c.with_inlines},
		{"without_size", c.without_size},
		{"overlapping", c.overlapping},
		{"bytes_covered", c.covered},
		{"lines", c.rows},
		{"inlined_calls", c.inlines},
		{"deepest", c.deepest},
		{"files", g->n_files ? g->n_files - 1 : 0},
		{"string_bytes", g->strings.n},
		{"line_bytes", c.line_bytes},
		{"inline_bytes", c.inline_bytes},
	};

	if (r < 0)
		return r;
	if (json)
		return stats_json(g, rows, ARRAY_SIZE(rows));
	return stats_text(g, rows, ARRAY_SIZE(rows));
}
