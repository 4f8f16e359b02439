/* Stacks of a crashed or running program: modules, threads and frames, from a core, a process, a minidump or a
 * text; their names, which symb/ finds; and the result as text or JSON. The readers of dumps fill the struct, and
 * this folder asks and prints. One thread at a time uses a struct stacks; it starts as {0}. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "names/id/module.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct symb;
struct symb_flags;

#define STACKS_NO_MODULE UINT32_MAX

/* The most that one struct holds; more is -E2BIG. */
#define STACKS_MODULES_MOST 65536u
#define STACKS_THREADS_MOST 65536u
#define STACKS_FRAMES_MOST (1u << 20)

/* How the frame was found. */
enum stack_found {
	STACK_CONTEXT, /* "context": the registers of the thread */
	STACK_RULES,   /* "cfi": unwind rules */
	STACK_POINTER, /* "fp": the chain of frame pointers */
	STACK_SCAN,    /* "scan": an address on the stack that looks like a return address */
	STACK_GIVEN    /* "given": the text or the dump lists the frame */
};
const char *stack_found_name(enum stack_found f); /* "cfi" */

/* Whether the program that unwinds stacks got a module's file. */
enum stack_file {
	STACK_FILE_UNASKED,
	STACK_FILE_THERE,
	STACK_FILE_DEBUG,   /* only the debug file */
	STACK_FILE_MISSING, /* no source has it */
	STACK_FILE_FAILED   /* a source could not be asked */
};

struct stack_module {
	struct module m; /* ids and base names */
	char *path;	 /* as the program knew it; NULL: unknown */
	uint64_t base, end; /* the addresses [base, end) in the program */
	bool deleted;	 /* a file that is now at the path is another one */
	bool unverified; /* no id: found by path or name alone */
	enum stack_file file;
};

struct stack_frame {
	uint32_t module;  /* index; STACKS_NO_MODULE */
	uint64_t address; /* as the program saw it: an instruction or a return address */
	/* The address that is looked up: address - 1 for a caller, address for the first frame and below a signal
	 * frame. */
	uint64_t look;
	enum stack_found found;
	bool signal; /* a signal handler's return trampoline */
};

struct stack_thread {
	uint64_t id;
	char name[64];
	bool crashed;
	size_t first, n; /* its frames; set by stacks_frame() */
	char end[200];	 /* why the stack ends early; "" */
};

struct stacks {
	struct stack_module *module;
	size_t n_modules, room_modules;
	struct stack_thread *thread;
	size_t n_threads, room_threads;
	struct stack_frame *frame;
	size_t n_frames, room_frames;
	char reason[200];  /* "SIGSEGV at 0x0"; "": unknown */
	uint64_t address;  /* the address in `reason`; 0: none */
	uint64_t whole;	   /* bytes that the core file or minidump has, unless it is cut; 0: a process */
	/* Of stacks_module_at(): indexes of the modules, sorted by base; NULL: not sorted yet. */
	uint32_t *order;
};

/* Each of these copies what it is given. 0 or more: the index; -ENOMEM; -E2BIG: too many. stacks_thread() ignores
 * `first` and `n`; stacks_frame() adds to the last thread, -EINVAL without a thread or with a module that is not
 * there. */
int stacks_module(struct stacks *s, const struct stack_module *m);
int stacks_thread(struct stacks *s, const struct stack_thread *t);
int stacks_frame(struct stacks *s, const struct stack_frame *f);

/* The index of the module that an address is in, or STACKS_NO_MODULE; also if memory is short. */
uint32_t stacks_module_at(struct stacks *s, uint64_t address);

/* The name of a module for people: the base name of its path, else of its files; "<unknown>". Not safe for a
 * terminal. */
static inline const char *stack_module_name(const struct stack_module *m)
{
	if (m->path && path_base(m->path)[0])
		return path_base(m->path);
	return m->m.code_file[0] ? m->m.code_file : m->m.debug_file[0] ? m->m.debug_file : "<unknown>";
}

/* Asks symb/ for the names, and writes the stacks. As text: for people, the crashed thread first, safe for a
 * terminal. As `json`: {"reason", "address", "threads": whose frames say how each was found, and have its module,
 * function, file and line, "request", "answer": as of Mozilla's symbolication service}. `symb` NULL: without names.
 * `flags` may be NULL. Blocks. 0; -EBADMSG: there are no threads; -E2BIG: more modules, threads or frames than a
 * request may have; -EINTR: symb_stop() was called; -ENOMEM; -EFBIG: over the limit of `out`. `e` has the reason. */
int stacks_print(const struct stacks *s, struct symb *symb, const struct symb_flags *flags, bool json,
	struct buf *out, struct err *e);

void stacks_release(struct stacks *s);

/* ---- unwind.c ------------------------------------------------------------------------------- */

/* Stacks from a core file or a running process. The program libexec/symfs/unwind unwinds them in a sandbox; this
 * process gets the files of modules for it. Blocks. One thread at a time. */
struct fetch;
struct stacks_unwind {
	struct fetch *fetch;
	bool unsandboxed; /* the program may run without a system-call filter if the system cannot set one */
	const atomic_bool *stop; /* true ends it; NULL: never */
};

/* Fills `s`, which is empty: modules, threads, frames, the reason. 0; -ENOMSG: the file is not a core file;
 * -EBADMSG: it is broken; -ENOTSUP: its processor is not known; -ENODATA: it has no threads or no list of modules;
 * -EINTR: `stop`; -EIO: the program `unwind` did not start; -ENOMEM and others of this machine. `e` has the
 * reason. If the program `unwind` ended early, also after a crash, `s` has the threads nevertheless, and frames up to
 * that place; the result is negative. */
int stacks_from_core(struct stacks *s, int fd, uint64_t size, const struct stacks_unwind *how, struct err *e);

/* The same for a process, which is stopped for a moment. -ESRCH: no such process; -EPERM: it may not be traced. */
int stacks_from_process(struct stacks *s, pid_t pid, const struct stacks_unwind *how, struct err *e);
