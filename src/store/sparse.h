/* Sparse files: artifacts that are filled block by block, in any order, until they are whole.
 *
 *	DIR/sparse/NAME		the bytes, each at its place; absent blocks are holes. NAME is random:
 *				each version of an artifact has its own file, and no name is used twice
 *	index.sqlite		the key, the validator, and a bit and a CRC-32C for each block that is
 *				present and was synced
 *
 * A block is present when all of it was written. The order on disk is: data, fdatasync, then the bits, in one
 * transaction. So a bit is true after kill -9 and power loss, and a block without a bit is downloaded again.
 * A rebuilt index has no bits, and its sparse files are removed.
 *
 * In memory a file costs two bitmaps, of the present and of the committed blocks: 32 bytes for 8 MiB.
 * sparse_has() and sparse_missing() take no lock and do not read the index.
 *
 * One process fills a file. Calls marked (waits) touch the disk and the index and belong on a worker.
 * sparse_write() only writes to the file, so the network thread may call it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/store.h"

#define SPARSE_BLOCK 65536u
#define SPARSE_SIZE_MOST (1ull << 40) /* bytes; the bitmaps of such a file take 4 MiB */

/* Whether two validators match (see struct sparse_validator), so that their files have the same bytes. */
bool sparse_same(const struct sparse_validator *a, const struct sparse_validator *b);

/* A range of absent bytes: whole blocks, cut at the end of the file. */
struct sparse_hole {
	uint64_t off, n;
};

struct sparse;

/* Opens a sparse file to fill it: the stored file of the key if its validator matches, else a new file without
 * blocks. A stored file with another validator is dropped; its holders can still read its bytes. All
 * openers of one process share one `struct sparse`. `url` is shown in listings. (waits)
 * 0; -EBUSY: another process fills the file: use sparse_peek(), or wait; -EFBIG: larger than SPARSE_SIZE_MOST;
 * -ENOSPC. */
int sparse_open(struct store *s, const struct key *k, const struct sparse_validator *v, const char *url,
	struct sparse **out, struct err *e);
/* Opens the sparse file of a key to read it. 0, -ENOENT. Opens a file; does not wait for writers. */
int sparse_peek(struct store *s, const struct key *k, struct sparse **out);
/* The store must outlive the file. The last sparse_unref() loses the blocks that were not committed. Any
 * thread. */
struct sparse *sparse_ref(struct sparse *f);
void sparse_unref(struct sparse *f); /* NULL is fine */
static inline void cleanup_sparse(struct sparse **f)
{
	sparse_unref(*f);
}
#define _cleanup_sparse_ __attribute__((cleanup(cleanup_sparse)))

/* ---- any thread, no lock, no waiting ------------------------------------------------- */

uint64_t sparse_size(const struct sparse *f);
/* Whether the file will not be kept: an opener came with another validator, or the file was removed. The
 * bytes of the file can still be read, and more bytes can be written for its readers. */
bool sparse_is_stale(const struct sparse *f);
/* The number of this version of the artifact, the same after a restart; another version has another number.
 * It has at most 63 bits, and is above 1. */
uint64_t sparse_number(const struct sparse *f);
uint64_t sparse_present(const struct sparse *f); /* bytes */
bool sparse_is_full(const struct sparse *f);

/* The descriptor, which stays the file's. Holes read as zeros: read only bytes for which sparse_has() is
 * true. */
int sparse_fd(const struct sparse *f);

/* Whether all n bytes at `off` are present; bytes past the end count as present. Once true, the result
 * stays true, unless the disk fails to sync the bytes: then the file is stale, too. */
bool sparse_has(const struct sparse *f, uint64_t off, uint64_t n);
/* Finds the first run of absent blocks that the n bytes at `off` touch. false: all of them are present. */
bool sparse_missing(const struct sparse *f, uint64_t off, uint64_t n, struct sparse_hole *out);

/* Like sparse_has(), but the pieces that were written of an incomplete block count as well, unless they were
 * forgotten. Pieces can be read, and are lost at a restart. Any thread; a short wait, no disk. */
bool sparse_has_pieces(struct sparse *f, uint64_t off, uint64_t n);
/* The number of bytes from `off`, at most n, that sparse_has_pieces() counts as present, without a gap. The
 * count ends at the end of a block. */
uint64_t sparse_piece(struct sparse *f, uint64_t off, uint64_t n);

/* ---- filling -------------------------------------------------------------------------- */

/* Writes n bytes at `off`. Any thread, also several at once. Present blocks are not written again. The pieces
 * of an absent block may come in any order. If many small pieces come with gaps between them, some may be
 * forgotten, and the block stays absent.
 * 0; -EFBIG: past the end; -ESTALE: the disk could not sync earlier bytes; -EBADF: a file of sparse_peek();
 * -ENOSPC: the disk is full, or less than min-free would stay free. Then a worker calls store_make_room(), and
 * the write may be tried again. */
int sparse_write(struct sparse *f, uint64_t off, const void *p, size_t n);

/* Whether sparse_commit() is due: 8 MiB are not committed, or some bytes were written a second ago and are
 * not committed. */
bool sparse_is_due(const struct sparse *f);

/* Syncs the blocks that were written, and commits their bits, so that they are known after a restart. 0, also
 * when there was nothing to commit; -ESTALE: the file is stale; -ENOSPC and other errors: nothing is lost,
 * and the call may be tried again. But if the disk could not sync the blocks, the file is stale now.
 * (waits) */
int sparse_commit(struct sparse *f);

/* Publishes a full file as a blob: computes the digest, and renames the same file without a copy. Readers
 * continue. -ENODATA: blocks are absent; other errors as store_publish_learned(). After an error the file
 * is unchanged. (waits) */
int sparse_finish(struct sparse *f, const struct blob_facts *facts, const struct store_learned *l,
	struct blob **out, struct err *e);

/* For a file of sparse_open(): sets whether no reader needs it now, as when a download only waits for its
 * next reader. Eviction may remove an idle file. The holder sees that by sparse_is_gone(), and should then
 * drop its reference, because only then the disk gets the blocks back. Any thread; no waiting. */
void sparse_set_idle(struct sparse *f, bool idle);
/* Whether the file was removed; then it is stale, too. Any thread; no waiting. */
bool sparse_is_gone(struct sparse *f);

/* Removes the file from the index and the disk. Its holders can still read its bytes. (waits) */
int sparse_drop(struct sparse *f);

/* ---- listing --------------------------------------------------------------------------- */

/* Lists sparse files with id > after, at most n, in the order of id. Returns their number, or -errno. */
int store_list_sparse(struct store *s, int64_t after, struct store_sparse_row *rows, unsigned n);
