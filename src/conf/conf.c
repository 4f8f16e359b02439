/* Sections and entries of symfs.conf, and the reader of its lines. inih was tried: it cuts lines
 * at 200 bytes and reports no line numbers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "conf/conf.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/util.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#define BLANKS " \t\r"
#define LINE_MOST 8192
#define FILE_MOST (1u << 20)
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

struct conf {
	struct conf_section *first, **last;
};

int conf_new(struct conf **out)
{
	struct conf *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->last = &c->first;
	*out = c;
	return 0;
}

static void section_free(struct conf_section *s)
{
	while (s->entries) {
		struct conf_entry *e = s->entries;

		s->entries = e->next;
		free(e->name);
		free(e->value);
		free(e->file);
		free(e);
	}
	free(s->kind);
	free(s->name);
	free(s->file);
	free(s);
}

void conf_free(struct conf *c)
{
	if (!c)
		return;
	while (c->first) {
		struct conf_section *s = c->first;

		c->first = s->next;
		section_free(s);
	}
	free(c);
}

struct conf_section *conf_add(struct conf *c, const char *kind, const char *name, const char *file, bool first)
{
	struct conf_section *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->kind = strdup(kind);
	s->name = strdup(name);
	s->file = strdup(file);
	if (!s->kind || !s->name || !s->file) {
		section_free(s);
		return NULL;
	}
	if (first) {
		s->next = c->first;
		c->first = s;
	} else {
		*c->last = s;
	}
	if (!s->next)
		c->last = &s->next;
	return s;
}

const struct conf_section *conf_last(const struct conf *c)
{
	const struct conf_section *s = c->first;

	while (s && s->next)
		s = s->next;
	return s;
}

void conf_mark_presets(struct conf *c, const struct conf_section *last)
{
	for (struct conf_section *s = last ? last->next : c->first; s; s = s->next)
		s->preset = true;
}

void conf_drop_after(struct conf *c, const struct conf_section *last, const char *kind)
{
	struct conf_section **at = &c->first;
	bool behind = last == NULL;

	while (*at) {
		struct conf_section *s = *at;

		if (behind && strcmp(s->kind, kind) == 0) {
			*at = s->next;
			section_free(s);
			continue;
		}
		behind |= s == last;
		at = &s->next;
	}
	c->last = at;
}

int conf_set_from(struct conf_section *s, const char *name, const char *value, const char *file, unsigned line)
{
	struct conf_entry *e = calloc(1, sizeof(*e)), **at = &s->entries;

	if (!e)
		return -ENOMEM;
	e->line = line;
	e->name = strdup(name);
	e->value = strdup(value);
	e->file = file ? strdup(file) : NULL;
	for (char *p = e->name; p && *p; p++)
		*p = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
	while (*at)
		at = &(*at)->next;
	*at = e;
	return e->name && e->value && (e->file || !file) ? 0 : -ENOMEM;
}

int conf_set(struct conf_section *s, const char *name, const char *value, unsigned line)
{
	return conf_set_from(s, name, value, NULL, line);
}

struct conf_section *conf_find_after(const struct conf_section *s)
{
	struct conf_section *t = s->next;

	while (t && (strcmp(t->kind, s->kind) != 0 || strcmp(t->name, s->name) != 0))
		t = t->next;
	return t;
}

const struct conf_section *conf_next(const struct conf *c, const char *kind,
	const struct conf_section *after)
{
	const struct conf_section *s = after ? after->next : c->first;

	while (s && strcmp(s->kind, kind) != 0)
		s = s->next;
	return s;
}

const struct conf_section *conf_find(const struct conf *c, const char *kind, const char *name)
{
	const struct conf_section *s = conf_next(c, kind, NULL);

	while (s && strcmp(s->name, name) != 0)
		s = conf_next(c, kind, s);
	return s;
}

const char *conf_get(const struct conf_section *s, const char *name)
{
	const char *value = NULL;

	for (const struct conf_entry *e = s->entries; e; e = e->next)
		if (strcmp(e->name, name) == 0)
			value = e->value;
	return value;
}

int conf_only(const struct conf *c, const char *const kinds[], struct err *e)
{
	for (const struct conf_section *s = c->first; s; s = s->next) {
		const char *const *k = kinds;

		while (*k && strcmp(*k, s->kind) != 0)
			k++;
		if (!*k)
			return err_set(e, -EINVAL,
				"%s:%u: unknown section [%.60s]; expected [symfs] or [source "
				"\"NAME\"]",
				s->file, s->line, s->kind);
	}
	return 0;
}

/* ---- lines -------------------------------------------------------------------------- */

/* [kind] or [kind "name"] */
static int read_section(struct conf *c, const char *file, unsigned line, char *p, struct err *e)
{
	char *close = strrchr(p, ']'), *quote, *name = NULL;
	struct conf_section *s;

	if (!close || *text_trim(close + 1, BLANKS))
		return err_set(
			e, -EINVAL, "%s:%u: expected ] at the end of a section's line", file, line);
	*close = '\0';
	p = text_trim(p + 1, BLANKS);
	quote = strchr(p, '"');
	if (quote) {
		char *end = strchr(quote + 1, '"');

		if (!end || *text_trim(end + 1, BLANKS))
			return err_set(e, -EINVAL, "%s:%u: expected [source \"NAME\"]", file, line);
		*quote = *end = '\0';
		name = quote + 1;
		p = text_trim(p, BLANKS);
	}
	s = conf_add(c, p, name ? name : "", file, false);
	if (!s)
		return -ENOMEM;
	s->line = line;
	return 0;
}

static int read_entry(
	struct conf_section *s, const char *file, unsigned line, char *p, struct err *e)
{
	char *equals = strchr(p, '='), *value;
	size_t n = strspn(p, NAME_CHARS);

	/* The message has only the first word of the line: the rest may be a password, or a token in an HTTP
	 * header. */
	if (!equals)
		return err_set(e, -EINVAL, "%s:%u: expected NAME = VALUE, found \"%.*s...\"", file,
			line, (int)MIN(n, 60), p);
	*equals = '\0';
	p = text_trim(p, BLANKS);
	value = text_trim(equals + 1, BLANKS);
	if (!*p || p[n])
		return err_set(e, -EINVAL, "%s:%u: expected a name in front of =, found \"%.*s%s\"",
			file, line, (int)MIN(n, 60), p, p[0] ? "..." : "");
	if (!s)
		return err_set(
			e, -EINVAL, "%s:%u: \"%.60s\" comes before any [section]", file, line, p);
	n = strlen(value);
	if (n >= 2 && value[0] == '"' && value[n - 1] == '"') {
		value[n - 1] = '\0';
		value++;
	}
	return conf_set(s, p, value, line);
}

static int read_line(struct conf *c, struct conf_section **s, const char *file, unsigned line,
	char *p, struct err *e)
{
	int r;

	p = text_trim(p, BLANKS);
	if (!*p || *p == '#' || *p == ';')
		return 0;
	if (*p != '[')
		return read_entry(*s, file, line, p, e);
	r = read_section(c, file, line, p, e);
	for (*s = c->first; r == 0 && (*s)->next;)
		*s = (*s)->next;
	return r;
}

static int read_text(struct conf *c, const char *file, const char *text, size_t n, struct err *e)
{
	struct conf_section *s = NULL;
	char room[LINE_MOST];
	unsigned line = 0;

	while (n) {
		const char *end = memchr(text, '\n', n);
		size_t len = end ? (size_t)(end - text) : n;
		int r;

		line++;
		if (len >= sizeof(room))
			return err_set(e, -EINVAL, "%s:%u: the line is longer than %d bytes", file,
				line, LINE_MOST - 1);
		if (memchr(text, '\0', len))
			return err_set(e, -EINVAL, "%s:%u: a NUL byte: this is not a text file",
				file, line);
		memcpy(room, text, len);
		room[len] = '\0';
		r = read_line(c, &s, file, line, room, e);
		if (r < 0)
			return r == -ENOMEM ? err_set(e, r, "%s: out of memory", file) : r;
		n -= len + (end ? 1 : 0);
		text += len + (end ? 1 : 0);
	}
	return 0;
}

int conf_read(struct conf *c, const char *path, const char *text, size_t n, struct err *e)
{
	_cleanup_free_ char *own = NULL;
	int r = text ? 0 : path_read(AT_FDCWD, path, FILE_MOST, &own, &n);

	if (r == -EFBIG)
		return err_set(
			e, -EINVAL, "%s: larger than 1 MiB: this is not a configuration", path);
	if (r < 0)
		return err_set(e, r, "%s: %s", path, err_text(r));
	return read_text(c, path, text ? text : own, n, e);
}
