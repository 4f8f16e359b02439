/* The main function of unit tests. It runs the row of the table that the program's name chooses, or else the first
 * argument: tests/unit/test-zip, or tests/unit/unit zip. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/row.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>

static struct unit_row *rows;

/* In scripts/check undefined behavior is a trap: AddressSanitizer's report has its line. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "handle_sigill=1";
}

void unit_add(struct unit_row *row)
{
	row->next = rows;
	rows = row;
}

/* NAME may begin with `test-`, as a source does. */
static const struct unit_row *find_row(const char *name)
{
	const struct unit_row *row = rows;

	if (strncmp(name, "test-", strlen("test-")) == 0)
		name += strlen("test-");
	while (row && strcmp(row->name, name) != 0)
		row = row->next;
	return row;
}

int main(int argc, char **argv)
{
	const struct unit_row *row = find_row(path_base(argv[0]));

	if (row)
		return row->main(argc, argv);
	row = argc > 1 ? find_row(argv[1]) : NULL;
	if (row)
		return row->main(argc - 1, argv + 1);
	fprintf(stderr, "usage: %s TEST, where TEST is one of:", argv[0]);
	for (row = rows; row; row = row->next)
		fprintf(stderr, " %s", row->name);
	fputc('\n', stderr);
	return 2;
}
