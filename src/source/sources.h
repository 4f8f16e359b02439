/* The set of sources, in the order in which they are asked. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

struct sources {
	unsigned refs; /* atomic */
	unsigned n;
	struct source *list[];
};

/* Lets sections inherit from later sections of the same name. A section always inherits from a preset. It
 * inherits from other sections only if it does not name the place of its source. Call it once, before
 * sources_new(). 0, -ENOMEM. */
int sources_inherit(struct conf *c);

/* Makes the set from the enabled [source …] sections, sorted by tier, then by their order. Of two sections
 * with one name, the first counts. `defaults` as for source_new(). 0, -ENOMEM; -EINVAL: `e` names file and
 * line. */
int sources_new(struct sources **out, const struct conf *c, const struct source_opts *defaults,
	struct err *e);
void sources_keep_local(struct sources *s); /* drops the sources that need the network; call it before the
					       set is shared */
struct sources *sources_ref(struct sources *s);
void sources_unref(struct sources *s); /* NULL is fine */

static inline void cleanup_sources(struct sources **s)
{
	sources_unref(*s);
}
#define _cleanup_sources_ __attribute__((cleanup(cleanup_sources)))
