/* Users and capabilities of a process. The only user of libcap-ng. Call these before there are
 * threads: they change the calling thread alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

bool caps_have_admin(void);    /* CAP_SYS_ADMIN, which may mount */
bool caps_have_read_all(void); /* CAP_DAC_READ_SEARCH, which may read every file */

/* What a process keeps. */
struct caps_keep {
	const char *user; /* its ids and groups become those of the process; NULL: no change */
	uid_t uid;
	gid_t gid;
	bool admin;	  /* CAP_SYS_ADMIN */
	bool read_all;	  /* CAP_DAC_READ_SEARCH */
};

/* Gives up all the rest, for good: no program that it starts gets more (no_new_privs). The bounding
 * set becomes empty where the process may change it (CAP_SETPCAP); a capability that is kept need
 * not be in it. -errno, and `e`. */
int caps_give_up(const struct caps_keep *keep, struct err *e);
