/* Sends the members of an archive from the worker to the process that started it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "unarchive/private.h"

#include <string.h>
#include <sys/uio.h>

#define TICK_EVERY (16ull << 20) /* unpacked bytes between two signs of progress */

/* Ends the worker when the other side is gone. */
static void send_wire(struct sender *s, struct wire w, const void *p)
{
	struct iovec parts[] = {{&w, sizeof(w)}, {(void *)p, w.n}};

	w.nth = s->nth;
	if (writev(WIRE_SOCKET, parts, w.n ? 2 : 1) != (ssize_t)(sizeof(w) + w.n))
		_exit(3);
}

static void send_result(struct sender *s, enum wire_kind kind, int r, const struct err *e)
{
	const char *text = r < 0 ? e->text[0] ? e->text : err_text(r) : "";

	send_wire(s, (struct wire){.kind = kind, .r = r, .n = (uint32_t)strnlen(text, WIRE_TEXT_MOST)}, text);
}

int sender_count(struct sender *s, struct err *e)
{
	s->nth++;
	return s->nth <= s->limits.members ? 0 : err_set(e, -E2BIG, "more than %llu members",
							(unsigned long long)s->limits.members);
}

int sender_spend(struct sender *s, uint64_t n, struct err *e)
{
	if (n > s->limits.bytes - s->unpacked)
		return err_set(e, -EFBIG, "the archive expands to too many bytes");
	s->unpacked += n;
	if (s->unpacked - s->ticked >= TICK_EVERY) {
		s->ticked = s->unpacked;
		send_wire(s, (struct wire){.kind = WIRE_TICK}, NULL);
	}
	return 0;
}

static void send_member(struct sender *s, const char *name, uint64_t size)
{
	size_t n = strlen(name);

	send_wire(s, (struct wire){.kind = WIRE_MEMBER, .size = size, .time = s->time, .flags = s->flags,
			     .n = n <= WIRE_NAME_MOST ? (uint32_t)n : 0}, name);
}

void sender_refuse(struct sender *s, const char *name, uint64_t size, int r, const struct err *e)
{
	send_member(s, name, size);
	send_result(s, WIRE_END, r, e);
}

/* Fills the room with the next bytes of a member: all of it, unless the member ends. */
static int fill(struct sender *s, member_read *read, void *ctx, size_t *n, struct err *e)
{
	int r = 0;

	for (*n = 0; r == 0 && *n < sizeof(s->room);) {
		size_t got = sizeof(s->room) - *n;

		r = read(ctx, s->room + *n, &got, e);
		if (r == 0 && !got)
			break;
		if (r == 0) {
			*n += got;
			r = sender_spend(s, got, e);
		}
	}
	return r;
}

static char verdict(void)
{
	char c;

	if (read(WIRE_SOCKET, &c, 1) != 1)
		_exit(3);
	return c;
}

int sender_member(struct sender *s, const char *name, uint64_t size, member_read *read, void *ctx)
{
	struct err e = {0};
	size_t n;
	int r;

	send_member(s, name, size);
	r = fill(s, read, ctx, &n, &e);
	if (r == 0) {
		send_wire(s, (struct wire){.kind = WIRE_BYTES, .n = (uint32_t)n}, s->room);
		if (verdict() != WIRE_GO)
			return 1;
	}
	while (r == 0 && n == sizeof(s->room)) {
		r = fill(s, read, ctx, &n, &e);
		if (r == 0 && n)
			send_wire(s, (struct wire){.kind = WIRE_BYTES, .n = (uint32_t)n}, s->room);
	}
	send_result(s, WIRE_END, r, &e);
	return 0;
}

void sender_done(struct sender *s, int r, const struct err *e)
{
	send_result(s, WIRE_DONE, r, e);
}
