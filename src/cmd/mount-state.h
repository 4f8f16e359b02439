/* Reads the .symfs files of mounts, whose daemons can be stopped or hung. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

struct mount_row;

/* Whether the mount belongs to the caller or to root. The daemon of another user can send wrong answers, or
 * none. */
bool mount_is_trusted(const struct mount_row *m);

/* Reads MOUNT/.symfs/NAME in a child process, because a process that waits for a hung daemon can only be killed.
 * 0: the caller frees *text; -ETIMEDOUT: no answer in time; -EIO: the file does not exist, or only a part of it
 * was read; -ENOMEM. */
int mount_state(const char *mount, const char *name, char **text);

/* Calls `each` for every symfs mount of the caller or of root whose .symfs/config names the store `dir`. Skips
 * a mount that does not answer. */
void mounts_of_store(const char *dir, void (*each)(void *ctx, const char *mount), void *ctx);
