/* Paths of source files, as Mozilla's symbolication service shows them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/eliot.h"

#include <string.h>

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

static bool is_drive(const char *p, size_t n)
{
	return n >= 2 && ((p[0] | 32) >= 'a' && (p[0] | 32) <= 'z') && p[1] == ':' &&
	       (n == 2 || is_separator(p[2]));
}

static bool is_unc(const char *p, size_t n)
{
	return n >= 2 && is_separator(p[0]) && p[1] == p[0];
}

static char separator_of(const char *p, size_t n)
{
	return memchr(p, '\\', n) || is_unc(p, n) || is_drive(p, n) ? '\\' : '/';
}

/* Splits a path into directory and name, and joins them again. Separators at the end are dropped. Several
 * separators between directory and name become one. A name such as `<stdin>` or `C:` replaces the whole path.
 * Returns the length in `room`. */
static size_t join_again(const char *p, size_t n, char *room)
{
	size_t end = n, name, dir;

	while (end && is_separator(p[end - 1]))
		end--;
	end = end ? end : n;
	for (name = end; name && !is_separator(p[name - 1]);)
		name--;
	dir = name > 1 ? name - 1 : name; /* a root keeps its separator */
	if (!name || (end > name && ((p[name] == '<' && p[end - 1] == '>') || is_drive(p + name, end - name)))) {
		memcpy(room, p + name, end - name);
		return end - name;
	}
	memcpy(room, p, dir);
	if (end == name)
		return dir;
	room[dir] = separator_of(p, dir);
	while (dir && is_separator(p[dir - 1])) {
		room[dir - 1] = room[dir];
		dir--;
	}
	memcpy(room + dir + 1, p + name, end - name);
	return dir + 1 + end - name;
}

/* Removes the last part of a path. False: the path has no part that could go. */
static bool pop_part(const char *room, size_t *n)
{
	size_t at = *n;

	if (!at)
		return false;
	while (at && !is_separator(room[at - 1]))
		at--;
	*n = at ? at - 1 : 0;
	return true;
}

/* Removes `.` and `..`, in place: the result is never longer. Returns its length. */
static size_t clean(char *room, size_t n)
{
	const char *p = room, *end = room + n;
	char separator = separator_of(p, n);
	bool needs = false, past_root = false;
	size_t made = 0;

	while (p < end) {
		const char *part = p;
		size_t len;

		while (p < end && !is_separator(*p))
			p++;
		len = (size_t)(p - part);
		p += p < end;
		if (len == 1 && part[0] == '.')
			continue;
		if (len == 2 && part[0] == '.' && part[1] == '.') {
			if (!past_root && pop_part(room, &made)) {
				needs = needs && made;
				continue;
			}
			needs = needs && past_root;
			past_root = true;
		}
		if (needs)
			room[made++] = separator;
		memmove(room + made, part, len);
		made += len;
		needs = true;
	}
	return made;
}

size_t eliot_path(const char *p, size_t n, char *room)
{
	n = n ? clean(room, join_again(p, n, room)) : 0;
	room[n] = '\0';
	return n;
}
