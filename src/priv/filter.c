/* System-call filters, by libseccomp. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "priv/filter.h"
#include "base/sanitized.h"
#include "base/util.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>

#if defined(__s390__)
#define CLONE_FLAGS 1 /* the index of the argument of clone() that has the flags */
#else
#define CLONE_FLAGS 0
#endif

static void cleanup_filter(scmp_filter_ctx *f)
{
	if (*f)
		seccomp_release(*f);
}

/* A filter cannot see the flags of clone3(), which lie in memory. On ENOSYS, the C library calls clone(). */
static int add_threads(scmp_filter_ctx f)
{
	int r = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	return r < 0 ? r : seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
		SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
}

static int add_calls(scmp_filter_ctx f, const char *const *calls, size_t n, bool threads)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		int number = seccomp_syscall_resolve_name(calls[i]);

		if (number >= 0)
			r = seccomp_rule_add(f, SCMP_ACT_ALLOW, number, 0);
	}
	return r == 0 && threads ? add_threads(f) : r;
}

/* A call with the number of another architecture ends the process. A filter of systemd or of a container
 * may keep libseccomp from asking for the kernel's features (EINVAL). Then such a call ends only the
 * thread, the library's default. */
static int kill_foreign(scmp_filter_ctx f)
{
	int r = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	return r == -EINVAL ? 0 : r;
}

/* Loads the filter. -ENOTSUP: the kernel does not support filters. The kernel or libseccomp reports this by
 * one of four errors. */
static int load(scmp_filter_ctx f)
{
	int r = seccomp_load(f);

	return r == -EINVAL || r == -ENOSYS || r == -ECANCELED || r == -EOPNOTSUPP ? -ENOTSUP : r;
}

int filter_set(const char *const *calls, size_t n, bool threads)
{
	uint32_t other = SANITIZED ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM);
	scmp_filter_ctx f _cleanup_(cleanup_filter) = seccomp_init(other);
	int r;

	if (!f) /* the library does not know this processor */
		return -ENOTSUP;
	r = kill_foreign(f);
	if (r == 0 && !SANITIZED)
		r = add_calls(f, calls, n, threads);
	if (r == 0)
		r = load(f);
	return r;
}

/* ---- a process that stays root ------------------------------------------------------ */

/* Refuses a call: always (`n` is 0), or if the condition `when` holds (`n` is 1). Skips a call that this
 * processor does not have. */
static int refuse(scmp_filter_ctx f, const char *call, unsigned n, struct scmp_arg_cmp when)
{
	int number = seccomp_syscall_resolve_name(call);

	return number < 0 ? 0 : seccomp_rule_add_array(f, SCMP_ACT_ERRNO(EPERM), number, n, &when);
}

/* Refuses a chmod() that sets any bit but the owner's read and write bits. The store can still take rights
 * away. */
static int refuse_modes(scmp_filter_ctx f)
{
	static const struct {
		const char *call;
		unsigned argument;
	} calls[] = {{"chmod", 1}, {"fchmod", 1}, {"fchmodat", 2}, {"fchmodat2", 2}};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		for (scmp_datum_t bit = 1; r == 0 && bit <= 04000; bit <<= 1)
			if (!(bit & 0600))
				r = refuse(f, calls[i].call, 1,
					SCMP_CMP64(calls[i].argument, SCMP_CMP_MASKED_EQ, bit, bit));
	return r;
}

int filter_set_for_root(void)
{
	static const char *const calls[] = {"chown", "chown32", "fchown", "fchown32", "lchown", "lchown32",
		"fchownat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr",
		"fremovexattr", "removexattrat", "file_setattr", "io_uring_setup", "shmat", "keyctl", "setpriority",
		"unshare", "setns"};
	scmp_filter_ctx f _cleanup_(cleanup_filter) = seccomp_init(SCMP_ACT_ALLOW);
	int r;

	if (!f)
		return -ENOTSUP;
	r = kill_foreign(f);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(calls); i++)
		r = refuse(f, calls[i], 0, (struct scmp_arg_cmp){0});
	if (r == 0)
		r = refuse_modes(f);
	if (r == 0)
		r = refuse(f, "socket", 1, SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, UINT32_MAX, AF_UNIX));
	if (r == 0) /* the limits of another process */
		r = refuse(f, "prlimit64", 1, SCMP_CMP64(0, SCMP_CMP_NE, 0));
	return r == 0 ? load(f) : r;
}
