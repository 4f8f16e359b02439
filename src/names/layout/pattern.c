/* Prints and reads paths by one pattern of a layout: "{code_file}/elf-buildid-{code}/{code_file}". */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/layout/pattern.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "names/layout/layout.h"
#include "names/layout/name.h"

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
	FIELD_LITERAL,
};
#define HEX_FIELDS FIELD_CODE_FILE
#define COMPONENT_TOKENS 10
#define COMPONENTS_MOST 128

static const struct field {
	const char *name; /* in upper case, the digits are printed in upper case */
	enum field_kind kind;
	uint8_t digits; /* 0: any number of them */
} fields[] = {
	{"code", FIELD_CODE, 0},
	{"uuid", FIELD_UUID, 32},
	{"guid", FIELD_GUID, 32},
	{"sig", FIELD_SIG, 8},
	{"sig_padded", FIELD_SIG_PADDED, 32},
	{"stamp", FIELD_STAMP, 8},
	{"age", FIELD_AGE, 0},
	{"code_file", FIELD_CODE_FILE, 0},
	{"debug_file", FIELD_DEBUG_FILE, 0},
	{"path", FIELD_PATH, 0},
	{"given", FIELD_SECTION, 0},
	{"section", FIELD_SECTION, 0},
};

/* One piece of a component: a run of literal characters, or a field with its slice. */
struct token {
	const char *text; /* the characters of a literal */
	uint8_t kind;	  /* enum field_kind */
	uint8_t width;	  /* characters in a path; 0: those that the other tokens of the component leave */
	uint8_t from, to; /* slice of a hex field, digits; to == 0: to the end */
	uint8_t most;	  /* digits that the value has at most */
	uint8_t shape;	  /* enum name_shape */
	bool upper;	  /* in print */
};

/* What patterns have between two slashes. */
struct component {
	const char *text; /* its n characters in the table of layouts */
	size_t n;
	unsigned n_tokens;
	size_t fixed;  /* characters of its tokens that have a fixed number of them */
	bool flexible; /* one token has any number */
	struct token tokens[COMPONENT_TOKENS];
};

static bool word_is(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && strncasecmp(p, word, n) == 0;
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

		t->from = (uint8_t)strtoul(p, &end, 10);
		t->to = isdigit((unsigned char)end[1]) ? (uint8_t)strtoul(end + 1, NULL, 10) : 0;
		return;
	}
	for (unsigned i = NAME_SYM; i < ARRAY_SIZE(shapes); i++)
		if (word_is(p, n, shapes[i]))
			t->shape = (uint8_t)i;
}

/* Reads the next token of a pattern. Returns the end of the token. Tables of layouts are part of the program, so an
 * unknown field is a mistake in it. */
static const char *token_next(const char *p, struct token *t)
{
	const struct field *field = fields;
	size_t n;

	*t = (struct token){.text = p, .kind = FIELD_LITERAL};
	if (*p != '{') {
		t->width = (uint8_t)strcspn(p, *p == '/' ? "{" : "{/");
		return p + t->width;
	}
	n = strcspn(++p, ":}");
	while (!word_is(p, n, field->name))
		if (++field == fields + ARRAY_SIZE(fields))
			abort();
	t->kind = (uint8_t)field->kind;
	t->upper = isupper((unsigned char)*p);
	for (p += n; *p == ':'; p += n) {
		n = strcspn(++p, ":}");
		token_modifier(p, n, t);
	}
	if (t->to || field->digits)
		t->width = (uint8_t)((t->to ? t->to : field->digits) - t->from);
	t->most = field->digits ? field->digits : field->kind == FIELD_AGE ? 8 : CODE_ID_MAX;
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
	const char *hex = digits_of(m, t->kind, room);
	size_t n = strlen(hex), to = t->to ? t->to : n;

	if (n == 0 || to > n || t->from >= to)
		return -ENOENT;
	for (size_t i = t->from; i < to; i++) {
		int c = t->upper ? toupper((unsigned char)hex[i])
					: tolower((unsigned char)hex[i]);
		char one = (char)c;

		buf_add(out, &one, 1);
	}
	return out->r;
}

static int add_name(struct buf *out, const char *name, const struct token *t, bool lower)
{
	char shaped[MODULE_NAME_MAX];
	size_t start = out->n;
	int r;

	if (!path_name_ok(name, strlen(name)) || name_shaped(name, t->shape, shaped) < 0)
		return -ENOENT;
	r = buf_adds(out, shaped);
	for (size_t i = start; r == 0 && lower && i < out->n; i++)
		out->p[i] = (char)tolower((unsigned char)out->p[i]);
	return r;
}

static int add_field(struct buf *out, const struct module *m, const struct token *t, bool lower)
{
	switch (t->kind) {
	case FIELD_CODE_FILE:
		return add_name(out, m->code_file, t, lower);
	case FIELD_DEBUG_FILE:
		return add_name(out, m->debug_file, t, lower);
	case FIELD_PATH:
		return m->path[0] == '/' && m->path[1] ? buf_adds(out, m->path + 1) : -ENOENT;
	case FIELD_SECTION:
		return add_name(out, m->path, t, false);
	default:
		return add_digits(out, m, t);
	}
}

int pattern_print(const char *pattern, const struct module *m, bool lower, struct buf *out)
{
	int r = 0;

	while (*pattern && r == 0) {
		struct token t;

		pattern = token_next(pattern, &t);
		r = t.kind == FIELD_LITERAL ? buf_add(out, t.text, t.width) : add_field(out, m, &t, lower);
	}
	return r;
}

/* ---- compiling ---------------------------------------------------------------------- */

/* Letter case counts only in print. */
static const struct component *component_of(const char *text, size_t n)
{
	static struct component all[COMPONENTS_MOST];
	struct component *c = all;

	for (; c->text; c++)
		if (c->n == n && strncasecmp(c->text, text, n) == 0)
			return c;
	/* Tables of layouts are part of the program: one that does not fit is a mistake in it. */
	if (c == all + COMPONENTS_MOST - 1)
		abort();
	c->text = text;
	c->n = n;
	for (const char *p = text; p < text + n; c->n_tokens++) {
		struct token *t = &c->tokens[c->n_tokens];

		if (c->n_tokens == COMPONENT_TOKENS)
			abort();
		p = token_next(p, t);
		c->fixed += t->width;
		c->flexible = c->flexible || !t->width;
	}
	return c;
}

void pattern_compile(const char *text, struct pattern *out)
{
	size_t read[FIELD_LITERAL + 1] = {0}; /* digits so far; of a name any number */

	for (size_t n;; text += n + 1) {
		const struct component *c = component_of(text, n = strcspn(text, "/"));

		if (out->n == PATTERN_COMPONENTS)
			abort();
		out->components[out->n++] = c;
		for (const struct token *t = c->tokens; t < c->tokens + c->n_tokens; t++) {
			out->rest = t->kind == FIELD_PATH;
			out->repeats = out->repeats || (t->kind != FIELD_LITERAL && t->from != read[t->kind]);
			read[t->kind] = t->width ? t->from + t->width : t->most;
		}
		if (!text[n])
			return;
	}
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

const char *path_part_read(const char *path, struct path_part *out)
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

bool path_part_is_name(const struct path_part *part)
{
	return part->n && part->n <= NAME_MAX && !part->bad && !is_dots(part->p, part->n);
}

static bool all_hex(const char *p, size_t n)
{
	while (n && chars[(unsigned char)*p] == CHAR_HEX)
		p++, n--;
	return n == 0;
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
	char *text = have->text + t->from;
	size_t known = have->n - t->from;

	if (t->from > have->n)
		return false;
	for (size_t i = 0; i < MIN(n, known); i++)
		if (text[i] != (p[i] | 0x20))
			return false;
	for (size_t i = known; i < n; i++)
		text[i] = (char)(p[i] | 0x20); /* in lower case */
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
		return name_alike(*have, *p) && name_shaped(have, t->shape, shaped) == 0 && strlen(shaped) == n &&
			strncasecmp(shaped, p, n) == 0;
	if (t->shape != NAME_AS_IS)
		return false;
	memcpy(have, p, n);
	have[n] = '\0';
	return true;
}

/* Reads n characters of a part. `r` NULL: the token can read them, but other tokens may contradict them. */
static bool read_token(struct reading *r, const struct token *t, const struct path_part *part, size_t at, size_t n)
{
	const char *p = part->p + at;

	if (t->kind == FIELD_LITERAL)
		return r || (name_alike(*t->text, *p) && strncasecmp(t->text, p, n) == 0);
	if (t->kind < HEX_FIELDS)
		return r ? read_digits(&r->hex[t->kind], t, p, n)
			 : t->from + n <= t->most && (at + n <= part->hex || all_hex(p, n));
	if (!r)
		return !part->bad && n <= NAME_MAX && !is_dots(p, n) && t->kind != FIELD_PATH &&
			(t->kind == FIELD_SECTION || !part->backslash);
	if (t->kind != FIELD_SECTION)
		return read_name(t->kind == FIELD_CODE_FILE ? r->m->code_file : r->m->debug_file, t, p, n);
	memcpy(r->m->path, p, n);
	r->m->path[n] = '\0';
	return true;
}

enum { TOKENS_NAMES = 1, TOKENS_DIGITS = 2, TOKENS_ALL = 3 };

static bool read_component(struct reading *r, const struct component *c, const struct path_part *part, unsigned which)
{
	size_t left = part->n - c->fixed, at = 0;

	if (c->flexible ? part->n <= c->fixed : part->n != c->fixed)
		return false;
	for (unsigned i = 0; i < c->n_tokens; i++) {
		const struct token *t = &c->tokens[i];
		size_t n = t->width ? t->width : left;

		if (which & (t->kind < HEX_FIELDS ? TOKENS_DIGITS : TOKENS_NAMES) && !read_token(r, t, part, at, n))
			return false;
		at += n;
	}
	return true;
}

bool component_fits(const struct component *c, const struct path_part *part)
{
	return read_component(NULL, c, part, TOKENS_ALL);
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

	memcpy(r->m->code_id, code->text, code->n + 1);
	return read_debug_id(r, &r->m->debug_id);
}

unsigned pattern_read(const struct pattern *pattern, const struct path_part *parts, unsigned n, struct module *m)
{
	unsigned names = pattern->n - pattern->rest;
	struct reading r;

	reading_begin(&r, m);
	for (unsigned which = TOKENS_NAMES; which < TOKENS_ALL; which++) /* names contradict each other more often */
		for (unsigned i = 0; i < MIN(n, names); i++)
			if (!read_component(&r, pattern->components[i], &parts[i], which))
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
	return t->kind < FIELD_STAMP;
}

/* Whether the digits of the id are complete after this slice of them. */
static bool completes(const struct token *t)
{
	unsigned digits = t->kind == FIELD_SIG_PADDED ? 8 : t->most;

	return !t->to || t->to >= digits;
}

static void next_component(const struct component *c, struct pattern_part *out)
{
	out->component = c;
	out->text = c->text;
	out->n = c->n;
	for (unsigned i = 0; i < c->n_tokens; i++) {
		const struct token *t = &c->tokens[i];

		if (of_prefix(t)) {
			out->by_digits = true;
			out->completes = out->completes || completes(t);
			out->digits = MAX(out->digits, t->to);
		} else if (t->kind == FIELD_CODE_FILE || t->kind == FIELD_DEBUG_FILE) {
			out->by_name = true;
		} else if (t->kind != FIELD_LITERAL) {
			out->by_other = out->by_other || t->kind == FIELD_AGE;
			out->by_case = out->by_case || t->kind >= FIELD_PATH;
			out->rest = out->rest || t->kind == FIELD_PATH;
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

static int part_of(struct reading *r, const struct pattern *pattern, const char *path, struct pattern_part *out)
{
	unsigned i = 0, names = pattern->n - pattern->rest;
	const char *p = path, *rest = NULL;

	for (; *p; p += *p == '/', i++) {
		struct path_part part;

		rest = i == names ? p : rest;
		p = path_part_read(p, &part);
		if (i >= names ? !pattern->rest || !path_part_is_name(&part)
			       : !component_fits(pattern->components[i], &part) ||
					 !read_component(r, pattern->components[i], &part, TOKENS_ALL))
			return -ENOENT;
		if (i < names)
			note_whole(pattern->components[i], out);
	}
	if (rest && !read_rest(r, rest))
		return -ENOENT;
	out->rest_at = rest ? (size_t)(rest - path) : 0;
	take_reading(r, out);
	out->ends = i >= pattern->n && !pattern->rest;
	if (!out->ends)
		next_component(pattern->components[MIN(i, names)], out);
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
	struct path_part one;

	if (part->ends || !m)
		return false;
	if (part->by_other || part->by_case || part->by_name)
		return true; /* the caller finds out by looking for such a file */
	reading_begin(&r, m);
	for (unsigned kind = 0; kind < FIELD_STAMP; kind++) {
		memcpy(r.hex[kind].text, part->prefix, sizeof(part->prefix));
		r.hex[kind].n = strlen(part->prefix);
	}
	return *path_part_read(name, &one) == '\0' && component_fits(part->component, &one) &&
		read_component(&r, part->component, &one, TOKENS_ALL);
}
