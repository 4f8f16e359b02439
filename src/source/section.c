/* Reports errors in the configuration section of a source. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/section.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* An option of the command line has no line number, so `line` is 0. */
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
