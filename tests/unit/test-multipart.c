/* Tests net/multipart.c: bodies as servers send them, in pieces of any size, and malformed ones. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/multipart.h"
#include "base/util.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct told {
	char file[101];
	int fail_at; /* the call that fails; 0: none */
	int calls;
};

static int tell(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct told *t = ctx;

	ck_assert_uint_ge(n, 1);
	ck_assert_uint_le(off + n, 100);
	if (++t->calls == t->fail_at)
		return -EAGAIN;
	memcpy(t->file + off, p, n);
	return 0;
}

static int feed_by(const char *body, size_t step, struct told *t, bool *over)
{
	struct multipart m = {.total = 100};
	size_t n = strlen(body);
	int r = 0;

	*t = (struct told){.file = {0}};
	memset(t->file, '.', 100);
	for (size_t at = 0; r == 0 && at < n; at += step)
		r = multipart_feed(&m, body + at, MIN(step, n - at), tell, t);
	*over = multipart_is_over(&m);
	return r;
}

#define PART(range, text) "\r\n--x\r\nContent-Type: a/b\r\nContent-Range: bytes " range "/100\r\n\r\n" text

START_TEST(bodies_of_servers)
{
	static const char *const bodies[] = {
		PART("3-5", "abc") PART("90-91", "\r\n") PART("7-7", "-") "\r\n--x--\r\n",
		/* A preamble of lines that are empty, the header in another case, no type, and no end of the last
		 * line. */
		"--x\ncontent-range:bytes 3-5/100\n\nabc\n--x\ncontent-range: BYTES 90-91/100\n\n\r\n\n--x\n"
		"content-range: bytes 7-7/100\n\n-\n--x--",
	};

	for (unsigned i = 0; i < ARRAY_SIZE(bodies); i++)
		for (size_t step = 1; step <= strlen(bodies[i]); step++) {
			struct told t;
			bool over;

			ck_assert_int_eq(feed_by(bodies[i], step, &t, &over), 0);
			ck_assert_msg(over, "%u is not over", i);
			ck_assert_int_eq(memcmp(t.file, "...abc.-", 8), 0);
			ck_assert_int_eq(memcmp(t.file + 89, ".\r\n.", 4), 0);
		}
}
END_TEST

START_TEST(bodies_that_are_none)
{
	static const char *const bodies[] = {
		"<html>",
		"--x--\r\n",
		"--x\r\n\r\nabc",					      /* no range */
		"--x\r\nContent-Range: bytes 3-5/101\r\n\r\nabc",	      /* another file */
		"--x\r\nContent-Range: bytes 3-5/*\r\n\r\nabc",
		"--x\r\nContent-Range: bytes 5-3/100\r\n\r\nabc",
		"--x\r\nContent-Range: bytes 99-100/100\r\n\r\nab",	      /* past the end */
		"--x\r\nContent-Range: bytes 99999999999999999999-5/100\r\n\r\nab",
		"--x\r\nContent-Range: bytes -5/100\r\n\r\nab",
		"--x\r\nContent-Range: lines 3-5/100\r\n\r\nabc",
		PART("3-5", "abcd") "\r\n--x--",			      /* more than it says */
	};
	struct told t;
	bool over;

	for (unsigned i = 0; i < ARRAY_SIZE(bodies); i++)
		for (size_t step = 1; step < 8; step++)
			ck_assert_msg(feed_by(bodies[i], step, &t, &over) == -EPROTO || !over, "%u was taken", i);
	/* One that is cut short ends well nowhere but at its end. */
	for (size_t n = 0; n < strlen(PART("3-5", "abc") "\r\n--x"); n++) {
		_cleanup_free_ char *cut = strndup(PART("3-5", "abc") "\r\n--x--", n);

		ck_assert_int_eq(feed_by(cut, 3, &t, &over), 0);
		ck_assert(!over);
	}
}
END_TEST

/* Who cannot take bytes now gets all of that piece once more. */
START_TEST(bytes_that_cannot_be_taken_now)
{
	static const char body[] = PART("3-5", "abc") PART("7-7", "-") "\r\n--x--";
	struct multipart m = {.total = 100};
	struct told t = {.fail_at = 2};

	ck_assert_int_eq(multipart_feed(&m, body, strlen(body), tell, &t), -EAGAIN);
	ck_assert_int_eq(multipart_feed(&m, body, strlen(body), tell, &t), 0);
	ck_assert(multipart_is_over(&m));
	ck_assert_int_eq(t.calls, 4);
	ck_assert_int_eq(memcmp(t.file + 3, "abc\0-", 5), 0);
}
END_TEST

START_TEST(long_lines_and_many_parts)
{
	char line[MULTIPART_LINE + 10];
	struct multipart m = {.total = 100}, many = {.total = 100};
	struct told t = {.fail_at = 0};
	int r = 0;

	memset(line, 'a', sizeof(line));
	memcpy(line, "--", 2);
	ck_assert_int_eq(multipart_feed(&m, line, sizeof(line), tell, &t), -EPROTO);
	for (unsigned i = 0; r == 0 && i < 100000; i++)
		r = multipart_feed(&many, PART("1-1", "a"), strlen(PART("1-1", "a")), tell, &t);
	ck_assert_int_eq(r, -EPROTO);
}
END_TEST

UNIT_MAIN("multipart", bodies_of_servers, bodies_that_are_none, bytes_that_cannot_be_taken_now,
	long_lines_and_many_parts)
