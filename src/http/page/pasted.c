/* Finds files in pasted text: URLs, paths, and the identifiers in crash reports, lists of modules and stacks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/page/pasted.h"
#include "base/hash.h"
#include "base/util.h"
#include "http/route.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define GUID_DIGITS 32
#define SHORT_LEAST 8 /* digits of an identifier behind the words "build id" */
#define LINE_MOST 4096 /* bytes of a line that are looked at */

static bool is_digit(char c)
{
	return hex_value(c) >= 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* ---- names ---------------------------------------------------------------------------- */

/* A word of a line, without the directories before it and the offset behind it: "/usr/lib/libx.so.6+0x1234" is
 * "libx.so.6". */
struct word {
	const char *p;
	size_t n;
};

static const char name_ends_at[] = " \t\r,;|\"'()[]{}<>=*";

static struct word next_word(const char **line)
{
	const char *offset;
	struct word w;

	*line += strspn(*line, name_ends_at);
	w.p = *line;
	w.n = strcspn(w.p, name_ends_at);
	*line += w.n;
	while (w.n && strchr(":.", w.p[w.n - 1]))
		w.n--;
	offset = memmem(w.p, w.n, "+0x", 3);
	w.n = offset ? (size_t)(offset - w.p) : w.n;
	for (size_t i = w.n; i-- > 0;)
		if (w.p[i] == '/' || w.p[i] == '\\') {
			w.p += i + 1;
			w.n -= i + 1;
			break;
		}
	return w;
}

/* How much a word looks like the name of a file; 0: not at all. A name that ends as debug files end is more likely
 * the file of a debug id than its program. */
static unsigned likeness(const struct word *w, bool has_path)
{
	static const char *const ends[] = {".sym", ".dbg", ".debug", ".exe", ".dll", ".sys", ".so", ".dylib", ".pdb"};
	bool letters = false, dot = false;

	if (w->n == 0 || w->n >= MODULE_NAME_MAX)
		return 0;
	for (size_t i = 0; i < w->n; i++) {
		letters |= isalpha((unsigned char)w->p[i]) && !is_digit(w->p[i]);
		dot |= w->p[i] == '.';
	}
	if (!letters)
		return 0;
	for (unsigned i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t n = strlen(ends[i]);

		if (w->n > n && strncasecmp(w->p + w->n - n, ends[i], n) == 0)
			return 3 + i;
	}
	if (memmem(w->p, w->n, ".so.", 4))
		return 9;
	return has_path ? 2 : dot ? 1 : 0;
}

/* systemd's reports have lines such as "Module prog with build-id ...". */
static bool is_module_word(const struct word *w)
{
	return w->n == 6 && strncasecmp(w->p, "module", 6) == 0;
}

static void find_name(const char *line, char out[static MODULE_NAME_MAX])
{
	bool after_module = false;
	unsigned best = 0;

	out[0] = '\0';
	while (*line) {
		const char *from = line + strspn(line, name_ends_at);
		struct word w = next_word(&line);
		unsigned like = likeness(&w, (w.n && w.p > from) || after_module);

		after_module = is_module_word(&w);

		if (like > best) {
			best = like;
			snprintf(out, MODULE_NAME_MAX, "%.*s", (int)w.n, w.p);
		}
	}
}

/* ---- identifiers ------------------------------------------------------------------------ */

/* Reads hexadecimal digits, with dashes between them, from `p`. Returns the bytes read. */
static size_t read_digits(const char *p, char *out, size_t room, size_t *n)
{
	size_t i = 0;

	for (*n = 0; is_digit(p[i]) || (p[i] == '-' && *n && is_digit(p[i + 1])); i++)
		if (p[i] != '-') {
			if (*n + 1 >= room)
				return 0;
			out[(*n)++] = p[i];
		}
	out[*n] = '\0';
	return i;
}

/* Reads the age behind a GUID: "}, 1", " age: 2". Without "age" it must be a short number that ends the line or comes
 * before a separator. Returns false if no age is there. */
static bool read_age(const char *p, unsigned *age)
{
	const char *start = p += *p == '}';
	bool named = false;
	size_t n;

	p += strspn(p, " \t,;|");
	if (strncasecmp(p, "age", 3) == 0) {
		named = true;
		p += 3;
		p += strspn(p, " \t=:");
	}
	n = strspn(p, "0123456789");
	if (p == start || n == 0 || n > 4 || is_word(p[n]) || (!named && !strchr(" \t\r,;|", p[n])))
		return false;
	*age = (unsigned)strtoul(p, NULL, 10);
	return named || *age < 100;
}

/* Whether the words "build id" come before this place of the line: "BuildId: ", "build-id ", "build_id=". */
static bool after_build_id(const char *line, const char *at)
{
	static const char word[] = "buildid";
	size_t want = strlen(word);

	while (at > line && strchr(" \t:=\"'(", at[-1]))
		at--;
	while (want && at > line) {
		char c = *--at;

		if (c == '-' || c == '_' || c == ' ')
			continue;
		if (tolower((unsigned char)c) != word[want - 1])
			return false;
		want--;
	}
	return want == 0;
}

/* Reads an identifier at `p`. Returns the bytes read; 0: it is none. */
static size_t read_id(const char *line, const char *p, struct pasted_id *out)
{
	unsigned age;
	size_t n, used = read_digits(p, out->id, sizeof(out->id), &n);

	if (used == 0 || is_word(p[used]) || (n >= 2 && p[0] == '0' && (p[1] | 0x20) == 'x'))
		return 0;
	if (n < GUID_DIGITS && (n < SHORT_LEAST || !after_build_id(line, p)))
		return 0;
	if (n == GUID_DIGITS && read_age(p + used, &age) && age)
		snprintf(out->id + n, sizeof(out->id) - n, "%x", age);
	return used;
}

static bool is_known(const struct pasted_id *list, unsigned n, const struct pasted_id *one)
{
	for (unsigned i = 0; i < n; i++)
		if (strcasecmp(list[i].id, one->id) == 0 && strcmp(list[i].name, one->name) == 0)
			return true;
	return false;
}

static unsigned ids_of_line(const char *line, struct pasted_id *out, unsigned n, unsigned most)
{
	struct pasted_id one;
	char name[MODULE_NAME_MAX];

	find_name(line, name);
	for (const char *p = line; *p && n < most;) {
		size_t used = p == line || !is_word(p[-1]) ? read_id(line, p, &one) : 0;

		if (used) {
			snprintf(one.name, sizeof(one.name), "%s", name);
			if (!is_known(out, n, &one))
				out[n++] = one;
		}
		p += MAX(used, (size_t)1);
	}
	return n;
}

unsigned pasted_ids(const char *text, struct pasted_id *out, unsigned most)
{
	char line[LINE_MOST];
	unsigned n = 0;

	while (*text && n < most) {
		size_t len = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)MIN(len, sizeof(line) - 1), text);
		n = ids_of_line(line, out, n, most);
		text += len + (text[len] == '\n');
	}
	return n;
}

/* ---- one word --------------------------------------------------------------------------- */

static const char around[] = " \t\r\n\"'`<>";

bool pasted_path(const char *text, char *out, size_t room)
{
	const char *end, *scheme;
	size_t n;

	text += strspn(text, around);
	n = strlen(text);
	while (n && strchr(around, text[n - 1]))
		n--;
	end = text + n;
	scheme = memmem(text, n, "://", 3);
	if (!scheme || scheme == text) {
		if (n >= room)
			return false;
		memcpy(out, text, n);
		out[n] = '\0';
		return true;
	}
	scheme += strcspn(scheme + 3, "/") + 3;
	if (scheme >= end) {
		out[0] = '\0';
		return room > 0;
	}
	n = MIN(strcspn(scheme, "?#"), (size_t)(end - scheme));
	text = scheme + MIN(strspn(scheme, "/"), n);
	return route_decode(text, n - (size_t)(text - scheme), ROUTE_IN_PATH, out, room) == 0;
}

bool pasted_is_long(const char *text)
{
	text += strspn(text, around);
	text += strcspn(text, "\n");
	return text[strspn(text, around)] != '\0';
}
