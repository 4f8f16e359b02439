/* symfs cache: what the store holds, whether it is sound, and what may go. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "layout/tree.h"
#include "store/sparse.h"
#include "store/store.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define AT_ONCE 64 /* rows of one question to the index */

struct cache {
	struct store *store;
	const struct settings *settings;
	bool json, misses;
	struct buf room; /* of what is shown */
};

/* A word of the command line: the keys that it can mean, best first. */
struct meant {
	unsigned n;
	struct key keys[LAYOUT_CANDIDATES];
};

/* 0, or an exit status; what is wrong has been told. */
static int meant_by(struct cache *c, const char *word, struct meant *out)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	_cleanup_free_ char *path = NULL;
	int r = hit ? 0 : -ENOMEM;

	out->n = 0;
	if (r == 0 && key_parse(&out->keys[0], word) == 0) { /* as `cache ls` prints it */
		out->n = 1;
		return 0;
	}
	if (r == 0)
		r = app_tree_path(word, &path);
	if (r == 0)
		tree_parse(path, hit);
	/* What the mount writes beside a file is not in the cache: `rm` of it is not one of the file. */
	for (unsigned i = 0; r == 0 && tree_names_file(hit) && i < hit->n; i++)
		out->n += key_of(&out->keys[out->n], &hit->files[i]) == 0;
	if (r == 0 && out->n)
		return 0;
	fprintf(stderr, "symfs cache: %s: %s\n", text_shown(word, true, &c->room),
		r == 0 || r == -ENOENT ? "no layout can mean this path" : err_text(r));
	return r == 0 ? EXIT_NO : app_exit(r);
}

/* ---- ls ----------------------------------------------------------------------------- */

static void add_time(struct json_object *o, const char *name, int64_t wall)
{
	char text[24] = "";

	if (wall == INT64_MAX)
		snprintf(text, sizeof(text), "always");
	else if (wall)
		clock_print(wall, text);
	json_add_text(o, name, text);
}

static struct json_object *row_json(const struct store_row *row)
{
	struct json_object *o = json_object_new_object();
	char room[KEY_TEXT];

	json_add_text(o, "key", key_text(&row->key, room));
	json_add_number(o, "size", (long long)row->size);
	json_add_text(o, "sha256", row->sha256);
	add_time(o, "used", row->used);
	add_time(o, "kept_until", row->keep_until > clock_wall() ? row->keep_until : 0);
	json_object_object_add(o, "pinned", json_object_new_boolean(row->keep_until == STORE_FOR_GOOD));
	json_add_text(o, "source", row->facts.source);
	json_add_text(o, "url", row->facts.url);
	json_object_object_add(o, "verified", json_object_new_boolean(row->facts.verified));
	add_time(o, "fetched", row->facts.fetched);
	return o;
}

static void row_show(struct cache *c, const struct store_row *row, struct json_object *list)
{
	char used[24], room[KEY_TEXT];

	if (list) {
		json_object_array_add(list, row_json(row));
		return;
	}
	clock_print(row->used, used);
	printf("%12" PRIu64 "  %s  %c%c  %s", row->size, used, row->facts.verified ? 'v' : '-',
		row->keep_until > clock_wall() ? 'k' : '-',
		text_shown(key_text(&row->key, room), true, &c->room));
	printf("  %s%s\n", text_shown(row->facts.source, true, &c->room),
		row->keep_until == STORE_FOR_GOOD ? "  pinned" : "");
}

static unsigned per_cent(const struct store_sparse_row *row)
{
	uint64_t size = row->validator.size;

	return size ? (unsigned)((double)row->present * 100 / (double)size) : 100;
}

static struct json_object *sparse_json(const struct store_sparse_row *row)
{
	struct json_object *o = json_object_new_object();
	char room[KEY_TEXT];

	json_add_text(o, "key", key_text(&row->key, room));
	json_add_number(o, "size", (long long)row->validator.size);
	json_add_number(o, "present", (long long)row->present);
	json_add_number(o, "allocated", (long long)row->allocated);
	add_time(o, "used", row->used);
	json_add_text(o, "source", row->validator.source);
	json_add_text(o, "url", row->url);
	json_add_text(o, "etag", row->validator.etag);
	json_add_text(o, "last_modified", row->validator.last_modified);
	add_time(o, "since", row->since);
	return o;
}

static void sparse_show(struct cache *c, const struct store_sparse_row *row, struct json_object *list)
{
	char used[24], room[KEY_TEXT];

	if (list) {
		json_object_array_add(list, sparse_json(row));
		return;
	}
	clock_print(row->used, used);
	printf("%12" PRIu64 "  %s  s-  %s", row->validator.size, used,
		text_shown(key_text(&row->key, room), true, &c->room));
	printf("  %s  %u%%\n", text_shown(row->validator.source, true, &c->room), per_cent(row));
}

static void miss_show(struct cache *c, const struct store_miss_row *row, struct json_object *list)
{
	struct json_object *o;
	char until[24], room[KEY_TEXT];

	if (list) {
		o = json_object_new_object();
		json_add_text(o, "key", key_text(&row->key, room));
		json_add_text(o, "source", row->source);
		add_time(o, "since", row->since);
		add_time(o, "until", row->until);
		json_object_array_add(list, o);
		return;
	}
	clock_print(row->until, until);
	printf("until %s  %s", until, text_shown(key_text(&row->key, room), true, &c->room));
	printf("  %s\n", text_shown(row->source, true, &c->room));
}

static bool is_wanted(const struct meant *wanted, unsigned n, const struct key *k)
{
	bool found = n == 0;

	for (unsigned i = 0; i < n && !found; i++)
		for (unsigned j = 0; j < wanted[i].n && !found; j++)
			found = key_equal(&wanted[i].keys[j], k);
	return found;
}

static int list_misses(struct cache *c, const struct meant *wanted, unsigned n,
	struct json_object *list)
{
	_cleanup_free_ struct store_miss_row *rows = calloc(AT_ONCE, sizeof(*rows));
	int64_t after = 0;
	int got = rows ? 1 : -ENOMEM;

	while (got > 0) {
		got = store_list_misses(c->store, &after, rows, AT_ONCE);
		for (int i = 0; i < got; i++)
			if (is_wanted(wanted, n, &rows[i].key)) {
				source_name_of_memory(rows[i].source);
				miss_show(c, &rows[i], list);
			}
	}
	return got;
}

static int list_keys(struct cache *c, const struct meant *wanted, unsigned n,
	struct json_object *list)
{
	_cleanup_free_ struct store_row *rows = calloc(AT_ONCE, sizeof(*rows));
	int64_t after = 0;
	int got = rows ? 1 : -ENOMEM;

	while (got > 0) {
		got = store_list(c->store, after, rows, AT_ONCE);
		for (int i = 0; i < got; i++) {
			after = rows[i].id;
			if (is_wanted(wanted, n, &rows[i].key))
				row_show(c, &rows[i], list);
		}
	}
	return got;
}

static int list_sparse(struct cache *c, const struct meant *wanted, unsigned n,
	struct json_object *list)
{
	_cleanup_free_ struct store_sparse_row *rows = calloc(AT_ONCE, sizeof(*rows));
	int64_t after = 0;
	int got = rows ? 1 : -ENOMEM;

	while (got > 0) {
		got = store_list_sparse(c->store, after, rows, AT_ONCE);
		for (int i = 0; i < got; i++) {
			after = rows[i].id;
			if (is_wanted(wanted, n, &rows[i].key))
				sparse_show(c, &rows[i], list);
		}
	}
	return got;
}

static int done(void)
{
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_LOCAL;
}

static int trouble(struct cache *c, const char *what, int r)
{
	fprintf(stderr, "symfs cache: %s: %s: %s\n", store_dir(c->store), what, err_text(r));
	return EXIT_LOCAL;
}

static int run_ls(struct cache *c, char **words, unsigned n)
{
	_cleanup_free_ struct meant *wanted = calloc(n + 1, sizeof(*wanted));
	struct json_object *list;
	int r = wanted ? 0 : EXIT_LOCAL;

	for (unsigned i = 0; i < n && r == 0; i++)
		r = meant_by(c, words[i], &wanted[i]);
	if (r != 0)
		return r;
	list = c->json ? json_object_new_array() : NULL;
	r = c->misses ? list_misses(c, wanted, n, list) : list_keys(c, wanted, n, list);
	if (r == 0 && !c->misses)
		r = list_sparse(c, wanted, n, list);
	if (r < 0) {
		json_object_put(list);
		return trouble(c, "cannot be listed", r);
	}
	return list ? json_print(list) : done();
}

/* ---- stats, verify, gc -------------------------------------------------------------- */

static int stats_json(struct cache *c, const struct store_totals *t)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "directory", store_dir(c->store));
	json_add_text(o, "id", store_id(c->store));
	json_add_number(o, "artifacts", (long long)t->artifacts);
	json_add_number(o, "keys", (long long)t->keys);
	json_add_number(o, "bytes", (long long)t->bytes);
	json_add_number(o, "misses", (long long)t->misses);
	json_add_number(o, "drafts", (long long)t->drafts);
	json_add_number(o, "sparse", (long long)t->sparse);
	json_add_number(o, "sparse_bytes", (long long)t->sparse_bytes);
	json_add_number(o, "pinned", (long long)t->pinned);
	json_add_number(o, "pinned_bytes", (long long)t->pinned_bytes);
	json_object_object_add(o, "quota", c->settings->quota
		? json_object_new_int64((int64_t)c->settings->quota) : NULL);
	json_add_number(o, "min_free", (long long)c->settings->min_free);
	return json_print(o);
}

static int run_stats(struct cache *c, char **words, unsigned n)
{
	struct store_totals t;
	int r = store_count(c->store, &t);

	if (r < 0)
		return trouble(c, "cannot be counted", r);
	if (c->json)
		return stats_json(c, &t);
	printf("directory %s\nid %s\n", text_shown(store_dir(c->store), true, &c->room),
		store_id(c->store));
	printf("artifacts %" PRIu64 "\nkeys %" PRIu64 "\nbytes %" PRIu64 "\nmisses %" PRIu64
	       "\ndrafts %" PRIu64 "\nsparse %" PRIu64 "\nsparse_bytes %" PRIu64
	       "\npinned %" PRIu64 "\npinned_bytes %" PRIu64
	       "\nquota %" PRIu64 "\nmin_free %" PRIu64 "\n",
		t.artifacts, t.keys, t.bytes, t.misses, t.drafts, t.sparse, t.sparse_bytes, t.pinned,
		t.pinned_bytes,
		c->settings->quota, c->settings->min_free);
	return done();
}

struct verifying {
	struct cache *c;
	struct json_object *list;
};

static void tell_damage(void *ctx, const struct key *k, const char *path, const char *what)
{
	struct verifying *v = ctx;
	char room[KEY_TEXT];

	if (v->list) {
		struct json_object *o = json_object_new_object();

		json_add_text(o, "key", k ? key_text(k, room) : NULL);
		json_add_text(o, "path", path);
		json_add_text(o, "what", what);
		json_object_array_add(v->list, o);
		return;
	}
	printf("%s\t%s", what, k ? text_shown(key_text(k, room), true, &v->c->room) : "-");
	printf("\t%s\n", text_shown(path, true, &v->c->room));
}

static int run_verify(struct cache *c, char **words, unsigned n)
{
	struct verifying v = {.c = c, .list = c->json ? json_object_new_array() : NULL};
	struct store_totals t = {0};
	int count, status;

	count = store_verify(c->store, tell_damage, &v);
	if (count < 0) {
		json_object_put(v.list);
		return trouble(c, "cannot be verified", count);
	}
	if (!c->json && count == 0 && store_count(c->store, &t) == 0)
		printf("%" PRIu64 " artifacts, none is damaged\n", t.artifacts);
	status = v.list ? json_print(v.list) : done();
	return status == EXIT_DONE && count ? EXIT_NO : status;
}

static int run_gc(struct cache *c, char **words, unsigned n)
{
	struct store_totals before = {0}, after = {0};
	struct json_object *o;
	int r;

	r = store_count(c->store, &before);
	if (r == 0)
		r = store_trim(c->store);
	if (r == 0)
		r = store_count(c->store, &after);
	if (r < 0)
		return trouble(c, "cannot be cleaned", r);
	if (!c->json) {
		printf("removed %" PRIu64 " artifacts, %" PRIu64 " bytes; left %" PRIu64
		       " artifacts, %" PRIu64 " bytes\n",
			before.artifacts - MIN(after.artifacts, before.artifacts),
			before.bytes - MIN(after.bytes, before.bytes), after.artifacts,
			after.bytes);
		if (before.sparse)
			printf("removed %" PRIu64 " files with holes, %" PRIu64 " bytes; left %" PRIu64
			       ", %" PRIu64 " bytes\n",
				before.sparse - MIN(after.sparse, before.sparse),
				before.sparse_bytes - MIN(after.sparse_bytes, before.sparse_bytes),
				after.sparse, after.sparse_bytes);
		return done();
	}
	o = json_object_new_object();
	json_add_number(o, "artifacts_before", (long long)before.artifacts);
	json_add_number(o, "artifacts", (long long)after.artifacts);
	json_add_number(o, "bytes_before", (long long)before.bytes);
	json_add_number(o, "bytes", (long long)after.bytes);
	json_add_number(o, "sparse_before", (long long)before.sparse);
	json_add_number(o, "sparse", (long long)after.sparse);
	json_add_number(o, "sparse_bytes_before", (long long)before.sparse_bytes);
	json_add_number(o, "sparse_bytes", (long long)after.sparse_bytes);
	return json_print(o);
}

/* ---- what is done to a PATH --------------------------------------------------------- */

/* Does it to the first key that is stored: that is the one which the path shows. */
static int each_path(struct cache *c, char **words, unsigned n,
	int (*change)(struct store *s, const struct key *k))
{
	_cleanup_free_ struct meant *m = calloc(1, sizeof(*m));
	int worst = m ? EXIT_DONE : EXIT_LOCAL;

	for (unsigned i = 0; i < n && m; i++) {
		int status = meant_by(c, words[i], m), r = -ENOENT;

		for (unsigned j = 0; status == 0 && j < m->n && r == -ENOENT; j++)
			r = change(c->store, &m->keys[j]);
		if (status == 0 && r < 0) {
			status = r == -ENOENT ? EXIT_NO : EXIT_LOCAL;
			fprintf(stderr, "symfs cache: %s: %s\n",
				text_shown(words[i], true, &c->room),
				r == -ENOENT ? "is not stored" : err_text(r));
		}
		worst = MAX(worst, status);
	}
	return worst;
}

static int keep_always(struct store *s, const struct key *k)
{
	return store_keep(s, k, STORE_FOR_GOOD);
}

static int keep_no_more(struct store *s, const struct key *k)
{
	return store_keep(s, k, 0);
}

static int run_pin(struct cache *c, char **words, unsigned n)
{
	return each_path(c, words, n, keep_always);
}

static int run_unpin(struct cache *c, char **words, unsigned n)
{
	return each_path(c, words, n, keep_no_more);
}

/* Every key that the words can mean: whichever was asked for, nobody had it. */
static int forget_misses(struct cache *c, char **words, unsigned n)
{
	_cleanup_free_ struct meant *m = calloc(1, sizeof(*m));
	int worst = m ? EXIT_DONE : EXIT_LOCAL, r = 0, count = 0;

	if (m && n == 0)
		r = count = store_misses_clear(c->store, NULL);
	for (unsigned i = 0; i < n && m; i++) {
		int status = meant_by(c, words[i], m);

		for (unsigned j = 0; status == 0 && j < m->n && r >= 0; j++) {
			r = store_misses_clear(c->store, &m->keys[j]);
			count += MAX(r, 0);
		}
		worst = MAX(worst, status);
	}
	if (r < 0)
		return trouble(c, "misses cannot be forgotten", r);
	printf("forgot %d misses\n", count);
	return worst == EXIT_DONE ? done() : worst;
}

/* The file, also by what else it answers to: else one that is no good would still be found. */
static int run_rm(struct cache *c, char **words, unsigned n)
{
	return c->misses ? forget_misses(c, words, n) : each_path(c, words, n, store_remove_file);
}

/* ---- the table ---------------------------------------------------------------------- */

enum wants { WANTS_NONE, WANTS_ANY, WANTS_SOME };

static const struct verb {
	const char *name;
	int (*run)(struct cache *c, char **words, unsigned n);
	enum wants paths;
	bool misses; /* takes --misses */
} verbs[] = {
	{"ls", run_ls, WANTS_ANY, true},
	{"stats", run_stats, WANTS_NONE, false},
	{"verify", run_verify, WANTS_NONE, false},
	{"gc", run_gc, WANTS_NONE, false},
	{"pin", run_pin, WANTS_SOME, false},
	{"unpin", run_unpin, WANTS_SOME, false},
	{"rm", run_rm, WANTS_SOME, true},
};

static const struct verb *find_verb(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(verbs); i++)
		if (name && strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

/* NULL when all is well. */
static const char *mistake(const struct verb *v, bool misses, unsigned n)
{
	if (!v)
		return "one of ls, stats, verify, gc, pin, unpin, rm is expected";
	if (misses && !v->misses)
		return "--misses goes with ls and rm";
	if (v->paths == WANTS_NONE && n)
		return "no PATH is expected";
	if (v->paths == WANTS_SOME && n == 0 && !misses)
		return "which PATH?";
	return NULL;
}

static int run_cache(int argc, char **argv)
{
	struct cache c = {.room = BUF_UP_TO(64 << 10)};
	const struct opt own[] = {
		{"misses", 0, NULL, "ls, rm: files that servers do not have", &c.misses}, {0}};
	const struct verb *v;
	const char *wrong;
	struct app_args args;
	struct app app;
	struct err e = {0};
	int status = app_options(&args, &cmd_cache, own, &argc, argv);

	if (status >= 0)
		return status;
	v = find_verb(argc > 1 ? argv[1] : NULL);
	wrong = mistake(v, c.misses, argc > 2 ? (unsigned)argc - 2 : 0);
	if (wrong) {
		fprintf(stderr, "symfs cache: %s; try: symfs cache --help\n", wrong);
		return EXIT_USAGE;
	}
	status = app_open_store(&app, &args, &e);
	if (status < 0) {
		fprintf(stderr, "symfs cache: %s\n", e.text);
		status = app_exit(status);
	} else {
		c.store = app.store;
		c.settings = &app.settings;
		c.json = args.json;
		status = v->run(&c, argv + 2, (unsigned)argc - 2);
	}
	buf_release(&c.room);
	app_close(&app);
	return status;
}

const struct cmd cmd_cache = {
	.name = "cache",
	.args = "ls|stats|verify|gc|pin|unpin|rm [--misses] [PATH...]",
	.help = "Shows, checks and cleans the store. ls marks verified (v), kept (k) and sparse\n"
		"(s) files; verify names each damaged file; gc evicts files down to the quota;\n"
		"pin excludes a file from eviction, as `symfs add` does; unpin reverses that; rm\n"
		"--misses forgets that servers do not have files. A PATH is as for `symfs get`,\n"
		"or a key as ls prints it",
	.run = run_cache,
};
