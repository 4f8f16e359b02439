/* Sets the system-call filter of a worker process. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "priv/filter.h"
#include "priv/worker.h"

#include <sys/prctl.h>

/* Memory, signals, the clock, and the open descriptors. Some calls have a second name, for 32-bit processors. */
static const char *const common[] = {"read", "write", "pread64", "lseek", "_llseek", "fstat", "fstat64", "close",
	"mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "brk", "futex", "futex_time64", "rt_sigprocmask",
	"rt_sigaction", "rt_sigreturn", "sigaltstack", "getpid", "gettid", "clock_gettime", "clock_gettime64",
	"getrandom", "exit", "exit_group"};

int worker_filter(const struct worker_filter *w, bool *bare, struct err *e)
{
	const char *calls[ARRAY_SIZE(common) + WORKER_CALLS_MOST];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		calls[n++] = common[i];
	for (size_t i = 0; i < WORKER_CALLS_MOST && w->more[i]; i++)
		calls[n++] = w->more[i];
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -EPERM, "is not %s: %s", w->done, err_text(errno));
	r = filter_set(calls, n, w->threads);
	*bare = r < 0 && w->may_lack;
	return r == 0 || *bare ? 0 : err_set(e, -EPERM, "is not %s: the worker cannot set a system-call filter (%s); "
		"allow-unsandboxed = yes allows it without one", w->done, err_text(r));
}
