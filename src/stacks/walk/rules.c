/* Finds the caller of a frame by STACK CFI rules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "stacks/walk/eval.h"
#include "stacks/walk/private.h"

#include <string.h>

static const struct sym_rule *find(const struct sym_rules *r, const char *name)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->rule[i].name_n == strlen(name) && memcmp(r->text + r->rule[i].name, name, strlen(name)) == 0)
			return &r->rule[i];
	return NULL;
}

static bool value_of(struct eval *v, const struct sym_rules *r, const struct sym_rule *rule, uint64_t *out)
{
	return rule && eval_value(v, r->text + rule->value, rule->value_n, out);
}

/* A register without a rule keeps its value if functions keep it. */
static void take_register(
	struct walker *t, const struct sym_rules *r, struct eval *v, unsigned i, struct walk_frame *out)
{
	const struct sym_rule *rule = find(r, t->w->cpu->names[i]);
	uint64_t bit = KNOWN(i);

	if (rule && value_of(v, r, rule, &out->reg[i])) {
		out->known |= bit;
	} else if (t->w->cpu->saved & t->now.known & bit) {
		out->reg[i] = t->now.reg[i];
		out->known |= bit;
	}
}

static bool apply(struct walker *t, const struct sym_rules *r, struct walk_frame *out)
{
	const struct walk_cpu *cpu = t->w->cpu;
	struct eval v = {.narrow = cpu->word == 4, .read = walker_read, .ctx = t};
	uint64_t cfa, ra;

	for (unsigned i = 0; i < cpu->n; i++)
		if (t->now.known & KNOWN(i))
			eval_set(&v, cpu->names[i], t->now.reg[i]);
	if (!value_of(&v, r, find(r, ".cfa"), &cfa))
		return false;
	eval_set(&v, ".cfa", cfa);
	if (!value_of(&v, r, find(r, ".ra"), &ra))
		return false;
	*out = (struct walk_frame){.found = STACK_RULES};
	for (unsigned i = 0; i < cpu->n; i++)
		take_register(t, r, &v, i, out);
	if (!(out->known & KNOWN(cpu->ip)))
		out->reg[cpu->ip] = ra;
	if (!(out->known & KNOWN(cpu->sp)))
		out->reg[cpu->sp] = cfa;
	out->known |= KNOWN(cpu->ip) | KNOWN(cpu->sp);
	return out->reg[cpu->ip] && out->reg[cpu->sp];
}

int walker_by_rules(struct walker *t, struct walk_frame *out)
{
	struct sym *sym;
	uint64_t rva;
	int r = walk_sym_at(t->w, walker_look(t), &sym, &rva);
	_cleanup_free_ struct sym_rules *rules = r > 0 ? malloc(sizeof(*rules)) : NULL;

	if (r <= 0)
		return r;
	r = rules ? sym_rules(sym, rva, rules) : -ENOMEM;
	return r > 0 ? apply(t, rules, out) : r;
}
