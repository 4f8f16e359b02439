/* Checks UTF-8, as far as file names need it, and writes it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdint.h>

/* The number of bytes of the character at p, a NUL-terminated text; 0: not UTF-8 (overlong, truncated, a
 * surrogate). */
unsigned utf8_length(const unsigned char *p);

/* Writes a character of at most 21 bits, also half of a surrogate pair. Returns the number of bytes. */
unsigned utf8_put(uint32_t c, uint8_t out[static 4]);
