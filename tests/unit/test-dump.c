/* Tests dump/: a minidump that is built here, this process itself, and damaged dumps. Core files
 * from the kernel are tested in tests/mount/warm.sh. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "images.h"
#include "stacks/dump/dump.h"
#include "stacks/dump/state.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct told {
	unsigned n;
	struct dump_module d[400];
};
static struct told told;

static int tell(void *ctx, const struct dump_module *d)
{
	ck_assert_uint_lt(told.n, ARRAY_SIZE(told.d));
	told.d[told.n++] = *d;
	return 0;
}

static int read_image(size_t have, struct err *e)
{
	uint8_t *copy = calloc(1, have + 1);
	struct view v = view_of_mem(copy, have);
	int r;

	memcpy(copy, image.p, have);
	told.n = 0;
	memset(e, 0, sizeof(*e));
	r = dump_read(&v, tell, NULL, e);
	free(copy);
	return r;
}

static void put_name(size_t at, const char *name)
{
	size_t n = strlen(name);

	put_at(at, 2 * n, 4);
	for (size_t i = 0; i < n; i++)
		put_at(at + 4 + 2 * i, (unsigned char)name[i], 2);
}

static const uint8_t id[20] = {0xf1, 0xc3, 0xbc, 0xc0, 0x27, 0x98, 0x65, 0xfe, 0x30, 0x58, 0x40, 0x4b,
	0x28, 0x31, 0xd9, 0xe6, 0x41, 0x35, 0x38, 0x6c};

/* Streams 4 and 7, and one module with the record of `kind`. */
static void minidump(uint32_t platform, const char *kind, size_t pad)
{
	size_t list = 200 + pad;

	memset(&image, 0, sizeof(image));
	put_bytes(0, "MDMP\x93\xa7\0\0", 8);
	put_at(8, 2, 4);
	put_at(12, 32, 4);
	put_at(32, 7, 4);
	put_at(36, 56, 4);
	put_at(40, 100, 4);
	put_at(44, 4, 4);
	put_at(48, 4 + pad + 108, 4);
	put_at(52, 200, 4);
	put_at(120, platform, 4);
	put_at(200, 1, 4);
	put_at(list + 4, 0x400000, 8);
	put_at(list + 12, 0x2d000, 4);
	put_at(list + 20, 0x45d35f6c, 4);
	put_at(list + 24, 400, 4);
	put_name(400, platform == 2 ? "c:\\dir\\app.exe" : "/usr/bin/app");
	put_at(list + 84, 600, 4);
	if (strcmp(kind, "RSDS") == 0) {
		put_at(list + 80, 24 + 8, 4);
		put_bytes(600, "RSDS", 4);
		put_bytes(604, id, 16);
		put_at(620, 0x1f, 4);
		put_bytes(624, "app.pdb", 8);
	} else if (kind[0]) {
		put_at(list + 80, 24, 4);
		put_bytes(600, "LEpB", 4);
		put_bytes(604, id, 20);
	}
	put_at(700, 0, 1);
}

START_TEST(test_windows)
{
	char text[DEBUG_ID_TEXT];
	struct err e;

	for (size_t pad = 0; pad <= 4; pad += 4) {
		minidump(2, "RSDS", pad);
		ck_assert_int_eq(read_image(image.n, &e), 0);
		ck_assert_uint_eq(told.n, 1);
		ck_assert_int_eq(told.d[0].m.object, OBJECT_PE);
		ck_assert_str_eq(told.d[0].m.code_id, "45d35f6c2d000");
		ck_assert_str_eq(told.d[0].m.code_file, "app.exe");
		ck_assert_str_eq(told.d[0].m.debug_file, "app.pdb");
		ck_assert_str_eq(debug_id_breakpad(&told.d[0].m.debug_id, text),
			"C0BCC3F19827FE653058404B2831D9E61f");
		ck_assert_uint_eq(told.d[0].base, 0x400000);
		ck_assert_uint_eq(told.d[0].end, 0x42d000);
	}
}
END_TEST

START_TEST(test_others)
{
	char text[DEBUG_ID_TEXT];
	struct err e;

	minidump(0x8201, "ELF", 0);
	ck_assert_int_eq(read_image(image.n, &e), 0);
	ck_assert_int_eq(told.d[0].m.object, OBJECT_ELF);
	ck_assert_str_eq(told.d[0].m.code_id, "f1c3bcc0279865fe3058404b2831d9e64135386c");
	ck_assert_str_eq(debug_id_breakpad(&told.d[0].m.debug_id, text), "C0BCC3F19827FE653058404B2831D9E60");
	minidump(0x8101, "RSDS", 0);
	ck_assert_int_eq(read_image(image.n, &e), 0);
	ck_assert_int_eq(told.d[0].m.object, OBJECT_MACHO);
	ck_assert_str_eq(told.d[0].m.code_id, "c0bcc3f19827fe653058404b2831d9e6");
	minidump(0x8201, "", 0);
	ck_assert_int_eq(read_image(image.n, &e), 0);
	ck_assert_int_eq(told.d[0].m.object, OBJECT_UNKNOWN);
}
END_TEST

START_TEST(test_broken)
{
	struct err e;

	minidump(2, "RSDS", 0);
	for (size_t n = 0; n < 632; n++) {
		int r = read_image(n, &e);

		ck_assert_msg(r == -EBADMSG || (n < 6 && r == -ENOMSG), "%zu: %d %s", n, r, e.text);
		ck_assert(e.text[0]);
	}
	for (size_t at = 0; at + 4 <= 632; at += 4) {
		minidump(2, "RSDS", 0);
		put_at(at, 0xffffffff, 4);
		read_image(image.n, &e);
		minidump(2, "RSDS", 0);
		put_at(at, 0x7fffffff, 4);
		read_image(image.n, &e);
	}
}
END_TEST

START_TEST(test_process)
{
	unsigned programs = 0, known = 0, libc = 0;
	struct err e = {0};

	told.n = 0;
	ck_assert_int_eq(dump_process(getpid(), tell, NULL, &e), 0);
	for (unsigned i = 0; i < told.n; i++) {
		known += told.d[i].m.code_id[0] != '\0';
		programs += told.d[i].program;
		libc += strncmp(told.d[i].m.code_file, "libc.so", 7) == 0 ||
			strncmp(told.d[i].m.code_file, "libc-", 5) == 0;
		ck_assert_uint_lt(told.d[i].base, told.d[i].end);
		if (told.d[i].program)
			ck_assert_ptr_nonnull(strstr(told.d[i].path, "test-dump"));
	}
	ck_assert_uint_eq(programs, 1);
	ck_assert_uint_eq(libc, 1);
	ck_assert_uint_ge(known, 2);
	ck_assert_int_eq(dump_process(0x7ffffffe, tell, NULL, &e), -ESRCH);
}
END_TEST

/* The thread that waits for a child with CLONE_VFORK does not stop for a tracer. vfork() itself is another function
 * under ThreadSanitizer. */
static int go[2], said[2];

static void say(char c)
{
	ck_assert_int_eq(write(said[1], &c, 1), 1);
}

static char hear(void)
{
	char c = 0;

	return read(said[0], &c, 1) == 1 ? c : 0;
}

static void *wait_for_child(void *unused)
{
	long child = syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);

	if (child == 0) {
		char c = 'v';

		_exit(write(said[1], &c, 1) != 1 || read(go[0], &c, 1) < 0);
	}
	say('t');
	return NULL;
}

static void run_traced(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(go[1]);
	if (pthread_create(&thread, NULL, wait_for_child, NULL) != 0)
		_exit(1);
	for (;;)
		pause();
}

/* The number of threads that did not stop in time, if another one stopped. */
static unsigned late_threads(pid_t pid)
{
	struct dump_state s;
	struct err e = {0};
	unsigned late = 0;
	int r;

	while ((r = dump_process_state(pid, &s, &e)) == -EBUSY)
		; /* no thread stopped in time */
	ck_assert_msg(r == 0, "%s", e.text);
	ck_assert_uint_ge(s.n_threads, 2); /* ThreadSanitizer has one of its own */
	for (size_t i = 0; i < s.n_threads; i++)
		late += strcmp(s.thread[i].lacks, "the thread did not stop") == 0;
	ck_assert_uint_ge(late, 1);
	dump_state_release(&s);
	return late;
}

START_TEST(test_late)
{
	pid_t pid;

	ck_assert(pipe(go) == 0 && pipe(said) == 0);
	pid = fork();
	if (pid == 0)
		run_traced();
	ck_assert_int_eq(hear(), 'v');
	while (late_threads(pid) > 1)
		; /* a busy machine gives no processor to another thread for seconds */
	/* It goes on, although this process, which has traced it, goes on, too. */
	ck_assert_int_eq(write(go[1], "g", 1), 1);
	ck_assert_int_eq(hear(), 't');
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

UNIT_MAIN("dump", test_windows, test_others, test_broken, test_process, test_late)
