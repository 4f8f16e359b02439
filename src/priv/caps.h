/* Changes the user and drops the capabilities of a process. Only this module uses libcap-ng. Call these
 * functions before the process starts threads: they change only the calling thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/types.h>

/* Whether the process has a capability: CAP_SYS_ADMIN is the right to mount, CAP_DAC_READ_SEARCH to read every
 * file. */
bool caps_have(unsigned cap);

/* The user and the capabilities that a process keeps. */
struct caps_keep {
	const char *user; /* the process takes the ids and groups of this user; NULL: it keeps its own ids */
	uid_t uid;
	gid_t gid;
	bool admin;	  /* CAP_SYS_ADMIN */
	bool read_all;	  /* CAP_DAC_READ_SEARCH */
};

/* Gives up all other rights for good: no program that the process starts gains rights (no_new_privs).
 * Empties the bounding set if the process may change it (CAP_SETPCAP); kept capabilities need not be in
 * it. 0; -errno, and `e` has the reason. */
int caps_give_up(const struct caps_keep *keep, struct err *e);
