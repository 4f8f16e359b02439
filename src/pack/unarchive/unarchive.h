/* Takes an archive apart in a worker process. The worker sees the archive as a descriptor and sends the bytes of
 * the members; it can neither open files nor start processes. All that it sends counts as hostile. One thread
 * at a time for each struct unarchive. intake/, source/scan/ and fetch/ use it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "pack/unarchive/wire.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* The limits for an archive that is in no other archive. */
#define UNARCHIVE_MEMBERS_MOST (1u << 18) /* members, with directories */
/* Unpacked bytes: a hundred for each byte of the archive, but at least 256 MiB. Debug information can compress
 * thirtyfold. */
uint64_t unarchive_bytes_most(uint64_t size);

struct unarchive_opts {
	const char *program; /* NULL: `unarchive` of libexec */
	bool unsandboxed;    /* the worker may run without a system-call filter if the system cannot set one */
	const atomic_bool *stop; /* true ends the worker; NULL: never */
	struct wire_limits limits;
	unsigned stall_seconds; /* the longest silence of the worker; 0: 120 */
	unsigned wait_seconds;	/* the sum of all waits for the worker; 0: 3000, and 10 for each MiB of the archive */
};

struct unarchive_member {
	uint64_t nth;  /* the number of the member, 1 first */
	uint64_t size; /* as the archive says; VIEW_UNKNOWN: it does not */
	int64_t time;  /* seconds since 1970; 0: the archive does not say */
	bool raw;      /* not a member, but the content of a compressed file */
	char name[WIRE_NAME_MOST + 1]; /* "": none, or not usable */
};

struct unarchive;

/* Starts a worker for the archive `fd`, a regular file. 0; -errno, never -ENOENT: this machine is in trouble. */
int unarchive_open(struct unarchive **out, const struct unarchive_opts *o, int fd, struct err *e);
/* As unarchive_open(), with the socket of a worker that runs already. Takes the socket. For tests. */
int unarchive_over(struct unarchive **out, const struct unarchive_opts *o, int socket, struct err *e);
/* Ends the worker if it still runs. NULL is fine. */
void unarchive_close(struct unarchive *u);

/* Goes to the next member. Skips the present one if unarchive_read() was not called for it. 0; -ENOENT: the archive
 * has no more members, and was read to its end. Other -errno: the archive is broken, or the worker failed; `e` has a
 * text that follows a subject. */
int unarchive_next(struct unarchive *u, struct unarchive_member *out, struct err *e);
/* The first bytes of the member, valid until the next call: WIRE_BYTES_MOST, or all of a shorter member. 0;
 * -errno: the member cannot be unpacked. Then unarchive_next() continues. */
int unarchive_head(struct unarchive *u, const uint8_t **p, size_t *n, struct err *e);
/* The next bytes of the member, after unarchive_head(). *n is 0 at the end of the member. 0; -errno: the member
 * cannot be unpacked, or the worker failed. If the caller stops before the end of a member, unarchive_next() returns
 * -EFBIG, and no further member can be read. */
int unarchive_read(struct unarchive *u, const uint8_t **p, size_t *n, struct err *e);
/* The number of members seen so far. */
uint64_t unarchive_seen(const struct unarchive *u);
