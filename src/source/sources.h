/* The set of sources, in the order of their priority. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

struct sources {
	unsigned refs; /* atomic */
	unsigned n;
	struct source *list[];
};

/* A section that bears the name of a preset, or says nothing of where its source is, changes only
 * what it says: it takes the rest over from the next section of its name. Once, before
 * sources_new(). 0, -ENOMEM. */
int sources_inherit(struct conf *c);

/* From the [source …] sections that are enabled, by tier, and in order; of two with one name the
 * first counts. `defaults` as for source_new(). -EINVAL with file and line. */
int sources_new(struct sources **out, const struct conf *c, const struct source_opts *defaults,
	struct err *e);
void sources_keep_local(struct sources *s); /* drops what would be asked over the net; before it is shared */
struct sources *sources_ref(struct sources *s);
void sources_unref(struct sources *s); /* NULL is fine */
