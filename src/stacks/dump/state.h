/* What the threads of a crashed or running program were doing: registers, and where the memory of their stacks is,
 * from an ELF core file or a process. Only for little-endian amd64, arm64 and i386. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DUMP_REGISTERS 33 /* the most that a processor has here */
#define DUMP_THREADS 16384u

/* Values of dump_state.machine: those of an ELF header. */
enum { DUMP_I386 = 3, DUMP_AMD64 = 62, DUMP_ARM64 = 183 };

/* Memory of the program: `size` bytes at `address` are at `offset` of the file. */
struct dump_part {
	uint64_t address, offset, size;
};

struct dump_thread {
	uint64_t id;
	char name[32]; /* "": unknown */
	char lacks[80]; /* why it has no registers; "": it has */
	int signal;    /* that it got; 0: none */
	uint64_t pc;
	unsigned n;    /* registers, by their DWARF numbers from 0 */
	uint64_t reg[DUMP_REGISTERS];
};

struct dump_state {
	unsigned machine;
	bool is64;
	int fd; /* of the memory: of a process, a copy; -1: the core file itself */
	struct dump_part *part;
	size_t n_parts, room_parts;
	struct dump_thread *thread; /* the first of a core file is the one that crashed, if one did */
	size_t n_threads, room_threads;
	int signal;	   /* that ended the program; 0: none */
	bool has_address;  /* the signal has an address */
	uint64_t address;
	uint64_t whole;	   /* bytes that the core file has, unless it is cut */
	uint64_t vdso, vdso_end; /* where it is in memory; 0: none, or unknown */
};

/* Reads a core file. 0; -ENOMSG: the file is not a core file; -ENOTSUP: its processor is not one of the three;
 * -EBADMSG: it is broken or cut short; -ENODATA: it has no threads; -ENOMEM. `e` has the reason. */
int dump_core_state(struct view *v, struct dump_state *out, struct err *e);

/* Stops each thread of a process, copies its registers and at most 8 MiB of its stack, and lets it go on. If this
 * process is killed meanwhile, the kernel lets the threads go on. A thread of this function is their tracer, also of
 * those that did not stop in time: no other thread may call waitpid(-1) meanwhile. 0; -ESRCH: no such process;
 * -EPERM: not permitted; -ENOTSUP; -ENOMEM and others of this machine. */
int dump_process_state(pid_t pid, struct dump_state *out, struct err *e);

void dump_state_release(struct dump_state *s);

/* The signal and its address in words: "SIGSEGV at 0x0"; "": no signal. */
#define DUMP_REASON 64
const char *dump_reason(const struct dump_state *s, char out[static DUMP_REASON]);
