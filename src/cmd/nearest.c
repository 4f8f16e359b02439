/* Finds the word that a mistyped one probably means, by the number of wrong letters. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/nearest.h"
#include "base/util.h"

#include <stdbool.h>
#include <string.h>

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
