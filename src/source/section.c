/* Values in the configuration section of a source: errors in them, and lists. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/section.h"
#include "base/util.h"

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

int source_words(char *const *list, int (*each)(void *ctx, const char *word), void *ctx)
{
	for (; list && *list; list++)
		for (const char *p = *list + strspn(*list, ", "); *p; p += strspn(p, ", ")) {
			size_t n = strcspn(p, ", ");
			_cleanup_free_ char *word = strndup(p, n);
			int r = word ? each(ctx, word) : -ENOMEM;

			if (r != 0)
				return r;
			p += n;
		}
	return 0;
}

static int add_word(void *ctx, const char *word)
{
	return conf_list_add(ctx, word);
}

/* Replaces a list of lines by the list of their words. */
int source_split_words(char ***list)
{
	char **lines = *list;
	int r;

	*list = NULL;
	r = source_words(lines, add_word, list);
	for (char **line = lines; line && *line; line++)
		free(*line);
	free(lines);
	return r;
}
