/* Tests conf/: lines, sections, values, and mistakes reported with file and line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "conf/conf.h"
#include "base/util.h"
#include "unit.h"

#include <string.h>

struct opts {
	bool on;
	uint64_t size;
	unsigned ms, count;
	int64_t life;
	char *text, **list;
};

static const struct conf_field fields[] = {
	{"on", CONF_BOOL, offsetof(struct opts, on), "yes", ""},
	{"size", CONF_SIZE, offsetof(struct opts, size), "1K", ""},
	{"wait-time", CONF_MS, offsetof(struct opts, ms), "10s", ""},
	{"count", CONF_COUNT, offsetof(struct opts, count), NULL, ""},
	{"life", CONF_SECONDS, offsetof(struct opts, life), "1h", ""},
	{"text", CONF_TEXT, offsetof(struct opts, text), "t", ""},
	{"header", CONF_LIST, offsetof(struct opts, list), NULL, ""},
	{0},
};

static int fill(const char *text, struct opts *o, struct err *e)
{
	struct conf *c;
	int r;

	ck_assert_int_eq(conf_defaults(fields, o), 0);
	ck_assert_int_eq(conf_new(&c), 0);
	r = conf_read(c, "x.conf", text, strlen(text), e);
	for (const struct conf_section *s = NULL; r == 0 && (s = conf_next(c, "symfs", s));)
		r = conf_fill(s, fields, o, e);
	conf_free(c);
	return r;
}

START_TEST(reads)
{
	struct opts o;
	struct err e;

	ck_assert_int_eq(fill("# c\n; c\n[symfs]\n on = no\nWAIT_time=250ms\n\nsize = 10G\r\ntext = \" a b \"\n"
			      "header = A: 1\nheader = B: = 2\ncount=7\nlife = 1d\n[source \"x y\"]\nurl=z",
				 &o, &e),
		0);
	ck_assert(!o.on);
	ck_assert_uint_eq(o.ms, 250);
	ck_assert_uint_eq(o.size, 10ull << 30);
	ck_assert_str_eq(o.text, " a b ");
	ck_assert_str_eq(o.list[0], "A: 1");
	ck_assert_str_eq(o.list[1], "B: = 2");
	ck_assert_ptr_null(o.list[2]);
	ck_assert_uint_eq(o.count, 7);
	ck_assert_int_eq(o.life, 86400);
	conf_release(fields, &o);
}
END_TEST

START_TEST(mistakes)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"[symfs]\n\nquotta = 1\n", "x.conf:3: [symfs] has no key \"quotta\""},
		{"[symfs]\non = maybe\n", "x.conf:2: on = maybe: expected yes or no"},
		{"[symfs]\nsize = 10Q\n", "x.conf:2: size = 10Q: expected a size"},
		{"[symfs]\nwait-time = soon\n", "x.conf:2: wait-time = soon: expected a time"},
		{"[symfs]\nsize = 99999999999999999999\n", "too large"},
		{"[symfs]\nwait-time = 999999d\n", "too large"},
		{"on = yes\n", "x.conf:1: \"on\" comes before any [section]"},
		{"[symfs\n", "x.conf:1: expected ]"},
		{"[source \"x]\n", "x.conf:1: expected [source"},
		{"[symfs]\nnonsense\n", "x.conf:2: expected NAME = VALUE"},
		{"[symfs]\nheader: Authorization: Bearer x\n", "found \"header...\""},
		{"[symfs]\nheader: Authorization: Basic eA==\n", "found \"header...\""},
		{"[symfs]\n= 3\n", "x.conf:2: expected a name"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct opts o;
		struct err e = {0};

		ck_assert_msg(fill(rows[i].text, &o, &e) == -EINVAL, "%s", rows[i].text);
		ck_assert_msg(strstr(e.text, rows[i].says) != NULL, "%s: %s", rows[i].text, e.text);
		conf_release(fields, &o);
	}
}
END_TEST

START_TEST(long_lines)
{
	char text[9000] = "[symfs]\ntext = ";
	struct opts o;
	struct err e;

	memset(text + 15, 'x', 8000);
	ck_assert_int_eq(fill(text, &o, &e), 0);
	ck_assert_uint_eq(strlen(o.text), 8000);
	conf_release(fields, &o);
	memset(text + 15, 'x', 8900);
	ck_assert_int_eq(fill(text, &o, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "x.conf:2: the line is longer"));
	conf_release(fields, &o);
}
END_TEST

UNIT_MAIN("conf", reads, mistakes, long_lines)
