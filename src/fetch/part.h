/* A file that is still coming, and was identified: what is here of it may be read, and readers of other bytes
 * wait. Refcounted; any thread. Bytes that were read never change: what another source sends in place of one that
 * broke off is compared with what was here before. A part of which no byte was read may become one of another
 * version that is as long.
 *
 * A reader: part_open(), then part_read(); after -EAGAIN part_wait(), and then it reads again;
 * part_close(). The last one to close ends the download, after a while. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct part;
struct part_wait;

struct part *part_ref(struct part *p);
void part_unref(struct part *p); /* NULL is fine */

void part_open(struct part *p);
void part_close(struct part *p);

uint64_t part_size(const struct part *p); /* of the whole */
/* Of these bytes, as blob_number(); but what becomes of them has a number of its own. */
uint64_t part_number(const struct part *p);
int64_t part_time(const struct part *p); /* wall clock, when it began */

/* All of it came, was judged as a whole, and is in the store. */
bool part_is_sealed(const struct part *p);

/* n bytes at off; less only at the end. -EAGAIN: they are not all here yet. -EIO: they will not
 * come, or the file turned out to be a wrong one. Takes no lock when they are here. */
ssize_t part_read(struct part *p, uint64_t off, void *buf, size_t n);
/* 0, or the error with which it ended: what is not here by then never comes. */
int part_over(const struct part *p);

/* The same of bytes that part_wait() reported to be here: never -EAGAIN. */
ssize_t part_read_told(struct part *p, uint64_t off, void *buf, size_t n);

/* How many of n bytes at off are here, without a gap (perhaps more than that: of a file with holes it
 * looks at the block of the first one only, unless all are here). Some, when part_wait_first() says so.
 * Pieces of a block may be forgotten before they are read: then part_read() says -EAGAIN. */
size_t part_here(const struct part *p, uint64_t off, size_t n);

/* After -EAGAIN: should this read fail? The kernel reads around a page, and after a failure asks for the page
 * alone. Never true twice for the same bytes, and only where unneeded bytes would have to be fetched. */
bool part_refuses(struct part *p, uint64_t off, size_t n);

/* Runs once, with no lock held: 0: they are here, or -EIO, -EINTR. It must not wait. */
typedef void part_ready(void *ctx, int r);

/* 0: ready will run; *out was written before, and is the caller's to unref. 1: they are here by
 * now, or there is an error: part_read() says which. -ENOMEM. */
int part_wait(struct part *p, uint64_t off, size_t n, part_ready *ready, void *ctx,
	struct part_wait **out);
/* The same for a reader that takes what there is: the wait ends with the first of the bytes, and all are fetched. */
int part_wait_first(struct part *p, uint64_t off, size_t n, part_ready *ready, void *ctx,
	struct part_wait **out);
/* The same until part_is_sealed(). */
int part_wait_sealed(struct part *p, part_ready *ready, void *ctx, struct part_wait **out);

struct part_wait *part_wait_ref(struct part_wait *w);
/* I stopped waiting: ready(-EINTR) runs in this call, unless it ran. */
void part_wait_cancel(struct part_wait *w);
void part_wait_unref(struct part_wait *w);
