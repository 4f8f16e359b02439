/* Shared by the files of stacks/walk/: a dump whose stacks are walked, and one thread of it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "stacks/dump/minidump.h"
#include "stacks/stacks.h"
#include "stacks/walk/sym.h"
#include "stacks/walk/walk.h"

struct blob;
struct walk_frame;
struct walker;

/* A module of the dump, and its Breakpad file. */
struct walk_module {
	struct module m;
	char *path;
	uint64_t base, end;
	enum { SYM_UNKNOWN, SYM_WANTED, SYM_KNOWN } state;
	struct sym *sym; /* SYM_KNOWN: NULL if no source has the file */
	struct blob *blob;
	int listed; /* index in the struct stacks; -1: not there yet */
};

/* What the walk must know of a processor. */
struct walk_cpu {
	const char *const *names; /* of registers in rules */
	unsigned n, ip, sp;
	uint64_t saved; /* registers that a function keeps, one bit for each */
	unsigned word;	/* bytes */
	/* Finds the caller of t->now. 1: *out; 0: no caller was found; -EAGAIN: a Breakpad file is wanted;
	 * -ENOMEM. */
	int (*step)(struct walker *t, struct walk_frame *out);
};

struct walk_frame {
	uint64_t reg[MINIDUMP_REGS];
	uint64_t known; /* registers whose value is certain, one bit for each */
	enum stack_found found;
};
#define KNOWN(r) (1ull << (r))

#define WALK_PAGE (16u << 10)
struct walk {
	struct minidump dump;
	struct view *v;
	const struct walk_source *from; /* may be NULL */
	const struct walk_cpu *cpu; /* NULL: the processor is unknown */
	struct walk_module *module;
	size_t n_modules, n_loaded, room; /* modules from n_loaded on were unloaded before the dump */
	uint32_t *order;		  /* the loaded ones, by base */
	uint64_t mask;			  /* the bits that addresses of modules have */
	size_t budget;			  /* of the indexes */
	size_t frames_left;
	bool wants; /* a module is SYM_WANTED */
	/* the part of the file that was read last */
	uint64_t page_at;
	size_t page_n;
	uint8_t page[WALK_PAGE];
};

struct walker {
	struct walk *w;
	const struct minidump_thread *thread;
	struct walk_frame now; /* the last frame that was found */
	uint32_t params;       /* x86: bytes of parameters of the frame before `now` */
	uint32_t params_next;  /* x86: those of `now`, after its caller was found */
	struct stack_frame *frame;
	size_t n, room;
	bool over;
	const char *end;
};

/* ---- memory.c ----------------------------------------------------------------------------- */

/* Reads a word of the thread's stack; `ctx` is the struct walker. False: the dump has no such memory. */
bool walker_read(void *ctx, uint64_t at, uint64_t *out);
/* The module that an address is in; NULL: none. Loaded modules come before unloaded ones. */
struct walk_module *walk_module_at(struct walk *w, uint64_t address);
/* The Breakpad file of the module that an address is in, and the address in it. 1; 0: no module has the address,
 * or no source the file; -EAGAIN: the file is wanted now. */
int walk_sym_at(struct walk *w, uint64_t address, struct sym **sym, uint64_t *rva);
/* The address of t->now that is looked up: of its call instruction. */
uint64_t walker_look(const struct walker *t);
/* An address without the bits of pointer authentication. */
uint64_t walk_strip(struct walk *w, uint64_t address);

/* ---- rules.c, cpus.c -------------------------------------------------------------------- */

/* Finds the caller by STACK CFI rules. 1, 0, -EAGAIN, -ENOMEM. */
int walker_by_rules(struct walker *t, struct walk_frame *out);
const struct walk_cpu *walk_cpu_of(enum minidump_cpu cpu); /* NULL: unknown */

/* ---- walk.c ------------------------------------------------------------------------------- */

/* For tests: as walk_minidump(), but load() gets the files. */
int walk_with(struct stacks *out, struct view *dump, int (*load)(struct walk *w, const struct walk_source *from),
	const struct walk_source *from, struct err *e);
