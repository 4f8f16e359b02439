/* Holds: classes and ages of uploaded files, their expiry, tombstones, and what survives a lost index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "behind.h"
#include "scratch.h"
#include "store/time.h"

#include <sqlite3.h>

#define DAY 86400

static struct store_hold hold_of(const char *class, int64_t age)
{
	struct store_hold h = {.age = age};

	snprintf(h.class, sizeof(h.class), "%s", class);
	return h;
}

static int publish_worth(struct store *s, const struct key *k, unsigned content, const struct store_hold *h,
	struct worth w)
{
	unsigned char bytes[1000];
	struct store_learned l = {.pinned = true, .hold = *h, .worth = w};
	struct draft *d;

	fill_bytes(bytes, sizeof(bytes), content);
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	ck_assert_int_eq(draft_write(d, 0, bytes, sizeof(bytes)), 0);
	return store_publish_learned(s, d, k, &FACTS, &l, NULL, NULL);
}

static int publish_held(struct store *s, const struct key *k, unsigned content, const struct store_hold *h)
{
	return publish_worth(s, k, content, h, (struct worth){.known = false});
}

static struct hold_state held(struct store *s, const struct key *k)
{
	struct store_row row = {.id = 0};

	while (store_list(s, row.id, &row, 1) == 1)
		if (key_equal(&row.key, k))
			return row.held;
	ck_abort_msg("the key is not stored");
}

/* Whether the file of a key is held in a class until `age` seconds from now, give or take a minute. */
static bool is_held(struct store *s, const struct key *k, const char *class, int64_t age)
{
	struct hold_state h = held(s, k);
	int64_t now = clock_wall();

	return h.pinned && strcmp(h.hold.class, class) == 0 &&
	       (age ? h.ends > now + age - 60 && h.ends < now + age + 60 : h.ends == 0);
}

START_TEST(test_join)
{
	const struct store_hold try = hold_of("try", 30 * DAY), two = hold_of("default", 730 * DAY),
		keep = hold_of("keep", 0);
	struct key a = key_nth(1), b = key_nth(2), cached = key_nth(3), added = key_nth(4);
	struct store_hold none = {.age = 0};
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_held(s, &a, 1, &try), 0);
	ck_assert(is_held(s, &a, "try", 30 * DAY));
	ck_assert_int_eq(publish_held(s, &a, 1, &two), 0);
	ck_assert(is_held(s, &a, "default", 730 * DAY));
	ck_assert_int_eq(store_hold(s, &a, &try), 0);
	ck_assert(is_held(s, &a, "default", 730 * DAY));
	ck_assert_int_eq(store_hold(s, &a, &keep), 0);
	ck_assert(is_held(s, &a, "keep", 0));
	ck_assert_int_eq(publish_held(s, &a, 1, &two), 0);
	ck_assert(is_held(s, &a, "keep", 0));
	/* Another key of the same bytes. */
	ck_assert_int_eq(publish(s, &b, 1, 1000), 0);
	ck_assert(is_held(s, &b, "keep", 0));
	ck_assert_int_eq(publish(s, &cached, 3, 1000), 0);
	ck_assert(!held(s, &cached).pinned);
	ck_assert_int_eq(store_hold(s, &cached, &try), 0);
	ck_assert(is_held(s, &cached, "try", 30 * DAY));
	/* Keeping it for a shorter time changes nothing; for a longer time it stays so long. */
	ck_assert_int_eq(store_keep(s, &cached, DAY), 0);
	ck_assert(is_held(s, &cached, "try", 30 * DAY));
	ck_assert_int_eq(store_keep(s, &cached, 40 * DAY), 0);
	ck_assert(is_held(s, &cached, "try", 40 * DAY));
	/* `symfs add` pins for good, also what was uploaded; unpinning ends a class. */
	ck_assert_int_eq(publish_held(s, &added, 4, &none), 0);
	ck_assert(is_held(s, &added, "", 0));
	ck_assert_int_eq(store_keep(s, &cached, STORE_FOR_GOOD), 0);
	ck_assert(is_held(s, &cached, "", 0));
	ck_assert_int_eq(store_keep(s, &a, 0), 0);
	ck_assert(!held(s, &a).pinned && !held(s, &a).hold.class[0]);
	ck_assert_int_eq(store_hold(s, &(struct key){.type = FILETYPE_PDB, .id = "12"}, &try), -ENOENT);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* The index is lost: labels have class, age and labels. A damaged index that can be read has the ends, too. */
START_TEST(test_rebuild)
{
	struct store_hold try = hold_of("try", 30 * DAY), keep = hold_of("keep", 0);
	struct key a = key_nth(1), b = key_nth(2), gone = key_nth(3);
	struct store_tomb t;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(hold_label_add(&try, "version=1.2"), 0);
	ck_assert_int_eq(publish_held(s, &a, 1, &try), 0);
	ck_assert_int_eq(publish_held(s, &b, 2, &keep), 0);
	ck_assert_int_eq(publish_held(s, &gone, 3, &keep), 0);
	ck_assert_int_eq(store_purge(s, &gone, "purged by ci", true), 0);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	ck_assert_int_eq(unlink(in_scratch("index.sqlite")), 0);
	s = open_scratch();
	ck_assert(is_held(s, &a, "try", 30 * DAY) && is_held(s, &b, "keep", 0));
	ck_assert_str_eq(held(s, &a).hold.labels, "version=1.2");
	/* A "try" upload of the same bytes changes no labels of another class, but that of another class does. */
	ck_assert_int_eq(store_hold(s, &b, &try), 0);
	ck_assert_str_eq(held(s, &b).hold.labels, "");
	ck_assert_int_eq(hold_label_add(&keep, "version=1.3"), 0);
	ck_assert_int_eq(store_hold(s, &b, &keep), 0);
	ck_assert_str_eq(held(s, &b).hold.labels, "version=1.3");
	ck_assert_int_eq(store_tomb(s, &gone, &t), -ENOENT);
	ck_assert_int_eq(publish_held(s, &gone, 3, &keep), 0);
	ck_assert_int_eq(store_purge(s, &gone, "purged by ci", true), 0);
	store_close(s);
	sql("UPDATE objects SET ends = ends - 864000 WHERE ends > 0; DROP TABLE names");
	s = open_scratch();
	ck_assert(is_there(in_scratch("index.sqlite.damaged")));
	ck_assert(is_held(s, &a, "try", 20 * DAY) && is_held(s, &b, "keep", 0));
	ck_assert_int_eq(store_tomb(s, &gone, &t), 0);
	ck_assert_str_eq(t.why, "purged by ci");
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* A "try" upload replaces another one, and no file of another class, however good it is. */
START_TEST(test_try_replaces_no_other)
{
	const struct store_hold try = hold_of("try", 30 * DAY), two = hold_of("default", 730 * DAY);
	const struct store_hold none = {.age = 0}, nightly = hold_of("nightly", 7 * DAY), keep = hold_of("keep", 0);
	struct key a = key_nth(1), b = key_nth(2), c = key_nth(3), d = key_nth(4), e = key_nth(5), f = key_nth(6);
	const struct worth poor = {.known = true, .debug = 1}, full = {.known = true, .debug = 2, .symbols = 2};
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_held(s, &a, 1, &two), 0);
	ck_assert_int_eq(publish_held(s, &a, 2, &try), -ESTALE);
	ck_assert(finds(s, &a, 1, 1000));
	ck_assert_int_eq(publish_held(s, &b, 3, &try), 0);
	ck_assert_int_eq(publish_held(s, &b, 4, &try), 0);
	ck_assert(finds(s, &b, 4, 1000));
	ck_assert_int_eq(publish_held(s, &b, 5, &two), 0);
	ck_assert(finds(s, &b, 5, 1000));
	/* Nor does it after an upload of the same bytes that holds them longer, before or behind the other one. */
	ck_assert_int_eq(publish_held(s, &d, 7, &nightly), 0);
	ck_assert_int_eq(store_hold(s, &d, &try), 0);
	ck_assert(is_held(s, &d, "nightly", 30 * DAY));
	ck_assert_int_eq(publish_held(s, &d, 8, &try), -ESTALE);
	ck_assert_int_eq(publish_held(s, &e, 9, &try), 0);
	ck_assert_int_eq(store_hold(s, &e, &nightly), 0);
	ck_assert_int_eq(publish_held(s, &e, 10, &try), -ESTALE);
	/* It gives way to an upload of another class that is worth less, and does not come back. */
	ck_assert_int_eq(publish_worth(s, &f, 11, &try, full), 0);
	ck_assert(store_wants(s, &f, &poor, &two) && !store_wants(s, &f, &poor, &try));
	ck_assert(!store_wants(s, &f, &poor, NULL));
	ck_assert_int_eq(publish_worth(s, &f, 12, &two, poor), 0);
	ck_assert(finds(s, &f, 12, 1000) && is_held(s, &f, "default", 730 * DAY));
	ck_assert(!store_wants(s, &f, &full, &try) && store_wants(s, &f, &full, &nightly));
	ck_assert_int_eq(publish_worth(s, &f, 11, &try, full), -ESTALE);
	/* A purge removes no file that `symfs add` has pinned, unless it may. */
	ck_assert_int_eq(publish_held(s, &c, 6, &none), 0);
	ck_assert_int_eq(store_purge(s, &c, "purged by ci", false), -EPERM);
	ck_assert(store_has(s, &c, NULL));
	ck_assert_int_eq(store_hold(s, &c, &keep), 0);
	ck_assert_int_eq(store_purge(s, &c, "purged by ci", false), -EPERM);
	ck_assert_int_eq(store_purge(s, &c, "purged by ci", true), 0);
	ck_assert_int_eq(publish_held(s, &c, 6, &keep), 0);
	ck_assert_int_eq(store_hold(s, &c, &none), 0);
	ck_assert_int_eq(store_purge(s, &c, "purged by ci", false), -EPERM);
	ck_assert_int_eq(store_purge(s, &a, "purged by ci", false), 0);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(test_expire)
{
	const struct store_hold try = hold_of("try", 30 * DAY), keep = hold_of("keep", 0);
	struct key a = key_nth(1), b = key_nth(2), c = key_nth(3), later = key_nth(4);
	struct store_expired done = {0};
	struct store_row rows[4];
	struct store_tomb t;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_held(s, &a, 1, &try), 0);
	ck_assert_int_eq(publish_held(s, &b, 1, &try), 0); /* the same bytes */
	ck_assert_int_eq(publish_held(s, &c, 2, &keep), 0);
	ck_assert_int_eq(store_expire(s, &done), 0);
	ck_assert_uint_eq(done.artifacts, 0);
	store_close(s);
	sql("UPDATE objects SET ends = 1000 WHERE ends > 0");
	s = open_scratch();
	ck_assert_int_eq(store_list_ended(s, 0, rows, 4), 2);
	ck_assert(key_equal(&rows[0].key, &a) && strcmp(rows[1].held.hold.class, "try") == 0);
	ck_assert(store_has(s, &a, NULL)); /* until it is removed */
	ck_assert_int_eq(store_expire(s, &done), 0);
	ck_assert_uint_eq(done.artifacts, 1);
	ck_assert_uint_eq(done.bytes, 1000);
	ck_assert(!store_has(s, &a, NULL) && !store_has(s, &b, NULL) && store_has(s, &c, NULL));
	ck_assert_int_eq(store_tomb(s, &b, &t), 0);
	ck_assert(key_equal(&t.key, &b) && t.when > clock_wall() - 60);
	ck_assert_str_eq(t.why, "expired: class try, 30 days without a use");
	ck_assert_int_eq(store_tomb(s, &c, &t), -ENOENT);
	/* The file comes again: the tombstone of its key ends. */
	ck_assert_int_eq(publish_held(s, &a, 1, &try), 0);
	ck_assert_int_eq(store_tomb(s, &a, &t), -ENOENT);
	ck_assert_int_eq(store_tomb(s, &b, &t), 0);
	store_close(s);
	sql("UPDATE objects SET ends = 1000 WHERE ends > 0");
	s = open_scratch();
	/* A publish expires, too, and so does a trim. */
	ck_assert_int_eq(publish(s, &later, 4, 100), 0);
	ck_assert(!store_has(s, &a, NULL) && store_has(s, &later, NULL));
	ck_assert_int_eq(verify_quiet(s), 0);
	ck_assert_int_eq(publish_held(s, &a, 1, &try), 0);
	store_close(s);
	sql("UPDATE objects SET ends = 1000 WHERE ends > 0");
	s = open_scratch();
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert(!store_has(s, &a, NULL));
	store_close(s);
	scratch_end();
}
END_TEST

/* A use renews a hold once a day at most, and never one that has ended. */
START_TEST(test_renewal)
{
	const struct store_hold try = hold_of("try", 30 * DAY);
	struct key k = key_nth(1);
	static const struct {
		int64_t left, then; /* days until the end, before and after a use */
	} rows[] = {{10, 30}, {28, 30}, {0, 0}, {-5, -5}};
	char text[200];
	struct store *s;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		scratch_dir();
		s = open_scratch();
		ck_assert_int_eq(publish_held(s, &k, 1, &try), 0);
		store_close(s);
		snprintf(text, sizeof(text), "UPDATE objects SET used = 5, ends = %lld",
			(long long)(clock_wall() + rows[i].left * DAY));
		sql(text);
		s = open_scratch();
		ck_assert(finds(s, &k, 1, 1000));
		store_close(s);
		s = open_scratch();
		ck_assert(is_held(s, &k, "try", rows[i].then * DAY) || rows[i].then <= 0);
		ck_assert(rows[i].then > 0 || held(s, &k).ends < clock_wall() + 60);
		store_close(s);
		scratch_end();
	}
	/* On the day of the last renewal nothing changes. */
	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_held(s, &k, 1, &try), 0);
	store_close(s);
	snprintf(text, sizeof(text), "UPDATE objects SET used = 5, ends = %lld",
		(long long)(clock_wall() + 30 * DAY - 7200));
	sql(text);
	s = open_scratch();
	ck_assert(finds(s, &k, 1, 1000));
	store_close(s);
	s = open_scratch();
	ck_assert_int_lt(held(s, &k).ends, clock_wall() + 30 * DAY - 7000);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(test_words)
{
	static const char *const lines[] = {"h1\ttry\t5\ta=b c=d\n", "v1\tx\nh1\tkeep\t0\t\n", "h1\ttry\t5\t", NULL};
	static const char *const wrong[] = {"", "h1\n", "h1\ttry\n", "h1\ttry\t5\n", "h1\tTry\t5\t\n",
		"h1\ttry\t-5\t\n",
		"h1\ttry\t5x\t\n", "h1\ttry\t99999999999999999999\t\n", "h1\ttry\t5\ta\n", "h1\ttry\t5\t\ta=b\n",
		"h1\t\t5\t\n", "H1\ttry\t5\t\n", NULL};
	_cleanup_buf_ struct buf b = BUF_UP_TO(1000);
	struct store_hold h = {.age = 1}, again;
	char label[400];

	for (unsigned i = 0; lines[i]; i++)
		ck_assert_int_eq(hold_read(lines[i], &again), 0);
	for (unsigned i = 0; wrong[i]; i++)
		ck_assert_int_eq(hold_read(wrong[i], &again), -ENOENT);
	ck_assert_int_eq(hold_write(&b, &h), 0);
	ck_assert_uint_eq(b.n, 0);
	h = hold_of("try", 99);
	ck_assert_int_eq(hold_label_add(&h, "version=1"), 0);
	ck_assert_int_eq(hold_label_add(&h, "os=linux"), 0);
	ck_assert_int_eq(hold_label_add(&h, "version=2:3/4@5+6-7"), 0);
	ck_assert_str_eq(h.labels, "os=linux version=2:3/4@5+6-7");
	ck_assert_int_eq(hold_label_add(&h, "os=bsd"), 0);
	ck_assert_str_eq(h.labels, "version=2:3/4@5+6-7 os=bsd");
	ck_assert_int_eq(hold_write(&b, &h), 0);
	ck_assert_int_eq(hold_read(buf_text(&b), &again), 0);
	ck_assert(memcmp(h.labels, again.labels, strlen(h.labels)) == 0 && again.age == 99);
	ck_assert_int_eq(hold_label_add(&h, "a"), -EINVAL);
	ck_assert_int_eq(hold_label_add(&h, "=a"), -EINVAL);
	ck_assert_int_eq(hold_label_add(&h, "a="), -EINVAL);
	ck_assert_int_eq(hold_label_add(&h, "a=b c=d"), -EINVAL);
	ck_assert_int_eq(hold_label_add(&h, "a=b\tc"), -EINVAL);
	ck_assert_int_eq(hold_label_add(&h, "a=b=c"), -EINVAL);
	memset(label, 'x', sizeof(label));
	memcpy(label, "n=", 2);
	label[300] = '\0';
	ck_assert_int_eq(hold_label_add(&h, label), -E2BIG);
	ck_assert_str_eq(h.labels, "version=2:3/4@5+6-7 os=bsd");
	ck_assert(hold_class_ok("try") && hold_class_ok("release-2") && !hold_class_ok("") && !hold_class_ok("2"));
	ck_assert(!hold_class_ok("a b") && !hold_class_ok("0123456789012345678901234567890123456789"));
}
END_TEST

/* An older index is rebuilt: files, pins, classes, ends, misses and tombstones stay. */
START_TEST(test_older_index)
{
	const struct store_hold try = hold_of("try", 30 * DAY);
	struct key pinned = key_nth(1), upload = key_nth(2), gone = key_nth(3), missing = key_nth(4);
	struct store_tomb tomb;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish(s, &pinned, 1, 1000), 0);
	ck_assert_int_eq(store_keep(s, &pinned, STORE_FOR_GOOD), 0);
	ck_assert_int_eq(publish_held(s, &upload, 2, &try), 0);
	ck_assert_int_eq(store_bury(s, &gone, "purged by ci"), 0);
	ck_assert_int_eq(store_miss_add(s, &missing, "", "test", 1000, ""), 0);
	store_close(s);
	sql("UPDATE objects SET ends = (SELECT strftime('%s') + 1000) WHERE ends > 0; PRAGMA user_version = 9");
	s = open_scratch();
	ck_assert(is_there(in_scratch("index.sqlite.damaged")));
	ck_assert(finds(s, &pinned, 1, 1000) && is_held(s, &pinned, "", 0));
	ck_assert_str_eq(held(s, &upload).hold.class, "try");
	ck_assert_int_le(held(s, &upload).ends, clock_wall() + 1000);
	ck_assert(store_tomb(s, &gone, &tomb) == 0 && strcmp(tomb.why, "purged by ci") == 0);
	ck_assert_int_gt(store_miss_until(s, &missing, "", "test"), clock_wall());
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

static enum time_event look(struct store_time *t, const char *boot, int64_t wall, int64_t up)
{
	struct time_clocks now = {.wall = wall, .up = up};

	snprintf(now.boot, sizeof(now.boot), "%s", boot);
	return time_look(t, &now, false);
}

#define THEN 1700000000 /* a wall clock that is right */
#define WRONG (THEN + 14 * 365 * (int64_t)DAY)

/* Files end by a clock that jumps only when the new time has held for a day, also over restarts. */
START_TEST(test_clocks)
{
	struct store_time t = {.held = 0}, copy;
	char text[TIME_TEXT];

	/* The first start deletes nothing for a day. */
	ck_assert_int_eq(look(&t, "a", THEN, 100), TIME_JUMPED);
	ck_assert(time_past(&t) == 0 && time_now(&t) == THEN);
	ck_assert_int_eq(look(&t, "a", THEN + DAY - 1, 100 + DAY - 1), TIME_GOES_ON);
	ck_assert_int_lt(time_past(&t), DAY);
	ck_assert_int_eq(look(&t, "a", THEN + DAY, 100 + DAY), TIME_TRUSTED);
	ck_assert_int_eq(time_past(&t), THEN + DAY);
	/* Steps of less than an hour, and nights without power, are no jumps. */
	ck_assert_int_eq(look(&t, "a", THEN + DAY + 3000, 200 + DAY), TIME_GOES_ON);
	ck_assert_int_eq(look(&t, "b", THEN + 2 * DAY, 5), TIME_GOES_ON);
	ck_assert_int_eq(time_past(&t), THEN + 2 * DAY);
	/* A jump ahead: the old time goes on for what deletes, and is kept as text. */
	ck_assert_int_eq(look(&t, "b", WRONG, 105), TIME_DISCARDED);
	ck_assert(time_past(&t) == THEN + 2 * DAY + 100 && time_now(&t) == WRONG);
	time_print(&t, text);
	ck_assert(time_parse(&copy, text) && memcmp(&copy, &t, sizeof(t)) == 0);
	ck_assert_int_eq(look(&t, "b", WRONG + 1000, 1105), TIME_GOES_ON);
	ck_assert_int_eq(time_past(&t), THEN + 2 * DAY + 1100);
	/* And back again: what was stored meanwhile begins anew. */
	ck_assert_int_eq(look(&t, "b", THEN + 2 * DAY + 2100, 2105), TIME_DISCARDED);
	ck_assert(t.began == THEN + 2 * DAY + 2100 && time_past(&t) == t.began && t.held == DAY);
	/* A clock without a battery: nothing gets an end in the past. */
	ck_assert_int_eq(look(&t, "c", 31536000, 5), TIME_JUMPED);
	ck_assert_int_eq(time_now(&t), THEN + 2 * DAY + 2100);
	ck_assert_int_eq(look(&t, "c", THEN + 9 * DAY, 10), TIME_DISCARDED);
	ck_assert(time_past(&t) == THEN + 2 * DAY + 2105 && time_now(&t) == THEN + 9 * DAY);
	ck_assert_int_eq(look(&t, "c", THEN + 10 * DAY, 10 + DAY), TIME_TRUSTED);
	ck_assert_int_eq(time_past(&t), THEN + 10 * DAY);
	/* A clock that is behind for longer is believed, too. Then the right one makes all ends anew. */
	ck_assert_int_eq(look(&t, "d", 31536000, 5), TIME_JUMPED);
	ck_assert_int_eq(look(&t, "d", 31536000 + DAY, 5 + DAY), TIME_TRUSTED);
	ck_assert(time_now(&t) == 31536000 + DAY && t.began <= time_now(&t));
	ck_assert_int_eq(look(&t, "d", THEN + 12 * DAY, 6 + DAY), TIME_DISCARDED);
	ck_assert(time_past(&t) < 31536000 + 2 * DAY);
	ck_assert(!time_parse(&t, "1000000000000000 5 1 -1000000000000000 86400 a"));
	ck_assert(!time_parse(&t, "") && !time_parse(&t, "1 2 x") && t.last.wall == 0);
	/* A new store has nothing to lose. */
	ck_assert_int_eq(time_look(&t, &(struct time_clocks){THEN, 5, "a"}, true), TIME_JUMPED);
	ck_assert_int_eq(time_past(&t), THEN);
	/* A clock that is days ahead at once was behind before, unless the machine was off meanwhile. */
	ck_assert_int_eq(look(&t, "a", THEN + DAY, 5 + DAY), TIME_TRUSTED);
	ck_assert_int_eq(look(&t, "a", THEN + 21 * DAY, 10 + DAY), TIME_DISCARDED);
	ck_assert_int_eq(look(&t, "a", THEN + 22 * DAY, 10 + 2 * DAY), TIME_TRUSTED);
	ck_assert_int_eq(look(&t, "b", THEN + 42 * DAY, 5), TIME_JUMPED);
}
END_TEST

/* What the store knows of the clock, replaced by `wall` seconds from now and `held`, on another boot. */
static void remember(int64_t wall, int64_t held)
{
	char text[200];

	snprintf(text, sizeof(text),
		"INSERT OR REPLACE INTO meta VALUES('time', '%lld 5 %lld 0 %lld other')",
		(long long)(clock_wall() + wall), (long long)(clock_wall() + wall), (long long)held);
	sql(text);
}

START_TEST(test_jumps)
{
	const struct store_hold try = hold_of("try", 30 * DAY);
	struct key a = key_nth(1), b = key_nth(2);
	struct store_expired done = {0};
	struct store_row row;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_held(s, &a, 1, &try), 0);
	store_close(s);
	for (unsigned i = 0; i < 2; i++) { /* a jump of a year, and a store of an older version */
		if (i == 0)
			remember(-365 * DAY, DAY);
		else
			sql("DELETE FROM meta WHERE name = 'time'");
		sql("UPDATE objects SET ends = (SELECT strftime('%s') - 1000) WHERE ends > 0");
		s = open_scratch();
		ck_assert_int_eq(store_list_ended(s, 0, &row, 1), 0);
		ck_assert(store_expire(s, &done) == 0 && done.artifacts == 0);
		ck_assert(publish(s, &b, 2, 1000) == 0 && store_trim(s) == 0 && store_has(s, &a, NULL));
		store_close(s);
	}
	/* A clock that is years behind: the upload gets an end that the right clock has not passed. */
	remember(365 * DAY, DAY);
	s = open_scratch();
	ck_assert_int_eq(publish_held(s, &b, 3, &try), 0);
	ck_assert_int_gt(held(s, &b).ends, clock_wall() + 394 * DAY);
	ck_assert_int_eq(publish_held(s, &a, 1, &try), 0);
	store_close(s);
	/* The new time has held for a day. */
	remember(0, DAY);
	sql("UPDATE objects SET ends = (SELECT strftime('%s') - 1000) WHERE ends > 0 AND size = 1000");
	s = open_scratch();
	ck_assert(store_expire(s, &done) == 0 && done.artifacts == 2 && !store_has(s, &a, NULL));
	ck_assert_int_eq(publish_held(s, &b, 3, &try), 0);
	store_close(s);
	/* A file that was stored by a clock that jumped within a day begins anew. */
	remember(0, 10);
	sql("UPDATE objects SET used = 4000000000, ends = 4000000000 + age WHERE ends > 0");
	sql("UPDATE meta SET value = '4000000000 5 4000000000 0 10 other' WHERE name = 'time'");
	s = open_scratch();
	ck_assert_int_eq(store_trim(s), 0);
	ck_assert(is_held(s, &b, "try", 30 * DAY));
	store_close(s);
	scratch_end();
}
END_TEST

UNIT_MAIN("hold", test_join, test_rebuild, test_try_replaces_no_other, test_expire, test_renewal, test_words,
	test_older_index, test_clocks, test_jumps)
