/* What is on disk: an SQLite index of keys, and one file for each artifact.
 *
 *	DIR/index.sqlite	the index (WAL); may be deleted at any time: it is rebuilt
 *	DIR/blobs/ab/REST	one whole artifact, named by the SHA-256 of its bytes
 *	DIR/blobs/ab/REST.key	what it is: a line for each key (key, source, url, verified,
 *				size, time), synced before the rename that publishes the blob;
 *				read only to rebuild the index
 *	DIR/partial/		drafts; each is locked by the process that writes it
 *	DIR/sparse/		files with holes, filled block by block (sparse.h)
 *	DIR/aside/		what was found out about sources
 *	DIR/flights		locks of downloads under way (flights.h)
 *
 * Several processes of one user share a store; anything else in DIR is left alone. All calls
 * may come from any thread; those marked (waits) touch the disk and belong on a worker. What is
 * not marked reads the index (WAL: no reader waits for a writer) and is fast.
 * When the directory is removed, or its path leads to another one, the next call opens or makes the one at
 * the path; blobs and files with holes that are open stay readable. Where that fails, calls fail with -EIO.
 * kill -9 or power loss at any moment loses at most the drafts, and what a file with holes got since
 * it was last committed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "id/key.h"
#include "store/index/rows.h"

struct statvfs;
struct store;
struct draft;

struct store_opts {
	const char *dir;
	uint64_t quota;	   /* bytes of blobs; 0: no quota. Least recently used files go first */
	uint64_t min_free; /* bytes that stay free on the file system */
};

/* Makes the directory when it is missing (0700). A damaged index is set aside as
 * index.sqlite.damaged and rebuilt from the blobs, with a line in the log. -EROFS and the like as
 * they come; -EREMOTE: on NFS or SMB, where locks cannot be trusted; -EPERM: another user's, or open to all. */
int store_open(struct store **out, const struct store_opts *o, struct err *e); /* (waits) */
void store_close(struct store *s);
/* At shutdown: from now on no call waits longer than two seconds for other processes. */
void store_hurry(struct store *s);
const char *store_dir(const struct store *s);
int store_statvfs(const struct store *s, struct statvfs *out); /* of its disk; 0, -errno (asks the disk) */
const char *store_id(const struct store *s); /* 16 hex digits, made with the store */

/* 0: *out is open (its use is noted, at most once an hour). -ENOENT. A blob whose file is gone
 * or has another size is forgotten: -ENOENT. */
int store_find(struct store *s, const struct key *k, struct blob **out);
/* The key that the file is stored under: the one by id and name, where there is such a file, else `k`. */
struct key store_key(struct store *s, const struct key *k);
/* Of all keys of the file that `k` finds the one by code id, where `k` is by debug id, and the one by id and
 * name, where there is one: an artifact has one name for inode numbers. `k` itself when it has no such key. */
void store_main_key(struct store *s, const struct key *k, struct key *out);
/* Would store_find() find it? Opens nothing. `size` may be NULL. */
bool store_has(struct store *s, const struct key *k, uint64_t *size);
/* The name that a key was first given, "" for none. 0, -ENOENT: it is not stored. */
int store_name(struct store *s, const struct key *k, char name[static MODULE_PATH_MAX]);

/* A draft is a private file to be filled; write it from one thread at a time. -ENOSPC: also when
 * less than min_free would be left, and nothing can be evicted. (waits, when it evicts) */
int draft_new(struct draft **out, struct store *s, struct err *e);
/* The same for a thread that must not wait: neither this nor draft_write() evicts. After -ENOSPC
 * a worker calls store_make_room(), and then the same may be tried again. */
int draft_new_at_once(struct draft **out, struct store *s, struct err *e);
int draft_write(struct draft *d, uint64_t off, const void *p, size_t n);
/* Appends n bytes of another file from its offset; shares blocks where the file system can.
 * -ENODATA: the file is shorter. (waits) */
int draft_copy(struct draft *d, int from, uint64_t off, uint64_t n);
int draft_fd(const struct draft *d);
uint64_t draft_size(const struct draft *d); /* the end of what was written so far */
void draft_discard(struct draft *d); /* NULL is fine */

/* Publishes a whole artifact under a key, at once or not at all, and takes the draft, also on
 * error. A blob that was stored under the key before stays readable for its holders. Misses of
 * the key are forgotten. -ESTALE: other bytes are pinned under the key. (waits: digest, fsync, commit) */
int store_publish(struct store *s, struct draft *d, const struct key *k, const struct blob_facts *f,
	struct blob **out, struct err *e);

/* What the bytes of an artifact say of themselves. Further keys never take a key from another blob: a file that
 * claims an identity does not hide an earlier file. */
#define STORE_KEYS_MOST 8
struct store_learned {
	struct module m; /* with a code id and a debug id; later requests learn one from the other */
	bool pinned;	 /* the user's own file: never evicted, until store_keep() with 0 seconds */
	unsigned n;
	struct key keys[STORE_KEYS_MOST];
};

/* The same, with what was learned of the file, in one transaction. */
int store_publish_learned(struct store *s, struct draft *d, const struct key *k,
	const struct blob_facts *f, const struct store_learned *l, struct blob **out, struct err *e);

/* What files of the store say of the module that has the code id of `like`; when that is not known,
 * its debug id. At most n, the file that came first first: a file that comes later does not change
 * an earlier answer; each answer goes with its file. How many, or -errno. */
int store_modules(struct store *s, const struct module *like, struct module *out, unsigned n);

/* The keys that have type and id of `k`, whatever their name, of what is stored and of what is remembered
 * to be missing. At most n, each once. How many, or -errno. */
int store_keys_with_id(struct store *s, const struct key *k, struct key *out, unsigned n);

/* One more key for the bytes of a blob of the store. -EEXIST: another blob has it. (waits) */
int store_link(struct store *s, const struct key *k, const struct blob *b);

/* Misses: "this source does not have it", for so long. Only a true "not there" is remembered.
 * `name`: what the source was asked for by, when its paths have a name that the key does not count;
 * else "". A miss by one name says nothing about another name. */
int store_miss_add(struct store *s, const struct key *k, const char *name, const char *source,
	int64_t seconds, const char *reason); /* (waits) */
/* Adds how many times keys were asked for while their misses held. (waits) */
struct store_asked {
	struct key key;
	int64_t times;
};
int store_misses_asked(struct store *s, const struct store_asked *asked, unsigned n);
/* The wall-clock second until which the miss holds; 0: no miss is remembered. */
int64_t store_miss_until(struct store *s, const struct key *k, const char *name, const char *source);
/* By every name; NULL: all misses. (waits); how many, -errno */
int store_misses_clear(struct store *s, const struct key *k);

/* Keeps an artifact from eviction for so long, at least; STORE_FOR_GOOD pins it: that outlives the index;
 * 0 seconds: lets it go again, also what store_publish_learned() pinned. 0, -ENOENT. (waits) */
int store_keep(struct store *s, const struct key *k, int64_t seconds);

/* The stored keys with id > after, at most n, in the order of id. How many, or -errno. */
int store_list(struct store *s, int64_t after, struct store_row *rows, unsigned n);

/* A note: a line of at most 200 bytes under a name, so that the next process need not find the same out again.
 * Lost with the index. 0; -ENOENT. */
int store_note_set(struct store *s, const char *name, const char *text); /* (waits) */
int store_note(struct store *s, const char *name, char text[static 201]);

/* A side file, for more than a line: beside the index, DIR/aside/NAME, replaced at once or
 * not at all. NAME has no slash. Read is at most `most` bytes: -EFBIG; `out` is the caller's. (waits) */
int store_side_file_write(struct store *s, const char *name, const void *p, size_t n);
int store_side_file_read(struct store *s, const char *name, size_t most, void **out, size_t *n);

/* Remembered misses that still hold; `after` is a rowid cursor, moved on. */
int store_list_misses(struct store *s, int64_t *after, struct store_miss_row *rows, unsigned n);

int store_count(struct store *s, struct store_totals *out);

/* Forgets a key, and its blob when no other key has it. 0, -ENOENT. (waits) */
int store_remove(struct store *s, const struct key *k);
/* Forgets the artifact that a key finds, by each of its keys, and what it said of its module. 0,
 * -ENOENT. (waits) */
int store_remove_file(struct store *s, const struct key *k);

/* Compares index, `.key` files and bytes; calls `damaged` for each artifact that is not what
 * it should be (what: "digest differs", "file is gone", "size differs", ...; path as stored;
 * k is NULL for a file that nothing names).
 * Changes nothing. The number of damaged ones, or -errno. (waits) */
int store_verify(struct store *s, void (*damaged)(void *ctx, const struct key *k, const char *path,
	const char *what), void *ctx);

/* Evicts until `need` bytes can be written, and some more where that helps. 0, -ENOSPC. (waits) */
int store_make_room(struct store *s, uint64_t need, struct err *e);

/* Evicts down to the quota and the free-space floor; never what is kept. (waits) */
int store_trim(struct store *s);
