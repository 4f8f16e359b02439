/* Starts worker processes, and limits them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "priv/worker.h"
#include "base/sanitized.h"
#include "base/util.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* The worker inherits its descriptors and nothing else, even if a library opened more meanwhile. */
static int give(posix_spawn_file_actions_t *to, const int *fds, unsigned n)
{
	int r = posix_spawn_file_actions_addopen(to, 0, "/dev/null", O_RDWR, 0);

	if (r == 0)
		r = posix_spawn_file_actions_adddup2(to, 0, 1);
	if (r == 0 && !SANITIZED)
		r = posix_spawn_file_actions_adddup2(to, 0, 2);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = fds[i] >= 0 ? posix_spawn_file_actions_adddup2(to, fds[i], WORKER_FD_FIRST + (int)i)
				: posix_spawn_file_actions_addclose(to, WORKER_FD_FIRST + (int)i);
	return r == 0 ? posix_spawn_file_actions_addclosefrom_np(to, WORKER_FD_FIRST + (int)n) : r;
}

static int spawn(const char *program, char *const *argv, const int *fds, unsigned n, pid_t *pid)
{
	char *const no_environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	r = give(&actions, fds, n);
	if (r == 0)
		r = posix_spawn(pid, program, &actions, &attr, argv,
			no_environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int worker_start(const char *program, char *const *argv, const int *fds, unsigned n, pid_t *pid)
{
	int moved[WORKER_FDS_MOST] = {0}, r = 0;

	/* Duplicates above those that the worker uses: no dup2() in the worker may overwrite one. */
	for (unsigned i = 0; i < n; i++) {
		moved[i] = fds[i] < 0 || r < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, 16);
		if (fds[i] >= 0 && r == 0 && moved[i] < 0)
			r = -errno;
	}
	if (r == 0)
		r = spawn(program, argv, moved, n, pid);
	for (unsigned i = 0; i < n; i++)
		if (moved[i] >= 0)
			close(moved[i]);
	return r;
}

int worker_program(const char *name, char path[static PATH_MAX])
{
	static const char *const places[] = {"libexec", "../libexec/symfs"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (unsigned i = 0; slash && i < ARRAY_SIZE(places); i++) {
		slash[1] = '\0';
		if (snprintf(path, PATH_MAX, "%s%s/%s", self, places[i], name) < PATH_MAX && access(path, X_OK) == 0)
			return 0;
	}
	snprintf(path, PATH_MAX, "%s/%s", PKGLIBEXECDIR, name);
	return access(path, X_OK) == 0 ? 0 : -ENOENT;
}

/* `more` is how far the hard limit lies above the soft one; RLIM_INFINITY: it stays as it is. */
static void limit(int what, uint64_t most, rlim_t more)
{
	struct rlimit l;

	if (getrlimit(what, &l) < 0)
		return;
	l.rlim_cur = MIN((rlim_t)most, l.rlim_max);
	if (more != RLIM_INFINITY)
		l.rlim_max = MIN(l.rlim_cur + more, l.rlim_max);
	setrlimit(what, &l);
}

void worker_limit(uint64_t cpu_seconds, uint64_t file_bytes, uint64_t memory)
{
	limit(RLIMIT_CORE, 0, RLIM_INFINITY);
	/* A worker that was taken over could ignore SIGXCPU, but not SIGKILL at the hard limit. */
	limit(RLIMIT_CPU, cpu_seconds, 10);
	limit(RLIMIT_FSIZE, file_bytes, RLIM_INFINITY);
	if (!SANITIZED)
		limit(RLIMIT_DATA, memory, RLIM_INFINITY);
}
