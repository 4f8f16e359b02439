/* symfs cache: lists, checks and cleans the store; pins files and forgets misses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "bucket/bucket.h"
#include "bucket/clear.h"
#include "cmd/cache/cache.h"
#include "cmd/cmd.h"
#include "cmd/what.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- stats, verify, gc -------------------------------------------------------------- */

/* A number of `symfs cache stats`. */
struct fact {
	const char *name;
	uint64_t n;
	enum { COUNT, BYTES, LIMIT } of; /* LIMIT: bytes; 0: the store has no limit */
};

/* "NAME VALUE", in columns on a terminal. */
static void show_text(struct cache *c, const char *name, const char *value)
{
	if (c->json)
		json_text(c->json, name, value);
	else
		printf("%-*s %s\n", paint_terminal() ? 12 : 0, name, text_shown(value, true, &c->room));
}

/* Bytes are in MB or GB on a terminal. */
static void show_fact(struct cache *c, const struct fact *f)
{
	bool large = f->n >= 1000000000;
	char text[32];

	if (c->json && !(f->of == LIMIT && f->n == 0)) {
		json_number(c->json, f->name, (long long)f->n);
		return;
	}
	if (f->of == COUNT || !paint_terminal())
		snprintf(text, sizeof(text), "%" PRIu64, f->n);
	else if (f->of == LIMIT && f->n == 0)
		snprintf(text, sizeof(text), "none");
	else
		snprintf(text, sizeof(text), "%.1f %s", (double)f->n / (large ? 1e9 : 1e6), large ? "GB" : "MB");
	show_text(c, f->name, c->json ? NULL : text);
}

static int run_stats(struct cache *c, char **words, unsigned n)
{
	struct store_totals t = {0};
	int r = store_count(c->store, &t);
	const struct fact facts[] = {
		{"artifacts", t.artifacts, COUNT},
		{"keys", t.keys, COUNT},
		{"bytes", t.bytes, BYTES},
		{"misses", t.misses, COUNT},
		{"drafts", t.drafts, COUNT},
		{"sparse", t.sparse, COUNT},
		{"sparse_bytes", t.sparse_bytes, BYTES},
		{"pinned", t.pinned, COUNT},
		{"pinned_bytes", t.pinned_bytes, BYTES},
		{"quota", c->settings->quota, LIMIT},
		{"min_free", c->settings->min_free, BYTES},
	};

	if (r < 0)
		return cache_failed(c, "cannot be counted", r);
	if (c->json)
		json_begin_object(c->json, NULL);
	show_text(c, "directory", store_dir(c->store));
	show_text(c, "id", store_id(c->store));
	for (unsigned i = 0; i < ARRAY_SIZE(facts); i++)
		show_fact(c, &facts[i]);
	return EXIT_DONE;
}

static void show_damage(void *ctx, const struct key *k, const char *path, const char *what)
{
	struct cache *c = ctx;
	char room[KEY_TEXT];

	if (c->json) {
		json_begin_object(c->json, NULL);
		json_text(c->json, "key", k ? key_text(k, room) : NULL);
		json_text(c->json, "path", path);
		json_text(c->json, "what", what);
		json_end(c->json);
		return;
	}
	printf("%s\t%s", what, k ? text_shown(key_text(k, room), true, &c->room) : "-");
	printf("\t%s\n", text_shown(path, true, &c->room));
}

static int run_verify(struct cache *c, char **words, unsigned n)
{
	_cleanup_buf_ struct buf dir = BUF_UP_TO(64 << 10);
	struct store_totals t = {0};
	int count;

	if (c->json)
		json_begin_array(c->json, NULL);
	count = store_verify(c->store, show_damage, c);
	if (count < 0)
		return cache_failed(c, "cannot be verified", count);
	if (!c->json && count == 0 && store_count(c->store, &t) == 0)
		printf("%" PRIu64 " artifact%s, none is damaged\n", t.artifacts, PLURAL(t.artifacts));
	return count == 0 ? EXIT_DONE : cmd_say(cmd_flush(EXIT_NO), "%d damaged file%s, served until removed: "
		"`symfs cache rm --cache %s 'KEY'`; then download, add or push again", count, PLURAL(count),
		app_word_again(store_dir(c->store), &dir));
}

static void gc_json(struct json *j, const struct store_totals *before, const struct store_totals *after)
{
	json_begin_object(j, NULL);
	json_number(j, "artifacts_before", (long long)before->artifacts);
	json_number(j, "artifacts", (long long)after->artifacts);
	json_number(j, "bytes_before", (long long)before->bytes);
	json_number(j, "bytes", (long long)after->bytes);
	json_number(j, "sparse_before", (long long)before->sparse);
	json_number(j, "sparse", (long long)after->sparse);
	json_number(j, "sparse_bytes_before", (long long)before->sparse_bytes);
	json_number(j, "sparse_bytes", (long long)after->sparse_bytes);
}

static uint64_t fewer(uint64_t before, uint64_t after)
{
	return before - MIN(after, before);
}

static void gc_text(const struct store_totals *before, const struct store_totals *after)
{
	uint64_t gone = fewer(before->artifacts, after->artifacts), sparse = fewer(before->sparse, after->sparse);

	printf("removed %" PRIu64 " artifact%s, %" PRIu64 " bytes; left %" PRIu64 " artifact%s, %" PRIu64 " bytes\n",
		gone, PLURAL(gone), fewer(before->bytes, after->bytes), after->artifacts, PLURAL(after->artifacts),
		after->bytes);
	if (before->sparse)
		printf("removed %" PRIu64 " sparse file%s, %" PRIu64 " bytes; left %" PRIu64 ", %" PRIu64 " bytes\n",
			sparse, PLURAL(sparse), fewer(before->sparse_bytes, after->sparse_bytes),
			after->sparse, after->sparse_bytes);
}

static void show_cleared(void *ctx, const char *sha256, uint64_t size)
{
	const struct cache *c = ctx;

	if (!c->json)
		printf("%s%s\t%" PRIu64 "\n", c->dry_run ? "would remove " : "removed ", sha256, size);
}

static void clear_json(struct json *j, const struct cleared *r)
{
	json_begin_object(j, NULL);
	json_number(j, "files", (long long)r->files);
	json_number(j, "bytes", (long long)r->bytes);
	json_number(j, "references", (long long)r->references);
	json_number(j, "removed", (long long)r->removed);
	json_number(j, "removed_bytes", (long long)r->removed_bytes);
	json_number(j, "young", (long long)r->young);
	json_number(j, "put_back", (long long)r->saved);
	json_number(j, "made_removed", (long long)r->made);
	json_number(j, "probes_removed", (long long)r->probes);
	json_number(j, "removals_stuck", (long long)r->stuck);
	json_number(j, "requests", (long long)r->requests);
}

/* Removes files from the team's bucket that no key refers to any more. */
static int clear_bucket(struct cache *c)
{
	struct cleared done;
	struct sources *so;
	struct err e = {0};
	int r = app_sources(c->app, &so, &e);

	if (r < 0)
		return cmd_say(app_exit(r), "%s", e.text);
	if (!bucket_is_writable(so)) {
		sources_unref(so);
		return cmd_say(EXIT_USAGE, "--bucket: there is no [bucket] in the configuration that may be written");
	}
	r = bucket_clear(so, c->dry_run, clock_limit("SYMFS_TEST_GRACE", CLEAR_GRACE), show_cleared, c, &done, &e);
	sources_unref(so);
	if (r < 0)
		return cmd_say(EXIT_UNASKED, "the bucket: %s", e.text);
	if (c->json)
		clear_json(c->json, &done);
	else
		printf("%s %" PRIu64 " of %" PRIu64 " files, %" PRIu64 " of %" PRIu64 " bytes; %" PRIu64
		       " references, %" PRIu64 " unused files are younger than a day, %" PRIu64
		       " were put back, %" PRIu64 " GSYM files of removed files %s\n",
			c->dry_run ? "would remove" : "removed", done.removed, done.files, done.removed_bytes,
			done.bytes, done.references, done.young, done.saved, done.made,
			c->dry_run ? "would end" : "ended");
	if (!done.stuck)
		return EXIT_DONE;
	fflush(stdout); /* before the message about it */
	return cmd_say(EXIT_UNASKED, "the bucket: unfinished removals of keys: %" PRIu64 " left; check the right to "
		"delete, then run the command again", done.stuck);
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
	if (c->json)
		gc_json(c->json, &before, &after);
	else
		gc_text(&before, &after);
	return EXIT_DONE;
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
				PLURAL(r), r == 1 ? "was" : "were");
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
	return worst;
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
	int (*run)(struct cache *c, char **words, unsigned n); /* NULL: `change` is for each word */
	int (*change)(struct store *s, const struct key *k);
	enum wants paths;
	bool misses, dry_run, bucket; /* takes the option of this name */
} verbs[] = {
	{"ls", cache_ls, NULL, WANTS_ANY, .misses = true},
	{"stats", run_stats, NULL, WANTS_NONE},
	{"verify", run_verify, NULL, WANTS_NONE},
	{"gc", run_gc, NULL, WANTS_NONE, .bucket = true},
	{"expire", cache_expire, NULL, WANTS_NONE, .dry_run = true},
	{"pin", NULL, keep_always, WANTS_SOME},
	{"unpin", NULL, keep_default, WANTS_SOME},
	{"rm", run_rm, NULL, WANTS_SOME, .misses = true},
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
	struct json j;
	int status = app_options(&args, &cmd_cache, own, &argc, argv);

	if (status >= 0)
		return status;
	v = find_verb(argc > 1 ? argv[1] : NULL);
	wrong = words_wrong(v, &c, argc > 2 ? (unsigned)argc - 2 : 0);
	if (wrong || what_type(type, &c.type, &e) < 0)
		return cmd_usage("%s", wrong ? wrong : e.text);
	if (argc > 2)
		app_adopt_mount(&args, argv[2]);
	json_init(&j, false);
	status = app_open_store(&app, &args, &e);
	if (status < 0) {
		status = cmd_say(app_exit(status), "%s", e.text);
	} else {
		c.store = app.store;
		c.settings = &app.settings;
		c.json = args.json ? &j : NULL;
		c.app = &app;
		status = v->run ? v->run(&c, argv + 2, (unsigned)argc - 2)
				: each_word(&c, argv + 2, (unsigned)argc - 2, v->change);
	}
	buf_release(&c.room);
	app_close(&app);
	return json_finish(&j, j.text.n > 0, status);
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
