/* Colours of the text that a command prints on a terminal. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/paint.h"
#include "base/util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool paint_terminal(void)
{
	return isatty(STDOUT_FILENO);
}

static bool has_colours(void)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	return paint_terminal() && !(none && *none) && term && *term && strcmp(term, "dumb") != 0;
}

static const char *colour(const char *sequence)
{
	return has_colours() ? sequence : "";
}

const char *paint_head(void)
{
	return colour("\033[1m");
}

const char *paint_good(void)
{
	return colour("\033[32m");
}

const char *paint_warn(void)
{
	return colour("\033[33m");
}

/* red */
static const char *paint_bad(void)
{
	return colour("\033[31m");
}

const char *paint_end(void)
{
	return colour("\033[0m");
}

const char *paint_word(const char *word)
{
	static const struct {
		const char *word;
		const char *(*paint)(void);
	} words[] = {
		{"ok", paint_good},
		{"reachable", paint_good},
		{"there", paint_good},
		{"found", paint_good},
		{"missing", paint_warn},
		{"skipped", paint_warn},
		{"silent", paint_warn},
		{"refused", paint_bad},
		{"failed", paint_bad},
		{"failing", paint_bad},
		{"mismatch", paint_bad},
		{"not there", paint_bad},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i].word);

		if (strncmp(word, words[i].word, n) == 0 && !((word[n] | 32) >= 'a' && (word[n] | 32) <= 'z'))
			return words[i].paint();
	}
	return "";
}
