/* The nearest word to a mistyped one, for "did you mean". Plain values. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

struct nearest {
	const char *word; /* mistyped, borrowed; longer than 31 bytes: nothing is near */
	const char *best; /* NULL: no word is near enough */
	unsigned distance;
};

/* Compares one more word, which must stay. Near are words of which at most two letters are wrong, missing, too
 * many or swapped, but fewer than half of them, and words that begin with the mistyped one or with five letters of
 * it. */
void nearest_try(struct nearest *n, const char *candidate);
