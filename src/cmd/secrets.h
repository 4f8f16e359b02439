/* Keeps credentials from other users: in files, and in the process list. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "conf/conf.h"

/* 0; -EINVAL: a source's configuration, its key or its netrc can be read by others; `e` says which
 * command mends that. */
int secrets_check(const struct conf *c, struct err *e);

/* Copies each word of the command line that holds a URL with a user or a password, and overwrites these
 * in the original, which other users read in the process list. argv then leads to the copies, which are in
 * `room`, to be freed. 0, -ENOMEM. */
int secrets_cover(int argc, char **argv, char **room);
