/* Functions, variables and what compilers add, in Microsoft's names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/undname-private.h"
#include "base/util.h"

#include <string.h>

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

void undname_function_symbol(struct undname *u, struct symbol *s)
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

struct symbol undname_declaration(struct undname *u)
{
	struct identifier i = undname_identifier(u);
	struct symbol s = {0};
	text nearest = 0, scopes = undname_scopes(u, &nearest);

	if ((i.kind == CONSTRUCTOR || i.kind == DESTRUCTOR) && !nearest)
		undname_fail(u);
	if (*u->p >= '0' && *u->p <= '4')
		variable(u, &s, *u->p++);
	else
		undname_function_symbol(u, &s);
	if (i.kind == CONVERSION) { /* to the type of its result */
		if (s.kind != SYMBOL_FUNCTION || !s.type.result)
			undname_fail(u);
		nearest = s.type.result;
	}
	s.identifier = identifier_text(u, &i, nearest);
	s.name = JOIN(scopes, s.identifier);
	return s;
}
