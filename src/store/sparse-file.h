/* The files in DIR/sparse/: how they are named, opened, locked and removed, and their rows in the index. The OFD
 * locks are on two bytes at an offset that no file reaches. All processes that use the file hold a shared lock on the
 * first byte; the process that fills it also locks the second byte. For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

#include <sys/stat.h>

#define SPARSE_NAME 17 /* 16 hex digits and NUL */
#define SPARSE_REL 32

const char *sparse_file_path(const char *name, char room[static SPARSE_REL]); /* "sparse/NAME" */

/* Creates a file of `size` bytes without blocks, locked to be filled. 0, -errno. */
int sparse_file_new(struct store *s, uint64_t size, char name[static SPARSE_NAME], int *fd);
/* Opens and locks a file, to fill it or to read it. 0; -EBUSY: another process fills it, or is removing it;
 * -ENOENT. */
int sparse_file_open(struct store *s, const char *name, bool fill, int *fd, struct stat *st);

void sparse_file_unlink(struct store *s, const char *name);
/* Takes or releases the lock of a process that uses the file. 0; -EBUSY: another process is removing the
 * file. */
int sparse_file_lock_open(int fd, bool open);
/* Removes a file that no process uses. 0, also if it was not there; -EBUSY: a process uses the file. *bytes
 * is the file's size on disk. *held: the process that fills the file has it open; the disk gets the blocks
 * back when that process closes the file. */
int sparse_file_remove_idle(struct store *s, const char *name, uint64_t *bytes, bool *held);

bool sparse_file_is_name(const char *name);
/* Whether the file is there and has this size; then *bytes is its size on disk. */
bool sparse_file_is_sound(struct store *s, const char *name, uint64_t size, uint64_t *bytes);
/* Removes a file without a row. A process locks a new file before it writes the row. So if a file has no row and can
 * be locked, and still has no row after that, it belongs to no process. True: the file was removed. */
bool sparse_file_remove_orphan(struct store *s, const char *name,
	bool (*has_row)(struct store *s, const char *name));

/* ---- their index rows; the caller holds the write lock ---------------------------------- */

/* Drops rows whose file is gone or was replaced, and updates the other rows with the file's size on disk.
 * The caller has begun a transaction. */
int sparses_sweep(struct store *s, struct index *ix);
/* Drops the row of a key. The caller has begun a transaction. `name` is the file to remove after the
 * commit; "": the key has no file. */
int sparse_forget(struct index *ix, const char *canon, char name[static 17]);
