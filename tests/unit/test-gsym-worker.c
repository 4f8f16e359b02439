/* Tests derive/convert/worker.c: conversion in a worker process gives the same bytes as without one. A
 * worker that crashes, hangs, grows or sends nothing costs only its file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/path.h"
#include "base/sanitized.h"
#include "derive/convert/make.h"
#include "derive/convert/worker-private.h"
#include "derive/convert/worker.h"
#include "gsyms.h"
#include "unit.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static const char text[] = "MODULE Linux x86_64 C0BCC3F19827FE653058404B2831D9E60 a.so\n"
			   "FILE 0 /src/a.c\nFUNC 1000 40 0 main\n1000 40 7 0\n";

static int in_memory(const void *p, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, p, n), (ssize_t)n);
	return fd;
}

/* A shell script as a worker. */
static const char *script(const char *body, char path[static 64])
{
	int fd;

	snprintf(path, 64, "/tmp/test-gsym-worker.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_gt(dprintf(fd, "#!/bin/sh\n%s\n", body), 0);
	ck_assert_int_eq(fchmod(fd, 0700), 0);
	close(fd);
	return path;
}

static const char *convert_program(void)
{
	static char path[4096];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/libexec/convert", top ? top : ".");
	return path;
}

static int run(const char *program, unsigned seconds, const void *p, size_t n, int *out,
	struct err *e)
{
	struct gsym_work o = {.program = program, .seconds = seconds};
	int in = in_memory(p, n), r = gsym_work(&o, in, out, e);

	close(in);
	return r;
}

START_TEST(converts)
{
	struct err e = {0};
	struct span bytes;
	struct gsym g;
	struct buf line = BUF_UP_TO(4096);
	int out = -1, r = run(convert_program(), 300, text, sizeof(text) - 1, &out, &e);

	ck_assert_msg(r == 0, "%s", e.text);
	ck_assert_int_eq(map_fd(&bytes, out, &e), 0);
	ck_assert_int_eq(gsym_open(&g, bytes, &e), 0);
	ck_assert_str_eq(gsyms_frames(&g, 0x1004, &line), "main@/src/a.c:7");
	map_release(&bytes);
	buf_release(&line);
	close(out);
}
END_TEST

START_TEST(says_why_not)
{
	struct err e = {0};
	int out = -1;

	ck_assert_int_eq(run(convert_program(), 300, "hello there, nothing", 20, &out, &e), -ENOMSG);
	ck_assert_ptr_nonnull(strstr(e.text, "not a file that GSYM can be made from"));
	ck_assert_int_eq(run(convert_program(), 300, text, 59, &out, &e), -ENODATA);
	ck_assert_int_eq(out, -1);
}
END_TEST

START_TEST(broken_workers)
{
	static const struct {
		const char *body;
		int r;
		const char *words;
	} all[] = {
		{"kill -SEGV $$", -EBADMSG, "signal 11"},
		{"kill -BUS $$", -EBADMSG, "signal 7"},
		{"kill -XCPU $$", -ETIMEDOUT, "too long"},
		{"kill -KILL $$", -ENOMEM, "memory is short"},
		{"exit 3", -EBADMSG, "status 3"},
		{"exit 0", -EBADMSG, "status 0"},
		{"printf 1234567 >&5", -EBADMSG, "status 0"},
		{"exec sleep 100", -ETIME, "within 1 s"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		char path[64];
		struct err e = {0};
		int out = -1, r = run(script(all[i].body, path), i < 7 ? 300 : 1, text, 10, &out, &e);

		unlink(path);
		ck_assert_msg(r == all[i].r, "%s: %d %s", all[i].body, r, e.text);
		ck_assert_msg(strstr(e.text, all[i].words), "%s: %s", all[i].body, e.text);
		ck_assert_int_eq(out, -1);
	}
	{
		struct err e = {0};
		int out = -1;

		ck_assert_int_eq(run("/no/such/program", 1, text, 10, &out, &e), -EIO);
	}
}
END_TEST

/* Runs a script whose output goes to a file, and which then fails; what it put there. */
static char *seen_by_worker(const char *command)
{
	char path[64], seen[80], body[256], *found = NULL;
	struct err e = {0};
	int out = -1;

	snprintf(seen, sizeof(seen), "/tmp/test-gsym-worker.%d", (int)getpid());
	snprintf(body, sizeof(body), "%s >%s; exit 1", command, seen);
	ck_assert_int_eq(run(script(body, path), 300, text, 10, &out, &e), -EBADMSG);
	unlink(path);
	ck_assert_int_eq(path_read(AT_FDCWD, seen, 4096, &found, NULL), 0);
	unlink(seen);
	return found;
}

START_TEST(inherits_nothing)
{
	int open_here = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
	char *seen;

	ck_assert_int_ge(open_here, 0);
	ck_assert_int_eq(dup2(open_here, 7), 7);
	ck_assert_int_eq(dup2(open_here, 77), 77);
	setenv("SYMFS_TEST_SECRET", "hunter2", 1);
	seen = seen_by_worker("exec ls /proc/self/fd"); /* 6 is that directory */
	ck_assert_str_eq(seen, "0\n1\n2\n3\n4\n5\n6\n");
	free(seen);
	seen = seen_by_worker("cat /proc/$$/environ");
	ck_assert_str_eq(seen, "");
	free(seen);
	seen = seen_by_worker("readlink /proc/$$/fd/0");
	ck_assert_str_eq(seen, "/dev/null\n");
	free(seen);
}
END_TEST

/* What a worker says that ran out of memory, and one that really does. */
START_TEST(short_of_memory)
{
	struct worker_word word = {.r = -ENOMEM, .text = "Cannot allocate memory"};
	static char large[2 << 20];
	struct gsym_work o = {.program = convert_program(), .seconds = 300, .memory = 1 << 20};
	struct err e = {0};
	char path[64], said[] = "/tmp/test-gsym-worker.XXXXXX", body[64];
	int fd = mkstemp(said), out = -1, n;

	ck_assert_int_eq(write(fd, &word, sizeof(word)), (ssize_t)sizeof(word));
	close(fd);
	snprintf(body, sizeof(body), "cat %s >&5", said);
	ck_assert_int_eq(run(script(body, path), 300, text, 10, &out, &e), -ENOMEM);
	ck_assert_msg(strstr(e.text, "MiB that a worker may have"), "%s", e.text);
	unlink(path);
	unlink(said);
	if (SANITIZED)
		return; /* no limit */
	n = snprintf(large, sizeof(large), "%s", text);
	for (unsigned i = 0; n < (int)sizeof(large) - 64; i++)
		n += snprintf(large + n, 64, "FUNC %x 10 0 f%u\n%x 10 7 0\n", 0x2000 + i * 16, i, 0x2000 + i * 16);
	fd = in_memory(large, (size_t)n);
	ck_assert_int_eq(gsym_work(&o, fd, &out, &e), -ENOMEM);
	o.memory = 1u << 30;
	ck_assert_msg(gsym_work(&o, fd, &out, &e) == 0, "%s", e.text);
	close(out);
	close(fd);
}
END_TEST

/* From now on these fail, here and in what is started. */
static void without(const int *calls, const int *errors, unsigned n)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);

	ck_assert_ptr_nonnull(f);
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(seccomp_rule_add(f, SCMP_ACT_ERRNO(errors[i]), calls[i], 0), 0);
	ck_assert_int_eq(seccomp_rule_add(f, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
		SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP)), 0);
	ck_assert_int_eq(seccomp_load(f), 0);
	seccomp_release(f);
}

/* The loader of programs ends so when a library was replaced: that is no damage of the file. */
START_TEST(does_not_start)
{
	struct err e = {0};
	char path[64];
	int out = -1;

	ck_assert_int_eq(run(script("exit 127", path), 300, text, 10, &out, &e), -EIO);
	unlink(path);
}
END_TEST

START_TEST(deadline_without_pidfd)
{
	char path[64];
	struct err e = {0};
	int out = -1;

	without((const int[]){SCMP_SYS(pidfd_open)}, (const int[]){ENOSYS}, 1);
	ck_assert_int_eq(run(script("exec sleep 100", path), 1, text, 10, &out, &e), -ETIME);
	unlink(path);
	ck_assert_int_eq(run(script("exit 3", path), 300, text, 10, &out, &e), -EBADMSG);
	ck_assert_msg(strstr(e.text, "status 3"), "%s", e.text);
	unlink(path);
}
END_TEST

START_TEST(refuses_without_filters)
{
	struct gsym_work o = {.program = convert_program(), .seconds = 300};
	int in = in_memory(text, sizeof(text) - 1), out = -1;
	bool bare = false;
	struct err e = {0};

	o.bare = &bare;
	ck_assert_msg(gsym_work(&o, in, &out, &e) == 0, "%s", e.text);
	ck_assert(!bare);
	close(out);
	out = -1;
	without((const int[]){SCMP_SYS(seccomp)}, (const int[]){ENOSYS}, 1);
	ck_assert_int_eq(gsym_work(&o, in, &out, &e), -EPERM);
	ck_assert_msg(strstr(e.text, "allow-unsandboxed"), "%s", e.text);
	ck_assert_int_eq(out, -1);
	o.unsandboxed = true;
	ck_assert_msg(gsym_work(&o, in, &out, &e) == 0, "%s", e.text);
	ck_assert(bare);
	close(out);
	close(in);
}
END_TEST

UNIT_MAIN("gsym-worker", converts, says_why_not, broken_workers, inherits_nothing, short_of_memory,
	does_not_start, deadline_without_pidfd, refuses_without_filters)
