/* The index: remembered misses, and tombstones: the keys whose file expired or was purged. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "store/index/private.h"

#define CLOCK_SLACK 60 /* seconds */

/* A miss from the future was written before the clock was set back. Such a miss does not count, because it
 * would hold until that time comes again. */
static int miss_until_with(struct rows *rows, const struct question *q, void *out)
{
	int r = row_of(rows, Q_MISS, "ttti", q->text[0], q->text[1], q->text[2], clock_wall() + CLOCK_SLACK);

	if (r < 0 && r != -ENOENT)
		return r;
	*(int64_t *)out = r == 0 ? sqlite3_column_int64(rows->st, 0) : 0;
	return 0;
}

int index_miss_until(struct index *ix, const char *canon, const char *name, const char *source,
	int64_t *out)
{
	struct question q = {.query = Q_MISS, .text = {canon, name, source}};

	return recent_ask(ix, &q, miss_until_with, out, sizeof(*out));
}

int index_list_misses(struct index *ix, int64_t *after, int64_t now, struct store_miss_row *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	unsigned count = 0;
	int r = rows_of(&rows, Q_MISSES_LIST, "iii", *after, now, (int64_t)n);

	while (r == 0 && count < n && (r = rows_next(&rows)) > 0) {
		struct store_miss_row *row = &out[count++];

		*after = sqlite3_column_int64(rows.st, 0);
		r = column_key(rows.st, 1, &row->key);
		column_text(rows.st, 2, row->source, sizeof(row->source));
		row->since = sqlite3_column_int64(rows.st, 3);
		row->until = sqlite3_column_int64(rows.st, 4);
		row->asked = sqlite3_column_int64(rows.st, 5);
	}
	return r < 0 ? r : (int)count;
}

int index_miss_put(struct index *ix, const struct key *k, const char *name, const char *source,
	int64_t since, int64_t until, const char *reason)
{
	char canon[KEY_TEXT], text[KEY_TEXT];

	return conn_run(ix->writer, Q_MISS_PUT, "ttttiit", key_canon(k, canon), key_text(k, text), name,
		source, since, until, reason);
}

int index_miss_asked(struct index *ix, const char *canon, int64_t times)
{
	return conn_run(ix->writer, Q_MISS_ASKED, "it", times, canon);
}

int index_misses_expire(struct index *ix, int64_t now)
{
	return conn_run(ix->writer, Q_MISSES_EXPIRE, "i", now);
}

int index_misses_drop(struct index *ix, const char *canon)
{
	int r = canon ? conn_run(ix->writer, Q_MISSES_DROP, "t", canon)
		      : conn_run(ix->writer, Q_MISSES_DROP_ALL, "");

	return r < 0 ? r : sqlite3_changes(ix->writer->db);
}

/* ---- tombstones ------------------------------------------------------------------------- */

static int tomb_with(struct rows *rows, const struct question *q, void *out)
{
	struct store_tomb *t = out;
	int r = row_of(rows, Q_TOMB, "t", q->text[0]);

	if (r < 0)
		return r;
	t->when = sqlite3_column_int64(rows->st, 1);
	column_text(rows->st, 2, t->why, sizeof(t->why));
	return column_key(rows->st, 0, &t->key);
}

int index_tomb(struct index *ix, const char *canon, struct store_tomb *out)
{
	struct question q = {.query = Q_TOMB, .text = {canon, "", ""}};

	return recent_ask(ix, &q, tomb_with, out, sizeof(*out));
}

int index_tomb_put(struct index *ix, const struct key *k, int64_t when, const char *why, bool expired)
{
	char canon[KEY_TEXT], text[KEY_TEXT];

	return conn_run(ix->writer, Q_TOMB_PUT, "ttiti", key_canon(k, canon), key_text(k, text), when, why,
		(int64_t)expired);
}

int index_tomb_drop(struct index *ix, const char *canon)
{
	return conn_run(ix->writer, Q_TOMB_DROP, "t", canon);
}
