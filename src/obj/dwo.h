/* By what the programs that were split into it ask for a file of split debug information. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/view.h"

#include <stdbool.h>

struct dwo_range {
	uint64_t off, size;
};

/* Sections, none of them compressed; of size 0: the file does not have it. */
struct dwo_sections {
	struct dwo_range info, abbrev, index; /* .debug_info.dwo, .debug_abbrev.dwo, .debug_cu_index */
	bool big;
};

/* The id of the first unit of a .dwo file; of a package (.dwp) the lowest of all of its units, 0 not
 * among them. 0: it has none that can be read. -EAGAIN: the view lacks bytes; -EIO and others. */
int dwo_id_of(struct view *v, const struct dwo_sections *s, uint64_t *out);
