/* Checks UTF-8, as far as file names need it, and writes it; makes text of files and servers safe to show; halves of
 * characters in UTF-16. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/jtext.h"
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The number of bytes of the character at p, a NUL-terminated text; 0: not UTF-8 (overlong, truncated, a
 * surrogate). */
unsigned utf8_length(const unsigned char *p);

/* Writes a character of at most 21 bits, also half of a surrogate pair. Returns the number of bytes. */
unsigned utf8_put(uint32_t c, uint8_t out[static 4]);

/* Replaces bytes that are not UTF-8 by \xNN. With `terminal`, also replaces control characters: a file name
 * must not move the cursor. JSON escapes control characters by itself. The text is valid until `room` changes. */
const char *text_shown(const char *text, bool terminal, struct buf *room);

/* Splits a line at its tabs into n fields; missing fields are "". */
void text_fields(char *line, char **fields, unsigned n);
/* The text without the characters of `set` at both ends. */
char *text_trim(char *text, const char *set);

/* ---- UTF-16 -------------------------------------------------------------------------- */

/* Whether `c` is the first (high) or the second (low) half of a surrogate pair of UTF-16. */
static inline bool utf16_is_high(uint32_t c)
{
	return c >= 0xd800 && c < 0xdc00;
}

static inline bool utf16_is_low(uint32_t c)
{
	return c >= 0xdc00 && c < 0xe000;
}

static inline uint32_t utf16_join(uint32_t high, uint32_t low)
{
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}
