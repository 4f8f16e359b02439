/* Keeps credentials from other users: in files, and in the process list. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "conf/conf.h"

/* Checks the permissions of files with secrets. 0; -EINVAL: other users can read a source's configuration, key or
 * netrc, and `e` names the command that corrects the permissions. */
int secrets_check(const struct conf *c, struct err *e);

/* Removes user names and passwords from the URLs of the command line, which other users see in the process
 * list. Each changed word is first copied, and argv then points to the copy. The caller frees `room`, which
 * holds the copies. 0, -ENOMEM. */
int secrets_cover(int argc, char **argv, char **room);
