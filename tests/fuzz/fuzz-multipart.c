/* Fuzzes the reader of multipart bodies with several ranges. It reports no bytes outside of the
 * file, and the same ranges whatever the size of the pieces in which the body arrives. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/multipart.h"
#include "fuzz/fuzz-obj.h"

#define TOTAL 1000u

struct told {
	uint8_t file[TOTAL];
	uint64_t bytes;
};

static int tell(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct told *t = ctx;

	fuzz_must(n && off < TOTAL && n <= TOTAL - off, "bytes outside of the file");
	memcpy(t->file + off, p, n);
	t->bytes += n;
	return 0;
}

/* Steps of one size; on an error what came before it counts. */
static int feed(const uint8_t *p, size_t n, size_t step, struct told *t, bool *over)
{
	struct multipart m = {.total = TOTAL};
	int r = 0;

	memset(t, 0, sizeof(*t));
	for (size_t at = 0; at < n && r == 0; at += step)
		r = multipart_feed(&m, p + at, MIN(step, n - at), tell, t);
	*over = multipart_is_over(&m);
	return r;
}

FUZZ_TARGET("multipart", p, n)
{
	struct told one, all;
	bool one_over, all_over;
	int r = feed(p, n, 1, &one, &one_over), whole = feed(p, n, n ? n : 1, &all, &all_over);

	fuzz_must(r == whole, "pieces of another size end otherwise");
	fuzz_must(one.bytes == all.bytes && memcmp(one.file, all.file, TOTAL) == 0, "other bytes");
	fuzz_must(r < 0 || one_over == all_over, "over, or not");
	return 0;
}
