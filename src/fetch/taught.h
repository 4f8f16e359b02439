/* How sources spelled the files that were found in them. The spelling of one file decides the order
 * of requests for the next. It is kept for the place of a source, so it outlives a reload of the configuration. The
 * two tiers of symbol stores are in symstore.h. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

struct fetch;
struct taught; /* what is known of one source */

/* Adds to the facts what is known for the request. Any thread. */
void taught_fill(struct fetch *f, const struct source *s, const struct artifact *a, struct source_facts *known);
/* Loads what an earlier process saved for such a request. (workers) */
void taught_recall(struct fetch *f, const struct source *s, const struct artifact *a);
/* A module states that name. Any source may have it in that letter case. Any thread. */
void taught_name(struct fetch *f, const char *name);
/* The source sent a file of that type for this request. A worker saves the spelling if it is new. (net) */
void taught_note(struct fetch *f, const struct source *s, enum filetype type, const struct artifact *a,
	const struct source_ask *ask);
void taught_free(struct fetch *f); /* when no thread runs any more */
