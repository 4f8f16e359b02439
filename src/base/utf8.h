/* UTF-8, as far as names of files need it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Bytes of the character at p, which ends with NUL somewhere; 0 when it is none (overlong, cut, a
 * surrogate). */
unsigned utf8_length(const unsigned char *p);
