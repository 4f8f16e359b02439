/* Facts about symbol stores that their configuration lacks. symfs therefore asks the stores: whether a store
 * has two tiers (index2.txt), and which files it lists (000Admin). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/admin.h"
#include "source/source.h"

#include <stdbool.h>
#include <stdint.h>

struct fetch;
struct sources;
struct symstore; /* the facts about one store */

/* A caller that waits for an answer of a symbol store. The caller owns the struct, and sets the fields before `on`.
 * (net) */
struct symstore_wait {
	struct fetch *f;
	struct sources *set; /* the set that contains `source` */
	const struct source *source;
	void (*ready)(struct symstore_wait *w); /* the answer came, or will not come; may wait again with `w` */

	struct symstore *on; /* the store it waits for; NULL: it does not wait */
	struct symstore_wait *next;
};
void symstore_wait_stop(struct symstore_wait *w); /* stops waiting: `ready` will not run; does nothing otherwise */

/* (net) Call this before the source is asked for a file. True: the caller waits, because the store's list of
 * files is being downloaded. `text` is set if the store cannot be asked for its list. */
bool symstore_before(struct symstore_wait *w, char text[static 200]);
/* (net) Call this while the source is asked for all spellings of a file. If the number of tiers is unknown, asks
 * for that number at the same time. The caller does not wait. */
void symstore_beside(struct symstore_wait *w, const struct source_facts *known);
/* (net) Call this when every request for a file was a miss. `known`: the facts by which the requests were planned;
 * `asked`: whether there was any request. 0: the file is missing. 1: more facts are known now; plan and ask again.
 * -EINPROGRESS: the caller waits for facts. Others: the facts cannot be known; `text` is the reason. */
int symstore_after(struct symstore_wait *w, const struct source_facts *known, bool asked, char text[static 200]);

struct source_facts symstore_known(struct fetch *f, const struct source *s); /* (any thread) release them after use */
void symstore_known_release(struct source_facts *known);
void symstore_renew(struct fetch *f); /* (any thread) downloads every list again before its next use */
void symstore_recall(struct fetch *f, const struct source *s); /* (workers) loads what an earlier process saved */
void symstore_stop(struct fetch *f); /* (net) cancels all requests for facts; call it when no flight is left */
void symstore_free(struct fetch *f); /* call it when no thread runs any more */

/* A store's list of files, with the data for asking whether it changed. */
struct symstore_listing {
	struct admin_index *index; /* NULL: never downloaded */
	unsigned last;		   /* number of the newest transaction in it (lastid.txt) */
	int64_t when;		   /* wall clock, in seconds, when it last agreed with the server */
	char etag[128], modified[64]; /* validators of lastid.txt; "": none */
};

/* symstore-saved.c. A save runs later on a worker. A load runs in the call, on a worker, and returns 0 or -errno.
 * `memory`: the field of struct source. */
void symstore_save_listing(struct fetch *f, const char *memory, const struct symstore_listing *what);
int symstore_load_listing(struct fetch *f, const char *memory, struct symstore_listing *out);
void symstore_save_tiers(struct fetch *f, const char *memory, bool two_tier, int64_t until); /* wall clock */
int symstore_load_tiers(struct fetch *f, const char *memory, bool *two_tier, int64_t *until);
