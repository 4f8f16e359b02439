/* The messages between a worker that takes an archive apart and the process that started it, over a pair of
 * SOCK_SEQPACKET sockets. For each member the worker sends WIRE_MEMBER with the name, and WIRE_BYTES with the
 * first bytes (fewer than WIRE_BYTES_MOST only if the member is shorter). Then it waits for a verdict of one
 * byte. After WIRE_GO it sends the rest in further WIRE_BYTES, and WIRE_END. After WIRE_SKIP it continues with the
 * next member. WIRE_END with an error may take the place of any WIRE_BYTES; then there is no verdict. WIRE_TICK
 * says that the worker makes progress. WIRE_DONE is the last message. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdint.h>

enum wire_kind { WIRE_MEMBER = 1, WIRE_BYTES, WIRE_END, WIRE_TICK, WIRE_DONE };

/* The head of a message. n bytes follow in the same packet: the name, the bytes, or the text of an error. */
struct wire {
	uint32_t kind, n;
	int32_t r;     /* WIRE_END, WIRE_DONE: 0 or -errno */
	uint32_t flags; /* WIRE_MEMBER: WIRE_RAW, or 0 */
	uint64_t nth;  /* the number of members seen so far, with those that are left out, such as directories */
	uint64_t size; /* WIRE_MEMBER: bytes of the member; VIEW_UNKNOWN: the archive does not say */
	int64_t time;  /* WIRE_MEMBER: its time, in seconds since 1970; 0: the archive does not say */
};

#define WIRE_RAW 1u /* not a member, but the content of a compressed file */
#define WIRE_BYTES_MOST 65536u
#define WIRE_NAME_MOST 1023u
#define WIRE_TEXT_MOST 255u
#define WIRE_GO 'g'
#define WIRE_SKIP 's'

/* The worker's descriptors. */
enum { WIRE_ARCHIVE = 3, WIRE_SOCKET = 4 };

/* The limits that both processes check. The worker gets them on its command line. */
struct wire_limits {
	uint64_t bytes;	  /* bytes that the worker may unpack */
	uint64_t members; /* members that the worker may see */
};
