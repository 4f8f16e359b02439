/* An arbitrary tree of this machine as a source: a build directory, /usr/lib/debug. A thread of its
 * own walks it, asks obj/ what each file is, and follows changes (inotify; where there are more
 * directories than the kernel watches, by walking again each minute). Its answers are hints: the
 * reader of the file checks its identity again.
 *
 * Links are not followed; other file systems are entered, but not a symfs mount. A file remembers
 * the tree's files by inode, size and time, so that the next process reads only what changed. Bounded: SCAN_FILES, SCAN_DEPTH. Any thread may ask. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "id/key.h"

#define SCAN_FILES 1000000u
#define SCAN_DEPTH 64u

struct scan;

/* Starts to walk `path`, which need not be there yet. `memory` names the file that remembers, in
 * a directory that exists; NULL: nothing is remembered. 0, -errno. */
int scan_start(struct scan **out, const char *path, const char *memory, struct err *e);
/* Writes the memory down, ends the thread; NULL is fine. A tree that does not answer is given up: its
 * thread stays, with what it needs. */
void scan_stop(struct scan *s);

const char *scan_path(const struct scan *s);

/* Adds the path, below scan_path(), of the nth file (0 first) that answers to the key: the largest
 * first. -ENOENT: there are no more, and the tree was walked. -EAGAIN: it is still being walked. */
int scan_find(struct scan *s, const struct key *k, unsigned nth, struct buf *path);

/* At most `most` keys of those that are known now, in no order, some twice. No lock is held while `each` runs.
 * Stops when that returns non-zero, and returns it. -ENOMEM. */
int scan_each(struct scan *s, size_t most, int (*each)(void *ctx, const struct key *k, uint64_t size), void *ctx);

/* "there, 1200 files with symbols" */
void scan_state(struct scan *s, char out[static 240]);
