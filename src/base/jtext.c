/* Reads JSON text into a flat list of tokens. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "base/util.h"

#include <string.h>

/* The encodings that JSON text comes in, and their conversion to UTF-8. */

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
	return (uint32_t)load_number(p, e->width, e->big);
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

/* Decodes a text in UTF-8, UTF-16 or UTF-32 to j->text. 0; -EBADMSG: `text` is not valid in its encoding;
 * -E2BIG; -ENOMEM. */
static int jtext_decode(struct jtext *j, struct span text)
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

struct reader {
	struct jtext *j;
	const uint8_t *start, *p, *end;
	uint32_t most;
	uint32_t open[JTEXT_DEPTH]; /* arrays and objects that have not ended */
	unsigned depth;
	const char *bad;
};

static int bad(struct reader *r, const char *what)
{
	r->bad = what;
	return -EBADMSG;
}

static void skip_space(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static int add_token(struct reader *r, enum jkind kind, const uint8_t *at, size_t len)
{
	struct jtoken t = {.kind = kind, .at = (uint32_t)(at - r->start), .len = (uint32_t)len};
	struct jtext *j = r->j;

	if (j->n == r->most)
		return -E2BIG;
	t.next = j->n + 1;
	return APPEND(j->token, j->room, j->n, t);
}

/* ---- one value ---------------------------------------------------------------------- */

static int read_escape(struct reader *r)
{
	r->p++;
	if (r->p == r->end)
		return bad(r, "a string does not end");
	if (*r->p == 'u') {
		for (unsigned i = 1; i <= 4; i++)
			if (r->end - r->p <= i || hex_value((char)r->p[i]) < 0)
				return bad(r, "a \\u without four digits");
		r->p += 5;
		return 0;
	}
	if (!*r->p || !strchr("\"\\/bfnrt", *r->p))
		return bad(r, "an unknown escape");
	r->p++;
	return 0;
}

/* Half of a UTF-16 surrogate pair, encoded like UTF-8 in three bytes. Python accepts it
 * ("surrogatepass"). */
static bool is_half(const uint8_t *p, const uint8_t *end)
{
	return end - p >= 3 && p[0] == 0xed && p[1] >= 0xa0 && p[1] < 0xc0 && (p[2] & 0xc0) == 0x80;
}

/* The bytes of one character that is not ASCII. utf8_length() needs a NUL at the end, so this function
 * passes a copy of the bytes. */
static unsigned wide_character(const struct reader *r)
{
	unsigned char c[5] = {0};

	memcpy(c, r->p, (size_t)MIN(r->end - r->p, 4));
	return is_half(r->p, r->end) ? 3 : utf8_length(c);
}

static int read_string(struct reader *r)
{
	const uint8_t *at = ++r->p;

	while (r->p < r->end && *r->p != '"') {
		unsigned n = 1;
		int e;

		if (*r->p == '\\') {
			e = read_escape(r);
			if (e < 0)
				return e;
			continue;
		}
		if (*r->p < ' ')
			return bad(r, "a control character in a string");
		if (*r->p >= 0x80)
			n = wide_character(r);
		if (!n)
			return bad(r, "a string that is not UTF-8");
		r->p += n;
	}
	if (r->p == r->end)
		return bad(r, "a string does not end");
	r->p++;
	return add_token(r, JTEXT_STRING, at, (size_t)(r->p - 1 - at));
}

static bool take_word(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	return true;
}

static size_t take_digits(struct reader *r)
{
	const uint8_t *at = r->p;

	while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
		r->p++;
	return (size_t)(r->p - at);
}

static int read_number(struct reader *r)
{
	const uint8_t *at = r->p, *first;
	size_t n;

	r->p += *r->p == '-';
	if (take_word(r, "Infinity") || (*at == 'N' && take_word(r, "NaN")))
		return add_token(r, JTEXT_NUMBER, at, (size_t)(r->p - at));
	first = r->p;
	n = take_digits(r);
	if (!n || (n > 1 && *first == '0'))
		return bad(r, "not a value");
	if (r->p < r->end && *r->p == '.') {
		r->p++;
		if (!take_digits(r))
			return bad(r, "a point without digits");
	}
	if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
		r->p++;
		r->p += r->p < r->end && (*r->p == '+' || *r->p == '-');
		if (!take_digits(r))
			return bad(r, "an exponent without digits");
	}
	return add_token(r, JTEXT_NUMBER, at, (size_t)(r->p - at));
}

static int open_value(struct reader *r, enum jkind kind)
{
	if (r->depth == JTEXT_DEPTH)
		return bad(r, "values that nest too deep");
	r->open[r->depth++] = r->j->n;
	return add_token(r, kind, r->p++, 1);
}

static int read_value(struct reader *r)
{
	const uint8_t *at = r->p;

	if (r->p == r->end)
		return bad(r, "not a value");
	switch (*r->p) {
	case '{': return open_value(r, JTEXT_OBJECT);
	case '[': return open_value(r, JTEXT_ARRAY);
	case '"': return read_string(r);
	case 'n': return take_word(r, "null") ? add_token(r, JTEXT_NULL, at, 4) : bad(r, "not a value");
	case 't': return take_word(r, "true") ? add_token(r, JTEXT_TRUE, at, 4) : bad(r, "not a value");
	case 'f': return take_word(r, "false") ? add_token(r, JTEXT_FALSE, at, 5) : bad(r, "not a value");
	default: return read_number(r);
	}
}

/* ---- the document ------------------------------------------------------------------- */

static struct jtoken *innermost(struct reader *r)
{
	return &r->j->token[r->open[r->depth - 1]];
}

static void close_value(struct reader *r)
{
	struct jtoken *t = innermost(r);

	r->p++;
	t->len = (uint32_t)(r->p - r->start) - t->at;
	t->next = r->j->n;
	r->depth--;
}

static int read_name(struct reader *r)
{
	int e;

	skip_space(r);
	if (r->p == r->end || *r->p != '"')
		return bad(r, "a member without a name");
	e = read_string(r);
	if (e < 0)
		return e;
	skip_space(r);
	if (r->p == r->end || *r->p != ':')
		return bad(r, "a member without a colon");
	r->p++;
	skip_space(r);
	return 0;
}

static bool at_close(const struct reader *r, const struct jtoken *t)
{
	return r->p < r->end && *r->p == (t->kind == JTEXT_ARRAY ? ']' : '}');
}

/* Reads the next element of the innermost array or object, or its end. */
static int next_element(struct reader *r)
{
	struct jtoken *t = innermost(r);
	int e = 0;

	if (at_close(r, t)) {
		close_value(r);
		return 0;
	}
	if (t->n) {
		if (r->p == r->end || *r->p != ',')
			return bad(r, "no comma");
		r->p++;
		skip_space(r);
	}
	t->n++;
	if (t->kind == JTEXT_OBJECT)
		e = read_name(r); /* `t` may have moved */
	return e < 0 ? e : read_value(r);
}

static int read_all(struct reader *r)
{
	int e;

	skip_space(r);
	e = read_value(r);
	while (e == 0 && r->depth) {
		skip_space(r);
		e = next_element(r);
	}
	skip_space(r);
	return e == 0 && r->p < r->end ? bad(r, "text after the value") : e;
}

int jtext_read(struct jtext *j, struct span text, uint32_t most, struct err *e)
{
	struct reader r = {.j = j, .most = most, .bad = "not UTF-16 or UTF-32"};
	int n;

	*j = (struct jtext){.text = text};
	if (text.n > UINT32_MAX)
		return err_set(e, -E2BIG, "is longer than 4 GiB");
	n = jtext_decode(j, text);
	r.start = r.p = j->text.p;
	r.end = r.start + j->text.n;
	if (n == 0)
		n = read_all(&r);
	if (n == -EBADMSG)
		return err_set(e, n, "is not JSON: byte %zu: %s", (size_t)(r.p - r.start), r.bad);
	if (n == -E2BIG)
		return err_set(e, n, "has more than %u values", most);
	return n < 0 ? err_set(e, n, "%s", err_text(n)) : 0;
}

void jtext_release(struct jtext *j)
{
	free(j->token);
	j->token = NULL;
	j->n = j->room = 0;
	buf_release(&j->utf8);
}
