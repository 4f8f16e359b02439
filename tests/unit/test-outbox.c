/* The queues for a team's bucket: removals and uses of which it is not told yet, and the ends of holds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "behind.h"
#include "scratch.h"
#include "source/bucket-key.h"
#include "store/outbox.h"

#include <sqlite3.h>
#include <sys/statvfs.h>

#define DAY 86400
#define BUCKET "http://127.0.0.1/bucket"

/* The disk of a test: bytes that are free; 0: the real one. */
static uint64_t disk_free;

int fstatvfs(int fd, struct statvfs *out)
{
	*out = (struct statvfs){.f_bavail = (fsblkcnt_t)(disk_free ? disk_free : 1ull << 40), .f_frsize = 1};
	return 0;
}

static struct store *open_queued(void)
{
	struct store *s = open_scratch();

	ck_assert_int_eq(store_outbox_open(s, BUCKET), 0);
	return s;
}

static int publish_held(struct store *s, const struct key *k, unsigned content, const struct store_hold *h)
{
	unsigned char bytes[1000];
	struct store_learned l = {.pinned = true, .hold = *h};
	struct draft *d;

	fill_bytes(bytes, sizeof(bytes), content);
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	ck_assert_int_eq(draft_write(d, 0, bytes, sizeof(bytes)), 0);
	return store_publish_learned(s, d, k, &FACTS, &l, NULL, NULL);
}

static int publish_from_bucket(struct store *s, const struct key *k, unsigned content)
{
	struct blob_facts f = FACTS;

	snprintf(f.source, sizeof(f.source), "bucket");
	return publish_facts(s, k, content, 1000, &f, NULL);
}

/* The removals that are due; the first one is in `out`. */
static unsigned removals(struct store *s, struct outgone_row *out)
{
	struct outgone_row row = {.canon = ""};
	unsigned n = 0;

	while (store_outgone_next(s, row.canon, &row) == 0)
		if (n++ == 0 && out)
			*out = row;
	return n;
}

static bool is_removed(struct store *s, const struct key *k, bool expired)
{
	char canon[KEY_TEXT];
	struct outgone_row row;

	return removals(s, &row) == 1 && strcmp(row.canon, key_canon(k, canon)) == 0 && row.expired == expired &&
	       row.ended > clock_wall() - 100;
}

/* Uploads the queue, as the bucket does. */
static unsigned drain(struct store *s)
{
	struct outbox_row row;
	unsigned n = 0;

	while (store_outbox_next(s, 0, &row, 1) == 1 && n++ < 100)
		ck_assert_int_eq(store_outbox_done(s, &row), 0);
	return n;
}

START_TEST(test_removals)
{
	const struct store_hold try = {.class = "try", .age = 30 * DAY};
	struct key a = key_nth(1), b = key_nth(2);
	struct store_expired done;
	struct outgone_row row;
	struct store *s;

	scratch_dir();
	s = open_queued();
	ck_assert_int_eq(publish_held(s, &a, 1, &try), 0);
	ck_assert_int_eq(publish_held(s, &b, 2, &try), 0);
	ck_assert_int_eq(store_purge(s, &a, "expired: not really", true), 0);
	ck_assert(is_removed(s, &a, false));
	/* The file comes back from the bucket before the bucket was told; then it is uploaded again. */
	ck_assert_int_eq(publish_from_bucket(s, &a, 1), 0);
	ck_assert(is_removed(s, &a, false));
	ck_assert_int_eq(publish_held(s, &a, 3, &try), 0);
	ck_assert_uint_eq(removals(s, NULL), 0);
	sql("UPDATE objects SET ends = 1000 WHERE id = (SELECT object_id FROM keys WHERE canon LIKE '%00000002%')");
	ck_assert_int_eq(store_expire(s, &done), 0);
	ck_assert(is_removed(s, &b, true));
	/* The bucket has a later end. */
	ck_assert_int_eq(store_outgone_next(s, "", &row), 0);
	ck_assert_int_eq(store_outgone_later(s, &row, clock_wall() + 1000), 0);
	ck_assert_uint_eq(removals(s, NULL), 0);
	ck_assert_int_eq(store_outgone_later(s, &row, clock_wall()), 0);
	ck_assert(is_removed(s, &b, true));
	ck_assert_int_eq(store_outgone_done(s, &row), 0);
	ck_assert_uint_eq(removals(s, NULL), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* Without a bucket nothing is queued. */
START_TEST(test_no_bucket)
{
	struct key a = key_nth(1);
	struct use_row use;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &a, 1, 1000), 0);
	ck_assert_int_eq(store_purge(s, &a, "purged by ci", true), 0);
	ck_assert_uint_eq(removals(s, NULL), 0);
	ck_assert_int_eq(store_uses_next(s, &use), -ENOTSUP);
	store_close(s);
	scratch_end();
}
END_TEST

/* A damaged index: the removals stay, except that of a key that is stored again. */
START_TEST(test_salvage)
{
	struct key a = key_nth(1), b = key_nth(2), c = key_nth(3);
	struct outbox_totals t;
	struct store *s;

	scratch_dir();
	s = open_queued();
	ck_assert_int_eq(publish(s, &a, 1, 1000), 0);
	ck_assert_int_eq(publish(s, &b, 2, 1000), 0);
	ck_assert_int_eq(publish(s, &c, 3, 1000), 0);
	ck_assert_uint_eq(drain(s), 3);
	ck_assert_int_eq(store_purge(s, &a, "purged by ci", true), 0);
	store_close(s);
	sql("INSERT INTO outgone SELECT canon, 1000, 1, 0 FROM keys WHERE canon LIKE '%00000002%'; DROP TABLE names");
	s = open_scratch();
	ck_assert(is_there(in_scratch("index.sqlite.damaged")));
	ck_assert(is_removed(s, &a, false));
	/* Removals are noted, and all files are queued again when the bucket is opened. */
	ck_assert_int_eq(store_purge(s, &b, "purged by ci", true), 0);
	ck_assert_uint_eq(removals(s, NULL), 2);
	ck_assert_int_eq(store_outbox_open(s, BUCKET), 0);
	ck_assert_uint_eq(removals(s, NULL), 2);
	ck_assert_int_eq(store_outbox_count(s, &t), 0);
	ck_assert_uint_eq(t.files, 1);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* A file from the bucket is a use, and then at most one use a day; a file that is pinned here tells its end. */
START_TEST(test_uses)
{
	const struct store_hold try = {.class = "try", .age = 30 * DAY}, keep = {.class = "keep"};
	struct key a = key_nth(1), b = key_nth(2), c = key_nth(3);
	struct outbox_row row;
	struct use_row use;
	struct store *s;

	scratch_dir();
	s = open_queued();
	ck_assert_int_eq(publish_from_bucket(s, &a, 1), 0);
	ck_assert_int_eq(publish(s, &b, 2, 1000), 0);
	ck_assert_int_eq(store_uses_next(s, &use), 0);
	ck_assert(use.used > clock_wall() - 100 && use.used <= clock_wall());
	ck_assert_int_eq(store_uses_done(s, &use), 0);
	ck_assert_int_eq(store_uses_next(s, &use), -ENOENT);
	sql("UPDATE objects SET used = used + 86000");
	ck_assert_int_eq(store_uses_next(s, &use), -ENOENT);
	sql("UPDATE objects SET used = used + 1000 WHERE id = 2");
	ck_assert_int_eq(store_uses_next(s, &use), 0);
	ck_assert_int_eq(use.object, 2);
	/* A use that came meanwhile is not lost. */
	sql("UPDATE objects SET used = used + 90000 WHERE id = 2");
	ck_assert_int_eq(store_uses_done(s, &use), 0);
	ck_assert_int_eq(store_uses_next(s, &use), 0);
	ck_assert_int_eq(store_uses_done(s, &use), 0);

	drain(s);
	ck_assert_int_eq(publish_held(s, &c, 3, &try), 0);
	ck_assert_int_eq(store_outbox_next(s, 0, &row, 1), 1);
	ck_assert(row.held.pinned && row.held.hold.age == 30 * DAY && row.held.ends > clock_wall() + 29 * DAY);
	ck_assert_uint_eq(drain(s), 1);
	ck_assert_int_eq(store_hold(s, &c, &keep), 0);
	ck_assert_int_eq(store_outbox_next(s, 0, &row, 1), 1);
	ck_assert(row.held.pinned && row.held.ends == 0);
	ck_assert_uint_eq(drain(s), 1);
	ck_assert_int_eq(store_hold(s, &c, &try), 0);
	ck_assert_uint_eq(drain(s), 0);
	/* A file that came from the bucket is uploaded here, too. */
	ck_assert_int_eq(publish_held(s, &a, 1, &try), 0);
	ck_assert_uint_eq(drain(s), 1);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(test_ends)
{
	struct bucket_end end = {.until = 100 * DAY, .age = 30 * DAY}, other = {.until = INT64_MAX};
	_cleanup_buf_ struct buf text = BUF_UP_TO(100);
	static const char *const bad[] = {"", "e1\t", "e1\t1\n", "e1\t1\t2", "e1\t-1\t2\n",
		"e1\t1\t99999999999999999999\n", "e1\t 1\t2\n", "e2\t1\t2\n", "e1\t1 2\n"};

	ck_assert_int_eq(bucket_end_write(&end, &text), 0);
	ck_assert_str_eq(buf_text(&text), "e1\t8640000\t2592000\n");
	ck_assert_int_eq(bucket_end_parse(buf_text(&text), &end), 0);
	ck_assert(end.until == 100 * DAY && end.age == 30 * DAY);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(bucket_end_parse(bad[i], &end), -EINVAL);
	ck_assert(!bucket_end_renew(&end, 60 * DAY) && !bucket_end_renew(&end, 70 * DAY + DAY / 2));
	ck_assert(bucket_end_renew(&end, 71 * DAY) && end.until == 101 * DAY);
	ck_assert(!bucket_end_renew(&end, -1) && !bucket_end_renew(&end, INT64_MAX));
	bucket_end_join(&end, &(struct bucket_end){.until = 90 * DAY, .age = 60 * DAY}, 95 * DAY);
	ck_assert(end.until == 101 * DAY && end.age == 30 * DAY);
	bucket_end_join(&end, &(struct bucket_end){.until = 99 * DAY, .age = 60 * DAY}, 95 * DAY);
	ck_assert(end.until == 101 * DAY && end.age == 60 * DAY);
	bucket_end_join(&end, &other, 95 * DAY);
	ck_assert(end.until == INT64_MAX && end.age == 0 && !bucket_end_renew(&end, 200 * DAY));
	/* Which files are of `symfs add` is a line of its own, and passes on. */
	bucket_end_join(&end, &(struct bucket_end){.until = 90 * DAY, .rank = HELD_ADDED}, 95 * DAY);
	ck_assert_int_eq(end.rank, HELD_CLASS);
	bucket_end_join(&end, &(struct bucket_end){.until = 96 * DAY, .rank = HELD_ADDED}, 95 * DAY);
	buf_clear(&text);
	ck_assert_int_eq(bucket_end_write(&end, &text), 0);
	ck_assert_str_eq(buf_text(&text), "e1\t9223372036854775807\t0\nadded\n");
	end.rank = HELD_NOT;
	ck_assert_int_eq(bucket_end_parse(buf_text(&text), &end), 0);
	ck_assert(end.rank == HELD_ADDED && end.until == INT64_MAX);
	end = (struct bucket_end){.until = 10, .age = 4};
	ck_assert(!bucket_end_renew(&end, 7) && bucket_end_renew(&end, 8) && end.until == 12);
}
END_TEST

/* Files that are kept for a time give no room: nothing is evicted in vain. */
START_TEST(test_kept_files_are_no_room)
{
	struct key a = key_nth(1), b = key_nth(2);
	struct err e = {0};
	struct store *s;

	scratch_dir();
	s = open_with(0, 1 << 20);
	ck_assert_int_eq(publish(s, &a, 1, 1000), 0);
	ck_assert_int_eq(publish(s, &b, 2, 100000), 0);
	ck_assert_int_eq(store_keep(s, &b, 3600), 0);
	disk_free = (1 << 20) - 50000;
	ck_assert_int_eq(store_make_room(s, 0, &e), -ENOSPC);
	ck_assert(finds(s, &a, 1, 1000) && finds(s, &b, 2, 100000));
	ck_assert_int_eq(store_keep(s, &b, 0), 0);
	store_make_room(s, 0, &e);
	ck_assert(!finds(s, &b, 2, 100000));
	store_close(s);
	scratch_end();
}
END_TEST

/* store_remove_file() removes what was made of the file, and store_purge() leaves a tombstone for it. */
START_TEST(test_made)
{
	struct key a = key_nth(1), made = key_nth(1), other = key_nth(2);
	struct blob_facts f = FACTS;
	struct store_row row = {.id = 0};
	struct store_tomb t;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	made.type = other.type = FILETYPE_GSYM;
	snprintf(made.name, sizeof(made.name), "elf");
	snprintf(other.name, sizeof(other.name), "elf");
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(publish(s, &a, 1, 1000), 0);
		row.id = 0;
		while (store_list(s, row.id, &row, 1) == 1 && !key_equal(&row.key, &a))
			;
		snprintf(f.url, sizeof(f.url), "symfs gsym 5 of %s", row.sha256);
		ck_assert_int_eq(publish_facts(s, &made, 2, 1000, &f, NULL), 0);
		ck_assert_int_eq(publish_facts(s, &other, 3, 1000, &f, NULL), 0);
		if (i == 0) {
			ck_assert_int_eq(store_remove_file(s, &a), 1);
			ck_assert_int_eq(store_tomb(s, &made, &t), -ENOENT);
		} else {
			ck_assert_int_eq(store_purge(s, &a, "purged by ci", true), 0);
			ck_assert_int_eq(store_tomb(s, &made, &t), 0);
			ck_assert_str_eq(t.why, "purged by ci");
		}
		ck_assert(!finds(s, &a, 1, 1000) && !finds(s, &made, 2, 1000) && finds(s, &other, 3, 1000));
	}
	ck_assert_int_eq(store_remove_file(s, &a), -ENOENT);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* The sources out of a Portable PDB go with it, also those that were stored under another stamp. There are more than
 * one call of made_find() finds. */
START_TEST(test_embedded)
{
	static const char guid[] = "0c1033f78632492e91c6c314b72e1920";
	struct key pdb = {.type = FILETYPE_PORTABLEPDB}, sources[70], others[2];
	struct blob_facts f = FACTS;
	struct store_tomb t;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	snprintf(pdb.id, sizeof(pdb.id), "%sE60B819D", guid);
	for (unsigned i = 0; i < ARRAY_SIZE(sources); i++) {
		sources[i] = (struct key){.type = FILETYPE_SOURCE};
		snprintf(sources[i].id, sizeof(sources[i].id), "%s%s", guid, i % 2 ? "ffffffff" : "e60b819d");
		snprintf(sources[i].name, sizeof(sources[i].name), "/C:/src/%u.cs", i);
	}
	others[0] = others[1] = sources[0];
	others[0].id[31] = '1'; /* of another PDB */
	snprintf(others[1].name, sizeof(others[1].name), "/from/a/server.cs");
	for (unsigned round = 0; round < 2; round++) {
		ck_assert_int_eq(publish(s, &pdb, 1, 1000), 0);
		ck_assert_int_eq(publish(s, &others[1], 3, 1000), 0);
		snprintf(f.source, sizeof(f.source), "embedded");
		for (unsigned i = 0; i < ARRAY_SIZE(sources); i++)
			ck_assert_int_eq(publish_facts(s, &sources[i], 10 + i, 1000, &f, NULL), 0);
		ck_assert_int_eq(publish_facts(s, &others[0], 2, 1000, &f, NULL), 0);
		if (round == 0) {
			ck_assert_int_eq(store_remove_file(s, &pdb), ARRAY_SIZE(sources));
		} else {
			ck_assert_int_eq(store_purge(s, &pdb, "purged by ci", true), 0);
			ck_assert_int_eq(store_tomb(s, &sources[69], &t), 0);
		}
		ck_assert(!store_has(s, &pdb, NULL));
		for (unsigned i = 0; i < ARRAY_SIZE(sources); i++)
			ck_assert_msg(!store_has(s, &sources[i], NULL), "round %u: source %u is there", round, i);
		ck_assert(finds(s, &others[0], 2, 1000) && finds(s, &others[1], 3, 1000));
	}
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* A Breakpad file that was made of a program and its debug file can have the debug id alone. It ends with the
 * program, too, which is stored by its build id. */
START_TEST(test_made_of_two)
{
	static const char debug_id[] = "3249D99D0C4040318612F9F4E44500360",
		build_id[] = "9dd94932400c31408612f9f4e445003601020304";
	struct key program = key_of_text("elf_code 9dd94932400c31408612f9f4e445003601020304");
	struct key sym = {.type = FILETYPE_SYM, .name = "elf_debug.sym"};
	char digest[SHA256_TEXT], name[BUCKET_NAME], want[BUCKET_NAME];
	struct store_learned l = {.m = {.object = OBJECT_ELF}};
	struct blob_facts f = FACTS;
	struct store_row row = {.id = 0};
	struct store_tomb t;
	struct store *s;
	struct draft *d;
	const char *url = f.url;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(debug_id_parse(&l.m.debug_id, debug_id, strlen(debug_id)), 0);
	ck_assert_int_eq(module_set_code_id(&l.m, build_id, strlen(build_id)), 0);
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	ck_assert_int_eq(draft_write(d, 0, "program", 7), 0);
	ck_assert_int_eq(store_publish_learned(s, d, &program, &FACTS, &l, NULL, NULL), 0);
	ck_assert_int_eq(store_list(s, 0, &row, 1), 1);
	snprintf(sym.id, sizeof(sym.id), "%s", debug_id);
	snprintf(f.url, sizeof(f.url), "symfs sym 1 of %s of %064d", row.sha256, 7);
	ck_assert_int_eq(publish_facts(s, &sym, 2, 1000, &f, NULL), 0);
	ck_assert_int_eq(store_purge(s, &program, "purged by ci", true), 0);
	ck_assert(!finds(s, &sym, 2, 1000));
	ck_assert_int_eq(store_tomb(s, &sym, &t), 0);
	store_close(s);
	/* A bucket has a mark for each of the two. */
	ck_assert_int_eq(bucket_made_digest(&sym, f.url, digest), 0);
	ck_assert_int_eq(bucket_made_name(&url, digest, name), 0);
	snprintf(want, sizeof(want), "m/%s/%s", row.sha256, digest);
	ck_assert_str_eq(name, want);
	ck_assert_int_eq(bucket_made_name(&url, digest, name), 0);
	snprintf(want, sizeof(want), "m/%064d/%s", 7, digest);
	ck_assert_str_eq(name, want);
	ck_assert_int_eq(bucket_made_name(&url, digest, name), -ENOENT);
	scratch_end();
}
END_TEST

UNIT_MAIN("outbox", test_removals, test_no_bucket, test_salvage, test_uses, test_ends,
	test_kept_files_are_no_room, test_made, test_embedded, test_made_of_two)
