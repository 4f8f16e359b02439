/* Files with holes: filled block by block, in any order, until they are whole.
 *
 *	DIR/sparse/NAME		the bytes, at their places; what is absent is a hole. NAME is random:
 *				each generation has its own file, and no name is used twice
 *	index.sqlite		the key, the validator, and a bit and a CRC-32C for each block that is
 *				there and was synced
 *
 * A block counts when all of it was written. The order on disk is: data, fdatasync, then the bits, in
 * one transaction; so a bit is true after kill -9 and power loss, and a block without a bit is fetched again.
 * An index that has to be made anew knows no bits, and its files with holes are removed.
 *
 * Two bitmaps (what is here, what is on disk) are all that is held of a file: 32 bytes for 8 MiB.
 * sparse_has(), sparse_missing(), sparse_read() take no lock and see no index.
 *
 * One process writes. What is marked (waits) touches the disk and the index and belongs on a worker;
 * sparse_write() only writes, so that the thread of the network may call it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/store.h"

#define SPARSE_BLOCK 65536u
#define SPARSE_SIZE_MOST (1ull << 40) /* 4 MiB of bitmaps */

/* Whether two validators promise the same bytes: store/index/rows.h. */
bool sparse_same(const struct sparse_validator *a, const struct sparse_validator *b);

/* Bytes that are not here: whole blocks, cut at the end of the file. */
struct sparse_hole {
	uint64_t off, n;
};

struct sparse;

/* To fill: what is stored of the key with the same validator, else a new file without a byte; what was
 * there of another validator is dropped, and its holders can still read what it had. Openers of one
 * process share one. `url` is shown in listings. (waits)
 * 0; -EBUSY: another process fills it: sparse_peek(), or wait; -EFBIG; -ENOSPC. */
int sparse_open(struct store *s, const struct key *k, const struct sparse_validator *v, const char *url,
	struct sparse **out, struct err *e);
/* What is stored of the key, to read only. 0, -ENOENT. Opens a file; does not wait for writers. */
int sparse_peek(struct store *s, const struct key *k, struct sparse **out);
/* Of a peeked one: takes in what its writer committed since. 0; -ESTALE: the index does not have it
 * any more, it is whole (store_find()) or was dropped. */
int sparse_refresh(struct sparse *f);

/* The store must outlive it. The last unref loses the blocks that were not committed. Any thread. */
struct sparse *sparse_ref(struct sparse *f);
void sparse_unref(struct sparse *f); /* NULL is fine */
static inline void cleanup_sparse(struct sparse **f)
{
	sparse_unref(*f);
}
#define _cleanup_sparse_ __attribute__((cleanup(cleanup_sparse)))

/* ---- any thread, no lock, no waiting ------------------------------------------------- */

uint64_t sparse_size(const struct sparse *f);
const struct sparse_validator *sparse_validator(const struct sparse *f);
bool sparse_is_writer(const struct sparse *f);
/* Another validator came, or the file was removed: its bytes can be read, and more can be written for its readers,
 * but nothing of it will be kept. */
bool sparse_is_stale(const struct sparse *f);
/* Another generation has another number (63 bits, more than 1), also after a restart. */
uint64_t sparse_number(const struct sparse *f);
uint64_t sparse_present(const struct sparse *f); /* bytes */
bool sparse_is_full(const struct sparse *f);

/* The file itself stays the blob's. Holes read as zeros there: only what sparse_has() may be read. */
int sparse_fd(const struct sparse *f);

/* Whether all of these bytes are here; what lies past the end counts as here. Once true, always, but for
 * a disk that failed to sync them: then the file is stale, too. */
bool sparse_has(const struct sparse *f, uint64_t off, uint64_t n);
/* The first run of absent blocks that these bytes touch. false: all of them are here. */
bool sparse_missing(const struct sparse *f, uint64_t off, uint64_t n, struct sparse_hole *out);

/* The same, and of a block that is not whole what was written of it counts, too, unless it was forgotten:
 * it can be read, and is not there after a restart. Any thread; a short wait, no disk. */
bool sparse_has_pieces(struct sparse *f, uint64_t off, uint64_t n);
/* How many of n bytes at off are here in that sense, without a gap and in the block of the first. */
uint64_t sparse_piece(struct sparse *f, uint64_t off, uint64_t n);

/* Bytes at off: less than n only at the end of the file. -EAGAIN: some are not here, and `hole` (or
 * NULL) says which; -EIO. */
ssize_t sparse_read(struct sparse *f, uint64_t off, void *p, size_t n, struct sparse_hole *hole);

/* ---- filling -------------------------------------------------------------------------- */

/* Any thread, also several at once. Blocks that are here are left as they are; of one that is not,
 * parts may come in any order (many small parts with gaps may be forgotten: then it stays absent).
 * 0; -EFBIG: past the end; -ESTALE: the disk could not sync what was here; -EBADF: peeked; -ENOSPC: also when less
 * than min-free would be left: a worker calls store_make_room(), and then the same may be tried again. */
int sparse_write(struct sparse *f, uint64_t off, const void *p, size_t n);

/* Whether there is enough that sparse_commit() should be called: 8 MiB, or a second of waiting. */
bool sparse_is_due(const struct sparse *f);

/* What was written is synced, and then known after a restart. (waits) 0, also when there was nothing;
 * -ESTALE; -ENOSPC, ...: nothing is lost, it can be tried again, unless it is stale now: the disk could
 * not sync it. */
int sparse_commit(struct sparse *f);

/* Makes a full one an artifact like any other: digest, and the same file gets its place, without a
 * copy. Readers go on reading. (waits) -ENODATA: blocks are absent; else as store_publish_learned();
 * on error it is as it was. */
int sparse_finish(struct sparse *f, const struct blob_facts *facts, const struct store_learned *l,
	struct blob **out, struct err *e);

/* Of one to fill: whether no reader needs it now, as when a download only waits for its next reader. Then
 * eviction may remove the file; the holder sees that by sparse_is_gone(), and should let go of it, because
 * the disk gets the blocks back only then. Any thread; no waiting. */
void sparse_set_idle(struct sparse *f, bool idle);
/* Whether the file was removed; then it is stale, too. Any thread; no waiting. */
bool sparse_is_gone(struct sparse *f);

/* Removes it from the index and the disk. Its holders can still read what it had. (waits) */
int sparse_drop(struct sparse *f);

/* ---- for people ------------------------------------------------------------------------ */

/* In the order of id, with id > after, at most n. How many, or -errno. */
int store_list_sparse(struct store *s, int64_t after, struct store_sparse_row *rows, unsigned n);
