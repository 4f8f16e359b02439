/* The body of an answer with several ranges (multipart/byteranges, RFC 9110). Each part says which bytes it
 * has, so the boundary need not be known: the end of a part is found by counting. Any thread; allocates
 * nothing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MULTIPART_LINE 512

struct multipart {
	/* of the file: parts of another one are an error */
	uint64_t total;
	/* zero at the beginning */
	enum { MULTIPART_BETWEEN, MULTIPART_HEADERS, MULTIPART_DATA, MULTIPART_OVER } state;
	bool ranged;	    /* the headers said which bytes */
	uint64_t off, left; /* of the part: what comes next */
	unsigned parts;
	size_t n;
	char line[MULTIPART_LINE]; /* the beginning of one that is not complete */
};

/* Gets bytes of the file, at least one. A result other than 0 ends multipart_feed(). */
typedef int multipart_bytes(void *ctx, uint64_t off, const void *p, size_t n);

/* Takes the next n bytes of a body. 0; -EPROTO: not such a body; else what `each` returned: then none of
 * these n bytes count as taken, and feeding them again calls `each` with the same bytes again. */
int multipart_feed(struct multipart *m, const void *p, size_t n, multipart_bytes *each, void *ctx);
/* After the last byte: whether it ended where it should. */
bool multipart_is_over(const struct multipart *m);
