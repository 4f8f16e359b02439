/* Functions that the files of the JSON reader share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/jtext.h"

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
