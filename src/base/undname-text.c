/* Reads the parts of Microsoft's names that are not names, and makes texts of pieces. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/undname-private.h"
#include "base/util.h"

#include <string.h>

#define TEXT_MOST (64 << 10)
#define FACTOR 0x01000193u

enum { PIECE_CHARS, PIECE_OWN, PIECE_HALVES };

bool undname_eat(struct undname *u, const char *prefix)
{
	const char *p = u->p;

	while (*prefix)
		if (*p++ != *prefix++)
			return false;
	u->p = p;
	return true;
}

/* A digit is one less than the number; other numbers have hexadecimal digits from A to P. */
uint64_t undname_number(struct undname *u, bool *minus)
{
	bool negative = undname_eat(u, "?");
	uint64_t v = 0;

	if (minus)
		*minus = negative;
	else if (negative)
		return undname_fail(u);
	if (undname_at_digit(u))
		return (uint64_t)(*u->p++ - '0' + 1);
	for (; *u->p >= 'A' && *u->p <= 'P'; u->p++)
		v = v << 4 | (uint64_t)(*u->p - 'A');
	return undname_eat(u, "@") ? v : undname_fail(u);
}

int64_t undname_signed(struct undname *u)
{
	bool minus;
	uint64_t v = undname_number(u, &minus);

	if (v > INT64_MAX)
		return undname_fail(u);
	return minus ? -(int64_t)v : (int64_t)v;
}

static text add_piece(struct undname *u, const struct piece *piece, size_t n)
{
	if (u->n == u->most || n > TEXT_MOST)
		return undname_fail(u);
	u->pieces[u->n] = *piece;
	u->pieces[u->n].n = n & 0xffffff;
	return (text)u->n++;
}

text text_of(struct undname *u, const char *p, size_t n)
{
	struct piece piece = {.p = p, .form = PIECE_CHARS, .power = 1};

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n && n <= TEXT_MOST; i++) {
		piece.hash = piece.hash * FACTOR + (uint8_t)p[i];
		piece.power *= FACTOR;
	}
	piece.last = p[n - 1];
	return add_piece(u, &piece, n);
}

text text_copy(struct undname *u, const char *p, size_t n)
{
	text t = 0;

	for (size_t part; n > 0 && !u->bad; p += part, n -= part) {
		text more;

		part = MIN(n, sizeof(u->pieces->own));
		more = text_of(u, p, part);
		memcpy(u->pieces[more].own, p, more ? part : 0);
		u->pieces[more].form = more ? PIECE_OWN : PIECE_CHARS;
		t = JOIN(t, more);
	}
	return t;
}

text text_number(struct undname *u, bool minus, uint64_t v)
{
	char digits[24], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	if (minus)
		*--p = '-';
	return text_copy(u, p, (size_t)(digits + sizeof(digits) - p));
}

text text_join(struct undname *u, const text *parts, size_t n)
{
	text all = 0;

	for (size_t i = 0; i < n; i++) {
		const struct piece *a = &u->pieces[all], *b = &u->pieces[parts[i]];
		struct piece both = {.half = {all, parts[i]}, .form = PIECE_HALVES, .last = b->last};

		if (!all || !parts[i]) {
			all |= parts[i];
			continue;
		}
		both.hash = a->hash * b->power + b->hash;
		both.power = a->power * b->power;
		all = add_piece(u, &both, (size_t)a->n + b->n);
	}
	return all;
}

text text_spaced(struct undname *u, text t)
{
	char c = u->pieces[t].last;
	bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '>';

	return word ? JOIN(t, LIT(" ")) : t;
}

void text_write(const struct undname *u, text t, char *out, text *room)
{
	size_t n = 0;

	for (;;) {
		const struct piece *piece = &u->pieces[t];

		if (piece->form == PIECE_HALVES) {
			room[n++] = piece->half[1];
			t = piece->half[0];
			continue;
		}
		memcpy(out, piece->form == PIECE_OWN ? piece->own : piece->p, piece->n);
		out += piece->n;
		if (n == 0)
			return;
		t = room[--n];
	}
}
