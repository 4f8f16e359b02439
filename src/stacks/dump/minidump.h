/* The threads of a minidump: registers and stack memory of each, the crash reason, and the modules, also those that
 * were unloaded. Every number of the file is bounded and every byte read through a view. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "stacks/dump/dump.h"

#define MINIDUMP_THREADS 4096u /* a dump with more is broken */
#define MINIDUMP_RANGES 65536u /* of memory; further ones are ignored */
#define MINIDUMP_LISTED 4096u  /* modules that minidump_each_module() reports */
#define MINIDUMP_UNLOADED 256u /* unloaded modules that it reports; Windows keeps 64 */

enum minidump_cpu { MINIDUMP_CPU_OTHER, MINIDUMP_CPU_X86, MINIDUMP_CPU_AMD64, MINIDUMP_CPU_ARM64 };

/* The places of registers in minidump_thread.reg. The first 16 of amd64 and the 8 of x86 have the numbers of the
 * instruction set (rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, ...). */
#define MINIDUMP_REGS 33
enum { REG_SP = 4, REG_BP = 5, REG_X86_IP = 8, REG_AMD64_IP = 16, REG_ARM64_FP = 29, REG_ARM64_LR = 30,
	REG_ARM64_SP = 31, REG_ARM64_PC = 32 };

struct minidump_range {
	uint64_t start, size; /* addresses */
	uint64_t at;	      /* where the bytes are in the file */
};

struct minidump_thread {
	uint32_t id;
	char name[64];
	bool crashed;
	bool has_registers; /* `reg` is valid */
	uint64_t reg[MINIDUMP_REGS];
	struct minidump_range stack; /* size 0: the dump has no stack of the thread */
};

struct minidump {
	enum minidump_cpu cpu;
	bool windows;
	bool crashed;	  /* the dump has an exception */
	char reason[160]; /* "SIGSEGV / SEGV_MAPERR at 0x10"; "": no crash */
	uint64_t address; /* of the crash */
	uint64_t whole;	  /* bytes that the file has, unless it is cut */
	struct minidump_thread *thread; /* in the order of the dump, without the thread that wrote the dump */
	size_t n_threads;
};

/* Reads all but the modules. A stream that is broken or missing does not matter, except the list of threads. 0;
 * -ENOMSG: the file is no minidump; -EBADMSG: it is broken, `e` says how; -ENODATA: it has no threads; -ENOMEM.
 * Call minidump_release() in any case. */
int minidump_open(struct minidump *out, struct view *v, struct err *e);
void minidump_release(struct minidump *d);

/* Calls `each` for the modules and then for those that were unloaded. A module whose record is broken has no id, and
 * nothing else fails. A result of `each` other than 0 ends it and is returned. 0, also without modules. */
int minidump_each_module(
	struct view *v, int (*each)(void *ctx, const struct dump_module *m, bool unloaded), void *ctx);

/* In minidump-reason.c: writes the reason of an exception record, and returns the address of the crash. */
struct minidump_exception {
	unsigned platform, processor;
	uint32_t code, flags, n_info;
	uint64_t address, info[15];
};
uint64_t minidump_reason(const struct minidump_exception *x, char *out, size_t room);
