/* Parses the body of an answer with several ranges (multipart/byteranges, RFC 9110). Each part names its
 * range, so the parser counts to the end of a part and does not need the boundary. Any thread; allocates
 * nothing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MULTIPART_LINE 512

struct multipart {
	/* size of the file: a part that names another size is an error */
	uint64_t total;
	/* the following fields: zero before the first byte */
	enum { MULTIPART_BETWEEN, MULTIPART_HEADERS, MULTIPART_DATA, MULTIPART_OVER } state;
	bool ranged;	    /* the headers of the current part named its range */
	uint64_t off, left; /* of the current part: its next offset in the file, and how many of its bytes
			       are left */
	unsigned parts;
	size_t n;
	char line[MULTIPART_LINE]; /* the first n bytes of an incomplete line */
};

/* Receives n bytes (at least one) of the file, at offset `off`. A result other than 0 ends
 * multipart_feed(). */
typedef int multipart_bytes(void *ctx, uint64_t off, const void *p, size_t n);

/* Parses the next n bytes of a body. 0; -EPROTO: the body is malformed; else the result of `each`. After an
 * error none of the n bytes count as consumed: feeding them again passes the same bytes to `each`. */
int multipart_feed(struct multipart *m, const void *p, size_t n, multipart_bytes *each, void *ctx);
/* Whether the body is complete. Call it after the last byte. */
bool multipart_is_over(const struct multipart *m);
