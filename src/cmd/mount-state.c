/* Reads the .symfs files of mounts, whose daemons can be stopped or hung. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/mount-state.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mounts.h"
#include "base/util.h"
#include "cmd/ask.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_MS 2000
#define TEXT_MOST (4u << 20) /* bytes of one file */

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

/* Runs in the child. Writes the file, and a NUL after a complete file. */
static void child_write_file(void *path, int to)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && pass_on(fd, to) && write(to, "", 1) != 1)
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
		ask_wait(&a, 1, clock_ms() + ANSWER_MS);
		if (a.text.n == 0 || a.text.p[a.text.n - 1] != '\0')
			r = a.over ? -EIO : -ETIMEDOUT;
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
