/* What commands print: text that is safe to show, and JSON documents. A document is written from front to
 * back into memory, so that nothing is printed when the command fails on the way. The first error is kept
 * in the document and reported by json_print(): no other call needs a check. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>

/* Values may nest this deep: inlined calls (GSYM_DEPTH_MOST) take two levels each. */
#define JSON_DEPTH 1024

/* Bytes that are not UTF-8 become \\xNN, and for a terminal control characters too: a file name
 * must not move the cursor. JSON escapes control characters by itself. Valid until `room` changes. */
const char *text_shown(const char *text, bool terminal, struct buf *room);

struct json {
	struct buf text;
	bool compact; /* no line breaks */
	int error;    /* the first one: -ENOMEM, -EFBIG */
	unsigned depth;
	char closing[JSON_DEPTH]; /* of each value that is open: ']' or '}' */
};

/* The document is released by json_print() or json_release(). */
void json_init(struct json *j, bool compact);
void json_release(struct json *j);
void json_clear(struct json *j); /* starts a new document in the same memory */

/* `name` is that of the member; NULL in an array, and for the whole document. */
void json_begin_object(struct json *j, const char *name);
void json_begin_array(struct json *j, const char *name);
void json_end(struct json *j); /* of the innermost object or array */
void json_text(struct json *j, const char *name, const char *text); /* null for NULL and "" */
void json_string(struct json *j, const char *name, const char *text); /* "" too */
void json_number(struct json *j, const char *name, long long n);
void json_number_or_null(struct json *j, const char *name, long long n); /* null for 0 */
void json_boolean(struct json *j, const char *name, bool value);
void json_null(struct json *j, const char *name);

/* Prints the document and a newline to stdout, and releases it. An exit status. */
int json_print(struct json *j);
