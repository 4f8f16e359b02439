/* Reads from mounts that may never answer, in child processes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/ask.h"
#include "base/clock.h"
#include "base/process.h"
#include "base/util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define GRACE_MS 100 /* time for a killed child to end */
#define REAP_MS 2
#define STOP_MS 100u /* between two questions whether to stop */

/* Closes the child's other descriptors: the child can outlive the command, and must not keep its output open. */
static void leave_descriptors(int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (keep > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned)keep - 1, 0);
	close_range((unsigned)keep + 1, ~0u, 0);
}

int ask_start(struct ask *a, void (*write_answer)(void *ctx, int to), void *ctx)
{
	int ends[2];

	a->over = true;
	a->child = a->from = -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	a->child = process_fork();
	if (a->child == 0) {
		leave_descriptors(ends[1]);
		write_answer(ctx, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	if (a->child < 0) {
		close(ends[0]);
		return -errno;
	}
	a->from = ends[0];
	a->over = false;
	return 0;
}

static void take_some(struct ask *a)
{
	char chunk[4096];
	ssize_t n = read(a->from, chunk, sizeof(chunk));

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0 || buf_add(&a->text, chunk, (size_t)n) < 0)
		a->over = true;
}

/* Kills the child and waits for its end, because its open files keep the mount busy. A child that waits for a
 * request which a stopped daemon has read does not die before the daemon continues. */
static void end(struct ask *a, uint64_t until)
{
	if (a->child <= 0)
		return;
	close(a->from);
	kill(a->child, SIGKILL);
	while (waitpid(a->child, NULL, WNOHANG) == 0 && clock_ms() < until)
		poll(NULL, 0, REAP_MS);
	a->child = a->from = -1;
}

static unsigned list_open(struct ask *list, unsigned n, struct pollfd *p)
{
	unsigned open = 0;

	for (unsigned i = 0; i < n; i++) {
		p[i] = (struct pollfd){.fd = list[i].over ? -1 : list[i].from, .events = POLLIN};
		open += !list[i].over;
	}
	return open;
}

void ask_wait(struct ask *list, unsigned n, uint64_t until)
{
	ask_wait_unless(list, n, until, NULL);
}

void ask_wait_unless(struct ask *list, unsigned n, uint64_t until, bool (*stop)(void))
{
	_cleanup_free_ struct pollfd *p = calloc(n ? n : 1, sizeof(*p));

	while (p && list_open(list, n, p)) {
		uint64_t now = clock_ms(), left = now < until ? until - now : 0;

		if (!left || (stop && stop()))
			break;
		if (poll(p, n, (int)(stop ? MIN(left, STOP_MS) : left)) < 0 && errno != EINTR)
			break;
		for (unsigned i = 0; i < n; i++)
			if (p[i].fd >= 0 && p[i].revents)
				take_some(&list[i]);
	}
	until = MAX(until, clock_ms() + GRACE_MS);
	for (unsigned i = 0; i < n; i++)
		end(&list[i], until);
}
