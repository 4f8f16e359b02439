/* Fuzzes the zip reader. Members that are unpacked in parts have at most the bytes that they
 * announce. The result is the same for parts of any size and for a single part. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/zip.h"
#include "fuzz/fuzz-obj.h"

#define MEMBERS_MOST 64
#define BYTES_MOST (1u << 20)

/* How it ends; *made: how much came. `out` has room for BYTES_MOST. */
static int drain(struct zip_stream *s, uint64_t size, size_t step, char *out, uint64_t *made)
{
	_cleanup_free_ char *room = malloc(step); /* to the byte, so that one too many is seen */
	struct err e = {0};

	for (*made = 0; *made < BYTES_MOST;) {
		size_t n = step;
		int r = zip_stream_read(s, room, &n, &e);

		if (r < 0)
			fuzz_must(e.text[0], "an error without words");
		if (r < 0 || !n)
			return r;
		fuzz_must(n <= step, "more than there is room for");
		fuzz_must(n <= size - *made, "more than it says");
		memcpy(out + *made, room, MIN(n, BYTES_MOST - *made));
		*made += n;
	}
	return -EFBIG;
}

static int stream(struct zip *z, const struct zip_entry *entry, size_t step, char *out, uint64_t *made)
{
	struct zip_stream *s;
	struct err e = {0};
	int r = zip_stream_open(&s, z, entry, &e);

	*made = 0;
	if (r < 0) {
		fuzz_must(e.text[0], "an error without words");
		return r;
	}
	r = drain(s, entry->size, step, out, made);
	zip_stream_close(s);
	return r;
}

static void try_member(struct zip *z, const struct zip_entry *entry, char *a, char *b)
{
	uint64_t made, again;
	int r = stream(z, entry, 4096, a, &made), small = stream(z, entry, 61, b, &again);
	_cleanup_free_ char *whole = NULL;
	size_t n;

	fuzz_must(r == small, "parts of another size end otherwise");
	if (r < 0)
		return;
	fuzz_must(made == entry->size && again == made, "not what it says");
	fuzz_must(memcmp(a, b, made) == 0, "parts of another size are other bytes");
	fuzz_must(zip_extract(z, entry, BYTES_MOST, &whole, &n, NULL) == 0, "not so at once");
	fuzz_must(n == made && memcmp(a, whole, n) == 0, "other bytes at once");
}

FUZZ_TARGET("zip", p, n)
{
	struct view v = view_of_mem(p, n);
	_cleanup_free_ char *a = malloc(BYTES_MOST), *b = malloc(BYTES_MOST);
	struct zip_entry entry;
	struct err e = {0};
	struct zip z;

	if (zip_open(&z, &v, &e) < 0)
		return 0;
	for (unsigned i = 0; i < MEMBERS_MOST && zip_next(&z, &entry, &e) == 0; i++)
		try_member(&z, &entry, a, b);
	return 0;
}
