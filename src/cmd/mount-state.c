/* Reads the .symfs files of mounts, whose daemons may be stopped or hung. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/mount-state.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mounts.h"
#include "base/util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ANSWER_MS 2000
#define TEXT_MOST (4u << 20) /* of one file */

/* ---- the child: only system calls, since other threads may hold locks -------------------- */

static bool pass_on(int from, int to)
{
	char chunk[4096];
	ssize_t n;

	while ((n = read(from, chunk, sizeof(chunk))) > 0)
		if (write(to, chunk, (size_t)n) != n)
			return false;
	return n == 0;
}

/* Its exit status is the errno; 0: all went into the pipe. */
static void read_in_child(const char *path, int to)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	errno = fd < 0 ? errno : 0;
	_exit(fd >= 0 && pass_on(fd, to) ? 0 : errno ? errno : EIO);
}

/* ---- the parent ----------------------------------------------------------------------------- */

/* Until the other end is closed. */
static int collect(int from, uint64_t until, struct buf *out)
{
	struct pollfd p = {.fd = from, .events = POLLIN};
	char chunk[4096];
	ssize_t n = 1;
	int r = 0;

	while (r == 0 && n > 0) {
		uint64_t now = clock_ms();

		if (now >= until || poll(&p, 1, (int)(until - now)) == 0)
			return -ETIMEDOUT;
		n = read(from, chunk, sizeof(chunk));
		if (n > 0)
			r = buf_add(out, chunk, (size_t)n);
	}
	return r < 0 ? r : n < 0 ? -errno : 0;
}

/* A child that waits for a daemon may not end even when it is killed: nothing waits for it then. */
static int end_child(pid_t child, int r)
{
	int status = 0;

	if (r < 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, WNOHANG);
		return r;
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -EIO;
	return -WEXITSTATUS(status);
}

int mount_state(const char *mount, const char *name, char **text)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(3 * 4096), out = BUF_UP_TO(TEXT_MOST);
	int ends[2], r = buf_addf(&path, "%s/.symfs/%s", mount, name);
	pid_t child;

	if (r < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return r < 0 ? r : -errno;
	child = fork();
	if (child == 0)
		read_in_child(buf_text(&path), ends[1]);
	close(ends[1]);
	r = child < 0 ? -errno : collect(ends[0], clock_ms() + ANSWER_MS, &out);
	close(ends[0]);
	if (child > 0)
		r = end_child(child, r);
	if (r < 0)
		return r;
	*text = strdup(buf_text(&out));
	return *text ? 0 : -ENOMEM;
}

/* ---- the mounts of a store ------------------------------------------------------------------ */

struct users {
	struct stat store;
	void (*each)(void *ctx, const char *mount);
	void *ctx;
};

/* A line "cache-dir = DIR" of a configuration; "" when there is none. */
static void cache_dir_of(const char *config, char out[static 4096])
{
	static const char key[] = "\ncache-dir = ";
	const char *at = strstr(config, key);

	at = at ? at + sizeof(key) - 1 : "";
	snprintf(out, 4096, "%.*s", (int)MIN(strcspn(at, "\n"), 4095u), at);
}

/* Of the caller or of root: what others mounted may hang, or lie. */
static bool is_trusted(const struct mount_row *m)
{
	const char *at = strstr(m->options, "user_id=");
	unsigned long uid = at ? strtoul(at + strlen("user_id="), NULL, 10) : 0;

	return uid == 0 || uid == geteuid();
}

static int look_at_mount(void *ctx, const struct mount_row *m)
{
	struct users *u = ctx;
	_cleanup_free_ char *config = NULL;
	char dir[4096];
	struct stat st;

	if (strncmp(m->type, "fuse.symfs", 10) != 0 || !is_trusted(m) || mount_state(m->point, "config", &config) < 0)
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
