/* Shared by the files of the worker that takes archives apart: main.c reads archives,
 * worker-send.c sends the members. The worker has one thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"
#include "unarchive/kind.h"
#include "unarchive/wire.h"

#include <stdbool.h>

/* What the worker sends, and the limits that it keeps. */
struct sender {
	struct wire_limits limits;
	uint64_t nth;	   /* members seen so far */
	uint64_t unpacked; /* bytes that were unpacked so far */
	uint64_t ticked;   /* `unpacked` at the last WIRE_TICK */
	uint32_t flags;	   /* of the next WIRE_MEMBER */
	int64_t time;	   /* of the next WIRE_MEMBER */
	uint8_t room[WIRE_BYTES_MOST];
};

/* Reads the next bytes of a member. *n is the room at `p`, and then the number of bytes: 0 at the end. 0; -errno,
 * and `e` has a text that follows a subject. */
typedef int member_read(void *ctx, void *p, size_t *n, struct err *e);

/* Counts a member. 0; -E2BIG: there are too many. */
int sender_count(struct sender *s, struct err *e);
/* Counts unpacked bytes, and says at times that the worker makes progress. 0; -EFBIG: too many. */
int sender_spend(struct sender *s, uint64_t n, struct err *e);
/* Sends a member: its name, its first bytes, and the rest if the verdict is WIRE_GO. 0: the member was read to its
 * end or up to an error, which was sent; 1: the rest of the member is to be skipped. */
int sender_member(struct sender *s, const char *name, uint64_t size, member_read *read, void *ctx);
/* Sends a member that cannot be read, with the error. */
void sender_refuse(struct sender *s, const char *name, uint64_t size, int r, const struct err *e);

/* Sends the last message. */
void sender_done(struct sender *s, int r, const struct err *e);
