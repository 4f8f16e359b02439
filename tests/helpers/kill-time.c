/* Measures how long a process that waits in stat(2) or open(2) lives after a signal.
 *
 *	kill-time [-a MS] MOUNT COUNT OP SIGNAL[,SIGNAL...] PATH
 *
 * COUNT processes of one group do OP (stat, open) on PATH. When all of them wait in the mount, as
 * MOUNT/.symfs/stats and the kernel report, each signal is sent to the group (COUNT 1: to the
 * process). The second signal is sent when the daemon has noticed the first. Prints the
 * milliseconds from the last signal to the end of the last process, however long that takes.
 *
 * With -a, if a process still waits MS milliseconds after the last signal, prints "survived", kills the
 * process, and exits with 1. That is for signals which do not end the wait. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define PROCESSES_MOST 64
#define HANGS_MS 300000 /* no machine is that slow */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Between two looks at a condition. */
static void pause_briefly(void)
{
	poll(NULL, 0, 2);
}

static long stat_value(const char *mount, const char *name)
{
	char path[4200], line[200];
	size_t n = strlen(name);
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/.symfs/stats", mount);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, n) == 0 && line[n] == ' ')
			value = strtol(line + n, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

/* In a system call's wait, not running: S or D. */
static bool waits(pid_t pid)
{
	char path[64], line[512] = "";
	const char *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	state = strrchr(line, ')');
	return state && (state[2] == 'S' || state[2] == 'D');
}

static void caught(int number)
{
}

/* Catches signals, as a debugger does: only a caught signal interrupts a system call. Signals that the
 * starter of the tests ignores (nohup, a shell's &) also end this process. */
static void catch_signals(void)
{
	static const int numbers[] = {SIGWINCH, SIGCHLD, SIGALRM};
	static const int ending[] = {SIGINT, SIGHUP, SIGQUIT, SIGTERM};
	struct sigaction act = {.sa_handler = caught, .sa_flags = SA_RESTART};

	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		signal(ending[i], SIG_DFL);

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &act, NULL);
}

static void child(const char *op, const char *path, pid_t group)
{
	struct stat st;

	catch_signals();
	setpgid(0, group);
	if (strcmp(op, "stat") == 0)
		_exit(stat(path, &st) == 0 ? 0 : 1);
	_exit(open(path, O_RDONLY | O_CLOEXEC) >= 0 ? 0 : 1);
}

static bool all_wait(const pid_t *pids, int n, const char *mount)
{
	for (int i = 0; i < n; i++)
		if (!waits(pids[i]))
			return false;
	return stat_value(mount, "fs_waiting") >= 1;
}

static int signal_number(const char *word)
{
	static const struct {
		const char *word;
		int number;
	} rows[] = {{"INT", SIGINT}, {"KILL", SIGKILL}, {"TERM", SIGTERM}, {"HUP", SIGHUP}, {"QUIT", SIGQUIT},
		{"WINCH", SIGWINCH}, {"CHLD", SIGCHLD}, {"ALRM", SIGALRM}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].word, word) == 0)
			return rows[i].number;
	return 0;
}

static bool all_gone(pid_t *pids, int n)
{
	bool gone = true;

	for (int i = 0; i < n; i++) {
		if (pids[i] > 0 && waitpid(pids[i], NULL, WNOHANG) == pids[i])
			pids[i] = 0;
		gone &= pids[i] == 0;
	}
	return gone;
}

/* Sends the words' signals; when the last one went. */
static int64_t send_signals(char *words, pid_t to, const char *mount)
{
	long before = stat_value(mount, "fs_interrupted");
	int64_t sent = 0;
	char *save = NULL;

	for (char *word = strtok_r(words, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		/* Only a request that the daemon has seen interrupted proves anything about the next signal. The
		 * kernel interrupts a request once. */
		while (sent && stat_value(mount, "fs_interrupted") == before && now_ms() - sent < HANGS_MS)
			pause_briefly();
		sent = now_ms();
		kill(to, signal_number(word));
	}
	return sent;
}

int main(int argc, char **argv)
{
	pid_t pids[PROCESSES_MOST] = {0};
	bool absence = argc == 8 && strcmp(argv[1], "-a") == 0;
	char **args = argv + (absence ? 3 : 1);
	int64_t most = absence ? strtol(argv[2], NULL, 10) : HANGS_MS;
	int n = argc - (int)(args - argv) == 5 ? (int)strtol(args[1], NULL, 10) : 0;
	int64_t began = now_ms(), sent;

	if (n < 1 || n > PROCESSES_MOST) {
		fprintf(stderr, "usage: kill-time [-a MS] MOUNT COUNT OP SIGNALS PATH\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			child(args[2], args[4], pids[0]);
		setpgid(pids[i], pids[0]);
	}
	while (!all_wait(pids, n, args[0]) && now_ms() - began < HANGS_MS)
		pause_briefly();
	sent = send_signals(args[3], n == 1 ? pids[0] : -pids[0], args[0]);
	while (!all_gone(pids, n) && now_ms() - sent < most)
		pause_briefly();
	if (all_gone(pids, n)) {
		printf("%d\n", (int)(now_ms() - sent));
		return 0;
	}
	printf("survived\n");
	kill(-pids[0], SIGKILL);
	while (!all_gone(pids, n))
		pause_briefly();
	return 1;
}
