/* Tests the store: its promises about keys and bytes, also when its process is killed, the disk is
 * full, or the index is removed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/path.h"
#include "behind.h"
#include "scratch.h"
#include "store/files/dir.h"
#include "store/files/label.h"
#include "times.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

/* ---- keys and bytes ----------------------------------------------------------------- */

START_TEST(publish_and_find)
{
	struct key k = key_nth(1), none = key_nth(2);
	struct blob *b = NULL, *again = NULL;
	struct store *s;
	struct stat st;
	uint64_t size = 0;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(strlen(store_id(s)), 16);
	ck_assert_int_eq(store_find(s, &k, &b), -ENOENT);
	ck_assert(!store_has(s, &k, NULL));
	ck_assert_int_eq(publish_facts(s, &k, 1, 100000, &FACTS, &b), 0);
	ck_assert(has_bytes(b, 1, 100000));
	ck_assert_int_eq(stat(blob_path(b), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0400);
	ck_assert(store_has(s, &k, &size) && size == 100000);
	ck_assert(!store_has(s, &none, NULL));
	ck_assert_int_eq(store_find(s, &k, &again), 0);
	ck_assert_str_eq(blob_sha256(b), blob_sha256(again));
	ck_assert(blob_number(b) == blob_number(again) && blob_number(b) > 1);
	ck_assert_str_eq(blob_facts(again)->source, "test");
	ck_assert_str_eq(blob_facts(again)->url, "http://127.0.0.1/x");
	ck_assert(blob_facts(again)->verified && blob_facts(again)->fetched == 1000);
	ck_assert_int_eq(blob_read(b, 99999, &size, 8), 1);
	ck_assert_int_eq(blob_read(b, 100000, &size, 8), 0);
	ck_assert_int_eq(blob_read(b, UINT64_MAX, &size, 8), 0);
	ck_assert_int_eq(store_remove_file(s, &k), 0);
	ck_assert_int_eq(store_remove_file(s, &k), -ENOENT);
	ck_assert(!is_there(blob_path(b)));
	ck_assert(has_bytes(b, 1, 100000)); /* an open blob stays readable */
	ck_assert_uint_eq(totals(s).artifacts + totals(s).keys + totals(s).bytes, 0);
	blob_unref(b);
	blob_unref(again);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(removes_a_file)
{
	struct key a = key_nth(1), b = key_nth(2), other = key_nth(3);
	struct blob *blob = NULL;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &a, 7, 5000), 0);
	ck_assert_int_eq(publish_facts(s, &b, 7, 5000, &FACTS, &blob), 0);
	ck_assert_int_eq(publish(s, &other, 8, 100), 0);
	ck_assert_int_eq(store_remove_file(s, &b), 0);
	ck_assert_int_eq(store_remove_file(s, &b), -ENOENT);
	ck_assert(!store_has(s, &a, NULL) && !store_has(s, &b, NULL));
	ck_assert(!is_there(blob_path(blob)));
	ck_assert(has_bytes(blob, 7, 5000)); /* an open blob stays readable */
	ck_assert(finds(s, &other, 8, 100));
	ck_assert_uint_eq(totals(s).artifacts, 1);
	ck_assert_uint_eq(totals(s).keys, 1);
	ck_assert_uint_eq(totals(s).bytes, 100);
	ck_assert_int_eq(verify_quiet(s), 0);
	blob_unref(blob);
	ck_assert_int_eq(publish(s, &a, 7, 5000), 0); /* and comes again */
	ck_assert(finds(s, &a, 7, 5000) && !store_has(s, &b, NULL));
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(one_blob_many_keys)
{
	struct key a = key_nth(1), b = key_nth(2), c = key_of_text("pe 5ab380779000 Crash.exe");
	struct key c2 = key_of_text("pe 5ab380779000 CRASH.EXE");
	struct blob *blob = NULL;
	struct store_row rows[8];
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &a, 7, 5000), 0);
	ck_assert_int_eq(publish_facts(s, &b, 7, 5000, &FACTS, &blob), 0);
	ck_assert_int_eq(publish(s, &c, 7, 5000), 0);
	ck_assert_uint_eq(totals(s).artifacts, 1);
	ck_assert_uint_eq(totals(s).keys, 3);
	ck_assert_uint_eq(totals(s).bytes, 5000);
	ck_assert(finds(s, &c2, 7, 5000));
	ck_assert_int_eq(verify_quiet(s), 0);

	/* New bytes under c, in another spelling: the others keep theirs, c keeps its first name. */
	ck_assert_int_eq(publish(s, &c2, 8, 6000), 0);
	ck_assert(finds(s, &c, 8, 6000) && finds(s, &a, 7, 5000));
	ck_assert_int_eq(store_list(s, 0, rows, 8), 3);
	ck_assert_str_eq(rows[2].key.name, "Crash.exe");
	ck_assert(rows[0].id < rows[1].id && rows[1].id < rows[2].id);
	ck_assert_int_eq(store_list(s, rows[1].id, rows, 8), 1);
	ck_assert_int_eq(store_list(s, 0, rows, 2), 2);
	ck_assert_int_eq(verify_quiet(s), 0);

	ck_assert_int_eq(store_remove_file(s, &a), 0);
	ck_assert(!store_has(s, &b, NULL) && !is_there(blob_path(blob)));
	ck_assert_int_eq(publish(s, &c, 9, 10), 0);
	ck_assert_uint_eq(totals(s).artifacts, 1);
	ck_assert_int_eq(verify_quiet(s), 0);
	blob_unref(blob);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(survives_reopen)
{
	struct key k = key_nth(1), e = key_nth(2);
	struct store *s;
	char id[17];

	scratch_dir();
	s = open_scratch();
	snprintf(id, sizeof(id), "%s", store_id(s));
	ck_assert_int_eq(publish(s, &k, 1, 1000), 0);
	ck_assert_int_eq(publish(s, &e, 2, 0), 0); /* an empty artifact is one */
	store_close(s);
	s = open_scratch();
	ck_assert_str_eq(store_id(s), id);
	ck_assert(finds(s, &k, 1, 1000) && finds(s, &e, 2, 0));
	store_close(s);
	scratch_end();
}
END_TEST

/* The time at the origin is of each key, and is in the label, too. */
START_TEST(time_of_the_origin)
{
	struct blob_facts facts[] = {{.source = "a", .fetched = 1000, .modified = 784111777},
		{.source = "b", .fetched = 1000, .modified = 5}, {.source = "c", .fetched = 1000}};
	struct store *s;

	scratch_dir();
	s = open_scratch();
	for (unsigned i = 0; i < ARRAY_SIZE(facts); i++) {
		struct key k = key_nth(i + 1);

		ck_assert_int_eq(publish_facts(s, &k, 1, 1000, &facts[i], NULL), 0);
	}
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < ARRAY_SIZE(facts); i++) {
			_cleanup_blob_ struct blob *b = NULL;
			struct key k = key_nth(i + 1);

			ck_assert_int_eq(store_find(s, &k, &b), 0);
			ck_assert_int_eq(blob_facts(b)->modified, facts[i].modified);
			ck_assert_int_eq(blob_time(blob_facts(b)), i == 2 ? 1000 : facts[i].modified);
		}
		ck_assert_int_eq(verify_quiet(s), 0);
		store_close(s);
		if (round == 1)
			ck_assert_int_eq(unlink(in_scratch("index.sqlite")), 0);
		s = open_scratch();
	}
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(use_is_noted_once_an_hour)
{
	struct key k = key_nth(1);
	struct store_row row;
	struct store *s;
	int64_t now = clock_wall();

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &k, 1, 10), 0);
	sql("UPDATE objects SET used = 5");
	ck_assert(finds(s, &k, 1, 10));
	store_close(s); /* what readers noticed is written at the latest here */
	s = open_scratch();
	ck_assert_int_eq(store_list(s, 0, &row, 1), 1);
	ck_assert_int_ge(row.used, now);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(file_gone_is_forgotten)
{
	struct key k = key_nth(1), t = key_nth(2), other = key_nth(3);
	struct blob *b, *none;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_facts(s, &k, 1, 1000, &FACTS, &b), 0);
	ck_assert_int_eq(unlink(blob_path(b)), 0);
	blob_unref(b);
	ck_assert_int_eq(publish_facts(s, &t, 2, 1000, &FACTS, &b), 0);
	ck_assert_int_eq(chmod(blob_path(b), 0600), 0);
	ck_assert_int_eq(truncate(blob_path(b), 999), 0);
	blob_unref(b);
	ck_assert(!store_has(s, &k, NULL) && !store_has(s, &t, NULL));
	ck_assert_int_eq(store_find(s, &k, &none), -ENOENT);
	ck_assert_int_eq(store_find(s, &t, &none), -ENOENT);
	ck_assert_int_eq(publish(s, &other, 3, 10), 0);
	ck_assert_uint_eq(totals(s).artifacts, 1);
	ck_assert_uint_eq(totals(s).bytes, 10);
	ck_assert_int_eq(publish(s, &t, 2, 1000), 0); /* over what was left of it */
	ck_assert(finds(s, &t, 2, 1000));
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(file_in_place)
{
	struct blob *b;
	char bytes[100];

	scratch_dir();
	memset(bytes, 'x', sizeof(bytes));
	write_file(in_scratch("f"), bytes, 100);
	ck_assert_int_eq(blob_of_file(&b, open(in_scratch("f"), O_RDONLY | O_CLOEXEC), in_scratch("f"),
		&FACTS), 0);
	ck_assert_str_eq(blob_sha256(b), "");
	ck_assert_int_eq(blob_read(b, 10, bytes, 100), 90);
	ck_assert_int_eq(truncate(in_scratch("f"), 50), 0);
	ck_assert_int_eq(blob_read(b, 10, bytes, 100), -ESTALE);
	blob_unref(b);
	ck_assert_int_eq(blob_of_file(&b, open(scratch, O_RDONLY | O_CLOEXEC), scratch, &FACTS), -EINVAL);
	scratch_end();
}
END_TEST

/* ---- misses ------------------------------------------------------------------------- */

static int count_line(void *ctx, const struct label_line *l);

static int publish_taught(struct store *s, const char *key, unsigned content,
	const struct store_learned *l)
{
	struct key k = key_of_text(key);
	unsigned char p[100];
	struct draft *d;

	fill_bytes(p, sizeof(p), content);
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	ck_assert_int_eq(draft_write(d, 0, p, sizeof(p)), 0);
	return store_publish_learned(s, d, &k, &FACTS, l, NULL, NULL);
}

static struct module module_from(enum object_type object, const char *code, const char *debug,
	const char *debug_file)
{
	struct module m = {.object = object};

	snprintf(m.code_id, sizeof(m.code_id), "%s", code);
	snprintf(m.debug_file, sizeof(m.debug_file), "%s", debug_file);
	if (*debug)
		ck_assert_int_eq(debug_id_parse(&m.debug_id, debug, strlen(debug)), 0);
	return m;
}

static struct module known_by(struct store *s, enum object_type object, const char *code,
	const char *debug)
{
	struct module like = module_from(object, code, debug, ""), out[4] = {0};

	ck_assert_int_ge(store_modules(s, &like, out, 4), 0);
	return out[0];
}

#define PDB "3249D99D0C4049318610F4E4FB0B69361"
#define NETPDB "0C1033F78632492E91C6C314B72E1920"

/* A file has the further keys that are free, and none that another has; what it says of its module
 * is found by either id, outlives the index, and goes with it. */
START_TEST(learned)
{
	struct store_learned good = {.m = module_from(OBJECT_PE, "5ab380779000", PDB, "crash.pdb"),
		.n = 3, .keys = {key_of_text("pe 5ab380779000 crash.exe"), key_of_text("pe " PDB),
		key_of_text("pe " PDB " same.exe")}};
	struct store_learned bad = {.m = module_from(OBJECT_PE, "77777777f000", PDB, "evil.pdb"),
		.n = 2, .keys = {key_of_text("pe 5ab380779000 CRASH.EXE"), key_of_text("pe " PDB)}};
	struct store_learned net = {.m = module_from(OBJECT_PE_DOTNET, "22222222a000",
		NETPDB "0e0b819d", "net.pdb")};
	struct key exe = key_of_text("pe 5ab380779000 crash.exe"), pe = key_of_text("pe " PDB);
	struct key evil = key_of_text("pe 77777777f000 evil.exe");
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(store_miss_add(s, &pe, "", "one", 100, "404"), 0);
	ck_assert_int_eq(publish_taught(s, "pe 5ab380779000 crash.exe", 1, &good), 0);
	ck_assert_int_eq(store_miss_until(s, &pe, "", "one"), 0);
	ck_assert_uint_eq(totals(s).keys, 2);
	ck_assert_int_eq(publish_taught(s, "pe 77777777f000 evil.exe", 2, &bad), 0);
	ck_assert_uint_eq(totals(s).keys, 3);
	ck_assert_int_eq(publish_taught(s, "pe 22222222a000 net.dll", 3, &net), 0);
	for (unsigned again = 0; again < 2; again++) {
		ck_assert(finds(s, &exe, 1, 100) && finds(s, &pe, 1, 100) && finds(s, &evil, 2, 100));
		ck_assert_str_eq(known_by(s, OBJECT_PE, "5ab380779000", "").debug_file, "crash.pdb");
		ck_assert_str_eq(known_by(s, OBJECT_PE, "", PDB).debug_file, "crash.pdb");
		ck_assert_str_eq(known_by(s, OBJECT_PE_DOTNET, "", NETPDB "ffffffff").debug_file, "net.pdb");
		ck_assert_uint_eq(known_by(s, OBJECT_PE, "", NETPDB "0e0b819d").debug_id.age, 0x0e0b819d);
		ck_assert_int_eq(verify_quiet(s), 0);
		store_close(s);
		unlink(in_scratch("index.sqlite"));
		s = open_scratch();
	}
	/* The same bytes again keep what they said. */
	ck_assert_int_eq(publish_taught(s, "pe 5ab380779000 other.exe", 1, NULL), 0);
	ck_assert_str_eq(known_by(s, OBJECT_PE, "5ab380779000", "").debug_file, "crash.pdb");
	ck_assert_int_eq(verify_quiet(s), 0);
	ck_assert_int_eq(store_remove_file(s, &evil), 0);
	ck_assert_str_eq(known_by(s, OBJECT_PE, "77777777f000", "").debug_file, "");
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(module_lines)
{
	static const char *const bad[] = {"m1\n", "m1\tpe\t\t\t\t\n", "m1\tpe\tXY\t\t\t\t\n",
		"m1\tpe\t\t\tzz\t\t\n", "m2\tpe\t\t\t\t\t\n", "m1\tpe\tab\t\\x00\t\t\t\n"};
	struct module m = module_from(OBJECT_PE, "5ab380779000", PDB, "a\tb\\\nv1.pdb"), back;
	_cleanup_buf_ struct buf b = BUF_UP_TO(4096);
	unsigned n = 0;

	snprintf(m.checksum, sizeof(m.checksum), "SHA256:00ff");
	ck_assert_int_eq(label_add_module(&b, &m), 0);
	ck_assert_int_eq(label_module(buf_text(&b), &back), 0);
	ck_assert_str_eq(back.debug_file, m.debug_file);
	ck_assert_str_eq(back.checksum, m.checksum);
	ck_assert(debug_id_equal(&back.debug_id, &m.debug_id) && back.object == m.object);
	ck_assert_int_eq(label_each(buf_text(&b), count_line, &n), 0);
	ck_assert_uint_eq(n, 0); /* it is no key */
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(label_module(bad[i], &back), -ENOENT);
}
END_TEST

/* A miss by one name does not count for another name. All are removed when the artifact is stored. */
START_TEST(misses_by_name)
{
	struct key k = key_of_text("pdb " PDB " wrong.pdb");
	struct store_miss_row rows[4];
	int64_t after = 0;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(store_miss_add(s, &k, "wrong.pdb", "one", 100, "404"), 0);
	ck_assert(store_miss_until(s, &k, "wrong.pdb", "one") > 0);
	ck_assert_int_eq(store_miss_until(s, &k, "right.pdb", "one"), 0);
	ck_assert_int_eq(store_miss_until(s, &k, "", "one"), 0);
	ck_assert_int_eq(store_miss_add(s, &k, "other.pdb", "one", 100, "404"), 0);
	ck_assert_int_eq(store_list_misses(s, &after, rows, 4), 2);
	ck_assert_str_eq(rows[0].key.name, "wrong.pdb");
	ck_assert_int_eq(publish(s, &k, 1, 10), 0);
	ck_assert_int_eq(store_miss_until(s, &k, "wrong.pdb", "one"), 0);
	ck_assert_int_eq(store_miss_add(s, &k, "wrong.pdb", "one", 100, "404"), 0);
	ck_assert_int_eq(store_misses_clear(s, &k), 1);
	store_close(s);
	scratch_end();
}
END_TEST

/* Of an id all that is known, whatever its name. */
START_TEST(keys_with_an_id)
{
	static const char *const texts[] = {"pe 5ab380779000 a.exe", "pe 5ab380779000 Zoo.exe",
		"pe 5ab3807790001 b.exe",
		"breakpad 000000000000000000000000000000000 one.so",
		"breakpad 000000000000000000000000000000000 two.so",
		"breakpad 000000000000000000000000000000001 other.so", "elf_debug 0011223344556677"};
	static const struct {
		const char *text;
		int n;
	} rows[] = {{"pe 5ab380779000 x", 2}, {"breakpad 000000000000000000000000000000000 x", 2},
		{"breakpad 000000000000000000000000000000001 x", 1}, {"elf_debug 0011223344556677", 1},
		{"pe 5ab38077900 x", 0}};
	struct key k, out[4];
	struct store *s;

	scratch_dir();
	s = open_scratch();
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		k = key_of_text(texts[i]);
		ck_assert_int_eq(publish(s, &k, i, 10), 0);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		k = key_of_text(rows[i].text);
		ck_assert_msg(store_keys_with_id(s, &k, out, 4) == rows[i].n, "%s", rows[i].text);
	}
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(misses)
{
	struct key a = key_nth(1), b = key_nth(2);
	struct store_miss_row rows[4];
	int64_t now = clock_wall(), after = 0;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(store_miss_add(s, &a, "", "one", 100, "404"), 0);
	ck_assert_int_eq(store_miss_add(s, &a, "", "two", INT64_MAX, NULL), 0);
	ck_assert_int_eq(store_miss_add(s, &b, "", "one", 100, "410"), 0);
	ck_assert_int_eq(store_miss_add(s, &b, "", "one", 200, "410"), 0);
	ck_assert_int_eq(store_miss_add(s, &b, "", "three", 0, "never"), 0);
	ck_assert(store_miss_until(s, &a, "", "one") - now >= 100);
	ck_assert(store_miss_until(s, &b, "", "one") - now >= 200);
	ck_assert_int_eq(store_miss_until(s, &b, "", "two"), 0);
	ck_assert_int_eq(store_list_misses(s, &after, rows, 2), 2);
	ck_assert_str_eq(rows[1].source, "two");
	ck_assert_int_eq(store_list_misses(s, &after, rows, 2), 1);
	ck_assert(key_equal(&rows[0].key, &b));
	ck_assert_int_eq(rows[0].asked, 2);
	ck_assert_int_eq(store_list_misses(s, &after, rows, 2), 0);
	ck_assert_int_eq(store_misses_asked(s, (struct store_asked[]){{a, 3}, {key_nth(9), 1}}, 2), 0);
	after = 0;
	ck_assert_int_eq(store_list_misses(s, &after, rows, 4), 3);
	ck_assert(rows[0].asked == 4 && rows[1].asked == 4 && rows[2].asked == 2);

	/* By a clock that was ahead and was set back since: it says nothing. */
	sql("UPDATE misses SET since = since + 100000, until = until + 100000 WHERE source = 'one'");
	ck_assert_int_eq(store_miss_until(s, &a, "", "one"), 0);
	sql("UPDATE misses SET since = since - 100000 WHERE source = 'one'");
	ck_assert_int_gt(store_miss_until(s, &a, "", "one"), now + 100000);
	sql("UPDATE misses SET until = 10 WHERE source = 'one'");
	ck_assert_int_eq(store_miss_until(s, &a, "", "one"), 0);
	ck_assert_uint_eq(totals(s).misses, 1);
	ck_assert_int_eq(publish(s, &a, 1, 10), 0); /* it is there after all */
	ck_assert_int_eq(store_miss_until(s, &a, "", "two"), 0);
	ck_assert_int_eq(store_miss_add(s, &a, "", "one", 100, "404"), 0);
	ck_assert_int_eq(store_misses_clear(s, &b), 0); /* expired, and purged */
	ck_assert_int_eq(store_misses_clear(s, NULL), 1);
	store_close(s);
	scratch_end();
}
END_TEST

/* A handle gives answers of the same second again, but no answer from before a commit of another handle. */
START_TEST(other_writer_is_seen)
{
	struct store *one, *two;
	struct blob *b;

	scratch_dir();
	one = open_scratch();
	two = open_scratch();
	for (unsigned i = 1; i <= 40; i++) {
		struct key k = key_nth(i);
		struct module like = {.object = OBJECT_ELF}, found;

		memcpy(like.code_id, k.id, sizeof(k.id));
		for (unsigned asked = 0; asked < 3; asked++) {
			ck_assert_int_eq(store_find(two, &k, &b), -ENOENT);
			ck_assert_int_eq(store_modules(two, &like, &found, 1), 0);
			ck_assert_int_eq(store_miss_until(two, &k, "", "one"), 0);
		}
		ck_assert_int_eq(store_miss_add(one, &k, "", "one", 100, "404"), 0);
		for (unsigned asked = 0; asked < 3; asked++)
			ck_assert_int_ne(store_miss_until(two, &k, "", "one"), 0);
		ck_assert_int_eq(publish(one, &k, i, 50), 0);
		for (unsigned asked = 0; asked < 3; asked++)
			ck_assert(finds(two, &k, i, 50) && !store_miss_until(two, &k, "", "one"));
		ck_assert_int_eq(store_purge(one, &k, "test", true), 0);
		for (unsigned asked = 0; asked < 3; asked++) {
			struct store_tomb t;

			ck_assert_int_eq(store_find(two, &k, &b), -ENOENT);
			ck_assert_int_eq(store_tomb(two, &k, &t), 0);
		}
	}
	store_close(one);
	store_close(two);
	scratch_end();
}
END_TEST

/* ---- room --------------------------------------------------------------------------- */

START_TEST(quota_evicts_the_oldest)
{
	struct store *s;
	struct key k[6];

	scratch_dir();
	s = open_with(3500, 0);
	for (unsigned i = 0; i < 6; i++)
		k[i] = key_nth(i);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(publish(s, &k[i], i, 1000), 0);
	/* 0 is kept, 2 was used before 1. */
	ck_assert_int_eq(store_keep(s, &k[0], 1000), 0);
	ck_assert_int_eq(store_keep(s, &k[0], 1), 0); /* never less than was said before */
	ck_assert_int_eq(store_keep(s, &k[5], 1000), -ENOENT);
	sql("UPDATE objects SET used = 100 - id");
	ck_assert_int_eq(publish(s, &k[3], 3, 1000), 0);
	ck_assert(finds(s, &k[0], 0, 1000) && finds(s, &k[1], 1, 1000) && finds(s, &k[3], 3, 1000));
	ck_assert(!store_has(s, &k[2], NULL));
	/* Larger than the quota: everything else goes, but what is kept and what was just stored. */
	ck_assert_int_eq(publish(s, &k[4], 4, 9000), 0);
	ck_assert(finds(s, &k[0], 0, 1000) && finds(s, &k[4], 4, 9000));
	ck_assert_uint_eq(totals(s).artifacts, 2);
	ck_assert_int_eq(store_keep(s, &k[0], 0), 0);
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert_uint_le(totals(s).bytes, 3500);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* A damaged index is made anew, and keeps what no label tells, as far as the old one could be read. */
/* Something else is in the index's place under an open store: the index is rebuilt, and writes succeed. */
START_TEST(index_replaced)
{
	struct key k = key_nth(1);
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &k, 1, 1000), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct key new = key_nth(2 + i);

		ck_assert_int_eq(rename(in_scratch("index.sqlite"), in_scratch("old")), 0);
		ck_assert_int_eq(i % 2 ? mkdir(in_scratch("index.sqlite"), 0700)
				       : mkfifo(in_scratch("index.sqlite"), 0600), 0);
		ck_assert_int_eq(publish(s, &new, 2 + i, 1000), 0);
		ck_assert(finds(s, &k, 1, 1000) && finds(s, &new, 2 + i, 1000));
	}
	ck_assert_int_eq(rmdir(in_scratch("index.sqlite.damaged")), 0);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(damage_keeps_pins_and_misses)
{
	struct key pinned = key_nth(1), old = key_nth(2), missing = key_nth(3), wrong = key_nth(4);
	struct store_row row = {.id = 0};
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &pinned, 1, 1000), 0);
	ck_assert_int_eq(publish(s, &old, 2, 1000), 0);
	ck_assert_int_eq(store_keep(s, &pinned, INT64_MAX), 0);
	ck_assert_int_eq(store_miss_add(s, &missing, "n", "test", 1000, "404"), 0);
	ck_assert_int_eq(store_miss_add(s, &wrong, "", "test", 1000, "404"), 0);
	store_close(s);
	sql("UPDATE objects SET used = 5000 WHERE id = (SELECT max(id) FROM objects);"
	    "UPDATE misses SET until = 9000000000000000000 WHERE name = '';"
	    "INSERT INTO misses(canon, key, name, source, since, until, reason)"
	    " VALUES('x', 'no key', '', 'test', 1, 9000000000, ''); DROP TABLE names");
	s = open_scratch();
	ck_assert(is_there(in_scratch("index.sqlite.damaged")));
	ck_assert_int_eq(store_list(s, 0, &row, 1), 1);
	while (!key_equal(&row.key, &pinned))
		ck_assert_int_eq(store_list(s, row.id, &row, 1), 1);
	ck_assert(row.keep_until == INT64_MAX);
	for (row.id = 0; store_list(s, row.id, &row, 1) == 1 && !key_equal(&row.key, &old);)
		;
	ck_assert(row.used == 5000 && row.keep_until == 0);
	ck_assert_int_gt(store_miss_until(s, &missing, "n", "test"), clock_wall() + 900);
	ck_assert_int_eq(store_miss_until(s, &wrong, "", "test"), 0);
	ck_assert_uint_eq(totals(s).misses, 1);
	store_close(s);
	scratch_end();
}
END_TEST

static bool is_pinned(struct store *s, const struct key *k)
{
	struct store_row row = {.id = 0};

	while (store_list(s, row.id, &row, 1) == 1)
		if (key_equal(&row.key, k))
			return row.keep_until == STORE_FOR_GOOD;
	return false;
}

static int publish_pinned(struct store *s, const struct key *k, unsigned content, size_t size)
{
	_cleanup_free_ unsigned char *p = malloc(size + 1);
	struct store_learned l = {.pinned = true};
	struct draft *d;

	fill_bytes(p, size, content);
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	ck_assert_int_eq(draft_write(d, 0, p, size), 0);
	return store_publish_learned(s, d, k, &FACTS, &l, NULL, NULL);
}

/* What was added stays: over the quota, when the index is deleted, and when the same bytes get a key. */
START_TEST(pins_stay)
{
	struct key added = key_nth(1), more = key_nth(2), pinned = key_nth(3), freed = key_nth(4), k;
	struct store *s;

	scratch_dir();
	s = open_with(5000, 0);
	ck_assert_int_eq(publish_pinned(s, &added, 1, 4000), 0);
	ck_assert_int_eq(publish(s, &more, 1, 4000), 0);
	ck_assert_int_eq(publish(s, &pinned, 3, 500), 0);
	ck_assert_int_eq(store_keep(s, &pinned, STORE_FOR_GOOD), 0);
	ck_assert_int_eq(store_keep(s, &pinned, 5), 0); /* never sooner */
	ck_assert_int_eq(publish_pinned(s, &freed, 4, 3000), 0);
	ck_assert_uint_eq(totals(s).pinned, 3);
	ck_assert_uint_eq(totals(s).pinned_bytes, 7500);
	for (unsigned i = 10; i < 20; i++) {
		k = key_nth(i);
		ck_assert_int_eq(publish(s, &k, i, 2000), 0);
	}
	ck_assert(finds(s, &added, 1, 4000) && finds(s, &more, 1, 4000));
	ck_assert(finds(s, &pinned, 3, 500) && finds(s, &freed, 4, 3000) && finds(s, &k, 19, 2000));
	ck_assert_uint_eq(totals(s).artifacts, 4);
	ck_assert_int_eq(store_keep(s, &freed, 0), 0);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	sql("UPDATE objects SET used = id");
	for (unsigned round = 0; round < 2; round++) {
		s = open_with(5000, 0);
		ck_assert(is_pinned(s, &added) && is_pinned(s, &more) && is_pinned(s, &pinned));
		ck_assert(!is_pinned(s, &freed));
		ck_assert_int_eq(verify_quiet(s), 0);
		store_close(s);
		ck_assert_int_eq(unlink(in_scratch("index.sqlite")), 0);
	}
	s = open_with(5000, 0);
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert(store_has(s, &added, NULL) && store_has(s, &pinned, NULL));
	ck_assert(!store_has(s, &freed, NULL));
	/* A download of other bytes that ends later does not take its place; another add does. */
	ck_assert_int_eq(publish(s, &pinned, 7, 600), -ESTALE);
	ck_assert(finds(s, &pinned, 3, 500));
	ck_assert_int_eq(publish(s, &pinned, 3, 500), 0);
	ck_assert_int_eq(publish_pinned(s, &more, 8, 700), 0);
	ck_assert(finds(s, &more, 8, 700) && finds(s, &added, 1, 4000));
	ck_assert_int_eq(store_remove_file(s, &more), 0);
	ck_assert_int_eq(store_remove_file(s, &added), 0);
	ck_assert_uint_eq(totals(s).pinned_bytes, 500);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

static struct draft *half_filled(struct store *s, size_t n)
{
	_cleanup_free_ unsigned char *p = malloc(n + 1);
	struct draft *d;

	fill_bytes(p, n, 7);
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	ck_assert_int_eq(draft_write(d, 0, p, n / 2), 0);
	return d;
}

static int fill_rest(struct store *s, struct draft *d, const struct key *k, size_t n)
{
	_cleanup_free_ unsigned char *p = malloc(n + 1);

	fill_bytes(p, n, 7);
	ck_assert_int_eq(draft_write(d, n / 2, p + n / 2, n - n / 2), 0);
	return store_publish(s, d, k, &FACTS, NULL, NULL);
}

/* rm -rf, or mv, under an open store: the next call makes it anew, and knows nothing of the old one. */
START_TEST(directory_goes)
{
	struct key k = key_nth(1), missing = key_nth(2), half = key_nth(3), again = key_nth(4);
	struct blob *held = NULL, *b = NULL;
	char moved[sizeof(scratch) + 8];
	struct draft *d;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_facts(s, &k, 1, 5000, &FACTS, &held), 0);
	ck_assert_int_eq(store_miss_add(s, &missing, "", "test", 1000, "404"), 0);
	d = half_filled(s, 100000);
	scratch_end();
	ck_assert_int_eq(store_miss_until(s, &missing, "", "test"), 0);
	ck_assert_int_eq(store_find(s, &k, &b), -ENOENT);
	ck_assert(is_there(in_scratch("index.sqlite")) && has_bytes(held, 1, 5000));
	ck_assert_int_eq(fill_rest(s, d, &half, 100000), 0);
	ck_assert(finds(s, &half, 7, 100000));
	ck_assert_int_eq(publish(s, &k, 1, 5000), 0);
	ck_assert_int_eq(verify_quiet(s), 0);

	d = half_filled(s, 3000);
	snprintf(moved, sizeof(moved), "%s.moved", scratch);
	ck_assert_int_eq(rename(scratch, moved), 0);
	ck_assert_int_eq(publish(s, &again, 9, 2000), 0);
	ck_assert_int_eq(store_find(s, &k, &b), -ENOENT);
	ck_assert_int_eq(fill_rest(s, d, &half, 3000), 0);
	ck_assert(finds(s, &again, 9, 2000) && finds(s, &half, 7, 3000));
	ck_assert_uint_eq(totals(s).artifacts, 2);
	ck_assert_int_eq(verify_quiet(s), 0);
	blob_unref(held);
	store_close(s);
	scratch_end();
	nftw(moved, scratch_rm, 16, FTW_DEPTH | FTW_PHYS);
}
END_TEST

/* A file in its place: that is an error, and not "not stored". */
START_TEST(directory_cannot_be_made)
{
	struct key k = key_nth(1);
	struct draft *d;
	struct blob *b;
	struct store *s;
	int fd;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &k, 1, 5000), 0);
	scratch_end();
	fd = open(scratch, O_WRONLY | O_CREAT | O_EXCL, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(store_find(s, &k, &b), -EIO);
		ck_assert_int_eq(draft_new(&d, s, NULL), -EIO);
		ck_assert_int_eq(draft_new_at_once(&d, s, NULL), -EIO);
		ck_assert_int_eq(store_miss_add(s, &k, "", "test", 1000, ""), -EIO);
		ck_assert_int_eq(store_remove_file(s, &k), -EIO);
	}
	ck_assert_int_eq(unlink(scratch), 0);
	ck_assert_int_eq(store_find(s, &k, &b), -ENOENT);
	ck_assert_int_eq(publish(s, &k, 1, 5000), 0);
	ck_assert(finds(s, &k, 1, 5000));
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(not_open_to_all)
{
	struct store_opts o = {.dir = scratch};
	struct store *s;

	scratch_dir();
	ck_assert_int_eq(chmod(scratch, 0777), 0);
	ck_assert_int_eq(store_open(&s, &o, NULL), -EPERM);
	ck_assert_int_eq(chmod(scratch, 0755), 0);
	ck_assert_int_eq(store_open(&s, &o, NULL), 0);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(free_space_floor)
{
	struct key k = key_nth(1);
	struct draft *d = NULL;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &k, 1, 1000), 0);
	store_close(s);
	s = open_with(0, UINT64_MAX / 2);
	ck_assert_int_eq(draft_new(&d, s, NULL), -ENOSPC);
	ck_assert_uint_eq(totals(s).artifacts, 1); /* what would not be enough is not thrown away */
	ck_assert_uint_eq(totals(s).drafts, 0);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(full_disk)
{
	struct key kept = key_nth(100);
	struct store *s;
	struct draft *d;
	char block[65536];
	int r = 0;

	memset(block, 'x', sizeof(block));
	scratch_dir();
	if (geteuid() != 0 || mount("none", scratch, "tmpfs", 0, "size=8m,mode=700") < 0) {
		fprintf(stderr, "full_disk: skipped, no tmpfs can be mounted\n");
		scratch_end();
		return;
	}
	s = open_scratch();
	ck_assert_int_eq(publish(s, &kept, 100, 100000), 0);
	ck_assert_int_eq(store_keep(s, &kept, 1000), 0);
	/* More than the disk holds: the oldest make room for the newest. */
	for (unsigned i = 0; i < 20; i++) {
		struct key k = key_nth(i);

		r = publish(s, &k, i, 1 << 20);
		ck_assert_msg(r == 0, "publish %u: %d", i, r);
		ck_assert(finds(s, &k, i, 1 << 20));
	}
	ck_assert(finds(s, &kept, 100, 100000));
	/* One as large as many of them: room is made as often as it takes. */
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	for (uint64_t off = 0; r == 0 && off < 6 << 20; off += sizeof(block))
		r = draft_write(d, off, block, sizeof(block));
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(draft_size(d), 6 << 20);
	draft_discard(d);
	/* A caller that must not wait gets an error, and a worker makes room. */
	for (unsigned i = 0; i < 8; i++) {
		struct key k = key_nth(i);

		ck_assert_int_eq(publish(s, &k, i, 1 << 20), 0);
	}
	ck_assert_int_eq(draft_new_at_once(&d, s, NULL), 0);
	for (uint64_t off = 0; r == 0; off += sizeof(block))
		r = draft_write(d, off, block, sizeof(block));
	ck_assert_int_eq(r, -ENOSPC);
	ck_assert_uint_ge(totals(s).artifacts, 6);
	ck_assert_int_eq(store_make_room(s, sizeof(block), NULL), 0);
	r = draft_write(d, draft_size(d), block, sizeof(block));
	ck_assert_int_eq(r, 0);
	draft_discard(d);
	/* One that never fits says so, and leaves a store that works. */
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	for (uint64_t off = 0; r == 0; off += sizeof(block))
		r = draft_write(d, off, block, sizeof(block));
	ck_assert_int_eq(r, -ENOSPC);
	draft_discard(d);
	ck_assert(finds(s, &kept, 100, 100000));
	ck_assert_int_eq(publish(s, &kept, 101, 200000), 0);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	umount2(scratch, MNT_DETACH);
	scratch_end();
}
END_TEST

/* Another that takes what it finds: after each file that goes. */
static bool greedy;

static void take_all(void)
{
	static char block[4096];
	int fd = open(in_scratch("greedy"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	while (fd >= 0 && write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

int unlinkat(int dirfd, const char *path, int flags)
{
	int r = (int)syscall(SYS_unlinkat, dirfd, path, flags);

	if (r == 0 && greedy)
		take_all();
	return r;
}

START_TEST(disk_that_others_fill)
{
	struct key k = key_nth(1), missing = key_nth(99);
	struct store *s;
	unsigned left = 0;

	scratch_dir();
	if (geteuid() != 0 || mount("none", scratch, "tmpfs", 0, "size=12m,mode=700") < 0) {
		fprintf(stderr, "disk_that_others_fill: skipped, no tmpfs can be mounted\n");
		scratch_end();
		return;
	}
	s = open_scratch();
	for (unsigned i = 0; i < 6; i++) {
		k = key_nth(i);
		ck_assert_int_eq(publish(s, &k, i, 1 << 20), 0);
	}
	greedy = true;
	take_all();
	ck_assert_int_eq(store_make_room(s, 1 << 20, NULL), -ENOSPC);
	greedy = false;
	for (unsigned i = 0; i < 6; i++) {
		k = key_nth(i);
		left += store_has(s, &k, NULL);
	}
	ck_assert_uint_lt(left, 6);
	/* When there is room again, the first writer drops the rows of the evicted files. */
	ck_assert_int_eq(unlink(in_scratch("greedy")), 0);
	ck_assert_int_eq(store_miss_add(s, &missing, "", "test", 100, ""), 0);
	ck_assert_uint_eq(totals(s).artifacts, left);
	ck_assert_uint_eq(totals(s).bytes, (uint64_t)left << 20);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	umount2(scratch, MNT_DETACH);
	scratch_end();
}
END_TEST

START_TEST(file_size_limit)
{
	struct rlimit small = {1 << 20, 1 << 20};
	char block[65536] = {0};
	struct store *s;
	struct draft *d;
	int r = 0;

	scratch_dir();
	s = open_scratch();
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	for (uint64_t off = 0; r == 0; off += sizeof(block))
		r = draft_write(d, off, block, sizeof(block));
	ck_assert_int_eq(r, -EFBIG);
	ck_assert_uint_eq(draft_size(d), 1 << 20);
	draft_discard(d);
	ck_assert_uint_eq(totals(s).drafts, 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- directories -------------------------------------------------------------------- */

static int try_open(struct err *e)
{
	struct store_opts o = {.dir = scratch};
	struct store *s = NULL;
	int r = store_open(&s, &o, e);

	store_close(s);
	return r;
}

static void open_as_nobody(void *ctx)
{
	struct err e = {0};

	if (seteuid(65534) < 0)
		_exit(9);
	_exit(try_open(&e) == -EACCES && strstr(e.text, "cannot be written") ? 0 : 1);
}

START_TEST(refused_directories)
{
	struct err e = {0};

	ck_assert(dir_type_is_remote(0x6969) && dir_type_is_remote(0xff534d42) &&
		  dir_type_is_remote(0xfe534d42) && dir_type_is_remote(0x517b));
	ck_assert(!dir_type_is_remote(0xef53) && !dir_type_is_remote(0x01021994));
	ck_assert(dir_type_is_remote((unsigned long)(int)0xff534d42)); /* sign-extended */
	scratch_dir();
	rmdir(scratch);
	write_file(scratch, "x", 1);
	ck_assert_int_lt(try_open(&e), 0);
	unlink(scratch);
	ck_assert_int_eq(mkdir(scratch, 0700), 0);
	ck_assert_int_eq(symlink("/", in_scratch("blobs")), 0);
	ck_assert_int_lt(try_open(&e), 0);
	unlink(in_scratch("blobs"));
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(scratch, 65534, 65534), 0);
		ck_assert_int_eq(try_open(&e), -EPERM);
		ck_assert_int_eq(chmod(scratch, 0500), 0);
		ck_assert_int_eq(child_status(in_child(open_as_nobody, NULL)), 0);
	}
	scratch_end();
}
END_TEST

START_TEST(foreign_files_stay)
{
	static const char *const names[] = {"mine.txt", "partial/mine", "partial/draft-1",
		"blobs/mine", "blobs/ab/mine", "blobs/ab/mine.key"};
	struct key k = key_nth(1);
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &k, 1, 10), 0);
	mkdir(in_scratch("blobs/ab"), 0700);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		write_file(in_scratch(names[i]), "x", 1);
	store_close(s);
	unlink(in_scratch("index.sqlite"));
	s = open_with(1, 0);
	ck_assert_int_eq(verify_quiet(s), 0);
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert_uint_eq(totals(s).artifacts, 0);
	store_close(s);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_msg(is_there(in_scratch(names[i])), "%s", names[i]);
	scratch_end();
}
END_TEST

static void emptied_by_hand(struct store *s)
{
	struct key k = key_nth(2);

	nftw(in_scratch("blobs"), scratch_rm, 16, FTW_DEPTH | FTW_PHYS);
	nftw(in_scratch("partial"), scratch_rm, 16, FTW_DEPTH | FTW_PHYS);
	ck_assert_int_eq(publish(s, &k, 2, 10), 0);
	ck_assert(finds(s, &k, 2, 10));
}

START_TEST(emptied_while_open)
{
	struct key k = key_nth(1);
	struct err e = {0};
	struct blob *none;
	struct draft *d;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &k, 1, 10), 0);
	emptied_by_hand(s);
	ck_assert_int_eq(store_find(s, &k, &none), -ENOENT);
	/* A link that leads nowhere is an error, and no directory is made behind it. */
	nftw(in_scratch("partial"), scratch_rm, 16, FTW_DEPTH | FTW_PHYS);
	ck_assert_int_eq(symlink("nowhere", in_scratch("partial")), 0);
	ck_assert_int_eq(draft_new(&d, s, &e), -EIO);
	ck_assert_msg(strstr(e.text, "/partial: Not a directory"), "%s", e.text);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- drafts ------------------------------------------------------------------------- */

static void leave_a_draft(void *ctx)
{
	struct store *s = open_scratch();
	struct draft *d;

	if (draft_new(&d, s, NULL) == 0 && draft_write(d, 0, "half", 4) == 0)
		raise(SIGKILL);
	_exit(1);
}

START_TEST(dead_drafts_go)
{
	struct store *s, *other;
	struct draft *d;

	scratch_dir();
	ck_assert(WIFSIGNALED(child_status(in_child(leave_a_draft, NULL))));
	ck_assert_uint_eq(count_files(in_scratch("partial")), 1);
	s = open_scratch();
	ck_assert_uint_eq(count_files(in_scratch("partial")), 0);
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	other = open_scratch(); /* leaves alone what is being written */
	ck_assert_uint_eq(totals(other).drafts, 1);
	draft_discard(d);
	ck_assert_uint_eq(totals(other).drafts, 0);
	store_close(other);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- labels ------------------------------------------------------------------------- */

static int count_line(void *ctx, const struct label_line *l)
{
	++*(unsigned *)ctx;
	return 0;
}

START_TEST(labels_read_back)
{
	_cleanup_buf_ struct buf b = BUF_UP_TO(LABEL_MOST);
	struct blob_facts f = {.source = "a\tb", .url = "\\x41\n\x7f", .fetched = -5};
	struct key k = key_of_text("source aabb /a\tb\nv1\t\\c.c");
	struct label_line l;
	unsigned n = 0;

	ck_assert_int_eq(label_add(&b, &k, &f, 77), 0);
	ck_assert_ptr_eq(strchr(b.p, '\n'), b.p + b.n - 1);
	ck_assert_int_eq(label_parse(&l, b.p, b.n - 1), 0);
	ck_assert_str_eq(l.key.name, k.name);
	ck_assert_str_eq(l.facts.source, f.source);
	ck_assert_str_eq(l.facts.url, f.url);
	ck_assert(l.size == 77 && l.facts.fetched == -5 && !l.facts.verified);
	for (size_t i = 0; i + 1 < b.n; i++) /* whatever was cut off is not read as whole */
		ck_assert(label_parse(&l, b.p, i) < 0 || i + 2 >= b.n);
	ck_assert_int_eq(label_add(&b, &k, &f, 78), 0);
	ck_assert_int_eq(buf_adds(&b, "v2\tnonsense\nv1\telf_debug aabb\ts\tu\t2\t1\t1\n"), 0);
	ck_assert_int_eq(label_each(buf_text(&b), count_line, &n), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert(label_same("a\nb\n", "b\na\n") && !label_same("a\nb\n", "a\nc\n") &&
		  !label_same("a\n", "a\na\n") && label_same("", ""));
}
END_TEST

START_TEST(labels_refuse)
{
	static const char *const rows[] = {"", "v1", "v1\telf_debug aabb\ts\tu\t1\t5",
		"v1\telf_debug aabb\ts\tu\t1\t5\t6\t7", "v1\telf_debug aabb\ts\tu\tx\t5\t6",
		"v1\telf_debug aabb\ts\tu\t1\t-5\t6", "v1\telf_debug aabb\ts\tu\t1\t5x\t6",
		"v1\telf_debug aabb\ts\tu\t1\t\t6", "v1\telf_debug zz\ts\tu\t1\t5\t6",
		"v1\telf_debug aabb\ts\\x0\tu\t1\t5\t6", "v1\telf_debug aabb\ts\\x00\tu\t1\t5\t6",
		"v1\telf_debug aabb\ts\tu\t1\t99999999999999999999\t6"};
	struct label_line l;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_msg(label_parse(&l, rows[i], strlen(rows[i])) == -EINVAL, "%s", rows[i]);
}
END_TEST

/* ---- a damaged index ---------------------------------------------------------------- */

#define SOME 20

static void fill_store(void)
{
	struct store *s = open_scratch();
	struct key twin = key_nth(1000), odd = key_of_text("source aabb /odd\tname\n");

	for (unsigned i = 0; i < SOME; i++) {
		struct key k = key_nth(i);

		ck_assert_int_eq(publish(s, &k, i, 1000 + i), 0);
	}
	ck_assert_int_eq(publish(s, &twin, 0, 1000), 0);
	ck_assert_int_eq(publish(s, &odd, 1, 1001), 0);
	store_close(s);
}

static void is_filled(struct store *s)
{
	struct key twin = key_nth(1000), odd = key_of_text("source aabb /odd\tname\n");

	for (unsigned i = 0; i < SOME; i++) {
		struct key k = key_nth(i);

		ck_assert_msg(finds(s, &k, i, 1000 + i), "%u", i);
	}
	ck_assert(finds(s, &twin, 0, 1000) && finds(s, &odd, 1, 1001));
	ck_assert_uint_eq(totals(s).artifacts, SOME);
	ck_assert_uint_eq(totals(s).keys, SOME + 2);
	ck_assert_int_eq(verify_quiet(s), 0);
}

static void remove_index(void)
{
	unlink(in_scratch("index.sqlite"));
	unlink(in_scratch("index.sqlite-wal"));
	unlink(in_scratch("index.sqlite-shm"));
}

static void garbage_at(const char *name, off_t from)
{
	struct stat st;
	char block[4096];
	int fd = open(in_scratch(name), O_WRONLY | O_CLOEXEC);

	memset(block, 0xa5, sizeof(block));
	if (fd < 0)
		return;
	ck_assert_int_eq(fstat(fd, &st), 0);
	for (off_t at = from; at < st.st_size; at += sizeof(block))
		ck_assert_int_ge(pwrite(fd, block, sizeof(block), at), 0);
	close(fd);
}

static void damage_nth(int how)
{
	switch (how) {
	case 0:
		remove_index();
		break;
	case 1:
		unlink(in_scratch("index.sqlite")); /* its log stays */
		break;
	case 2:
		garbage_at("index.sqlite", 0);
		break;
	case 3:
		garbage_at("index.sqlite", 4096); /* the header is sound */
		break;
	case 4:
		ck_assert_int_eq(truncate(in_scratch("index.sqlite"), 0), 0);
		break;
	case 5:
		ck_assert_int_eq(truncate(in_scratch("index.sqlite"), 5000), 0);
		break;
	case 6:
		sql("PRAGMA user_version = 99");
		break;
	case 7:
		sql("PRAGMA application_id = 1");
		break;
	case 8:
		sql("DROP TABLE misses");
		break;
	case 9:
		sql("UPDATE keys SET key = 'nonsense' WHERE id = 3");
		break;
	}
}

START_TEST(damaged_when_opened)
{
	struct store *s;

	scratch_dir();
	fill_store();
	damage_nth(_i);
	s = open_scratch();
	is_filled(s);
	ck_assert_int_eq(is_there(in_scratch("index.sqlite.damaged")), _i > 1 && _i != 4);
	store_close(s);
	s = open_scratch();
	is_filled(s);
	store_close(s);
	scratch_end();
}
END_TEST

/* The same with a store that is open: a reader first, or a writer. */
START_TEST(damaged_while_open)
{
	struct key k = key_nth(0), new = key_nth(5000);
	struct store *s;
	bool reader = _i & 1;

	scratch_dir();
	fill_store();
	s = open_scratch();
	if (_i / 2 < 6)
		sql("PRAGMA wal_checkpoint(TRUNCATE)");
	damage_nth(_i / 2);
	if (reader)
		finds(s, &k, 0, 1000); /* may be answered from memory; must not fail for ever */
	ck_assert_int_eq(publish(s, &new, 5000, 50), 0);
	ck_assert(finds(s, &new, 5000, 50));
	ck_assert_int_eq(store_remove_file(s, &new), 0);
	store_close(s);
	s = open_scratch();
	is_filled(s);
	store_close(s);
	scratch_end();
}
END_TEST

/* A list of files recovers as any other reader does. */
START_TEST(damaged_when_listed)
{
	struct store_row rows[4];
	struct store *s;

	scratch_dir();
	fill_store();
	s = open_scratch();
	damage_nth(9);
	ck_assert_int_eq(store_list(s, 0, rows, 4), 4);
	is_filled(s);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(deleted_under_two_handles)
{
	struct key a = key_nth(5001), b = key_nth(5002);
	struct store *one, *two;

	scratch_dir();
	fill_store();
	one = open_scratch();
	two = open_scratch();
	remove_index();
	ck_assert_int_eq(publish(one, &a, 5001, 50), 0);
	ck_assert_int_eq(publish(two, &b, 5002, 50), 0);
	ck_assert(finds(one, &b, 5002, 50) && finds(two, &a, 5001, 50));
	store_close(one); /* must not take the log of the new index along */
	ck_assert(finds(two, &b, 5002, 50));
	ck_assert_int_eq(store_remove_file(two, &a) | store_remove_file(two, &b), 0);
	is_filled(two);
	store_close(two);
	scratch_end();
}
END_TEST

static void open_and_look(void *ctx)
{
	struct store *s;

	if (freopen(in_scratch("log"), "a", stderr) == NULL)
		_exit(3);
	s = open_scratch();
	is_filled(s);
	store_close(s);
}

START_TEST(one_rebuilds)
{
	_cleanup_free_ char *log = NULL;
	unsigned said = 0;
	pid_t pid[4];

	scratch_dir();
	fill_store();
	damage_nth(2);
	write_file(in_scratch("log"), "", 0);
	for (unsigned i = 0; i < ARRAY_SIZE(pid); i++)
		pid[i] = in_child(open_and_look, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(pid); i++)
		ck_assert_int_eq(child_status(pid[i]), 0);
	ck_assert_int_eq(path_read(AT_FDCWD, in_scratch("log"), 1 << 20, &log, NULL), 0);
	for (const char *p = log; (p = strstr(p, "rebuilt the index: 20 artifacts")); p++)
		said++;
	ck_assert_uint_eq(said, 1);
	scratch_end();
}
END_TEST

/* After a power failure the index may have lost commits of files that exist. */
START_TEST(swept_after_boot)
{
	struct key k = key_nth(3), twin = key_nth(1000);
	struct store *s;

	scratch_dir();
	fill_store();
	sql("PRAGMA foreign_keys = 1; DELETE FROM objects WHERE id = 4;"
	    "DELETE FROM meta WHERE name = 'boot'");
	s = open_scratch();
	ck_assert(finds(s, &k, 3, 1003) && finds(s, &twin, 0, 1000));
	is_filled(s);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- verify ------------------------------------------------------------------------- */

struct told {
	unsigned n;
	char what[200];
	bool key;
};

static void tell(void *ctx, const struct key *k, const char *path, const char *what)
{
	struct told *t = ctx;

	t->n++;
	t->key = k != NULL;
	snprintf(t->what, sizeof(t->what), "%s", what);
	ck_assert_int_eq(strncmp(path, scratch, strlen(scratch)), 0);
}

static void flip_byte(const char *path)
{
	int fd;

	ck_assert_int_eq(chmod(path, 0600), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "\xff\x01", 2, 500), 2);
	close(fd);
}

static void write_stray(const char *like)
{
	char path[600];

	snprintf(path, sizeof(path), "%s", like);
	path[strlen(path) - 1] = path[strlen(path) - 1] == '0' ? '1' : '0';
	write_file(path, "x", 1);
}

static const char *spoil(int how, const char *path)
{
	char label[600];

	snprintf(label, sizeof(label), "%s.key", path);
	switch (how) {
	case 0:
		flip_byte(path);
		return "digest differs";
	case 1:
		chmod(path, 0600);
		ck_assert_int_eq(truncate(path, 10), 0);
		return "size differs";
	case 2:
		unlink(path);
		return "file is gone";
	case 3:
		unlink(label);
		return "its .key file is gone";
	case 4:
		ck_assert_int_eq(truncate(label, 0), 0);
		return "its .key file differs";
	case 5:
		sql("UPDATE objects SET size = 7 WHERE id = 5");
		return "size differs";
	case 6:
		sql("UPDATE objects SET sha256 = '00' || substr(sha256, 3) WHERE id = 5");
		return "file is gone";
	case 7:
		sql("UPDATE objects SET sha256 = '../../../etc/passwd' WHERE id = 5");
		return "does not name a file";
	case 8:
		sql("UPDATE keys SET source = 'other' WHERE object_id = 5");
		return "its .key file differs";
	case 9:
		sql("DELETE FROM keys WHERE object_id = 5");
		return "no key names it";
	case 10:
		write_stray(path);
		return "neither the index nor a .key file";
	}
	return NULL;
}

START_TEST(verify_names_damage)
{
	struct key k = key_nth(4), other = key_nth(6);
	struct told told = {0};
	const char *what;
	struct store *s;
	struct blob *b;

	scratch_dir();
	fill_store();
	s = open_scratch();
	ck_assert_int_eq(store_verify(s, tell, &told), 0);
	ck_assert_int_eq(store_find(s, &k, &b), 0);
	what = spoil(_i, blob_path(b));
	ck_assert_int_eq(store_verify(s, tell, &told), 1);
	ck_assert_uint_eq(told.n, 1);
	ck_assert_msg(strstr(told.what, what) != NULL, "%s / %s", told.what, what);
	ck_assert_int_eq(told.key, _i < 9);
	blob_unref(b);

	/* A second one is counted beside it; and what is published anew is whole again. */
	ck_assert_int_eq(store_find(s, &other, &b), 0);
	spoil(0, blob_path(b));
	blob_unref(b);
	ck_assert_int_eq(store_verify(s, tell, &told), 2);
	ck_assert_int_eq(publish(s, &other, 6, 1006), 0);
	ck_assert_int_eq(verify_quiet(s), 1);
	ck_assert_int_eq(publish(s, &k, 4, 1004), 0);
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert_int_eq(verify_quiet(s), 0);
	is_filled(s);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- several processes -------------------------------------------------------------- */

#define EACH 60

static void publish_some(void *ctx)
{
	unsigned from = *(unsigned *)ctx;
	struct store *s = open_scratch();

	for (unsigned i = from; i < from + EACH; i++) {
		struct key k = key_nth(i), mine = key_nth(i + 100000 + from * 10);

		/* The bytes are the same in both processes, one key is shared, one is not. */
		if (publish(s, &k, i, 3000) < 0 || publish(s, &mine, i, 3000) < 0)
			_exit(1);
		if (!finds(s, &k, i, 3000))
			_exit(2);
	}
	store_close(s);
}

START_TEST(two_processes)
{
	unsigned from[2] = {0, EACH / 2};
	struct store *s;
	pid_t pid[2];

	scratch_dir();
	for (unsigned i = 0; i < 2; i++)
		pid[i] = in_child(publish_some, &from[i]);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(child_status(pid[i]), 0);
	s = open_scratch();
	ck_assert_uint_eq(totals(s).artifacts, EACH * 3 / 2);
	ck_assert_uint_eq(totals(s).keys, EACH * 3 / 2 + 2 * EACH);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

struct killing {
	int told; /* a pipe: the number of each artifact whose publish returned */
	unsigned from;
};

static void publish_for_ever(void *ctx)
{
	struct killing *c = ctx;
	struct store *s = open_with(400000, 0);

	for (unsigned i = c->from;; i++) {
		struct key k = key_nth(i), shared = key_nth(i % 5 + 70000);

		if (publish(s, &k, i, 2000 + i % 9000) < 0 || write(c->told, &i, sizeof(i)) < 0)
			_exit(1);
		if (publish(s, &shared, i, 2000 + i % 9000) < 0)
			_exit(1);
		if (i % 7 == 3)
			store_remove_file(s, &k);
	}
}

static void check_after_kill(unsigned first, unsigned last)
{
	struct store *s = open_with(400000, 0);
	struct store_row rows[16];
	int64_t after = 0;
	int n;

	while ((n = store_list(s, after, rows, 16)) > 0)
		for (int i = 0; i < n; i++) {
			struct blob *b = NULL;
			unsigned content = 0;

			after = rows[i].id;
			ck_assert_int_eq(store_find(s, &rows[i].key, &b), 0);
			ck_assert_int_eq(blob_read(b, 0, &content, 4), 4);
			ck_assert(has_bytes(b, content, 2000 + content % 9000));
			blob_unref(b);
		}
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(verify_quiet(s), 0);
	ck_assert_uint_eq(totals(s).drafts, 0);
	if (last > first && last % 7 != 3) { /* what was said to be stored is stored */
		struct key k = key_nth(last);

		ck_assert(store_has(s, &k, NULL));
	}
	store_close(s);
}

START_TEST(killed_at_any_moment)
{
	unsigned seed = unit_seed(12345), first = 0;

	scratch_dir();
	for (unsigned round = 0; round < 40; round++) {
		unsigned last = first, stop, seen = 0;
		int pipes[2];
		pid_t pid;
		struct killing c = {.from = first};

		ck_assert_int_eq(pipe(pipes), 0);
		c.told = pipes[1];
		pid = in_child(publish_for_ever, &c);
		close(pipes[1]);
		seed = seed * 1103515245 + 12345;
		stop = seed >> 16 & 7;
		while (seen++ <= stop && read(pipes[0], &last, sizeof(last)) == sizeof(last))
			;
		for (volatile unsigned spin = 0; spin < (seed >> 8) % 4000000; spin++)
			;
		kill(pid, SIGKILL);
		ck_assert(WIFSIGNALED(child_status(pid)));
		while (read(pipes[0], &last, sizeof(last)) == sizeof(last))
			;
		close(pipes[0]);
		check_after_kill(first, last);
		first = last + 1;
	}
	scratch_end();
}
END_TEST

/* What a child does while its parent counts its system calls. */
static void change_a_lot(void *ctx)
{
	struct key a = key_nth(1), b = key_nth(2), twin = key_nth(3);
	struct store *s = open_with(10000, 0);

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(9);
	raise(SIGSTOP);
	publish(s, &a, 11, 3000);    /* other bytes under a key */
	publish(s, &twin, 11, 3000); /* a second key for them */
	store_remove_file(s, &b);
	publish(s, &b, 12, 8000);    /* evicts */
	store_remove_file(s, &twin);
	store_close(s);
}

/* Ends the child as it enters its nth system call. False: it was done before. */
static bool kill_at(unsigned nth, bool *traced)
{
	pid_t pid = in_child(change_a_lot, NULL);
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	*traced = WIFSTOPPED(status);
	if (!*traced)
		return false;
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
	for (unsigned stops = 0; WIFSTOPPED(status) && stops < 2 * nth - 1; stops++) {
		ck_assert_int_eq(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	}
	if (!WIFSTOPPED(status)) {
		ck_assert_int_eq(status, 0);
		return false;
	}
	kill(pid, SIGKILL);
	ck_assert(WIFSIGNALED(child_status(pid)));
	return true;
}

static int count_blob(void *ctx, enum dir_kind kind, const char *sha256)
{
	((unsigned *)ctx)[kind]++;
	return 0;
}

static void check_settled(unsigned nth)
{
	struct key a = key_nth(1);
	struct store *s = open_scratch();
	unsigned files[2] = {0};
	int dirfd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_msg(verify_quiet(s) == 0, "killed at call %u: damaged", nth);
	/* Old, new, or evicted; never anything else. */
	ck_assert_msg(finds(s, &a, 1, 2000) || finds(s, &a, 11, 3000) || !store_has(s, &a, NULL),
		"killed at call %u: wrong bytes", nth);
	ck_assert_int_eq(dir_walk(dirfd, count_blob, files), 0);
	ck_assert_uint_eq(files[DIR_BLOB], totals(s).artifacts);
	ck_assert_uint_eq(files[DIR_LABEL], totals(s).artifacts);
	ck_assert_uint_eq(totals(s).drafts, 0);
	close(dirfd);
	store_close(s);
}

START_TEST(killed_at_each_call)
{
	struct key a = key_nth(1), b = key_nth(2);
	bool more = true, traced = true;
	struct store *s;

	for (unsigned nth = 1; more; nth += 3) {
		scratch_dir();
		s = open_scratch();
		ck_assert_int_eq(publish(s, &a, 1, 2000), 0);
		ck_assert_int_eq(publish(s, &b, 2, 2000), 0);
		store_close(s);
		more = kill_at(nth, &traced);
		check_settled(nth);
		scratch_end();
	}
	if (!traced)
		fprintf(stderr, "killed_at_each_call: skipped, no process can be traced here\n");
}
END_TEST

/* ---- readers and threads ------------------------------------------------------------ */

/* Another process that holds the write lock, and the index's lock, until it is killed. */
static void sit_on_the_locks(void *ctx)
{
	int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ready = *(int *)ctx;
	sqlite3 *db;

	if (flock(fd, LOCK_EX) < 0 || sqlite3_open(in_scratch("index.sqlite"), &db) != SQLITE_OK ||
		sqlite3_exec(db, "BEGIN IMMEDIATE; DELETE FROM keys", NULL, NULL, NULL) != SQLITE_OK)
		_exit(1);
	if (write(ready, "x", 1) == 1)
		for (;;)
			pause();
}

/* Readers beside a process that holds the locks for ever. Returns the milliseconds. */
static uint64_t reads_beside_locks(void)
{
	struct key k = key_nth(0);
	struct store_row row;
	struct store *s;
	int pipes[2];
	uint64_t start, took;
	pid_t pid;
	char c;

	scratch_dir();
	fill_store();
	sql("UPDATE objects SET used = 0"); /* each use is worth a note */
	ck_assert_int_eq(pipe(pipes), 0);
	s = open_scratch();
	pid = in_child(sit_on_the_locks, &pipes[1]);
	ck_assert_int_eq(read(pipes[0], &c, 1), 1);
	start = clock_ms();
	for (unsigned i = 0; i < 200; i++) {
		struct key each = key_nth(i % SOME);

		ck_assert(finds(s, &each, i % SOME, 1000 + i % SOME));
		ck_assert(store_has(s, &each, NULL));
	}
	ck_assert_int_eq(store_miss_until(s, &k, "", "x"), 0);
	ck_assert_int_eq(store_list(s, 0, &row, 1), 1);
	took = clock_ms() - start;
	kill(pid, SIGKILL);
	child_status(pid);
	is_filled(s);
	store_close(s);
	scratch_end();
	return took;
}

START_TEST(readers_beside_locks)
{
	reads_beside_locks();
}
END_TEST

/* One wait of a writer takes a minute. */
START_TEST(timed_readers_never_wait)
{
	ck_assert_uint_lt(reads_beside_locks(), unit_scaled(4000));
}
END_TEST

struct worker {
	struct store *s;
	unsigned nth;
	bool failed;
	pthread_t thread;
};

static void *work(void *ctx)
{
	struct worker *w = ctx;

	for (unsigned i = 0; i < 40 && !w->failed; i++) {
		struct key k = key_nth(i), mine = key_nth(w->nth * 1000 + i);
		struct blob *b = NULL;
		struct store_totals t;

		switch (w->nth % 4) {
		case 0:
		case 1:
			w->failed = publish(w->s, &k, i, 500) < 0 || publish(w->s, &mine, i, 500) < 0;
			break;
		case 2:
			if (store_find(w->s, &k, &b) == 0)
				w->failed = !has_bytes(b, i, 500);
			blob_unref(b);
			w->failed |= store_count(w->s, &t) < 0;
			break;
		case 3:
			w->failed = store_miss_add(w->s, &mine, "", "x", 100, "404") < 0 ||
				    !store_miss_until(w->s, &mine, "", "x");
			store_remove_file(w->s, &k);
			break;
		}
	}
	return NULL;
}

START_TEST(many_threads)
{
	struct worker w[8] = {0};
	struct store *s;

	scratch_dir();
	s = open_scratch();
	for (unsigned i = 0; i < ARRAY_SIZE(w); i++) {
		w[i].s = s;
		w[i].nth = i;
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(w); i++) {
		pthread_join(w[i].thread, NULL);
		ck_assert_msg(!w[i].failed, "%u", i);
	}
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

static int run_tests(int argc, char **argv)
{
	const TTest *const plain[] = {publish_and_find, removes_a_file, one_blob_many_keys, survives_reopen,
		time_of_the_origin,
		use_is_noted_once_an_hour, file_gone_is_forgotten, file_in_place, misses, other_writer_is_seen,
		quota_evicts_the_oldest, index_replaced,
		damage_keeps_pins_and_misses, pins_stay, directory_goes,
		directory_cannot_be_made, not_open_to_all, free_space_floor, full_disk, disk_that_others_fill,
		file_size_limit, refused_directories, foreign_files_stay, emptied_while_open, dead_drafts_go,
		learned, module_lines,
		misses_by_name, keys_with_an_id, labels_read_back, labels_refuse,
		damaged_when_listed, deleted_under_two_handles, one_rebuilds,
		swept_after_boot, two_processes, killed_at_any_moment, killed_at_each_call,
		readers_beside_locks, timed_readers_never_wait, many_threads};
	const struct {
		const TTest *test;
		int times;
	} loops[] = {{damaged_when_opened, 10}, {damaged_while_open, 20}, {verify_names_damage, 11}};
	Suite *s = suite_create("store");
	TCase *c = tcase_create("store");
	SRunner *r;
	int failed;

	tcase_set_timeout(c, 800); /* thousands of stops of a process, on a busy machine; only against hanging */
	for (unsigned i = 0; i < ARRAY_SIZE(plain); i++)
		if (unit_is_chosen(plain[i]->name))
			tcase_add_test(c, plain[i]);
	for (unsigned i = 0; i < ARRAY_SIZE(loops); i++)
		if (unit_is_chosen(loops[i].test->name))
			tcase_add_loop_test(c, loops[i].test, 0, loops[i].times);
	suite_add_tcase(s, c);
	r = srunner_create(s);
	srunner_set_tap(r, "-");
	srunner_run_all(r, CK_SILENT);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

UNIT_ROW("store", run_tests)
