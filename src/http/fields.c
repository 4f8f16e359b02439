/* Parses header fields of HTTP: ranges, codings, validators, credentials, hosts. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/fields.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- ranges ------------------------------------------------------------------------- */

/* Reads digits and moves *p behind them. A number that does not fit is UINT64_MAX. False: no digit. */
static bool take_number(const char **p, uint64_t *out)
{
	const char *start = *p;
	uint64_t n = 0;

	for (; **p >= '0' && **p <= '9'; (*p)++)
		if (__builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(**p - '0'), &n))
			n = UINT64_MAX;
	*out = n;
	return *p > start;
}

static const char *skip_blank(const char *p)
{
	return p + strspn(p, " \t");
}

enum field_range field_range(const char *range, uint64_t size, uint64_t *off, uint64_t *n)
{
	uint64_t first = 0, last = UINT64_MAX;
	bool has_first, has_last;
	const char *p;

	if (!range || strncasecmp(range, "bytes=", 6) != 0)
		return RANGE_WHOLE;
	p = skip_blank(range + 6);
	has_first = take_number(&p, &first);
	if (*p++ != '-')
		return RANGE_WHOLE;
	has_last = take_number(&p, &last);
	if (*skip_blank(p) || (!has_first && !has_last) || (has_first && has_last && last < first))
		return RANGE_WHOLE;
	if (!has_first) { /* "-N": the last N bytes */
		if (last == 0 || size == 0)
			return RANGE_NEVER;
		*n = MIN(last, size);
		*off = size - *n;
		return RANGE_PART;
	}
	if (first >= size)
		return RANGE_NEVER;
	*off = first;
	*n = (has_last ? MIN(last, size - 1) : size - 1) - first + 1;
	return RANGE_PART;
}

/* ---- codings ------------------------------------------------------------------------ */

/* Whether a coding like "gzip;q=0.5" is acceptable: its weight is not zero. */
static bool is_wanted(const char *p, size_t n)
{
	const char *end = p + n, *q = memchr(p, ';', n);
	uint64_t whole;

	if (!q)
		return true;
	q = skip_blank(q + 1);
	if (end - q < 3 || (*q | 32) != 'q' || q[1] != '=')
		return true;
	q += 2;
	if (!take_number(&q, &whole) || whole)
		return true;
	return q < end && *q == '.' && strspn(q + 1, "0") < strspn(q + 1, "0123456789");
}

bool field_accepts_gzip(const char *value)
{
	bool any = false;

	while (value && *value) {
		size_t n, name;

		value += strspn(value, " \t,");
		n = strcspn(value, ",");
		name = strcspn(value, " \t;,");
		if ((name == 4 && strncasecmp(value, "gzip", 4) == 0) ||
			(name == 6 && strncasecmp(value, "x-gzip", 6) == 0))
			return is_wanted(value, n);
		if (name == 1 && *value == '*')
			any = is_wanted(value, n);
		value += n;
	}
	return any;
}

/* ---- validators --------------------------------------------------------------------- */

bool field_has_tag(const char *list, const char *tag, bool weak)
{
	size_t want = strlen(tag);

	if (list && *list == '*')
		return !*skip_blank(list + 1);
	while (list && *list) {
		size_t n;

		list += strspn(list, " \t,");
		if (weak && strncmp(list, "W/", 2) == 0)
			list += 2;
		n = strcspn(list, ",");
		if (n >= want && strncmp(list, tag, want) == 0 &&
			strspn(list + want, " \t") >= n - want)
			return true;
		list += n;
	}
	return false;
}

bool field_if_range(const char *value, const char *tag, int64_t date)
{
	size_t n = strlen(tag);

	return !value || (strncmp(value, tag, n) == 0 && !*skip_blank(value + n)) ||
	       (date >= 0 && date_read(value) == date);
}

/* ---- credentials -------------------------------------------------------------------- */

static int base64_value(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Returns the number of bytes; -EINVAL. */
static int base64_read(const char *text, char *out, size_t room)
{
	unsigned bits = 0, have = 0;
	size_t n = 0;
	int v;

	for (; (v = base64_value(*text)) >= 0; text++) {
		bits = (bits << 6 | (unsigned)v) & 0xffffff;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		if (n == room)
			return -EINVAL;
		out[n++] = (char)(bits >> have & 0xff);
	}
	return text[strspn(text, "=")] ? -EINVAL : (int)n;
}

static bool copy_secret(const char *p, size_t n, char *out, size_t room)
{
	if (!n || n >= room || memchr(p, '\0', n))
		return false;
	memcpy(out, p, n);
	out[n] = '\0';
	return true;
}

bool field_secret(const char *value, char *out, size_t room)
{
	char plain[1024];
	const char *colon;
	int n;

	if (strncasecmp(value, "Bearer ", 7) == 0) {
		value = skip_blank(value + 7);
		return copy_secret(value, strlen(value), out, room);
	}
	if (strncasecmp(value, "Basic ", 6) != 0)
		return false;
	n = base64_read(skip_blank(value + 6), plain, sizeof(plain));
	colon = n > 0 ? memchr(plain, ':', (size_t)n) : NULL;
	return colon && copy_secret(colon + 1, (size_t)(plain + n - colon - 1), out, room);
}

/* ---- loops -------------------------------------------------------------------------- */

unsigned field_via(const char *value, const char *id, bool *ours)
{
	size_t want = strlen(id);
	unsigned hops = 0;

	*ours = false;
	for (const char *p = value; p && (p = strstr(p, "symfs/")); hops++) {
		p += strlen("symfs/");
		if (strncmp(p, id, want) == 0 && (!p[want] || strchr(" ,\t", p[want])))
			*ours = true;
	}
	return hops;
}

bool field_host(const char *value, size_t n, char out[static FIELD_HOST])
{
	static const char in_name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%";
	bool literal = n && *value == '[';
	size_t host = 0;

	if (literal)
		value++, n--;
	while (host < n && strchr(literal ? "0123456789abcdefABCDEF:." : in_name, value[host]))
		host++;
	if (host >= FIELD_HOST || (literal && (host == n || value[host] != ']')))
		return false;
	for (size_t i = host + literal; i < n; i++)
		if (i == host + literal ? value[i] != ':' : value[i] < '0' || value[i] > '9')
			return false;
	if (!literal && host > 1 && value[host - 1] == '.')
		host--;
	memcpy(out, value, host);
	out[host] = '\0';
	return true;
}
