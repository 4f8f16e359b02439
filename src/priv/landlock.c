/* Landlock, by its system calls: the C library has no functions for them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "priv/landlock.h"
#include "base/util.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13) /* version 2 */
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* version 3 */
#endif

#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_RIGHTS                                                                               \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                           \
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                    \
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                        \
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                      \
		LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |                      \
		LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE)
#define FILE_RIGHTS                                                                                \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)

int landlock_new(struct landlock *out)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = READ_RIGHTS | WRITE_RIGHTS};
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	out->fd = -1;
	if (version < 2)
		return -ENOTSUP;
	if (version < 3)
		attr.handled_access_fs &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
	out->handled = attr.handled_access_fs;
	out->fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	return out->fd < 0 ? -errno : 0;
}

void landlock_release(struct landlock *l)
{
	if (l->fd >= 0)
		close(take_fd(&l->fd));
}

int landlock_allow(struct landlock *l, const char *path, enum landlock_right right)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {.parent_fd = fd,
		.allowed_access = READ_RIGHTS | (right == LANDLOCK_WRITE ? WRITE_RIGHTS : 0)};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= FILE_RIGHTS;
	rule.allowed_access &= l->handled;
	return syscall(SYS_landlock_add_rule, l->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
		? -errno : 0;
}

int landlock_apply(const struct landlock *l)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_landlock_restrict_self, l->fd, 0) < 0 ? -errno : 0;
}
