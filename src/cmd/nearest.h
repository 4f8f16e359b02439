/* Finds the nearest word to a mistyped word, for "did you mean". */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

struct nearest {
	const char *word; /* the mistyped word, borrowed; if it has more than 31 bytes, no word is near */
	const char *best; /* NULL: no word is near enough */
	unsigned distance;
};

/* Compares one more word, which must stay valid. A candidate is near if at most two letters, and at most half of
 * its letters, are wrong, missing, added or swapped. A candidate is also near if it begins with the mistyped word,
 * or with the first five letters of that word, or if other programs have the mistyped word for it. */
void nearest_try(struct nearest *n, const char *candidate);
