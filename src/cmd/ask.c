/* Reads from mounts that may never answer, in child processes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/ask.h"
#include "base/clock.h"
#include "base/mounts.h"
#include "base/process.h"
#include "base/util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ANSWER_MS 2000
#define TEXT_MOST (4u << 20) /* bytes of one file of a mount */
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

void ask_wait_unless(struct ask *list, unsigned n, unsigned ms, bool (*stop)(void *ctx), void *ctx)
{
	uint64_t until = clock_ms() + (uint64_t)clock_limit("SYMFS_TEST_ASK_MS", ms);
	_cleanup_free_ struct pollfd *p = calloc(n ? n : 1, sizeof(*p));

	while (p && list_open(list, n, p)) {
		uint64_t now = clock_ms(), left = now < until ? until - now : 0;

		if (!left || (stop && stop(ctx)))
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

/* ---- one file ------------------------------------------------------------------------- */

static bool pass_on(int from, int to)
{
	char chunk[4096];
	ssize_t n;

	while ((n = read(from, chunk, sizeof(chunk))) > 0)
		if (write(to, chunk, (size_t)n) != n)
			return false;
	return n == 0;
}

/* Runs in the child. Writes the file, and a NUL after a complete file; or a NUL and errno if it cannot be opened. */
static void child_write_file(void *path, int to)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		dprintf(to, "%c%d", '\0', errno);
	else if (pass_on(fd, to) && write(to, "", 1) != 1)
		return;
}

int mount_state(const char *mount, const char *name, char **text)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(3 * 4096);
	struct ask a = {.text = BUF_UP_TO(TEXT_MOST)};
	int r = buf_addf(&path, "%s/.symfs/%s", mount, name);

	if (r == 0)
		r = ask_start(&a, child_write_file, path.p);
	if (r == 0) {
		ask_wait(&a, 1, ANSWER_MS);
		if (a.text.n == 0 || a.text.p[a.text.n - 1] != '\0')
			r = !a.over ? -ETIMEDOUT
				: a.text.n > 1 && !a.text.p[0] ? -(int)strtol(a.text.p + 1, NULL, 10) : -EIO;
	}
	if (r == 0 && !(*text = strdup(buf_text(&a.text))))
		r = -ENOMEM;
	buf_release(&a.text);
	return r;
}

/* ---- the mounts of a store ------------------------------------------------------------------ */

struct users {
	struct stat store;
	void (*each)(void *ctx, const char *mount);
	void *ctx;
};

/* The value of the line "cache-dir = DIR" in a configuration; "": there is no such line. */
static void cache_dir_of(const char *config, char out[static 4096])
{
	static const char key[] = "\ncache-dir = ";
	const char *at = strstr(config, key);

	at = at ? at + sizeof(key) - 1 : "";
	snprintf(out, 4096, "%.*s", (int)MIN(strcspn(at, "\n"), 4095u), at);
}

bool mount_is_trusted(const struct mount_row *m)
{
	const char *id = strstr(m->options, "user_id=");
	unsigned long uid = id ? strtoul(id + strlen("user_id="), NULL, 10) : 0;

	return id && (uid == 0 || uid == geteuid());
}

static int look_at_mount(void *ctx, const struct mount_row *m)
{
	struct users *u = ctx;
	_cleanup_free_ char *config = NULL;
	char dir[4096];
	struct stat st;

	if (strncmp(m->type, "fuse.symfs", 10) != 0 || !mount_is_trusted(m) ||
		mount_state(m->point, "config", &config) < 0)
		return 0;
	cache_dir_of(config, dir);
	if (stat(dir, &st) == 0 && st.st_dev == u->store.st_dev && st.st_ino == u->store.st_ino)
		u->each(u->ctx, m->point);
	return 0;
}

void mounts_of_store(const char *dir, void (*each)(void *ctx, const char *mount), void *ctx)
{
	struct users u = {.each = each, .ctx = ctx};

	if (stat(dir, &u.store) == 0)
		mounts_each(look_at_mount, &u);
}
