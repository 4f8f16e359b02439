/* Finds, starts, runs and checks the programs of workers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "priv/worker.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/process.h"
#include "base/sanitized.h"
#include "base/util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

/* Starts the program of libexec that argv[0] names, or `program`, a path, if it is not NULL. libexec is in the build
 * tree of this program, below its prefix, or where it was installed. The worker has the n descriptors as 3, 4, and so
 * on, and no other; -1 stands for a closed one. 0 to 2 are /dev/null, except that a sanitizer keeps 2 for its
 * reports. The caller waits for *pid. 0; -EIO: "the worker PATH did not start: ERROR". */
static int worker_start(const char *program, char *const *argv, const int *fds, unsigned n, pid_t *pid, struct err *e)
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

/* ---- a run of a program -------------------------------------------------------------- */

#define ERRNO_MOST 4095
#define LOOK_MS 200 /* between two checks of `stop` */
#define BLIND_MS 20 /* between two checks that the worker has ended, without a pidfd */

uint64_t worker_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return (uint64_t)MAX(pages, 1L << 16) * (uint64_t)MAX(size, 4096L) / 2;
}

static unsigned seconds_of(const struct worker_run *o)
{
	return o->wait_seconds ? o->wait_seconds : o->seconds ? o->seconds : WORKER_SECONDS;
}

int worker_begin(const struct worker_run *o, const int *fds, unsigned n, pid_t *pid, struct err *e)
{
	char seconds[24], memory[24];
	const char *argv[WORKER_WORDS_MOST + 5] = {o->name, seconds, memory,
		o->unsandboxed ? WORKER_MAY : WORKER_MUST_NOT};
	int r;

	for (unsigned i = 0; i < WORKER_WORDS_MOST && o->words[i]; i++)
		argv[i + 4] = o->words[i];
	snprintf(seconds, sizeof(seconds), "%llu",
		(o->seconds ? o->seconds : WORKER_SECONDS) * MAX(o->threads, 1ull));
	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)(o->memory ? o->memory : worker_memory()));
	r = worker_start(o->program, (char *const *)argv, fds, n, pid, e);
	return r < 0 && o->unstarted ? err_wrap(e, o->unstarted) : r;
}

/* ---- waiting ---------------------------------------------------------------------------- */

/* Whether the worker has ended; waits up to `ms` milliseconds, or until the worker has sent a message. `pidfd` is
 * -1 if the kernel is too old for such descriptors, or no descriptor is free. */
static bool ended_within(pid_t pid, int pidfd, int ms, int socket, bool *message)
{
	struct pollfd p[2] = {{.fd = pidfd, .events = POLLIN}, {.fd = socket, .events = POLLIN}};
	siginfo_t info = {0};

	poll(p, 2, pidfd >= 0 ? ms : BLIND_MS);
	*message = p[1].revents & POLLIN;
	if (p[0].revents)
		return true;
	return pidfd < 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		info.si_pid == pid;
}

/* Waits until the worker has ended; *status is that of waitpid(). 0; -ETIME: it was killed after its time; -EINTR:
 * because of `stop`; errors of serve(). */
static int wait_for(const struct worker_run *o, pid_t pid, int *status)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	uint64_t end = clock_ms() + (uint64_t)seconds_of(o) * 1000;
	bool message = false;
	int r = 0;

	while (r == 0 && !ended_within(pid, fd, o->stop ? LOOK_MS : 1000, o->serve ? o->socket : -1, &message)) {
		if (o->stop && atomic_load(o->stop))
			r = -EINTR;
		else if (clock_ms() >= end)
			r = -ETIME;
		else if (message)
			r = o->serve(o->ctx);
	}
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return r;
}

/* ---- the verdict ------------------------------------------------------------------------ */

/* symfs does not send SIGKILL to a worker that ended in time: the kernel does, when memory is short. */
static int ended_by(const struct worker_run *o, int number, struct err *e)
{
	if (number == SIGXCPU)
		return err_set(e, -ETIMEDOUT, "takes too long to %s", o->verb);
	if (number == SIGKILL)
		return err_set(e, -ENOMEM, "was not %s: the worker was ended by signal %d, "
			"which the kernel sends when memory is short", o->done, number);
	return err_set(e, -EBADMSG, "cannot be %s: the worker was ended by signal %d", o->done, number);
}

int worker_ended(const struct worker_run *o, int status, struct err *e)
{
	if (WIFSIGNALED(status))
		return ended_by(o, WTERMSIG(status), e);
	/* The dynamic loader ends with 127: the input is not at fault. */
	if (WEXITSTATUS(status) == 127)
		return err_set(e, -EIO, "was not %s: the worker cannot start; restart symfs after an upgrade of "
			"symfs or its libraries", o->done);
	if (WEXITSTATUS(status))
		return err_set(e, -EBADMSG, "cannot be %s: the worker ended with status %d", o->done,
			WEXITSTATUS(status));
	return 0;
}

/* The result of a worker that has ended: its word, or how it ended. */
static int take_word(const struct worker_run *o, struct worker_end *x, struct err *e)
{
	struct worker_word w;
	ssize_t n = pread(x->word, &w, sizeof(w), 0);
	int r = worker_ended(o, x->status, e);

	x->how = r < 0 ? WORKER_DIED
		: n != (ssize_t)sizeof(w) || w.r > 0 || w.r < -ERRNO_MOST ? WORKER_SILENT
									  : WORKER_SAID;
	if (x->how == WORKER_SILENT)
		return err_set(e, -EBADMSG, "cannot be %s: the worker ended with status 0", o->done);
	if (r < 0)
		return r;
	w.text[sizeof(w.text) - 1] = '\0';
	x->bare = w.bare != 0;
	return w.r < 0 ? err_set(e, w.r, "%s", w.text[0] ? w.text : err_text(w.r)) : 0;
}

void worker_end_release(struct worker_end *x)
{
	cleanup_close(&x->word);
}

int worker_run(const struct worker_run *o, struct worker_end *out, struct err *e)
{
	int fds[WORKER_FDS_MOST], r;
	pid_t pid;

	*out = (struct worker_end){.word = memfd_create(o->name, MFD_CLOEXEC)};
	if (out->word < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	for (unsigned i = 0; i < WORKER_FDS_MOST; i++)
		fds[i] = i < o->n ? o->fds[i] : -1;
	fds[WORKER_WORD - WORKER_FD_FIRST] = out->word;
	r = worker_begin(o, fds, MAX(o->n, WORKER_WORD - WORKER_FD_FIRST + 1u), &pid, e);
	if (r < 0)
		return r;
	r = wait_for(o, pid, &out->status);
	if (r == 0)
		return take_word(o, out, e);
	out->how = WORKER_GIVEN_UP;
	return r == -ETIME ? err_set(e, r, "was not %s within %u s: the machine is too busy", o->done, seconds_of(o))
			   : err_set(e, r, "%s", err_text(r));
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
