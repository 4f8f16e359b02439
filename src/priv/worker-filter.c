/* What a worker process does first and last: prints its version, or sets its limits and its system-call filter, and
 * reports its result. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "config.h"
#include "base/sanitized.h"
#include "base/util.h"
#include "priv/filter.h"
#include "priv/worker.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static int print_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
	return info->dlpi_name && info->dlpi_name[0] == '/' && puts(info->dlpi_name) < 0;
}

void worker_arguments(int argc, char **argv, int words)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("%s of symfs %s\n", argv[0], PACKAGE_VERSION);
		dl_iterate_phdr(print_library, NULL);
		_exit(fflush(stdout) == 0 ? 0 : 1); /* without a leak checker, which needs rights of its own */
	}
	if (argc != words + 4) {
		fprintf(stderr, "%s is started by symfs, and is no command\n", program_invocation_short_name);
		exit(2);
	}
}

/* `more` is how far the hard limit lies above the soft one; RLIM_INFINITY: it stays as it is. */
static void limit(int what, uint64_t most, rlim_t more)
{
	struct rlimit l;

	if (getrlimit(what, &l) < 0)
		return;
	l.rlim_cur = MIN((rlim_t)most, l.rlim_max);
	if (more != RLIM_INFINITY)
		l.rlim_max = MIN(l.rlim_cur + more, l.rlim_max);
	setrlimit(what, &l);
}

/* Memory, signals, the clock, and the open descriptors. Some calls have a second name, for 32-bit processors. */
static const char *const common[] = {"read", "write", "pread64", "lseek", "_llseek", "fstat", "fstat64", "close",
	"mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "brk", "futex", "futex_time64", "rt_sigprocmask",
	"rt_sigaction", "rt_sigreturn", "sigaltstack", "getpid", "gettid", "clock_gettime", "clock_gettime64",
	"getrandom", "exit", "exit_group"};

static int set_filter(const struct worker_filter *f, bool may_lack, struct worker_word *w, struct err *e)
{
	const char *calls[ARRAY_SIZE(common) + WORKER_CALLS_MOST];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		calls[n++] = common[i];
	for (size_t i = 0; i < WORKER_CALLS_MOST && f->more[i]; i++)
		calls[n++] = f->more[i];
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -EPERM, "is not %s: %s", f->done, err_text(errno));
	r = filter_set(calls, n, f->threads);
	w->bare = r < 0 && may_lack;
	return r == 0 || w->bare ? 0 : err_set(e, -EPERM, "is not %s: the worker cannot set a system-call filter "
		"(%s); allow-unsandboxed = yes allows it without one", f->done, err_text(r));
}

int worker_enter(char **argv, const struct worker_filter *f, uint64_t file_bytes, struct worker_word *w,
	struct err *e)
{
	limit(RLIMIT_CORE, 0, RLIM_INFINITY);
	/* A worker that was taken over could ignore SIGXCPU, but not SIGKILL at the hard limit. */
	limit(RLIMIT_CPU, strtoull(argv[1], NULL, 10), 10);
	limit(RLIMIT_FSIZE, file_bytes, RLIM_INFINITY);
	if (!SANITIZED)
		limit(RLIMIT_DATA, strtoull(argv[2], NULL, 10), RLIM_INFINITY);
	return set_filter(f, strcmp(argv[3], WORKER_MAY) == 0, w, e);
}

void worker_leave(struct worker_word *w, int r, const struct err *e, const void *more, size_t n)
{
	w->r = r;
	snprintf(w->text, sizeof(w->text), "%.*s", (int)sizeof(w->text) - 1, e->text);
	/* _exit() runs neither destructors nor a leak checker: the filter would stop them. */
	_exit(write_all(WORKER_WORD, w, sizeof(*w)) < 0 || write_all(WORKER_WORD, more, n) < 0 ? 3 : 0);
}
