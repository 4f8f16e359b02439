/* Tests base/jtext.c, derive/convert/eliot.c and the tables of symb/best.c: single cases that
 * tests/mount/symbolicate.sh and the fuzz targets do not cover. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/util.h"
#include "derive/convert/eliot.h"
#include "formats/gsym/gsym.h"
#include "formats/obj/obj.h"
#include "symb/best.h"
#include "symb/choose.h"
#include "table.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int read_text(struct jtext *j, const char *text)
{
	return jtext_read(j, span_text(text), 1000, NULL);
}

START_TEST(json_or_not)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{"null", 0}, {" [ ] ", 0}, {"{\"a\":{\"b\":[1,2,{}]}}", 0}, {"-0.5e+10", 0},
		{"NaN", 0}, {"[-Infinity, Infinity]", 0}, {"\"\\ud83d\\ude00\"", 0},
		{"\"\xc3\xa9\"", 0}, {"\xef\xbb\xbf{}", 0},
		{"", -EBADMSG}, {" ", -EBADMSG}, {"[", -EBADMSG}, {"[1", -EBADMSG}, {"[1,", -EBADMSG},
		{"[1,]", -EBADMSG}, {"[,1]", -EBADMSG}, {"{\"a\"}", -EBADMSG}, {"{\"a\":}", -EBADMSG},
		{"{1:2}", -EBADMSG}, {"[1 2]", -EBADMSG}, {"1 2", -EBADMSG}, {"01", -EBADMSG},
		{"1.", -EBADMSG}, {"1e", -EBADMSG}, {"-", -EBADMSG}, {"+1", -EBADMSG}, {"nul", -EBADMSG},
		{"True", -EBADMSG}, {"'a'", -EBADMSG}, {"\"a", -EBADMSG}, {"\"\\x\"", -EBADMSG},
		{"\"\\u12g4\"", -EBADMSG}, {"\"\n\"", -EBADMSG}, {"\"\xff\"", -EBADMSG},
		{"\"\xc3\"", -EBADMSG}, {"[1}", -EBADMSG}, {"{]", -EBADMSG}, {"]", -EBADMSG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jtext j;
		int r = read_text(&j, rows[i].text);

		ck_assert_msg(r == rows[i].r, "%s: %d", rows[i].text, r);
		jtext_release(&j);
	}
}
END_TEST

/* Any encoding that Python's json.loads() detects, and what it takes for none. */
START_TEST(json_encodings)
{
#define ROW(text, r) {text, sizeof(text) - 1, r}
	static const struct {
		const char *text;
		size_t n;
		int r;
	} rows[] = {
		ROW("[\0\"\0\xe9\0\"\0]\0", 0),					      /* UTF-16LE */
		ROW("\0[\0\"\0\xe9\0\"\0]", 0), ROW("\xff\xfe[\0\"\0\xe9\0\"\0]\0", 0), /* UTF-16BE, marks */
		ROW("\xfe\xff\0[\0\"\0\xe9\0\"\0]", 0),
		ROW("[\0\0\0\"\0\0\0\xe9\0\0\0\"\0\0\0]\0\0\0", 0), /* UTF-32LE */
		ROW("\0\0\0[\0\0\0\"\0\0\0\xe9\0\0\0\"\0\0\0]", 0),
		ROW("\xff\xfe\0\0[\0\0\0\"\0\0\0\xe9\0\0\0\"\0\0\0]\0\0\0", 0),
		ROW("\0\0\xfe\xff\0\0\0[\0\0\0\"\0\0\0\xe9\0\0\0\"\0\0\0]", 0),
		ROW("\xef\xbb\xbf[\"\xc3\xa9\"]", 0),
		ROW("7\0", 0), ROW("\0" "7", 0), ROW("7", 0),
		ROW("[\0\"\0\x3d\xd8\0\xde\"\0]\0", 0),	 /* a pair */
		ROW("[\0\"\0\x3d\xd8\"\0]\0", 0),	 /* half of one */
		ROW("[\"\xed\xa0\xbd\"]", 0), ROW("[\"\\ud83d\"]", 0), ROW("[\"\\ude00\\ud83d\"]", 0),
		ROW("[\0\0\0\"\0\0\0\x3d\xd8\0\0\"\0\0\0]\0\0\0", 0),
		ROW("[\0\"\0\xe9\0\"\0]", -EBADMSG),			/* half a unit */
		ROW("[\0\0\0\"\0\0\0\0\0\x11\0\"\0\0\0]\0\0\0", -EBADMSG), /* beyond U+10FFFF */
		ROW("[\"\xed\xa0\"]", -EBADMSG), ROW("[\"\xed\xc0\x80\"]", -EBADMSG),
	};
#undef ROW

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jtext j;
		int r = jtext_read(&j, (struct span){(const uint8_t *)rows[i].text, rows[i].n}, 1000, NULL);

		ck_assert_msg(r == rows[i].r, "row %zu: %d", i, r);
		if (i < 9) {
			char room[8];

			ck_assert_int_eq(jtext_string(&j, 1, room, sizeof(room)), 2);
			ck_assert_str_eq(room, "\xc3\xa9");
		}
		jtext_release(&j);
	}
	ck_assert_int_eq(jtext_read(&(struct jtext){{0}}, (struct span){NULL, 0}, 1000, NULL), -EBADMSG);
}
END_TEST

START_TEST(json_lengths)
{
	static const struct {
		const char *text;
		uint32_t n, members;
	} rows[] = {
		{"\"\"", 0, 0}, {"\"abc\"", 3, 0}, {"\"\\u00e9\\n\xc3\xa9\"", 3, 0}, {"\"\\ud83d\\ude00\"", 1, 0},
		{"\"\\ud800\\udc00\"", 1, 0}, {"\"\\udbff\\udfff\"", 1, 0}, {"\"\\ud800\\ue000\"", 2, 0},
		{"\"\xf0\x9f\x98\x80\"", 1, 0}, {"\"\\ud83d\\ud83d\"", 2, 0}, {"\"\\ud83dx\"", 2, 0},
		{"\"\xed\xa0\xbd\"", 1, 0},
		{"{}", 0, 0}, {"{\"a\": 1, \"b\": {\"c\": 2}, \"a\": [3]}", 0, 2},
		{"{\"a\": 1, \"\\u0061\": 2}", 0, 1},
		{"{\"1\":1,\"2\":1,\"3\":1,\"4\":1}", 0, 3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jtext j;

		ck_assert_int_eq(read_text(&j, rows[i].text), 0);
		if (j.token[0].kind == JTEXT_STRING)
			ck_assert_uint_eq(jtext_length(&j, 0), rows[i].n);
		else
			ck_assert_uint_eq(jtext_members(&j, 0, 3), rows[i].members);
		jtext_release(&j);
	}
}
END_TEST

START_TEST(json_hex)
{
	static const struct {
		const char *text, *hex;
	} rows[] = {
		{"0", "0x0"}, {"16", "0x10"}, {"4294967295", "0xffffffff"}, {"4294967296", "0x100000000"},
		{"18446744073709551616", "0x10000000000000000"}, {"340282366920938463463374607431768211455",
			"0xffffffffffffffffffffffffffffffff"}, {"-1", NULL}, {"1.5", NULL}, {"1e30", NULL},
	};
	char digits[4302];
	struct buf b = BUF_UP_TO(1 << 16);

	for (size_t i = 0; i < ARRAY_SIZE(rows) + 2; i++) {
		const char *text = i < ARRAY_SIZE(rows) ? rows[i].text : digits,
			*hex = i < ARRAY_SIZE(rows) ? rows[i].hex : NULL;
		struct jtext j;
		int r;

		memset(digits, '9', sizeof(digits));
		digits[i == ARRAY_SIZE(rows) ? 4300 : 4301] = '\0';
		buf_clear(&b);
		ck_assert_int_eq(read_text(&j, text), 0);
		r = jtext_hex(&j, 0, &b);
		ck_assert_int_eq(r, hex || i == ARRAY_SIZE(rows) ? 0 : -EINVAL);
		if (hex)
			ck_assert_str_eq(buf_text(&b), hex);
		jtext_release(&j);
	}
	buf_release(&b);
}
END_TEST

START_TEST(json_bounds)
{
	char deep[2 * JTEXT_DEPTH + 3];
	struct jtext j;

	for (size_t n = JTEXT_DEPTH; n <= JTEXT_DEPTH + 1; n++) {
		memset(deep, '[', n);
		memset(deep + n, ']', n);
		deep[2 * n] = '\0';
		ck_assert_int_eq(read_text(&j, deep), n > JTEXT_DEPTH ? -EBADMSG : 0);
		jtext_release(&j);
	}
	ck_assert_int_eq(jtext_read(&j, span_text("[1,2,3]"), 4, NULL), 0);
	ck_assert_uint_eq(j.n, 4);
	jtext_release(&j);
	ck_assert_int_eq(jtext_read(&j, span_text("[1,2,3,4]"), 4, NULL), -E2BIG);
	jtext_release(&j);
}
END_TEST

START_TEST(json_values)
{
	struct jtext j;
	char room[64];
	uint32_t at;
	uint64_t v;
	bool minus;

	ck_assert_int_eq(read_text(&j,
		"{\"a\": 1, \"n\\u0061me\": \"x\\n\\u20ac\\ud83d\\ude00\", \"a\": [[7], -3], \"b\": \"\\u0000\"}"),
		0);
	ck_assert_uint_eq(j.token[0].n, 4);
	at = jtext_member(&j, 0, "a"); /* the last */
	ck_assert_int_eq(j.token[at].kind, JTEXT_ARRAY);
	ck_assert_uint_eq(j.token[at].n, 2);
	at = j.token[at + 1].next;
	ck_assert_int_eq(jtext_integer(&j, at, &minus, &v), 0);
	ck_assert(minus && v == 3);
	at = jtext_member(&j, 0, "name");
	ck_assert_int_eq(jtext_string(&j, at, room, sizeof(room)), 9);
	ck_assert_str_eq(room, "x\n\xe2\x82\xac\xf0\x9f\x98\x80");
	ck_assert_int_eq(jtext_string(&j, at, room, 9), -1);
	ck_assert_int_eq(jtext_string(&j, jtext_member(&j, 0, "b"), room, sizeof(room)), -1);
	ck_assert_uint_eq(jtext_member(&j, 0, "c"), 0);
	jtext_release(&j);
}
END_TEST

START_TEST(json_integers)
{
	static const struct {
		const char *text;
		int r;
		bool minus;
		uint64_t v;
	} rows[] = {
		{"0", 0, false, 0}, {"-0", 0, false, 0}, {"-1", 0, true, 1},
		{"18446744073709551615", 0, false, UINT64_MAX}, {"18446744073709551616", -ERANGE, false, 0},
		{"-99999999999999999999", -ERANGE, false, 0}, {"1.0", -EINVAL, false, 0},
		{"1e3", -EINVAL, false, 0}, {"NaN", -EINVAL, false, 0}, {"99999999999999999999.5", -EINVAL, false, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jtext j;
		bool minus = false;
		uint64_t v = 0;
		int r;

		ck_assert_int_eq(read_text(&j, rows[i].text), 0);
		r = jtext_integer(&j, 0, &minus, &v);
		ck_assert_msg(r == rows[i].r, "%s: %d", rows[i].text, r);
		ck_assert_msg(r < 0 || (minus == rows[i].minus && v == rows[i].v), "%s", rows[i].text);
		jtext_release(&j);
	}
}
END_TEST

/* What is written can be read, and says the same. */
START_TEST(json_written)
{
	char all[256], back[4096];
	struct buf b = BUF_UP_TO(1 << 16);
	struct jtext j;

	for (int i = 1; i < 128; i++)
		all[i - 1] = (char)i;
	all[127] = '\0';
	ck_assert_int_eq(jtext_add(&b, all), 0);
	ck_assert_int_eq(read_text(&j, buf_text(&b)), 0);
	ck_assert_int_eq(jtext_string(&j, 0, back, sizeof(back)), 127);
	ck_assert_str_eq(back, all);
	jtext_release(&j);
	buf_clear(&b);
	ck_assert_int_eq(jtext_add(&b, "a\xff\xc3\xa9\xe2\x82"), 0);
	ck_assert_str_eq(buf_text(&b), "\"a\\\\xff\xc3\xa9\\\\xe2\\\\x82\"");
	buf_release(&b);
}
END_TEST

/* One odd byte at each place of strings of each length: the rest is copied eight bytes at a time. */
START_TEST(json_places)
{
	static const char *const odd[][2] = {{"\"", "\\\""}, {"\\", "\\\\"}, {"\n", "\\n"}, {"\x1f", "\\u001f"},
		{"\x7f", "\\u007f"}, {"\x80", "\\\\x80"}, {"\xff", "\\\\xff"}, {" ", " "}, {"~", "~"}, {"!", "!"},
		{"]", "]"}};

	for (size_t o = 0; o < ARRAY_SIZE(odd); o++)
		for (int n = 0; n < 20; n++)
			for (int at = 0; at <= n; at++) {
				const char *plain = "# [^}abcdefghijklmnop";
				struct buf in = BUF_UP_TO(100), want = BUF_UP_TO(100), b = BUF_UP_TO(100);

				buf_addf(&in, "%.*s%s%.*s", at, plain, odd[o][0], n - at, plain);
				buf_addf(&want, "\"%.*s%s%.*s\"", at, plain, odd[o][1], n - at, plain);
				ck_assert_int_eq(jtext_add(&b, buf_text(&in)), 0);
				ck_assert_str_eq(buf_text(&b), buf_text(&want));
				buf_release(&in);
				buf_release(&want);
				buf_release(&b);
			}
}
END_TEST

START_TEST(paths)
{
	static const char *const rows[][2] = {
		{"/src/./a/../gaps.c", "/src/gaps.c"}, {"relative/b.c", "relative/b.c"},
		{"c:\\build\\x\\..\\w.c", "c:\\build\\w.c"}, {"c:/build/./w.c", "c:\\build\\w.c"},
		{"../a.c", "../a.c"}, {"a/../../b.c", "../b.c"}, {"./a", "a"}, {"a//b", "a/b"},
		{"/", ""}, {"hg:host/path:dir/file", "hg:host/path:dir/file"}, {"", ""},
		{"a\\b", "a/b"}, {"a\\b\\c", "a\\b\\c"}, {"//srv/x", "\\\\srv\\x"}, {"\\\\srv\\x", "\\\\srv\\x"},
		{"a/b//", "a/b"}, {"//", ""}, {"///", "\\"}, {"C:", "C:"}, {"a/C:", "C:"}, {"/x/<y>", "<y>"},
		{"c:/a/../../b", "b"}, {"/..", ".."}, {"//..", ".."}, {"//a/../b", "\\\\b"}, {"a//b//c", "a//b/c"},
		{"/a/", "/a"}, {"a/..", ""}, {"a/..//b", "b"}, {"\\x.c", "\\x.c"}, {"\\\\", ""}, {"x\\/y", "x\\y"},
		{"a/b/../../../c", "../c"}, {"<y>/z", "<y>/z"}, {"/<b>", "<b>"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char room[64];
		size_t n = eliot_path(rows[i][0], strlen(rows[i][0]), room);

		ck_assert_msg(strcmp(room, rows[i][1]) == 0 && n == strlen(room), "%s: %s, not %s", rows[i][0],
			room, rows[i][1]);
	}
}
END_TEST

START_TEST(names)
{
	int64_t more;

	ck_assert_str_eq(eliot_name("plain", &more), "plain");
	ck_assert_int_eq(more, 0);
	ck_assert_str_eq(eliot_name("\1" "1f f(int, int)", &more), "f(int, int)");
	ck_assert_int_eq(more, 0x1f);
	ck_assert_str_eq(eliot_name("\1-5 f", &more), "f");
	ck_assert_int_eq(more, -5);
	ck_assert_str_eq(eliot_name("\1" "0 ", &more), "");
	ck_assert(!eliot_file("", "") && !eliot_file("", "\1") && eliot_file("", "a.c") && eliot_file("/d", ""));
}
END_TEST

/* Functions that another one interrupts, with a line before the function's begin, or with a name that looks
 * like the mark of a piece. */
START_TEST(pieces)
{
	static const struct {
		uint64_t addr;
		const char *name;
		uint64_t offset;
		uint32_t line;
	} rows[] = {
		{0x100, "outer", 0, 1}, {0x10f, "outer", 0xf, 1}, {0x110, "inner", 0, 2}, {0x117, "inner", 7, 2},
		{0x118, NULL, 0, 0}, {0x120, "outer", 0x20, 3}, {0x13f, "outer", 0x3f, 3}, {0x140, NULL, 0, 0},
		{0x200, "\1odd", 0, 9},
	};
	struct eliot_line outer[] = {{0x120, 0x20, 0, 3, 0}, {0x100, 0x10, 0, 1, 1}}, inner[] = {{0x110, 8, 0, 2, 0}},
			  odd[] = {{0x200, 8, 0, 9, 0}};
	struct nest_queue none = {0};
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_hit *hit = malloc(sizeof(*hit));
	struct buf file = BUF_UP_TO(1 << 20);
	struct eliot_func f[3] = {{.addr = 0x100, .size = 0x40, .lines = outer, .n_lines = 2, .calls = &none},
		{.addr = 0x110, .size = 8, .lines = inner, .n_lines = 1, .calls = &none},
		{.addr = 0x200, .size = 8, .lines = odd, .n_lines = 1, .calls = &none}};
	struct eliot *x = NULL;
	struct err e = {0};
	struct gsym g;

	ck_assert_int_eq(gsym_writer_new(&w), 0);
	gsym_set_base(w, 0);
	ck_assert_int_eq(eliot_new(&x, w, true), 0);
	f[0].name = gsym_text(w, "outer", 5);
	f[1].name = gsym_text(w, "inner", 5);
	f[2].name = gsym_text(w, "\1odd", 4);
	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		ck_assert_int_eq(eliot_add(x, &f[i]), 0);
	ck_assert_int_eq(eliot_finish(x, 0), 0);
	ck_assert_int_eq(gsym_write(w, GSYM_V1, false, NULL, &file, NULL, &e), 0);
	ck_assert_int_eq(gsym_open(&g, (struct span){(uint8_t *)file.p, file.n}, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = gsym_lookup(&g, rows[i].addr, hit, &e);
		int64_t more;

		ck_assert_msg((r == 0) == (rows[i].name != NULL), "%llx: %d", (unsigned long long)rows[i].addr, r);
		if (r < 0)
			continue;
		ck_assert_str_eq(eliot_name(hit->frame[0].name, &more), rows[i].name);
		ck_assert_uint_eq(rows[i].addr - hit->start + (uint64_t)more, rows[i].offset);
		ck_assert_uint_eq(hit->frame[0].line, rows[i].line);
	}
	eliot_free(x);
	free(hit);
	buf_release(&file);
}
END_TEST

START_TEST(tables)
{
	unsigned rows = 0;

	for (const struct best_row *row = best_rows; row->object != OBJECT_UNKNOWN; row++, rows++) {
		ck_assert_ptr_eq(best_row(row->purpose, row->object, row->bits), row);
		ck_assert_int_ne(row->choice[0], FILETYPE_NONE);
	}
	ck_assert_uint_eq(rows, 13);
	ck_assert_int_eq(best_row(BEST_UNWIND, OBJECT_PE, 0)->bits, 64);
	ck_assert_ptr_null(best_row(BEST_UNWIND, OBJECT_PE_DOTNET, 0));
	for (int p = 0; p < BEST_PURPOSES; p++)
		ck_assert_int_eq(best_purpose_find(best_purpose_name((enum best_purpose)p)), p);
	ck_assert_int_eq(best_purpose_find("fun"), -EINVAL);
	for (int p = 0; p < BEST_PURPOSES; p++) {
		ck_assert_uint_ne(best_grade((enum best_purpose)p, &(struct worth){.known = false}), 0);
		ck_assert_uint_eq(best_grade((enum best_purpose)p, &(struct worth){.known = true}), 0);
	}
}
END_TEST

START_TEST(platforms)
{
	static const struct {
		const char *debug_file, *code_id;
		uint32_t age;
		enum object_type is;
	} rows[] = {
		{"a.pdb", "", 0, OBJECT_PE}, {"a.so", "", 0, OBJECT_ELF}, {"liba.so.6", "", 0, OBJECT_ELF},
		{"a.dylib", "", 0, OBJECT_MACHO}, {"a", "", 1, OBJECT_PE}, {"a", "", 0, OBJECT_UNKNOWN},
		{"a", "5ab380779000", 0, OBJECT_PE}, {"a", "0123456789abcdef0123456789abcdef", 0, OBJECT_UNKNOWN},
		{"a", "0123456789abcdef0123456789abcdef01234567", 0, OBJECT_ELF},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct module m = {.debug_id = {.set = true, .guid = {1}, .age = rows[i].age}};

		snprintf(m.debug_file, sizeof(m.debug_file), "%s", rows[i].debug_file);
		snprintf(m.code_id, sizeof(m.code_id), "%s", rows[i].code_id);
		ck_assert_msg(best_object(&m) == rows[i].is, "%s %s", rows[i].debug_file, rows[i].code_id);
	}
}
END_TEST

/* ---- our own table of precedence ----------------------------------------------------- */

static unsigned own_rows;

/* "PURPOSE PLATFORM", and the files of its row, the best first. */
static void check_best(char *const column[static TABLE_COLUMNS])
{
	char purpose[16], platform[16], have[64] = "";
	const struct best_row *row;
	unsigned bits = 0;

	ck_assert_int_eq(sscanf(column[1], "%15s %15[a-z_]-%u", purpose, platform, &bits) >= 2, 1);
	row = best_row((enum best_purpose)best_purpose_find(purpose), object_type_find(platform), bits);
	for (unsigned i = 0; row && i < BEST_CHOICES && row->choice[i]; i++)
		snprintf(have + strlen(have), sizeof(have) - strlen(have), "%s%s", i ? " " : "",
			filetypes[row->choice[i]].name);
	ck_assert_msg(strcmp(have[0] ? have : "-", column[2]) == 0, "%s: %s", column[1], have);
}

static unsigned grade_of(const char *purpose, const char *worth)
{
	struct worth w;

	ck_assert_msg(worth_parse(&w, worth) == 0, "%s", worth);
	return best_grade((enum best_purpose)best_purpose_find(purpose), &w);
}

static void check_precedence(char *const column[static TABLE_COLUMNS])
{
	const char *rule = column[0];
	bool good = true;

	if (strcmp(rule, "best") == 0)
		check_best(column);
	else if (strcmp(rule, "serves") == 0)
		good = (grade_of(column[1], column[2]) != 0) == (strcmp(column[3], "yes") == 0);
	else if (strcmp(rule, "above") == 0)
		good = grade_of(column[1], column[2]) > grade_of(column[1], column[3]);
	else if (strcmp(rule, "equal") == 0)
		good = grade_of(column[1], column[2]) == grade_of(column[1], column[3]);
	else
		return;
	own_rows++;
	ck_assert_msg(good, "%s %s: %s, %s", rule, column[1], column[2], column[3]);
}

START_TEST(precedence)
{
	table_each("precedence", check_precedence);
	ck_assert_uint_ge(own_rows, 40);
}
END_TEST

UNIT_MAIN("symb", json_or_not, json_encodings, json_lengths, json_hex, json_bounds, json_values, json_integers,
	json_written, json_places, paths, names, pieces, tables,
	platforms, precedence)
