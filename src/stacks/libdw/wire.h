/* The protocol between the program `unwind` and the process that starts it (stacks/unwind.c). All integers are
 * those of this machine. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdint.h>

/* The program's descriptors, besides WORKER_WORD: the task; the memory of the unwound program; the frames; and a
 * socket for files of modules. */
enum { UNWINDER_TASK = 3, UNWINDER_MEMORY = 4, UNWINDER_OUT = 6, UNWINDER_SOCKET = 7 };

/* Most frames of one thread, and of all. */
#define UNWINDER_DEPTH_MOST 20000u
#define UNWINDER_FRAMES_MOST 200000u

#define UNWINDER_REGISTERS 33

/* The task: the head, the modules, the parts, the threads. */
struct unwinder_head {
	uint32_t machine, is64; /* as in an ELF header; 1: 64-bit */
	uint32_t modules, parts, threads, pad;
};

struct unwinder_module {
	uint64_t base, end;
	uint64_t in_memory; /* not 0: the file is what is in memory from `base` to `end`; no file is asked for */
};

/* `size` bytes at `address` are at `offset` of the memory file. Sorted by address. */
struct unwinder_part {
	uint64_t address, offset, size;
};

struct unwinder_thread {
	uint64_t pc, n; /* n: number of registers */
	uint64_t reg[UNWINDER_REGISTERS];
};

/* What the program writes: a record for each frame, and one at the end of each thread. UNWINDER_STUCK: no caller of
 * the last frame was found. */
enum { UNWINDER_FRAME, UNWINDER_END, UNWINDER_STUCK };
struct unwinder_record {
	uint64_t pc;
	uint32_t thread;
	uint8_t kind;
	uint8_t activation; /* not 0: `pc` is an instruction; 0: a return address */
	uint8_t rules;	    /* not 0: unwind rules led to this frame */
	uint8_t pad;
	char text[48];	    /* UNWINDER_END: why the stack ends early; "": it ends as it should */
};

/* The program asks for a file; the answer is a struct unwinder_file with a descriptor if r is 0. */
enum { UNWINDER_PROGRAM, UNWINDER_DEBUG };
struct unwinder_ask {
	uint32_t module, what;
};
struct unwinder_file {
	int32_t r;
};
