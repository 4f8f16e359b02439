/* The index: DIR/index.sqlite. The index holds the keys, the blob of each key, the known misses, and the files that
 * may disagree with the index (intents). For src/store/ only.
 *
 * One connection writes; it belongs to the thread with the write lock (session.h). Readers take connections from
 * a pool, so a reader never waits for a writer. Every function returns 0 or the result that its comment names, or
 * -EUCLEAN (the index is damaged), -ENOSPC, -EBUSY, -EIO, -ENOMEM. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "store/index/rows.h"

struct index;

struct index_object {
	int64_t id;
	char sha256[SHA256_TEXT];
	uint64_t size;
	bool pinned; /* not evicted; also recorded in the label */
	struct hold_state held; /* until when it is pinned */
};

struct index_hit {
	struct index_object object;
	int64_t used;
	struct key key; /* as first given */
	struct blob_facts facts;
};

/* -ENOENT: there is no index yet. -EUCLEAN: the file is not an index of this version. */
int index_open(struct index **out, const char *dir, struct err *e);
/* Creates an index, also in place of an empty one, and leaves a transaction open. Without a commit it stays empty. */
int index_make(struct index **out, const char *dir, const char *id, struct err *e);
struct index *index_ref(struct index *ix);
void index_unref(struct index *ix); /* NULL is fine */
static inline void cleanup_index(struct index **ix)
{
	index_unref(*ix);
}
#define _cleanup_index_ __attribute__((cleanup(cleanup_index)))

/* ---- any thread --------------------------------------------------------------------- */

int index_find(struct index *ix, const char *canon, struct index_hit *out); /* -ENOENT */
/* Finds the file that has this key by debug id, and returns the first of the file's keys by code id. -ENOENT */
int index_main_key(struct index *ix, const char *canon, enum filetype type, struct key *out);
int index_list(struct index *ix, int64_t after, struct store_row *rows, unsigned n);
/* Finds what files state about the module with the code id of `like`, or, without a code id, its debug id. The
 * oldest file comes first. Returns the number of results. */
int index_modules(struct index *ix, const struct module *like, struct module *out, unsigned n);
int index_keys_with_id(struct index *ix, const struct key *k, struct key *out, unsigned n);
int index_miss_until(struct index *ix, const char *canon, const char *name, const char *source,
	int64_t *out);
/* Keys of objects whose hold has ended at `now`. Returns the number of rows. */
int index_list_ended(struct index *ix, int64_t now, int64_t after, struct store_row *rows, unsigned n);
int index_tomb(struct index *ix, const char *canon, struct store_tomb *out); /* -ENOENT */
int index_list_misses(struct index *ix, int64_t *after, int64_t now, struct store_miss_row *rows,
	unsigned n);
/* Due rows after `after`, at most n. Returns their number. -ENOTSUP: the store has no outbox. */
int index_outbox_next(struct index *ix, int64_t now, int64_t after, struct outbox_row *out, unsigned n);
/* The first row that is due at `now` and sorts after `after`. -ENOENT */
int index_outgone_next(struct index *ix, int64_t now, const char *after, struct outgone_row *out);
int index_uses_next(struct index *ix, struct use_row *out); /* -ENOENT, -ENOTSUP */
int index_outbox_has(struct index *ix, const char *canon); /* 1, 0; -ENOTSUP */
int index_outbox_add(struct index *ix, const char *canon, int64_t now); /* 0; -ENOTSUP */
int index_outgone_has(struct index *ix, const char *canon);	     /* 1, 0 */
int index_outbox_lists(struct index *ix, int64_t object); /* as index_outbox_has() */
int index_outbox_count(struct index *ix, struct outbox_totals *out); /* -ENOTSUP */
/* Calls `each` with the keys of an object, until it returns non-zero; returns that value. */
int index_keys_of_object(struct index *ix, int64_t object,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx);
int index_count(struct index *ix, int64_t now, struct store_totals *out);
int index_meta(struct index *ix, const char *name, char *out, size_t room); /* -ENOENT */
bool index_seems_moved(struct index *ix); /* the index file is no longer at its path */

/* A part of a sparse file: which of its blocks are present, and their checksums (CRC-32C). */
#define PART_BLOCKS 512 /* 32 MiB of the file; a row of about 2 KiB */
struct index_part {
	int64_t part;
	uint64_t bits[PART_BLOCKS / 64];
	uint32_t sums[PART_BLOCKS];
};

int index_sparse_find(struct index *ix, const char *canon, struct store_sparse_row *out); /* -ENOENT */
int index_sparse_find_name(struct index *ix, const char *name, struct store_sparse_row *out);
int index_sparse_list(struct index *ix, int64_t after, struct store_sparse_row *out, unsigned n);
/* The parts of a sparse file with numbers above `after`; -1: from the first. Returns the number of parts. */
int index_sparse_parts(struct index *ix, const char *name, int64_t after, struct index_part *out,
	unsigned n);

/* ---- listings ----------------------------------------------------------------------- */

/* A snapshot of the index, held briefly and by one thread. */
struct index_view;
int index_view_open(struct index *ix, struct index_view **out);
void index_view_close(struct index_view *v); /* NULL is fine */

struct index_row {
	int64_t id;	       /* the number of the key or of the name */
	char place[MODULE_NAME_MAX]; /* key_id_prefix() of a key; the tier of a name */
	char *key;	       /* key_text(); NULL: the row is a name */
	char *text;	       /* the file name as first given; "": none */
};
void index_rows_release(struct index_row *rows, unsigned n);

struct index_name {
	int64_t id;
	char tier[MODULE_NAME_MAX], name[MODULE_NAME_MAX];
};

/* Names that keys of a class have, in the order of (tier, id), after a place. `only`: one tier; NULL: all tiers.
 * Returns the number of names; the caller releases them. */
int index_view_names(struct index_view *v, unsigned class, const char *only, const char *tier,
	int64_t after, struct index_row *out, unsigned n);
/* Keys of a class in the order of (prefix, id), after (prefix, after) and before the prefix `end`. `name`: only
 * keys with this name; NULL: all. Returns the number of keys; the caller releases them. */
int index_view_ids(struct index_view *v, unsigned class, const struct index_name *name,
	const char *prefix, int64_t after, const char *end, struct index_row *out, unsigned n);
int index_view_name(struct index_view *v, const char *folded, struct index_name *out); /* -ENOENT */
/* The place of a name or a key in listings, even if the name or key was dropped recently. -ENOENT */
int index_view_name_place(struct index_view *v, int64_t id, char tier[static MODULE_NAME_MAX]);
int index_view_key_place(struct index_view *v, int64_t id, char prefix[static KEY_ID_MAX],
	struct key *k);
/* The key_number() under which lookups find the file: if the file has a key by code id, the number of that key. */
uint64_t index_view_number(struct index_view *v, const struct key *k);

/* ---- with the write lock ------------------------------------------------------------- */

bool index_moved(struct index *ix);
int index_begin(struct index *ix);
int index_commit(struct index *ix);   /* rolls back on error */
void index_rollback(struct index *ix); /* harmless without a transaction */
/* Ends a transaction whose steps gave `r`: commits if that is 0, else rolls back. Returns the error, if any. */
int index_end(struct index *ix, int r);

/* Starts to queue published files for the bucket of this name, and queues all files if the store had another bucket
 * or none. The caller has begun a transaction. */
int index_outbox_begin(struct index *ix, const char *bucket, int64_t now);
int index_outbox_done(struct index *ix, const struct outbox_row *row);
int index_outgone_done(struct index *ix, const struct outgone_row *row);
int index_outgone_later(struct index *ix, const struct outgone_row *row, int64_t due);
int index_outgone_put(struct index *ix, const struct outgone_row *row, int64_t due);
int index_uses_done(struct index *ix, const struct use_row *row);
int index_outbox_later(struct index *ix, const struct outbox_row *row, int64_t next);
int index_outbox_keep(struct index *ix, int64_t now, uint64_t most); /* in a transaction */

int index_meta_set(struct index *ix, const char *name, const char *value);

int index_object_find(struct index *ix, const char *sha256, struct index_object *out); /* -ENOENT */
int index_object_next(struct index *ix, int64_t after, struct index_object *out);      /* -ENOENT */
/* Finds the files of a type that symfs took out of files with this id: sources, by the GUID of a Portable PDB (32
 * lowercase digits), whatever its stamp, or sections, by the build id. Returns their number, at most n; -errno. */
int index_embedded(struct index *ix, enum filetype t, const char *id, struct index_object *out, unsigned n);
/* `w` unknown: keeps the worth that an object already has. */
int index_object_put(struct index *ix, const char *sha256, uint64_t size, int64_t used, const struct worth *w,
	int64_t *id);
int index_object_worth(struct index *ix, int64_t id, struct worth *out); /* -ENOENT */
int index_object_drop(struct index *ix, int64_t id); /* also drops the keys of the object */
int index_object_remove(struct index *ix, const struct index_object *o); /* and adds the intent to remove the file */
/* Records a use, which renews a hold that has not ended by `past`. */
int index_object_used(struct index *ix, int64_t id, int64_t when, int64_t past);
/* The holds of objects that were used at `since` or later begin anew. */
int index_ends_anew(struct index *ix, int64_t now, int64_t since);
/* Keeps an object until this time, or longer if a later time was set before. INT64_MAX pins the object; 0 ends
 * keeping and the pin. If the label becomes wrong, the caller adds an intent. */
int index_object_keep(struct index *ix, int64_t id, int64_t until);
/* Sets the hold of a pinned object. The caller writes the label. */
int index_object_hold(struct index *ix, int64_t id, const struct hold_state *held);
/* The first object whose hold has ended at `now`. -ENOENT */
int index_object_ended(struct index *ix, int64_t now, struct index_object *out);
/* The least recently used entry that may be evicted, other than the object `except` and sparse files up to the
 * place `past`. `sparse`: the entry is a sparse file; its name and size on disk are in `out`. -ENOENT */
struct index_place {
	int64_t used, id;
};
#define INDEX_PLACE_FIRST ((struct index_place){.used = INT64_MIN})
int index_victim(struct index *ix, int64_t now, int64_t except, const struct index_place *past,
	struct index_object *out, bool *sparse, int64_t *used);
int index_bytes(struct index *ix, uint64_t *out); /* including sparse files */
/* The bytes of objects that may not be evicted at `now`: pinned ones, and those that are kept for a time. */
int index_kept_bytes(struct index *ix, int64_t now, uint64_t *out);

int index_key_find(struct index *ix, const char *canon, struct index_hit *out); /* -ENOENT */
int index_key_put(struct index *ix, const struct key *k, int64_t object,
	const struct blob_facts *facts); /* an existing key keeps its number; its generation rises if the
					    key gets another object */
/* Calls `each` for the keys of an object in their order. Stops when `each` returns non-zero, and returns that. */
int index_keys_of(struct index *ix, int64_t object,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx);

/* Intents: files that may disagree with the index until they are settled. `gone`: the file is to be removed. */
int index_intent_add(struct index *ix, const char *sha256, bool gone);
int index_intent_next(struct index *ix, char sha256[static SHA256_TEXT], bool *gone); /* -ENOENT */
int index_intent_done(struct index *ix, const char *sha256);

int index_module_put(struct index *ix, int64_t object, const struct module *m);
int index_module_of(struct index *ix, int64_t object, struct module *out); /* -ENOENT */

int index_miss_put(struct index *ix, const struct key *k, const char *name, const char *source,
	int64_t since, int64_t until, const char *reason);
int index_miss_asked(struct index *ix, const char *canon, int64_t times);
int index_misses_expire(struct index *ix, int64_t now);
/* Tombstones, one for each key. The oldest are dropped when there are more than 100,000. */
int index_tomb_put(struct index *ix, const struct key *k, int64_t when, const char *why, bool expired);
int index_tomb_drop(struct index *ix, const char *canon);
int index_misses_drop(struct index *ix, const char *canon); /* `canon` NULL: drops all misses; returns the
							       number of dropped misses */

/* Writes times of use without waiting. -EBUSY: another process is writing. */
int index_try_used(struct index *ix, const int64_t *objects, unsigned n, int64_t when, int64_t past);

/* Sparse files, one for each key. A call for a name without a row changes nothing. */
int index_sparse_get(struct index *ix, const char *canon, struct store_sparse_row *out); /* -ENOENT */
int index_sparse_get_name(struct index *ix, const char *name, struct store_sparse_row *out);
int index_sparse_next(struct index *ix, int64_t after, struct store_sparse_row *out); /* -ENOENT */
int index_sparse_put(struct index *ix, const struct store_sparse_row *row); /* a new file: no block is present */
int index_sparse_drop(struct index *ix, const char *name);
int index_sparse_used(struct index *ix, const char *name, int64_t when);
int index_sparse_grew(struct index *ix, const char *name, uint64_t present, uint64_t bytes,
	int64_t when);
int index_sparse_part(struct index *ix, const char *name, int64_t part, struct index_part *out);
int index_sparse_part_put(struct index *ix, const char *name, const struct index_part *p);
