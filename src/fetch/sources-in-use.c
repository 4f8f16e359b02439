/* The sources in use: one set with a reference count, which a reload replaces as a whole. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <stdio.h>

struct sources *fetch_sources(struct fetch *f)
{
	LOCK_SCOPE(&f->lock);

	return sources_ref(f->sources);
}

bool fetch_can_name_by(const struct source *s, const struct artifact *a)
{
	struct source_ask ask = {0};
	int r = source_plan(s, NULL, a, 0, &ask);

	source_ask_release(&ask);
	return r != -ENOENT;
}

bool fetch_can_name(const struct sources *so, const struct artifact *a)
{
	for (unsigned i = 0; i < so->n; i++)
		if (fetch_can_name_by(so->list[i], a))
			return true;
	return false;
}

const char *fetch_unnamed(struct fetch *f, const struct artifact *a)
{
	struct artifact with = *a;
	_cleanup_sources_ struct sources *so = fetch_sources(f);

	snprintf(with.m.checksum, sizeof(with.m.checksum), "SHA256:00");
	return !a->m.checksum[0] && fetch_can_name(so, &with)
		? "a source needs the checksum of this file, which its program states" : FETCH_UNNAMED;
}
