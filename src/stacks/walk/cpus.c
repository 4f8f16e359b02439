/* How the walk finds callers on each processor: the order of the ways, frame pointers, and the search of the stack.
 */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "stacks/walk/eval.h"
#include "stacks/walk/private.h"

#include <stdio.h>
#include <string.h>

/* Whether a word can be a return address: a module has code before it, and if its functions are known, one of them.
 */
static int seems_valid(struct walk *w, uint64_t ip)
{
	struct sym *sym;
	uint64_t rva;
	int r;

	if (ip == 0 || !walk_module_at(w, ip - 1))
		return 0;
	r = walk_sym_at(w, ip - 1, &sym, &rva);
	return r <= 0 ? (r == 0 ? 1 : r) : sym_names(sym, rva);
}

/* Searches the stack for a return address, in `words` words and the one after them. 1, 0, -EAGAIN. */
#define SCAN_WORDS 40
static int scan(struct walker *t, uint64_t from, unsigned words, uint64_t *at, uint64_t *ip)
{
	unsigned word = t->w->cpu->word;
	int r = 0;

	for (unsigned i = 0; r == 0 && i <= words; i++) {
		*at = from + (uint64_t)i * word;
		if (!walker_read(t, *at, ip))
			return 0;
		*ip = walk_strip(t->w, *ip);
		r = seems_valid(t->w, *ip);
	}
	return r;
}

/* The number of words to search for the caller of t->now: more for the first frame. */
static unsigned scan_words(const struct walker *t)
{
	return t->now.found == STACK_CONTEXT ? 4 * SCAN_WORDS : SCAN_WORDS;
}

/* Searches the stack for the return address. */
static int by_scan(struct walker *t, unsigned words, struct walk_frame *out)
{
	const struct walk_cpu *cpu = t->w->cpu;
	uint64_t at, ip;
	int r = scan(t, t->now.reg[cpu->sp], words, &at, &ip);

	if (r <= 0)
		return r;
	*out = t->now;
	out->reg[cpu->ip] = ip;
	out->reg[cpu->sp] = at + cpu->word;
	out->known = KNOWN(cpu->ip) | KNOWN(cpu->sp);
	out->found = STACK_SCAN;
	return 1;
}

/* ---- amd64 ------------------------------------------------------------------------------- */

/* Addresses that no program can have: the upper 17 bits of an address are equal. */
static bool is_canonical(uint64_t address)
{
	return address < 1ull << 47 || address >= ~0ull << 47;
}

static int amd64_by_pointer(struct walker *t, struct walk_frame *out)
{
	uint64_t bp = t->now.reg[REG_BP], ip, caller, unused;

	if (bp % 8 || bp > UINT64_MAX - 16 || !walker_read(t, bp + 8, &ip) || !walker_read(t, bp, &caller))
		return 0;
	if (!is_canonical(ip) || caller < bp + 16 || !walker_read(t, caller, &unused))
		return 0;
	*out = t->now;
	out->reg[REG_AMD64_IP] = ip;
	out->reg[REG_SP] = bp + 16;
	out->reg[REG_BP] = caller;
	out->known = KNOWN(REG_AMD64_IP) | KNOWN(REG_SP) | KNOWN(REG_BP);
	out->found = STACK_POINTER;
	return 1;
}

/* The frame pointer of the caller may be saved below the return address, or be that of the callee. */
static void amd64_guess_pointer(struct walker *t, uint64_t at, struct walk_frame *out)
{
	uint64_t bp = t->now.reg[REG_BP], caller;

	if (!(t->now.known & KNOWN(REG_BP)))
		return;
	if (at - 8 == bp) {
		if (!walker_read(t, bp, &caller) || caller <= at)
			return;
		bp = caller;
	} else if (bp < at + 8) {
		return;
	}
	out->reg[REG_BP] = bp;
	out->known |= KNOWN(REG_BP);
}

/* Programs of Windows have no chain of frame pointers. */
static int amd64_step(struct walker *t, struct walk_frame *out)
{
	int r = walker_by_rules(t, out);

	/* On Windows a leaf function has no unwind rules: the return address is on top of the stack. */
	if (r == 0 && t->w->dump.windows && t->now.found == STACK_CONTEXT) {
		r = by_scan(t, 1, out);
		if (r > 0)
			out->known = t->now.known;
	}
	if (r == 0 && !t->w->dump.windows)
		r = amd64_by_pointer(t, out);
	if (r != 0)
		return r;
	r = by_scan(t, scan_words(t), out);
	if (r > 0)
		amd64_guess_pointer(t, out->reg[REG_SP] - 8, out);
	return r;
}

/* ---- arm64 ------------------------------------------------------------------------------- */

/* The link register of a frame that rules found is unknown: then its value is beside the saved frame pointer.
 *
 * A thread's first record is two zeros. If the frame pointer of the thread's registers leads there, the functions
 * since then have no frame pointers: their frames begin at the stack pointer, which the caller keeps, as if the
 * function were a leaf. The stack is searched where nothing else leads on. */
static int arm64_by_pointer(struct walker *t, struct walk_frame *out)
{
	uint64_t fp = t->now.reg[REG_ARM64_FP], lr = t->now.reg[REG_ARM64_LR], caller_fp = 0, caller_lr = 0;
	bool first = t->now.found == STACK_CONTEXT, bare;

	if (first && !lr)
		return 0;
	if (fp && (fp < t->now.reg[REG_ARM64_SP] || fp > UINT64_MAX - 16))
		return 0;
	if (fp && (!walker_read(t, fp, &caller_fp) || !walker_read(t, fp + 8, &caller_lr)))
		return 0;
	*out = t->now;
	out->found = STACK_POINTER;
	out->known = KNOWN(REG_ARM64_PC) | KNOWN(REG_ARM64_SP) | KNOWN(REG_ARM64_FP) | KNOWN(REG_ARM64_LR);
	if (!(t->now.known & KNOWN(REG_ARM64_LR))) {
		if (!fp || !(caller_fp | caller_lr))
			return 0;
		/* The record at the frame pointer is that of this frame: it has the return address. */
		out->reg[REG_ARM64_PC] = walk_strip(t->w, caller_lr);
		out->reg[REG_ARM64_FP] = caller_fp;
		out->reg[REG_ARM64_SP] = fp + 16;
		out->known &= ~KNOWN(REG_ARM64_LR);
		return 1;
	}
	out->reg[REG_ARM64_PC] = walk_strip(t->w, lr);
	out->reg[REG_ARM64_LR] = walk_strip(t->w, caller_lr);
	out->reg[REG_ARM64_FP] = caller_fp;
	bare = !fp || (first && !(caller_fp | caller_lr));
	out->reg[REG_ARM64_SP] = bare ? t->now.reg[REG_ARM64_SP] : fp + 16;
	if (bare && first)
		out->known &= ~KNOWN(REG_ARM64_LR);
	return 1;
}

static int arm64_step(struct walker *t, struct walk_frame *out)
{
	int r = walker_by_rules(t, out);

	if (r > 0)
		out->reg[REG_ARM64_PC] = walk_strip(t->w, out->reg[REG_ARM64_PC]);
	if (r == 0)
		r = arm64_by_pointer(t, out);
	return r ? r : by_scan(t, scan_words(t), out);
}

/* ---- x86 ------------------------------------------------------------------------- */

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
	int r = scan(t, begin, 3, &at, &ip);

	w->search = r > 0 ? (uint32_t)at : begin;
	if (r > 0 && t->now.found == STACK_CONTEXT && w->info->fpo && at == begin && ip == t->now.reg[REG_X86_IP]) {
		r = scan(t, (uint32_t)(begin + 4), 3, &at, &ip);
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
	r = scan(t, t->now.reg[REG_SP], scan_words(t), &at, &ip);
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
	r = scan(t, begin, scan_words(t), &at, &ip);
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
	r = by_scan(t, scan_words(t), out);
	if (r <= 0)
		return r;
	out->known |= KNOWN(REG_BP);
	at = out->reg[REG_SP] - 4;
	/* The frame pointer of the caller may be saved below the return address. */
	if (walker_read(t, at - 4, &caller) && caller > at - 4 && caller - (at - 4) <= BP_GAP_MOST)
		out->reg[REG_BP] = caller;
	return 1;
}

static int x86_step(struct walker *t, struct walk_frame *out)
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

/* ---- the table --------------------------------------------------------------------------- */

static const char *const amd64_names[] = {"$rax", "$rcx", "$rdx", "$rbx", "$rsp", "$rbp", "$rsi", "$rdi", "$r8",
	"$r9", "$r10", "$r11", "$r12", "$r13", "$r14", "$r15", "$rip"};
static const char *const x86_names[] = {"$eax", "$ecx", "$edx", "$ebx", "$esp", "$ebp", "$esi", "$edi", "$eip"};
static const char *const arm64_names[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
	"x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
	"x27", "x28", "x29", "x30", "sp", "pc"};

static const struct walk_cpu amd64 = {amd64_names, ARRAY_SIZE(amd64_names), REG_AMD64_IP, REG_SP,
	KNOWN(3) | KNOWN(REG_BP) | KNOWN(12) | KNOWN(13) | KNOWN(14) | KNOWN(15), 8, amd64_step};
static const struct walk_cpu x86 = {x86_names, ARRAY_SIZE(x86_names), REG_X86_IP, REG_SP,
	KNOWN(3) | KNOWN(REG_BP) | KNOWN(6) | KNOWN(7), 4, x86_step};
static const struct walk_cpu arm64 = {arm64_names, ARRAY_SIZE(arm64_names), REG_ARM64_PC, REG_ARM64_SP,
	0x3ff80000, 8, arm64_step};

const struct walk_cpu *walk_cpu_of(enum minidump_cpu cpu)
{
	return cpu == MINIDUMP_CPU_AMD64   ? &amd64
	       : cpu == MINIDUMP_CPU_X86   ? &x86
	       : cpu == MINIDUMP_CPU_ARM64 ? &arm64
					   : NULL;
}
