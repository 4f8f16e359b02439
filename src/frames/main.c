/* The program `frames`: writes the unwind tables of a file as STACK CFI records. symfs starts it (convert/frames.h);
 * it is a program of its own so that symfs needs neither libdwarf nor libelf. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "base/write.h"
#include "frames/frames.h"
#include "frames/wire.h"
#include "priv/filter.h"
#include "priv/worker.h"

#include <libdwarf.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static int pass(void *ctx, const char *p, size_t n)
{
	return write_all(FRAMES_OUT, p, n);
}

/* Sets the system-call filter, which allows memory and the open descriptors. If that fails, the program continues
 * only if its command line says FRAMES_MAY. */
static int set_filter(struct frames_word *w, const char *sandbox, struct err *e)
{
	static const char *const calls[] = {"read", "write", "pread64", "lseek", "_llseek", "fstat", "fstat64",
		"close", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "brk", "futex", "futex_time64",
		"rt_sigprocmask", "rt_sigaction", "rt_sigreturn", "sigaltstack", "getpid", "gettid",
		"clock_gettime", "clock_gettime64", "getrandom", "exit", "exit_group"};
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -EPERM, "%s", err_text(errno));
	r = filter_set(calls, ARRAY_SIZE(calls), false);
	if (r == 0)
		return 0;
	w->bare = strcmp(sandbox, FRAMES_MAY) == 0;
	return w->bare ? 0 : err_set(e, -EPERM, "is not read: the worker cannot set a system-call filter (%s); "
		"allow-unsandboxed = yes reads without one", err_text(r));
}

static int work(struct frames_word *w, char **argv, struct err *e)
{
	struct span file = {0};
	int r = map_fd(&file, FRAMES_IN, e);

	if (r < 0)
		return r;
	worker_limit(strtoull(argv[1], NULL, 10), FRAMES_TEXT_MOST, strtoull(argv[2], NULL, 10));
	r = set_filter(w, argv[3], e);
	if (r < 0)
		return r;
	/* The process ends after this file, so nothing needs to be found again to free it. */
	dwarf_set_de_alloc_flag(0);
	return frames_convert(file, pass, NULL, &w->counts, e);
}

int main(int argc, char **argv)
{
	struct frames_word w = {0};
	struct err e = {0};

	if (argc != 4) {
		fputs("frames is started by symfs, and is no command\n", stderr);
		return 2;
	}
	w.r = work(&w, argv, &e);
	snprintf(w.text, sizeof(w.text), "%.250s", e.text);
	/* _exit() runs neither destructors nor a leak checker: the filter would stop them. */
	_exit(write_all(FRAMES_WORD, &w, sizeof(w)) < 0 ? 3 : 0);
}
