/* One pattern, both ways: "{code_file}/elf-buildid-{code}/{code_file}". */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/pattern.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "layout/layout.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum field_kind { FIELD_CODE, FIELD_GUID, FIELD_AGE, FIELD_CODE_FILE, FIELD_DEBUG_FILE, FIELD_PATH, FIELD_SECTION };

static const struct field {
	const char *name;
	enum field_kind kind;
	bool upper;
} fields[] = {
	{"code", FIELD_CODE, false},	       {"CODE", FIELD_CODE, true},
	{"guid", FIELD_GUID, false},	       {"GUID", FIELD_GUID, true},
	{"age", FIELD_AGE, false},	       {"AGE", FIELD_AGE, true},
	{"code_file", FIELD_CODE_FILE, false}, {"debug_file", FIELD_DEBUG_FILE, false},
	{"path", FIELD_PATH, false},	       {"section", FIELD_SECTION, false},
};

/* One piece of a pattern: a run of literal characters, or a field with its slice. */
struct token {
	const struct field *field; /* NULL: literal */
	const char *text;	   /* of a literal */
	size_t n;
	size_t from, to; /* slice of a hex field, digits; to == 0: to the end */
	bool lower;	 /* {code_file:lower} */
};

/* The next token of a pattern; where it ends. */
static const char *token_next(const char *p, struct token *t)
{
	const char *close, *colon;
	size_t n;

	memset(t, 0, sizeof(*t));
	if (*p != '{') {
		t->text = p;
		t->n = strcspn(p, "{");
		return p + t->n;
	}
	close = strchr(p, '}');
	colon = memchr(p, ':', (size_t)(close - p));
	n = (size_t)((colon ? colon : close) - p - 1);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (strlen(fields[i].name) == n && memcmp(fields[i].name, p + 1, n) == 0)
			t->field = &fields[i];
	if (colon && isdigit((unsigned char)colon[1])) {
		char *end;

		t->from = strtoul(colon + 1, &end, 10);
		t->to = isdigit((unsigned char)end[1]) ? strtoul(end + 1, NULL, 10) : 0;
	} else if (colon) {
		t->lower = strncmp(colon + 1, "lower", 5) == 0;
	}
	return close + 1;
}

/* ---- artifact -> path --------------------------------------------------------------------- */

static int add_digits(struct buf *out, const char *hex, const struct token *t)
{
	size_t n = strlen(hex), to = t->to ? t->to : n;

	if (n == 0 || to > n || t->from >= to)
		return -ENOENT;
	for (size_t i = t->from; i < to; i++) {
		int c = t->field->upper ? toupper((unsigned char)hex[i]) : tolower((unsigned char)hex[i]);
		char one = (char)c;
		int r = buf_add(out, &one, 1);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_name(struct buf *out, const char *name, const struct token *t)
{
	size_t start = out->n;
	int r;

	if (!path_name_ok(name, strlen(name)))
		return -ENOENT;
	r = buf_adds(out, name);
	for (size_t i = start; r == 0 && t->lower && i < out->n; i++)
		out->p[i] = (char)tolower((unsigned char)out->p[i]);
	return r;
}

static int add_field(struct buf *out, const struct module *m, const struct token *t)
{
	char hex[DEBUG_ID_TEXT];

	switch (t->field->kind) {
	case FIELD_CODE:
		return add_digits(out, m->code_id, t);
	case FIELD_GUID:
		if (!m->debug_id.set)
			return -ENOENT;
		hex_print(m->debug_id.guid, m->debug_id.pdb20 ? 4 : 16, hex);
		return add_digits(out, hex, t);
	case FIELD_AGE:
		if (!m->debug_id.set)
			return -ENOENT;
		return buf_addf(out, t->field->upper ? "%X" : "%x", m->debug_id.age);
	case FIELD_CODE_FILE:
		return add_name(out, m->code_file, t);
	case FIELD_DEBUG_FILE:
		return add_name(out, m->debug_file, t);
	case FIELD_PATH:
		return m->path[0] == '/' && m->path[1] ? buf_adds(out, m->path + 1) : -ENOENT;
	case FIELD_SECTION:
		return add_name(out, m->path, t);
	}
	return -ENOENT;
}

int pattern_print(const char *pattern, const struct module *m, struct buf *out)
{
	int r = 0;

	while (*pattern && r == 0) {
		struct token t;

		pattern = token_next(pattern, &t);
		r = t.field ? add_field(out, m, &t) : buf_add(out, t.text, t.n);
	}
	return r;
}

/* ---- path -> artifact --------------------------------------------------------------------- */

struct reading {
	struct module *m;
	char code[CODE_ID_MAX + 1], guid[33];
	size_t code_n, guid_n;
	bool has_age;
};

/* Digits of one value, which may stand in slices and more than once. */
static bool read_digits(char *have, size_t *have_n, size_t most, const struct token *t,
	const char *p, size_t n)
{
	if (n == 0 || t->from > *have_n || t->from + n > most)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t at = t->from + i;
		char c = (char)tolower((unsigned char)p[i]);

		if (hex_value(c) < 0 || (at < *have_n && have[at] != c))
			return false;
		have[at] = c;
	}
	*have_n = MAX(*have_n, t->from + n);
	have[*have_n] = '\0';
	return true;
}

static bool read_name(char have[static MODULE_NAME_MAX], const char *p, size_t n)
{
	if (!path_name_ok(p, n))
		return false;
	if (have[0])
		return strlen(have) == n && strncasecmp(have, p, n) == 0;
	memcpy(have, p, n);
	have[n] = '\0';
	return true;
}

static bool read_age(struct reading *r, const char *p, size_t n)
{
	uint32_t age = 0;

	if (n == 0 || n > 8)
		return false;
	for (size_t i = 0; i < n; i++) {
		int d = hex_value(p[i]);

		if (d < 0)
			return false;
		age = age << 4 | (uint32_t)d;
	}
	if (r->has_age && r->m->debug_id.age != age)
		return false;
	r->m->debug_id.age = age;
	r->has_age = true;
	return true;
}

static bool read_field(struct reading *r, const struct token *t, const char *p, size_t n)
{
	switch (t->field->kind) {
	case FIELD_CODE:
		return read_digits(r->code, &r->code_n, CODE_ID_MAX, t, p, n);
	case FIELD_GUID:
		return read_digits(r->guid, &r->guid_n, 32, t, p, n);
	case FIELD_AGE:
		return read_age(r, p, n);
	case FIELD_CODE_FILE:
		return read_name(r->m->code_file, p, n);
	case FIELD_DEBUG_FILE:
		return read_name(r->m->debug_file, p, n);
	case FIELD_SECTION:
		if (!path_name_ok(p, n))
			return false;
		snprintf(r->m->path, sizeof(r->m->path), "%.*s", (int)n, p);
		return true;
	case FIELD_PATH:
		break; /* read_rest() */
	}
	return false;
}

/* How many characters a token takes; 0 for the one of a component that takes what is left. */
static size_t token_width(const struct token *t)
{
	if (!t->field)
		return t->n;
	if (t->field->kind == FIELD_GUID)
		return (t->to ? t->to : 32) - t->from;
	return t->field->kind == FIELD_CODE && t->to ? t->to - t->from : 0;
}

/* One component: pattern[0..pn) against p[0..n). At most one of its tokens has no fixed width. */
static bool read_component(struct reading *r, const char *pattern, size_t pn, const char *p, size_t n)
{
	const char *end = pattern + pn;
	struct token t;
	size_t fixed = 0;

	for (const char *q = pattern; q < end;) {
		q = token_next(q, &t);
		if (!t.field && q > end)
			t.n -= (size_t)(q - end);
		fixed += token_width(&t);
	}
	if (n < fixed)
		return false;
	for (const char *q = pattern; q < end;) {
		size_t width;

		q = token_next(q, &t);
		if (!t.field && q > end)
			t.n -= (size_t)(q - end);
		width = token_width(&t);
		if (width == 0)
			width = n - fixed;
		else
			fixed -= width;
		if (width > n)
			return false;
		if (t.field ? !read_field(r, &t, p, width) : strncasecmp(t.text, p, width) != 0)
			return false;
		p += width;
		n -= width;
	}
	return n == 0;
}

/* {path}: everything that is left, each part a proper name. */
static bool read_rest(struct reading *r, const char *path)
{
	int n = snprintf(r->m->path, sizeof(r->m->path), "/%s", path);

	if (n < 0 || (size_t)n >= sizeof(r->m->path))
		return false;
	while (*path) {
		size_t part = strcspn(path, "/");

		if (!path_name_ok(path, part))
			return false;
		path += part;
		if (*path == '/' && !*++path)
			return false;
	}
	return true;
}

static bool reading_done(struct reading *r)
{
	if (r->code_n)
		snprintf(r->m->code_id, sizeof(r->m->code_id), "%s", r->code);
	if (r->guid_n) {
		if (r->guid_n != 32 || hex_read(r->guid, 32, r->m->debug_id.guid) < 0)
			return false;
		r->m->debug_id.set = true;
	}
	return true;
}

unsigned pattern_parse(const char *pattern, const char *path, struct module *m)
{
	struct reading r = {.m = m};

	memset(m, 0, sizeof(*m));
	for (;;) {
		size_t pn = strcspn(pattern, "/"), n = strcspn(path, "/");

		if (strncmp(pattern, "{path}", 6) == 0)
			return read_rest(&r, path) && reading_done(&r) ? LAYOUT_FILE | LAYOUT_DIR : LAYOUT_NONE;
		if (!read_component(&r, pattern, pn, path, n))
			return LAYOUT_NONE;
		pattern += pn;
		path += n;
		if (!*path)
			return *pattern ? LAYOUT_DIR : reading_done(&r) ? LAYOUT_FILE : LAYOUT_NONE;
		if (!*pattern || !path[1])
			return LAYOUT_NONE;
		pattern++;
		path++;
	}
}
