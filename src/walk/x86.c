/* Finds callers on x86: by STACK WIN records, whose programs and sizes are relative to the stack pointer before a
 * call, by STACK CFI rules, by frame pointers, and by a search of the stack. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "walk/eval.h"
#include "walk/private.h"

#include <stdio.h>
#include <string.h>

#define BP_SEARCH_MOST 1024u	   /* words that are searched for the frame pointer */
#define BP_GAP_MOST (128u << 10) /* bytes between two frames, in a guess of the frame pointer */

/* A STACK WIN record at work. */
struct win {
	struct walker *t;
	const struct sym_win *info;
	struct eval v;
	uint32_t callee_params; /* bytes of parameters of the function that was called */
	uint32_t search;	/* where the return address is expected */
	const char *program;
	bool recover_bp, scanned;
	uint32_t skipped; /* bytes between the expected and the found place */
};

static uint32_t get(const struct win *w, const char *name)
{
	uint64_t value = 0;

	eval_get(&w->v, name, &value);
	return (uint32_t)value;
}

/* A frame without a frame pointer may be aligned: the return address is up to three words higher. A system call of
 * Windows leaves the address of the current instruction on the stack, which is skipped. 0, -EAGAIN. */
static int find_search(struct win *w)
{
	struct walker *t = w->t;
	uint32_t begin = (uint32_t)(t->now.reg[REG_SP] + w->callee_params + w->info->locals + w->info->saved);
	uint64_t at, ip;
	int r = walker_scan(t, begin, 3, &at, &ip);

	w->search = r > 0 ? (uint32_t)at : begin;
	if (r > 0 && t->now.found == STACK_CONTEXT && w->info->fpo && at == begin && ip == t->now.reg[REG_X86_IP]) {
		r = walker_scan(t, (uint32_t)(begin + 4), 3, &at, &ip);
		w->search = r > 0 ? (uint32_t)at : begin + 4;
	}
	return MIN(r, 0);
}

/* The program of the record, or what the sizes of an older record mean. */
static void choose_program(struct win *w)
{
	w->recover_bp = true;
	if (w->info->program[0]) {
		w->program = w->info->program;
	} else if (w->info->allocates_bp) {
		w->program = "$eip .raSearchStart ^ = $ebp $esp .cbCalleeParams + .cbSavedRegs + 8 - ^ = "
			     "$esp .raSearchStart 4 + =";
	} else {
		w->recover_bp = false;
		w->program = w->t->now.known & KNOWN(3)
				     ? "$eip .raSearchStart ^ = $esp .raSearchStart 4 + = $ebx $ebx ="
				     : "$eip .raSearchStart ^ = $esp .raSearchStart 4 + =";
	}
	/* '@' aligns the stack pointer, so only the frame pointer says where the return address is. */
	if ((w->t->now.known & KNOWN(REG_BP)) && strchr(w->program, '@'))
		w->search = (uint32_t)w->t->now.reg[REG_BP] + 4;
}

static void set_variables(struct win *w)
{
	struct walker *t = w->t;

	w->v = (struct eval){.narrow = true, .read = walker_read, .ctx = t};
	eval_set(&w->v, "$ebp", t->now.reg[REG_BP]);
	eval_set(&w->v, "$esp", t->now.reg[REG_SP]);
	if (t->now.known & KNOWN(3))
		eval_set(&w->v, "$ebx", t->now.reg[3]);
	eval_set(&w->v, ".cbCalleeParams", w->callee_params);
	eval_set(&w->v, ".cbSavedRegs", w->info->saved);
	eval_set(&w->v, ".cbLocals", w->info->locals);
	eval_set(&w->v, ".cbParams", w->info->params);
	eval_set(&w->v, ".raSearchStart", w->search);
	eval_set(&w->v, ".raSearch", w->search);
}

static void take_scan(struct win *w, uint64_t at, uint64_t ip)
{
	eval_set(&w->v, "$eip", ip);
	eval_set(&w->v, "$esp", at + 4);
	w->scanned = true;
}

/* 1: the registers of the caller are in the variables; 0, -EAGAIN. */
static int run_program(struct win *w)
{
	struct walker *t = w->t;
	uint64_t at, ip;
	int r;

	if (eval_program(&w->v, w->program, strlen(w->program)) && eval_assigned(&w->v, "$eip") &&
		eval_assigned(&w->v, "$esp"))
		return 1;
	r = walker_scan(t, t->now.reg[REG_SP], walker_scan_words(t), &at, &ip);
	if (r > 0)
		take_scan(w, at, ip);
	return r;
}

/* A return address outside all modules is wrong: the search goes on above the expected place. 0, -EAGAIN. */
static int correct_ip(struct win *w)
{
	struct walker *t = w->t;
	uint32_t begin = get(w, ".raSearchStart") + 4;
	uint64_t at, ip;
	int r;

	if (walk_module_at(t->w, get(w, "$eip")))
		return 0;
	r = walker_scan(t, begin, walker_scan_words(t), &at, &ip);
	if (r > 0) {
		take_scan(w, at, ip);
		w->skipped = (uint32_t)at - begin;
	}
	return MIN(r, 0);
}

/* Searches the saved registers for a frame pointer, if that of the program does not point to the stack. */
static void correct_bp(struct win *w)
{
	struct walker *t = w->t;
	uint32_t bp = get(w, "$ebp"), low = (uint32_t)t->now.reg[REG_SP] + w->callee_params;
	uint32_t words = (w->info->saved + w->skipped) / 4;
	uint64_t value, unused;

	if (!(w->scanned && bp <= w->search + w->skipped) && walker_read(t, bp, &unused))
		return;
	if (words > BP_SEARCH_MOST)
		return;
	for (uint32_t i = words + 1; i-- > 0;) {
		if (!walker_read(t, (uint32_t)(low + 4 * i), &value))
			return;
		if (walker_read(t, value, &unused)) {
			eval_set(&w->v, "$ebp", value);
			return;
		}
	}
}

static void take_kept(const struct win *w, const char *name, unsigned i, struct walk_frame *out)
{
	if (eval_assigned(&w->v, name)) {
		out->reg[i] = get(w, name);
		out->known |= KNOWN(i);
	}
}

static int by_win(struct walker *t, const struct sym_win *info, struct walk_frame *out)
{
	struct win w = {.t = t, .info = info, .callee_params = t->params};
	int r = find_search(&w);

	if (r < 0)
		return r;
	choose_program(&w);
	set_variables(&w);
	r = run_program(&w);
	if (r <= 0)
		return r;
	/* Both zero: the end of the stack. */
	if (get(&w, "$eip") || get(&w, "$ebp")) {
		r = correct_ip(&w);
		if (r < 0)
			return r;
		if (w.recover_bp)
			correct_bp(&w);
	}
	*out = t->now;
	out->reg[REG_X86_IP] = get(&w, "$eip");
	out->reg[REG_SP] = get(&w, "$esp");
	out->reg[REG_BP] = get(&w, "$ebp");
	out->known = KNOWN(REG_X86_IP) | KNOWN(REG_SP) | KNOWN(REG_BP);
	out->found = w.scanned ? STACK_SCAN : STACK_RULES;
	take_kept(&w, "$ebx", 3, out);
	take_kept(&w, "$esi", 6, out);
	take_kept(&w, "$edi", 7, out);
	return 1;
}

/* ---- frame pointers, and the search of the stack ---------------------------------------------- */

static int by_pointer(struct walker *t, struct walk_frame *out)
{
	uint64_t bp = t->now.reg[REG_BP], ip, caller, at;
	int r;

	*out = t->now;
	out->known = KNOWN(REG_X86_IP) | KNOWN(REG_SP) | KNOWN(REG_BP);
	if (walker_read(t, bp + 4, &ip) && walker_read(t, bp, &caller)) {
		out->reg[REG_X86_IP] = ip;
		out->reg[REG_SP] = bp + 8;
		out->reg[REG_BP] = caller;
		out->found = STACK_POINTER;
		return 1;
	}
	r = walker_scan(t, t->now.reg[REG_SP], walker_scan_words(t), &at, &ip);
	if (r <= 0)
		return r;
	out->reg[REG_X86_IP] = ip;
	out->reg[REG_SP] = at + 4;
	out->found = STACK_SCAN;
	/* The frame pointer of the caller may be saved below the return address. */
	if (walker_read(t, at - 4, &caller) && caller > at - 4 && caller - (at - 4) <= BP_GAP_MOST)
		out->reg[REG_BP] = caller;
	return 1;
}

int x86_step(struct walker *t, struct walk_frame *out)
{
	_cleanup_free_ struct sym_win *info = malloc(sizeof(*info));
	struct sym *sym;
	uint64_t rva;
	int r = walk_sym_at(t->w, walker_look(t), &sym, &rva), found = 0;

	if (!info)
		return -ENOMEM;
	if (r < 0)
		return r;
	t->params_next = 0;
	if (r > 0)
		found = sym_win(sym, rva, info);
	if (found < 0)
		return found;
	if (found) {
		t->params_next = info->params;
		found = by_win(t, info, out);
	} else if (r > 0) {
		sym_params(sym, rva, &t->params_next);
	}
	if (found == 0)
		found = walker_by_rules(t, out);
	return found ? found : by_pointer(t, out);
}
