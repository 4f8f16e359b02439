/* Finds files in text that a person pastes: URLs, paths, and the identifiers in crash reports, lists of modules and
 * stacks. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/module.h"

#include <stdbool.h>

/* An identifier in a text: a build id, a UUID, or a debug id with or without its age. */
struct pasted_id {
	/* its hexadecimal digits; the age of a debug id follows in hexadecimal digits */
	char id[MODULE_ID_TEXT];
	char name[MODULE_NAME_MAX];   /* the file name in the same line that most likely belongs to it; "": none */
};

/* Writes the identifiers of a text in their order, each pair of identifier and name once, at most `most`. Returns
 * their number. A number of fewer than 32 digits counts only behind the words "build id", because addresses look the
 * same. */
unsigned pasted_ids(const char *text, struct pasted_id *out, unsigned most);

/* Copies one word or line without blanks and quotation marks around it. Of a URL, copies the decoded path, without
 * slashes before it. False: the text does not fit, or the URL is broken. */
bool pasted_path(const char *text, char *out, size_t room);

/* Whether the text has more than one line. */
bool pasted_is_long(const char *text);
