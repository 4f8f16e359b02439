/* Words and numbers of a line of a Breakpad file, as symbolic takes them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/from-breakpad-text.h"
#include "base/utf8.h"
#include "base/util.h"

#include <string.h>

/* The characters of Unicode with the property White_Space that have several bytes in UTF-8. */
static const char *const wide_spaces[] = {"\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80",
	"\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
	"\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9",
	"\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};

static size_t wide_space(const char *p, size_t room)
{
	for (size_t i = 0; i < ARRAY_SIZE(wide_spaces); i++) {
		size_t n = strlen(wide_spaces[i]);

		if (n <= room && memcmp(p, wide_spaces[i], n) == 0)
			return n;
	}
	return 0;
}

static bool is_plain_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The bytes of the space character at the start of the text, or (space_behind) at its end; 0: another character
 * is there. */
static size_t space_before(struct text t)
{
	if (t.p == t.end)
		return 0;
	return is_plain_space(*t.p) ? 1 : (uint8_t)*t.p < 0x80 ? 0 : wide_space(t.p, (size_t)(t.end - t.p));
}

static size_t space_behind(struct text t)
{
	size_t n = 0;

	if (t.p == t.end)
		return 0;
	if ((uint8_t)t.end[-1] < 0x80)
		return is_plain_space(t.end[-1]);
	for (size_t len = 2; !n && len <= 3 && (size_t)(t.end - t.p) >= len; len++)
		n = wide_space(t.end - len, len) == len ? len : 0;
	return n;
}

struct text text_trimmed(struct text t)
{
	size_t n;

	while ((n = space_before(t)))
		t.p += n;
	while ((n = space_behind(t)))
		t.end -= n;
	return t;
}

/* Whether the text, of up to three bytes, is the beginning of a longer UTF-8 character. */
static bool is_part_of_character(struct text t)
{
	size_t n = (size_t)(t.end - t.p);
	bool is = false;

	for (unsigned pad = 0x80; n < 4 && !is && pad <= 0xa0; pad += 0x10) {
		unsigned char c[5] = {0};

		memset(c, (int)pad, 4);
		memcpy(c, t.p, n);
		is = utf8_length(c) > n;
	}
	return is;
}

bool text_is_utf8(struct text t, bool cut)
{
	while (t.p < t.end) {
		unsigned char c[5] = {0};
		unsigned n;

		if ((uint8_t)*t.p < 0x80) {
			t.p++;
			continue;
		}
		memcpy(c, t.p, (size_t)MIN(t.end - t.p, 4));
		n = utf8_length(c);
		if (!n)
			return cut && is_part_of_character(t);
		t.p += n;
	}
	return true;
}

bool text_take_word(struct text *t, const char *word, size_t n)
{
	if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
		return false;
	if (t->p + n < t->end && !is_space(t->p[n]))
		return false;
	t->p += n;
	skip_space(t);
	return true;
}

const uint8_t breakpad_digits[256] = {
	['0'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
	['A'] = 11, 12, 13, 14, 15, 16,
	['a'] = 11, 12, 13, 14, 15, 16,
};
