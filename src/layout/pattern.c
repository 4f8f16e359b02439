/* Compiles a pattern of a layout ("{code_file}/elf-buildid-{code}/{code_file}"), and prints and reads paths by it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/pattern.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "layout/layout.h"
#include "layout/name.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/* One piece of a component: a run of literal characters, or a field with its slice. */
struct token {
	const struct field *field; /* NULL: literal */
	const char *text;	   /* the characters of a literal */
	size_t n;
	size_t from, to; /* slice of a hex field, digits; to == 0: to the end */
	size_t width;	 /* characters in a path; 0: those that the other tokens of the component leave */
	size_t most;	 /* digits that the value has at most */
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

static size_t width_of(const struct token *t)
{
	size_t end;

	if (!t->field)
		return t->n;
	end = t->to ? t->to : t->field->digits;
	return end ? end - t->from : 0;
}

/* Reads the next token of a component that ends at `end`. Returns the end of the token. */
static const char *token_next(const char *p, const char *end, struct token *t)
{
	size_t n;

	memset(t, 0, sizeof(*t));
	if (*p != '{') {
		t->text = p;
		while (p < end && *p != '{')
			p++;
		t->n = t->width = (size_t)(p - t->text);
		return p;
	}
	n = strcspn(++p, ":}");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (word_is(p, n, fields[i].name))
			t->field = &fields[i];
	for (p += n; *p == ':'; p += n) {
		n = strcspn(++p, ":}");
		token_modifier(p, n, t);
	}
	t->width = width_of(t);
	t->most = t->field->digits ? t->field->digits : t->field->kind == FIELD_AGE ? 8 : CODE_ID_MAX;
	return p + 1;
}

struct token *tokens_new(unsigned n)
{
	return calloc(n, sizeof(struct token));
}

struct token *tokens_at(struct token *tokens, unsigned i)
{
	return tokens + i;
}

unsigned component_compile(const char *text, size_t n, struct component *c, struct token *tokens, unsigned room)
{
	*c = (struct component){.text = text, .n = n, .tokens = tokens};
	for (const char *p = text; p < text + n && c->n_tokens < room;) {
		struct token *t = &tokens[c->n_tokens++];

		p = token_next(p, text + n, t);
		c->fixed += t->width;
		c->flexible = c->flexible || !t->width;
	}
	return c->n_tokens;
}

void pattern_complete(struct pattern *p)
{
	size_t read[FIELD_SECTION + 1] = {0}; /* digits so far; of a name 1 */

	for (unsigned i = 0; i < p->n; i++)
		for (unsigned j = 0; j < p->components[i]->n_tokens; j++) {
			const struct token *t = &p->components[i]->tokens[j];

			if (!t->field)
				continue;
			p->repeats = p->repeats || t->from < read[t->field->kind] ||
				t->from > read[t->field->kind];
			read[t->field->kind] = t->width ? t->from + t->width : t->most;
		}
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

int pattern_print(const struct pattern *pattern, const struct module *m, struct buf *out)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < pattern->n; i++) {
		const struct component *c = pattern->components[i];

		if (i)
			r = buf_add(out, "/", 1);
		for (unsigned j = 0; r == 0 && j < c->n_tokens; j++) {
			const struct token *t = &c->tokens[j];

			r = t->field ? add_field(out, m, t) : buf_add(out, t->text, t->n);
		}
	}
	return r;
}

/* ---- path -> artifact --------------------------------------------------------------- */

static bool is_dots(const char *p, size_t n)
{
	return p[0] == '.' && (n == 1 || (n == 2 && p[1] == '.'));
}

/* What a character can be in a path. */
enum { CHAR_HEX = 1, CHAR_BAD = 2, CHAR_BACKSLASH = 4, CHAR_END = 8 };
static const uint8_t chars[256] = {
	[0] = CHAR_END,
	[1 ... 0x1f] = CHAR_BAD,
	['/'] = CHAR_END,
	['0' ... '9'] = CHAR_HEX,
	['A' ... 'F'] = CHAR_HEX,
	['\\'] = CHAR_BACKSLASH,
	['a' ... 'f'] = CHAR_HEX,
	[0x7f] = CHAR_BAD,
};

const char *part_read(const char *path, struct part *out)
{
	const unsigned char *start = (const unsigned char *)path, *p = start;
	unsigned has = 0;

	while (chars[*p] == CHAR_HEX)
		p++;
	out->hex = (size_t)(p - start);
	for (; !(chars[*p] & CHAR_END); p++)
		has |= chars[*p];
	out->p = path;
	out->n = (size_t)(p - start);
	out->bad = has & CHAR_BAD;
	out->backslash = has & CHAR_BACKSLASH;
	return path + out->n;
}

bool part_is_name(const struct part *part)
{
	return part->n && part->n <= NAME_MAX && !part->bad && !is_dots(part->p, part->n);
}

static bool all_hex(const char *p, size_t n)
{
	while (n && chars[(unsigned char)*p] == CHAR_HEX)
		p++, n--;
	return n == 0;
}

static bool token_fits(const struct token *t, const struct part *part, size_t at, size_t n)
{
	const char *p = part->p + at;

	if (!t->field)
		return strncasecmp(t->text, p, n) == 0;
	if (t->field->kind < HEX_FIELDS)
		return t->from + n <= t->most && (at + n <= part->hex || all_hex(p, n));
	return !part->bad && n <= NAME_MAX && !is_dots(p, n) && t->field->kind != FIELD_PATH &&
		(t->field->kind == FIELD_SECTION || !part->backslash);
}

bool component_fits(const struct component *c, const struct part *part)
{
	size_t left = part->n - c->fixed, at = 0;

	if (c->flexible ? part->n <= c->fixed : part->n != c->fixed)
		return false;
	for (unsigned i = 0; i < c->n_tokens; i++) {
		size_t n = c->tokens[i].width ? c->tokens[i].width : left;

		if (!token_fits(&c->tokens[i], part, at, n))
			return false;
		at += n;
	}
	return true;
}

struct digits {
	char text[CODE_ID_MAX + 1];
	size_t n;
};

struct reading {
	struct module *m;
	struct digits hex[HEX_FIELDS];
};

static void reading_begin(struct reading *r, struct module *m)
{
	r->m = m;
	for (unsigned i = 0; i < HEX_FIELDS; i++)
		r->hex[i].text[0] = '\0', r->hex[i].n = 0;
	m->object = OBJECT_UNKNOWN;
	m->debug_id = (struct debug_id){0};
	m->code_id[0] = m->code_file[0] = m->debug_file[0] = m->checksum[0] = m->path[0] = '\0';
}

/* Reads digits of a value, which may occur in slices and several times. False: they contradict each
 * other. */
static bool read_digits(struct digits *have, const struct token *t, const char *p, size_t n)
{
	if (t->from > have->n)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t at = t->from + i;
		char c = (char)(p[i] >= 'A' && p[i] <= 'F' ? p[i] | 0x20 : p[i]);

		if (at < have->n && have->text[at] != c)
			return false;
		have->text[at] = c;
	}
	have->n = MAX(have->n, t->from + n);
	have->text[have->n] = '\0';
	return true;
}

/* Reads a name. The plain name comes first; a later name must be derived from it. */
static bool read_name(
	char have[static MODULE_NAME_MAX], const struct token *t, const char *p, size_t n)
{
	char shaped[MODULE_NAME_MAX];

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
		memcpy(r->m->path, p, n);
		r->m->path[n] = '\0';
		return true;
	default:
		return read_digits(&r->hex[t->field->kind], t, p, n);
	}
}

/* Reads a part that fits the component. */
static bool read_component(struct reading *r, const struct component *c, const char *p, size_t n)
{
	size_t left = n - c->fixed;

	for (unsigned i = 0; i < c->n_tokens; i++) {
		const struct token *t = &c->tokens[i];
		size_t width = t->width ? t->width : left;

		if (t->field && !read_field(r, t, p, width))
			return false;
		p += width;
	}
	return true;
}

/* Reads {path}: the rest of the path. False: it is too long. */
static bool read_rest(struct reading *r, const char *path)
{
	size_t n = strlen(path);

	if (n + 2 > sizeof(r->m->path))
		return false;
	r->m->path[0] = '/';
	memcpy(r->m->path + 1, path, n + 1);
	return true;
}

static uint32_t read_number(const struct digits *d)
{
	uint32_t number = 0;

	for (size_t i = 0; i < d->n; i++)
		number = number << 4 | (uint32_t)hex_value(d->text[i]);
	return number;
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

	memcpy(r->m->code_id, code->text, code->n + 1);
	return read_debug_id(r, &r->m->debug_id);
}

unsigned pattern_read(const struct pattern *pattern, const struct part *parts, unsigned n, struct module *m)
{
	unsigned names = pattern->n - pattern->rest;
	struct reading r;

	reading_begin(&r, m);
	for (unsigned i = 0; i < MIN(n, names); i++)
		if (!read_component(&r, pattern->components[i], parts[i].p, parts[i].n))
			return LAYOUT_NONE;
	if (n < pattern->n)
		return LAYOUT_DIR;
	if (pattern->rest)
		return read_rest(&r, parts[names].p) && reading_done(&r) ? LAYOUT_FILE | LAYOUT_DIR : LAYOUT_NONE;
	return n == names && reading_done(&r) ? LAYOUT_FILE : LAYOUT_NONE;
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

static void next_component(const struct component *c, struct pattern_part *out)
{
	out->component = c;
	for (unsigned i = 0; i < c->n_tokens; i++) {
		const struct token *t = &c->tokens[i];

		if (!t->field)
			continue;
		if (of_prefix(t)) {
			out->by_digits = true;
			out->completes = out->completes || completes(t);
			out->digits = MAX(out->digits, t->to);
		} else if (t->field->kind == FIELD_CODE_FILE || t->field->kind == FIELD_DEBUG_FILE) {
			out->by_name = true;
		} else {
			out->by_other = out->by_other || t->field->kind == FIELD_AGE;
			out->by_case = out->by_case || t->field->kind >= FIELD_PATH;
			out->rest = out->rest || t->field->kind == FIELD_PATH;
		}
	}
}

static void note_whole(const struct component *c, struct pattern_part *out)
{
	for (unsigned i = 0; i < c->n_tokens; i++)
		out->whole = out->whole || (of_prefix(&c->tokens[i]) && completes(&c->tokens[i]));
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

static bool names_only(const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (!path_name_ok(path, n) || (path[n] && !path[n + 1]))
			return false;
		path += n + (path[n] == '/');
	}
	return true;
}

static int part_of(struct reading *r, const struct pattern *pattern, const char *path, struct pattern_part *out)
{
	const char *start = path;
	unsigned i = 0;

	for (; *path; i++) {
		const struct component *c = i < pattern->n ? pattern->components[i] : NULL;
		struct part part;

		if (c && pattern->rest && i == pattern->n - 1) {
			out->rest_at = (size_t)(path - start);
			if (!names_only(path) || !read_rest(r, path))
				return -ENOENT;
			break;
		}
		path = part_read(path, &part);
		if (!c || !component_fits(c, &part) || !read_component(r, c, part.p, part.n))
			return -ENOENT;
		note_whole(c, out);
		path += *path == '/';
	}
	take_reading(r, out);
	out->ends = i == pattern->n;
	if (!out->ends)
		next_component(pattern->components[i], out);
	return 0;
}

int pattern_part(const struct pattern *pattern, const char *path, struct pattern_part *out)
{
	_cleanup_free_ struct module *m = calloc(1, sizeof(*m));
	struct reading r;

	memset(out, 0, sizeof(*out));
	if (!m)
		return -ENOMEM;
	reading_begin(&r, m);
	return part_of(&r, pattern, path, out);
}

bool pattern_accepts(const struct pattern_part *part, const char *name, size_t n)
{
	_cleanup_free_ struct module *m = calloc(1, sizeof(*m));
	struct reading r;
	struct part one;

	if (part->ends || !m)
		return false;
	if (part->by_other || part->by_case || part->by_name)
		return true; /* the caller finds out by looking for such a file */
	reading_begin(&r, m);
	for (unsigned kind = 0; kind < FIELD_STAMP; kind++) {
		memcpy(r.hex[kind].text, part->prefix, sizeof(part->prefix));
		r.hex[kind].n = strlen(part->prefix);
	}
	return *part_read(name, &one) == '\0' && component_fits(part->component, &one) &&
		read_component(&r, part->component, one.p, one.n);
}
