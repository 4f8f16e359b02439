/* Reads our own tables, tests/data/tables/NAME.tsv: a line is a row, a tab is between columns, and lines that begin
 * with `#` say where the facts are specified. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/path.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define TABLE_COLUMNS 8

/* Calls `each` with the columns of each row behind the names of the columns; missing columns are "". Returns the
 * number of rows. */
static inline unsigned table_each(const char *name, void (*each)(char *const column[static TABLE_COLUMNS]))
{
	const char *top = getenv("top_srcdir");
	char path[4096], *text, *rest, *line;
	unsigned n = 0;
	size_t size;

	snprintf(path, sizeof(path), "%s/tests/data/tables/%s.tsv", top ? top : ".", name);
	ck_assert_msg(path_read(AT_FDCWD, path, 1 << 20, &text, &size) == 0, "%s", path);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		static char none[] = "";
		char *column[TABLE_COLUMNS];

		if (!*line || *line == '#' || n++ == 0)
			continue;
		for (unsigned i = 0; i < TABLE_COLUMNS; i++)
			column[i] = line ? strsep(&line, "\t") : none;
		each(column);
	}
	free(text);
	return n ? n - 1 : 0;
}
