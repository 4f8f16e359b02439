/* Tests gsym/: random programs are written in every form and byte order and read back, and each
 * address gets the answer of a plain walk over the program. Also tests files of the prototype,
 * byte by byte; broken files; and files that LLVM and the prototype made. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsyms.h"
#include "base/hash.h"
#include "base/path.h"
#include "table.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>

/* ---- a random program ---------------------------------------------------------------- */

#define FUNCS 24
#define ROWS 12
#define NODES 10

struct model_node {
	unsigned depth, parent, n;
	uint32_t start[3], size[3], file, line;
	char name[16];
};

struct model_func {
	uint64_t addr;
	uint32_t size;
	char name[24];
	unsigned n_rows, n_nodes;
	struct {
		uint32_t at, file, line;
	} row[ROWS];
	struct model_node node[NODES];
};

struct model {
	struct model_func f[FUNCS];
	unsigned n;
};

static uint64_t seed;

static uint32_t roll(uint32_t most)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return most ? (uint32_t)(seed >> 33) % most : 0;
}

static void roll_node(struct model_func *f, unsigned i)
{
	struct model_node *n = &f->node[i], *parent;
	unsigned from = 0;

	*n = (struct model_node){.depth = 1, .file = 1 + roll(3), .line = roll(5000)};
	snprintf(n->name, sizeof(n->name), "inl%u", roll(5));
	if (i && roll(2)) { /* a child of the last, or of one of those around it */
		unsigned up = roll(f->node[i - 1].depth);

		for (from = i; up; up--)
			from = f->node[from - 1].parent;
	}
	n->parent = from;
	parent = from ? &f->node[from - 1] : NULL;
	if (parent)
		n->depth = parent->depth + 1;
	for (unsigned k = 0; k < 1 + roll(3); k++) {
		unsigned in = parent ? roll(parent->n) : 0;
		uint32_t at = parent ? parent->start[in] : 0,
			 size = parent ? parent->size[in] : f->size;
		uint32_t skip = roll(size);

		n->start[n->n] = at + skip;
		n->size[n->n] = 1 + roll(size - skip);
		if (n->size[n->n] > size - skip)
			n->size[n->n] = size - skip;
		n->n++;
	}
}

static void roll_func(struct model_func *f, uint64_t addr, unsigned i)
{
	memset(f, 0, sizeof(*f));
	f->addr = addr;
	f->size = roll(8) ? roll(60) : 0;
	snprintf(f->name, sizeof(f->name), "func%u", i);
	for (uint32_t at = roll(6); at < f->size && f->n_rows < ROWS; at += 1 + roll(9)) {
		f->row[f->n_rows].at = at;
		f->row[f->n_rows].file = roll(4);
		f->row[f->n_rows++].line = roll(6) ? 100 + roll(20) : roll(UINT32_MAX);
	}
	for (unsigned k = roll(NODES); f->size && f->n_nodes < k; f->n_nodes++)
		roll_node(f, f->n_nodes);
}

/* Overlapping, nested, apart, and with some bits between the first and the last. */
static void roll_model(struct model *m)
{
	static const uint64_t gaps[] = {40, 200, 1000, 100000, 3000000000u, 1ull << 40};
	uint64_t addr = 0x1000 + roll(0x1000), gap = gaps[roll(ARRAY_SIZE(gaps))];

	m->n = 1 + roll(FUNCS);
	for (unsigned i = 0; i < m->n; i++) {
		roll_func(&m->f[i], addr, i);
		for (unsigned k = 0; k < i; k++)
			if (m->f[k].addr == addr && (m->f[k].size == m->f[i].size || !m->f[i].size))
				m->f[i].addr = ++addr, k = 0;
		for (unsigned k = 0; k < i; k++) /* the smaller one first, as readers see them */
			if (m->f[k].addr == addr && (!m->f[k].size || m->f[k].size >= m->f[i].size))
				m->f[i].addr = addr += 100;
		addr += roll(4) ? roll(50)
				: roll((uint32_t)MIN(gap, UINT32_MAX)) + (roll(6) ? 0 : gap);
	}
}

static void check_ok(int r)
{
	ck_assert_int_eq(r, 0);
}

static uint32_t text_in(struct gsym_writer *w, const char *s)
{
	return gsym_text(w, s, strlen(s));
}

static uint32_t path_in(struct gsym_writer *w, uint32_t file)
{
	char path[32];

	snprintf(path, sizeof(path), "/src/d%u/f%u.c", file % 2, file);
	return gsym_add_path(w, path, file ? strlen(path) : 0);
}

static void tell_func(struct gsym_writer *w, const struct model_func *f)
{
	gsym_begin(w, f->addr, f->size, text_in(w, f->name), GSYM_DEBUG);
	for (unsigned i = 0; i < f->n_rows; i++)
		gsym_add_row(w, f->addr + f->row[i].at, path_in(w, f->row[i].file),
			f->row[i].line);
	for (unsigned i = 0; i < f->n_nodes; i++) {
		const struct model_node *n = &f->node[i];

		gsym_add_inline(w, n->depth, text_in(w, n->name), path_in(w, n->file),
			n->line);
		for (unsigned k = 0; k < n->n; k++)
			gsym_add_range(w, f->addr + n->start[k], n->size[k]);
	}
	gsym_end(w);
}

static struct gsym_writer *tell_model(const struct model *m, bool backwards)
{
	struct gsym_writer *w;

	check_ok(gsym_writer_new(&w));
	gsym_set_base(w, 0x1000);
	gsym_set_id(w, "\1\2\3\4\5\6\7\10", 8);
	for (unsigned i = 0; i < m->n; i++)
		tell_func(w, &m->f[backwards ? m->n - 1 - i : i]);
	return w;
}

/* ---- what it should answer ----------------------------------------------------------- */

static const struct model_func *covering(const struct model *m, uint64_t addr)
{
	const struct model_func *best = NULL;

	for (unsigned i = 0; i < m->n; i++) {
		const struct model_func *f = &m->f[i];

		if (addr < f->addr || addr - f->addr >= MAX(f->size, 1u))
			continue;
		if (!best || f->addr > best->addr ||
			(f->addr == best->addr && f->size < best->size))
			best = f;
	}
	return best;
}

static bool in_node(const struct model_node *n, uint32_t at)
{
	for (unsigned i = 0; i < n->n; i++)
		if (at >= n->start[i] && at - n->start[i] < n->size[i])
			return true;
	return false;
}

static const char *file_text(uint32_t file, char room[static 32])
{
	room[0] = '\0';
	if (file)
		snprintf(room, 32, "/src/d%u/f%u.c", file % 2, file);
	return room;
}

static const char *expect(const struct model *m, uint64_t addr, struct buf *out)
{
	const struct model_func *f = covering(m, addr);
	const struct model_node *chain[NODES];
	unsigned row = ROWS, n = 0, parent = 0;
	uint32_t at, file, line;
	char room[32];

	buf_clear(out);
	buf_adds(out, f ? "" : "-");
	if (!f)
		return buf_text(out);
	at = (uint32_t)(addr - f->addr);
	for (unsigned i = 0; i < f->n_rows && f->row[i].at <= at; i++)
		row = i;
	for (unsigned i = 0; row < ROWS && i < f->n_nodes; i++) {
		if (f->node[i].parent != parent || !in_node(&f->node[i], at))
			continue;
		chain[n++] = &f->node[i];
		parent = i + 1;
	}
	file = row < ROWS ? f->row[row].file : 0;
	line = row < ROWS ? f->row[row].line : 0;
	for (; n; n--) {
		buf_addf(out, "%s@%s:%u < ", chain[n - 1]->name, file_text(file, room), line);
		file = chain[n - 1]->file;
		line = chain[n - 1]->line;
	}
	buf_addf(out, "%s@%s:%u", f->name, file_text(file, room), line);
	return buf_text(out);
}

static void compare_at(const struct model *m, const struct gsym *g, uint64_t addr)
{
	struct buf want = BUF_UP_TO(1 << 16), have = BUF_UP_TO(1 << 16);
	static struct gsym_hit hit;

	ck_assert_str_eq(gsyms_frames(g, addr, &have), expect(m, addr, &want));
	if (gsym_lookup(g, addr, &hit, NULL) == 0)
		ck_assert_str_eq(gsyms_plain(g, hit.index, addr, &want), buf_text(&have));
	buf_release(&want);
	buf_release(&have);
}

static void compare(const struct model *m, const struct gsym *g)
{
	for (unsigned i = 0; i < m->n; i++)
		for (uint64_t a = m->f[i].addr - 3; a < m->f[i].addr + m->f[i].size + 3; a++)
			compare_at(m, g, a);
	compare_at(m, g, 0);
	compare_at(m, g, UINT64_MAX);
}

static void open_ok(struct gsym *g, const struct buf *b)
{
	struct err e = {0};
	int r = gsym_open(g, (struct span){(const uint8_t *)b->p, b->n}, &e);

	ck_assert_msg(r == 0, "open: %d %s", r, e.text);
	r = gsym_check(g, &e);
	ck_assert_msg(r == 0, "check: %d %s", r, e.text);
}

static void one_form(const struct model *m, enum gsym_form form, bool big)
{
	struct buf first = BUF_UP_TO(1 << 22), again = BUF_UP_TO(1 << 22);
	struct gsym_writer *w = tell_model(m, false), *v = tell_model(m, true), *copy;
	struct err e = {0};
	struct gsym g;

	check_ok(gsyms_write(w, form, big, &first, &e));
	check_ok(gsyms_write(v, form, big, &again, &e));
	ck_assert_uint_eq(first.n, again.n); /* whatever came first */
	ck_assert_mem_eq(first.p, again.p, first.n);
	open_ok(&g, &first);
	ck_assert_int_eq(g.form, form);
	ck_assert_int_eq(g.big, big);
	compare(m, &g);
	check_ok(gsym_prepare(&g, &e));
	compare(m, &g);

	check_ok(gsym_writer_new(&copy));
	ck_assert_msg(gsym_copy(copy, &g, &e) == 0, "%s", e.text);
	check_ok(gsyms_write(copy, form, big, &again, &e));
	ck_assert_uint_eq(first.n, again.n);
	ck_assert_mem_eq(first.p, again.p, first.n);
	gsym_release(&g);
	gsym_writer_free(copy);
	gsym_writer_free(w);
	gsym_writer_free(v);
	buf_release(&first);
	buf_release(&again);
}

START_TEST(random_programs)
{
	struct model *m = malloc(sizeof(*m));

	for (unsigned i = 0; i < 150; i++) {
		seed = unit_seed(i);
		roll_model(m);
		for (unsigned k = 0; k < 4; k++)
			one_form(m, k & 1 ? GSYM_V1 : GSYM_SECT0, k & 2);
	}
	free(m);
}
END_TEST

/* ---- the header ---------------------------------------------------------------------- */

static struct gsym_writer *two_at(uint64_t first, uint64_t last)
{
	struct gsym_writer *w;

	check_ok(gsym_writer_new(&w));
	gsym_begin(w, last, 1, text_in(w, "last"), GSYM_DEBUG);
	gsym_end(w);
	gsym_begin(w, first, 1, text_in(w, "first"), GSYM_DEBUG);
	gsym_end(w);
	return w;
}

START_TEST(address_sizes)
{
	static const struct {
		uint64_t base, last;
		unsigned v1, sect0;
	} rows[] = {
		{0x1000, 0x10ff, 1, 2},
		{0x1000, 0x1100, 2, 2},
		{0, 0xffff, 2, 2},
		{0, 0x10000, 4, 2}, /* the seed's counts from the first function */
		{0x1000, 0x100000fff, 4, 4},
		{0x1000, 0x100001000, 8, 4},
		{0x1000, 0x100002000, 8, 8},
		{0, UINT64_MAX - 1, 8, 8},
	};
	struct buf text = BUF_UP_TO(1 << 16), b = BUF_UP_TO(1 << 16);
	struct err e;
	struct gsym g;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		for (unsigned old = 0; old < 2; old++) {
			struct gsym_writer *w = two_at(0x1001, rows[i].last);

			gsym_set_base(w, rows[i].base);
			check_ok(gsyms_write(w, old ? GSYM_SECT0 : GSYM_V1, false, &b, &e));
			open_ok(&g, &b);
			ck_assert_uint_eq(g.off_size, old ? rows[i].sect0 : rows[i].v1);
			ck_assert_uint_eq(g.base, old ? 0x1001 : rows[i].base);
			ck_assert_uint_eq(gsym_addr(&g, 1), rows[i].last);
			for (unsigned k = 0; k < 2; k++) {
				ck_assert_str_eq(gsyms_frames(&g, rows[i].last, &text), "last@:0");
				ck_assert_str_eq(gsyms_frames(&g, 0x1001, &text), "first@:0");
				ck_assert_str_eq(gsyms_frames(&g, rows[i].last + 1, &text), "-");
				ck_assert_str_eq(gsyms_frames(&g, 0x1000, &text), "-");
				check_ok(gsym_prepare(&g, &e));
			}
			gsym_release(&g);
			gsym_writer_free(w);
		}
	buf_release(&text);
	buf_release(&b);
}
END_TEST

/* Numbers of many bytes, calls with many ranges that are passed, and functions as dense here as they
 * are rare there. */
START_TEST(large_and_many)
{
	struct buf b = BUF_UP_TO(1 << 24), have = BUF_UP_TO(1 << 16), plain = BUF_UP_TO(1 << 16);
	struct gsym_writer *w;
	static struct gsym_hit hit;
	struct err e = {0};
	unsigned frames = 0;
	struct gsym g;

	seed = unit_seed(5);
	check_ok(gsym_writer_new(&w));
	for (unsigned i = 0; i < 300; i++) {
		uint64_t addr = (i < 200 ? 0x1000 + i * 16ull : i * 0x1000000ull),
			 size = i < 200 ? 16 : 0xfff000, at = 0;
		uint32_t file;

		gsym_begin(w, addr, size, text_in(w, i & 1 ? "odd" : "even"), GSYM_DEBUG);
		for (unsigned k = 0; k < 40 && at < size; k++, at += 1 + roll(size / 16 + 2)) {
			char path[64];

			snprintf(path, sizeof(path), "/d/%u.c", roll(700));
			file = gsym_add_path(w, path, strlen(path));
			gsym_add_row(w, addr + at, file, roll(1 + (1u << roll(20))));
		}
		for (unsigned k = 0; k < 60; k++) {
			unsigned depth = 1 + roll(6);

			gsym_add_inline(w, depth, text_in(w, "inl"), file, roll(90000));
			for (unsigned n = 0; n < 1 + roll(12); n++)
				gsym_add_range(w, addr + roll(size),
					1 + roll(1 + size / (depth * depth)));
		}
		gsym_end(w);
	}
	check_ok(gsyms_write(w, GSYM_V1, false, &b, &e));
	gsym_writer_free(w);
	open_ok(&g, &b);
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < 4000; i++) {
			struct gsym_func f;
			uint64_t a;

			check_ok(gsym_func_at(&g, roll(g.count), &f, &e));
			a = f.addr + roll(f.size);
			check_ok(gsym_lookup(&g, a, &hit, &e));
			ck_assert_uint_eq(hit.start, f.addr);
			frames += hit.n;
			ck_assert_str_eq(gsyms_frames(&g, a, &have),
				gsyms_plain(&g, hit.index, a, &plain));
		}
		check_ok(gsym_prepare(&g, &e));
	}
	ck_assert_uint_ge(frames, 12000); /* some were inlined */
	gsym_release(&g);
	buf_release(&b);
	buf_release(&have);
	buf_release(&plain);
}
END_TEST

START_TEST(nothing_to_write)
{
	struct buf b = BUF_UP_TO(1 << 16);
	struct gsym_writer *w;
	struct err e;

	check_ok(gsym_writer_new(&w));
	ck_assert_int_eq(gsyms_write(w, GSYM_V1, false, &b, &e), -ENODATA);
	ck_assert_str_eq(e.text, "has no functions to write");
	gsym_begin(w, UINT64_MAX, 2, text_in(w, "x"), GSYM_DEBUG); /* behind the last address */
	gsym_end(w);
	gsym_begin(w, 0, 1ull << 32, text_in(w, "x"), GSYM_DEBUG);
	gsym_add_row(w, 0, 0, 7);
	gsym_end(w);
	gsym_begin(w, 0, 1, 0, GSYM_DEBUG); /* no name, no function */
	gsym_end(w);
	ck_assert_int_eq(gsyms_write(w, GSYM_V1, false, &b, &e), -ENODATA);
	gsym_writer_free(w);
	buf_release(&b);
}
END_TEST

/* Of several functions with the same addresses the same one stays, whatever their order. */
START_TEST(one_of_many)
{
	static const struct {
		const char *name;
		enum gsym_rank rank;
		bool row;
	} rows[] = { /* best first */
		{"longest_name", GSYM_DEBUG, true},
		{"x", GSYM_DEBUG, false},
		{"b", GSYM_GLOBAL, false},
		{"c", GSYM_GLOBAL, false},
		{"aa", GSYM_GLOBAL, false},
		{"a", GSYM_WEAK, false},
		{"a0", GSYM_LOCAL, false},
	};
	struct buf b = BUF_UP_TO(1 << 16), text = BUF_UP_TO(1 << 16);
	struct gsym_writer *w;
	struct err e;
	struct gsym g;

	for (unsigned best = 0; best < ARRAY_SIZE(rows); best++)
		for (unsigned turn = 0; turn < 2; turn++) {
			check_ok(gsym_writer_new(&w));
			for (unsigned k = best; k < ARRAY_SIZE(rows); k++) {
				unsigned i = turn ? ARRAY_SIZE(rows) - 1 - (k - best) : k;

				gsym_begin(
					w, 16, 4, text_in(w, rows[i].name), rows[i].rank);
				if (rows[i].row)
					gsym_add_row(w, 16, 0, 7);
				gsym_end(w);
			}
			check_ok(gsyms_write(w, GSYM_V1, false, &b, &e));
			open_ok(&g, &b);
			ck_assert_uint_eq(g.count, 1);
			gsyms_frames(&g, 17, &text);
			ck_assert_int_eq(strncmp(buf_text(&text), rows[best].name,
				strlen(rows[best].name)), 0);
			ck_assert_uint_eq(g.strings.n, strlen(rows[best].name) + 2);
			gsym_writer_free(w);
		}
	buf_release(&b);
	buf_release(&text);
}
END_TEST

START_TEST(no_size)
{
	struct buf b = BUF_UP_TO(1 << 16), text = BUF_UP_TO(1 << 16);
	struct gsym_writer *w;
	struct err e;
	struct gsym g;

	check_ok(gsym_writer_new(&w));
	gsym_begin(w, 16, 0, text_in(w, "point"), GSYM_DEBUG);
	gsym_end(w);
	gsym_begin(w, 32, 0, text_in(w, "hidden"), GSYM_DEBUG);
	gsym_end(w);
	gsym_begin(w, 32, 8, text_in(w, "wide"), GSYM_LOCAL);
	gsym_end(w);
	check_ok(gsyms_write(w, GSYM_V1, false, &b, &e));
	open_ok(&g, &b);
	ck_assert_uint_eq(g.count, 2);
	ck_assert_str_eq(gsyms_frames(&g, 15, &text), "-");
	ck_assert_str_eq(gsyms_frames(&g, 16, &text), "point@:0");
	ck_assert_str_eq(gsyms_frames(&g, 17, &text), "-");
	ck_assert_str_eq(gsyms_frames(&g, 32, &text), "wide@:0");
	ck_assert_str_eq(gsyms_frames(&g, 39, &text), "wide@:0");
	ck_assert_str_eq(gsyms_frames(&g, 40, &text), "-");
	gsym_writer_free(w);
	buf_release(&b);
	buf_release(&text);
}
END_TEST

START_TEST(paths)
{
	static const struct {
		const char *path, *dir, *base;
	} rows[] = {
		{"/a/b.c", "/a", "b.c"}, {"b.c", "", "b.c"}, {"/b.c", "/", "b.c"}, {"", "", ""},
		{"C:\\x\\y.c", "C:\\x", "y.c"}, {"C:\\y.c", "C:\\", "y.c"}, {"a/", "a", ""},
		{"a\\b.c", "", "a\\b.c"}, {"C:/x/y\\z.c", "C:/x", "y\\z.c"},
		{"hg:host/a:b/c.cpp:123", "hg:host/a:b", "c.cpp:123"},
	};
	struct buf b = BUF_UP_TO(1 << 16);
	struct err e;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *dir, *base;
		struct gsym_writer *w;
		struct gsym g;
		uint32_t file;
		char room[64];

		check_ok(gsym_writer_new(&w));
		file = gsym_add_path(w, rows[i].path, strlen(rows[i].path));
		gsym_begin(w, 16, 4, text_in(w, "f"), GSYM_DEBUG);
		gsym_add_row(w, 16, file, 1);
		gsym_end(w);
		check_ok(gsyms_write(w, GSYM_V1, false, &b, &e));
		open_ok(&g, &b);
		check_ok(gsym_file(&g, g.n_files - 1, &dir, &base));
		ck_assert_str_eq(dir, rows[i].dir);
		ck_assert_str_eq(base, rows[i].base);
		if (base[0])
			ck_assert_str_eq(
				gsym_path_text(dir, base, room, sizeof(room)), rows[i].path);
		gsym_writer_free(w);
	}
	buf_release(&b);
}
END_TEST

/* A call that is not inside of its caller is dropped, and with it what is inside of it. */
START_TEST(inlines_that_lie)
{
	struct buf b = BUF_UP_TO(1 << 16), text = BUF_UP_TO(1 << 16);
	struct gsym_writer *w;
	struct err e;
	struct gsym g;
	uint32_t file;

	check_ok(gsym_writer_new(&w));
	file = gsym_add_path(w, "a.c", 3);
	gsym_begin(w, 0x100, 0x40, text_in(w, "f"), GSYM_DEBUG);
	gsym_add_row(w, 0x100, file, 1);
	gsym_add_inline(w, 1, text_in(w, "outside"), file, 2);
	gsym_add_range(w, 0x130, 0x20);
	gsym_add_inline(w, 2, text_in(w, "in_outside"), file, 3);
	gsym_add_range(w, 0x130, 4);
	gsym_add_inline(w, 1, text_in(w, "good"), file, 4);
	gsym_add_range(w, 0x110, 0x10);
	gsym_add_inline(w, 2, text_in(w, "half"), file, 5);
	gsym_add_range(w, 0x11f, 2);
	gsym_add_range(w, 0x118, 2);
	gsym_add_inline(w, 4, text_in(w, "nobodys"), file, 6);
	gsym_add_range(w, 0x118, 2);
	gsym_end(w);
	check_ok(gsyms_write(w, GSYM_V1, false, &b, &e));
	open_ok(&g, &b);
	ck_assert_str_eq(gsyms_frames(&g, 0x130, &text), "f@a.c:1");
	ck_assert_str_eq(gsyms_frames(&g, 0x110, &text), "good@a.c:1 < f@a.c:4");
	ck_assert_str_eq(gsyms_frames(&g, 0x11f, &text), "good@a.c:1 < f@a.c:4");
	ck_assert_str_eq(gsyms_frames(&g, 0x119, &text), "half@a.c:1 < good@a.c:5 < f@a.c:4");
	gsym_writer_free(w);
	buf_release(&b);
	buf_release(&text);
}
END_TEST

/* ---- the prototype's files ----------------------------------------------------------- */

static void number(struct buf *b, uint64_t v, unsigned n)
{
	gsyms_number(b, false, v, n);
}

/* One function "f" of 32 bytes at 0x1000, with lines of the second of two files. `more`: what its
 * code adds to lengths; then its line table counts files from 1 too many. */
static void old_section(struct buf *b, const char *strings, uint32_t at, uint32_t size,
	unsigned more, bool short_end)
{
	static const char lines[] = {0, 10, 5, 1, 2, 4 + 11 + 1, 0},
			  biased[] = {0, 10, 5, 1, 3, 4 + 11 + 1, 0};

	buf_clear(b);
	buf_add(b, "MYSG\1\0\2\0", 8);
	number(b, 0x1000, 8);
	number(b, 1, 4);
	if (strings) {
		buf_add(b, strings, strlen(strings) + 1);
	} else {
		number(b, at, 4);
		number(b, size, 4);
	}
	while (b->n % 2)
		number(b, 0, 1);
	number(b, 0, 2);
	while (b->n % 4)
		number(b, 0, 1);
	number(b, b->n + 4 + 4 + 16, 4);
	number(b, 2, 4);
	number(b, 0, 4);
	number(b, 3, 4);
	number(b, 0, 4);
	number(b, 7, 4);
	number(b, 32, 4);
	number(b, 1, 4);
	number(b, 1, 4);
	number(b, sizeof(lines) + more, 4);
	buf_add(b, more ? biased : lines, sizeof(lines));
	number(b, 0, short_end ? 4 : 8);
}

static const char old_strings[] = "\0f\0a.c\0b.c";

static void old_is(const struct buf *b, enum gsym_form form)
{
	struct buf text = BUF_UP_TO(1 << 16);
	struct gsym g;

	open_ok(&g, b);
	ck_assert_int_eq(g.form, form);
	ck_assert_str_eq(gsyms_frames(&g, 0x1000, &text), "f@:0");
	ck_assert_str_eq(gsyms_frames(&g, 0x1001, &text), "f@b.c:6");
	ck_assert_str_eq(gsyms_frames(&g, 0x1020, &text), "-");
	buf_release(&text);
}

START_TEST(prototype)
{
	struct buf s = BUF_UP_TO(1 << 16), b = BUF_UP_TO(1 << 16);

	for (unsigned i = 0; i < 4; i++) {
		unsigned more = i & 1 ? 4 : 0;
		struct gsym_section_bytes in[] = {{".gsym", NULL, 0},
			{".gsymstrtab", old_strings, sizeof(old_strings)}};
		size_t at;

		old_section(&s, ".gsymstrtab", 0, 0, more, i & 2);
		in[0].p = s.p;
		in[0].n = s.n;
		gsyms_elf(&b, false, in, 2);
		old_is(&b, GSYM_SECT0);

		/* Strings told by their offset, which is that in the file. */
		at = b.n - sizeof(old_strings) - s.n;
		old_section(&s, NULL, 0, 0, more, i & 2);
		at += s.n;
		old_section(&s, NULL, (uint32_t)at, sizeof(old_strings), more, i & 2);
		in[0].p = s.p;
		in[0].n = s.n;
		gsyms_elf(&b, false, in, 2);
		old_is(&b, GSYM_SECT1);

		old_section(&s, NULL, (uint32_t)s.n, sizeof(old_strings), more, i & 2);
		buf_add(&s, old_strings, sizeof(old_strings));
		old_is(&s, GSYM_ALONE0);
	}
	buf_release(&s);
	buf_release(&b);
}
END_TEST

/* ---- broken files -------------------------------------------------------------------- */

/* Cut anywhere, and with any one byte changed: words or an answer, and nothing else. */
static void hurt(const struct buf *whole)
{
	struct buf text = BUF_UP_TO(1 << 16);

	for (size_t i = 0; i < whole->n * 4; i++) {
		size_t n = i < whole->n ? i : whole->n;
		uint8_t *p = malloc(n ? n : 1);
		struct err e = {0};
		struct gsym g;
		int r;

		if (n)
			memcpy(p, whole->p, n);
		if (i >= whole->n)
			p[i % whole->n] ^= i < whole->n * 2 ? 0xff : i < whole->n * 3 ? 1 : 0x80;
		r = gsym_open(&g, (struct span){p, n}, &e);
		ck_assert_msg(r == 0 || e.text[0], "no words at %zu", i);
		if (r == 0) {
			for (uint64_t a = 0xff0; a < 0x1100; a += 7)
				gsyms_frames(&g, a, &text);
			r = gsym_check(&g, &e);
			ck_assert_msg(r == 0 || e.text[0], "no words at %zu", i);
			if (gsym_prepare(&g, &e) == 0)
				for (uint64_t a = 0xff0; a < 0x1100; a += 7)
					gsyms_frames(&g, a, &text);
			gsym_release(&g);
		}
		free(p);
	}
	buf_release(&text);
}

START_TEST(broken)
{
	struct buf b = BUF_UP_TO(1 << 20);
	struct model *m = malloc(sizeof(*m));
	struct err e;

	seed = unit_seed(7);
	do
		roll_model(m);
	while (m->n < 4 || m->n > 8);
	for (unsigned k = 0; k < 4; k++) {
		struct gsym_writer *w = tell_model(m, false);

		check_ok(gsyms_write(w, k & 1 ? GSYM_V1 : GSYM_SECT0, k & 2, &b, &e));
		hurt(&b);
		gsym_writer_free(w);
	}
	old_section(&b, NULL, 28 + 4 + 4 + 20 + 16 + 15, sizeof(old_strings), 4, true);
	hurt(&b);
	free(m);
	buf_release(&b);
}
END_TEST

START_TEST(said_in_words)
{
	static const struct {
		const char *bytes;
		size_t n;
		int code;
		const char *words;
	} rows[] = {
		{"", 0, -ENOMSG, "is not GSYM"},
		{"hello, this is text\n", 20, -ENOMSG, "is not GSYM"},
		{"MYSG\1\0\4\0", 8, -EBADMSG, "is cut short: no whole header"},
		{"MYSG\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 28, -ENOTSUP,
			"is GSYM of version 2: only 1 is read"},
		{"MYSG\1\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 28, -EBADMSG,
			"is broken: addresses of 3 bytes"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err e = {0};
		struct gsym g;

		ck_assert_int_eq(
			gsym_open(&g, (struct span){(const uint8_t *)rows[i].bytes, rows[i].n}, &e),
			rows[i].code);
		ck_assert_str_eq(e.text, rows[i].words);
	}
}
END_TEST

/* ---- our own table: the format byte by byte -------------------------------------------- */

#define PARTS_MOST 40

static struct part {
	char name[32], hex[64];
	unsigned at, unit; /* the offset, and the bytes of one number */
} parts[PARTS_MOST];
static unsigned n_parts, n_checks;

static size_t bytes_of(const char *hex, unsigned unit, bool big, uint8_t out[static 64])
{
	size_t n = strlen(hex) / 2;

	ck_assert_msg(n < 64 && hex_read(hex, 2 * n, out) == 0 && n % unit == 0, "%s", hex);
	for (size_t i = 0; big && i < n; i += unit)
		for (size_t k = 0; k < unit / 2; k++) {
			uint8_t c = out[i + k];

			out[i + k] = out[i + unit - 1 - k];
			out[i + unit - 1 - k] = c;
		}
	return n;
}

/* The file of all parts, of which the part `name` has other bytes. */
static void build(bool big, const char *name, const char *hex, struct buf *b)
{
	bool found = !name;

	buf_clear(b);
	for (unsigned i = 0; i < n_parts; i++) {
		bool other = name && strcmp(parts[i].name, name) == 0;
		uint8_t raw[64];
		size_t n = bytes_of(other ? hex : parts[i].hex, parts[i].unit, big, raw);

		ck_assert_msg(b->n == parts[i].at, "%s is at %zu", parts[i].name, b->n);
		buf_add(b, raw, n);
		found = found || other;
	}
	ck_assert_msg(found, "no part %s", name);
}

static int open_and_check(struct gsym *g, const struct buf *b, struct err *e)
{
	int r = gsym_open(g, (struct span){(const uint8_t *)b->p, b->n}, e);

	return r < 0 ? r : gsym_check(g, e);
}

static void fact(const struct gsym *g, const char *what, struct buf *out)
{
	buf_clear(out);
	if (strcmp(what, "form") == 0)
		buf_adds(out, gsym_form_name(g->form));
	else if (strcmp(what, "base") == 0)
		buf_addf(out, "0x%llx", (unsigned long long)g->base);
	else if (strcmp(what, "address size") == 0)
		buf_addf(out, "%u", g->off_size);
	else if (strcmp(what, "functions") == 0)
		buf_addf(out, "%u", g->count);
	else if (strcmp(what, "files") == 0)
		buf_addf(out, "%u", g->n_files);
	else if (strcmp(what, "strings") == 0)
		buf_addf(out, "%zu", g->strings.n);
	else if (strncmp(what, "address ", 8) == 0)
		buf_addf(out, "0x%llx", (unsigned long long)gsym_addr(g, (uint32_t)strtoul(what + 8, NULL, 10)));
	else if (strcmp(what, "id") == 0)
		for (size_t i = 0; i < g->id.n; i++)
			buf_addf(out, "%02x", g->id.p[i]);
}

static void rows_of(const char *hex, struct buf *out)
{
	uint8_t raw[64];
	struct gsym_func f = {.addr = 0x401000, .lines = {raw, bytes_of(hex, 1, false, raw)}};
	struct gsym_rows it;
	struct gsym_row row;
	int r = gsym_rows_begin(&it, &f);

	buf_clear(out);
	while (r >= 0 && (r = gsym_rows_next(&it, &row)) > 0)
		buf_addf(out, "%s%llx:%u:%u", out->n ? " " : "", (unsigned long long)row.addr, row.file, row.line);
	if (r < 0) {
		buf_clear(out);
		buf_addf(out, "bad: %s", it.bad);
	} else if (!out->n) {
		buf_adds(out, "-");
	}
}

/* What is wrong with a file, or what the look-up finds that the row asks for: "frames ADDRESS FRAMES". */
static void altered(bool big, char *const column[static TABLE_COLUMNS], struct buf *out)
{
	struct buf b = BUF_UP_TO(1 << 12), text = BUF_UP_TO(1 << 12);
	struct err e = {0};
	struct gsym g;
	unsigned long long addr;

	build(big, column[1], column[2], &b);
	buf_clear(out);
	if (open_and_check(&g, &b, &e) < 0)
		buf_adds(out, e.text);
	else if (sscanf(column[3], "frames %llx", &addr) == 1)
		buf_addf(out, "frames 0x%llx %s", addr, gsyms_frames(&g, addr, &text));
	buf_release(&b);
	buf_release(&text);
}

static void check_row(char *const column[static TABLE_COLUMNS], bool big)
{
	struct buf b = BUF_UP_TO(1 << 12), have = BUF_UP_TO(1 << 12);
	const char *rule = column[0], *want = column[strcmp(rule, "alter") == 0 ? 3 : 2];
	struct err e = {0};
	struct gsym g;

	build(big, NULL, NULL, &b);
	ck_assert_msg(open_and_check(&g, &b, &e) == 0, "%s", e.text);
	ck_assert_int_eq(g.big, big);
	if (strcmp(rule, "is") == 0)
		fact(&g, column[1], &have);
	else if (strcmp(rule, "frames") == 0)
		gsyms_frames(&g, strtoull(column[1], NULL, 16), &have);
	else if (strcmp(rule, "lines") == 0)
		rows_of(column[1], &have);
	else
		altered(big, column, &have);
	ck_assert_msg(strcmp(buf_text(&have), want) == 0, "%s %s %s: %s", big ? "big" : "little", rule, column[1],
		buf_text(&have));
	n_checks++;
	buf_release(&b);
	buf_release(&have);
}

static void take_row(char *const column[static TABLE_COLUMNS])
{
	if (strcmp(column[0], "part") == 0) {
		struct part *p = &parts[n_parts++];

		ck_assert_uint_le(n_parts, PARTS_MOST);
		snprintf(p->name, sizeof(p->name), "%s", column[1]);
		snprintf(p->hex, sizeof(p->hex), "%s", column[4]);
		p->at = (unsigned)strtoul(column[2], NULL, 10);
		p->unit = (unsigned)strtoul(column[3], NULL, 10);
	} else {
		check_row(column, false);
		check_row(column, true);
	}
}

START_TEST(own_table)
{
	table_each("gsym", take_row);
	ck_assert_uint_ge(n_checks, 2 * 55);
}
END_TEST

/* ---- files that others made ----------------------------------------------------------- */

static char *load(const char *path, size_t *n)
{
	char *text;

	return path_read(AT_FDCWD, path, 64 << 20, &text, n) == 0 ? text : NULL;
}

/* The files that the fuzzer begins with: those called good are, and answer alike in every form;
 * what has a lie in it is found out, but for those that a reader must live with. */
START_TEST(kept_files)
{
	static const char *const fine[] = {"unknown-kind", "lines-leb-padded", "inlines-deep-250",
		"sect0-file-missing-", "overlap", "inlines-range-0",
		"sect0-unknown-kind"};
	const char *top = getenv("top_srcdir");
	struct buf text = BUF_UP_TO(1 << 16);
	struct dirent *entry;
	unsigned good = 0;
	char dir[2048], path[4096];
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/tests/data/broken/gsym", top ? top : ".");
	d = opendir(dir);
	ck_assert_ptr_nonnull(d);
	while ((entry = readdir(d))) {
		bool is_good = strncmp(entry->d_name, "good-", 5) == 0, want = is_good;
		struct err e = {0};
		struct gsym g;
		size_t n;
		char *file;
		int r;

		if (entry->d_name[0] == '.')
			continue;
		for (unsigned i = 0; i < ARRAY_SIZE(fine); i++)
			want = want || strcmp(entry->d_name, fine[i]) == 0;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		file = load(path, &n);
		r = gsym_open(&g, (struct span){(const uint8_t *)file, n}, &e);
		if (r == 0)
			r = gsym_check(&g, &e);
		if (strncmp(entry->d_name, "found-", 6) != 0)
			ck_assert_msg((r == 0) == want, "%s: %d %s", entry->d_name, r, e.text);
		if (is_good) {
			bool from_code = strstr(entry->d_name, "prototype");

			good++;
			gsyms_frames(&g, 0x1005, &text);
			ck_assert_msg(strcmp(buf_text(&text),
					      from_code ? "inl@:5 < f@/src/a.c:9"
							: "inl@/src/a.c:5 < f@/src/a.c:9") == 0,
				"%s: %s", entry->d_name, buf_text(&text));
			ck_assert_str_eq(gsyms_frames(&g, 0x1050, &text), "-");
			gsyms_frames(&g, 0x104f, &text);
			ck_assert_int_eq(text.p[0], 'g');
		}
		free(file);
	}
	closedir(d);
	ck_assert_uint_ge(good, 14);
	buf_release(&text);
}
END_TEST

/* Where the answer may differ from LLVM's: a function of size 0 has no other addresses, and a
 * function that reaches over another has its end. */
static bool may_differ(const char *path, uint64_t addr, const char *want)
{
	if (!strstr(path, "symtab_only"))
		return false;
	return strncmp(want, "zerosize@", 9) == 0 || strncmp(want, "last_zero@", 10) == 0 ||
		(addr >= 0x401019 && addr < 0x40101c);
}

/* How many addresses were compared. */
static unsigned compare_with(const char *gsym_path, const char *tsv_path)
{
	struct buf text = BUF_UP_TO(1 << 16);
	unsigned seen = 0;
	size_t n, m;
	char *file = load(gsym_path, &n), *tsv = load(tsv_path, &m), *line, *rest = tsv;
	struct buf b = {.p = file, .n = n};
	struct gsym g;

	if (!file || !tsv) {
		free(file);
		free(tsv);
		return 0;
	}
	open_ok(&g, &b);
	while ((line = strsep(&rest, "\n"))) {
		unsigned long long from, to;
		int used;

		if (sscanf(line, "0x%llx\t0x%llx\t%n", &from, &to, &used) != 2)
			continue;
		for (uint64_t a = from; a < to; a++, seen++) {
			const char *have = gsyms_frames(&g, a, &text);

			ck_assert_msg(may_differ(gsym_path, a, line + used) ||
					      strcmp(have, line + used) == 0,
				"%s: 0x%llx is %s, not %s", gsym_path, (unsigned long long)a, have,
				line + used);
		}
	}
	buf_release(&text);
	free(file);
	free(tsv);
	return seen;
}

START_TEST(made_by_llvm)
{
	const char *top = getenv("top_srcdir");
	char dir[2048], path[4096], tsv[4096];
	unsigned seen = 0;
	struct dirent *entry;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/../shared/fixtures/gsym/llvm22", top ? top : ".");
	d = opendir(dir);
	if (!d) {
		unit_part_skipped("no ../shared/fixtures/gsym/llvm22: files that LLVM made, with its answers");
		return;
	}
	while ((entry = readdir(d))) {
		char *end = strstr(entry->d_name, ".gsym");

		if (!end || end[5])
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		snprintf(tsv, sizeof(tsv), "%s/%.*s.lookups.tsv", dir, (int)(end - entry->d_name),
			entry->d_name);
		seen += compare_with(path, tsv);
	}
	closedir(d);
	ck_assert_uint_ge(seen, 3000);
}
END_TEST

/* Its line tables of DWARF 3 are right for what it did not lose: each frame that it has a line for
 * is that of LLVM. */
START_TEST(made_by_the_prototype)
{
	static const char *const names[] = {
		"hello_O0_dw3", "hello_O1_dw3", "hello_O1_dw4", "shapes_dw3"};
	static const char *const ends[] = {".0313e71", ".b26b594", ".b26b594.objfile"};
	static const enum gsym_form forms[] = {GSYM_SECT0, GSYM_ALONE0, GSYM_SECT1};
	const char *top = getenv("top_srcdir");
	struct buf text = BUF_UP_TO(1 << 16);
	char path[4096];

	for (unsigned i = 0; i < ARRAY_SIZE(names) * ARRAY_SIZE(ends); i++) {
		size_t n;
		char *file;
		struct buf b;
		struct gsym g;

		snprintf(path, sizeof(path), "%s/../shared/fixtures/gsym/gsympy/%s%s.gsym",
			top ? top : ".", names[i / 3], ends[i % 3]);
		file = load(path, &n);
		if (!file) {
			unit_part_skipped("no ../shared/fixtures/gsym/gsympy: files that the prototype made");
			break;
		}
		b = (struct buf){.p = file, .n = n};
		open_ok(&g, &b);
		ck_assert_int_eq(g.form, forms[i % 3]);
		if (i / 3 == 1) {
			ck_assert_str_eq(
				gsyms_frames(&g, 0x401044, &text), "_start@/src/src/hello.c:23");
			ck_assert_str_eq(
				gsyms_frames(&g, 0x401056, &text), "_start@/src/src/hello.c:25");
			ck_assert_str_eq(gsyms_frames(&g, 0x401000, &text), "compute@:0");
		}
		free(file);
	}
	buf_release(&text);
}
END_TEST

UNIT_MAIN("gsym", random_programs, address_sizes, large_and_many, nothing_to_write, one_of_many, no_size, paths,
	inlines_that_lie, prototype, broken, said_in_words, kept_files, made_by_llvm,
	made_by_the_prototype, own_table)
