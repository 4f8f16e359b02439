/* Names of registers by processor, as Breakpad's walkers know them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/unwind/rules.h"
#include "base/util.h"

enum {
	EM_386 = 3, EM_MIPS = 8, EM_PPC = 20, EM_PPC64 = 21, EM_ARM = 40, EM_X86_64 = 62, EM_AARCH64 = 183,
	EM_RISCV = 243
};
#define CPU_64 0x01000000u

static const char *const amd64[] = {"$rax", "$rdx", "$rcx", "$rbx", "$rsi", "$rdi", "$rbp", "$rsp", "$r8", "$r9",
	"$r10", "$r11", "$r12", "$r13", "$r14", "$r15", "$rip"};
static const char *const i386[] = {"$eax", "$ecx", "$edx", "$ebx", "$esp", "$ebp", "$esi", "$edi", "$eip"};
/* Programs of macOS for i386 have the numbers of $esp and $ebp exchanged in __eh_frame, but not in __debug_frame. */
static const char *const i386_macho[] = {"$eax", "$ecx", "$edx", "$ebx", "$ebp", "$esp", "$esi", "$edi", "$eip"};
/* The walkers for ARM and later processors know no "$". */
static const char *const arm[] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12",
	"sp", "lr", "pc"};
static const char *const arm64[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
	"x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
	"x28", "x29", "x30", "sp"};
static const char *const mips[] = {"$zero", "$at", "$v0", "$v1", "$a0", "$a1", "$a2", "$a3", "$t0", "$t1", "$t2",
	"$t3", "$t4", "$t5", "$t6", "$t7", "$s0", "$s1", "$s2", "$s3", "$s4", "$s5", "$s6", "$s7", "$t8", "$t9",
	"$k0", "$k1", "$gp", "$sp", "$fp", "$ra"};
static const char *const riscv[] = {NULL, "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2",
	"a3", "a4", "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
	"t5", "t6"};
static const char *const ppc[UNWIND_REGS_MOST] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10",
	"r11", "r12", "r13", "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25",
	"r26", "r27", "r28", "r29", "r30", "r31", [65] = "lr"};

#define NAMES(a) .names = a, .n = ARRAY_SIZE(a)
static const struct unwind_arch arch_amd64 = {NAMES(amd64), .ra = 16, .bytes = 8},
	arch_i386 = {NAMES(i386), .ra = 8, .bytes = 4},
	arch_i386_macho = {NAMES(i386_macho), .ra = 8, .bytes = 4},
	arch_arm = {NAMES(arm), .ra = 14, .link = true, .bytes = 4},
	arch_arm64 = {NAMES(arm64), .ra = 30, .link = true, .bytes = 8},
	arch_mips = {NAMES(mips), .ra = 31, .link = true, .bytes = 4},
	arch_mips64 = {NAMES(mips), .ra = 31, .link = true, .bytes = 8},
	arch_riscv32 = {NAMES(riscv), .ra = 1, .link = true, .bytes = 4},
	arch_riscv = {NAMES(riscv), .ra = 1, .link = true, .bytes = 8},
	arch_ppc = {NAMES(ppc), .ra = 65, .link = true, .bytes = 4},
	arch_ppc64 = {NAMES(ppc), .ra = 65, .link = true, .bytes = 8};

/* The processors of a format, by their numbers in it. `other`: its form of 32 bits, or that with other numbers of
 * registers. */
struct numbered {
	unsigned number;
	const struct unwind_arch *arch, *other;
};

static const struct numbered elf[] = {
	{EM_X86_64, &arch_amd64, &arch_amd64}, /* also x32, whose addresses have 4 bytes and whose registers have 8 */
	{EM_386, &arch_i386, &arch_i386}, {EM_ARM, &arch_arm, &arch_arm}, {EM_AARCH64, &arch_arm64, &arch_arm64},
	{EM_MIPS, &arch_mips64, &arch_mips}, {EM_RISCV, &arch_riscv, &arch_riscv32}, {EM_PPC, &arch_ppc, &arch_ppc},
	{EM_PPC64, &arch_ppc64, &arch_ppc64}, {0}};
static const struct numbered macho[] = {{CPU_64 | 7, &arch_amd64, &arch_amd64}, {7, &arch_i386_macho, &arch_i386},
	{CPU_64 | 12, &arch_arm64, &arch_arm64}, {12, &arch_arm, &arch_arm}, {0}};
static const struct numbered pe[] = {{0x8664, &arch_amd64}, {0x14c, &arch_i386}, {0xaa64, &arch_arm64},
	{0x1c0, &arch_arm}, {0x1c4, &arch_arm}, {0}};

static const struct unwind_arch *find(const struct numbered *all, unsigned number, bool other)
{
	while (all->arch && all->number != number)
		all++;
	return other ? all->other : all->arch;
}

const struct unwind_arch *unwind_arch_elf(unsigned machine, bool is64)
{
	return find(elf, machine, !is64);
}

const struct unwind_arch *unwind_arch_macho(unsigned cpu, bool eh)
{
	return find(macho, cpu, !eh);
}

const struct unwind_arch *unwind_arch_pe(unsigned machine)
{
	return find(pe, machine, false);
}

const char *unwind_name(const struct unwind_arch *a, unsigned reg)
{
	return reg < a->n ? a->names[reg] : NULL;
}

