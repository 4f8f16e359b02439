/* How much a command costs: peak time COMMAND... prints elapsed and processor time in milliseconds; peak memory
 * COMMAND... prints the peak of its own memory in kB, of the command and of all that it starts: RssAnon and
 * RssShmem, so pages of files do not count. The numbers go to the file descriptor 3. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_NS 300000

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static unsigned long memory_of(long pid)
{
	char path[64], line[256];
	unsigned long all = 0, kb;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %lu", &kb) == 1 || sscanf(line, "RssShmem: %lu", &kb) == 1)
			all += kb;
	if (f)
		fclose(f);
	return all;
}

static unsigned long memory_below(long pid);

/* The processes that one thread started. */
static unsigned long memory_started(long pid, const char *thread)
{
	unsigned long all = 0;
	char path[128];
	long child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/task/%.20s/children", pid, thread);
	f = fopen(path, "r");
	while (f && fscanf(f, "%ld", &child) == 1)
		all += memory_below(child);
	if (f)
		fclose(f);
	return all;
}

/* The process and those below it: any thread can have started them. */
static unsigned long memory_below(long pid)
{
	unsigned long all = memory_of(pid);
	struct dirent *thread;
	char path[64];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%ld/task", pid);
	threads = opendir(path);
	while (threads && (thread = readdir(threads)))
		if (thread->d_name[0] != '.')
			all += memory_started(pid, thread->d_name);
	if (threads)
		closedir(threads);
	return all;
}

/* Looks at the memory of the command until it ends; returns the peak. */
static unsigned long watch(pid_t pid, int *status)
{
	unsigned long most = 0;

	while (waitpid(pid, status, WNOHANG) == 0) {
		unsigned long kb = memory_below(pid);

		most = kb > most ? kb : most;
		nanosleep(&(struct timespec){0, STEP_NS}, NULL);
	}
	return most;
}

int main(int argc, char **argv)
{
	bool memory = argc > 2 && strcmp(argv[1], "memory") == 0;
	unsigned long most = 0;
	struct rusage use;
	int status = 1;
	double began;
	pid_t pid;

	if (argc < 3 || (!memory && strcmp(argv[1], "time") != 0))
		return 2;
	began = now_ms();
	pid = fork();
	if (pid == 0) {
		close(3);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0)
		return 1;
	if (memory)
		most = watch(pid, &status);
	else
		waitpid(pid, &status, 0);
	began = now_ms() - began;
	getrusage(RUSAGE_CHILDREN, &use);
	if (memory)
		dprintf(3, "%lu\n", most);
	else
		dprintf(3, "%.1f %.1f\n", began,
			(double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
				(double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
