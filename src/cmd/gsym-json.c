/* Prints frames and functions of a GSYM file as JSON. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/gsym-text.h"

#include <inttypes.h>
#include <stdio.h>

static void add_address(struct json *j, const char *name, uint64_t v)
{
	char room[24];

	snprintf(room, sizeof(room), "0x%" PRIx64, v);
	json_string(j, name, room);
}

static void add_frame(struct json *j, const struct gsym_frame *f, bool inlined)
{
	char room[8192];

	json_begin_object(j, NULL);
	json_text(j, "name", f->name);
	json_text(j, "file", gsym_path_text(f->dir, f->base, room, sizeof(room)));
	json_number_or_null(j, "line", f->line);
	json_number(j, "offset", (long long)f->offset);
	json_boolean(j, "inlined", inlined);
	json_end(j);
}

void gsym_hit_json(const struct gsym_hit *hit, uint64_t addr, struct json *j)
{
	json_begin_object(j, NULL);
	add_address(j, "address", addr);
	json_begin_array(j, "frames");
	for (unsigned i = 0; i < hit->n; i++)
		add_frame(j, &hit->frame[i], i + 1 < hit->n);
	json_end(j);
	json_end(j);
}

/* ---- the whole file ------------------------------------------------------------------ */

static const char *add_rows(struct json *j, const struct gsym *g, const struct gsym_func *f)
{
	struct gsym_rows it;
	struct gsym_row row;
	char room[8192];
	int r = gsym_rows_begin(&it, f);

	json_begin_array(j, "lines");
	while (r >= 0 && (r = gsym_rows_next(&it, &row)) > 0) {
		gsym_file_text(g, row.file, room, sizeof(room));
		json_begin_object(j, NULL);
		add_address(j, "address", row.addr);
		json_text(j, "file", room);
		json_number(j, "line", row.line);
		json_end(j);
	}
	json_end(j);
	return r < 0 ? it.bad : NULL;
}

/* Begins the object of a node. Leaves the object and its list of inlined calls open, because the list can contain
 * further nodes. */
static void begin_node(struct json *j, const struct gsym *g, const struct gsym_node *node)
{
	uint64_t start, size;
	char room[8192];

	json_begin_object(j, NULL);
	json_text(j, "name", gsym_string(g, node->name));
	gsym_file_text(g, node->call_file, room, sizeof(room));
	json_text(j, "call_file", room);
	json_number(j, "call_line", (long long)node->call_line);
	json_begin_array(j, "ranges");
	for (size_t at = 0; gsym_node_range(node, &at, &start, &size);) {
		json_begin_object(j, NULL);
		add_address(j, "start", start);
		add_address(j, "end", start + size);
		json_end(j);
	}
	json_end(j);
	json_begin_array(j, "inlined");
}

static unsigned end_nodes(struct json *j, unsigned open, unsigned depth)
{
	for (; open >= depth && open; open--) {
		json_end(j);
		json_end(j);
	}
	return open;
}

/* Adds the tree of inlined calls below the function itself, which is the node of depth 0. */
static const char *add_nodes(struct json *j, const struct gsym *g, const struct gsym_func *f)
{
	struct gsym_nodes it;
	struct gsym_node node;
	unsigned open = 0; /* the depth of the innermost node that is open */
	int r;

	gsym_nodes_begin(&it, g, f);
	json_begin_array(j, "inlined");
	while ((r = gsym_nodes_next(&it, &node)) > 0) {
		open = end_nodes(j, open, node.depth);
		if (!node.depth)
			continue;
		begin_node(j, g, &node);
		open = node.depth;
	}
	end_nodes(j, open, 1);
	json_end(j);
	return r < 0 ? it.bad : NULL;
}

void gsym_add_head(struct json *j, const struct gsym *g)
{
	char room[64];

	json_text(j, "form", gsym_form_name(g->form));
	add_address(j, "magic", GSYM_MAGIC);
	json_number(j, "version", GSYM_VERSION);
	json_text(j, "string_table", g->strings_in);
	json_text(j, "byte_order", g->big ? "big" : "little");
	add_address(j, "base", g->base);
	json_number(j, "address_bytes", g->off_size);
	json_text(j, "id", gsym_id_text(g, room));
}

/* Prints the text written so far, and empties the document. */
static void print_part(struct json *j)
{
	fputs(buf_text(&j->text), stdout);
	json_clear(j);
}

static const char *print_function(struct json *j, const struct gsym *g, const struct gsym_func *f)
{
	const char *bad_rows, *bad_nodes;

	json_begin_object(j, NULL);
	add_address(j, "address", f->addr);
	json_number(j, "size", f->size);
	json_text(j, "name", f->name);
	bad_rows = add_rows(j, g, f);
	bad_nodes = add_nodes(j, g, f);
	json_end(j);
	print_part(j);
	return bad_nodes ? bad_nodes : bad_rows;
}

static void print_files(struct json *j, const struct gsym *g)
{
	for (uint32_t i = 1; i < g->n_files; i++) {
		const char *dir, *base;

		if (gsym_file(g, i, &dir, &base) < 0)
			dir = base = NULL;
		json_begin_object(j, NULL);
		json_number(j, "index", i);
		json_text(j, "directory", dir);
		json_text(j, "basename", base);
		json_end(j);
		fputs(i > 1 ? "," : "", stdout);
		print_part(j);
	}
}

static void print_tables(struct json *j, const struct gsym *g)
{
	fputs(",\n\"address_offsets\":[", stdout);
	for (uint32_t i = 0; i < g->count; i++)
		printf("%s\"0x%" PRIx64 "\"", i ? "," : "", gsym_addr(g, i) - g->base);
	fputs("],\n\"info_offsets\":[", stdout);
	for (uint32_t i = 0; i < g->count; i++)
		printf("%s\"0x%" PRIx32 "\"", i ? "," : "", gsym_info_at(g, i));
	fputs("],\n\"files\":[", stdout);
	print_files(j, g);
	putchar(']');
}

static int print_functions(struct json *j, const struct gsym *g, struct err *e)
{
	for (uint32_t i = 0; i < g->count; i++) {
		struct gsym_func f;
		const char *bad;
		int r = gsym_func_at(g, i, &f, e);

		if (r < 0)
			return r;
		fputs(i ? ",\n" : "\n", stdout);
		bad = print_function(j, g, &f);
		if (bad)
			return gsym_bad_function(i, bad, e);
	}
	return 0;
}

/* Prints one function at a time: the JSON of a file of some megabytes would take gigabytes of memory. */
int gsym_dump_json(const struct gsym *g, struct err *e)
{
	struct json j;
	int r;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	gsym_add_head(&j, g);
	print_part(&j); /* the object stays open */
	print_tables(&j, g);
	fputs(",\n\"functions\":[", stdout);
	r = print_functions(&j, g, e);
	puts("]}");
	json_release(&j);
	return r;
}
