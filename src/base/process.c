/* Starts children and waits for them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/process.h"
#include "base/clock.h"
#include "base/util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define GRACE_MS 1000 /* time for a killed child to end */
#define PAUSE_MS 2
#ifdef __SANITIZE_THREAD__
#define THREADS_WATCHED 1
#else
#define THREADS_WATCHED 0
#endif

pid_t process_fork(void)
{
	struct stat st;

	/* A link for each thread, and two more. ThreadSanitizer has a thread of its own. */
	if (!THREADS_WATCHED && stat("/proc/self/task", &st) == 0 && st.st_nlink > 3) {
		errno = EDEADLK;
		return -1;
	}
	return fork();
}

int process_wait(pid_t pid, unsigned ms, int *status)
{
	uint64_t until = clock_ms() + ms;
	bool killed = false;

	for (;;) {
		pid_t ended = waitpid(pid, status, WNOHANG);

		if (ended < 0 && errno != EINTR)
			return -errno;
		if (ended == pid || (killed && clock_ms() >= until))
			return killed ? -ETIMEDOUT : 0;
		if (clock_ms() >= until) {
			kill(pid, SIGKILL);
			killed = true;
			until += GRACE_MS;
		}
		poll(NULL, 0, PAUSE_MS);
	}
}

int process_run(const char *const *argv, unsigned ms, struct buf *out)
{
	_cleanup_close_ int fd = memfd_create("output", MFD_CLOEXEC);
	posix_spawn_file_actions_t to;
	int status = -1, r;
	struct stat st;
	pid_t pid;

	if (fd < 0 || posix_spawn_file_actions_init(&to) != 0)
		return 127;
	r = posix_spawn_file_actions_addopen(&to, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	for (int n = STDOUT_FILENO; r == 0 && n <= STDERR_FILENO; n++)
		r = posix_spawn_file_actions_adddup2(&to, fd, n);
	if (r == 0)
		r = posix_spawnp(&pid, argv[0], &to, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&to);
	if (r != 0 || process_wait(pid, ms, &status) < 0)
		return 127;
	if (out && fstat(fd, &st) == 0 && buf_reserve(out, (size_t)st.st_size) == 0) {
		ssize_t n = pread(fd, out->p + out->n, (size_t)st.st_size, 0);

		out->n += n > 0 ? (size_t)n : 0;
		out->p[out->n] = '\0';
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}
