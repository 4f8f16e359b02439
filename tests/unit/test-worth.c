/* names/id/worth.c: comparison by the purpose of a file type, and the text form. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/id/worth.h"
#include "base/util.h"
#include "table.h"
#include "unit.h"

#include <string.h>

#define ALL_WORTHS 96

/* Every worth that can be known, one after the other. */
static struct worth nth_worth(unsigned i)
{
	return (struct worth){.known = true, .symbols = (enum worth_symbols)(i % 4),
		.debug = (enum worth_debug)(i / 4 % 3), .unwind = i / 12 & 1, .sources = i / 24 & 1, .made = i / 48};
}

static struct worth of(const char *text)
{
	struct worth w;

	ck_assert_msg(worth_parse(&w, text) == 0, "%s", text);
	return w;
}

START_TEST(texts)
{
	static const char *const good[] = {"none", "unknown", "unwind", "symbols=full debug=lines unwind",
		"symbols=exports", "symbols=dynamic unwind sources", "debug=full sources made"};
	static const char *const bad[] = {"", "symbols=", "symbols=many", "debug", "debug=full,unwind", "full",
		"symbols=full none"};
	char room[WORTH_TEXT];

	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		struct worth w = of(good[i]);

		ck_assert_str_eq(worth_text(&w, room), good[i]);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct worth w = {.known = true};

		ck_assert_msg(worth_parse(&w, bad[i]) == -EINVAL, "%s", bad[i]);
		ck_assert(!w.known);
	}
	for (unsigned i = 0; i < ALL_WORTHS; i++) {
		struct worth w = nth_worth(i), again = of(worth_text(&w, room));

		ck_assert_int_eq(worth_compare(&w, &again, FILETYPE_ELF_DEBUG), 0);
		ck_assert(w.symbols == again.symbols && w.debug == again.debug && w.unwind == again.unwind &&
			w.sources == again.sources && w.made == again.made);
	}
}
END_TEST

/* Each row: the first is better. */
START_TEST(better)
{
	static const struct {
		enum filetype t;
		const char *better, *worse;
	} rows[] = {
		{FILETYPE_BREAKPAD, "symbols=dynamic", "symbols=full debug=full unwind made"},
		{FILETYPE_ELF_DEBUG, "debug=full", "symbols=full debug=lines unwind sources"},
		{FILETYPE_ELF_DEBUG, "debug=lines", "symbols=full unwind"},
		{FILETYPE_ELF_DEBUG, "symbols=full", "symbols=dynamic unwind"},
		{FILETYPE_ELF_DEBUG, "unwind", "sources"},
		{FILETYPE_ELF_CODE, "unwind", "symbols=full debug=full sources"},
		{FILETYPE_ELF_CODE, "symbols=full debug=full unwind", "symbols=dynamic unwind"},
		{FILETYPE_MACH_CODE, "symbols=exports unwind", "unwind"},
		{FILETYPE_PE, "debug=full unwind", "symbols=exports unwind"},
		{FILETYPE_PDB, "symbols=full debug=full", "symbols=dynamic debug=lines"},
		{FILETYPE_PDB, "symbols=dynamic debug=lines", "symbols=dynamic"},
		{FILETYPE_PORTABLEPDB, "debug=full sources", "debug=full"},
		{FILETYPE_BREAKPAD, "symbols=full debug=full", "symbols=full unwind"},
		{FILETYPE_BREAKPAD, "unknown", "symbols=full debug=full unwind"},
		{FILETYPE_BREAKPAD, "unknown", "none"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct worth a = of(rows[i].better), b = of(rows[i].worse);

		ck_assert_msg(worth_compare(&a, &b, rows[i].t) > 0, "row %u", i);
		ck_assert_msg(worth_compare(&b, &a, rows[i].t) < 0, "row %u", i);
	}
}
END_TEST

/* The comparison is an order for every type: no two worths that differ are equal, and none is better than a
 * file that was not looked at. */
START_TEST(an_order)
{
	const struct worth unknown = {.known = false};

	for (unsigned t = 1; t < FILETYPES; t++) {
		for (unsigned i = 0; i < ALL_WORTHS; i++) {
			struct worth a = nth_worth(i);

			ck_assert_int_le(worth_compare(&a, &unknown, (enum filetype)t), 0);
			for (unsigned k = 0; k < ALL_WORTHS; k++) {
				struct worth b = nth_worth(k);
				int ab = worth_compare(&a, &b, (enum filetype)t);

				ck_assert_int_eq(ab == 0, i == k);
				ck_assert_int_eq(ab > 0, worth_compare(&b, &a, (enum filetype)t) < 0);
			}
		}
	}
}
END_TEST

START_TEST(what_suffices)
{
	static const struct {
		enum filetype t;
		const char *enough, *less;
	} rows[] = {
		{FILETYPE_ELF_DEBUG, "debug=full", "symbols=full debug=lines unwind"},
		{FILETYPE_MACH_DEBUG, "debug=full", "symbols=full"},
		{FILETYPE_PDB, "symbols=full debug=full", "symbols=dynamic"},
		{FILETYPE_BREAKPAD, "debug=full", "symbols=full unwind"},
		{FILETYPE_BREAKPAD, "debug=full", "debug=full unwind made"},
		{FILETYPE_ELF_CODE, "unwind", "symbols=full debug=full"},
		{FILETYPE_PE, "none", NULL},
		{FILETYPE_SOURCE, "none", NULL},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct worth enough = of(rows[i].enough), less = of(rows[i].less ? rows[i].less : "unknown");

		ck_assert_msg(worth_suffices(&enough, rows[i].t), "row %u", i);
		ck_assert_int_eq(worth_suffices(&less, rows[i].t), !rows[i].less);
		ck_assert_int_eq(worth_wanted(rows[i].t) == NULL, !rows[i].less);
	}
}
END_TEST

/* Our own table: which of two files is better, and which file is enough. */
static unsigned own_rows;

static void check_row(char *const column[static TABLE_COLUMNS])
{
	bool is_better = strcmp(column[0], "better") == 0;
	enum filetype t = filetype_find(column[1]);

	if (!is_better && strcmp(column[0], "suffices") != 0)
		return;
	own_rows++;
	ck_assert_msg(t != FILETYPE_NONE, "%s", column[1]);
	if (is_better) {
		struct worth a = of(column[2]), b = of(column[3]);

		ck_assert_msg(worth_compare(&a, &b, t) > 0 && worth_compare(&b, &a, t) < 0, "%s: %s, %s", column[1],
			column[2], column[3]);
	} else {
		struct worth w = of(column[2]);

		ck_assert_msg(worth_suffices(&w, t) == (strcmp(column[3], "yes") == 0), "%s: %s", column[1],
			column[2]);
	}
}

START_TEST(precedence)
{
	table_each("precedence", check_row);
	ck_assert_uint_ge(own_rows, 45);
}
END_TEST

UNIT_MAIN("worth", texts, better, an_order, what_suffices, precedence)
