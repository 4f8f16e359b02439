/* Tests intake/upload/chunks.c: digests, compression in pieces of any size, limits, damage, lifetimes, and what
 * processes leave that were killed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/inflate.h"
#include "scratch.h"
#include "sha1s.h"
#include "base/clock.h"
#include "intake/upload/chunks.h"

static struct chunks *begin(uint64_t most)
{
	struct chunks *c = NULL;
	struct err e = {0};
	int r = chunks_open(&c, scratch_dir(), most, &e);

	ck_assert_msg(r == 0, "chunks_open: %s", e.text);
	return c;
}

static void end(struct chunks *c)
{
	chunks_close(c);
	scratch_end();
}

/* Sends n bytes in pieces. The first error, or the result of chunk_end(). */
static int send(struct chunks *c, const struct sha1 *name, bool gzip, const void *p, size_t n, size_t piece)
{
	struct chunk *k = NULL;
	int r = chunk_begin(&k, c, name, gzip);

	if (r < 0)
		return r;
	for (size_t at = 0; at < n; at += piece) {
		r = chunk_add(k, (const char *)p + at, MIN(piece, n - at));
		if (r < 0) {
			chunk_discard(k);
			return r;
		}
	}
	return chunk_end(k);
}

struct source {
	const uint8_t *p;
	size_t n, at;
};

static ssize_t next_bytes(void *ctx, void *out, size_t n)
{
	struct source *s = ctx;
	size_t take = MIN(n, s->n - s->at);

	memcpy(out, s->p + s->at, take);
	s->at += take;
	return (ssize_t)take;
}

static size_t pack(const void *p, size_t n, uint8_t *out, size_t room)
{
	struct source s = {p, n, 0};
	struct gzip *g = NULL;
	size_t made = 0;
	ssize_t got;

	ck_assert_int_eq(gzip_new(&g, next_bytes, &s), 0);
	while ((got = gzip_read(g, out + made, room - made)) > 0)
		made += (size_t)got;
	ck_assert_int_eq(got, 0);
	gzip_free(g);
	return made;
}

static void check_content(struct chunks *c, const struct sha1 *name, const void *p, size_t n)
{
	_cleanup_free_ char *have = malloc(n + 1);
	uint64_t size = 0;
	int fd = -1;

	ck_assert(chunks_have(c, name));
	ck_assert_int_eq(chunks_open_one(c, name, &fd, &size), 0);
	ck_assert_uint_eq(size, n);
	ck_assert_int_eq(read(fd, have, n + 1), (ssize_t)n);
	ck_assert_mem_eq(have, p, n);
	close(fd);
}

START_TEST(test_names)
{
	static const char *const bad[] = {"", "00", "zz112233445566778899aabbccddeeff00112233",
		"00112233445566778899aabbccddeeff001122334", "00112233445566778899aabbccddeeff001122/3"};
	char text[SHA1_TEXT];
	struct sha1 s;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(sha1_read(bad[i], &s), -EINVAL);
	ck_assert_int_eq(sha1_read("00112233445566778899AABBCCDDEEFF00112233", &s), 0);
	ck_assert_str_eq(sha1_text(&s, text), "00112233445566778899aabbccddeeff00112233");
}
END_TEST

/* A chunk whose directory was removed, or whose place has a pipe, is sent again. */
START_TEST(test_removed)
{
	struct chunks *c = begin(0);
	char path[PATH_MAX], hex[SHA1_TEXT];
	struct sha1 name = sha1_of("bytes", 5);
	uint64_t size;
	int fd = -1;

	ck_assert_int_eq(send(c, &name, false, "bytes", 5, 5), 0);
	sha1_text(&name, hex);
	snprintf(path, sizeof(path), "%s/chunks/%.2s/%s", chunks_dir(c), hex, hex + 2);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert(!chunks_have(c, &name));
	ck_assert_int_eq(chunks_open_one(c, &name, &fd, &size), -ENOENT);
	ck_assert_int_eq(send(c, &name, false, "bytes", 5, 5), 0);
	check_content(c, &name, "bytes", 5);
	ck_assert_int_eq(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(rmdir(path), 0);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(send(c, &name, false, "bytes", 5, 5), 0);
	check_content(c, &name, "bytes", 5);
	end(c);
}
END_TEST

START_TEST(test_arrival)
{
	struct chunks *c = begin(0);
	uint8_t data[100000], packed[110000];
	struct sha1 name;
	size_t n;

	fill_bytes(data, sizeof(data), 5);
	name = sha1_of(data, sizeof(data));
	ck_assert(!chunks_have(c, &name));
	ck_assert_int_eq(send(c, &name, false, data, sizeof(data), 1000), 0);
	check_content(c, &name, data, sizeof(data));
	count_below(in_scratch("uploads/chunks"));
	ck_assert_uint_eq(below.bytes, sizeof(data));
	/* Twice is once. */
	ck_assert_int_eq(send(c, &name, false, data, sizeof(data), 99999), 0);
	count_below(in_scratch("uploads/chunks"));
	ck_assert_uint_eq(below.bytes, sizeof(data));

	for (size_t piece = 1; piece < 200000; piece = piece * 7 + 1) {
		fill_bytes(data, sizeof(data), (unsigned)piece);
		name = sha1_of(data, sizeof(data));
		n = pack(data, sizeof(data), packed, sizeof(packed));
		ck_assert_int_eq(send(c, &name, true, packed, n, piece), 0);
		check_content(c, &name, data, sizeof(data));
	}
	end(c);
}
END_TEST

/* Bytes that are not those of the name, or not compressed as announced, leave nothing. */
START_TEST(test_refusals)
{
	struct chunks *c = begin(0);
	uint8_t data[5000], packed[6000];
	struct sha1 name, other;
	struct chunk *k;
	size_t n;

	fill_bytes(data, sizeof(data), 1);
	name = sha1_of(data, sizeof(data));
	other = sha1_of("other", 5);
	n = pack(data, sizeof(data), packed, sizeof(packed));
	ck_assert_int_eq(send(c, &other, false, data, sizeof(data), 100), -EBADMSG);
	ck_assert_int_eq(send(c, &name, false, data, sizeof(data) - 1, 100), -EBADMSG);
	ck_assert_int_eq(send(c, &name, true, data, sizeof(data), 100), -EBADMSG);
	ck_assert_int_eq(send(c, &name, true, packed, n - 1, 100), -EBADMSG);
	ck_assert_int_eq(send(c, &name, true, packed, 0, 100), -EBADMSG);
	packed[n] = 'x'; /* bytes behind the end of the compressed data */
	ck_assert_int_eq(send(c, &name, true, packed, n + 1, 100), -EBADMSG);
	packed[n / 2] ^= 0x55;
	ck_assert_int_lt(send(c, &name, true, packed, n, 100), 0);
	ck_assert_int_eq(chunk_begin(&k, c, &name, false), 0);
	chunk_discard(k);
	ck_assert(!chunks_have(c, &name) && !chunks_have(c, &other));
	count_below(in_scratch("uploads/chunks"));
	ck_assert_uint_eq(below.bytes, 0);
	ck_assert_uint_eq(count_files(in_scratch("uploads/new")), 0);
	end(c);
}
END_TEST

/* A chunk is bounded, also one that expands from few bytes. */
START_TEST(test_bounds)
{
	struct chunks *c = begin(0);
	const size_t most = CHUNK_MOST;
	uint8_t *zeros = calloc(1, most + 1), packed[65536];
	struct sha1 name = sha1_of(zeros, most), more = sha1_of(zeros, most + 1);
	size_t n = pack(zeros, most + 1, packed, sizeof(packed));

	ck_assert_int_eq(send(c, &more, false, zeros, most + 1, 65536), -EFBIG);
	ck_assert_int_eq(send(c, &more, true, packed, n, 65536), -EFBIG);
	ck_assert_int_eq(send(c, &name, false, zeros, most, 65536), 0);
	count_below(in_scratch("uploads/chunks"));
	ck_assert_uint_eq(below.bytes, most);
	ck_assert_uint_eq(count_files(in_scratch("uploads/new")), 0);
	free(zeros);
	end(c);
}
END_TEST

/* When all chunks take as much as they may, those whose file is stored make room for new ones. */
START_TEST(test_full)
{
	struct chunks *c = begin(CHUNK_MOST + 3 * CHUNK_LEAST);
	struct sha1 names[5];
	char data[16];

	for (unsigned i = 0; i < 5; i++) {
		snprintf(data, sizeof(data), "chunk %u", i);
		names[i] = sha1_of(data, strlen(data));
		ck_assert_int_eq(send(c, &names[i], false, data, strlen(data), 1), i < 4 ? 0 : -ENOSPC);
	}
	count_below(in_scratch("uploads/chunks"));
	ck_assert_uint_eq(below.files, 4);
	chunks_used(c, names, 2);
	ck_assert(chunks_have(c, &names[1])); /* another request mentions it */
	ck_assert_int_eq(send(c, &names[4], false, data, strlen(data), 1), 0);
	ck_assert(!chunks_have(c, &names[0]));
	for (unsigned i = 1; i < 5; i++)
		ck_assert(chunks_have(c, &names[i]));
	end(c);
}
END_TEST

START_TEST(test_lifetime)
{
	struct chunks *c = begin(0);
	struct sha1 one = sha1_of("one", 3), two = sha1_of("two", 3), three = sha1_of("three", 5);
	int64_t now = clock_wall();
	struct chunk *k = NULL;
	struct chunks *other = NULL;
	struct err e = {0};

	ck_assert_int_eq(send(c, &one, false, "one", 3, 3), 0);
	ck_assert_int_eq(send(c, &two, false, "two", 3, 3), 0);
	chunks_used(c, &two, 1);
	ck_assert_uint_eq(chunks_sweep(c, now), 0);
	ck_assert_uint_eq(chunks_sweep(c, now + CHUNKS_GRACE + 60), 1);
	ck_assert(!chunks_have(c, &two));
	ck_assert_uint_eq(chunks_sweep(c, now + CHUNKS_SECONDS - 60), 0);
	/* A new process counts what is there, and removes what a killed process left. */
	write_file(in_scratch("uploads/new/1-1"), "x", 1);
	ck_assert_int_eq(chunk_begin(&k, c, &three, false), 0); /* and not what another one receives */
	ck_assert_int_eq(chunks_open(&other, scratch, 0, &e), 0);
	ck_assert_uint_eq(count_files(in_scratch("uploads/new")), 1);
	chunks_close(other);
	ck_assert_int_eq(chunk_add(k, "three", 5), 0);
	ck_assert_int_eq(chunk_end(k), 0);
	chunks_used(c, &three, 1);
	ck_assert_uint_eq(chunks_sweep(c, now + CHUNKS_GRACE + 60), 1);
	chunks_close(c);
	ck_assert_int_eq(chunks_open(&c, scratch, 0, &e), 0);
	ck_assert(chunks_have(c, &one));
	count_below(in_scratch("uploads/chunks"));
	ck_assert_uint_eq(below.files, 1);
	ck_assert_uint_eq(chunks_sweep(c, now + CHUNKS_SECONDS + 60), 1);
	count_below(in_scratch("uploads/chunks"));
	ck_assert_uint_eq(below.bytes, 0);
	ck_assert(!chunks_have(c, &one));
	end(c);
}
END_TEST

/* After a power failure a chunk may have other bytes than its name says. */
START_TEST(test_damage)
{
	struct chunks *c = begin(0);
	struct sha1 one = sha1_of("one", 3);
	char hex[SHA1_TEXT], path[128];
	int fd = -1;
	uint64_t size;

	ck_assert_int_eq(send(c, &one, false, "one", 3, 3), 0);
	ck_assert(!chunks_drop_damaged(c, &one));
	sha1_text(&one, hex);
	snprintf(path, sizeof(path), "uploads/chunks/%.2s/%s", hex, hex + 2);
	write_file(in_scratch(path), "two", 3);
	ck_assert(chunks_drop_damaged(c, &one));
	ck_assert(!chunks_drop_damaged(c, &one));
	ck_assert_int_eq(chunks_open_one(c, &one, &fd, &size), -ENOENT);
	count_below(in_scratch("uploads/chunks"));
	ck_assert_uint_eq(below.bytes, 0);
	/* No chunk is so large. */
	ck_assert_int_eq(send(c, &one, false, "one", 3, 3), 0);
	ck_assert(chunks_have(c, &one) && truncate(in_scratch(path), CHUNK_MOST + 1) == 0 && !chunks_have(c, &one));
	ck_assert_int_eq(chunks_open_one(c, &one, &fd, &size), -ENOENT);
	end(c);
}
END_TEST

/* The directory may be removed under a running server. */
START_TEST(test_removed_directory)
{
	struct chunks *c = begin(0);
	struct sha1 one = sha1_of("one", 3);

	ck_assert_int_eq(send(c, &one, false, "one", 3, 3), 0);
	nftw(in_scratch("uploads"), scratch_rm, 16, FTW_DEPTH | FTW_PHYS);
	ck_assert(!chunks_have(c, &one));
	ck_assert_int_eq(send(c, &one, false, "one", 3, 3), 0);
	ck_assert(chunks_have(c, &one));
	end(c);
}
END_TEST

UNIT_MAIN("chunks", test_names, test_arrival, test_removed, test_refusals, test_bounds, test_full, test_lifetime,
	test_damage, test_removed_directory)
