/* pack-cab stored|mszip|lzx FILE OUT: makes a cabinet of one file, for tests; gcab cannot write
 * LZX. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>

/* What tests assert is, outside of a test, the end. */
#define CHECK_H
#define ck_assert(x) ((x) ? (void)0 : abort())
#define ck_assert_int_eq(a, b) ck_assert((a) == (b))
#include "packed.h"

static int usage(void)
{
	fprintf(stderr, "usage: pack-cab stored|mszip|lzx FILE OUT\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum cab_method method;
	} methods[] = {{"stored", CAB_STORED}, {"mszip", CAB_MSZIP}, {"lzx", CAB_LZX}};
	_cleanup_buf_ struct buf in = BUF_UP_TO(64 << 20), out = BUF_UP_TO(64 << 20);
	char room[8192];
	size_t n, i;
	FILE *f;

	if (argc != 4)
		return usage();
	for (i = 0; i < ARRAY_SIZE(methods) && strcmp(argv[1], methods[i].name) != 0; i++)
		;
	if (i == ARRAY_SIZE(methods))
		return usage();
	f = fopen(argv[2], "rb");
	if (!f)
		return perror(argv[2]), 1;
	while ((n = fread(room, 1, sizeof(room), f)) > 0)
		put(&in, room, n);
	fclose(f);
	pack_cab_lie(&out, in.p, in.n, methods[i].method, &(struct cab_lie){0});
	f = fopen(argv[3], "wb");
	if (!f || fwrite(out.p, 1, out.n, f) != out.n || fclose(f) != 0)
		return perror(argv[3]), 1;
	return 0;
}
