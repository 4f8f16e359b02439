/* What is found out about symbol stores beside their configuration: whether they have two tiers
 * (index2.txt), and what they list (000Admin). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/admin.h"
#include "source/source.h"

#include <stdbool.h>
#include <stdint.h>

struct fetch;
struct sources;
struct symstore; /* what is known of one */

/* A caller that waits for an answer of a symbol store. The caller owns it and sets the first part. (net) */
struct symstore_wait {
	struct fetch *f;
	struct sources *set; /* that `source` is of */
	const struct source *source;
	void (*ready)(struct symstore_wait *w); /* the answer came, or there is no answer; it may wait again */

	struct symstore *on; /* NULL: it does not wait */
	struct symstore_wait *next;
};
void symstore_wait_stop(struct symstore_wait *w); /* `ready` does not run any more; also when it does not wait */

/* (net) Before anything is asked of the source. True: the caller waits for the list of what it has. `text` is
 * set when the source cannot be asked for it. */
bool symstore_before(struct symstore_wait *w, char text[static 200]);
/* (net) While the source is asked for a file by all its spellings: finds out beside that whether it has two
 * tiers, if `known` does not say, and the answer is not known either. The caller does not wait. */
void symstore_beside(struct symstore_wait *w, const struct source_facts *known);
/* (net) When nothing that was asked for was there; `known` is what the requests were planned by, `asked`
 * whether there were any. 0: that is all. 1: more is known now. -EINPROGRESS: the caller waits. Others: it
 * cannot be known, and `text` says why. */
int symstore_after(struct symstore_wait *w, const struct source_facts *known, bool asked, char text[static 200]);

struct source_facts symstore_known(struct fetch *f, const struct source *s); /* any thread */
void symstore_known_release(struct source_facts *known);
void symstore_renew(struct fetch *f); /* any thread; lists of what sources have are read again */
void symstore_recall(struct fetch *f, const struct source *s); /* (workers) reads what an earlier process saved */
void symstore_stop(struct fetch *f); /* (net) when no flight is left: cancels what is being asked */
void symstore_free(struct fetch *f); /* when no thread runs any more */

/* A list, and what makes it possible to ask only for what is newer. */
struct symstore_listing {
	struct admin_index *index; /* NULL: never had */
	unsigned last;		   /* its lastid */
	int64_t when;		   /* wall clock: when it was as the server's */
	char etag[128], modified[64];
};

/* symstore-saved.c. Saving is posted to a worker; loading is for workers: 0, -errno. `memory` is the source's. */
void symstore_save_listing(struct fetch *f, const char *memory, const struct symstore_listing *what);
int symstore_load_listing(struct fetch *f, const char *memory, struct symstore_listing *out);
void symstore_save_tiers(struct fetch *f, const char *memory, bool two_tier, int64_t until); /* wall clock */
int symstore_load_tiers(struct fetch *f, const char *memory, bool *two_tier, int64_t *until);
