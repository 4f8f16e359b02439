/* Names and their scopes, operators, and arguments of templates in Microsoft's names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/undname-private.h"
#include "base/util.h"

#include <string.h>

static void remember(struct undname *u, text name)
{
	struct remembered *seen = &u->seen;

	for (unsigned i = 0; i < seen->n_names; i++) {
		const struct piece *one = &u->pieces[seen->names[i]];

		if (one->hash == u->pieces[name].hash && one->n == u->pieces[name].n)
			return;
	}
	if (seen->n_names < ARRAY_SIZE(seen->names))
		seen->names[seen->n_names++] = name;
}

static text remembered(struct undname *u)
{
	unsigned i = (unsigned)(*u->p++ - '0');

	return i < u->seen.n_names ? u->seen.names[i] : undname_fail(u);
}

/* Characters up to an "@". */
static text word(struct undname *u, bool may_be_empty)
{
	const char *end = strchr(u->p, '@'), *start = u->p;

	if (!end || (end == start && !may_be_empty))
		return undname_fail(u);
	u->p = end + 1;
	return text_of(u, start, (size_t)(end - start));
}

static text simple_name(struct undname *u)
{
	text name = word(u, false);

	remember(u, name);
	return name;
}

/* The names of the codes 0 to 9 and A to Z, of those after "_", and of those after "__". */
static const char *const operators[3][36] = {
	{NULL, NULL, "operator new", "operator delete", "operator=", "operator>>", "operator<<", "operator!",
		"operator==", "operator!=", "operator[]", NULL, "operator->", "operator*", "operator++", "operator--",
		"operator-", "operator+", "operator&", "operator->*", "operator/", "operator%", "operator<",
		"operator<=", "operator>", "operator>=", "operator,", "operator()", "operator~", "operator^",
		"operator|", "operator&&", "operator||", "operator*=", "operator+=", "operator-="},
	{"operator/=", "operator%=", "operator>>=", "operator<<=", "operator&=", "operator|=", "operator^=", NULL,
		NULL, NULL, NULL, NULL, NULL, "`vbase dtor'", "`vector deleting dtor'", "`default ctor closure'",
		"`scalar deleting dtor'", "`vector ctor iterator'", "`vector dtor iterator'",
		"`vector vbase ctor iterator'", "`virtual displacement map'", "`eh vector ctor iterator'",
		"`eh vector dtor iterator'", "`eh vector vbase ctor iterator'", "`copy ctor closure'", NULL, NULL,
		NULL, NULL, "`local vftable ctor closure'", "operator new[]", "operator delete[]"},
	{NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "`managed vector ctor iterator'",
		"`managed vector dtor iterator'", "`EH vector copy ctor iterator'",
		"`EH vector vbase copy ctor iterator'", NULL, NULL, "`vector copy ctor iterator'",
		"`vector vbase copy constructor iterator'", "`managed vector vbase copy constructor iterator'", NULL,
		NULL, "operator co_await", "operator<=>"},
};

static struct identifier operator_name(struct undname *u)
{
	unsigned group = undname_eat(u, "__") ? 2 : undname_eat(u, "_") ? 1 : 0;
	char c = undname_next(u);
	int i = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : -1;
	const char *name = i >= 0 ? operators[group][i] : NULL;

	if (group == 0 && (c == '0' || c == '1'))
		return (struct identifier){.kind = c == '0' ? CONSTRUCTOR : DESTRUCTOR};
	if (group == 0 && c == 'B')
		return (struct identifier){.kind = CONVERSION};
	if (group == 2 && c == 'K')
		return (struct identifier){.name = JOIN(LIT("operator \"\""), word(u, false))};
	return (struct identifier){.name = name ? text_string(u, name) : undname_fail(u)};
}

/* The address of a member or a function ('1', or H to J with numbers), or a reference to a variable (E). */
static text address(struct undname *u)
{
	char kind = undname_next(u);
	bool data = kind == 'F' || kind == 'G';
	int n = data ? kind - 'F' + 2 : kind == '1' || kind == 'E' ? 0 : kind - 'G';
	text t = 0;

	if (!data && *u->p == '?') {
		struct symbol s = undname_symbol(u);

		t = symbol_text(u, &s, true);
		if (kind != 'E')
			remember(u, s.identifier ? s.identifier : undname_fail(u));
	}
	if (n == 0)
		return JOIN(kind == 'E' ? 0 : LIT("&"), t);
	while (n-- > 0)
		t = text_listed(u, t, text_signed(u, undname_signed(u)));
	return JOIN(LIT("{"), t, LIT("}"));
}

static text argument(struct undname *u)
{
	const char *start = u->p;
	bool automatic = undname_eat(u, "$M"), qualified = false, minus;
	struct type t;

	if (automatic) { /* its type comes first */
		undname_type(u, false);
		start = u->p;
	}
	if (undname_eat(u, "$$Y"))
		return undname_type_name(u);
	if (undname_eat(u, "$$C"))
		qualified = true;
	else if (!undname_eat(u, "$$B") && (automatic || undname_eat(u, "$"))) {
		if (*u->p && strchr("1EFGHIJ", *u->p))
			return address(u);
		if (undname_eat(u, "0")) {
			uint64_t v = undname_number(u, &minus);

			return text_number(u, minus, v);
		}
		u->p = start;
	}
	t = undname_type(u, qualified);
	return type_text(u, &t);
}

static text arguments(struct undname *u)
{
	text list = 0;

	while (*u->p && *u->p != '@')
		if (!undname_eat(u, "$S") && !undname_eat(u, "$$V") && !undname_eat(u, "$$$V") &&
			!undname_eat(u, "$$Z")) /* the end of a pack, or an empty one */
			list = text_listed(u, list, argument(u));
	undname_expect(u, "@");
	return JOIN(LIT("<"), list, LIT(">"));
}

static struct identifier template_name(struct undname *u)
{
	struct remembered outer = u->seen;
	struct identifier i = {0};

	u->seen.n_names = u->seen.n_params = 0;
	if (undname_enter(u)) {
		i = undname_identifier(u);
		i.args = arguments(u);
	}
	u->depth--;
	u->seen = outer;
	return i;
}

/* The name of a function or variable. */
struct identifier undname_identifier(struct undname *u)
{
	if (undname_at_digit(u))
		return (struct identifier){.name = remembered(u)};
	if (undname_eat(u, "?$"))
		return template_name(u);
	if (undname_eat(u, "?"))
		return operator_name(u);
	return (struct identifier){.name = simple_name(u)};
}

/* The name of a type, or of a scope. */
text undname_unscoped_type_name(struct undname *u)
{
	struct identifier i;
	text t;

	if (undname_at_digit(u))
		return remembered(u);
	if (!undname_eat(u, "?$"))
		return simple_name(u);
	i = template_name(u);
	if (i.kind != IDENTIFIER)
		undname_fail(u);
	t = JOIN(i.name, i.args);
	remember(u, t);
	return t;
}

/* Whether a scope within a function follows: a number between two question marks. */
static bool at_local_scope(const struct undname *u)
{
	const char *p = u->p + 1;

	if (*u->p != '?')
		return false;
	if (*p < '0' || *p > '9') {
		while (*p >= 'A' && *p <= 'P')
			p++;
		if (*p != '@')
			return false;
	}
	return p[1] == '?';
}

static text local_scope(struct undname *u)
{
	uint64_t n = (u->p++, undname_number(u, NULL));
	struct symbol s;

	undname_eat(u, "?");
	s = undname_symbol(u);
	return JOIN(LIT("`"), symbol_text(u, &s, true), LIT("'::`"), text_number(u, false, n), LIT("'"));
}

static text scope(struct undname *u)
{
	if (undname_eat(u, "?A")) {
		text t = LIT("`anonymous namespace'");

		word(u, true); /* the hash of a source file: one name has only one */
		remember(u, t);
		return t;
	}
	return at_local_scope(u) ? local_scope(u) : undname_unscoped_type_name(u);
}

text undname_scopes(struct undname *u, text *nearest)
{
	text all = 0;

	while (!u->bad && !undname_eat(u, "@")) {
		text one = scope(u);

		if (!all && nearest)
			*nearest = one;
		all = JOIN(one, LIT("::"), all);
	}
	return all;
}

text undname_type_name(struct undname *u)
{
	text t = undname_unscoped_type_name(u);

	return JOIN(undname_scopes(u, NULL), t);
}
