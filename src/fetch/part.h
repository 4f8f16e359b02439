/* A part: an identified file whose bytes are still arriving. Bytes that are present can be read; readers of
 * other bytes wait. Refcounted; any thread. Bytes that were read never change: if a source breaks off, the bytes of
 * the next source are compared with them. Before any byte was read, a part may change to another version of the
 * same size.
 *
 * A reader calls part_open(), then part_read(). After -EAGAIN it calls part_wait(), and then reads again. At the
 * end it calls part_close(). The download ends some time after the last part_close(). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct part;
struct part_wait;

struct part *part_ref(struct part *p);
void part_unref(struct part *p); /* NULL is fine */

/* Begins and ends the reading by one reader. */
void part_open(struct part *p);
void part_close(struct part *p);

uint64_t part_size(const struct part *p); /* bytes of the whole file */
/* A number that identifies the part's bytes, like blob_number(). The blob that is stored later has another number. */
uint64_t part_number(const struct part *p);
int64_t part_time(const struct part *p); /* wall clock at the part's start, in seconds */
int64_t part_modified(const struct part *p); /* time of the file at its origin; 0: unknown */
/* Whether the bytes that came first show that the file lacks the content for which its type is requested (see
 * worth_suffices()). */
bool part_is_poor(const struct part *p);

/* Whether all bytes arrived, the whole file was checked, and the file is in the store. */
bool part_is_sealed(const struct part *p);
/* Whether the bytes arrive by ranges, as readers want them, rather than from front to back. */
bool part_is_sparse(const struct part *p);
uint64_t part_present(const struct part *p); /* bytes */
struct view part_view(struct part *p); /* valid as long as the part. part_wait() waits for what it lacks */

/* Reads n bytes at `off`, and fewer only at the end of the file. Returns their number. -EAGAIN: some of the bytes
 * are not present yet. -EIO, -ENOSPC: they will never arrive (-ENOSPC: the disk is full). -EIO also if the whole
 * file was checked and is a wrong one. Takes no lock when the bytes are present. */
ssize_t part_read(struct part *p, uint64_t off, void *buf, size_t n);
/* part_read() for a reader that will not read the bytes after these: nothing is read ahead for it. */
ssize_t part_read_once(struct part *p, uint64_t off, void *buf, size_t n);
/* 0, or the error with which the download ended. Bytes that are missing then never arrive. */
int part_over(const struct part *p);

/* part_read() for bytes that part_wait() reported as present. Never returns -EAGAIN. */
ssize_t part_read_told(struct part *p, uint64_t off, void *buf, size_t n);

/* Returns how many of n bytes at `off` are present without a gap. For a sparse file the number is a lower bound:
 * unless all n bytes are present, only the block of the first byte counts. At least 1 after a wait for PART_FIRST
 * reported bytes. A piece of a block may be discarded before it is read; then part_read() returns -EAGAIN. */
size_t part_here(const struct part *p, uint64_t off, size_t n);

/* After part_read() returned -EAGAIN: whether this read should fail. The kernel reads around a page; if that read
 * fails, the kernel asks for the page alone. Never true twice for the same bytes, and only if bytes that no reader
 * needs would be fetched. */
bool part_refuses(struct part *p, uint64_t off, size_t n);

/* Runs once, with no lock held, and must not wait. `r` is 0 if the bytes are present, else -EIO, -ENOSPC or
 * -EINTR. */
typedef void part_ready(void *ctx, int r);

enum part_wanted {
	PART_ALL,
	PART_FIRST, /* the wait ends with the first byte, but all bytes are fetched */
	/* The bytes are one of many short ranges that lie far apart. The ranges of all such waits are fetched in one
	 * request, in pages instead of blocks. The bytes must lie in one PART_PIECE of the file. */
	PART_FAR,
	PART_SEALED /* the wait ends with part_is_sealed(), whatever `off` and `n` are */
};
#define PART_PIECE 8192u
/* Waits for n bytes at `off`. 0: `ready` will run; *out was written before, and the caller must unref it. 1: the
 * bytes are present by now, or will never arrive: call part_read() to learn which. -ENOMEM. */
int part_wait(struct part *p, enum part_wanted what, uint64_t off, size_t n, part_ready *ready, void *ctx,
	struct part_wait **out);
/* Between part_hold() and part_release() the part collects waits: the flight learns of all of them at once. */
void part_hold(struct part *p);
void part_release(struct part *p);

struct part_wait *part_wait_ref(struct part_wait *w);
/* The caller stops waiting: ready(-EINTR) runs in this call, unless it already ran. */
void part_wait_cancel(struct part_wait *w);
void part_wait_unref(struct part_wait *w);
/* Sets the thread that waits, for part_waiting(). */
void part_wait_set_pid(struct part_wait *w, int pid);
/* Calls `each` with the threads that wait for bytes. */
void part_waiting(struct part *p, void (*each)(void *ctx, int pid), void *ctx);
/* The maker of a file that is being downloaded from another symfs, which made it; "": the file is as published. Valid
 * as long as the part. */
const char *part_maker(const struct part *p);
