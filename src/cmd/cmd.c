/* What all commands do alike: messages on stderr, the end and the colours of the output, and the word that a mistyped
 * one means. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/cmd.h"
#include "base/utf8.h"
#include "base/util.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *called = ""; /* the command in messages */

void cmd_called(const char *name)
{
	called = name;
}

static void say(const char *fmt, va_list args, const char *advice)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);
	_cleanup_free_ char *text = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	fprintf(stderr, "symfs%s%s: %s%s%s%s\n", *called ? " " : "", called,
		text ? text_shown(text, true, &room) : err_text(ENOMEM), advice, *advice ? called : "",
		*advice ? " --help" : "");
}

int cmd_say(int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args, "");
	va_end(args);
	return status;
}

int cmd_usage(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args, "; try: symfs ");
	va_end(args);
	return EXIT_USAGE;
}

int cmd_fail(const char *path, const struct err *e)
{
	bool none = e->code == -ENOMSG || e->code == -ENODATA || e->code == -ENOTSUP;

	return cmd_say(none ? EXIT_NO : EXIT_LOCAL, "%s: %s", path, err_why(e, e->code));
}

int cmd_flush(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	return cmd_say(EXIT_LOCAL, "stdout: %s", err_text(errno));
}

/* ---- colours ------------------------------------------------------------------------ */

bool paint_terminal(void)
{
	return isatty(STDOUT_FILENO);
}

static bool has_colours(void)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	return paint_terminal() && !(none && *none) && term && *term && strcmp(term, "dumb") != 0;
}

const char *paint(enum paint colour)
{
	static const char *const sequences[] = {[PAINT_END] = "\033[0m", [PAINT_HEAD] = "\033[1m",
		[PAINT_GOOD] = "\033[32m", [PAINT_WARN] = "\033[33m", [PAINT_BAD] = "\033[31m"};

	return has_colours() ? sequences[colour] : "";
}

const char *paint_word(const char *word)
{
	static const struct {
		const char *word;
		enum paint colour;
	} words[] = {
		{"ok", PAINT_GOOD},
		{"reachable", PAINT_GOOD},
		{"there", PAINT_GOOD},
		{"found", PAINT_GOOD},
		{"missing", PAINT_WARN},
		{"skipped", PAINT_WARN},
		{"silent", PAINT_WARN},
		{"refused", PAINT_BAD},
		{"failed", PAINT_BAD},
		{"failing", PAINT_BAD},
		{"mismatch", PAINT_BAD},
		{"not there", PAINT_BAD},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i].word);

		if (strncmp(word, words[i].word, n) == 0 && !((word[n] | 32) >= 'a' && (word[n] | 32) <= 'z'))
			return paint(words[i].colour);
	}
	return "";
}

/* ---- mistyped words -------------------------------------------------------------------- */

#define LENGTH_MOST 31u
#define WRONG_MOST 2u
#define ALIKE_LEAST 5u

/* Options of other programs, and the option of symfs that does the same. */
static const char *const meant[][2] = {{"address", "listen"}, {"bind", "listen"},
	{"port", "listen"}, {"server", "source"}, {"url", "source"}};

static bool is_meant(const char *word, const char *candidate)
{
	for (size_t i = 0; i < ARRAY_SIZE(meant); i++)
		if (strcmp(word, meant[i][0]) == 0 && strcmp(candidate, meant[i][1]) == 0)
			return true;
	return false;
}

/* The number of letters to insert, remove, replace or swap with their neighbour to change `a` into `b`. */
static unsigned distance_of(const char *a, size_t n, const char *b, size_t m)
{
	unsigned row[LENGTH_MOST + 2][LENGTH_MOST + 2];

	for (size_t i = 0; i <= n; i++)
		row[i][0] = (unsigned)i;
	for (size_t j = 0; j <= m; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			unsigned same = row[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			unsigned one = MIN(row[i - 1][j], row[i][j - 1]) + 1;

			row[i][j] = MIN(same, one);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[i][j] = MIN(row[i][j], row[i - 2][j - 2] + 1);
		}
	return row[n][m];
}

/* Whether both words begin with the same ALIKE_LEAST letters, like "symbolize" and "symbolicate". */
static bool begins_alike(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n >= ALIKE_LEAST;
}

void nearest_try(struct nearest *n, const char *candidate)
{
	size_t a = strlen(n->word), b = strlen(candidate);
	unsigned d;

	if (a < 2 || a > LENGTH_MOST || b > LENGTH_MOST)
		return;
	d = a > 2 && strncmp(n->word, candidate, a) == 0 ? 0 : distance_of(n->word, a, candidate, b);
	if (begins_alike(n->word, candidate))
		d = MIN(d, WRONG_MOST);
	if (is_meant(n->word, candidate))
		d = 0;
	if (d > WRONG_MOST || d * 2 > MAX(a, b) || (n->best && d >= n->distance))
		return;
	n->best = candidate;
	n->distance = d;
}
