/* What the kinds of sources need to read their sections of configuration. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/section.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The command line has no line numbers. */
int source_mistake(const struct conf_section *c, struct err *e, const char *what, const char *value,
	const char *expected)
{
	const char *file = c->file;
	unsigned line = c->line;
	char number[16] = "";

	for (const struct conf_entry *x = c->entries; x; x = x->next)
		if (strcmp(x->name, what) == 0) {
			file = x->file ? x->file : c->file;
			line = x->line;
		}
	if (line)
		snprintf(number, sizeof(number), "%u:", line);
	return err_set(e, -EINVAL, "%.200s:%s [source \"%.60s\"]: %s = %.120s: expected %.200s", file,
		number, c->name, what, value, expected);
}
