/* The values of JSON tokens: members, strings, numbers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/utf8.h"
#include "base/util.h"

#include <string.h>

static uint32_t four_digits(const uint8_t *p)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < 4; i++)
		v = v << 4 | (uint32_t)hex_value((char)p[i]);
	return v;
}

static uint32_t escaped(const uint8_t **p, const uint8_t *end)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	uint32_t c = *(*p)++, low;

	if (c != 'u')
		return (uint8_t)to[strchr(from, (int)c) - from];
	c = four_digits(*p);
	*p += 4;
	if (!utf16_is_high(c) || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return c;
	low = four_digits(*p + 2);
	if (!utf16_is_low(low))
		return c;
	*p += 6;
	return utf16_join(c, low);
}

/* Decodes the next character of a string, or one half of a surrogate pair. jtext_read() has checked the
 * string, so nothing is checked here. */
static uint32_t next_character(const uint8_t **p, const uint8_t *end)
{
	uint32_t c = *(*p)++;
	unsigned more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

	if (c == '\\')
		return escaped(p, end);
	c &= more ? 0x3fu >> more : 0x7f;
	for (; more; more--)
		c = c << 6 | (*(*p)++ & 0x3f);
	return c;
}

static struct span string_of(const struct jtext *j, uint32_t token)
{
	return (struct span){j->text.p + j->token[token].at, j->token[token].len};
}

int jtext_string(const struct jtext *j, uint32_t token, char *out, size_t room)
{
	struct span s = string_of(j, token);
	const uint8_t *p = s.p, *end = p + s.n;
	size_t n = 0;

	while (p < end) {
		uint32_t c = next_character(&p, end);
		uint8_t bytes[4];
		unsigned len = utf8_put(c, bytes);

		if (!c || utf16_is_high(c) || utf16_is_low(c) || n + len >= room)
			return -1;
		memcpy(out + n, bytes, len);
		n += len;
	}
	if (n >= room)
		return -1;
	out[n] = '\0';
	return (int)n;
}

uint32_t jtext_length(const struct jtext *j, uint32_t token)
{
	struct span s = string_of(j, token);
	const uint8_t *p = s.p, *end = p + s.n;
	uint32_t n = 0;

	for (; p < end; n++)
		next_character(&p, end);
	return n;
}

static bool same_string(const struct jtext *j, uint32_t a, uint32_t b)
{
	struct span x = string_of(j, a), y = string_of(j, b);
	const uint8_t *p = x.p, *p_end = p + x.n, *q = y.p, *q_end = q + y.n;

	while (p < p_end && q < q_end)
		if (next_character(&p, p_end) != next_character(&q, q_end))
			return false;
	return p == p_end && q == q_end;
}

uint32_t jtext_members(const struct jtext *j, uint32_t object, uint32_t most)
{
	uint32_t at = object + 1, n = 0, seen[JTEXT_MEMBERS_MOST];

	for (uint32_t i = 0; n < MIN(most, (uint32_t)JTEXT_MEMBERS_MOST) && i < j->token[object].n; i++) {
		uint32_t k = 0;

		while (k < n && !same_string(j, seen[k], at))
			k++;
		if (k == n)
			seen[n++] = at;
		at = j->token[at + 1].next;
	}
	return n;
}

static bool name_is(const struct jtext *j, uint32_t token, const char *name)
{
	const struct jtoken *t = &j->token[token];
	const uint8_t *p = j->text.p + t->at;
	size_t n = strlen(name);
	char room[64];

	if (!memchr(p, '\\', t->len))
		return t->len == n && memcmp(p, name, n) == 0;
	return jtext_string(j, token, room, sizeof(room)) >= 0 && strcmp(room, name) == 0;
}

uint32_t jtext_member(const struct jtext *j, uint32_t object, const char *name)
{
	uint32_t at = object + 1, found = 0;

	for (uint32_t i = 0; i < j->token[object].n; i++) {
		if (name_is(j, at, name))
			found = at + 1;
		at = j->token[at + 1].next;
	}
	return found;
}

int jtext_integer(const struct jtext *j, uint32_t token, bool *minus, uint64_t *out)
{
	const struct jtoken *t = &j->token[token];
	const uint8_t *p = j->text.p + t->at, *end = p + t->len;
	uint64_t v = 0;
	bool fits = true;

	*minus = *p == '-';
	p += *minus;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return -EINVAL;
		fits = fits && !__builtin_mul_overflow(v, 10, &v) &&
			!__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
	}
	if (!fits)
		return -ERANGE;
	*minus = *minus && v;
	*out = v;
	return 0;
}

#define DIGITS_MOST 4300
#define WORDS_MOST (DIGITS_MOST * 10 / 96 + 1) /* words of 32 bits: 3 digits need less than 10 bits */

int jtext_hex(const struct jtext *j, uint32_t token, struct buf *out)
{
	struct span t = string_of(j, token);
	uint32_t word[WORDS_MOST] = {0};
	size_t n = 0;
	int r;

	if (t.n > DIGITS_MOST)
		return -EINVAL;
	for (size_t i = 0; i < t.n; i++) {
		uint64_t carry = (uint64_t)(t.p[i] - '0');

		if (t.p[i] < '0' || t.p[i] > '9')
			return -EINVAL;
		for (size_t k = 0; k < n; k++) {
			carry += (uint64_t)word[k] * 10;
			word[k] = (uint32_t)carry;
			carry >>= 32;
		}
		if (carry)
			word[n++] = (uint32_t)carry;
	}
	r = buf_addf(out, "0x%x", n ? word[n - 1] : 0);
	for (size_t k = n ? n - 1 : 0; r == 0 && k--;)
		r = buf_addf(out, "%08x", word[k]);
	return r;
}

bool jtext_get_text(const struct jtext *j, uint32_t object, const char *name, char *out, size_t room)
{
	uint32_t at = jtext_member(j, object, name);
	bool ok = at && j->token[at].kind == JTEXT_STRING && jtext_string(j, at, out, room) >= 0;

	if (!ok)
		out[0] = '\0';
	return ok;
}

bool jtext_get_number(const struct jtext *j, uint32_t object, const char *name, uint64_t *out)
{
	uint32_t at = jtext_member(j, object, name);
	bool minus, ok = at && j->token[at].kind == JTEXT_NUMBER && jtext_integer(j, at, &minus, out) == 0 && !minus;

	if (!ok)
		*out = 0;
	return ok;
}
