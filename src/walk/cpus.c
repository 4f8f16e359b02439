/* How the walk finds callers on each processor: the order of the ways, frame pointers, and the search of the stack.
 */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "walk/private.h"

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

static int amd64_by_scan(struct walker *t, struct walk_frame *out)
{
	uint64_t at, ip;
	int r = walker_scan(t, t->now.reg[REG_SP], walker_scan_words(t), &at, &ip);

	if (r <= 0)
		return r;
	*out = t->now;
	out->reg[REG_AMD64_IP] = ip;
	out->reg[REG_SP] = at + 8;
	out->known = KNOWN(REG_AMD64_IP) | KNOWN(REG_SP);
	out->found = STACK_SCAN;
	amd64_guess_pointer(t, at, out);
	return 1;
}

/* On Windows a leaf function has no unwind rules: the return address is on top of the stack. */
static int amd64_by_return(struct walker *t, struct walk_frame *out)
{
	uint64_t at, ip;
	int r = walker_scan(t, t->now.reg[REG_SP], 1, &at, &ip);

	if (r <= 0)
		return r;
	*out = t->now;
	out->reg[REG_AMD64_IP] = ip;
	out->reg[REG_SP] = at + 8;
	out->found = STACK_SCAN;
	return 1;
}

/* Programs of Windows have no chain of frame pointers. */
static int amd64_step(struct walker *t, struct walk_frame *out)
{
	int r = walker_by_rules(t, out);

	if (r == 0 && t->w->dump.windows && t->now.found == STACK_CONTEXT)
		r = amd64_by_return(t, out);
	if (r == 0 && !t->w->dump.windows)
		r = amd64_by_pointer(t, out);
	return r ? r : amd64_by_scan(t, out);
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

static int arm64_by_scan(struct walker *t, struct walk_frame *out)
{
	uint64_t at, ip;
	int r = walker_scan(t, t->now.reg[REG_ARM64_SP], walker_scan_words(t), &at, &ip);

	if (r <= 0)
		return r;
	*out = t->now;
	out->reg[REG_ARM64_PC] = ip;
	out->reg[REG_ARM64_SP] = at + 8;
	out->known = KNOWN(REG_ARM64_PC) | KNOWN(REG_ARM64_SP);
	out->found = STACK_SCAN;
	return 1;
}

static int arm64_step(struct walker *t, struct walk_frame *out)
{
	int r = walker_by_rules(t, out);

	if (r > 0)
		out->reg[REG_ARM64_PC] = walk_strip(t->w, out->reg[REG_ARM64_PC]);
	if (r == 0)
		r = arm64_by_pointer(t, out);
	return r ? r : arm64_by_scan(t, out);
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
