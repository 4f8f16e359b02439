/* The program `convert`, which obeys its input. If a file contains "worker: crash", the worker crashes; with
 * "worker: hang" it runs for ever; with "worker: full" it reports that it has too little memory. With
 * "worker: open PATH\n" it crashes if it can open that file. With "worker: write PATH\n" it tries to create that
 * file, as its daemon could. With "worker: wait PATH\n" it waits until that file exists, and then works as usual. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
int real_main(int argc, char **argv);
#define main real_main
#include "derive/convert/main.c"
#undef main

#include <fcntl.h>
#include <signal.h>
#include <time.h>

static void pause_a_little(void)
{
	const struct timespec t = {.tv_nsec = 20000000};

	nanosleep(&t, NULL);
}

static void path_of(const char *p, size_t n, char path[static 4096])
{
	const char *end = memchr(p, '\n', n);

	snprintf(path, 4096, "%.*s", end ? (int)(end - p) : 0, p);
}

static void try_to_write(const char *p, size_t n)
{
	char path[4096];
	int fd;

	path_of(p, n, path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd >= 0)
		close(fd);
}

static void crash(void)
{
	signal(SIGSEGV, SIG_DFL); /* a sanitizer would say more */
	raise(SIGSEGV);
}

static void crash_if_readable(const char *p, size_t n)
{
	char path[4096];

	path_of(p, n, path);
	if (open(path, O_RDONLY) >= 0)
		crash();
}

static void wait_for_file(const char *p, size_t n)
{
	char path[4096];

	path_of(p, n, path);
	while (access(path, F_OK) < 0)
		pause_a_little();
}

static void say_full(void)
{
	struct worker_word word = {.r = -ENOMEM};

	_exit(write(WORKER_WORD, &word, sizeof(word)) == sizeof(word) ? 0 : 3);
}

static void obey(struct span file)
{
	const char *p = memmem(file.p, file.n, "worker: ", 8);
	size_t n = p ? file.n - (size_t)((const uint8_t *)p + 8 - file.p) : 0;

	if (n < 5)
		return;
	p += 8;
	if (memcmp(p, "crash", 5) == 0)
		crash();
	if (memcmp(p, "open ", 5) == 0)
		crash_if_readable(p + 5, n - 5);
	if (memcmp(p, "full", 4) == 0)
		say_full();
	while (memcmp(p, "hang", 4) == 0)
		pause_a_little();
	if (n > 6 && memcmp(p, "write ", 6) == 0)
		try_to_write(p + 6, n - 6);
	if (memcmp(p, "wait ", 5) == 0)
		wait_for_file(p + 5, n - 5);
}

int main(int argc, char **argv)
{
	struct err e = {0};
	struct span file;

	if (map_fd(&file, WORKER_IN, &e) == 0) {
		obey(file);
		map_release(&file);
	}
	return real_main(argc, argv);
}
