/* Reads and writes JSON. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "base/util.h"

#include <string.h>
#include "base/banned.h"

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

/* The bytes of one character that is no ASCII; the text does not end with NUL, so what may be looked
 * at is copied. */
static unsigned wide_character(const struct reader *r)
{
	unsigned char c[5] = {0};

	memcpy(c, r->p, (size_t)MIN(r->end - r->p, 4));
	return utf8_length(c);
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

int jtext_read(struct jtext *j, struct span text, uint32_t most, struct err *e)
{
	struct reader r = {.j = j, .most = most};
	int n;

	*j = (struct jtext){.text = text};
	if (text.n > UINT32_MAX)
		return err_set(e, -E2BIG, "is longer than 4 GiB");
	if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0) {
		j->text.p += 3;
		j->text.n -= 3;
	}
	r.start = r.p = j->text.p;
	r.end = r.start + j->text.n;
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
}

/* ---- values ------------------------------------------------------------------------- */

static uint32_t four_digits(const uint8_t *p)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < 4; i++)
		v = v << 4 | (uint32_t)hex_value((char)p[i]);
	return v;
}

/* The character at *p, behind a backslash, as UTF-8; how many bytes, 0: it is none that text has. */
static unsigned unescape(const uint8_t **p, const uint8_t *end, uint8_t out[static 4])
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	uint32_t c, low;

	if (**p != 'u') {
		out[0] = (uint8_t)to[strchr(from, **p) - from];
		(*p)++;
		return 1;
	}
	c = four_digits(*p + 1);
	*p += 5;
	if (c >= 0xd800 && c < 0xdc00) {
		if (end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
			return 0;
		low = four_digits(*p + 2);
		if (low < 0xdc00 || low > 0xdfff)
			return 0;
		*p += 6;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	if (!c || (c >= 0xdc00 && c < 0xe000))
		return 0;
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

int jtext_string(const struct jtext *j, uint32_t token, char *out, size_t room)
{
	const struct jtoken *t = &j->token[token];
	const uint8_t *p = j->text.p + t->at, *end = p + t->len;
	size_t n = 0;

	while (p < end) {
		uint8_t c[4];
		unsigned len = 1;

		c[0] = *p++;
		if (c[0] == '\\')
			len = unescape(&p, end, c);
		if (!len || n + len >= room)
			return -1;
		memcpy(out + n, c, len);
		n += len;
	}
	if (n >= room)
		return -1;
	out[n] = '\0';
	return (int)n;
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
