/* Finds, starts and checks the programs of workers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "priv/worker.h"
#include "base/path.h"
#include "base/process.h"
#include "base/sanitized.h"
#include "base/util.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define CHECK_MS 60000 /* after which a program counts as hung */

static const char *const programs[] = {"convert", "frames", "unarchive", "unwind"};

/* The directory of the programs that this process keeps open: worker_keep_open(). The rights of a process are those
 * of all its threads, and so is this directory. */
static struct {
	int dir;
	char *path;
} kept = {.dir = -1};

/* The worker inherits its descriptors and nothing else, even if a library opened more meanwhile. `out` is its
 * standard output and error; -1: /dev/null. */
static int give(posix_spawn_file_actions_t *to, const int *fds, unsigned n, int out)
{
	int r = posix_spawn_file_actions_addopen(to, 0, "/dev/null", O_RDWR, 0);

	if (r == 0)
		r = posix_spawn_file_actions_adddup2(to, MAX(out, 0), 1);
	if (r == 0 && (!SANITIZED || out >= 0))
		r = posix_spawn_file_actions_adddup2(to, MAX(out, 0), 2);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = fds[i] >= 0 ? posix_spawn_file_actions_adddup2(to, fds[i], WORKER_FD_FIRST + (int)i)
				: posix_spawn_file_actions_addclose(to, WORKER_FD_FIRST + (int)i);
	return r == 0 ? posix_spawn_file_actions_addclosefrom_np(to, WORKER_FD_FIRST + (int)n) : r;
}

/* `dir` is the directory from which `program` counts; -1: the working directory. */
static int spawn(int dir, const char *program, char *const *argv, const int *fds, unsigned n, int out, pid_t *pid)
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
	r = dir >= 0 ? posix_spawn_file_actions_addfchdir_np(&actions, dir) : 0;
	if (r == 0)
		r = give(&actions, fds, n, out);
	if (r == 0)
		r = posix_spawn(pid, program, &actions, &attr, argv, no_environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* ---- the programs of libexec ---------------------------------------------------------- */

static bool has_programs(const char *dir)
{
	char path[PATH_MAX];

	for (unsigned i = 0; i < ARRAY_SIZE(programs); i++)
		if (snprintf(path, sizeof(path), "%s/%s", dir, programs[i]) < PATH_MAX && access(path, F_OK) == 0)
			return true;
	return false;
}

/* The directory of the programs: in the build tree of this program, below its prefix, or where it was installed. The
 * caller frees it. NULL: out of memory. */
static char *find_place(void)
{
	static const char *const places[] = {"libexec", "../libexec/symfs"};
	char self[PATH_MAX], path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *place;

	self[MAX(n, 0L)] = '\0';
	slash = strrchr(self, '/');
	for (unsigned i = 0; slash && i < ARRAY_SIZE(places); i++) {
		slash[1] = '\0';
		snprintf(path, sizeof(path), "%s%s", self, places[i]);
		place = path_absolute(path);
		if (!place || has_programs(place))
			return place;
		free(place);
	}
	return strdup(PKGLIBEXECDIR);
}

void worker_keep_open(void)
{
	kept.path = find_place();
	kept.dir = kept.path ? open(kept.path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static char *path_of(const char *name)
{
	_cleanup_free_ char *place = kept.path ? strdup(kept.path) : find_place();
	char *path;

	return place && asprintf(&path, "%s/%s", place, name) >= 0 ? path : NULL;
}

static int not_started(const char *path, const char *why, struct err *e)
{
	return err_set(e, -EIO, "the worker %.250s did not start: %.100s", path, why);
}

/* Starts the program of libexec that argv[0] names, or `program`. `out` as for give(). */
static int start(const char *program, char *const *argv, const int *fds, unsigned n, int out, pid_t *pid,
	struct err *e)
{
	_cleanup_free_ char *path = program ? strdup(program) : path_of(argv[0]);
	int dir = program ? -1 : kept.dir;
	int r = path ? spawn(dir, dir < 0 ? path : argv[0], argv, fds, n, out, pid) : -ENOMEM;

	return r < 0 ? not_started(path ? path : argv[0], err_text(r), e) : 0;
}

int worker_start(const char *program, char *const *argv, const int *fds, unsigned n, pid_t *pid, struct err *e)
{
	int moved[WORKER_FDS_MOST] = {0}, r = 0;

	/* Duplicates above those that the worker uses: no dup2() in the worker may overwrite one. */
	for (unsigned i = 0; i < n; i++) {
		moved[i] = fds[i] < 0 || r < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, 16);
		if (fds[i] >= 0 && r == 0 && moved[i] < 0)
			r = not_started(argv[0], err_text(errno), e);
	}
	if (r == 0)
		r = start(program, argv, moved, n, -1, pid, e);
	for (unsigned i = 0; i < n; i++)
		if (moved[i] >= 0)
			close(moved[i]);
	return r;
}

/* ---- the check ------------------------------------------------------------------------ */

struct check {
	pid_t pid;
	int out; /* what the program prints */
	char text[8 << 10];
};

static int check_begin(struct check *c, const char *name, struct err *e)
{
	char *argv[] = {(char *)name, (char *)"--version", NULL};
	int r;

	c->out = memfd_create(name, MFD_CLOEXEC);
	if (c->out < 0)
		return not_started(name, err_text(errno), e);
	r = start(NULL, argv, NULL, 0, c->out, &c->pid, e);
	if (r < 0)
		close(c->out);
	return r;
}

static int check_end(struct check *c, const char *name, struct err *e)
{
	_cleanup_free_ char *path = path_of(name);
	int status = 0, r = process_wait(c->pid, CHECK_MS, &status);
	ssize_t n = pread(c->out, c->text, sizeof(c->text) - 1, 0);

	close(c->out);
	c->text[MAX(n, 0L)] = '\0';
	if (r == 0 && status == 0)
		return 0;
	/* The dynamic loader ends with 127 and prints which library it does not find. */
	if (r == 0 && !c->text[0])
		snprintf(c->text, sizeof(c->text), WIFSIGNALED(status) ? "it was ended by signal %d" :
			"it ended with status %d", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return not_started(path ? path : name, r < 0 ? err_text(r) : c->text, e);
}

/* Calls each() for the program and for each line that is a path of a library. */
static int list_files(const char *name, char *text, int (*each)(void *ctx, int dir, const char *path), void *ctx,
	struct err *e)
{
	int r = each(ctx, kept.dir, name);

	for (char *line; r == 0 && (line = strsep(&text, "\n"));)
		r = line[0] == '/' ? each(ctx, AT_FDCWD, line) : 0;
	return r < 0 ? not_started(name, err_text(r), e) : 0;
}

int worker_check(int (*each)(void *ctx, int dir, const char *path), void *ctx, struct err *e)
{
	struct check all[ARRAY_SIZE(programs)];
	struct err own = {0}, later;
	unsigned n = 0;
	int r = 0;

	while (r == 0 && n < ARRAY_SIZE(programs)) {
		r = check_begin(&all[n], programs[n], &own);
		n += r == 0;
	}
	for (unsigned i = 0; i < n; i++) {
		struct err *to = r == 0 ? &own : &later;
		int done = check_end(&all[i], programs[i], to);

		if (done == 0 && each)
			done = list_files(programs[i], all[i].text, each, ctx, to);
		r = r == 0 ? done : r;
	}
	return r == 0 ? 0 : err_set(e, -EIO, "%.*s; symfs needs all of its programs: install them again, where the "
		"user of the daemon may execute them", (int)strcspn(own.text, "\n"), own.text);
}
