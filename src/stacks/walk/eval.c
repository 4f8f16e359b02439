/* Evaluates postfix expressions of STACK records. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/walk/eval.h"

#include <string.h>

#define DEPTH 64

/* A value, or a name that gets its value when an operator takes it. */
struct item {
	const char *name; /* NULL: a value */
	size_t n;
	uint64_t value;
};

struct stack {
	struct eval *v;
	struct item item[DEPTH];
	unsigned n;
};

static struct eval_variable *find(const struct eval *v, const char *name, size_t n)
{
	for (unsigned i = 0; i < v->n; i++)
		if (strlen(v->var[i].name) == n && memcmp(v->var[i].name, name, n) == 0)
			return (struct eval_variable *)&v->var[i];
	return NULL;
}

static struct eval_variable *make(struct eval *v, const char *name, size_t n)
{
	struct eval_variable *var = find(v, name, n);

	if (var || n == 0 || n >= EVAL_NAME || v->n == EVAL_VARIABLES)
		return var;
	var = &v->var[v->n++];
	memcpy(var->name, name, n);
	var->name[n] = '\0';
	var->assigned = false;
	return var;
}

static uint64_t wrap(const struct eval *v, uint64_t value)
{
	return v->narrow ? (uint32_t)value : value;
}

bool eval_set(struct eval *v, const char *name, uint64_t value)
{
	struct eval_variable *var = make(v, name, strlen(name));

	if (var)
		var->value = wrap(v, value);
	return var;
}

bool eval_get(const struct eval *v, const char *name, uint64_t *out)
{
	const struct eval_variable *var = find(v, name, strlen(name));

	if (var)
		*out = var->value;
	return var;
}

bool eval_assigned(const struct eval *v, const char *name)
{
	const struct eval_variable *var = find(v, name, strlen(name));

	return var && var->assigned;
}

/* ---- the stack of values --------------------------------------------------------------- */

static bool push(struct stack *s, struct item i)
{
	if (s->n == DEPTH)
		return false;
	s->item[s->n++] = i;
	return true;
}

static bool pop(struct stack *s, uint64_t *out)
{
	const struct eval_variable *var;
	const struct item *i;

	if (s->n == 0)
		return false;
	i = &s->item[--s->n];
	var = i->name ? find(s->v, i->name, i->n) : NULL;
	if (i->name && !var)
		return false;
	*out = var ? var->value : i->value;
	return true;
}

/* A decimal number, which may have a sign. */
static bool number_of(const struct eval *v, const char *p, size_t n, uint64_t *out)
{
	bool minus = n && *p == '-';
	uint64_t value = 0;

	if (n == minus)
		return false;
	for (size_t i = minus; i < n; i++)
		if (p[i] < '0' || p[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(p[i] - '0'), &value))
			return false;
	if (v->narrow && value > UINT32_MAX)
		return false;
	*out = wrap(v, minus ? 0 - value : value);
	return true;
}

/* ---- operators ------------------------------------------------------------------------- */

static bool calculate(struct stack *s, char op)
{
	uint64_t a, b, r;

	if (!pop(s, &b) || !pop(s, &a))
		return false;
	if ((op == '/' || op == '%') && b == 0)
		return false;
	switch (op) {
	case '+':
		r = a + b;
		break;
	case '-':
		r = a - b;
		break;
	case '*':
		r = a * b;
		break;
	case '/':
		r = a / b;
		break;
	case '%':
		r = a % b;
		break;
	default: /* '@': rounds down to a power of two */
		r = a & ~(b - 1);
		break;
	}
	return push(s, (struct item){.value = wrap(s->v, r)});
}

static bool read_memory(struct stack *s)
{
	uint64_t at, value;

	return pop(s, &at) && s->v->read && s->v->read(s->v->ctx, at, &value) &&
	       push(s, (struct item){.value = wrap(s->v, value)});
}

/* Assigns to a variable whose name begins with '$'. */
static bool assign(struct stack *s)
{
	struct eval_variable *var;
	const struct item *to;
	uint64_t value;

	if (!pop(s, &value) || s->n == 0)
		return false;
	to = &s->item[--s->n];
	if (!to->name || to->name[0] != '$')
		return false;
	var = make(s->v, to->name, to->n);
	if (!var)
		return false;
	var->value = value;
	var->assigned = true;
	return true;
}

static bool take_token(struct stack *s, const char *p, size_t n)
{
	uint64_t value;

	if (n == 1 && strchr("+-*/%@", *p))
		return calculate(s, *p);
	if (n == 1 && *p == '^')
		return read_memory(s);
	if (n == 1 && *p == '=')
		return assign(s);
	if (number_of(s->v, p, n, &value))
		return push(s, (struct item){.value = value});
	return push(s, (struct item){.name = p, .n = n});
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool run(struct stack *s, const char *p, size_t n)
{
	const char *end = p + n;

	if (n > EVAL_TEXT_MOST || memchr(p, '\0', n))
		return false;
	while (p < end) {
		const char *word = p;

		if (is_blank(*p)) {
			p++;
			continue;
		}
		while (p < end && !is_blank(*p))
			p++;
		/* Some linkers write '=' and the next word without a blank. */
		if (*word == '=' && p - word > 1) {
			if (!assign(s))
				return false;
			word++;
		}
		if (!take_token(s, word, (size_t)(p - word)))
			return false;
	}
	return true;
}

bool eval_value(struct eval *v, const char *p, size_t n, uint64_t *out)
{
	struct stack s = {.v = v};

	return n && run(&s, p, n) && s.n == 1 && pop(&s, out);
}

bool eval_program(struct eval *v, const char *p, size_t n)
{
	struct stack s = {.v = v};

	return n && run(&s, p, n) && s.n == 0;
}
