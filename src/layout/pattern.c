/* Prints and reads paths by one pattern of a layout: "{code_file}/elf-buildid-{code}/{code_file}". */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/pattern.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "layout/layout.h"
#include "layout/name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The fields of a pattern. Those before FIELD_CODE_FILE are hex digits. */
enum field_kind {
	FIELD_CODE,
	FIELD_UUID,
	FIELD_GUID,
	FIELD_SIG,
	FIELD_SIG_PADDED,
	FIELD_STAMP,
	FIELD_AGE,
	FIELD_CODE_FILE,
	FIELD_DEBUG_FILE,
	FIELD_PATH,
	FIELD_SECTION,
};
#define HEX_FIELDS FIELD_CODE_FILE

static const struct field {
	const char *name;
	enum field_kind kind;
	bool upper;
	size_t digits; /* 0: any number of them */
} fields[] = {
	{"code", FIELD_CODE, false, 0},
	{"CODE", FIELD_CODE, true, 0},
	{"uuid", FIELD_UUID, false, 32},
	{"UUID", FIELD_UUID, true, 32},
	{"guid", FIELD_GUID, false, 32},
	{"GUID", FIELD_GUID, true, 32},
	{"sig", FIELD_SIG, false, 8},
	{"SIG", FIELD_SIG, true, 8},
	{"sig_padded", FIELD_SIG_PADDED, false, 32},
	{"SIG_PADDED", FIELD_SIG_PADDED, true, 32},
	{"stamp", FIELD_STAMP, false, 8},
	{"STAMP", FIELD_STAMP, true, 8},
	{"age", FIELD_AGE, false, 0},
	{"AGE", FIELD_AGE, true, 0},
	{"code_file", FIELD_CODE_FILE, false, 0},
	{"debug_file", FIELD_DEBUG_FILE, false, 0},
	{"path", FIELD_PATH, false, 0},
	{"given", FIELD_SECTION, false, 0},
	{"section", FIELD_SECTION, false, 0},
};

/* One piece of a pattern: a run of literal characters, or a field with its slice. */
struct token {
	const struct field *field; /* NULL: literal */
	const char *text;	   /* the characters of a literal */
	size_t n;
	size_t from, to; /* slice of a hex field, digits; to == 0: to the end */
	bool lower;	 /* {code_file:lower} */
	enum name_shape shape;
};

static bool word_is(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(p, word, n) == 0;
}

/* Parses what follows a colon: a slice, or a change of a name. */
static void token_modifier(const char *p, size_t n, struct token *t)
{
	static const char *const shapes[] = {
		[NAME_SYM] = "sym",
		[NAME_WINSYM] = "winsym",
		[NAME_SRC] = "src",
		[NAME_SYMSRC] = "symsrc",
	};

	if (isdigit((unsigned char)*p)) {
		char *end;

		t->from = strtoul(p, &end, 10);
		t->to = isdigit((unsigned char)end[1]) ? strtoul(end + 1, NULL, 10) : 0;
		return;
	}
	t->lower = t->lower || word_is(p, n, "lower");
	for (unsigned i = NAME_SYM; i < ARRAY_SIZE(shapes); i++)
		if (word_is(p, n, shapes[i]))
			t->shape = i;
}

/* Reads the next token of a pattern. Returns the end of the token. */
static const char *token_next(const char *p, struct token *t)
{
	size_t n;

	memset(t, 0, sizeof(*t));
	if (*p != '{') {
		t->text = p;
		t->n = strcspn(p, "{");
		return p + t->n;
	}
	n = strcspn(++p, ":}");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (word_is(p, n, fields[i].name))
			t->field = &fields[i];
	for (p += n; *p == ':'; p += n) {
		n = strcspn(++p, ":}");
		token_modifier(p, n, t);
	}
	return p + 1;
}

/* ---- artifact -> path --------------------------------------------------------------- */

/* The digits of a field; "": the module lacks it. A PDB 2.0 has a signature and no GUID. */
static const char *digits_of(
	const struct module *m, enum field_kind kind, char room[static CODE_ID_MAX + 1])
{
	const struct debug_id *d = &m->debug_id;

	room[0] = '\0';
	if (kind == FIELD_CODE)
		return m->code_id;
	if (kind == FIELD_UUID)
		return module_uuid(m, room) < 0 ? "" : room;
	if (!d->set)
		return "";
	if (kind == FIELD_AGE)
		snprintf(room, CODE_ID_MAX, "%x", d->age);
	else if (kind == FIELD_STAMP)
		return m->object == OBJECT_PE_DOTNET || debug_id_stamped(d) ? "ffffffff" : "";
	else if (d->pdb20 == (kind != FIELD_GUID))
		hex_print(d->guid, d->pdb20 ? 4 : 16, room);
	if (kind == FIELD_SIG_PADDED && *room)
		snprintf(room + 8, CODE_ID_MAX - 8, "%024d", 0);
	return room;
}

static int add_digits(struct buf *out, const struct module *m, const struct token *t)
{
	char room[CODE_ID_MAX + 1];
	const char *hex = digits_of(m, t->field->kind, room);
	size_t n = strlen(hex), to = t->to ? t->to : n;

	if (n == 0 || to > n || t->from >= to)
		return -ENOENT;
	for (size_t i = t->from; i < to; i++) {
		int c = t->field->upper ? toupper((unsigned char)hex[i])
					: tolower((unsigned char)hex[i]);
		char one = (char)c;
		int r = buf_add(out, &one, 1);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_name(struct buf *out, const char *name, const struct token *t)
{
	char shaped[MODULE_NAME_MAX];
	size_t start = out->n;
	int r;

	if (!path_name_ok(name, strlen(name)) || name_shaped(name, t->shape, shaped) < 0)
		return -ENOENT;
	r = buf_adds(out, shaped);
	for (size_t i = start; r == 0 && t->lower && i < out->n; i++)
		out->p[i] = (char)tolower((unsigned char)out->p[i]);
	return r;
}

static int add_field(struct buf *out, const struct module *m, const struct token *t)
{
	switch (t->field->kind) {
	case FIELD_CODE_FILE:
		return add_name(out, m->code_file, t);
	case FIELD_DEBUG_FILE:
		return add_name(out, m->debug_file, t);
	case FIELD_PATH:
		return m->path[0] == '/' && m->path[1] ? buf_adds(out, m->path + 1) : -ENOENT;
	case FIELD_SECTION:
		return add_name(out, m->path, t);
	default:
		return add_digits(out, m, t);
	}
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

/* ---- path -> artifact --------------------------------------------------------------- */

struct digits {
	char text[CODE_ID_MAX + 1];
	size_t n;
};

struct reading {
	struct module *m;
	struct digits hex[HEX_FIELDS];
};

/* Reads digits of a value, which may occur in slices and several times. False: they contradict each
 * other. */
static bool read_digits(struct digits *have, const struct token *t, const char *p, size_t n)
{
	size_t most = t->field->digits		    ? t->field->digits
		      : t->field->kind == FIELD_AGE ? 8
						    : CODE_ID_MAX;

	if (n == 0 || t->from > have->n || t->from + n > most)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t at = t->from + i;
		char c = (char)tolower((unsigned char)p[i]);

		if (hex_value(c) < 0 || (at < have->n && have->text[at] != c))
			return false;
		have->text[at] = c;
	}
	have->n = MAX(have->n, t->from + n);
	have->text[have->n] = '\0';
	return true;
}

/* A base name has no separator of either kind. */
static bool base_name_ok(const char *p, size_t n)
{
	return path_name_ok(p, n) && !memchr(p, '\\', n);
}

/* Reads a name. The plain name comes first; a later name must be derived from it. */
static bool read_name(
	char have[static MODULE_NAME_MAX], const struct token *t, const char *p, size_t n)
{
	char shaped[MODULE_NAME_MAX];

	if (!base_name_ok(p, n))
		return false;
	if (have[0])
		return name_shaped(have, t->shape, shaped) == 0 && strlen(shaped) == n &&
			strncasecmp(shaped, p, n) == 0;
	if (t->shape != NAME_AS_IS)
		return false;
	memcpy(have, p, n);
	have[n] = '\0';
	return true;
}

static bool read_field(struct reading *r, const struct token *t, const char *p, size_t n)
{
	switch (t->field->kind) {
	case FIELD_CODE_FILE:
		return read_name(r->m->code_file, t, p, n);
	case FIELD_DEBUG_FILE:
		return read_name(r->m->debug_file, t, p, n);
	case FIELD_SECTION:
		if (!path_name_ok(p, n))
			return false;
		snprintf(r->m->path, sizeof(r->m->path), "%.*s", (int)n, p);
		return true;
	case FIELD_PATH:
		return false; /* read_rest() reads this field */
	default:
		return read_digits(&r->hex[t->field->kind], t, p, n);
	}
}

/* The number of characters of a token; 0: the token takes the characters that the other tokens of its
 * component leave. */
static size_t token_width(const struct token *t)
{
	size_t end;

	if (!t->field)
		return t->n;
	end = t->to ? t->to : t->field->digits;
	return end ? end - t->from : 0;
}

/* Reads one component: matches pattern[0..pn) with p[0..n). At most one of its tokens has no fixed width. */
static bool read_component(
	struct reading *r, const char *pattern, size_t pn, const char *p, size_t n)
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

/* Reads {path}: the rest of the path, whose components must all be valid names. */
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

static uint32_t read_number(const struct digits *d)
{
	return (uint32_t)strtoul(d->text, NULL, 16);
}

static bool read_debug_id(const struct reading *r, struct debug_id *out)
{
	const struct digits *sig =
		r->hex[FIELD_SIG].n ? &r->hex[FIELD_SIG] : &r->hex[FIELD_SIG_PADDED];
	const struct digits *id = sig->n ? sig : &r->hex[FIELD_GUID];

	out->age = read_number(&r->hex[r->hex[FIELD_STAMP].n ? FIELD_STAMP : FIELD_AGE]);
	out->set = id->n != 0;
	out->pdb20 = sig->n != 0;
	if (sig->n > 8 && strspn(sig->text + 8, "0") != sig->n - 8)
		return false;
	return !id->n || hex_read(id->text, sig->n ? 8 : 32, out->guid) == 0;
}

static bool reading_done(struct reading *r)
{
	const struct digits *code = &r->hex[r->hex[FIELD_UUID].n ? FIELD_UUID : FIELD_CODE];

	snprintf(r->m->code_id, sizeof(r->m->code_id), "%s", code->text);
	return read_debug_id(r, &r->m->debug_id);
}

unsigned pattern_parse(const char *pattern, const char *path, struct module *m)
{
	struct reading r = {.m = m};

	memset(m, 0, sizeof(*m));
	for (;;) {
		size_t pn = strcspn(pattern, "/"), n = strcspn(path, "/");

		if (strncmp(pattern, "{path}", 6) == 0)
			return read_rest(&r, path) && reading_done(&r) ? LAYOUT_FILE | LAYOUT_DIR
								       : LAYOUT_NONE;
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

/* ---- directories -------------------------------------------------------------------- */

static bool of_prefix(const struct token *t)
{
	return t->field && t->field->kind < FIELD_STAMP;
}

/* Whether the digits of the id are complete after this slice of them. */
static bool completes(const struct token *t)
{
	size_t whole = t->field->kind == FIELD_SIG_PADDED ? 8 : t->field->digits;

	return !t->to || (whole && t->to >= whole);
}

static const char *token_of(const char *p, const char *end, struct token *t)
{
	p = token_next(p, t);
	if (!t->field && p > end) {
		t->n -= (size_t)(p - end);
		p = end;
	}
	return p;
}

static void next_component(const char *pattern, struct pattern_part *out)
{
	const char *end;
	struct token t;

	out->text = pattern;
	out->n = strcspn(pattern, "/");
	end = pattern + out->n;
	for (const char *p = pattern; p < end;) {
		p = token_of(p, end, &t);
		if (!t.field)
			continue;
		if (of_prefix(&t)) {
			out->by_digits = true;
			out->completes = out->completes || completes(&t);
			out->digits = MAX(out->digits, t.to);
		} else if (t.field->kind == FIELD_CODE_FILE || t.field->kind == FIELD_DEBUG_FILE) {
			out->by_name = true;
		} else {
			out->by_other = out->by_other || t.field->kind == FIELD_AGE;
			out->by_case = out->by_case || t.field->kind >= FIELD_PATH;
			out->rest = out->rest || t.field->kind == FIELD_PATH;
		}
	}
}

static void note_whole(const char *pattern, size_t pn, struct pattern_part *out)
{
	struct token t;

	for (const char *p = pattern; p < pattern + pn;) {
		p = token_of(p, pattern + pn, &t);
		out->whole = out->whole || (of_prefix(&t) && completes(&t));
	}
}

/* Copies the name and the prefix that the components of the path contained. */
static void take_reading(const struct reading *r, struct pattern_part *out)
{
	const struct module *m = r->m;

	snprintf(out->name, sizeof(out->name), "%s", m->code_file[0] ? m->code_file : m->debug_file);
	for (unsigned kind = 0; kind < FIELD_STAMP && !out->prefix[0]; kind++)
		snprintf(out->prefix, sizeof(out->prefix), "%.*s", kind == FIELD_SIG_PADDED ? 8 : CODE_ID_MAX,
			r->hex[kind].text);
}

static int part_of(struct reading *r, const char *pattern, const char *path,
	struct pattern_part *out)
{
	const char *start = path;

	while (*path) {
		size_t pn = strcspn(pattern, "/"), n = strcspn(path, "/");

		if (strncmp(pattern, "{path}", 6) == 0) {
			out->rest_at = (size_t)(path - start);
			if (!read_rest(r, path))
				return -ENOENT;
			break;
		}
		if (!pn || !read_component(r, pattern, pn, path, n))
			return -ENOENT;
		note_whole(pattern, pn, out);
		pattern += pn + (pattern[pn] == '/');
		path += n + (path[n] == '/');
	}
	take_reading(r, out);
	out->ends = !*pattern;
	next_component(pattern, out);
	return 0;
}

int pattern_part(const char *pattern, const char *path, struct pattern_part *out)
{
	_cleanup_free_ struct module *m = calloc(1, sizeof(*m));
	struct reading r = {.m = m};

	memset(out, 0, sizeof(*out));
	return m ? part_of(&r, pattern, path, out) : -ENOMEM;
}

bool pattern_accepts(const struct pattern_part *part, const char *name, size_t n)
{
	_cleanup_free_ struct module *m = calloc(1, sizeof(*m));
	struct reading r = {.m = m};
	char prefix[CODE_ID_MAX + 1];

	if (part->ends || !m)
		return false;
	if (part->by_other || part->by_case || part->by_name)
		return true; /* the caller finds out by looking for such a file */
	snprintf(prefix, sizeof(prefix), "%s", part->prefix);
	for (unsigned kind = 0; kind < FIELD_STAMP; kind++) {
		memcpy(r.hex[kind].text, prefix, sizeof(prefix));
		r.hex[kind].n = strlen(prefix);
	}
	return read_component(&r, part->text, part->n, name, n);
}
