/* Finds the artifacts that an identifier alone can name, for users that have a build id but no path. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/key.h"

#include <stdbool.h>

struct store;

/* Artifacts, each once, at most `most`. */
struct search {
	struct store *store;
	struct artifact *list;
	unsigned n, most;
};

void search_add(struct search *s, enum filetype t, const struct module *m);
void search_add_key(struct search *s, const struct key *k);

/* Reads the digits of an identifier, without dashes and braces. False: `text` is not an identifier, or has
 * fewer than eight digits. */
bool search_digits(const char *text, char digits[static MODULE_ID_TEXT]);

/* Whether these are the digits of the code id of a PE file: its time, and its size in whole pages. */
bool search_is_pe(const char *digits);

/* Adds the artifacts that an identifier can name: a build id, a UUID, a debug id
 * or the code id of a PE file. A type that also needs a name, or that servers know only by name, is
 * included if the index has such a file or miss. Adds nothing if `text` is not an identifier. Any thread. (reads
 * the index) */
void search_id(struct search *s, const char *text);
