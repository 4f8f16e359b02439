/* Functions of a WebAssembly module from other sources than debug information: the places of their bodies in the
 * section of code, and the names in the section `name` and in the exports. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "base/grow.h"
#include "base/util.h"
#include "derive/convert/symbols-private.h"

enum {
	NAMES_OF_FUNCTIONS = 1,
	KIND_FUNCTION = 0, KIND_TABLE = 1, KIND_MEMORY = 2, KIND_GLOBAL = 3, KIND_TAG = 4,
	TYPE_REF_NULL = 0x63, TYPE_REF = 0x64, LIMIT_MAXIMUM = 1, LIMIT_PAGE = 8
};

/* Functions have numbers: first the imported functions, then those with a body. */
struct functions {
	struct span code, *bodies; /* the length of a body is 0 once the function has a name */
	size_t n, room;
	uint64_t imported;
	char *name; /* where the next name is copied to, in symbols.names */
};

/* ---- bodies --------------------------------------------------------------------------- */

static int read_bodies(struct functions *f)
{
	const uint8_t *p = f->code.p, *end = p + f->code.n;
	struct span body;
	uint64_t count;
	int r = 0;

	if (!take_uleb(&p, end, &count))
		return 0;
	while (r == 0 && f->n < count && take_counted(&p, end, &body))
		r = APPEND(f->bodies, f->room, f->n, body);
	return r;
}

static bool skip_type(const uint8_t **p, const uint8_t *end)
{
	uint8_t type = *p < end ? *(*p)++ : 0;

	return type == TYPE_REF || type == TYPE_REF_NULL ? take_sleb(p, end, &(int64_t){0}) : type;
}

static bool skip_limits(const uint8_t **p, const uint8_t *end)
{
	uint64_t flags, v;

	return take_uleb(p, end, &flags) && take_uleb(p, end, &v) &&
		(!(flags & LIMIT_MAXIMUM) || take_uleb(p, end, &v)) &&
		(!(flags & LIMIT_PAGE) || take_uleb(p, end, &v));
}

/* Reads an import behind its names: its kind and its type. */
static bool take_import(struct functions *f, const uint8_t **p, const uint8_t *end)
{
	unsigned kind = *p < end ? *(*p)++ : KIND_TAG + 1;
	uint64_t v;

	switch (kind) {
	case KIND_FUNCTION:
		f->imported++;
		return take_uleb(p, end, &v);
	case KIND_TABLE:
		return skip_type(p, end) && skip_limits(p, end);
	case KIND_MEMORY:
		return skip_limits(p, end);
	case KIND_GLOBAL: /* and whether it can be changed */
		return skip_type(p, end) && take_uleb(p, end, &v);
	case KIND_TAG: /* its attribute, and a type */
		return take_uleb(p, end, &v) && take_uleb(p, end, &v);
	default:
		return false;
	}
}

/* Counts the imported functions. False: the section is broken. */
static bool count_imports(struct functions *f, struct span imports)
{
	const uint8_t *p = imports.p, *end = p + imports.n;
	struct span module, name;
	uint64_t n;

	if (!take_uleb(&p, end, &n))
		return false;
	for (; n; n--)
		if (!take_counted(&p, end, &module) || !take_counted(&p, end, &name) || !take_import(f, &p, end))
			return false;
	return true;
}

/* ---- names ---------------------------------------------------------------------------- */

/* A function takes its first name. Linkers write demangled names into the section `name`, so the names in debug
 * information are preferred: the symbol has no type. */
static int add_name(struct symbols *s, struct functions *f, uint64_t number, struct span name)
{
	struct span *body = number >= f->imported && number - f->imported < f->n
		? &f->bodies[number - f->imported] : NULL;
	struct symbol x = {.name = f->name, .rank = GSYM_GLOBAL};

	if (!body || !body->n || !name.n)
		return 0;
	memcpy(f->name, name.p, name.n);
	f->name += name.n;
	*f->name++ = '\0';
	x.addr = (uint64_t)(body->p - f->code.p);
	x.size = body->n;
	body->n = 0;
	return symbols_add(s, &x);
}

/* Reads the names of functions in the section `name`, which has a part for each kind of names. */
static int read_names(struct symbols *s, struct functions *f, struct span section)
{
	const uint8_t *p = section.p, *end = p + section.n, *at;
	struct span part, name;
	uint64_t number, n;
	int r = 0;

	while (r == 0 && p < end) {
		bool functions = *p++ == NAMES_OF_FUNCTIONS;

		if (!take_counted(&p, end, &part))
			break;
		at = part.p;
		n = functions && take_uleb(&at, p, &n) ? n : 0;
		for (; r == 0 && n && take_uleb(&at, p, &number) && take_counted(&at, p, &name); n--)
			r = add_name(s, f, number, name);
	}
	return r;
}

static int read_exports(struct symbols *s, struct functions *f, struct span exports)
{
	const uint8_t *p = exports.p, *end = p + exports.n;
	uint64_t number, n = 0;
	struct span name;
	int r = 0;

	for (take_uleb(&p, end, &n); r == 0 && n && take_counted(&p, end, &name) && p < end; n--) {
		bool function = *p++ == KIND_FUNCTION;

		if (!take_uleb(&p, end, &number))
			break;
		if (function)
			r = add_name(s, f, number, name);
	}
	return r;
}

int symbols_of_wasm(struct symbols *s)
{
	struct image_section code, imports, exports = {0}, names = {0};
	struct functions f = {0};
	int r;

	if (image_wasm_section(s->m, WASM_CODE, &code) < 0)
		return 0;
	f.code = code.bytes;
	if (image_wasm_section(s->m, WASM_IMPORTS, &imports) == 0 && !count_imports(&f, imports.bytes))
		return 0;
	if (image_find(s->m, "name", &names) < 0)
		names.bytes.n = 0;
	if (image_wasm_section(s->m, WASM_EXPORTS, &exports) < 0)
		exports.bytes.n = 0;
	/* In the file each name follows a byte of its length at least, so that its copy has room for a NUL. */
	s->names = f.name = malloc(names.bytes.n + exports.bytes.n + 1);
	r = s->names ? read_bodies(&f) : -ENOMEM;
	if (r == 0)
		r = read_names(s, &f, names.bytes);
	if (r == 0)
		r = read_exports(s, &f, exports.bytes);
	free(f.bodies);
	return r;
}
