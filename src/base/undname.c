/* Demangles a name of Microsoft's C++: functions, variables, and what compilers add to a program (tables,
 * descriptors, guards, thunks, strings). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "base/undname-private.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

/* ---- functions and variables --------------------------------------------------------- */

text symbol_text(struct undname *u, const struct symbol *s, bool full)
{
	static const char *const access[] = {"", "private: ", "protected: ", "public: "};
	struct type type = s->type;
	text before = 0, words;

	if (s->kind == SYMBOL_TEXT || (s->kind == SYMBOL_VARIABLE && !full))
		return s->name;
	if (full) {
		words = JOIN(s->class & IS_STATIC ? LIT("static ") : 0, s->class & IS_VIRTUAL ? LIT("virtual ") : 0,
			s->class & IS_EXTERN_C ? LIT("extern \"C\" ") : 0);
		before = JOIN(text_string(u, access[s->class & IS_PUBLIC]), words, type_before(u, &type));
		before = text_spaced(u, before);
	} else {
		type.after = 0; /* of the result */
	}
	return JOIN(s->class & IS_THUNK ? LIT("[thunk]: ") : 0, before, s->name, s->thunk, type_after(u, &type));
}

/* The class of a function. `thunk`: what it adjusts. */
static unsigned function_class(struct undname *u, text *thunk)
{
	static const unsigned kinds[] = {0, IS_STATIC, IS_VIRTUAL, IS_VIRTUAL | IS_THUNK};
	char c = undname_next(u);
	text t = LIT("`vtordisp{");

	if (c == '9')
		return IS_EXTERN_C | HAS_NO_TYPE;
	if (c == 'Y' || c == 'Z')
		return IS_GLOBAL;
	if (c >= 'A' && c <= 'X') { /* two letters for each kind: near and far */
		unsigned i = (unsigned)(c - 'A') / 2;

		if (kinds[i % 4] & IS_THUNK)
			*thunk = JOIN(LIT("`adjustor{"), text_number(u, false, (uint32_t)undname_signed(u)),
				LIT("}'"));
		return (i / 4 + 1) | kinds[i % 4];
	}
	if (c != '$')
		return undname_fail(u);
	c = undname_next(u);
	if (c == 'R') {
		c = undname_next(u);
		t = JOIN(LIT("`vtordispex{"), text_signed(u, (int32_t)undname_signed(u)), LIT(", "));
		t = JOIN(t, text_signed(u, (int32_t)undname_signed(u)), LIT(", "));
	}
	t = JOIN(t, text_signed(u, (int32_t)undname_signed(u)), LIT(", "));
	*thunk = JOIN(t, text_number(u, false, (uint32_t)undname_signed(u)), LIT("}'"));
	return c >= '0' && c <= '5' ? ((unsigned)(c - '0') / 2 + 1) | IS_VIRTUAL | IS_THUNK : undname_fail(u);
}

/* A function whose name has been read. */
static void function_symbol(struct undname *u, struct symbol *s)
{
	unsigned extern_c = undname_eat(u, "$$J0") ? IS_EXTERN_C : 0;

	s->kind = SYMBOL_FUNCTION;
	s->class = function_class(u, &s->thunk) | extern_c;
	s->type.kind = TYPE_FUNCTION;
	if (!(s->class & HAS_NO_TYPE))
		s->type = undname_function(u, !(s->class & (IS_GLOBAL | IS_STATIC)));
}

static void variable(struct undname *u, struct symbol *s, char c)
{
	unsigned quals;

	s->kind = SYMBOL_VARIABLE;
	s->class = c <= '2' ? (unsigned)(c - '0' + 1) | IS_STATIC : 0;
	s->type = undname_type(u, false);
	if (s->type.kind == TYPE_POINTER)
		s->type.quals |= undname_pointer_qualifiers(u);
	quals = undname_qualifiers(u);
	if (s->type.kind == TYPE_POINTER)
		s->type.target_quals |= quals;
	else
		s->type.quals = quals;
	if (s->type.owner)
		undname_type_name(u);
}

static text identifier_text(struct undname *u, const struct identifier *i, text of)
{
	if (i->kind == CONVERSION)
		return JOIN(LIT("operator"), i->args, LIT(" "), of);
	return JOIN(i->kind == DESTRUCTOR ? LIT("~") : 0, i->kind == IDENTIFIER ? i->name : of, i->args);
}

/* A name, and the type or class of what has it. */
static struct symbol declaration(struct undname *u)
{
	struct identifier i = undname_identifier(u);
	struct symbol s = {0};
	text nearest = 0, scopes = undname_scopes(u, &nearest);

	if ((i.kind == CONSTRUCTOR || i.kind == DESTRUCTOR) && !nearest)
		undname_fail(u);
	if (*u->p >= '0' && *u->p <= '4')
		variable(u, &s, *u->p++);
	else
		function_symbol(u, &s);
	if (i.kind == CONVERSION) { /* to the type of its result */
		if (s.kind != SYMBOL_FUNCTION || !s.type.result)
			undname_fail(u);
		nearest = s.type.result;
	}
	s.identifier = identifier_text(u, &i, nearest);
	s.name = JOIN(scopes, s.identifier);
	return s;
}

/* ---- what compilers add ------------------------------------------------------------- */

static struct symbol of_name(text name, text identifier)
{
	return (struct symbol){.name = name, .identifier = identifier};
}

static struct symbol untyped(struct undname *u, text identifier)
{
	text scopes = undname_scopes(u, NULL);

	undname_expect(u, "8");
	return of_name(JOIN(scopes, identifier), identifier);
}

static struct symbol table(struct undname *u, text identifier)
{
	text name = JOIN(undname_scopes(u, NULL), identifier), quals;

	undname_expect(u, undname_eat(u, "7") ? "" : "6");
	quals = text_qualified(u, 0, undname_qualifiers(u), false);
	name = JOIN(quals, quals ? LIT(" ") : 0, name);
	if (!undname_eat(u, "@"))
		name = JOIN(name, LIT("{for `"), undname_type_name(u), LIT("'}"));
	return of_name(name, identifier);
}

/* A type ends the name. */
static struct symbol type_descriptor(struct undname *u, text identifier)
{
	struct type t = undname_type(u, undname_eat(u, "?"));
	text before = text_spaced(u, type_before(u, &t));

	undname_eat(u, "@8"); /* "??_R0" has it, the name in a program's data has not */
	if (*u->p)
		undname_fail(u);
	return of_name(JOIN(before, identifier, type_after(u, &t)), identifier);
}

static struct symbol base_class(struct undname *u, text identifier)
{
	identifier = JOIN(identifier, text_number(u, false, (uint32_t)undname_number(u, NULL)), LIT(", "));
	identifier = JOIN(identifier, text_signed(u, (int32_t)undname_signed(u)), LIT(", "));
	identifier = JOIN(identifier, text_number(u, false, (uint32_t)undname_number(u, NULL)), LIT(", "));
	identifier = JOIN(identifier, text_number(u, false, (uint32_t)undname_number(u, NULL)), LIT(")'"));
	return untyped(u, identifier);
}

/* The number of a guard ends the name. */
static struct symbol guard(struct undname *u, text identifier)
{
	text scopes = undname_scopes(u, NULL);
	uint32_t n;

	undname_expect(u, undname_eat(u, "5") ? "" : "4IA");
	n = *u->p ? (uint32_t)undname_number(u, NULL) : 0;
	if (n)
		identifier = JOIN(identifier, LIT("{"), text_number(u, false, n), LIT("}"));
	return of_name(JOIN(scopes, identifier), identifier);
}

static struct symbol virtual_call(struct undname *u, text identifier)
{
	struct symbol s = {.kind = SYMBOL_FUNCTION, .class = IS_THUNK, .type.kind = TYPE_FUNCTION};
	text scopes = undname_scopes(u, NULL);

	undname_expect(u, "$B");
	s.identifier = JOIN(identifier, text_number(u, false, undname_number(u, NULL)), LIT(", {flat}}"));
	s.name = JOIN(scopes, s.identifier);
	undname_expect(u, "A");
	s.type.convention = undname_convention(u);
	return s;
}

/* The initializer or destructor of a variable. Older versions of clang wrote no "?" and one "@" less. */
static struct symbol dynamic(struct undname *u, text identifier)
{
	bool member = undname_eat(u, "?");
	struct symbol of = declaration(u), s = of;

	if (of.kind == SYMBOL_FUNCTION) {
		s.identifier = JOIN(identifier, LIT("'"), of.name, LIT("''"));
		if (member)
			undname_fail(u);
	} else {
		s = of_name(0, JOIN(identifier, LIT("`"), symbol_text(u, &of, true), LIT("''")));
		undname_expect(u, member ? "@@" : "@");
		function_symbol(u, &s);
	}
	s.name = s.identifier;
	return s;
}

/* A byte of a string. */
static unsigned byte(struct undname *u)
{
	static const char others[] = ",/\\:. \n\t'-";
	char c = undname_next(u), d;

	if (c != '?')
		return (uint8_t)c;
	c = undname_next(u);
	if (c >= '0' && c <= '9')
		return (uint8_t)others[c - '0'];
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return (unsigned)(c | 0x80);
	c = c == '$' ? undname_next(u) : '\0';
	d = undname_next(u);
	if (c < 'A' || c > 'P' || d < 'A' || d > 'P')
		undname_fail(u);
	return (unsigned)(c - 'A') << 4 | (unsigned)(d - 'A');
}

static text escaped(struct undname *u, uint32_t c)
{
	static const char from[] = "\0\a\b\f\n\r\t\v'\"\\", to[] = "0abfnrtv'\"\\";
	const char *at = c < 0x80 ? memchr(from, (int)c, sizeof(from) - 1) : NULL;
	char room[16];
	int n = at ? snprintf(room, sizeof(room), "\\%c", to[at - from])
		: c > 0x1f && c < 0x7f ? snprintf(room, sizeof(room), "%c", (char)c)
		: snprintf(room, sizeof(room), "\\x%0*X", c > 0xffffff ? 8 : c > 0xffff ? 6 : c > 0xff ? 4 : 2, c);

	return text_copy(u, room, (size_t)n);
}

/* The size of the characters of a string of `size` bytes, of which the first `n` are known: a guess by its zeros. */
static unsigned character_size(const uint8_t *p, size_t n, uint64_t size)
{
	size_t zeros = 0;

	if (size % 2)
		return 1;
	if (size < 32) {
		while (zeros < n && p[n - 1 - zeros] == 0)
			zeros++;
		return zeros >= 4 && size % 4 == 0 ? 4 : zeros >= 2 ? 2 : 1;
	}
	for (size_t i = 0; i < n; i++)
		zeros += p[i] == 0;
	return zeros >= 2 * n / 3 && size % 4 == 0 ? 4 : zeros >= n / 3 ? 2 : 1;
}

static struct symbol string(struct undname *u, text unused)
{
	uint8_t p[128];
	const char *end;
	size_t n = 0;
	uint64_t size;
	unsigned each;
	bool wide, cut;
	text t;

	undname_expect(u, "@_");
	wide = undname_eat(u, "1");
	undname_expect(u, wide ? "" : "0");
	size = undname_number(u, NULL);
	end = strchr(u->p, '@'); /* of a checksum */
	if (!end || size < 1u + wide)
		undname_fail(u);
	else
		u->p = end + 1;
	while (!u->bad && !undname_eat(u, "@"))
		if (n < sizeof(p))
			p[n++ ^ wide] = (uint8_t)byte(u);
		else
			undname_fail(u);
	if (n & wide)
		undname_fail(u);
	cut = wide ? size > 64 : size > n;
	each = wide ? 2 : character_size(p, n, size);
	t = wide ? LIT("L\"") : each == 1 ? LIT("\"") : each == 2 ? LIT("u\"") : LIT("U\"");
	for (size_t i = 0; i < n / each; i++) {
		uint32_t c = 0;

		for (unsigned k = each; k-- > 0;)
			c = c << 8 | p[i * each + k];
		if (cut || i + 1 != (wide ? size / 2 : n / each)) /* but for the zero at its end */
			t = JOIN(t, escaped(u, c));
	}
	return of_name(JOIN(t, cut ? LIT("\"...") : LIT("\"")), unused);
}

static const struct {
	const char *code;
	struct symbol (*read)(struct undname *u, text identifier);
	const char *identifier;
} specials[] = {
	{"7", table, "`vftable'"},
	{"8", table, "`vbtable'"},
	{"S", table, "`local vftable'"},
	{"9", virtual_call, "`vcall'{"},
	{"B", guard, "`local static guard'"},
	{"_J", guard, "`local static thread guard'"},
	{"C", string, ""},
	{"R0", type_descriptor, "`RTTI Type Descriptor'"},
	{"R1", base_class, "`RTTI Base Class Descriptor at ("},
	{"R2", untyped, "`RTTI Base Class Array'"},
	{"R3", untyped, "`RTTI Class Hierarchy Descriptor'"},
	{"R4", table, "`RTTI Complete Object Locator'"},
	{"_E", dynamic, "`dynamic initializer for "},
	{"_F", dynamic, "`dynamic atexit destructor for "},
};

/* The MD5 of a name that was too long. */
static struct symbol hashed(struct undname *u)
{
	const char *start = u->p, *end = strchr(start + strlen("??@"), '@');
	text t;

	u->p = end ? end + 1 : "";
	undname_eat(u, "??_R4@");
	t = end ? text_of(u, start, (size_t)(u->p - start)) : undname_fail(u);
	return of_name(t, t);
}

static struct symbol any(struct undname *u)
{
	const char *start = u->p + 1;

	if (strncmp(u->p, "??@", 3) == 0)
		return hashed(u);
	if (undname_eat(u, "."))
		return type_descriptor(u, LIT("`RTTI Type Descriptor Name'"));
	undname_expect(u, "?");
	for (size_t i = 0; undname_eat(u, "?_") && i < ARRAY_SIZE(specials); i++) {
		if (undname_eat(u, specials[i].code))
			return specials[i].read(u, text_string(u, specials[i].identifier));
		u->p = start;
	}
	u->p = u->bad ? u->p : start;
	return declaration(u);
}

struct symbol undname_symbol(struct undname *u)
{
	struct symbol s = {0};

	if (undname_enter(u))
		s = any(u);
	u->depth--;
	return s;
}

/* ---- a whole name, within bounds of time, memory and depth  -------------------------- */

#define NAME_MOST (64 << 10)
#define PIECES_MOST (16 << 10)

static bool read_name(struct undname *u, bool full, struct buf *out)
{
	struct symbol s = undname_symbol(u);
	text t = symbol_text(u, &s, full);
	size_t n = u->pieces[t].n;

	if (u->bad || n == 0 || buf_reserve(out, n) < 0)
		return false;
	text_write(u, t, out->p, (text *)(void *)&u->pieces[u->most]);
	out->n = n;
	out->p[n] = '\0';
	return true;
}

bool undname(const char *name, bool full, struct buf *out)
{
	_cleanup_free_ struct piece *pieces = NULL;
	_cleanup_free_ char *copy = NULL;
	size_t n = strnlen(name, NAME_MOST), most = MIN(64 + n * 6, PIECES_MOST);
	struct undname u = {.p = name, .n = 1, .most = most};
	const char *mark;

	buf_clear(out);
	if ((name[0] != '?' && strncmp(name, ".?", 2) != 0) || n == NAME_MOST)
		return false;
	u.pieces = pieces = malloc(most * (sizeof(*pieces) + sizeof(text)));
	if (!pieces)
		return false;
	pieces[0] = (struct piece){.power = 1};
	if (read_name(&u, full, out))
		return true;
	mark = strstr(name, "$$h"); /* of ARM64EC; some compilers put it anywhere */
	copy = mark ? strdup(name) : NULL;
	if (!copy)
		return false;
	memmove(copy + (mark - name), mark + 3, n - (size_t)(mark - name) - 2);
	u = (struct undname){.p = copy, .n = 1, .most = most, .pieces = pieces};
	return read_name(&u, full, out);
}
