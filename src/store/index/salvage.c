/* Salvages rows of a damaged index: times of use, pins, misses, and removals of which the bucket was not told. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index/salvage.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/files/dir.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define ROWS_MOST 1000000
#define MISS_LASTS (400 * 24 * 3600) /* seconds: symfs writes no miss that lasts longer */

static const char *text(sqlite3_stmt *st, int i)
{
	const unsigned char *p = sqlite3_column_text(st, i);

	return p ? (const char *)p : "";
}

static int take_object(struct index *ix, sqlite3_stmt *st, int64_t now)
{
	int64_t used = sqlite3_column_int64(st, 1), keep = sqlite3_column_int64(st, 2);
	struct index_object o;
	int r;

	if (!dir_sha256_ok(text(st, 0)) || index_object_find(ix, text(st, 0), &o) < 0)
		return 0;
	r = used > 0 && used <= now ? index_object_used(ix, o.id, used, used) : 0;
	if (r == 0 && keep > now && !o.pinned) /* a pinned object has its pin and its class from its label */
		r = index_object_keep(ix, o.id, keep);
	/* The label may lack a pin for which the disk had no room. */
	return r == 0 && keep == INT64_MAX ? index_intent_add(ix, text(st, 0), false) : r;
}

static int take_miss(struct index *ix, sqlite3_stmt *st, int64_t now)
{
	int64_t since = sqlite3_column_int64(st, 3), until = sqlite3_column_int64(st, 4);
	char canon[KEY_TEXT];
	struct key k;
	int r;

	if (until <= now || since > now || since < 0 || until - since > MISS_LASTS ||
		key_parse(&k, text(st, 0)) < 0)
		return 0;
	r = index_miss_put(ix, &k, text(st, 1), text(st, 2), since, until, text(st, 5));
	if (r == 0 && sqlite3_column_int64(st, 6) > 1)
		r = index_miss_asked(ix, key_canon(&k, canon), sqlite3_column_int64(st, 6) - 1);
	return r;
}

/* The end of a hold; a label has only its age. */
static int take_end(struct index *ix, sqlite3_stmt *st, int64_t now)
{
	int64_t ends = sqlite3_column_int64(st, 1);
	struct index_object o;

	if (!dir_sha256_ok(text(st, 0)) || index_object_find(ix, text(st, 0), &o) < 0 || !o.held.pinned ||
		!o.held.ends || ends <= 0 || ends > o.held.ends)
		return 0;
	o.held.ends = ends;
	return index_object_hold(ix, o.id, &o.held);
}

static int take_tomb(struct index *ix, sqlite3_stmt *st, int64_t now)
{
	int64_t when = sqlite3_column_int64(st, 1);
	char canon[KEY_TEXT];
	struct index_hit hit;
	struct key k;

	if (when <= 0 || when > now || key_parse(&k, text(st, 0)) < 0 ||
		index_key_find(ix, key_canon(&k, canon), &hit) == 0)
		return 0;
	return index_tomb_put(ix, &k, when, text(st, 2), sqlite3_column_int(st, 3) != 0);
}

/* A removal of which the bucket was not told. A file that was stored again since then cancels it. */
static int take_outgone(struct index *ix, sqlite3_stmt *st, int64_t now)
{
	struct outgone_row row = {.ended = sqlite3_column_int64(st, 1), .expired = sqlite3_column_int(st, 2) != 0};
	struct index_hit hit;

	if (row.ended <= 0 || row.ended > now || !*text(st, 0) || strlen(text(st, 0)) >= sizeof(row.canon))
		return 0;
	snprintf(row.canon, sizeof(row.canon), "%s", text(st, 0));
	if (index_key_find(ix, row.canon, &hit) == 0 && strcmp(hit.facts.source, "bucket") != 0)
		return 0;
	return index_outgone_put(ix, &row, sqlite3_column_int64(st, 3));
}

/* The bucket's name: removals are noted for it before its queue begins anew. */
static int take_bucket(struct index *ix, sqlite3_stmt *st, int64_t now)
{
	return index_meta_set(ix, "bucket", text(st, 0));
}

static int take_rows(sqlite3 *db, const char *sql, struct index *ix,
	int (*each)(struct index *ix, sqlite3_stmt *st, int64_t now))
{
	int64_t now = clock_wall();
	sqlite3_stmt *st = NULL;
	int n = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK)
		while (n < ROWS_MOST && sqlite3_step(st) == SQLITE_ROW && each(ix, st, now) == 0)
			n++;
	sqlite3_finalize(st);
	return n;
}

void index_salvage(struct index *ix, const char *path)
{
	sqlite3 *db = NULL;
	int objects = 0, misses = 0;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_PRIVATECACHE, NULL) == SQLITE_OK &&
		sqlite3_exec(db, "PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1;", NULL, NULL,
			NULL) == SQLITE_OK) {
		objects = take_rows(db, "SELECT sha256, used, keep_until FROM objects", ix, take_object);
		misses = take_rows(db,
			"SELECT key, name, source, since, until, reason, asked FROM misses", ix, take_miss);
		take_rows(db, "SELECT sha256, ends FROM objects WHERE ends > 0", ix, take_end);
		/* Before the bucket's name, because a tombstone would add a removal of its own. */
		take_rows(db, "SELECT key, ended, why, expired FROM tombs ORDER BY id", ix, take_tomb);
		take_rows(db, "SELECT canon, ended, expired, due FROM outgone", ix, take_outgone);
		take_rows(db, "SELECT value FROM meta WHERE name = 'bucket'", ix, take_bucket);
	}
	sqlite3_close(db);
	log_debug(LOG_STORE, "%s: salvaged %d uses and %d misses", path, objects, misses);
}
