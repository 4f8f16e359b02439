/* symfs cache ls: the files, the sparse files and the misses of the store. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "cmd/cache.h"
#include "cmd/cmd.h"
#include "store/sparse.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>

#define AT_ONCE 64 /* rows of one query to the index */

static void add_time(struct json *j, const char *name, int64_t wall)
{
	char text[24] = "";

	if (wall == INT64_MAX)
		snprintf(text, sizeof(text), "always");
	else if (wall)
		clock_print(wall, text);
	json_text(j, name, text);
}

/* ---- files -------------------------------------------------------------------------- */

/* Whether the file replaced a worse file under its key. A converted file can be a replacement, too, but has no
 * worth. */
static bool is_improved(const struct store_row *row)
{
	return row->facts.generation && row->facts.worth.known;
}

static void add_file(struct json *j, const struct store_row *row)
{
	char room[KEY_TEXT], worth[WORTH_TEXT];

	json_begin_object(j, NULL);
	json_text(j, "key", key_text(&row->key, room));
	json_number(j, "size", (long long)row->size);
	json_text(j, "sha256", row->sha256);
	add_time(j, "used", row->used);
	add_time(j, "kept_until", row->keep_until > clock_wall() ? row->keep_until : 0);
	json_boolean(j, "pinned", row->keep_until == STORE_FOR_GOOD);
	json_text(j, "class", row->held.hold.class);
	add_time(j, "expires", row->held.ends);
	json_text(j, "labels", row->held.hold.labels);
	json_text(j, "source", row->facts.source);
	json_text(j, "url", row->facts.url);
	json_text(j, "worth", row->facts.worth.known ? worth_text(&row->facts.worth, worth) : NULL);
	json_number(j, "generation", row->facts.generation);
	json_boolean(j, "verified", row->facts.verified);
	add_time(j, "fetched", row->facts.fetched);
	json_end(j);
}

static void print_file(struct cache *c, const struct store_row *row)
{
	char used[24], room[KEY_TEXT];

	clock_print(row->used, used);
	printf("%12" PRIu64 "  %s  %c%c  %s", row->size, used, row->facts.verified ? 'v' : '-',
		row->keep_until > clock_wall() ? 'k' : '-',
		text_shown(key_text(&row->key, room), true, &c->room));
	printf("  %s", text_shown(row->facts.source, true, &c->room));
	if (row->held.hold.class[0]) {
		clock_print(row->held.ends, used);
		printf("  %s%s%s", row->held.hold.class, row->held.ends ? " until " : "", row->held.ends ? used : "");
	} else if (row->keep_until == STORE_FOR_GOOD) {
		printf("  pinned");
	}
	printf("%s\n", is_improved(row) ? "  improved" : "");
}

static void show_file(struct cache *c, struct json *j, void *rows, int i)
{
	const struct store_row *row = (struct store_row *)rows + i;

	if (j)
		add_file(j, row);
	else
		print_file(c, row);
}

static int next_files(struct store *s, int64_t *after, void *rows)
{
	int n = store_list(s, *after, rows, AT_ONCE);

	if (n > 0)
		*after = ((struct store_row *)rows)[n - 1].id;
	return n;
}

/* ---- sparse files ------------------------------------------------------------------- */

static unsigned per_cent(const struct store_sparse_row *row)
{
	uint64_t size = row->validator.size;

	return size ? (unsigned)((double)row->present * 100 / (double)size) : 100;
}

static void add_sparse(struct json *j, const struct store_sparse_row *row)
{
	char room[KEY_TEXT];

	json_begin_object(j, NULL);
	json_text(j, "key", key_text(&row->key, room));
	json_number(j, "size", (long long)row->validator.size);
	json_number(j, "present", (long long)row->present);
	json_number(j, "allocated", (long long)row->allocated);
	add_time(j, "used", row->used);
	json_text(j, "source", row->validator.source);
	json_text(j, "url", row->url);
	json_text(j, "etag", row->validator.etag);
	json_text(j, "last_modified", row->validator.last_modified);
	add_time(j, "since", row->since);
	json_end(j);
}

static void print_sparse(struct cache *c, const struct store_sparse_row *row)
{
	char used[24], room[KEY_TEXT];

	clock_print(row->used, used);
	printf("%12" PRIu64 "  %s  s-  %s", row->validator.size, used,
		text_shown(key_text(&row->key, room), true, &c->room));
	printf("  %s  %u%%\n", text_shown(row->validator.source, true, &c->room), per_cent(row));
}

static void show_sparse(struct cache *c, struct json *j, void *rows, int i)
{
	const struct store_sparse_row *row = (struct store_sparse_row *)rows + i;

	if (j)
		add_sparse(j, row);
	else
		print_sparse(c, row);
}

static int next_sparse(struct store *s, int64_t *after, void *rows)
{
	int n = store_list_sparse(s, *after, rows, AT_ONCE);

	if (n > 0)
		*after = ((struct store_sparse_row *)rows)[n - 1].id;
	return n;
}

/* ---- misses ------------------------------------------------------------------------- */

static void add_miss(struct json *j, const struct store_miss_row *row)
{
	char room[KEY_TEXT];

	json_begin_object(j, NULL);
	json_text(j, "key", key_text(&row->key, room));
	json_text(j, "source", row->source);
	add_time(j, "since", row->since);
	add_time(j, "until", row->until);
	json_end(j);
}

static void print_miss(struct cache *c, const struct store_miss_row *row)
{
	char until[24], room[KEY_TEXT];

	clock_print(row->until, until);
	printf("until %s  %s", until, text_shown(key_text(&row->key, room), true, &c->room));
	printf("  %s\n", text_shown(row->source, true, &c->room));
}

static void show_miss(struct cache *c, struct json *j, void *rows, int i)
{
	struct store_miss_row *row = (struct store_miss_row *)rows + i;

	source_name_of_memory(row->source);
	if (j)
		add_miss(j, row);
	else
		print_miss(c, row);
}

static int next_misses(struct store *s, int64_t *after, void *rows)
{
	return store_list_misses(s, after, rows, AT_ONCE);
}

/* ---- the command -------------------------------------------------------------------- */

static const struct listing {
	size_t size, key; /* the bytes of a row; the offset of the key in a row */
	int (*next)(struct store *s, int64_t *after, void *rows); /* returns the number of rows; -errno */
	void (*show)(struct cache *c, struct json *j, void *rows, int i); /* j is NULL: text */
} files = {sizeof(struct store_row), offsetof(struct store_row, key), next_files, show_file},
  sparse_files = {sizeof(struct store_sparse_row), offsetof(struct store_sparse_row, key), next_sparse, show_sparse},
  misses = {sizeof(struct store_miss_row), offsetof(struct store_miss_row, key), next_misses, show_miss};

static bool is_wanted(const struct cache_word *wanted, unsigned n, const struct key *k)
{
	bool found = n == 0;

	for (unsigned i = 0; i < n && !found; i++)
		for (unsigned j = 0; j < wanted[i].n && !found; j++)
			found = key_equal(&wanted[i].keys[j], k);
	return found;
}

static int list_all(struct cache *c, const struct listing *l, const struct cache_word *wanted, unsigned n,
	struct json *j)
{
	_cleanup_free_ char *rows = calloc(AT_ONCE, l->size);
	int64_t after = 0;
	int got = rows ? 1 : -ENOMEM;

	while (got > 0) {
		got = l->next(c->store, &after, rows);
		for (int i = 0; i < got; i++)
			if (is_wanted(wanted, n, (const struct key *)(rows + (size_t)i * l->size + l->key)))
				l->show(c, j, rows, i);
	}
	return got;
}

static int list_with(struct cache *c, const struct cache_word *wanted, unsigned n, struct json *j)
{
	int r = list_all(c, c->misses ? &misses : &files, wanted, n, j);

	return r == 0 && !c->misses ? list_all(c, &sparse_files, wanted, n, j) : r;
}

int cache_ls(struct cache *c, char **words, unsigned n)
{
	_cleanup_free_ struct cache_word *wanted = calloc(n + 1, sizeof(*wanted));
	struct json j;
	int r = wanted ? 0 : EXIT_LOCAL;

	for (unsigned i = 0; i < n && r == 0; i++)
		r = cache_word_parse(c, words[i], &wanted[i]);
	if (r != 0)
		return r;
	json_init(&j, false);
	json_begin_array(&j, NULL);
	r = list_with(c, wanted, n, c->json ? &j : NULL);
	json_end(&j);
	if (r == 0 && c->json)
		return json_print(&j);
	json_release(&j);
	return r < 0 ? cache_failed(c, "cannot be listed", r) : cmd_flush(EXIT_DONE);
}
