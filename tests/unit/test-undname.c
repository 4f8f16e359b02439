/* Tests the demangler of Microsoft's names with the table tests/data/tables/undname.tsv, and its bounds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "unit/table.h"

static struct buf out = BUF_UP_TO(1 << 20);

static void check_form(const char *name, bool full, const char *expected)
{
	bool known = undname(name, full, &out);

	ck_assert_msg(strcmp(known ? buf_text(&out) : "-", expected) == 0, "%s: %s, not %s", name,
		known ? buf_text(&out) : "-", expected);
	ck_assert(known || out.n == 0);
}

static void check_row(char *const column[static TABLE_COLUMNS])
{
	check_form(column[0], true, column[1]);
	check_form(column[0], false, column[2]);
}

START_TEST(names_of_the_table)
{
	ck_assert_uint_gt(table_each("undname", check_row), 600);
}
END_TEST

/* A cut name is read or not, without a read past its end. */
static void check_cut(char *const column[static TABLE_COLUMNS])
{
	for (size_t n = strlen(column[0]); n > 0; n--) {
		char *cut = strndup(column[0], n);

		ck_assert_ptr_nonnull(cut);
		ck_assert(undname(cut, true, &out) == (out.n > 0));
		free(cut);
	}
}

START_TEST(cut_names)
{
	table_each("undname", check_cut);
}
END_TEST

static void put(struct buf *b, unsigned n, const char *text)
{
	while (n--)
		ck_assert_int_eq(buf_adds(b, text), 0);
}

START_TEST(more_than_the_bounds)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(1 << 20);

	put(&name, 1, "?f@@YAX"); /* depth */
	put(&name, 20000, "PEA");
	put(&name, 1, "H@Z");
	ck_assert(!undname(buf_text(&name), true, &out));
	buf_clear(&name);
	put(&name, 1, "?x@"); /* a long name */
	put(&name, 60000, "a");
	put(&name, 1, "@@3HA");
	ck_assert(undname(buf_text(&name), true, &out));
	ck_assert_uint_eq(out.n, strlen("int x@") - 1 + strlen("::") + 60000);
	put(&name, 6000, "a");
	ck_assert(!undname(buf_text(&name), true, &out));
	buf_clear(&name);
	put(&name, 1, "?f@@YAXP6AXHH@Z"); /* each parameter is two of the one before */
	for (unsigned i = 0; i < 9; i++) {
		char two[] = {'P', '6', 'A', 'X', (char)('0' + i), (char)('0' + i), '@', 'Z', '\0'};

		put(&name, 1, two);
	}
	put(&name, 1, "@Z");
	ck_assert(undname(buf_text(&name), true, &out));
	name.n -= 2;
	put(&name, 5, "9");
	put(&name, 1, "@Z");
	ck_assert(!undname(buf_text(&name), true, &out));
}
END_TEST

UNIT_MAIN("undname", names_of_the_table, cut_names, more_than_the_bounds)
