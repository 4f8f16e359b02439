/* The program `unarchive`: sets its limits and its filter, and takes one archive apart. symfs starts it
 * (unarchive/unarchive.h). It is a program of its own so that symfs does not load libarchive. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "priv/filter.h"
#include "priv/worker.h"
#include "unarchive/private.h"
#include "unarchive/unarchive.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define SECONDS 300		 /* of processor time, and one more for each MiB of the archive */
#define MEMORY (512ull << 20)	 /* a dictionary of xz or 7z can have up to 256 MiB */

/* Sets the system-call filter. It allows only the use of memory and of the open descriptors. If the filter cannot be
 * set, the worker continues only if its command line says so. */
static int set_filter(const char *sandbox, struct err *e)
{
	static const char *const calls[] = {"read", "write", "writev", "pread64", "lseek", "_llseek", "fstat",
		"fstat64", "close", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "brk", "futex",
		"futex_time64", "rt_sigprocmask", "rt_sigaction", "rt_sigreturn", "sigaltstack", "getpid", "gettid",
		"clock_gettime", "clock_gettime64", "getrandom", "exit", "exit_group"};
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -EPERM, "is not unpacked: %s", err_text(errno));
	r = filter_set(calls, ARRAY_SIZE(calls), false);
	if (r == 0 || strcmp(sandbox, "may") == 0)
		return 0;
	return err_set(e, -EPERM, "is not unpacked: the worker cannot set a system-call filter (%s); "
		"allow-unsandboxed = yes unpacks without one", err_text(r));
}

static int work(struct sender *s, const char *sandbox, struct err *e)
{
	static uint8_t head[ARCHIVE_HEAD];
	enum archive_kind kind;
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(WIRE_ARCHIVE, &st) < 0)
		return err_set(e, -EBADMSG, "cannot be read: %s", err_text(errno));
	worker_limit(SECONDS + ((uint64_t)st.st_size >> 20), 0, MEMORY);
	setlocale(LC_CTYPE, "C.UTF-8"); /* libarchive converts names to its character set */
	r = set_filter(sandbox, e);
	if (r < 0)
		return r;
	n = pread(WIRE_ARCHIVE, head, sizeof(head), 0);
	if (n < 0)
		return err_set(e, -EBADMSG, "cannot be read: %s", err_text(errno));
	kind = archive_kind(head, (size_t)n);
	return kind == ARCHIVE_ZIP ? unarchive_zip(s, WIRE_ARCHIVE, (uint64_t)st.st_size, e)
				   : unarchive_lib(s, WIRE_ARCHIVE, (uint64_t)st.st_size, kind, e);
}

int main(int argc, char **argv)
{
	static struct sender s;
	struct err e = {0};

	if (argc != 4) {
		fputs("unarchive is started by symfs, and is no command\n", stderr);
		return 2;
	}
	s.limits.bytes = strtoull(argv[1], NULL, 10);
	s.limits.members = strtoull(argv[2], NULL, 10);
	sender_done(&s, work(&s, argv[3], &e), &e);
	/* _exit() runs neither destructors nor a leak checker: the filter would stop them. */
	_exit(0);
}
