/* The store: a better file takes the key of a worse one, and never the other way. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "behind.h"
#include "store/files/dir.h"
#include "store/files/label.h"

#define SIZE 500

static struct worth worth_of_text(const char *text)
{
	struct worth w;

	ck_assert_int_eq(worth_parse(&w, text), 0);
	return w;
}

/* Publishes content number n, with the worth, under a key and a further one, which may be NULL. */
static int publish_worth(struct store *s, const struct key *k, const struct key *further, unsigned n,
	const char *worth, bool pinned)
{
	struct store_learned l = {.worth = worth_of_text(worth), .pinned = pinned};
	unsigned char p[SIZE];
	struct draft *d;

	if (further)
		l.keys[l.n++] = *further;
	fill_bytes(p, sizeof(p), n);
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	ck_assert_int_eq(draft_write(d, 0, p, sizeof(p)), 0);
	return store_publish_learned(s, d, k, &FACTS, &l, NULL, NULL);
}

static bool has_worth(struct store *s, const struct key *k, const char *worth, unsigned generation)
{
	_cleanup_blob_ struct blob *b = NULL;
	char room[WORTH_TEXT];

	ck_assert_int_eq(store_find(s, k, &b), 0);
	return strcmp(worth_text(&blob_facts(b)->worth, room), worth) == 0 &&
		blob_facts(b)->generation == generation;
}

START_TEST(the_better_one_stays)
{
	struct key k = key_nth(1);
	struct store *s, *other;
	struct blob *old;

	scratch_dir();
	s = open_scratch();
	other = open_scratch();
	ck_assert_int_eq(publish_worth(s, &k, NULL, 1, "symbols=full", false), 0);
	ck_assert_int_eq(store_find(other, &k, &old), 0);
	ck_assert(!store_wants(s, &k, &(struct worth){.known = false}, NULL));
	/* as good: the first stays */
	ck_assert_int_eq(publish_worth(s, &k, NULL, 2, "symbols=full", false), -ESTALE);
	ck_assert_int_eq(publish_worth(s, &k, NULL, 2, "symbols=dynamic unwind", false), -ESTALE);
	ck_assert(finds(s, &k, 1, SIZE) && has_worth(s, &k, "symbols=full", 0));
	ck_assert_int_eq(publish_worth(s, &k, NULL, 3, "symbols=full debug=full", false), 0);
	ck_assert(finds(s, &k, 3, SIZE) && has_worth(s, &k, "symbols=full debug=full", 1));
	ck_assert(finds(other, &k, 3, SIZE)); /* another process sees it at once */
	ck_assert(has_bytes(old, 1, SIZE));   /* a handle that is open reads on */
	ck_assert(!is_there(blob_path(old)));
	ck_assert_int_eq(publish_worth(s, &k, NULL, 1, "symbols=full", false), -ESTALE);
	ck_assert_int_eq(publish_worth(s, &k, NULL, 3, "symbols=full debug=full", false), 0); /* the same bytes */
	ck_assert(has_worth(s, &k, "symbols=full debug=full", 1));
	ck_assert_uint_eq(totals(s).artifacts, 1);
	ck_assert_int_eq(verify_quiet(s), 0);
	blob_unref(old);
	store_close(other);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(further_keys)
{
	struct key debug = key_nth(1), code = key_nth(2), third = key_nth(3);
	struct store *s;

	code.type = FILETYPE_ELF_CODE;
	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_worth(s, &code, &debug, 1, "symbols=full unwind", false), 0);
	/* The debug file gets the key of debug files; the program keeps its own. */
	ck_assert_int_eq(publish_worth(s, &third, &debug, 2, "symbols=full debug=full", false), 0);
	ck_assert(finds(s, &code, 1, SIZE) && finds(s, &debug, 2, SIZE) && finds(s, &third, 2, SIZE));
	ck_assert(has_worth(s, &debug, "symbols=full debug=full", 1) &&
		has_worth(s, &code, "symbols=full unwind", 0));
	/* As a program it is worse: it has no unwind information. */
	ck_assert_int_eq(publish_worth(s, &third, &code, 2, "symbols=full debug=full", false), 0);
	ck_assert(finds(s, &code, 1, SIZE));
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* The index is lost between: labels have the worth. */
START_TEST(a_rebuilt_index)
{
	struct key k = key_nth(1), plain = key_nth(2);
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_worth(s, &k, NULL, 1, "debug=lines", false), 0);
	ck_assert_int_eq(publish(s, &plain, 2, SIZE), 0);
	store_close(s);
	for (unsigned i = 0; i < 2; i++) {
		unlink(in_scratch("index.sqlite"));
		s = open_scratch();
		ck_assert(has_worth(s, &k, "debug=lines", 0) && has_worth(s, &plain, "unknown", 0));
		ck_assert_int_eq(publish_worth(s, &k, NULL, 3, "unwind", false), -ESTALE);
		ck_assert_int_eq(verify_quiet(s), 0);
		store_close(s);
	}
	s = open_scratch();
	ck_assert_int_eq(publish_worth(s, &k, NULL, 3, "debug=full", false), 0);
	ck_assert(finds(s, &k, 3, SIZE));
	store_close(s);
	scratch_end();
}
END_TEST

static bool is_pinned(struct store *s, const struct key *k)
{
	struct store_row rows[8];
	int n = store_list(s, 0, rows, ARRAY_SIZE(rows));

	for (int i = 0; i < n; i++)
		if (key_equal(&rows[i].key, k))
			return rows[i].keep_until == STORE_FOR_GOOD;
	return false;
}

START_TEST(pinned_files)
{
	struct key k = key_nth(1);
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_worth(s, &k, NULL, 1, "symbols=full", true), 0);
	ck_assert_int_eq(publish(s, &k, 5, SIZE), -ESTALE); /* it cannot be compared */
	ck_assert_int_eq(publish_worth(s, &k, NULL, 2, "debug=lines", true), 0);
	ck_assert(finds(s, &k, 2, SIZE) && is_pinned(s, &k));
	/* A download that is better takes over the pin with the key. */
	ck_assert_int_eq(publish_worth(s, &k, NULL, 3, "debug=full", false), 0);
	ck_assert(finds(s, &k, 3, SIZE) && is_pinned(s, &k));
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	unlink(in_scratch("index.sqlite"));
	s = open_scratch();
	ck_assert(is_pinned(s, &k));
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(links)
{
	struct key k = key_nth(1), better = key_nth(2), worse = key_nth(3);
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(publish_worth(s, &k, NULL, 1, "debug=lines", false), 0);
	ck_assert_int_eq(publish_worth(s, &better, NULL, 2, "debug=full", false), 0);
	ck_assert_int_eq(publish_worth(s, &worse, NULL, 3, "symbols=full", false), 0);
	/* The same bytes under further keys. */
	ck_assert_int_eq(publish_worth(s, &better, NULL, 1, "debug=lines", false), -ESTALE);
	ck_assert_int_eq(publish_worth(s, &worse, NULL, 1, "debug=lines", false), 0);
	ck_assert(finds(s, &worse, 1, SIZE) && finds(s, &better, 2, SIZE) && finds(s, &k, 1, SIZE));
	ck_assert_uint_eq(totals(s).artifacts, 2);
	store_close(s);
	scratch_end();
}
END_TEST

#define OLD_SYM "MODULE Linux x86_64 D2554CDB926136C4B9766A086583B9B50 a\nPUBLIC 1 0 f\n"

/* A file that was stored without its worth is looked at when another file wants its key. */
START_TEST(of_unknown_worth)
{
	struct key k = key_of_text("breakpad D2554CDB926136C4B9766A086583B9B50 a"), other = key_nth(1);
	struct worth lines = worth_of_text("symbols=full debug=full"), same = worth_of_text("symbols=full");
	struct draft *d;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(draft_new(&d, s, NULL), 0);
	ck_assert_int_eq(draft_write(d, 0, OLD_SYM, strlen(OLD_SYM)), 0);
	ck_assert_int_eq(store_publish(s, d, &k, &FACTS, NULL, NULL), 0);
	ck_assert_int_eq(publish(s, &other, 1, SIZE), 0);
	ck_assert(has_worth(s, &k, "unknown", 0) && has_worth(s, &other, "unknown", 0));
	ck_assert(store_wants(s, &k, &lines, NULL) && !store_wants(s, &k, &same, NULL));
	ck_assert(!store_wants(s, &other, &lines, NULL)); /* nothing tells what it has */
	ck_assert_int_eq(publish_worth(s, &k, NULL, 2, "symbols=full", false), -ESTALE);
	ck_assert_int_eq(publish_worth(s, &k, NULL, 2, "symbols=full debug=full", false), 0);
	ck_assert(has_worth(s, &k, "symbols=full debug=full", 1));
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* A label of a later version is read as far as it is known. */
START_TEST(labels)
{
	static const struct {
		const char *text, *worth;
	} rows[] = {
		{"w1\tdebug=full unwind\n", "debug=full unwind"},
		{"p1\nw1\tnone\n", "none"},
		{"w1\tsplines\nw1\tunwind\n", "unknown"},
		{"w1\n", "unknown"},
		{"w1\t\n", "unknown"},
		{"w2\tunwind\n", "unknown"},
		{"", "unknown"},
	};
	_cleanup_buf_ struct buf b = BUF_UP_TO(4096);
	char room[WORTH_TEXT];
	struct worth w;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		label_worth(rows[i].text, &w);
		ck_assert_str_eq(worth_text(&w, room), rows[i].worth);
	}
	w = worth_of_text("symbols=dynamic");
	ck_assert_int_eq(label_add_worth(&b, &w), 0);
	ck_assert_int_eq(label_add_worth(&b, &(struct worth){.known = false}), 0);
	ck_assert_str_eq(buf_text(&b), "w1\tsymbols=dynamic\n");
}
END_TEST

UNIT_MAIN("improve", the_better_one_stays, further_keys, a_rebuilt_index, pinned_files, links,
	of_unknown_worth, labels)
