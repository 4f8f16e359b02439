/* Types in Microsoft's names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/undname-private.h"
#include "base/util.h"

#include <string.h>

text text_qualified(struct undname *u, text t, unsigned quals, bool space)
{
	static const char *const words[] = {" const", " volatile", " __restrict", " __unaligned"};

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (quals & 1u << i) {
			t = JOIN(t, text_string(u, words[i] + !space));
			space = true;
		}
	return t;
}

static text qualified(struct undname *u, enum type_kind kind, text before, unsigned quals)
{
	if (kind == TYPE_FUNCTION || kind == TYPE_UNQUALIFIED)
		return before;
	return text_qualified(u, before, quals & ~(unsigned)IS_UNALIGNED, kind != TYPE_POINTER);
}

text type_before(struct undname *u, const struct type *t)
{
	text before = t->before;

	if (t->kind == TYPE_FUNCTION)
		return JOIN(before, t->convention);
	if (t->kind != TYPE_POINTER)
		return qualified(u, t->kind, before, t->quals);
	before = text_spaced(u, qualified(u, t->target, before, t->target_quals));
	if (t->quals & IS_UNALIGNED)
		before = JOIN(before, LIT("__unaligned "));
	if (t->target == TYPE_ARRAY)
		before = JOIN(before, LIT("("));
	if (t->target == TYPE_FUNCTION)
		before = JOIN(before, LIT("("), t->convention, LIT(" "));
	if (t->owner)
		before = JOIN(before, t->owner, LIT("::"));
	return qualified(u, TYPE_POINTER, JOIN(before, text_string(u, t->mark)), t->quals);
}

text type_after(struct undname *u, const struct type *t)
{
	bool pointer = t->kind == TYPE_POINTER;
	enum type_kind kind = pointer ? t->target : t->kind;
	unsigned quals = pointer ? t->target_quals : t->quals;
	text after = t->after;

	if (kind == TYPE_FUNCTION)
		after = JOIN(text_qualified(u, t->params, quals, true), t->tail, after);
	if (pointer && (kind == TYPE_FUNCTION || kind == TYPE_ARRAY))
		after = JOIN(LIT(")"), after);
	return after;
}

text type_text(struct undname *u, const struct type *t)
{
	return JOIN(type_before(u, t), type_after(u, t));
}

unsigned undname_qualifiers(struct undname *u)
{
	char c = undname_next(u);

	if (c >= 'A' && c <= 'D')
		return (unsigned)(c - 'A');
	return c >= 'Q' && c <= 'T' ? (unsigned)(c - 'Q') : undname_fail(u);
}

unsigned undname_pointer_qualifiers(struct undname *u)
{
	unsigned quals;

	undname_eat(u, "E"); /* 64 bits */
	quals = undname_eat(u, "I") ? IS_RESTRICT : 0;
	return quals | (undname_eat(u, "F") ? IS_UNALIGNED : 0);
}

text undname_convention(struct undname *u)
{
	static const char *const names[] = {"__cdecl", "__pascal", "__thiscall", "__stdcall", "__fastcall", "",
		"__clrcall", "__eabi", "__vectorcall", "__attribute__((__swiftcall__)) ", "",
		"__attribute__((__swiftasynccall__)) "};
	char c = undname_next(u);
	bool known = c >= 'A' && c <= 'W' && (c <= 'P' || (c - 'A') % 2 == 0); /* two letters for each up to P */

	return c == 'w' ? LIT("__regcall") : text_string(u, known ? names[(c - 'A') / 2] : "");
}

/* One letter is not worth a reference. */
static text parameter(struct undname *u)
{
	struct remembered *seen = &u->seen;
	const char *start = u->p;
	struct type t;
	text one;

	if (undname_at_digit(u)) {
		unsigned i = (unsigned)(*u->p++ - '0');

		return i < seen->n_params ? seen->params[i] : undname_fail(u);
	}
	t = undname_type(u, false);
	one = type_text(u, &t);
	if (u->p - start > 1 && seen->n_params < ARRAY_SIZE(seen->params))
		seen->params[seen->n_params++] = one;
	return one;
}

static text parameters(struct undname *u)
{
	text list = 0;

	if (undname_eat(u, "X"))
		return LIT("(void)");
	while (*u->p && *u->p != '@' && *u->p != 'Z')
		list = text_listed(u, list, parameter(u));
	if (undname_eat(u, "Z"))
		list = text_listed(u, list, LIT("..."));
	else
		undname_expect(u, "@");
	return JOIN(LIT("("), list, LIT(")"));
}

struct type undname_function(struct undname *u, bool member)
{
	struct type t = {.kind = TYPE_FUNCTION};
	text reference = 0;

	if (member) {
		t.quals = undname_pointer_qualifiers(u);
		reference = undname_eat(u, "G") ? LIT(" &") : undname_eat(u, "H") ? LIT(" &&") : 0;
		t.quals |= undname_qualifiers(u);
	}
	t.convention = undname_convention(u);
	if (!undname_eat(u, "@")) {
		struct type result = undname_type(u, undname_eat(u, "?"));

		t.before = type_before(u, &result);
		t.after = type_after(u, &result);
		t.result = JOIN(t.before, t.after);
		t.before = JOIN(t.before, LIT(" "));
	}
	t.params = parameters(u);
	if (undname_eat(u, "_E"))
		t.tail = LIT(" noexcept");
	else
		undname_expect(u, "Z");
	t.tail = JOIN(t.tail, reference);
	return t;
}

/* P to S begin a pointer to a member if "8" or a member's qualifiers follow. */
static struct type pointer(struct undname *u)
{
	const char *mark = undname_eat(u, "$$Q") ? "&&" : undname_eat(u, "A") ? "&" : "*";
	bool member = mark[0] == '*';
	unsigned quals = member ? (unsigned)(undname_next(u) - 'P') : 0, target_quals;
	text owner = 0;
	struct type t;

	if (undname_eat(u, "6")) {
		t = undname_function(u, false);
	} else if (member && undname_eat(u, "8")) {
		owner = undname_type_name(u);
		t = undname_function(u, true);
	} else {
		quals |= undname_pointer_qualifiers(u);
		member = member && *u->p >= 'Q';
		target_quals = undname_qualifiers(u);
		owner = member ? undname_type_name(u) : 0;
		t = undname_type(u, false);
		t.quals = target_quals | (member ? 0 : t.quals);
	}
	target_quals = t.quals;
	if (t.kind != TYPE_FUNCTION) {
		t.quals &= IS_UNALIGNED;
		t.before = type_before(u, &t);
		t.after = type_after(u, &t);
	}
	t.target = t.kind;
	t.target_quals = target_quals;
	t.kind = TYPE_POINTER;
	t.quals = quals;
	t.mark = mark;
	t.owner = owner;
	return t;
}

static struct type array(struct undname *u)
{
	struct type t = {.kind = TYPE_ARRAY}, element;
	uint64_t rank = undname_number(u, NULL);
	text sizes = 0;

	if (rank == 0)
		undname_fail(u);
	for (uint64_t i = 0; i < rank && !u->bad; i++) {
		uint64_t n = undname_number(u, NULL);

		sizes = JOIN(sizes, LIT("["), n ? text_number(u, false, n) : 0, LIT("]"));
	}
	if (undname_eat(u, "$$C"))
		t.quals = *u->p <= 'D' ? undname_qualifiers(u) : undname_fail(u);
	element = undname_type(u, false);
	t.before = type_before(u, &element);
	t.after = JOIN(sizes, type_after(u, &element));
	return t;
}

static text tag(struct undname *u, char c)
{
	text word = c == 'T' ? LIT("union ") : c == 'U' ? LIT("struct ") : c == 'V' ? LIT("class ") : LIT("enum ");

	undname_expect(u, c == 'W' ? "4" : "");
	return JOIN(word, undname_type_name(u));
}

static text primitive(struct undname *u, char c)
{
	/* From C to X, then from _J to _W. */
	static const char *const names[] = {"signed char", "char", "unsigned char", "short", "unsigned short", "int",
		"unsigned int", "long", "unsigned long", "", "float", "double", "long double", "", "", "", "", "", "",
		"", "", "void"};
	static const char *const more[] = {"__int64", "unsigned __int64", "", "", "bool", "", "auto", "char8_t", "",
		"char16_t", "decltype(auto)", "char32_t", "", "wchar_t"};
	const char *name = c >= 'C' && c <= 'X' ? names[c - 'C'] : "";

	if (c == '_') {
		c = undname_next(u);
		name = c >= 'J' && c <= 'W' ? more[c - 'J'] : "";
	}
	return name[0] ? text_string(u, name) : undname_fail(u);
}

static struct type unqualified_type(struct undname *u)
{
	struct type t = {0};
	char c = *u->p;

	if ((c == 'A' || (c >= 'P' && c <= 'S')) || strncmp(u->p, "$$Q", 3) == 0)
		return pointer(u);
	if (undname_eat(u, "$$A6"))
		return undname_function(u, false);
	if (undname_eat(u, "$$A8@@"))
		return undname_function(u, true);
	if (undname_eat(u, "$$T"))
		t.before = LIT("std::nullptr_t");
	else if (undname_next(u) == 'Y')
		return array(u);
	else if (c == '?') {
		t.kind = TYPE_UNQUALIFIED;
		t.before = undname_unscoped_type_name(u);
		undname_expect(u, "@");
	} else
		t.before = c >= 'T' && c <= 'W' ? tag(u, c) : primitive(u, c);
	return t;
}

struct type undname_type(struct undname *u, bool qualified)
{
	struct type t = {0};
	unsigned quals = 0;

	if (undname_enter(u)) {
		if (qualified)
			quals = undname_qualifiers(u);
		t = unqualified_type(u);
		t.quals |= quals;
	}
	u->depth--;
	return t;
}
