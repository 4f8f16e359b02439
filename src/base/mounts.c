/* Reads the mount table of the process. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mounts.h"
#include "base/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The kernel writes blanks and backslashes as \ooo. */
static void unescape_octal(const char *from, char *to, size_t room)
{
	size_t n = 0;

	while (*from && n + 1 < room) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
			to[n++] = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
					 (from[3] - '0'));
			from += 4;
		} else {
			to[n++] = *from++;
		}
	}
	to[n] = '\0';
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static bool row_parse(char *line, struct mount_row *m)
{
	char *save = NULL, *words[5], *dash, *type, *source, *options;

	dash = strstr(line, " - ");
	if (!dash)
		return false;
	*dash = '\0';
	words[0] = strtok_r(line, " ", &save);
	for (unsigned i = 1; i < ARRAY_SIZE(words); i++)
		words[i] = words[i - 1] ? strtok_r(NULL, " ", &save) : NULL;
	type = strtok_r(dash + 3, " ", &save);
	source = type ? strtok_r(NULL, " ", &save) : NULL;
	options = source ? strtok_r(NULL, " \n", &save) : NULL;
	if (!words[4] || !source)
		return false;
	m->id = (int)strtol(words[0], NULL, 10);
	unescape_octal(words[4], m->point, sizeof(m->point));
	unescape_octal(type, m->type, sizeof(m->type));
	unescape_octal(source, m->source, sizeof(m->source));
	unescape_octal(options ? options : "", m->options, sizeof(m->options));
	return true;
}

int mounts_each(int (*each)(void *ctx, const struct mount_row *m), void *ctx)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ struct mount_row *m = malloc(sizeof(*m));
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	int r = 0;

	if (!f)
		return -errno;
	while (m && r == 0 && getline(&line, &room, f) >= 0)
		if (row_parse(line, m))
			r = each(ctx, m);
	fclose(f);
	return m ? r : -ENOMEM;
}

struct want {
	int id;
	char *type;
};

static int same_id(void *ctx, const struct mount_row *m)
{
	struct want *w = ctx;

	if (m->id != w->id)
		return 0;
	snprintf(w->type, 64, "%s", m->type);
	return 1;
}

int mounts_id_of(int fd)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &sx) < 0)
		return -errno;
	return sx.stx_mask & STATX_MNT_ID ? (int)sx.stx_mnt_id : -ENOENT;
}

/* The type of the file system that holds the open file (O_PATH will do): "ext4", "fuse.symfs". 0, -ENOENT. Asks the
 * kernel for the mount's id only, never the file system itself. */
static int mounts_type_of(int fd, char type[static 64])
{
	struct want w = {.id = mounts_id_of(fd), .type = type};

	if (w.id < 0)
		return w.id;
	return mounts_each(same_id, &w) == 1 ? 0 : -ENOENT;
}

int mounts_refuse_symfs(int fd)
{
	char type[64];

	return mounts_type_of(fd, type) == 0 && strcmp(type, "fuse.symfs") == 0 ? -ELOOP : 0;
}

int mounts_open_sub(int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statx here, there;

	if (fd < 0 || statx(dir, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &here) < 0 ||
		statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &there) < 0)
		return -1;
	if (here.stx_mnt_id != there.stx_mnt_id && mounts_refuse_symfs(fd) < 0)
		return -1;
	return openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
