/* Which modules a crashed or running program had loaded: from an ELF core file, a minidump, or a
 * process. One file each; every byte of a dump is read through a view, bounded. What is told is
 * what the dump says: nothing on disk is looked at. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"
#include "id/module.h"

#include <sys/types.h>

#define DUMP_PATH 4096
#define DUMP_MODULES 65536u /* in one dump */

struct dump_module {
	struct module m;	/* ids and names; OBJECT_UNKNOWN: it has none that was dumped */
	char path[DUMP_PATH];	/* of the file, as the program knew it; "" */
	uint64_t base, end;	/* addresses */
	bool program;		/* the one that was started */
};

/* Called in the order of the dump; what it returns, when not 0, ends the reading and is returned. */
typedef int dump_each(void *ctx, const struct dump_module *d);

/* A core file (ELF, either word size and byte order) or a minidump. 0. -ENOMSG: neither. -EBADMSG:
 * broken or cut short, `e` says how; what stands before the break was told. -ENODATA: it says
 * nothing of modules. -ENOMEM. */
int dump_read(struct view *v, dump_each *each, void *ctx, struct err *e);

/* A process: /proc/PID/maps, and its memory, which takes the right to trace it; without that, no
 * module has an identity. -ESRCH: there is none. -EACCES. */
int dump_process(pid_t pid, dump_each *each, void *ctx, struct err *e);
