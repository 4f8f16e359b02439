/* How long an uploaded file stays: its class, the age at which it expires, and the labels of its owner. Plain
 * values; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define HOLD_CLASS 32	/* the name of a class, with its NUL */
#define HOLD_LABELS 256 /* all labels of a file, with their NUL */

/* Zeroed: no class. A pinned file without a class stays for good, as `symfs add` pins files. */
struct store_hold {
	char class[HOLD_CLASS];
	int64_t age; /* seconds without a use after which the file expires; 0: it never expires */
	char labels[HOLD_LABELS]; /* "name=value" with blanks between them; "": none */
};

/* The hold of a stored file. */
struct hold_state {
	bool pinned; /* the file is not evicted */
	struct store_hold hold;
	int64_t ends; /* wall clock at which a pinned file expires; 0: it stays for good */
};

/* How a file is held, from the lowest hold up: it says which uploads replace the file, and which purges remove it. A
 * lower hold does not change a higher one. */
enum hold_rank {
	HELD_NOT,  /* it is a download */
	HELD_TRY,   /* an upload of the class "try", whose client may publish nothing else */
	HELD_CLASS, /* an upload of another class */
	HELD_ADDED, /* `symfs add` */
};

enum hold_rank hold_rank(const struct hold_state *h);
enum hold_rank hold_rank_of(const struct store_hold *upload); /* of a new file; NULL: it is a download */
/* Which of two held files has a key, whatever they are worth: 1 the first, -1 the second; 0: their worths decide.
 * A file of "try" never stands in the way of another upload, and never takes its place. */
int hold_compare(enum hold_rank a, enum hold_rank b);

/* The state of a file that is held from `now` on. */
struct hold_state hold_begin(const struct store_hold *h, int64_t now);
/* Joins two states of one file: the later end counts, and with it its class. But a file of `symfs add` stays one, and
 * an upload of another class does not become one of "try". Labels of `other` replace those of `into`, if there are
 * any and its class is not lower in this order. */
void hold_join(struct hold_state *into, const struct hold_state *other);

/* A class has lower-case letters, digits and `-`, at most 31, and begins with a letter. */
bool hold_class_ok(const char *name);
/* Adds "name=value" to the labels. Both parts have letters, digits and `._:/@+-`. 0; -EINVAL: another character,
 * or no `=`; -E2BIG: no room. A name that is there already gets the new value. */
int hold_label_add(struct store_hold *h, const char *label);

/* The line of a `.key` file: "h1 TAB CLASS TAB AGE TAB LABELS". hold_write() adds nothing if the hold has no
 * class. 0, -errno of buf_add(). */
int hold_write(struct buf *out, const struct store_hold *h);
/* Reads the line of the label `text`. 0; -ENOENT: it has no such line. */
int hold_read(const char *text, struct store_hold *out);
