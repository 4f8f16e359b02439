/* Checks UTF-8, as far as file names need it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The number of bytes of the character at p, a NUL-terminated text; 0: not UTF-8 (overlong, truncated, a
 * surrogate). */
unsigned utf8_length(const unsigned char *p);
