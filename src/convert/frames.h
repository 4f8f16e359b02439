/* Unwind rules as text: STACK CFI records of Breakpad's symbol files, from a program (ELF, PE, Mach-O for one
 * processor), and STACK WIN records, from a PDB of an x86 program. The tables are read by a program
 * of its own, libexec/symfs/frames, in a sandbox like that of the worker (worker.h). Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "unwind/text.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct frames_work {
	const char *program; /* NULL: `frames` of libexec */
	unsigned seconds;    /* of processor time, and of elapsed time; 0: 300 */
	uint64_t memory;     /* bytes that the program may use; 0: half of the machine's memory */
	bool unsandboxed;    /* it may run without a system-call filter if the system cannot set one */
	bool *bare;	     /* set to true if it ran without a filter; may be NULL */
	const atomic_bool *stop; /* true ends it; NULL: never */
};

/* Writes the unwind tables of the program, library or PDB `in`, and waits. The caller owns *out, a descriptor of the
 * text, whose position is 0: whole lines, sorted by address, relative to the file's base. *counts says what of the
 * tables is in the text; it is set also on -ENODATA.
 * -ENODATA: the file has no unwind tables; debug files have lost theirs. -ENOTSUP: Breakpad's files have no names for
 * the registers of its processor. -ENOMSG: it is neither a program nor a library. -EBADMSG: it is broken, or crashed
 * the reader. -EFBIG: the text is longer than 1 GiB. -EIO: the program `frames` did not start. -ETIMEDOUT,
 * -ETIME, -EINTR, -ENOMEM, -EPERM: as gsym_work(). The text in `e` lacks its subject, the name of the input. */
int frames_text(const struct frames_work *w, int in, int *out, struct unwind_counts *counts, struct err *e);
