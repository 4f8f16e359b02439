/* bounded SECONDS[,GRACE] COMMAND...: runs a test, and ends it and every process that it started.
 * A test that hangs fails, and the log shows where it was. Without this helper one process that
 * holds the test's output, even one in a session of its own, would hold up the whole check. A second in which the
 * load of the machine is N times its processors counts as 1/N: a slow test on a busy machine does not hang. GRACE
 * (20) is how many seconds a test has to clean up after SIGTERM, and then its processes to end.
 *
 * With BOUNDED_TIMES=FILE it appends a line `WALL USER SYSTEM COMMAND'S-LAST-WORD` to FILE:
 * seconds of the test and of every process that it started.
 *
 * With BOUNDED_LOCK=FILE the tests in tests/timed, which measure times, run alone: each holds an exclusive lock on
 * FILE, and every other test holds a shared lock. FILE has a line `FACTOR N`, by which such a test scales its
 * bounds: 100 to 400, percent of the bound on an idle machine. The first such test measures it. The test gets it as
 * SYMFS_TEST_FACTOR.
 *
 * With BOUNDED_UNTIL=TIME, in seconds since 1970, a test that has not begun by then is skipped, in the way of its
 * kind: exit status 77 for a script, a plan without tests for a program of TAP.
 *
 * The command starts with the default disposition of every signal and with an empty signal mask, whatever the
 * caller ignores (nohup ignores SIGHUP).
 *
 * Exit status: the command's; 124 if bounded had to end it; 125 if it could not be started. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_PROCESSES 4096

/* ---- what runs ---------------------------------------------------------------------- */

struct process {
	pid_t pid, parent;
	char state, name[17];
	bool ours;
};

static bool process_read(pid_t pid, struct process *p)
{
	char path[64], text[512], *end;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* The name is in brackets and may hold any. */
	end = strrchr(text, ')');
	*p = (struct process){.pid = pid};
	if (!end || sscanf(end + 1, " %c %d", &p->state, &p->parent) != 2)
		return false;
	*end = '\0';
	snprintf(p->name, sizeof(p->name), "%s", strchr(text, '(') ? strchr(text, '(') + 1 : "?");
	return true;
}

/* All below this process but zombies, parents before their children or not. How many. */
static unsigned descendants(struct process *out)
{
	static struct process all[MOST_PROCESSES];
	unsigned n = 0, found = 0;
	struct dirent *entry;
	bool more = true;
	DIR *d = opendir("/proc");

	while (d && n < MOST_PROCESSES && (entry = readdir(d)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			process_read((pid_t)atoi(entry->d_name), &all[n]))
			n++;
	if (d)
		closedir(d);
	while (more) {
		more = false;
		for (unsigned i = 0; i < n; i++) {
			bool below = all[i].parent == getpid();

			for (unsigned j = 0; j < n && !below; j++)
				below = all[j].ours && all[j].pid == all[i].parent;
			if (!all[i].ours && below)
				more = all[i].ours = true;
		}
	}
	for (unsigned i = 0; i < n; i++)
		if (all[i].ours && all[i].state != 'Z')
			out[found++] = all[i];
	return found;
}

/* Where its threads are, for the test's log. */
static void stack_of(pid_t pid)
{
	char number[16];
	pid_t child;

	snprintf(number, sizeof(number), "%d", (int)pid);
	child = fork();
	if (child == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execlp("timeout", "timeout", "60", "gdb", "-q", "-nx", "-batch", "-p", number, "-ex",
			"thread apply all bt 16", (char *)NULL);
		_exit(127);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void show(const struct process *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fprintf(stderr, "bounded: pid %d (of %d), state %c: %s\n", (int)p[i].pid, (int)p[i].parent,
			p[i].state, p[i].name);
	for (unsigned i = 0; i < n; i++)
		if (strstr(p[i].name, "symfs") || strstr(p[i].name, "test-"))
			stack_of(p[i].pid);
}

/* ---- the end ------------------------------------------------------------------------ */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Until the child `pid` has ended (0: until all have) or `until`; signals are passed on to it. False:
 * the time is over. */
static bool wait_until(pid_t pid, double until, int *status)
{
	sigset_t set;
	pid_t got;
	int each, sig;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	for (;;) {
		double left = until - now();
		struct timespec t = {.tv_sec = left > 0 ? (time_t)left : 0,
			.tv_nsec = left > 0 ? (long)((left - (double)(time_t)left) * 1e9) : 0};

		while ((got = waitpid(-1, &each, WNOHANG)) > 0) {
			if (got != pid)
				continue;
			*status = each;
			return true;
		}
		if (got < 0 && errno == ECHILD && pid == 0)
			return true;
		if (left <= 0)
			return false;
		sig = sigtimedwait(&set, NULL, &t);
		if (sig > 0 && sig != SIGCHLD && pid > 0)
			kill(pid, sig);
	}
}

/* The share of the processors that one busy process has, from the load of the last minute: 1 on an idle machine. */
static double share_of_machine(void)
{
	double load, cores = (double)sysconf(_SC_NPROCESSORS_ONLN);

	return getloadavg(&load, 1) == 1 && load > cores ? cores / load : 1;
}

/* wait_until() for as long as `seconds` are on an idle machine. */
static bool wait_idle_seconds(pid_t pid, double seconds, int *status)
{
	for (double left = seconds; left > 0.001;) {
		double step = left < 5 ? left : 5, share = share_of_machine();

		if (wait_until(pid, now() + step / share, status))
			return true;
		left -= step;
	}
	return false;
}

static void end_all(double grace)
{
	static struct process left[MOST_PROCESSES];
	unsigned n;
	int status;

	if (wait_until(0, now() + grace, &status))
		return;
	n = descendants(left);
	fprintf(stderr, "bounded: the test has ended, these have not:\n");
	show(left, n);
	/* Twice: one may have been forked meanwhile. */
	for (unsigned round = 0; round < 2; round++) {
		n = descendants(left);
		for (unsigned i = 0; i < n; i++)
			kill(left[i].pid, SIGKILL);
		wait_until(0, now() + 2, &status);
	}
}

static void out_of_time(pid_t pid, const char *seconds, double grace, int *status)
{
	static struct process left[MOST_PROCESSES];

	fprintf(stderr, "bounded: not over after %s s, counted as on an idle machine; what runs:\n", seconds);
	show(left, descendants(left));
	kill(pid, SIGTERM);
	if (!wait_until(pid, now() + grace, status)) {
		kill(pid, SIGKILL);
		wait_until(pid, now() + grace, status);
	}
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* ---- tests that measure times ----------------------------------------------------------- */

/* Milliseconds for a fixed amount of work: programs that are started one after the other, and a loop. */
static double work_ms(void)
{
	double begin = now();
	volatile unsigned sum = 0;
	int status;

	for (unsigned i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			execlp("true", "true", (char *)NULL);
			_exit(127);
		}
		if (pid > 0)
			waitpid(pid, &status, 0);
	}
	for (unsigned i = 0; i < 100000000; i++)
		sum = sum * 31 + i;
	return (now() - begin) * 1000;
}

#define IDLE_MS 200 /* the work on an idle machine with processors of 2020 */

static unsigned factor_measure(int fd)
{
	double percent = work_ms() * 100 / IDLE_MS;
	unsigned factor = percent < 100 ? 100 : percent > 400 ? 400 : (unsigned)percent;

	if (ftruncate(fd, 0) == 0)
		dprintf(fd, "FACTOR %u\n", factor);
	return factor;
}

/* Takes the lock of this test. The lock ends with this process: the command does not inherit it. */
static void take_turn(const char *path, bool alone)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	char text[32] = "";
	unsigned factor;

	if (fd < 0 || flock(fd, alone ? LOCK_EX : LOCK_SH) < 0) {
		fprintf(stderr, "bounded: %s: %s\n", path, strerror(errno));
		exit(125);
	}
	if (!alone)
		return;
	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 || sscanf(text, "FACTOR %u", &factor) != 1)
		factor = factor_measure(fd);
	snprintf(text, sizeof(text), "%u", factor);
	setenv("SYMFS_TEST_FACTOR", text, 1);
}

/* ---- main ------------------------------------------------------------------------------- */

static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* One write() to a file opened for appending: tests that end at the same time do not mix their lines. */
static void times_append(const char *path, double wall, const char *name)
{
	struct rusage used;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0)
		return;
	getrusage(RUSAGE_CHILDREN, &used);
	dprintf(fd, "%.1f %.1f %.1f %s\n", wall, seconds_of(used.ru_utime), seconds_of(used.ru_stime), name);
	close(fd);
}

static int left_out(const char *test)
{
	static const char why[] = "left out, because the time of this run is over";
	size_t n = strlen(test);
	bool script = n > 3 && strcmp(test + n - 3, ".sh") == 0;

	printf("%s%s\n", script ? "SKIP: " : "1..0 # SKIP ", why);
	return script ? 77 : 0;
}

int main(int argc, char **argv)
{
	const char *times = getenv("BOUNDED_TIMES"), *lock = getenv("BOUNDED_LOCK"), *until = getenv("BOUNDED_UNTIL");
	char *rest = NULL;
	double seconds = argc > 2 ? strtod(argv[1], &rest) : 0;
	double grace = rest && *rest == ',' ? strtod(rest + 1, NULL) : 20;
	bool late = false;
	sigset_t set, old;
	int status = 0;
	double begin;
	pid_t pid;

	if (seconds <= 0) {
		fprintf(stderr, "usage: bounded SECONDS[,GRACE] COMMAND...\n");
		return 125;
	}
	if (until && time(NULL) >= strtoll(until, NULL, 10))
		return left_out(argv[argc - 1]);
	reset_signals();
	if (lock)
		take_turn(lock, strstr(argv[argc - 1], "tests/timed/") != NULL);
	begin = now();
	/* A process that loses its parent becomes a child of this one. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		unsetenv("BOUNDED_TIMES");
		unsetenv("BOUNDED_LOCK");
		unsetenv("BOUNDED_UNTIL");
		execvp(argv[2], argv + 2);
		fprintf(stderr, "bounded: %s: %s\n", argv[2], strerror(errno));
		_exit(125);
	}
	if (pid < 0) {
		perror("bounded: fork");
		return 125;
	}
	if (!wait_idle_seconds(pid, seconds, &status)) {
		late = true;
		out_of_time(pid, argv[1], grace, &status);
	}
	end_all(grace);
	if (times)
		times_append(times, now() - begin, argv[argc - 1]);
	if (late)
		return 124;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
