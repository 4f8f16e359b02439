/* The kind "dir": directories of this machine, in any layout. Their files are served in place. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/plan.h"
#include "source/kinds.h"

#include <errno.h>

static int dir_plan(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct source_ask *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	int r = plan_path(s, facts, a, nth, &path, out);

	if (r < 0)
		return r;
	out->where = buf_take(&path, NULL);
	return out->where ? 0 : -ENOMEM;
}

const struct source_kind source_dir = {
	.name = "dir", .layout = "gdb", .local = true, .plan = dir_plan};
