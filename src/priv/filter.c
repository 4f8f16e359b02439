/* System-call filters, by libseccomp. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "priv/filter.h"
#include "base/sanitized.h"
#include "base/util.h"

#include <sched.h>
#include <seccomp.h>

#if defined(__s390__)
#define CLONE_FLAGS 1 /* the argument of clone() that has them */
#else
#define CLONE_FLAGS 0
#endif

static void cleanup_filter(scmp_filter_ctx *f)
{
	if (*f)
		seccomp_release(*f);
}

/* What clone3() asks for cannot be seen: the C library goes back to clone(). */
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

int filter_set(const char *const *calls, size_t n, bool threads)
{
	uint32_t other = SANITIZED ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM);
	scmp_filter_ctx f _cleanup_(cleanup_filter) = seccomp_init(other);
	int r;

	if (!f) /* the library does not know this processor */
		return -ENOTSUP;
	r = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0 && !SANITIZED)
		r = add_calls(f, calls, n, threads);
	if (r == 0)
		r = seccomp_load(f);
	/* What a kernel without filters says, through the library or by itself. */
	return r == -EINVAL || r == -ENOSYS || r == -ECANCELED || r == -EOPNOTSUPP ? -ENOTSUP : r;
}
