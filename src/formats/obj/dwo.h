/* Reads the id by which programs refer to a file of split debug information (.dwo, .dwp). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/view.h"

#include <stdbool.h>

struct dwo_range {
	uint64_t off, size;
};

/* Uncompressed sections; size 0: the file does not have the section. */
struct dwo_sections {
	struct dwo_range info, abbrev, index; /* .debug_info.dwo, .debug_abbrev.dwo, .debug_cu_index */
	bool big;
};

/* Reads the id of the first unit of a .dwo file; of a package (.dwp), the lowest id of all units except 0.
 * `*out` is 0 if no id can be read. Returns 0; -EAGAIN: the view lacks bytes; -EIO or another error of the
 * disk. */
int dwo_id_of(struct view *v, const struct dwo_sections *s, uint64_t *out);
