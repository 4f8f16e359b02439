/* Fuzzes the messages of a worker that takes an archive apart. The input is a series of packets, each after its
 * length in two bytes. Whatever comes, the reader ends, hands over no more bytes than a packet holds, and gives a
 * reason for each error. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pack/unarchive/unarchive.h"
#include "fuzz/fuzz-obj.h"

#include <sys/socket.h>

#define MEMBERS_MOST 1000u
#define BYTES_MOST (1u << 20)

static void send_packets(int socket, const uint8_t *p, size_t n)
{
	while (n >= 2) {
		size_t len = MIN((size_t)(p[0] | p[1] << 8), n - 2);

		if (send(socket, p + 2, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return;
		p += 2 + len;
		n -= 2 + len;
	}
}

/* Reads every other member. */
static void read_member(struct unarchive *u, bool skip)
{
	struct err e = {0};
	const uint8_t *p;
	size_t n;
	int r = unarchive_head(u, &p, &n, &e);
	uint8_t last = 0;

	while (r == 0 && n) {
		fuzz_must(n <= WIRE_BYTES_MOST, "more than a packet holds");
		last ^= p[n - 1];
		if (skip)
			return;
		r = unarchive_read(u, &p, &n, &e);
	}
	fuzz_must(r == 0 || e.text[0], "an error without words");
	fuzz_must(last + 1, "the bytes can be read");
}

FUZZ_TARGET("unarchive", p, n)
{
	struct unarchive_opts o = {.limits = {BYTES_MOST, MEMBERS_MOST}, .stall_seconds = 5};
	struct unarchive_member m;
	struct unarchive *u;
	struct err e = {0};
	unsigned members = 0;
	int pair[2], r;

	fuzz_must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "no sockets");
	send_packets(pair[1], p, n);
	shutdown(pair[1], SHUT_WR);
	fuzz_must(unarchive_over(&u, &o, pair[0], &e) == 0, "no memory");
	while ((r = unarchive_next(u, &m, &e)) == 0) {
		fuzz_must(strlen(m.name) <= WIRE_NAME_MOST, "a long name");
		fuzz_must(m.nth <= MEMBERS_MOST + 1, "too many members");
		read_member(u, members++ % 2);
	}
	fuzz_must(r == -ENOENT || e.text[0], "an error without words");
	fuzz_must(r != -ENOSPC && r != -EIO && r != -ENOMEM, "a worker cannot report trouble of this machine");
	fuzz_must(unarchive_next(u, &m, &e) == r, "another end");
	unarchive_close(u);
	close(pair[1]);
	return 0;
}
