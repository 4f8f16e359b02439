/* Makes the output of commands: JSON documents, and text that is safe to show (base/utf8.h). A document is
 * built in memory, from front to back, so that a command that fails midway prints nothing. The document keeps the
 * first error and json_print() reports it: no other call needs a check. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/utf8.h"

#include <stdbool.h>

/* The greatest depth of nested values: inlined calls (GSYM_DEPTH_MOST) take two levels each. */
#define JSON_DEPTH 1024

struct json {
	struct buf text; /* keeps the first error: -ENOMEM, -EFBIG */
	bool compact; /* no line breaks */
	unsigned depth; /* the number of open arrays and objects */
	char closing[JSON_DEPTH]; /* the closing bracket of each open array or object: ']' or '}' */
};

/* The document is released by json_print() or json_release(). */
void json_init(struct json *j, bool compact);
void json_release(struct json *j);
void json_clear(struct json *j); /* starts a new document in the same memory */

/* `name` is the name of the member; NULL for a value in an array, and for the whole document. */
void json_begin_object(struct json *j, const char *name);
void json_begin_array(struct json *j, const char *name);
void json_end(struct json *j); /* closes the innermost object or array */
void json_text(struct json *j, const char *name, const char *text); /* writes null for NULL and for "" */
void json_string(struct json *j, const char *name, const char *text); /* writes "" as a string; not for NULL */
void json_number(struct json *j, const char *name, long long n);
void json_number_or_null(struct json *j, const char *name, long long n); /* writes null for 0 */
void json_boolean(struct json *j, const char *name, bool value);
void json_null(struct json *j, const char *name);

/* Closes what is open, prints the document and a newline to stdout, and releases the document. Returns an exit
 * status. */
int json_print(struct json *j);
/* Ends the output of a command: prints the document if it is `wanted`, else flushes stdout. Releases the document.
 * Returns `status`; EXIT_LOCAL if stdout cannot be written. */
int json_finish(struct json *j, bool wanted, int status);
