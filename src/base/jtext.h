/* Reads JSON text of other programs in place: one pass makes a flat list of tokens, bounded in number and
 * depth. The text is not changed; it is copied only if it must be converted to UTF-8. Also writes JSON
 * strings into a buffer. Any thread; no state is kept. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>

/* Arrays and objects may nest this deep. */
#define JTEXT_DEPTH 64

enum jkind { JTEXT_NULL, JTEXT_FALSE, JTEXT_TRUE, JTEXT_NUMBER, JTEXT_STRING, JTEXT_ARRAY, JTEXT_OBJECT };

struct jtoken {
	enum jkind kind;
	uint32_t at, len; /* in the text; a string's quotes do not count */
	uint32_t n;	  /* elements of an array, or members of an object; a member is a name and a value */
	uint32_t next;	  /* the token after this value and everything in it */
};

struct jtext {
	struct span text; /* UTF-8: the given text, or the text in `utf8` */
	struct buf utf8;
	struct jtoken *token; /* the first is the whole value */
	uint32_t n;
	size_t room;
};

/* The text is UTF-8, UTF-16 or UTF-32, with or without a byte order mark. Numbers may be Infinity and
 * NaN, as Python reads them. 0; -EBADMSG: not JSON (`e` says where); -E2BIG: more than `most` tokens, or
 * longer than 4 GiB; -ENOMEM. Call jtext_release() even after an error. */
int jtext_read(struct jtext *j, struct span text, uint32_t most, struct err *e);
void jtext_release(struct jtext *j);
#define _cleanup_jtext_ __attribute__((cleanup(jtext_release)))

/* The token of a member's value. If several members have the name, the last of them counts. 0: no such
 * member (token 0 is never a member). `object` is the number of an object's token. */
uint32_t jtext_member(const struct jtext *j, uint32_t object, const char *name);

/* Writes a string as UTF-8 to `out`, NUL-terminated. Returns its length; -1: it has more than `room - 1`
 * bytes, a NUL, or half of a surrogate pair. */
int jtext_string(const struct jtext *j, uint32_t token, char *out, size_t room);

/* The number of characters of a string, as Python counts them: an escape counts as one character, and so
 * does half of a surrogate pair. */
uint32_t jtext_length(const struct jtext *j, uint32_t token);

/* The number of different names of the members of an object. Stops counting at `most`, or at
 * JTEXT_MEMBERS_MOST. */
#define JTEXT_MEMBERS_MOST 64
uint32_t jtext_members(const struct jtext *j, uint32_t object, uint32_t most);

/* Writes an integer of any size in hexadecimal, "0x1f". 0; -EINVAL: not an integer, or negative, or with more
 * than 4300 digits, which Python refuses; -ENOMEM. */
int jtext_hex(const struct jtext *j, uint32_t token, struct buf *out);

/* Reads a number that has neither a fraction nor an exponent. 0: *out is its absolute value; *minus: the
 * number is negative (false for zero). -ERANGE: the number does not fit. -EINVAL: the token is not such a
 * number. */
int jtext_integer(const struct jtext *j, uint32_t token, bool *minus, uint64_t *out);

/* Read a member of an object: a string, or a whole number that is not negative. False: it has no such member, or one
 * that does not fit; then *out is empty or 0. */
bool jtext_get_text(const struct jtext *j, uint32_t object, const char *name, char *out, size_t room);
bool jtext_get_number(const struct jtext *j, uint32_t object, const char *name, uint64_t *out);

/* ---- writing ------------------------------------------------------------------------ */

/* Adds a string with its quotes; a byte that is not UTF-8 becomes the text \xNN. 0, -ENOMEM, -EFBIG. */
int jtext_add(struct buf *b, const char *text);
