/* The paths that a source is asked for. Known to the kinds of sources. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

/* The nth path (0 first), relative to the source's base, with its spelling and whether it is a
 * pointer in `ask`; `out` is cleared first. -ENOENT past the last. */
int plan_path(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct buf *out, struct source_ask *ask);
