/* Landlock, by its system calls: the C library has no functions for them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "priv/landlock.h"
#include "base/util.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13) /* version 2 */
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* version 3 */
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15) /* version 5 */
#endif
#define SCOPES 3ULL /* version 6: abstract Unix sockets and signals of other processes */

/* The kernel's struct landlock_ruleset_attr; older kernels take the beginning of it. */
struct ruleset {
	uint64_t fs, net, scoped;
};

#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_RIGHTS                                                                               \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                           \
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                    \
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                        \
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                      \
		LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |                      \
		LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE)
#define LOG_RIGHTS (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG)
#define FILE_RIGHTS                                                                                \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)

int landlock_new(struct landlock *out)
{
	struct ruleset set = {.fs = READ_RIGHTS | WRITE_RIGHTS};
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	size_t n = version >= 6 ? sizeof(set) : sizeof(set.fs);

	out->fd = -1;
	if (version < 2)
		return -ENOTSUP;
	if (version < 3)
		set.fs &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
	if (version >= 5)
		set.fs |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	if (version >= 6)
		set.scoped = SCOPES;
	out->handled = set.fs;
	out->fd = (int)syscall(SYS_landlock_create_ruleset, &set, n, 0);
	return out->fd < 0 ? -errno : 0;
}

void landlock_release(struct landlock *l)
{
	if (l->fd >= 0)
		close(take_fd(&l->fd));
}

static const uint64_t rights_of[] = {
	[LANDLOCK_READ] = READ_RIGHTS,
	[LANDLOCK_WRITE] = READ_RIGHTS | WRITE_RIGHTS,
	[LANDLOCK_LOG] = LOG_RIGHTS,
	[LANDLOCK_REMOVE] = LANDLOCK_ACCESS_FS_REMOVE_FILE,
};

static bool is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* Does not call fstat(), which asks a server or a FUSE daemon that might never answer. */
int landlock_allow_at(struct landlock *l, int dir, const char *path, enum landlock_right right)
{
	_cleanup_close_ int fd = openat(dir, path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {.parent_fd = fd, .allowed_access = rights_of[right] & l->handled};

	if (fd < 0)
		return is_shortage(errno) ? -errno : 0;
	if (syscall(SYS_landlock_add_rule, l->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0)
		return 0;
	rule.allowed_access &= FILE_RIGHTS;
	if (errno != EINVAL || !rule.allowed_access) /* EINVAL: not a directory */
		return -errno;
	return syscall(SYS_landlock_add_rule, l->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int landlock_apply(const struct landlock *l)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_landlock_restrict_self, l->fd, 0) < 0 ? -errno : 0;
}
