/* Parts of the demangler of Microsoft's names: the rest of the name, texts, types, identifiers and symbols. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DEPTH_MOST 256

/* A text is characters, or two texts one after the other, and never changes. Several texts may share a part: a
 * reference to an earlier name costs no memory. 0: the empty text. */
typedef uint32_t text;

/* The hash of two texts follows from theirs, as a number follows from its digits. */
struct piece {
	union {
		const char *p;
		char own[8];
		text half[2];
	};
	uint32_t hash, power; /* power: what the hash of a text before this one is multiplied with */
	unsigned n : 24, form : 2;
	char last;
};

/* What a digit can refer to. Each list of template arguments has its own. */
struct remembered {
	text names[10], params[10];
	unsigned n_names, n_params;
};

struct undname {
	const char *p; /* the rest of the name; empty after undname_fail() */
	bool bad;
	unsigned depth;
	struct remembered seen;
	struct piece *pieces;
	size_t n, most;
};

/* Reading. After a failure nothing is left to read, and what is made of it is not used. */
static inline text undname_fail(struct undname *u)
{
	u->p = "";
	u->bad = true;
	return 0;
}
/* Before a recursion, and u->depth-- after it. False: too deep. */
static inline bool undname_enter(struct undname *u)
{
	if (++u->depth > DEPTH_MOST)
		undname_fail(u);
	return !u->bad;
}
static inline char undname_next(struct undname *u)
{
	return *u->p ? *u->p++ : (char)undname_fail(u);
}
static inline bool undname_at_digit(const struct undname *u)
{
	return *u->p >= '0' && *u->p <= '9';
}
bool undname_eat(struct undname *u, const char *prefix);
static inline void undname_expect(struct undname *u, const char *prefix)
{
	if (!undname_eat(u, prefix))
		undname_fail(u);
}
uint64_t undname_number(struct undname *u, bool *minus); /* `minus` NULL: a minus fails */
int64_t undname_signed(struct undname *u);

/* undname-text.c */
text text_of(struct undname *u, const char *p, size_t n); /* the characters must outlive u */
static inline text text_string(struct undname *u, const char *constant)
{
	return text_of(u, constant, strlen(constant));
}
text text_copy(struct undname *u, const char *p, size_t n);
text text_number(struct undname *u, bool minus, uint64_t v);
static inline text text_signed(struct undname *u, int64_t v)
{
	return text_number(u, v < 0, v < 0 ? -(uint64_t)v : (uint64_t)v);
}
text text_join(struct undname *u, const text *parts, size_t n);
#define LIT(constant) text_of(u, constant, sizeof(constant) - 1)
#define JOIN(...) text_join(u, (const text[]){__VA_ARGS__}, sizeof((const text[]){__VA_ARGS__}) / sizeof(text))
text text_spaced(struct undname *u, text t); /* with a space at its end, if a word may not follow directly */
/* With a comma, unless the list is empty. */
static inline text text_listed(struct undname *u, text list, text more)
{
	return list ? JOIN(list, LIT(", "), more) : more;
}
void text_write(const struct undname *u, text t, char *out, text *room); /* `room`: for u->n elements */

/* undname-types.c */
enum { IS_CONST = 1, IS_VOLATILE = 2, IS_RESTRICT = 4, IS_UNALIGNED = 8 };
enum type_kind { TYPE_PLAIN, TYPE_UNQUALIFIED, TYPE_ARRAY, TYPE_POINTER, TYPE_FUNCTION };

/* A name stands between two parts of a type. A pointer has both of its target, which may get qualifiers later. */
struct type {
	enum type_kind kind, target;
	unsigned quals, target_quals;
	text before, after;	 /* of a function: those of its result */
	text result;		 /* of a function: the whole result; 0: there is none */
	text convention, params; /* of a function, or of a pointer's target */
	text tail;		 /* of a function: what follows its qualifiers */
	text owner;		 /* of a pointer to a member */
	const char *mark;	 /* of a pointer */
};

struct type undname_type(struct undname *u, bool qualified); /* `qualified`: qualifiers come first */
struct type undname_function(struct undname *u, bool member);
text undname_convention(struct undname *u);
unsigned undname_qualifiers(struct undname *u);
unsigned undname_pointer_qualifiers(struct undname *u);
text text_qualified(struct undname *u, text t, unsigned quals, bool space); /* `space`: before the first qualifier */
text type_before(struct undname *u, const struct type *t);
text type_after(struct undname *u, const struct type *t);
text type_text(struct undname *u, const struct type *t);

/* undname-names.c */
enum identifier_kind { IDENTIFIER, CONSTRUCTOR, DESTRUCTOR, CONVERSION };

/* What a constructor, a destructor or a conversion is called follows from a later part of the mangled name. */
struct identifier {
	enum identifier_kind kind;
	text name, args;
};

struct identifier undname_identifier(struct undname *u);
text undname_scopes(struct undname *u, text *nearest); /* "A::B::"; `nearest`: B; NULL: not asked for */
text undname_type_name(struct undname *u);
text undname_unscoped_type_name(struct undname *u);

/* undname.c: classes of functions */
enum { IS_PRIVATE = 1, IS_PROTECTED = 2, IS_PUBLIC = 3, IS_STATIC = 4, IS_VIRTUAL = 8, IS_EXTERN_C = 16,
	IS_THUNK = 32, IS_GLOBAL = 64, HAS_NO_TYPE = 128 };
enum symbol_kind { SYMBOL_TEXT, SYMBOL_VARIABLE, SYMBOL_FUNCTION };
struct symbol {
	enum symbol_kind kind;
	text name;	  /* with its scopes */
	text identifier;  /* without them; 0: the symbol is a string */
	unsigned class;	  /* IS_PRIVATE to HAS_NO_TYPE */
	text thunk;	  /* what a thunk adjusts */
	struct type type; /* of a variable or a function */
};

text symbol_text(struct undname *u, const struct symbol *s, bool full);
struct symbol undname_symbol(struct undname *u); /* any whole name */
