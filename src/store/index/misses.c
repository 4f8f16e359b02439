/* The index: remembered misses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "store/index/private.h"

#define CLOCK_SLACK 60 /* seconds */

/* A miss from the future was written before the clock was set back. Such a miss does not count, because it
 * would hold until that time comes again. */
static int miss_until_with(struct conn *c, const struct question *q, void *out)
{
	_cleanup_rows_ struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, c, Q_MISS, "ttti", q->text[0], q->text[1], q->text[2], clock_wall() + CLOCK_SLACK);
	if (r == 0)
		r = rows_next(&rows);
	if (r < 0)
		return r;
	*(int64_t *)out = r ? sqlite3_column_int64(rows.st, 0) : 0;
	return 0;
}

int index_miss_until(struct index *ix, const char *canon, const char *name, const char *source,
	int64_t *out)
{
	struct question q = {.query = Q_MISS, .text = {canon, name, source}};

	return recent_ask(ix, &q, miss_until_with, out, sizeof(*out));
}

static int misses_with(struct conn *c, int64_t *after, int64_t now, struct store_miss_row *out,
	unsigned n)
{
	_cleanup_rows_ struct rows rows = {NULL};
	char text[KEY_TEXT];
	unsigned count = 0;
	int r;

	r = rows_of(&rows, c, Q_MISSES_LIST, "iii", *after, now, (int64_t)n);
	if (r < 0)
		return r;
	while (count < n && (r = rows_next(&rows)) > 0) {
		struct store_miss_row *row = &out[count];

		*after = sqlite3_column_int64(rows.st, 0);
		column_text(rows.st, 1, text, sizeof(text));
		if (key_parse(&row->key, text) < 0)
			return -EUCLEAN;
		column_text(rows.st, 2, row->source, sizeof(row->source));
		row->since = sqlite3_column_int64(rows.st, 3);
		row->until = sqlite3_column_int64(rows.st, 4);
		row->asked = sqlite3_column_int64(rows.st, 5);
		count++;
	}
	return r < 0 ? r : (int)count;
}

int index_list_misses(struct index *ix, int64_t *after, int64_t now, struct store_miss_row *rows,
	unsigned n)
{
	_cleanup_reader_ struct reader rd = {.ix = ix};
	int r = reader_open(&rd);

	return r < 0 ? r : misses_with(rd.c, after, now, rows, n);
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
