/* One at a time: whoever changes the store, in this process or another. Readers take no turn; the
 * same words give them the index, and a second try when it proves to be damaged:
 *
 *	_cleanup_turn_ struct turn t = {.s = s, .write = true};
 *	while (turn_next(&t))
 *		t.r = index_...(t.ix, ...);
 *	return t.r;
 *
 * When t.r is -EUCLEAN the index is rebuilt and the body runs once more. The same when the store's directory
 * was removed, or its path leads to another one: that is opened or made first. As long as it cannot be, each
 * turn fails with -EIO. For this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

struct turn {
	struct store *s;
	bool write;
	struct index *ix; /* in the body */
	int r;

	unsigned tries; /* the turn's own */
	bool held;
};

bool turn_next(struct turn *t);
void turn_end(struct turn *t);

/* In a write turn, outside of a transaction: settles every intent. */
int turn_settle(struct turn *t);
#define _cleanup_turn_ __attribute__((cleanup(turn_end)))

/* Opens the index of a handle that has none yet: makes or rebuilds it where it must. */
int turn_first(struct store *s, struct err *e);

/* Opens or makes the store's directory anew where it was removed. (waits) */
int turn_recover(struct store *s);

/* Writes uses down when nobody is in the way. Never waits. */
void turn_try_notes(struct store *s);
