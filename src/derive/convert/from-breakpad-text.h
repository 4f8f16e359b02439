/* Words and numbers of a line of a Breakpad file, as symbolic takes them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A line, or what remains of it; not ended by a NUL. */
struct text {
	const char *p, *end;
};

static inline bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static inline void skip_space(struct text *t)
{
	while (t->p < t->end && is_space(*t->p))
		t->p++;
}

/* Whether the text begins with this word. Then the word and the white space after it are removed from
 * *t. */
static inline bool text_take_word(struct text *t, const char *word, size_t n)
{
	if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
		return false;
	if (t->p + n < t->end && !is_space(t->p[n]))
		return false;
	t->p += n;
	skip_space(t);
	return true;
}
#define TAKE_WORD(t, word) text_take_word((t), (word), sizeof(word) - 1)

/* The value of a hexadecimal digit, plus 1; 0 for any other byte. */
static const uint8_t breakpad_digits[256] = {
	['0'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
	['A'] = 11, 12, 13, 14, 15, 16,
	['a'] = 11, 12, 13, 14, 15, 16,
};

/* Each takes a number and the white space behind it. False: the text does not begin with such a number, and
 * nothing is taken. */
static inline bool take_hex(struct text *t, uint64_t *out)
{
	const char *p = t->p;
	uint64_t v = 0;
	uint8_t d;

	for (; p < t->end && (d = breakpad_digits[(uint8_t)*p]); p++) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)(d - 1);
	}
	if (p == t->p || (p < t->end && !is_space(*p)))
		return false;
	t->p = p;
	skip_space(t);
	*out = v;
	return true;
}

static inline bool take_decimal(struct text *t, uint64_t *out)
{
	const char *p = t->p;
	uint64_t v = 0;

	for (; p < t->end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	if (p == t->p || (p < t->end && !is_space(*p)))
		return false;
	t->p = p;
	skip_space(t);
	*out = v;
	return true;
}

/* A negative line number, which some compilers write, means no line. Only the lower 32 bits of a large
 * number count. */
static inline bool take_line_number(struct text *t, uint32_t *out)
{
	bool minus = t->p < t->end && *t->p == '-';
	uint64_t v;

	t->p += minus;
	if (!take_decimal(t, &v))
		return false;
	*out = minus ? 0 : (uint32_t)v;
	return true;
}
