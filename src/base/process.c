/* Forks and waits for children. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/process.h"
#include "base/clock.h"
#include "base/util.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
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
