/* Reads the .symfs files of mounts, whose daemons may be stopped or hung. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

/* Reads MOUNT/.symfs/NAME in a child process, because a read from a daemon that does not answer can only
 * be killed. 0: free() *text. -ETIMEDOUT: no answer in time; -EIO: no such file, or not all of it; -ENOMEM. */
int mount_state(const char *mount, const char *name, char **text);

/* Calls `each` for every symfs mount, of the caller or of root, that keeps its files in the store `dir`, as
 * its .symfs/config says. A mount that does not answer is skipped. */
void mounts_of_store(const char *dir, void (*each)(void *ctx, const char *mount), void *ctx);
