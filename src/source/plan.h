/* Plans the paths that a source is asked for. Used by the kinds of sources only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

/* Writes the nth path (0 first), relative to the source's base, into `out`, which is cleared first. Sets in
 * `ask` the spelling of the path, and whether the path is a file.ptr. 0; -ENOENT past the last; -ENOMEM. */
int plan_path(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct buf *out, struct source_ask *ask);
