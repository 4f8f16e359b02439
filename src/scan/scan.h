/* A local directory tree as a source: a build directory, /usr/lib/debug. A thread walks the tree, identifies
 * each file with obj/, and follows changes with inotify. If the kernel cannot watch all directories, the
 * thread walks the tree again each minute. The answers are hints: the reader of a file checks its identity.
 *
 * Links are not followed; other file systems are entered, except symfs mounts. A memory file records the
 * tree's files by inode, size and time, so that the next process reads only changed files. SCAN_FILES and
 * SCAN_DEPTH bound the scan. Any thread may ask. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "id/key.h"

#define SCAN_FILES 1000000u
#define SCAN_DEPTH 64u

struct scan;

/* Starts to walk `path`, which need not exist yet. `memory` names the memory file, in an existing directory;
 * NULL: no memory file. 0, -errno. */
int scan_start(struct scan **out, const char *path, const char *memory, struct err *e);
/* Writes the memory file and ends the thread; NULL is fine. If the tree's file system does not answer, the
 * thread and its data are leaked. */
void scan_stop(struct scan *s);

const char *scan_path(const struct scan *s);

/* Appends the path, below scan_path(), of the nth file with the key. n counts from 0; the best file comes first.
 * 0. -ENOENT: there are no more such files. -EAGAIN: no more were found so far, but the tree is still being walked.
 * Errors of buf_addf(). */
int scan_find(struct scan *s, const struct key *k, unsigned nth, struct buf *path);

/* Calls `each` without a lock for at most `most` of the keys known now, in no order; a key can come twice.
 * Stops when `each` returns non-zero, and returns that value. 0, -ENOMEM. */
int scan_each(struct scan *s, size_t most, int (*each)(void *ctx, const struct key *k, uint64_t size), void *ctx);

/* The state in words: "there, 1200 artifacts in 3000 files", "being walked, ...", or the error. */
void scan_state(struct scan *s, char out[static 240]);
