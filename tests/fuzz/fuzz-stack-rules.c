/* Fuzzes the reader of STACK records and the evaluator of their expressions. The first two bytes are an address, the
 * rest is a Breakpad file. What the index finds can be read, and the expressions end. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "stacks/walk/eval.h"
#include "stacks/walk/sym.h"

#include <string.h>

static bool word_at(void *ctx, uint64_t at, uint64_t *out)
{
	*out = at * 3;
	return at < 100000;
}

static void evaluate(const char *p, size_t n, bool narrow)
{
	struct eval v = {.narrow = narrow, .read = word_at};
	uint64_t value = 0;

	eval_set(&v, "$rsp", 1000);
	eval_set(&v, ".cfa", 1008);
	if (eval_value(&v, p, n, &value) && narrow && value > UINT32_MAX)
		abort();
	eval_program(&v, p, n);
	for (unsigned i = 0; i < v.n; i++)
		if (!memchr(v.var[i].name, '\0', EVAL_NAME) || (narrow && v.var[i].value > UINT32_MAX))
			abort();
}

static void look(struct sym *s, uint64_t address)
{
	_cleanup_free_ struct sym_rules *r = calloc(1, sizeof(*r));
	_cleanup_free_ struct sym_win *w = calloc(1, sizeof(*w));
	uint32_t params = 0;

	if (sym_rules(s, address, r) > 0)
		for (unsigned i = 0; i < r->n; i++) {
			const struct sym_rule *rule = &r->rule[i];

			if (rule->value + rule->value_n > r->used || rule->name + rule->name_n > r->used)
				abort();
			evaluate(r->text + rule->value, rule->value_n, false);
		}
	if (sym_win(s, address, w) > 0)
		evaluate(w->program, strlen(w->program), true);
	if (sym_params(s, address, &params) && !sym_names(s, address))
		abort();
}

FUZZ_TARGET("stack-rules", p, n)
{
	struct view v = view_of_mem(p + MIN(n, 2), n - MIN(n, 2));
	size_t budget = 1u << 20;
	struct sym *s = NULL;

	if (n < 2 || sym_open(&s, &v, &budget) < 0)
		return 0;
	for (uint64_t address = 0; address < 0x400; address += 0x40)
		look(s, address);
	look(s, (uint64_t)p[0] << 8 | p[1]);
	look(s, UINT64_MAX - p[0]);
	sym_free(s);
	return 0;
}
