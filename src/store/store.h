/* The store: the cache on disk, shared by several processes of one user. The store has an SQLite index of
 * keys, and one file for each artifact.
 *
 *	DIR/index.sqlite	the index (WAL); may be deleted at any time: it is rebuilt
 *	DIR/blobs/ab/REST	one whole artifact, named by the SHA-256 of its bytes
 *	DIR/blobs/ab/REST.key	the label of that blob: a line for each key (key, source, url, verified,
 *				size, time), synced before the rename that publishes the blob;
 *				read only to rebuild or check the index
 *	DIR/partial/		drafts; each is locked by the process that writes it
 *	DIR/sparse/		sparse files, filled block by block (sparse.h)
 *	DIR/aside/		side files: facts that processes found out about sources
 *	DIR/flights		locks of downloads under way (flights.h)
 *
 * Other files in DIR are left alone. All calls may come from any thread. Calls marked (waits) touch the disk
 * and belong on a worker. The other calls are fast; those that read the index wait for no writer (WAL).
 *
 * When DIR is removed, or its path leads to another directory, the next call opens or makes the directory at
 * that path. Until that works, calls fail with -EIO. Open blobs and sparse files stay readable.
 *
 * kill -9 or power loss at any moment loses at most the drafts, and the blocks of sparse files that were not
 * committed yet. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "names/id/key.h"
#include "store/index/rows.h"

struct statvfs;
struct store;
struct draft;

struct store_opts {
	const char *dir;
	uint64_t quota;	   /* bytes of blobs and sparse files on disk; 0: no quota */
	uint64_t min_free; /* bytes that stay free on the file system */
};

/* Opens the store, and makes its directory (0700) if it is missing. A damaged index is renamed to
 * index.sqlite.damaged and rebuilt from the blobs, with a line in the log. 0; -EREMOTE: the directory is on
 * NFS or SMB, where locks cannot be trusted; -EPERM: the directory belongs to another user, or any user can
 * write to it; -EROFS and other errors as the system reports them. */
int store_open(struct store **out, const struct store_opts *o, struct err *e); /* (waits) */
void store_close(struct store *s);
/* At shutdown: from now on no call waits longer than two seconds for other processes. */
void store_hurry(struct store *s);
const char *store_dir(const struct store *s);
int store_statvfs(const struct store *s, struct statvfs *out); /* for the store's disk; 0, -errno; may wait
								  for the disk */
const char *store_id(const struct store *s); /* 16 hex digits, made with the store */

/* Opens the blob of a key. 0; -ENOENT: the key is not stored, or its blob is gone or has another size; the
 * store then forgets the blob. Records the use of the blob, at most once an hour. */
int store_find(struct store *s, const struct key *k, struct blob **out);
/* The key under which `k` is looked up: the key by id and name (key_by_name()) if a file is stored under that
 * key, else `k`. */
struct key store_key(struct store *s, const struct key *k);
/* The one key that stands for the file of `k`, so that an artifact has one inode number. For a key by debug
 * id: the file's key by code id. For other keys: store_key(). `k` itself if the file has no such key. */
void store_main_key(struct store *s, const struct key *k, struct key *out);
/* Whether store_find() would find a blob; opens no file. *size is its size; `size` may be NULL. */
bool store_has(struct store *s, const struct key *k, uint64_t *size);
/* Whether a file of this worth would get the key: no file or only a worse file has the key, or one whose hold gives
 * way to `hold` (hold_compare()), which is NULL for a file that is not an upload. */
bool store_wants(struct store *s, const struct key *k, const struct worth *w, const struct store_hold *hold);
/* The file name that the key was first stored with; "": the key has no name. 0; -ENOENT: the key is not
 * stored. */
int store_name(struct store *s, const struct key *k, char name[static MODULE_PATH_MAX]);

/* Makes a draft: a private file that its owner fills, from one thread at a time. -ENOSPC: the disk is full,
 * or less than min_free would stay free, and nothing can be evicted. (waits, when it evicts) */
int draft_new(struct draft **out, struct store *s, struct err *e);
/* As draft_new(), for a thread that must not wait: neither this call nor draft_write() evicts for the
 * draft. After -ENOSPC, a worker calls store_make_room(), and the thread may try again. */
int draft_new_at_once(struct draft **out, struct store *s, struct err *e);
int draft_write(struct draft *d, uint64_t off, const void *p, size_t n);
/* Appends n bytes of the file `from`, read at `off`. Shares blocks if the file system can. -ENODATA: that
 * file is shorter. (waits) */
int draft_copy(struct draft *d, int from, uint64_t off, uint64_t n);
int draft_fd(const struct draft *d);
uint64_t draft_size(const struct draft *d); /* the offset after the last byte written so far */
void draft_discard(struct draft *d); /* NULL is fine */

/* Whether the store can be read and can take files: 0; -errno, with the reason in `e`. (waits) */
int store_ready(struct store *s, struct err *e);

/* A key that got a file. */
struct store_arrival {
	const struct key *key;
	const char *sha256, *source; /* of the file */
	uint64_t size;
};
typedef void store_arrived(void *ctx, const struct store_arrival *a);
/* Calls `arrived` for each key that gets a file by this process, after the commit: on the thread that publishes,
 * which does not hold the write lock. `arrived` must be quick, and must not call the store. One watcher at a time;
 * NULL ends the watch, and on return no call runs. */
void store_watch(struct store *s, store_arrived *arrived, void *ctx);

/* Publishes a whole artifact under a key, at once or not at all. Takes ownership of the draft, also on error.
 * A blob that was stored under the key before stays readable for its holders. Misses of the key are
 * forgotten. -ESTALE: the key belongs to an equally good or better file, or to a pinned file with other bytes.
 * (waits: digest, fsync, commit) */
int store_publish(struct store *s, struct draft *d, const struct key *k, const struct blob_facts *f,
	struct blob **out, struct err *e);

/* The facts that the bytes of an artifact state: its module, and further keys. A further key that another
 * blob already has stays with that blob, unless this file is worth more for it. */
#define STORE_KEYS_MOST 8
struct store_learned {
	struct module m; /* if the module has both ids, later requests learn one id from the other */
	struct worth worth;
	bool pinned;	 /* the user's own file: stays until store_keep() with 0 seconds, or until `hold` ends */
	struct store_hold hold; /* of a pinned file: its class, and when it expires; zeroed: it stays for good */
	unsigned n;
	struct key keys[STORE_KEYS_MOST];
};

/* As store_publish(), and records `l` in the same transaction. `l` may be NULL. */
int store_publish_learned(struct store *s, struct draft *d, const struct key *k,
	const struct blob_facts *f, const struct store_learned *l, struct blob **out, struct err *e);

/* Finds what stored files state about the module with the code id of `like`, or, without a code id, its debug
 * id. The oldest file comes first, so a later file does not change an earlier answer. The statements of a
 * file are dropped with the file. Returns the number of results, at most n, or -errno. */
int store_modules(struct store *s, const struct module *like, struct module *out, unsigned n);

/* Finds the keys with the type and id of `k` and any name, among stored files and remembered misses; each key
 * once. Returns their number, at most n, or -errno. */
int store_keys_with_id(struct store *s, const struct key *k, struct key *out, unsigned n);

/* Remembers a miss: for `seconds`, the source counts as not having the file. Call it only when the source
 * answered that the file does not exist, never after an error. `name`: the file name in the request, if the
 * source's paths have a file name that is not part of the key; else "". A miss under one name says nothing
 * about another name. A miss with the reason STORE_MISS_UNLISTED is listed once its file was requested again. */
int store_miss_add(struct store *s, const struct key *k, const char *name, const char *source,
	int64_t seconds, const char *reason); /* (waits) */
/* Adds to the request counts of misses: `key` was requested `times` times while its misses held. (waits) */
struct store_asked {
	struct key key;
	int64_t times;
};
int store_misses_asked(struct store *s, const struct store_asked *asked, unsigned n);
/* The wall-clock second until which the miss holds; 0: no miss is remembered. */
int64_t store_miss_until(struct store *s, const struct key *k, const char *name, const char *source);
/* Forgets the misses of a key, under every name; NULL: all misses. Returns their number, or -errno.
 * (waits) */
int store_misses_clear(struct store *s, const struct key *k);

/* Keeps an artifact from eviction for at least `seconds`. STORE_FOR_GOOD pins it, and the pin survives a
 * rebuild of the index. 0 seconds ends the keeping and the pin, also a pin by store_publish_learned(). 0,
 * -ENOENT. (waits) */
int store_keep(struct store *s, const struct key *k, int64_t seconds);

/* Holds the file of a key as an upload with this hold does, also if it was only a cached download. A file that is
 * held already keeps the later end. 0, -ENOENT. (waits) */
int store_hold(struct store *s, const struct key *k, const struct store_hold *h);

/* The store's time, in seconds since 1970: the wall clock, unless that has jumped (time.h). store_now() is for what
 * ends later, store_past() for what deletes. */
int64_t store_now(struct store *s);
int64_t store_past(struct store *s);

/* Removes the files whose hold has ended, and leaves a tombstone for each of their keys. A hold of `age` seconds
 * ends when the file was not used for that time. Uses renew it at most once a day, or once in half of a shorter age.
 * Publishing and store_trim() remove such files, too. 0, -errno. (waits) */
struct store_expired {
	uint64_t artifacts, bytes;
};
int store_expire(struct store *s, struct store_expired *out);
/* Lists the keys of files that store_expire() would remove now, as store_list() does. */
int store_list_ended(struct store *s, int64_t after, struct store_row *rows, unsigned n);

/* Removes the file of a key, with all of its keys, and leaves tombstones with `why`, a short text. 0, -ENOENT;
 * -EPERM: the file is pinned without a class, as `symfs add` pins files, and `added` is false. (waits) */
int store_purge(struct store *s, const struct key *k, const char *why, bool added);
/* Leaves a tombstone for a key that has no file in this store. The bucket's file under it ends, too. 0, -errno.
 * (waits) */
int store_bury(struct store *s, const struct key *k, const char *why);
/* The tombstone of a key: when and why its file was removed. A file that is stored under the key ends it. 0,
 * -ENOENT. */
int store_tomb(struct store *s, const struct key *k, struct store_tomb *out);

/* Lists the stored keys with id > after, at most n, in the order of id. Returns their number, or -errno. */
int store_list(struct store *s, int64_t after, struct store_row *rows, unsigned n);

/* A note is a line of at most 200 bytes under a name, which saves the next process from finding out a fact
 * again. Notes are lost with the index. 0; -ENOENT: no such note. */
int store_note_set(struct store *s, const char *name, const char *text); /* (waits) */
int store_note(struct store *s, const char *name, char text[static 201]);

/* A side file, DIR/aside/NAME, is a note that is longer than a line. A write replaces it at once or not at all.
 * `name` has no slash. -EFBIG: the file is longer than `most` bytes. The caller frees *out, which ends with a NUL;
 * `n` may be NULL. (waits) */
int store_side_file_write(struct store *s, const char *name, const void *p, size_t n);
int store_side_file_read(struct store *s, const char *name, size_t most, char **out, size_t *n);

/* Lists the misses that still hold, at most n. `after` is a cursor that begins with 0; each call advances
 * it. Returns their number, or -errno. */
int store_list_misses(struct store *s, int64_t *after, struct store_miss_row *rows, unsigned n);

int store_count(struct store *s, struct store_totals *out);

/* Removes the artifact that a key finds, all of its keys, the statements of the artifact about its module, and the
 * files that symfs made of it. Also removes the sparse file of the key. Returns the number of the made files;
 * -ENOENT. (waits) */
int store_remove_file(struct store *s, const struct key *k);

/* Compares the index, the `.key` files and the bytes, and calls `damaged` for each damaged artifact. `what`
 * is the problem ("digest differs", "file is gone", "size differs", ...), `path` the file, `k` its first key;
 * NULL: no key names the file. Changes nothing. Returns the number of damaged artifacts, or -errno.
 * (waits) */
int store_verify(struct store *s, void (*damaged)(void *ctx, const struct key *k, const char *path,
	const char *what), void *ctx);

/* Evicts until `need` bytes can be written, and frees a little more if it can. 0, -ENOSPC. (waits) */
int store_make_room(struct store *s, uint64_t need, struct err *e);

/* Evicts down to the quota, and until min_free bytes are free; never an artifact that is kept. (waits) */
int store_trim(struct store *s);
