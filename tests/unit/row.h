/* The tests in one program. A test is a row of its table, and the name of the program chooses the row:
 * tests/unit/test-X is a hard link to tests/unit/unit, or a program that has that row alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

struct unit_row {
	const char *name; /* X */
	int (*main)(int argc, char **argv);
	struct unit_row *next;
};

void unit_add(struct unit_row *row); /* keeps it */

/* Adds the row of this source before main() runs. */
#define UNIT_ROW(row_name, row_main)                                                               \
	static __attribute__((constructor)) void add_unit_row(void)                                \
	{                                                                                          \
		static struct unit_row row = {.name = row_name, .main = row_main};                 \
                                                                                                   \
		unit_add(&row);                                                                    \
	}
