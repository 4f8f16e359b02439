/* Fuzzes the unpackers with any bytes: unpacking the whole, and a stream that arrives in parts,
 * gives the same. The size of the result is bounded. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "pack/unpack/unpack.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MOST (1u << 20)

struct sum {
	uint64_t n, mix;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static int add(void *ctx, const void *p, size_t n)
{
	struct sum *s = ctx;

	for (size_t i = 0; i < n; i++)
		s->mix = (s->mix ^ ((const uint8_t *)p)[i]) * 0x100000001b3;
	s->n += n;
	return 0;
}

static int run(const uint8_t *p, size_t n, size_t step, struct sum *out)
{
	struct view v = view_of_mem(p, n);
	_cleanup_unpack_ struct unpack *u = NULL;
	struct err e = {0};
	int r;

	*out = (struct sum){0};
	must(unpack_new(&u, packing_of(p, n), MOST, add, out) == 0, "no memory");
	if (step) {
		v.have = MIN(step, n);
		v.size = VIEW_UNKNOWN;
	}
	while ((r = unpack_more(u, &v, &e)) == -EAGAIN) {
		must(v.size == VIEW_UNKNOWN && v.want_len, "a whole file waits");
		if (v.have == n)
			v.size = n;
		v.have = MIN(v.have + step, n);
	}
	must(r == 0 || e.text[0], "an error without words");
	must(r == 0 || r == -EBADMSG || r == -EFBIG || r == -ENOTSUP || r == -ENOMEM,
		"another error");
	must(out->n <= MOST && out->n == unpack_made(u), "more than may");
	return r;
}

FUZZ_TARGET("unpack", p, n)
{
	const struct packing *packing = packing_of(p, n);
	struct sum whole, parts;
	uint8_t head[64];
	int r;

	if (!packing)
		return 0;
	must(unpack_peek(packing, p, n, head, sizeof(head)) <= sizeof(head), "a peek too long");
	r = run(p, n, 0, &whole);
	if (r != -ENOMEM && run(p, n, n / 7 + 1, &parts) == 0)
		must(r == 0 && memcmp(&whole, &parts, sizeof(whole)) == 0,
			"parts are something else");
	else
		must(r != 0, "parts are refused");
	return 0;
}
