/* Reads and writes JSON. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "base/util.h"

#include <string.h>

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
	struct jtext *j = r->j;

	if (j->n == r->most)
		return -E2BIG;
	if (j->n == j->room) {
		uint32_t room = j->room ? (uint32_t)MIN((uint64_t)j->room * 2, r->most) : 64;
		struct jtoken *more = realloc(j->token, (size_t)room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		j->token = more;
		j->room = room;
	}
	j->token[j->n] = (struct jtoken){
		.kind = kind, .at = (uint32_t)(at - r->start), .len = (uint32_t)len, .next = j->n + 1};
	j->n++;
	return 0;
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
		return bad(r, "an escape that there is not");
	r->p++;
	return 0;
}

/* Half of a pair of UTF-16, as UTF-8 would have it: three bytes. Python takes it ("surrogatepass"). */
static bool is_half(const uint8_t *p, const uint8_t *end)
{
	return end - p >= 3 && p[0] == 0xed && p[1] >= 0xa0 && p[1] < 0xc0 && (p[2] & 0xc0) == 0x80;
}

/* The bytes of one character that is not ASCII; the text does not end with NUL, so what may be looked
 * at is copied. */
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
			return bad(r, "a string that is no UTF-8");
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
		return bad(r, "no value");
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
		return bad(r, "no value");
	switch (*r->p) {
	case '{': return open_value(r, JTEXT_OBJECT);
	case '[': return open_value(r, JTEXT_ARRAY);
	case '"': return read_string(r);
	case 'n': return take_word(r, "null") ? add_token(r, JTEXT_NULL, at, 4) : bad(r, "no value");
	case 't': return take_word(r, "true") ? add_token(r, JTEXT_TRUE, at, 4) : bad(r, "no value");
	case 'f': return take_word(r, "false") ? add_token(r, JTEXT_FALSE, at, 5) : bad(r, "no value");
	default: return read_number(r);
	}
}

/* ---- the whole ---------------------------------------------------------------------- */

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

/* Goes on in an array or object that is open: to its next element, or to its end. */
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
	return e == 0 && r->p < r->end ? bad(r, "something behind the value") : e;
}

/* ---- encodings ---------------------------------------------------------------------- */

/* UTF-16 and UTF-32 begin with a mark, or are known by the zeros in their first character, which is ASCII in
 * JSON. This is how Python's json.loads() chooses. */
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

static bool is_high(uint32_t c)
{
	return c >= 0xd800 && c < 0xdc00;
}

static bool is_low(uint32_t c)
{
	return c >= 0xdc00 && c < 0xe000;
}

static uint32_t join_pair(uint32_t high, uint32_t low)
{
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* A character, or half of a pair, in bytes; how many. */
static unsigned put_character(uint32_t c, uint8_t out[static 4])
{
	if (c < 0x80)
		return out[0] = (uint8_t)c, 1;
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

/* To UTF-8, with halves of pairs as they are. -EBADMSG: not text in this encoding. */
static int to_utf8(struct span t, const struct encoding *e, struct buf *out)
{
	int r = t.n % e->width ? -EBADMSG : 0;

	for (size_t at = 0; r == 0 && at < t.n; at += e->width) {
		uint32_t c = unit_at(t.p + at, e), low = 0;
		uint8_t bytes[4];

		if (e->width == 2 && is_high(c) && t.n - at >= 4)
			low = unit_at(t.p + at + 2, e);
		if (is_low(low)) {
			c = join_pair(c, low);
			at += 2;
		}
		r = c > 0x10ffff ? -EBADMSG : buf_add(out, bytes, put_character(c, bytes));
	}
	return r;
}

static int decode(struct jtext *j, struct span text)
{
	struct encoding e = encoding_of(text);
	struct span rest = {text.p + e.mark, text.n - e.mark};
	int r;

	j->text = rest;
	if (e.width == 1)
		return 0;
	/* A unit of two bytes becomes three at most, one of four becomes four at most. */
	j->utf8 = BUF_UP_TO((size_t)UINT32_MAX);
	r = to_utf8(rest, &e, &j->utf8);
	j->text = (struct span){(const uint8_t *)buf_text(&j->utf8), j->utf8.n};
	return r == -EFBIG ? -E2BIG : r;
}

int jtext_read(struct jtext *j, struct span text, uint32_t most, struct err *e)
{
	struct reader r = {.j = j, .most = most, .bad = "not UTF-16 or UTF-32"};
	int n;

	*j = (struct jtext){.text = text};
	if (text.n > UINT32_MAX)
		return err_set(e, -E2BIG, "is longer than 4 GiB");
	n = decode(j, text);
	r.start = r.p = j->text.p;
	r.end = r.start + j->text.n;
	if (n == 0)
		n = read_all(&r);
	if (n == -EBADMSG)
		return err_set(e, n, "is no JSON: byte %zu: %s", (size_t)(r.p - r.start), r.bad);
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

/* ---- values ------------------------------------------------------------------------- */

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
	if (!is_high(c) || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return c;
	low = four_digits(*p + 2);
	if (!is_low(low))
		return c;
	*p += 6;
	return join_pair(c, low);
}

/* The next character of a string that was read, or half of a pair. */
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
		unsigned len = put_character(c, bytes);

		if (!c || is_high(c) || is_low(c) || n + len >= room)
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
#define WORDS_MOST (DIGITS_MOST * 10 / 96 + 1) /* of 32 bits; ten bits have more than three digits */

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

/* ---- writing ------------------------------------------------------------------------ */

static bool is_plain(uint8_t c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static int add_odd(struct buf *b, const uint8_t **p, const uint8_t *end)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	unsigned char room[5] = {0};
	uint8_t c = **p;
	const char *at;
	unsigned n;

	if (c >= 0x80) {
		memcpy(room, *p, (size_t)MIN(end - *p, 4));
		n = utf8_length(room);
		*p += n ? n : 1;
		return n ? buf_add(b, room, n) : buf_addf(b, "\\\\x%02x", c);
	}
	(*p)++;
	at = c ? strchr(from, c) : NULL;
	return at ? buf_addf(b, "\\%c", to[at - from]) : buf_addf(b, "\\u%04x", c);
}

int jtext_add_n(struct buf *b, const char *text, size_t n)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + n;
	int r = buf_add(b, "\"", 1);

	while (r == 0 && p < end) {
		const uint8_t *at = p;

		while (p < end && is_plain(*p))
			p++;
		r = buf_add(b, at, (size_t)(p - at));
		if (r == 0 && p < end)
			r = add_odd(b, &p, end);
	}
	return r < 0 ? r : buf_add(b, "\"", 1);
}

int jtext_add(struct buf *b, const char *text)
{
	return jtext_add_n(b, text, strlen(text));
}
