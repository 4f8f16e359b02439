/* symfs cache: lists, checks and cleans the store; pins files and forgets misses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "bucket/clear.h"
#include "cmd/cache.h"
#include "cmd/cmd.h"
#include "cmd/paint.h"
#include "cmd/what.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- stats, verify, gc -------------------------------------------------------------- */

static int stats_json(struct cache *c, const struct store_totals *t)
{
	struct json j;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	json_text(&j, "directory", store_dir(c->store));
	json_text(&j, "id", store_id(c->store));
	json_number(&j, "artifacts", (long long)t->artifacts);
	json_number(&j, "keys", (long long)t->keys);
	json_number(&j, "bytes", (long long)t->bytes);
	json_number(&j, "misses", (long long)t->misses);
	json_number(&j, "drafts", (long long)t->drafts);
	json_number(&j, "sparse", (long long)t->sparse);
	json_number(&j, "sparse_bytes", (long long)t->sparse_bytes);
	json_number(&j, "pinned", (long long)t->pinned);
	json_number(&j, "pinned_bytes", (long long)t->pinned_bytes);
	json_number_or_null(&j, "quota", (long long)c->settings->quota);
	json_number(&j, "min_free", (long long)c->settings->min_free);
	json_end(&j);
	return json_print(&j);
}

/* Prints "NAME VALUE", in columns on a terminal. */
static void print_fact(const char *name, const char *value)
{
	printf("%-*s %s\n", paint_terminal() ? 12 : 0, name, value);
}

static void print_number(const char *name, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	print_fact(name, text);
}

/* Prints bytes, on a terminal in MB or GB. `limit`: 0 means that there is none. */
static void print_size(const char *name, uint64_t bytes, bool limit)
{
	char text[32];
	bool large = bytes >= 1000000000;

	if (!paint_terminal()) {
		print_number(name, bytes);
		return;
	}
	snprintf(text, sizeof(text), "%.1f %s", (double)bytes / (large ? 1e9 : 1e6), large ? "GB" : "MB");
	print_fact(name, limit && bytes == 0 ? "none" : text);
}

static int run_stats(struct cache *c, char **words, unsigned n)
{
	struct store_totals t;
	int r = store_count(c->store, &t);

	if (r < 0)
		return cache_failed(c, "cannot be counted", r);
	if (c->json)
		return stats_json(c, &t);
	print_fact("directory", text_shown(store_dir(c->store), true, &c->room));
	print_fact("id", store_id(c->store));
	print_number("artifacts", t.artifacts);
	print_number("keys", t.keys);
	print_size("bytes", t.bytes, false);
	print_number("misses", t.misses);
	print_number("drafts", t.drafts);
	print_number("sparse", t.sparse);
	print_size("sparse_bytes", t.sparse_bytes, false);
	print_number("pinned", t.pinned);
	print_size("pinned_bytes", t.pinned_bytes, false);
	print_size("quota", c->settings->quota, true);
	print_size("min_free", c->settings->min_free, false);
	return cmd_flush(EXIT_DONE);
}

struct verifying {
	struct cache *c;
	struct json *json; /* NULL: text */
};

static void show_damage(void *ctx, const struct key *k, const char *path, const char *what)
{
	struct verifying *v = ctx;
	char room[KEY_TEXT];

	if (v->json) {
		json_begin_object(v->json, NULL);
		json_text(v->json, "key", k ? key_text(k, room) : NULL);
		json_text(v->json, "path", path);
		json_text(v->json, "what", what);
		json_end(v->json);
		return;
	}
	printf("%s\t%s", what, k ? text_shown(key_text(k, room), true, &v->c->room) : "-");
	printf("\t%s\n", text_shown(path, true, &v->c->room));
}

static int run_verify(struct cache *c, char **words, unsigned n)
{
	struct json j;
	struct verifying v = {.c = c, .json = c->json ? &j : NULL};
	struct store_totals t = {0};
	int count, status;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	count = store_verify(c->store, show_damage, &v);
	json_end(&j);
	if (count < 0) {
		json_release(&j);
		return cache_failed(c, "cannot be verified", count);
	}
	if (!c->json && count == 0 && store_count(c->store, &t) == 0)
		printf("%" PRIu64 " artifacts, none is damaged\n", t.artifacts);
	status = c->json ? json_print(&j) : cmd_flush(EXIT_DONE);
	json_release(&j);
	return status == EXIT_DONE && count ? EXIT_NO : status;
}

static int gc_json(const struct store_totals *before, const struct store_totals *after)
{
	struct json j;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	json_number(&j, "artifacts_before", (long long)before->artifacts);
	json_number(&j, "artifacts", (long long)after->artifacts);
	json_number(&j, "bytes_before", (long long)before->bytes);
	json_number(&j, "bytes", (long long)after->bytes);
	json_number(&j, "sparse_before", (long long)before->sparse);
	json_number(&j, "sparse", (long long)after->sparse);
	json_number(&j, "sparse_bytes_before", (long long)before->sparse_bytes);
	json_number(&j, "sparse_bytes", (long long)after->sparse_bytes);
	json_end(&j);
	return json_print(&j);
}

static uint64_t fewer(uint64_t before, uint64_t after)
{
	return before - MIN(after, before);
}

static int gc_text(const struct store_totals *before, const struct store_totals *after)
{
	printf("removed %" PRIu64 " artifacts, %" PRIu64 " bytes; left %" PRIu64 " artifacts, %" PRIu64 " bytes\n",
		fewer(before->artifacts, after->artifacts), fewer(before->bytes, after->bytes), after->artifacts,
		after->bytes);
	if (before->sparse)
		printf("removed %" PRIu64 " sparse files, %" PRIu64 " bytes; left %" PRIu64 ", %" PRIu64
		       " bytes\n",
			fewer(before->sparse, after->sparse), fewer(before->sparse_bytes, after->sparse_bytes),
			after->sparse, after->sparse_bytes);
	return cmd_flush(EXIT_DONE);
}

static int clear_bucket(struct cache *c)
{
	const char *grace = getenv("SYMFS_TEST_GRACE"); /* seconds; only tests set it */
	struct sources *so;
	struct err e = {0};
	int r = app_sources(c->app, &so, &e);

	if (r < 0)
		return cmd_say(app_exit(r), "%s", e.text);
	if (grace)
		c->grace = strtol(grace, NULL, 10);
	r = cache_clear_bucket(c, so);
	sources_unref(so);
	return r;
}

static int run_gc(struct cache *c, char **words, unsigned n)
{
	struct store_totals before = {0}, after = {0};
	int r = store_count(c->store, &before);

	if (c->bucket)
		return clear_bucket(c);
	if (r == 0)
		r = store_trim(c->store);
	if (r == 0)
		r = store_count(c->store, &after);
	if (r < 0)
		return cache_failed(c, "cannot be cleaned", r);
	return c->json ? gc_json(&before, &after) : gc_text(&before, &after);
}

/* ---- pin, unpin, rm ----------------------------------------------------------------- */

/* Calls `change` for stored keys of a word. For a path it changes only the first stored key, because the mount
 * shows that file. For an identifier or a file it changes every stored key. 0; -ENOENT: no key is stored. */
/* Returns the sum of what `change` returned, or -errno. */
static int change_word(struct cache *c, const struct cache_word *m,
	int (*change)(struct store *s, const struct key *k))
{
	int found = -ENOENT;

	for (unsigned i = 0; i < m->n && (m->every || found == -ENOENT); i++) {
		int r = change(c->store, &m->keys[i]);

		if (r < 0 && r != -ENOENT)
			return r;
		found = r >= 0 ? MAX(found, 0) + r : found;
	}
	return found;
}

static int each_word(struct cache *c, char **words, unsigned n,
	int (*change)(struct store *s, const struct key *k))
{
	_cleanup_free_ struct cache_word *m = calloc(1, sizeof(*m));
	int worst = m ? EXIT_DONE : EXIT_LOCAL;

	for (unsigned i = 0; i < n && m; i++) {
		int status = cache_word_parse(c, words[i], m), r = status == 0 ? change_word(c, m, change) : 0;

		if (r < 0) {
			status = r == -ENOENT ? EXIT_NO : EXIT_LOCAL;
			cmd_say(0, "%s: %s", words[i], r == -ENOENT ? "is not stored" : err_text(r));
		}
		if (r > 0)
			printf("%s: %d file%s made of it %s removed, too\n", text_shown(words[i], true, &c->room), r,
				r == 1 ? "" : "s", r == 1 ? "was" : "were");
		worst = MAX(worst, status);
	}
	return worst;
}

static int keep_always(struct store *s, const struct key *k)
{
	return store_keep(s, k, STORE_FOR_GOOD);
}

static int keep_default(struct store *s, const struct key *k)
{
	return store_keep(s, k, 0);
}

static int run_pin(struct cache *c, char **words, unsigned n)
{
	return each_word(c, words, n, keep_always);
}

static int run_unpin(struct cache *c, char **words, unsigned n)
{
	return each_word(c, words, n, keep_default);
}

/* Forgets the misses of every key that a word can mean. */
static int forget_misses(struct cache *c, char **words, unsigned n)
{
	_cleanup_free_ struct cache_word *m = calloc(1, sizeof(*m));
	int worst = m ? EXIT_DONE : EXIT_LOCAL, r = 0, count = 0;

	if (m && n == 0)
		r = count = store_misses_clear(c->store, NULL);
	for (unsigned i = 0; i < n && m; i++) {
		int status = cache_word_parse(c, words[i], m);

		for (unsigned j = 0; status == 0 && j < m->n && r >= 0; j++) {
			r = store_misses_clear(c->store, &m->keys[j]);
			count += MAX(r, 0);
		}
		worst = MAX(worst, status);
	}
	if (r < 0)
		return cache_failed(c, "misses cannot be forgotten", r);
	printf("forgot %d misses\n", count);
	return worst == EXIT_DONE ? cmd_flush(EXIT_DONE) : worst;
}

/* Removes the file with all of its keys: otherwise a bad file would still be found by another key. */
static int run_rm(struct cache *c, char **words, unsigned n)
{
	return c->misses ? forget_misses(c, words, n) : each_word(c, words, n, store_remove_file);
}

/* ---- the table ---------------------------------------------------------------------- */

enum wants { WANTS_NONE, WANTS_ANY, WANTS_SOME };

static const struct verb {
	const char *name;
	int (*run)(struct cache *c, char **words, unsigned n);
	enum wants paths;
	bool misses; /* takes --misses */
	bool dry_run; /* takes --dry-run */
	bool bucket;  /* takes --bucket */
} verbs[] = {
	{"ls", cache_ls, WANTS_ANY, true, false},
	{"stats", run_stats, WANTS_NONE, false, false},
	{"verify", run_verify, WANTS_NONE, false, false},
	{"gc", run_gc, WANTS_NONE, false, false, true},
	{"expire", cache_expire, WANTS_NONE, false, true},
	{"pin", run_pin, WANTS_SOME, false, false},
	{"unpin", run_unpin, WANTS_SOME, false, false},
	{"rm", run_rm, WANTS_SOME, true, false},
};

static const struct verb *find_verb(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(verbs); i++)
		if (name && strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

/* The error message for wrong words. NULL: the words are right. */
static const char *words_wrong(const struct verb *v, const struct cache *c, unsigned n)
{
	if (!v)
		return "expected ls, stats, verify, gc, expire, pin, unpin or rm";
	if (c->misses && !v->misses)
		return "--misses is for ls and rm only";
	if (c->bucket && !v->bucket)
		return "--bucket is for gc only";
	if (c->dry_run && !v->dry_run && !c->bucket)
		return "--dry-run is for expire and gc --bucket only";
	if (v->paths == WANTS_NONE && n)
		return "this command takes no more words";
	if (v->paths == WANTS_SOME && n == 0 && !c->misses)
		return "expected a path, an identifier, a key or a file";
	return NULL;
}

static int run_cache(int argc, char **argv)
{
	struct cache c = {.room = BUF_UP_TO(64 << 10)};
	const char *type = NULL, *wrong;
	const struct opt own[] = {
		{"misses", 0, NULL, "ls, rm: files that servers do not have", &c.misses},
		{"dry-run", 0, NULL, "expire, gc --bucket: only list the files", &c.dry_run},
		{"bucket", 0, NULL, "gc: unused files of the team's bucket", &c.bucket},
		{"type", 0, "TYPE", "of an identifier or a file: only this type", &type}, {0}};
	const struct verb *v;
	struct app_args args;
	struct app app;
	struct err e = {0};
	int status = app_options(&args, &cmd_cache, own, &argc, argv);

	if (status >= 0)
		return status;
	v = find_verb(argc > 1 ? argv[1] : NULL);
	wrong = words_wrong(v, &c, argc > 2 ? (unsigned)argc - 2 : 0);
	if (wrong || what_type(type, &c.type, &e) < 0)
		return cmd_usage("%s", wrong ? wrong : e.text);
	if (argc > 2)
		app_adopt_mount(&args, argv[2]);
	status = app_open_store(&app, &args, &e);
	if (status < 0) {
		status = cmd_say(app_exit(status), "%s", e.text);
	} else {
		c.store = app.store;
		c.settings = &app.settings;
		c.json = args.json;
		c.app = &app;
		c.grace = CLEAR_GRACE;
		status = v->run(&c, argv + 2, (unsigned)argc - 2);
	}
	buf_release(&c.room);
	app_close(&app);
	return status;
}

const struct cmd cmd_cache = {
	.name = "cache",
	.args = "ls|stats|verify|gc|expire|pin|unpin|rm [OPTIONS] [WHAT...]",
	.help = "Shows, checks and cleans the store. ls marks verified (v), kept (k) and sparse\n"
		"(s) files; verify names each damaged file; gc evicts files down to the quota;\n"
		"gc --bucket removes files of the team's bucket that no key refers to;\n"
		"expire removes uploaded files that were not used for the age of their class;\n"
		"pin excludes a file from eviction, as `symfs add` does; unpin reverses that; rm\n"
		"--misses forgets that servers do not have files. WHAT is as for `symfs get`;\n"
		"an identifier or a file means all stored files of its module",
	.examples = {"symfs cache ls",
		"symfs cache rm ./prog"},
	.configured = true,
	.json = true,
	.run = run_cache,
};
