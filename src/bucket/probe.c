/* Finds out whether a store honours conditions, by writing one object twice. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "bucket/pages.h"
#include "bucket/private.h"

#include <stdio.h>
#include <string.h>

int probe_conditions(struct caller *c, struct err *e)
{
	char name[64] = PROBES;
	int r, again;

	if (hex_random(PROBE_DIGITS / 2, name + strlen(PROBES)) < 0)
		return err_set(e, -EIO, "no random numbers");
	r = call_put_text(c, name, NULL, ONCE);
	if (r < 0)
		return err_set(e, r, "cannot be written: %s", call_text(r));
	again = call_put_text(c, name, NULL, ONCE);
	call_delete(c, name);
	if (again < 0 && again != -EEXIST && again != -EAGAIN)
		return err_set(e, again, "cannot be written: %s", call_text(again));
	return again < 0;
}
