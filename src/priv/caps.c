/* Changes the user and drops the capabilities of a process with libcap-ng. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "priv/caps.h"
#include "base/util.h"

#include <cap-ng.h>
#include <grp.h>
#include <sys/prctl.h>

bool caps_have(unsigned cap)
{
	capng_setpid(getpid()); /* without this call, libcap-ng reads the parent's capabilities after a fork */
	return capng_get_caps_process() == 0 && capng_have_capability(CAPNG_EFFECTIVE, cap);
}

static void choose(const struct caps_keep *keep)
{
	capng_clear(CAPNG_SELECT_ALL);
	if (keep->admin)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SYS_ADMIN);
	if (keep->read_all)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_DAC_READ_SEARCH);
}

/* Changes to the ids of the user. libcap-ng also empties the bounding set, before the process loses the
 * capability to do so. */
static int change_user(const struct caps_keep *keep, struct err *e)
{
	int r;

	if (initgroups(keep->user, keep->gid) < 0)
		return err_set(e, -errno, "cannot take the groups of user %s: %s", keep->user,
			err_text(errno));
	choose(keep);
	r = capng_change_id((int)keep->uid, (int)keep->gid, CAPNG_CLEAR_BOUNDING);
	return r < 0 ? err_set(e, -EPERM, "cannot become user %s: %s", keep->user, err_text(errno)) : 0;
}

static int stay_user(const struct caps_keep *keep, struct err *e)
{
	if (caps_have(CAP_SETPCAP)) {
		choose(keep);
		if (capng_apply(CAPNG_SELECT_BOUNDS) < 0)
			return err_set(e, -EPERM, "cannot give up the bounding set: %s", err_text(errno));
	}
	choose(keep);
	return capng_apply(CAPNG_SELECT_CAPS) < 0
		? err_set(e, -EPERM, "cannot give up capabilities: %s", err_text(errno)) : 0;
}

int caps_give_up(const struct caps_keep *keep, struct err *e)
{
	int r;

	caps_have(CAP_SETPCAP); /* libcap-ng changes only what it has read */
	r = keep->user ? change_user(keep, e) : stay_user(keep, e);
	if (r == 0)
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = err_set(e, -errno, "no_new_privs: %s", err_text(errno));
	return r;
}
