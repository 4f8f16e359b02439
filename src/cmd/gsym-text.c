/* Frames, functions and counts as text and as JSON. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/gsym-text.h"
#include "base/util.h"
#include "cmd/json.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define JSON_FLAGS (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

#define EACH(byte) ((uint64_t)(byte)*0x0101010101010101)

/* No byte is below ' ', and none is 0x7f or above it. */
static bool is_plain(const char *s, size_t n)
{
	uint64_t w, bad = 0;

	for (; n >= sizeof(w); n -= sizeof(w), s += sizeof(w)) {
		memcpy(&w, s, sizeof(w));
		/* Of a byte that lends to the one before it the high bit tells, too. */
		bad |= (w - EACH(' ')) | (w + EACH(1)) | w;
	}
	bad &= EACH(0x80);
	for (; n; n--, s++)
		bad |= (unsigned char)*s < ' ' || (unsigned char)*s >= 0x7f;
	return !bad;
}

/* A name may be any bytes; a terminal must not obey them, and a line must stay one. */
static int add_shown(struct buf *out, const char *s)
{
	size_t n = strlen(s);
	struct buf room = BUF_UP_TO(4 << 20);
	int r;

	if (is_plain(s, n))
		return buf_add(out, s, n);
	r = buf_adds(out, text_shown(s, true, &room));
	buf_release(&room);
	return r;
}

static int add_path(struct buf *out, const char *dir, const char *base)
{
	char room[8192];

	return add_shown(out, gsym_path_text(dir, base, room, sizeof(room)));
}

static int add_number(struct buf *out, uint64_t v, unsigned base)
{
	char room[24], *p = room + sizeof(room);

	do
		*--p = "0123456789abcdef"[v % base];
	while (v /= base);
	return buf_add(out, p, (size_t)(room + sizeof(room) - p));
}

int gsym_address_text(uint64_t addr, struct buf *out)
{
	int r = buf_add(out, "0x", 2);

	return r < 0 ? r : add_number(out, addr, 16);
}

static void add_address(struct json_object *o, const char *name, uint64_t v)
{
	char room[24];

	snprintf(room, sizeof(room), "0x%" PRIx64, v);
	json_add_text(o, name, room);
}

/* ---- frames -------------------------------------------------------------------------- */

static int add_frame(struct buf *out, const struct gsym_frame *f, bool fields)
{
	int r = add_shown(out, f->name);

	if (r < 0 || (!fields && !f->dir[0] && !f->base[0] && !f->line))
		return r;
	r = buf_adds(out, "@");
	if (r == 0)
		r = add_path(out, f->dir, f->base);
	if (r == 0)
		r = buf_add(out, ":", 1);
	return r == 0 ? add_number(out, f->line, 10) : r;
}

int gsym_frames_text(const struct gsym *g, uint64_t addr, bool fields, struct buf *out, struct err *e)
{
	struct gsym_hit hit;
	int r = gsym_lookup(g, addr, &hit, e);

	if (r == -ENOENT)
		return buf_adds(out, "-");
	for (unsigned i = 0; r == 0 && i < hit.n; i++) {
		if (i)
			r = buf_adds(out, " < ");
		if (r == 0)
			r = add_frame(out, &hit.frame[i], fields);
	}
	return r;
}

static struct json_object *frame_json(const struct gsym_frame *f, bool inlined)
{
	struct json_object *o = json_object_new_object();
	char room[8192];

	json_add_text(o, "name", f->name);
	json_add_text(o, "file", gsym_path_text(f->dir, f->base, room, sizeof(room)));
	json_object_object_add(o, "line", f->line ? json_object_new_int64(f->line) : NULL);
	json_object_object_add(o, "offset", json_object_new_int64((int64_t)f->offset));
	json_object_object_add(o, "inlined", json_object_new_boolean(inlined));
	return o;
}

int gsym_frames_json(const struct gsym *g, uint64_t addr, struct json_object **out, struct err *e)
{
	struct json_object *frames;
	struct gsym_hit hit;
	int r = gsym_lookup(g, addr, &hit, e);

	if (r < 0 && r != -ENOENT)
		return r;
	*out = json_object_new_object();
	frames = json_object_new_array();
	add_address(*out, "address", addr);
	for (unsigned i = 0; r == 0 && i < hit.n; i++)
		json_object_array_add(frames, frame_json(&hit.frame[i], i + 1 < hit.n));
	json_object_object_add(*out, "frames", frames);
	return 0;
}

/* ---- the whole file ------------------------------------------------------------------ */

static const char *id_text(const struct gsym *g, char room[static 64])
{
	room[0] = '\0';
	for (size_t i = 0; i < g->id.n && i < 20; i++)
		snprintf(room + 2 * i, 3, "%02x", g->id.p[i]);
	return room;
}

static int file_text(const struct gsym *g, uint64_t index, char *room, size_t n)
{
	const char *dir, *base;

	if (gsym_file(g, index, &dir, &base) < 0)
		dir = base = "";
	gsym_path_text(dir, base, room, n);
	return 0;
}

static void print_text(const char *s)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(4 << 20);

	fputs(is_plain(s, strlen(s)) ? s : text_shown(s, true, &room), stdout);
}

static int bad_function(uint32_t i, const char *why, struct err *e)
{
	return err_set(e, -EBADMSG, "is broken at function %" PRIu32 ": %s", i, why);
}

static const char *print_rows(const struct gsym *g, const struct gsym_func *f)
{
	struct gsym_rows it;
	struct gsym_row row;
	char room[8192];
	int r = gsym_rows_begin(&it, f);

	while (r >= 0 && (r = gsym_rows_next(&it, &row)) > 0) {
		file_text(g, row.file, room, sizeof(room));
		printf("  0x%" PRIx64 " ", row.addr);
		print_text(room);
		printf(":%" PRIu32 "\n", row.line);
	}
	return r < 0 ? it.bad : NULL;
}

static void print_node(const struct gsym *g, const struct gsym_node *node)
{
	const char *name = gsym_string(g, node->name);
	uint64_t start, size;
	char room[8192];

	printf("  %*s", (int)(2 * node->depth), "");
	for (size_t at = 0; gsym_node_range(node, &at, &start, &size);)
		printf("[0x%" PRIx64 "-0x%" PRIx64 ") ", start, start + size);
	print_text(name ? name : "");
	if (node->call_file) {
		file_text(g, node->call_file, room, sizeof(room));
		fputs(" called at ", stdout);
		print_text(room);
		printf(":%" PRIu64, node->call_line);
	}
	putchar('\n');
}

static const char *print_nodes(const struct gsym *g, const struct gsym_func *f)
{
	struct gsym_nodes it;
	struct gsym_node node;
	int r;

	gsym_nodes_begin(&it, g, f);
	while ((r = gsym_nodes_next(&it, &node)) > 0)
		print_node(g, &node);
	return r < 0 ? it.bad : NULL;
}

static void print_tables(const struct gsym *g)
{
	const char *dir, *base;
	char room[8192];

	printf("magic 0x%x, version %u, addresses of %u bytes, strings of %zu bytes%s", GSYM_MAGIC,
		GSYM_VERSION, g->off_size, g->strings.n, *g->strings_in ? " in " : "");
	print_text(g->strings_in);
	putchar('\n');
	puts("address offset, information offset:");
	for (uint32_t i = 0; i < g->count; i++)
		printf("  %" PRIu32 " 0x%" PRIx64 " 0x%" PRIx32 "\n", i, gsym_addr(g, i) - g->base,
			gsym_info_at(g, i));
	puts("files:");
	for (uint32_t i = 1; i < g->n_files; i++) {
		printf("  %" PRIu32 " ", i);
		if (gsym_file(g, i, &dir, &base) == 0)
			print_text(gsym_path_text(dir, base, room, sizeof(room)));
		putchar('\n');
	}
	puts("functions:");
}

int gsym_dump_text(const struct gsym *g, struct err *e)
{
	char room[64];

	printf("%s, %s-endian, base 0x%" PRIx64 ", %" PRIu32 " functions, %" PRIu32 " files%s%s\n",
		gsym_form_name(g->form), g->big ? "big" : "little", g->base, g->count,
		g->n_files ? g->n_files - 1 : 0, g->id.n ? ", id " : "", id_text(g, room));
	print_tables(g);
	for (uint32_t i = 0; i < g->count; i++) {
		struct gsym_func f;
		const char *bad;
		int r = gsym_func_at(g, i, &f, e);

		if (r < 0)
			return r;
		printf("[0x%" PRIx64 "-0x%" PRIx64 ") ", f.addr, f.addr + f.size);
		print_text(f.name);
		putchar('\n');
		bad = print_rows(g, &f);
		if (!bad)
			bad = print_nodes(g, &f);
		if (bad)
			return bad_function(i, bad, e);
	}
	return 0;
}

/* ---- JSON ---------------------------------------------------------------------------- */

static struct json_object *rows_json(
	const struct gsym *g, const struct gsym_func *f, const char **bad)
{
	struct json_object *list = json_object_new_array();
	struct gsym_rows it;
	struct gsym_row row;
	char room[8192];
	int r = gsym_rows_begin(&it, f);

	while (r >= 0 && (r = gsym_rows_next(&it, &row)) > 0) {
		struct json_object *o = json_object_new_object();

		file_text(g, row.file, room, sizeof(room));
		add_address(o, "address", row.addr);
		json_add_text(o, "file", room);
		json_add_number(o, "line", row.line);
		json_object_array_add(list, o);
	}
	if (r < 0)
		*bad = it.bad;
	return list;
}

static struct json_object *node_json(const struct gsym *g, const struct gsym_node *node)
{
	struct json_object *o = json_object_new_object(), *ranges = json_object_new_array();
	uint64_t start, size;
	char room[8192];

	json_add_text(o, "name", gsym_string(g, node->name));
	file_text(g, node->call_file, room, sizeof(room));
	json_add_text(o, "call_file", room);
	json_add_number(o, "call_line", (long long)node->call_line);
	for (size_t at = 0; gsym_node_range(node, &at, &start, &size);) {
		struct json_object *range = json_object_new_object();

		add_address(range, "start", start);
		add_address(range, "end", start + size);
		json_object_array_add(ranges, range);
	}
	json_object_object_add(o, "ranges", ranges);
	return o;
}

/* The tree below the function itself; the list that is open at each depth. */
static struct json_object *nodes_json(
	const struct gsym *g, const struct gsym_func *f, const char **bad)
{
	struct json_object *open[GSYM_DEPTH_MOST + 2] = {json_object_new_array()};
	struct gsym_nodes it;
	struct gsym_node node;
	int r;

	gsym_nodes_begin(&it, g, f);
	while ((r = gsym_nodes_next(&it, &node)) > 0) {
		struct json_object *o;

		if (!node.depth) {
			open[1] = open[0];
			continue;
		}
		o = node_json(g, &node);
		open[node.depth + 1] = json_object_new_array();
		json_object_object_add(o, "inlined", open[node.depth + 1]);
		json_object_array_add(open[node.depth], o);
	}
	if (r < 0)
		*bad = it.bad;
	return open[0];
}

static struct json_object *head_json(const struct gsym *g)
{
	struct json_object *o = json_object_new_object();
	char room[64];

	json_add_text(o, "form", gsym_form_name(g->form));
	add_address(o, "magic", GSYM_MAGIC);
	json_add_number(o, "version", GSYM_VERSION);
	json_add_text(o, "string_table", g->strings_in);
	json_add_text(o, "byte_order", g->big ? "big" : "little");
	add_address(o, "base", g->base);
	json_add_number(o, "address_bytes", g->off_size);
	json_add_text(o, "id", id_text(g, room));
	return o;
}

static const char *print_function_json(const struct gsym *g, const struct gsym_func *f)
{
	struct json_object *o = json_object_new_object();
	const char *bad = NULL;

	add_address(o, "address", f->addr);
	json_add_number(o, "size", f->size);
	json_add_text(o, "name", f->name);
	json_object_object_add(o, "lines", rows_json(g, f, &bad));
	json_object_object_add(o, "inlined", nodes_json(g, f, &bad));
	fputs(json_object_to_json_string_ext(o, JSON_FLAGS), stdout);
	json_object_put(o);
	return bad;
}

static void print_files_json(const struct gsym *g)
{
	for (uint32_t i = 1; i < g->n_files; i++) {
		struct json_object *o = json_object_new_object();
		const char *dir, *base;

		if (gsym_file(g, i, &dir, &base) < 0)
			dir = base = NULL;
		json_add_number(o, "index", i);
		json_add_text(o, "directory", dir);
		json_add_text(o, "basename", base);
		printf("%s%s", i > 1 ? "," : "", json_object_to_json_string_ext(o, JSON_FLAGS));
		json_object_put(o);
	}
}

static void print_tables_json(const struct gsym *g)
{
	fputs(",\n\"address_offsets\":[", stdout);
	for (uint32_t i = 0; i < g->count; i++)
		printf("%s\"0x%" PRIx64 "\"", i ? "," : "", gsym_addr(g, i) - g->base);
	fputs("],\n\"info_offsets\":[", stdout);
	for (uint32_t i = 0; i < g->count; i++)
		printf("%s\"0x%" PRIx32 "\"", i ? "," : "", gsym_info_at(g, i));
	fputs("],\n\"files\":[", stdout);
	print_files_json(g);
	putchar(']');
}

/* One function at a time: a file of some megabytes would be gigabytes of JSON in memory. */
int gsym_dump_json(const struct gsym *g, struct err *e)
{
	struct json_object *head = head_json(g);
	const char *text = json_object_to_json_string_ext(head, JSON_FLAGS);
	int r = 0;

	printf("%.*s", (int)strlen(text) - 1, text);
	json_object_put(head);
	print_tables_json(g);
	fputs(",\n\"functions\":[", stdout);
	for (uint32_t i = 0; r == 0 && i < g->count; i++) {
		struct gsym_func f;
		const char *bad;

		r = gsym_func_at(g, i, &f, e);
		if (r < 0)
			break;
		fputs(i ? ",\n" : "\n", stdout);
		bad = print_function_json(g, &f);
		if (bad)
			r = bad_function(i, bad, e);
	}
	puts("]}");
	return r;
}

/* ---- counts -------------------------------------------------------------------------- */

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
			return bad_function(i, bad, e);
		c->functions++;
		c->overlapping += f.addr < end;
		if (f.addr + f.size > end) {
			c->covered += f.addr + f.size - MAX(end, f.addr);
			end = f.addr + f.size;
		}
	}
	return 0;
}

int gsym_stats(const struct gsym *g, bool json, struct err *e)
{
	struct counts c = {0};
	int r = count_all(g, &c, e);
	const struct {
		const char *name;
		uint64_t n;
	} rows[] = {
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
	struct json_object *o;
	char room[64];

	if (r < 0)
		return r;
	o = head_json(g);
	if (!json)
		printf("form %s\nbyte_order %s\nbase 0x%" PRIx64 "\naddress_bytes %u\nid %s\n",
			gsym_form_name(g->form), g->big ? "big" : "little", g->base, g->off_size,
			g->id.n ? id_text(g, room) : "-");
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		if (json)
			json_add_number(o, rows[i].name, (long long)rows[i].n);
		else
			printf("%s %" PRIu64 "\n", rows[i].name, rows[i].n);
	}
	if (json)
		json_print(o);
	else
		json_object_put(o);
	return 0;
}
