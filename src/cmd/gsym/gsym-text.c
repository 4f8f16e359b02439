/* Prints frames and functions of a GSYM file as text and as JSON. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/gsym/gsym-text.h"
#include "base/demangle.h"
#include "base/hash.h"
#include "base/util.h"
#include "cmd/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EACH(byte) ((uint64_t)(byte)*0x0101010101010101)

/* Whether all bytes are printable ASCII. */
static bool is_plain(const char *s, size_t n)
{
	uint64_t w, bad = 0;

	for (; n >= sizeof(w); n -= sizeof(w), s += sizeof(w)) {
		memcpy(&w, s, sizeof(w));
		/* A byte that borrows from the next byte does not hide an error: it also sets its own high bit. */
		bad |= (w - EACH(' ')) | (w + EACH(1)) | w;
	}
	bad &= EACH(0x80);
	for (; n; n--, s++)
		bad |= (unsigned char)*s < ' ' || (unsigned char)*s >= 0x7f;
	return !bad;
}

/* Adds a name, which may contain any bytes. Escapes control characters and line breaks. */
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
	char room[24], *end = room + sizeof(room), *p = digits_back(end, v, base);

	return buf_add(out, p, (size_t)(end - p));
}

int gsym_address_text(uint64_t addr, struct buf *out)
{
	buf_add(out, "0x", 2);
	return add_number(out, addr, 16);
}

bool gsym_address_of(const char *word, uint64_t *out)
{
	bool hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
	const char *p = word + (hex ? 2 : 0);
	uint64_t base = hex || strpbrk(p, "abcdefABCDEF") ? 16 : 10, v = 0;

	if (!p[0])
		return false;
	for (; *p; p++) {
		unsigned letter = (unsigned char)(*p | 0x20) - 'a', digit = (unsigned char)*p - '0';

		if (digit > 9 && base == 16 && letter < 6)
			digit = letter + 10;
		if (digit >= base || v > (UINT64_MAX - digit) / base)
			return false;
		v = v * base + digit;
	}
	*out = v;
	return true;
}

/* ---- frames -------------------------------------------------------------------------- */

static int add_frame(struct buf *out, const struct gsym_frame *f, bool fields)
{
	int r = add_shown(out, f->name);

	if (r < 0 || (!fields && !f->dir[0] && !f->base[0] && !f->line))
		return r;
	buf_adds(out, "@");
	add_path(out, f->dir, f->base);
	buf_add(out, ":", 1);
	return add_number(out, f->line, 10);
}

int gsym_hit_text(const struct gsym_hit *hit, bool fields, struct buf *out)
{
	buf_adds(out, hit->n ? "" : "-");
	for (unsigned i = 0; i < hit->n; i++) {
		if (i)
			buf_adds(out, " < ");
		add_frame(out, &hit->frame[i], fields);
	}
	return out->r;
}

/* ---- the whole file ------------------------------------------------------------------ */

const char *gsym_id_text(const struct gsym *g, char room[static 64])
{
	room[0] = '\0';
	for (size_t i = 0; i < g->id.n && i < 20; i++)
		snprintf(room + 2 * i, 3, "%02x", g->id.p[i]);
	return room;
}

/* Writes "" for no such file. */
static void file_text(const struct gsym *g, uint64_t index, char *room, size_t n)
{
	const char *dir, *base;

	if (gsym_file(g, index, &dir, &base) < 0)
		dir = base = "";
	gsym_path_text(dir, base, room, n);
}

static void print_text(const char *s)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(4 << 20);

	fputs(is_plain(s, strlen(s)) ? s : text_shown(s, true, &room), stdout);
}

/* `names`: room for a demangled name; NULL: names are printed as the file has them. */
static const char *shown_name(const char *name, struct buf *names)
{
	return !name ? "" : names && demangle(name, names) ? buf_text(names) : name;
}

int gsym_each_function(const struct gsym *g, gsym_function *each, void *ctx, struct err *e)
{
	for (uint32_t i = 0; i < g->count; i++) {
		struct gsym_func f;
		const char *bad;
		int r = gsym_func_at(g, i, &f, e);

		if (r < 0)
			return r;
		bad = each(ctx, g, i, &f);
		if (bad)
			return err_set(e, -EBADMSG, "is broken at function %" PRIu32 ": %s", i, bad);
	}
	return 0;
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

static void print_node(const struct gsym *g, const struct gsym_node *node, struct buf *names)
{
	uint64_t start, size;
	char room[8192];

	printf("  %*s", (int)(2 * node->depth), "");
	for (size_t at = 0; gsym_node_range(node, &at, &start, &size);)
		printf("[0x%" PRIx64 "-0x%" PRIx64 ") ", start, start + size);
	print_text(shown_name(gsym_string(g, node->name), names));
	if (node->call_file) {
		file_text(g, node->call_file, room, sizeof(room));
		fputs(" called at ", stdout);
		print_text(room);
		printf(":%" PRIu64, node->call_line);
	}
	putchar('\n');
}

static const char *print_nodes(const struct gsym *g, const struct gsym_func *f, struct buf *names)
{
	struct gsym_nodes it;
	struct gsym_node node;
	int r;

	gsym_nodes_begin(&it, g, f);
	while ((r = gsym_nodes_next(&it, &node)) > 0)
		print_node(g, &node, names);
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

static const char *dump_text_function(void *ctx, const struct gsym *g, uint32_t i, const struct gsym_func *f)
{
	const char *bad;

	printf("[0x%" PRIx64 "-0x%" PRIx64 ") ", f->addr, f->addr + f->size);
	print_text(shown_name(f->name, ctx));
	putchar('\n');
	bad = print_rows(g, f);
	return bad ? bad : print_nodes(g, f, ctx);
}

static int dump_text(const struct gsym *g, struct buf *names, struct err *e)
{
	char room[64];

	printf("%s, %s-endian, base 0x%" PRIx64 ", %" PRIu32 " functions, %" PRIu32 " files%s%s\n",
		gsym_form_name(g->form), g->big ? "big" : "little", g->base, g->count,
		g->n_files ? g->n_files - 1 : 0, g->id.n ? ", id " : "", gsym_id_text(g, room));
	print_tables(g);
	return gsym_each_function(g, dump_text_function, names, e);
}

/* ---- the whole file as JSON ---------------------------------------------------------- */

static void add_address(struct json *j, const char *name, uint64_t v)
{
	char room[24];

	snprintf(room, sizeof(room), "0x%" PRIx64, v);
	json_string(j, name, room);
}

static const char *add_rows(struct json *j, const struct gsym *g, const struct gsym_func *f)
{
	struct gsym_rows it;
	struct gsym_row row;
	char room[8192];
	int r = gsym_rows_begin(&it, f);

	json_begin_array(j, "lines");
	while (r >= 0 && (r = gsym_rows_next(&it, &row)) > 0) {
		file_text(g, row.file, room, sizeof(room));
		json_begin_object(j, NULL);
		add_address(j, "address", row.addr);
		json_text(j, "file", room);
		json_number(j, "line", row.line);
		json_end(j);
	}
	json_end(j);
	return r < 0 ? it.bad : NULL;
}

struct json_dump {
	struct json j;
	struct buf *names;
};

/* Begins the object of a node. Leaves the object and its list of inlined calls open, because the list can contain
 * further nodes. */
static void begin_node(struct json_dump *d, const struct gsym *g, const struct gsym_node *node)
{
	struct json *j = &d->j;
	uint64_t start, size;
	char room[8192];

	json_begin_object(j, NULL);
	json_text(j, "name", shown_name(gsym_string(g, node->name), d->names));
	file_text(g, node->call_file, room, sizeof(room));
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
static const char *add_nodes(struct json_dump *d, const struct gsym *g, const struct gsym_func *f)
{
	struct json *j = &d->j;
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
		begin_node(d, g, &node);
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

static const char *dump_json_function(void *ctx, const struct gsym *g, uint32_t i, const struct gsym_func *f)
{
	const char *bad_rows, *bad_nodes;
	struct json_dump *d = ctx;
	struct json *j = &d->j;

	fputs(i ? ",\n" : "\n", stdout);
	json_begin_object(j, NULL);
	add_address(j, "address", f->addr);
	json_number(j, "size", f->size);
	json_text(j, "name", shown_name(f->name, d->names));
	bad_rows = add_rows(j, g, f);
	bad_nodes = add_nodes(d, g, f);
	json_end(j);
	print_part(j);
	return bad_nodes ? bad_nodes : bad_rows;
}

static void print_json_files(struct json *j, const struct gsym *g)
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

static void print_json_tables(struct json *j, const struct gsym *g)
{
	fputs(",\n\"address_offsets\":[", stdout);
	for (uint32_t i = 0; i < g->count; i++)
		printf("%s\"0x%" PRIx64 "\"", i ? "," : "", gsym_addr(g, i) - g->base);
	fputs("],\n\"info_offsets\":[", stdout);
	for (uint32_t i = 0; i < g->count; i++)
		printf("%s\"0x%" PRIx32 "\"", i ? "," : "", gsym_info_at(g, i));
	fputs("],\n\"files\":[", stdout);
	print_json_files(j, g);
	putchar(']');
}

/* Prints one function at a time: the JSON of a file of some megabytes would take gigabytes of memory. */
static int dump_json(const struct gsym *g, struct buf *names, struct err *e)
{
	struct json_dump d = {.names = names};
	struct json *j = &d.j;
	int r;

	json_init(j, true);
	json_begin_object(j, NULL);
	gsym_add_head(j, g);
	print_part(j); /* the object stays open */
	print_json_tables(j, g);
	fputs(",\n\"functions\":[", stdout);
	r = gsym_each_function(g, dump_json_function, &d, e);
	puts("]}");
	json_release(j);
	return r;
}

int gsym_dump(const struct gsym *g, bool json, bool demangled, struct err *e)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);

	return (json ? dump_json : dump_text)(g, demangled ? &room : NULL, e);
}
