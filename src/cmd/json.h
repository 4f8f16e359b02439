/* What commands print: text that is safe to show, and JSON documents. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>

struct json_object;

/* Bytes that are no text become \\xNN, and for a terminal control characters too: a file name
 * must not move the cursor. JSON escapes those by itself. Valid until `room` changes. */
const char *text_shown(const char *text, bool terminal, struct buf *room);

/* Adds a member: a string, or null for NULL and "". */
void json_add_text(struct json_object *o, const char *name, const char *text);
void json_add_number(struct json_object *o, const char *name, long long n);

/* Prints the document and a newline to stdout, and drops it. An exit status. */
int json_print(struct json_object *o);
