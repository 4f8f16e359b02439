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
	/* zero before the first byte */
	enum { MULTIPART_BETWEEN, MULTIPART_HEADERS, MULTIPART_DATA, MULTIPART_OVER } state;
	bool ranged;	    /* the headers of the part named its range */
	uint64_t off, left; /* of the part: the next offset in the file, and how many bytes are left */
	unsigned parts;
	size_t n;
	char line[MULTIPART_LINE]; /* the beginning of an incomplete line */
};

/* Gets bytes of the file, at least one. A result other than 0 ends multipart_feed(). */
typedef int multipart_bytes(void *ctx, uint64_t off, const void *p, size_t n);

/* Takes the next n bytes of a body. 0; -EPROTO: not such a body; else what `each` returned. Then none of
 * the n bytes count as taken: feeding them again passes the same bytes to `each`. */
int multipart_feed(struct multipart *m, const void *p, size_t n, multipart_bytes *each, void *ctx);
/* After the last byte: whether the body is complete. */
bool multipart_is_over(const struct multipart *m);
