/* gsym/worker.c: conversion in a process of its own gives what is made without, and a worker that
 * crashes, hangs, grows or says nothing costs only its file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "gsym/make.h"
#include "gsym/worker.h"
#include "gsyms.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/mman.h>
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

static const char *symfs_program(void)
{
	static char path[4096];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/symfs", top ? top : ".");
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
	int out = -1, r = run(symfs_program(), 60, text, sizeof(text) - 1, &out, &e);

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

	ck_assert_int_eq(run(symfs_program(), 60, "hello there, nothing", 20, &out, &e), -ENOMSG);
	ck_assert_ptr_nonnull(strstr(e.text, "nothing that GSYM is made from"));
	ck_assert_int_eq(run(symfs_program(), 60, text, 59, &out, &e), -ENODATA);
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
		{"exit 3", -EBADMSG, "status 3"},
		{"exit 0", -EBADMSG, "status 0"},
		{"printf 1234567 >&5", -EBADMSG, "status 0"},
		{"exec sleep 100", -ETIME, "within 1 s"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		char path[64];
		struct err e = {0};
		int out = -1, r = run(script(all[i].body, path), 1 + (i < 6) * 20, text, 10, &out, &e);

		unlink(path);
		ck_assert_msg(r == all[i].r, "%s: %d %s", all[i].body, r, e.text);
		ck_assert_msg(strstr(e.text, all[i].words), "%s: %s", all[i].body, e.text);
		ck_assert_int_eq(out, -1);
	}
	{
		struct err e = {0};
		int out = -1;

		ck_assert_int_eq(run("/no/such/program", 1, text, 10, &out, &e), -ENOENT);
	}
}
END_TEST

UNIT_MAIN("gsym-worker", converts, says_why_not, broken_workers)
