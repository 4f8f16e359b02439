/* symfs cache ls and expire: list the files, the sparse files and the misses of the store. Also reads the words of
 * `symfs cache`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "cmd/cache/cache.h"
#include "cmd/cmd.h"
#include "cmd/what.h"
#include "store/sparse.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>

#define AT_ONCE 64 /* rows of one query to the index */

/* ---- words -------------------------------------------------------------------------- */

struct keys {
	struct cache_word *out;
	bool text; /* the word is a file that the mount generates */
};

static int add_keys(void *ctx, const struct what *w)
{
	struct keys *k = ctx;

	/* A file that the mount generates (NAME.meta) is not in the cache: `rm NAME.meta` must not remove NAME. */
	k->text = w->hit && !tree_names_file(w->hit);
	k->out->every = w->kind == WHAT_ID || w->kind == WHAT_FILE;
	for (unsigned i = 0; !k->text && i < w->n && k->out->n < CACHE_KEYS_MOST; i++)
		k->out->n += key_of(&k->out->keys[k->out->n], &w->files[i]) == 0;
	return 0;
}

int cache_word_parse(struct cache *c, const char *word, struct cache_word *out)
{
	const struct what_opts o = {.store = c->store, .type = c->type, .every = true};
	struct keys k = {out, false};
	struct err e = {0};
	int r;

	out->n = 0;
	r = what_named(&o, word, add_keys, &k, &e);
	if (r == 0 && out->n)
		return 0;
	return r == 0 ? cmd_say(EXIT_NO, "%s: no layout can mean this path", word)
		      : cmd_say(what_exit(r), "%s: %s", word, err_why(&e, r));
}

int cache_failed(struct cache *c, const char *what, int r)
{
	if (c->json)
		json_clear(c->json);
	return cmd_say(EXIT_LOCAL, "%s: %s: %s", store_dir(c->store), what, err_text(r));
}

/* ---- rows --------------------------------------------------------------------------- */

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

static void add_file(struct json *j, const void *at)
{
	const struct store_row *row = at;
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

static void print_file(struct cache *c, const void *at)
{
	const struct store_row *row = at;
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

static void add_sparse(struct json *j, const void *at)
{
	const struct store_sparse_row *row = at;
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

static void print_sparse(struct cache *c, const void *at)
{
	const struct store_sparse_row *row = at;
	char used[24], room[KEY_TEXT];

	clock_print(row->used, used);
	printf("%12" PRIu64 "  %s  s-  %s", row->validator.size, used,
		text_shown(key_text(&row->key, room), true, &c->room));
	printf("  %s  %u%%\n", text_shown(row->validator.source, true, &c->room), per_cent(row));
}

static int next_sparse(struct store *s, int64_t *after, void *rows)
{
	int n = store_list_sparse(s, *after, rows, AT_ONCE);

	if (n > 0)
		*after = ((struct store_sparse_row *)rows)[n - 1].id;
	return n;
}

/* ---- misses ------------------------------------------------------------------------- */

static void add_miss(struct json *j, const void *at)
{
	const struct store_miss_row *row = at;
	char room[KEY_TEXT];

	json_begin_object(j, NULL);
	json_text(j, "key", key_text(&row->key, room));
	json_text(j, "source", row->source);
	add_time(j, "since", row->since);
	add_time(j, "until", row->until);
	json_end(j);
}

static void print_miss(struct cache *c, const void *at)
{
	const struct store_miss_row *row = at;
	char until[24], room[KEY_TEXT];

	clock_print(row->until, until);
	printf("until %s  %s", until, text_shown(key_text(&row->key, room), true, &c->room));
	printf("  %s\n", text_shown(row->source, true, &c->room));
}

static int next_misses(struct store *s, int64_t *after, void *rows)
{
	int n = store_list_misses(s, after, rows, AT_ONCE);

	for (int i = 0; i < n; i++)
		source_name_of_memory(((struct store_miss_row *)rows)[i].source);
	return n;
}

/* ---- files that expire now ---------------------------------------------------------- */

static void add_ended(struct json *j, const void *at)
{
	const struct store_row *row = at;
	char room[KEY_TEXT];

	json_begin_object(j, NULL);
	json_text(j, "key", key_text(&row->key, room));
	json_text(j, "class", row->held.hold.class);
	add_time(j, "expired", row->held.ends);
	json_number(j, "size", (long long)row->size);
	json_end(j);
}

static void print_ended(struct cache *c, const void *at)
{
	const struct store_row *row = at;
	char room[KEY_TEXT], ended[24];

	clock_print(row->held.ends, ended);
	printf("%12" PRIu64 "  %s  %s", row->size, ended, row->held.hold.class);
	printf("  %s\n", text_shown(key_text(&row->key, room), true, &c->room));
}

static int next_ended(struct store *s, int64_t *after, void *rows)
{
	int n = store_list_ended(s, *after, rows, AT_ONCE);

	if (n > 0)
		*after = ((struct store_row *)rows)[n - 1].id;
	return n;
}

/* ---- the commands ------------------------------------------------------------------- */

static const struct listing {
	size_t size, key; /* the bytes of a row; the offset of the key in a row */
	int (*next)(struct store *s, int64_t *after, void *rows); /* returns the number of rows; -errno */
	void (*add)(struct json *j, const void *row);
	void (*print)(struct cache *c, const void *row);
} files = {sizeof(struct store_row), offsetof(struct store_row, key), next_files, add_file, print_file},
  ended_files = {sizeof(struct store_row), offsetof(struct store_row, key), next_ended, add_ended, print_ended},
  sparse_files = {sizeof(struct store_sparse_row), offsetof(struct store_sparse_row, key), next_sparse, add_sparse,
	print_sparse},
  misses = {sizeof(struct store_miss_row), offsetof(struct store_miss_row, key), next_misses, add_miss, print_miss};

static bool is_wanted(const struct cache_word *wanted, unsigned n, const struct key *k)
{
	bool found = n == 0;

	for (unsigned i = 0; i < n && !found; i++)
		for (unsigned j = 0; j < wanted[i].n && !found; j++)
			found = key_equal(&wanted[i].keys[j], k);
	return found;
}

/* Shows the rows of the wanted keys, or all without words. Returns their number; -errno. */
static int list_all(struct cache *c, const struct listing *l, const struct cache_word *wanted, unsigned n)
{
	_cleanup_free_ char *rows = calloc(AT_ONCE, l->size);
	int got = rows ? 1 : -ENOMEM, all = 0;
	int64_t after = 0;

	while (got > 0) {
		got = l->next(c->store, &after, rows);
		for (int i = 0; i < got; i++) {
			const char *row = rows + (size_t)i * l->size;

			if (!is_wanted(wanted, n, (const struct key *)(row + l->key)))
				continue;
			all++;
			if (c->json)
				l->add(c->json, row);
			else
				l->print(c, row);
		}
	}
	return got < 0 ? got : all;
}

int cache_ls(struct cache *c, char **words, unsigned n)
{
	_cleanup_free_ struct cache_word *wanted = calloc(n + 1, sizeof(*wanted));
	int r = wanted ? 0 : EXIT_LOCAL;

	for (unsigned i = 0; i < n && r == 0; i++)
		r = cache_word_parse(c, words[i], &wanted[i]);
	if (r != 0)
		return r;
	if (c->json)
		json_begin_array(c->json, NULL);
	r = list_all(c, c->misses ? &misses : &files, wanted, n);
	if (r >= 0 && !c->misses)
		r = list_all(c, &sparse_files, wanted, n);
	return r < 0 ? cache_failed(c, "cannot be listed", r) : EXIT_DONE;
}

int cache_expire(struct cache *c, char **words, unsigned n)
{
	struct store_expired done = {0};
	int ended, r;

	if (c->json)
		json_begin_array(c->json, NULL);
	ended = list_all(c, &ended_files, NULL, 0);
	r = ended < 0 ? ended : c->dry_run ? 0 : store_expire(c->store, &done);
	if (r < 0)
		return cache_failed(c, "expired files cannot be removed", r);
	if (!c->json && !ended && !done.artifacts)
		printf("nothing to expire in %s\n", text_shown(store_dir(c->store), true, &c->room));
	else if (!c->json && !c->dry_run)
		printf("removed %" PRIu64 " artifact%s, %" PRIu64 " bytes\n", done.artifacts,
			PLURAL(done.artifacts), done.bytes);
	return EXIT_DONE;
}
