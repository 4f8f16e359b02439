/* The encodings that JSON text comes in, and their conversion to UTF-8. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext-private.h"
#include "base/utf8.h"
#include "base/util.h"

#include <string.h>

/* A byte order mark shows UTF-16 and UTF-32. Without a mark the zeros in the first character show them,
 * because JSON begins with an ASCII character. Python's json.loads() chooses in the same way. */
struct encoding {
	unsigned width; /* bytes of a unit: 1, 2 or 4 */
	bool big;
	size_t mark; /* bytes to skip */
};

static struct encoding encoding_of(struct span t)
{
	uint8_t b[4] = {0};

	for (size_t i = 0; i < MIN(t.n, sizeof(b)); i++)
		b[i] = t.p[i];
	if (t.n >= 4 && memcmp(b, "\0\0\xfe\xff", 4) == 0)
		return (struct encoding){4, true, 4};
	if (t.n >= 4 && memcmp(b, "\xff\xfe\0\0", 4) == 0)
		return (struct encoding){4, false, 4};
	if (t.n >= 2 && ((b[0] == 0xfe && b[1] == 0xff) || (b[0] == 0xff && b[1] == 0xfe)))
		return (struct encoding){2, b[0] == 0xfe, 2};
	if (t.n >= 3 && memcmp(b, "\xef\xbb\xbf", 3) == 0)
		return (struct encoding){1, false, 3};
	if ((t.n < 4 && t.n != 2) || (b[0] && b[1]))
		return (struct encoding){1, false, 0};
	if (!b[0])
		return (struct encoding){t.n == 2 || b[1] ? 2 : 4, true, 0};
	return (struct encoding){t.n == 2 || b[2] || b[3] ? 2 : 4, false, 0};
}

static uint32_t unit_at(const uint8_t *p, const struct encoding *e)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < e->width; i++)
		v = v << 8 | p[e->big ? i : e->width - 1 - i];
	return v;
}

/* Converts to UTF-8, and keeps halves of surrogate pairs. -EBADMSG: not text in this encoding. */
static int to_utf8(struct span t, const struct encoding *e, struct buf *out)
{
	int r = t.n % e->width ? -EBADMSG : 0;

	for (size_t at = 0; r == 0 && at < t.n; at += e->width) {
		uint32_t c = unit_at(t.p + at, e), low = 0;
		uint8_t bytes[4];

		if (e->width == 2 && utf16_is_high(c) && t.n - at >= 4)
			low = unit_at(t.p + at + 2, e);
		if (utf16_is_low(low)) {
			c = utf16_join(c, low);
			at += 2;
		}
		r = c > 0x10ffff ? -EBADMSG : buf_add(out, bytes, utf8_put(c, bytes));
	}
	return r;
}

int jtext_decode(struct jtext *j, struct span text)
{
	struct encoding e = encoding_of(text);
	struct span rest = {text.p + e.mark, text.n - e.mark};
	int r;

	j->text = rest;
	if (e.width == 1)
		return 0;
	/* A unit of two bytes becomes at most three bytes of UTF-8, and a unit of four bytes at most
	 * four. */
	j->utf8 = BUF_UP_TO((size_t)UINT32_MAX);
	r = to_utf8(rest, &e, &j->utf8);
	j->text = (struct span){(const uint8_t *)buf_text(&j->utf8), j->utf8.n};
	return r == -EFBIG ? -E2BIG : r;
}
