/* The worker itself. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "gsym/make.h"
#include "gsym/worker-private.h"
#include "gsym/worker.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "base/banned.h"

/* Sanitizers need more memory and calls than any limit would leave. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

static void limit(int what, uint64_t most)
{
	struct rlimit l;

	if (getrlimit(what, &l) < 0)
		return;
	l.rlim_cur = MIN((rlim_t)most, l.rlim_max);
	setrlimit(what, &l);
}

static void set_limits(unsigned threads, unsigned seconds, uint64_t memory)
{
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, (uint64_t)seconds * threads);
	limit(RLIMIT_FSIZE, 4ull << 30);
	if (!SANITIZED)
		limit(RLIMIT_AS, memory);
}

#ifdef THIS_ARCH
#define ALLOW(name)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

/* Memory, threads, and the descriptors that it has. Anything else is an error and not the end, for
 * a library may ask and do without. */
static int shut_in(void)
{
	struct sock_filter filter[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		ALLOW(read), ALLOW(write), ALLOW(pread64), ALLOW(lseek), ALLOW(fstat), ALLOW(close),
		ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise),
		ALLOW(brk), ALLOW(futex), ALLOW(set_robust_list), ALLOW(rseq), ALLOW(sched_yield),
		ALLOW(sched_getaffinity), ALLOW(rt_sigprocmask), ALLOW(rt_sigaction),
		ALLOW(rt_sigreturn), ALLOW(sigaltstack), ALLOW(getpid), ALLOW(gettid),
		ALLOW(clock_gettime), ALLOW(getrandom), ALLOW(exit), ALLOW(exit_group),
		/* What clone3() asks for cannot be seen: the C library goes back to clone(). */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(filter), .filter = filter};

	if (SANITIZED)
		return 0;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}
#else
static int shut_in(void)
{
	return 0; /* nobody has looked which calls this machine has */
}
#endif

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, MIN(n, (size_t)1 << 24));

		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

static int convert(struct span file, unsigned threads, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_buf_ struct buf bytes = BUF_UP_TO(UINT32_MAX);
	struct gsym_make_opts o = {.threads = threads};
	struct gsym_made made;
	int r = gsym_writer_new(&w);

	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	r = gsym_make(w, file, &o, &made, e);
	if (r == 0)
		r = gsym_write(w, GSYM_V1, made.big, NULL, &bytes, NULL, e);
	if (r < 0)
		return r;
	r = write_all(WORKER_OUT, bytes.p, bytes.n);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

static int work(unsigned threads, unsigned seconds, uint64_t memory, struct err *e)
{
	struct span file;
	int r = map_fd(&file, WORKER_IN, e);

	if (r < 0)
		return r;
	/* /proc and /sys, where this is asked, are out of reach behind the filter. */
	if (!threads)
		threads = (unsigned)MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L), 8L);
	close_range(WORKER_WORDS + 1, ~0u, 0);
	set_limits(threads, seconds, memory);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	r = shut_in();
	if (r < 0)
		return err_set(e, r, "the worker cannot be shut in: %s", err_text(r));
	return convert(file, threads, e);
}

int gsym_worker_main(int argc, char **argv)
{
	struct worker_word word = {.r = -EINVAL};
	struct err e = {0};

	if (argc != 4)
		return 2;
	word.r = work((unsigned)strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10),
		strtoull(argv[3], NULL, 10), &e);
	snprintf(word.text, sizeof(word.text), "%.250s", e.text);
	/* No destructor, and nothing that looks for leaks behind the filter. */
	_exit(write_all(WORKER_WORDS, (const char *)&word, sizeof(word)) < 0 ? 3 : 0);
}
