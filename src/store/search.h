/* Finds the artifacts that an identifier alone can name, for users that have a build id but no path. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "id/module.h"

#include <stdbool.h>

struct store;

/* Reads the digits of an identifier, without dashes and braces. False: `text` is not an identifier, or has
 * fewer than eight digits. */
bool search_digits(const char *text, char digits[static MODULE_ID_TEXT]);

/* Writes the artifacts that an identifier can name, at most `most`, each once: a build id, a UUID, a debug id
 * or the code id of a PE file. A type that also needs a name, or that servers know only by name, is
 * included if the index has such a file or miss. Returns their number; 0: `text` is not an identifier, or
 * the identifier names no artifact. Any thread. (reads the index) */
unsigned search_id(struct store *s, const char *text, struct artifact *out, unsigned most);
