/* The modules that a crashed or running program had loaded: from an ELF core file, a minidump or a
 * process. Every byte of a dump is read through a bounded view. Reports what the dump says and reads no
 * other file. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"
#include "names/id/module.h"

#include <sys/types.h>

#define DUMP_PATH 4096
#define DUMP_DELETED " (deleted)"
#define DUMP_INTERP 256 /* bytes */
#define DUMP_MODULES 65536u /* in one dump */

struct dump_module {
	struct module m;	/* ids and names; OBJECT_UNKNOWN: the dump has no id */
	char path[DUMP_PATH];	/* of the file, as the program knew it; "": unknown */
	uint64_t base, end;	/* addresses */
	/* The file was removed or replaced: a file that is now at its path is another one. In a core file, the path
	 * of such a file ends in DUMP_DELETED. */
	bool deleted;
	bool program;		/* the module is the executable itself */
	bool loader;		/* the module is the dynamic linker */
	char interp[DUMP_INTERP]; /* of the program: the path of its dynamic linker (PT_INTERP); "": none */
};

/* Called in the order of the dump. A result other than 0 ends the reading and is returned. */
typedef int dump_each(void *ctx, const struct dump_module *d);

/* Reads a core file (ELF, either word size and byte order) or a minidump. 0; -ENOMSG: the file is
 * neither; -EBADMSG: it is broken or cut short, `e` says how, and `each` got the modules before that
 * place; -ENODATA: it has no list of modules; -ENOMEM. */
int dump_read(struct view *v, dump_each *each, void *ctx, struct err *e);

/* Reads /proc/PID/maps and the memory of a process. Reading the memory needs the right to trace the
 * process; without that right, modules have no ids. 0; -ESRCH: no such process; -EACCES: not permitted. */
int dump_process(pid_t pid, dump_each *each, void *ctx, struct err *e);

/* The path at which the kernel has the file of a module of a running process, also after the file was deleted. That
 * of a library can be opened only with CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. 0; -ENOENT: the module is not there
 * any more; errors of this machine. */
#define DUMP_LINK 96
int dump_process_link(pid_t pid, const struct dump_module *d, char out[static DUMP_LINK]);
