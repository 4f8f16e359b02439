/* Tests base/zip.c: members of every form, unpacked in parts of any size; false sizes and
 * checksums; archives truncated anywhere, and with any byte changed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "zips.h"
#include "base/zip-write.h"

#include <stdio.h>
#include <time.h>

static struct image image;

static void begin(void)
{
	memset(&image, 0, sizeof(image));
}

/* All members through `step` bytes of room. The sum of what came out; *r: how the last one ended. */
static size_t run_all(const void *p, size_t n, size_t step, const char *const *texts, int *r)
{
	struct view v = view_of_mem(p, n);
	struct zip_entry entry;
	size_t sum = 0;
	struct err e = {0};
	struct zip z;

	*r = zip_open(&z, &v, &e);
	for (unsigned i = 0; *r == 0 && (*r = zip_next(&z, &entry, &e)) == 0; i++) {
		_cleanup_free_ char *room = malloc(step);
		struct zip_stream *s;
		size_t made = 0, got;

		*r = zip_stream_open(&s, &z, &entry, &e);
		if (*r < 0)
			break;
		do {
			got = step;
			*r = zip_stream_read(s, room, &got, &e);
			if (*r < 0)
				break;
			ck_assert_uint_le(got, step);
			if (texts)
				ck_assert_mem_eq(room, texts[i] + made, got);
			made += got;
			ck_assert_uint_le(made, entry.size);
		} while (got);
		if (*r == 0) { /* the end stays the end */
			got = step;
			ck_assert_int_eq(zip_stream_read(s, room, &got, &e), 0);
			ck_assert_uint_eq(got, 0);
			ck_assert_uint_eq(made, entry.size);
		}
		sum += made;
		zip_stream_close(s);
	}
	if (*r < 0 && *r != -ENOENT && *r != -ENOMSG)
		ck_assert_str_ne(e.text, "");
	return sum;
}

static char *long_text(size_t n)
{
	char *p = malloc(n + 1);

	ck_assert_ptr_nonnull(p);
	for (size_t i = 0; i < n; i++)
		p[i] = "symbols "[i % 8];
	p[n] = '\0';
	return p;
}

START_TEST(every_form)
{
	_cleanup_free_ char *many = long_text(300000);
	const char *const texts[] = {"first, some words", "", many, "last"};
	static const size_t steps[] = {1, 7, 4096, 1 << 20};

	for (unsigned i = 0; i < 32; i++) {
		int r;

		begin();
		image.counted_from = 0;
		for (unsigned t = 0; t < ARRAY_SIZE(texts); t++)
			member_as(&image, "a", texts[t], t == 2 || i & 1 ? 8 : 0, i & 2, i & 4);
		end_with(&image, i & 8, i & 16 ? "with words behind" : "");
		for (unsigned k = i ? 1 : 0; k < ARRAY_SIZE(steps); k++) {
			ck_assert_uint_eq(run_all(image.p, image.n, steps[k], texts, &r), 17 + 300000 + 4);
			ck_assert_int_eq(r, -ENOENT);
		}
	}
}
END_TEST

/* What the first member says when its entry is changed there. */
static int lie(unsigned method, size_t at, unsigned value, const char *words)
{
	static const char text[] = "some words, some words, some words";
	struct view v;
	struct zip_entry entry;
	struct zip_stream *s;
	struct err e = {0};
	char room[100];
	struct zip z;
	size_t n;
	int r;

	begin();
	member(&image, "a", text, method, false);
	image.entries[at] = (uint8_t)(image.entries[at] + value);
	end_with(&image, false, "");
	v = view_of_mem(image.p, image.n);
	ck_assert_int_eq(zip_open(&z, &v, &e), 0);
	ck_assert_int_eq(zip_next(&z, &entry, &e), 0);
	r = zip_stream_open(&s, &z, &entry, &e);
	if (r == 0) {
		do {
			n = sizeof(room);
			r = zip_stream_read(s, room, &n, &e);
		} while (r == 0 && n);
		zip_stream_close(s);
	}
	ck_assert_msg(strstr(e.text, words), "%s instead of %s", e.text, words);
	return r;
}

#define FLAGS 8
#define METHOD 10
#define CRC 16
#define PACKED 20
#define SIZE 24
#define PLACE 42

START_TEST(lies)
{
	ck_assert_int_eq(lie(8, SIZE, 1, "fewer bytes than it says"), -EBADMSG);
	ck_assert_int_eq(lie(8, SIZE, 255, "more bytes than it says"), -EBADMSG);
	ck_assert_int_eq(lie(8, SIZE + 3, 1, "its sizes contradict"), -EBADMSG);
	ck_assert_int_eq(lie(0, SIZE, 1, "its sizes contradict"), -EBADMSG);
	ck_assert_int_eq(lie(0, CRC, 1, "its checksum differs"), -EBADMSG);
	ck_assert_int_eq(lie(8, CRC, 1, "its checksum differs"), -EBADMSG);
	ck_assert_int_eq(lie(8, PACKED, 255, "cannot be unpacked"), -EBADMSG);
	ck_assert_int_eq(lie(8, PACKED + 3, 1, "lies outside"), -EBADMSG);
	ck_assert_int_eq(lie(8, PLACE + 3, 1, "outside"), -EBADMSG);
	ck_assert_int_eq(lie(8, PLACE, 1, "has no header"), -EBADMSG);
	ck_assert_int_eq(lie(8, FLAGS, 1, "is encrypted"), -ENOTSUP);
	ck_assert_int_eq(lie(0, METHOD, 12, "method 12"), -ENOTSUP);
	ck_assert_int_eq(lie(0, METHOD, 8, "unpacked"), -EBADMSG);
}
END_TEST

static void two_members(void)
{
	begin();
	member_as(&image, "a", "some words, some words, some words", 8, false, true);
	member_as(&image, "b", "others", 0, true, false);
	end_with(&image, true, "");
}

START_TEST(cut_anywhere)
{
	int r;

	two_members();
	for (size_t n = 0; n < image.n; n++) {
		_cleanup_free_ uint8_t *copy = malloc(n + !n);

		memcpy(copy, image.p, n);
		run_all(copy, n, 64, NULL, &r);
		ck_assert(r == -ENOMSG || r == -EBADMSG);
		/* From the front: the directory is there, and what it speaks of is not. */
		memcpy(copy, image.p + image.n - n, n);
		run_all(copy, n, 64, NULL, &r);
		ck_assert(r == -ENOMSG || r == -EBADMSG || r == -ENOTSUP);
	}
}
END_TEST

START_TEST(any_byte)
{
	static const uint8_t flips[] = {1, 0x80, 0xff};
	int r;

	two_members();
	for (size_t at = 0; at < image.n; at++)
		for (unsigned i = 0; i < ARRAY_SIZE(flips); i++) {
			image.p[at] ^= flips[i];
			run_all(image.p, image.n, 64, NULL, &r);
			ck_assert(r == -ENOENT || r == -ENOMSG || r == -EBADMSG || r == -ENOTSUP);
			image.p[at] ^= flips[i];
		}
}
END_TEST

START_TEST(links)
{
	struct zip_entry entry;
	struct err e = {0};
	struct view v;
	struct zip z;

	begin();
	member(&image, "a", "b", 0, false);
	image.entries[41] = 0xa1; /* 0120777 */
	image.entries[40] = 0xff;
	image.entries[5] = 3;
	member(&image, "b", "b", 0, false);
	end_with(&image, false, "");
	v = view_of_mem(image.p, image.n);
	ck_assert_int_eq(zip_open(&z, &v, &e), 0);
	ck_assert_int_eq(zip_next(&z, &entry, &e), 0);
	ck_assert(entry.link);
	ck_assert_int_eq(zip_next(&z, &entry, &e), 0);
	ck_assert(!entry.link);
}
END_TEST

/* The time of an entry: every day of the format as the C library counts it, and no date. */
START_TEST(times)
{
	for (unsigned day = 0; day < 128 * 366; day++) {
		struct tm tm = {.tm_year = 80, .tm_mday = 1 + (int)day, .tm_hour = 23, .tm_min = 59, .tm_sec = 58};
		int64_t wanted = timegm(&tm);
		struct zip_entry entry;
		struct err e = {0};
		struct view v;
		struct zip z;

		if (tm.tm_year >= 80 + 128)
			break;
		begin();
		member(&image, "a", "b", 0, false);
		image.entries[12] = (59 << 5 & 255) | 29;
		image.entries[13] = 23 << 3 | 59 >> 3;
		image.entries[14] = (uint8_t)((tm.tm_mon + 1) << 5 | tm.tm_mday);
		image.entries[15] = (uint8_t)((tm.tm_year - 80) << 1 | (tm.tm_mon + 1) >> 3);
		if (day == 7)
			image.entries[14] = image.entries[15] = 0, wanted = 0;
		end_with(&image, false, "");
		v = view_of_mem(image.p, image.n);
		ck_assert_int_eq(zip_open(&z, &v, &e), 0);
		ck_assert_int_eq(zip_next(&z, &entry, &e), 0);
		ck_assert_int_eq(entry.time, wanted);
	}
}
END_TEST

/* Heads that this program writes: members before and behind 4 GiB, with the checksum before or behind the bytes. The
 * bytes of the large members are a hole of a file. */
START_TEST(written)
{
	static const uint64_t sizes[][2] = {
		{5, 7}, {UINT32_MAX - 1ull, 7}, {UINT32_MAX, 7}, {5ull << 30, 5ull << 30}, {7, 5ull << 30}};

	for (unsigned i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		struct zip_stored m[2] = {{.name = "a/b", .size = sizes[i / 2][0], .crc = 11, .crc_after = i % 2},
			{.name = "\xc3\xa4", .size = sizes[i / 2][1], .crc = 12, .crc_after = true}};
		FILE *f = tmpfile();
		uint64_t at = 0, first;
		struct zip_entry entry;
		struct err e = {0};
		struct zip z;
		struct view v;

		ck_assert_ptr_nonnull(f);
		for (unsigned k = 0; k < 4; k++) {
			_cleanup_buf_ struct buf head = BUF_UP_TO(1000);

			m[k % 2].at = k < 2 ? at : m[k % 2].at;
			ck_assert_int_eq(k < 2 ? zip_write_head(&head, &m[k]) : zip_write_entry(&head, &m[k - 2]), 0);
			first = k == 2 ? at : first;
			ck_assert_int_eq(pwrite(fileno(f), head.p, head.n, (off_t)at), (int)head.n);
			at += head.n + (k < 2 ? m[k].size : 0);
			buf_clear(&head);
			ck_assert(k > 1 || zip_write_tail(&head, &m[k]) == 0);
			ck_assert(head.n == 0 || pwrite(fileno(f), head.p, head.n, (off_t)at) == (int)head.n);
			at += head.n;
		}
		_cleanup_buf_ struct buf end = BUF_UP_TO(1000);

		ck_assert_int_eq(zip_write_end(&end, 2, first, at - first), 0);
		ck_assert_int_eq(pwrite(fileno(f), end.p, end.n, (off_t)at), (int)end.n);
		v = view_of_fd(fileno(f), at + end.n);
		ck_assert_msg(zip_open(&z, &v, &e) == 0, "%s", e.text);
		for (unsigned k = 0; k < 2; k++) {
			uint64_t data = 0;

			ck_assert_msg(zip_next(&z, &entry, &e) == 0, "%s", e.text);
			ck_assert_str_eq(entry.name, m[k].name);
			ck_assert(entry.size == m[k].size && entry.packed == m[k].size && entry.crc == m[k].crc);
			ck_assert(entry.at == m[k].at && entry.method == 0);
			ck_assert_msg(zip_member(&z, &entry, &data, &e) == 0, "%s", e.text);
		}
		ck_assert_int_eq(zip_next(&z, &entry, &e), -ENOENT);
		fclose(f);
	}
}
END_TEST

UNIT_MAIN("zip", written, every_form, lies, cut_anywhere, any_byte, links, times)
