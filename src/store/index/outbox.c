/* The index: the queue of files for the bucket. Triggers of index_schema_outbox fill it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index/private.h"

#include <string.h>

static int meta_is(struct index *ix, const char *name, const char *value)
{
	char now[128];
	int r = index_meta(ix, name, now, sizeof(now));

	return r == 0 ? strcmp(now, value) == 0 : r == -ENOENT ? 0 : r;
}

int index_outbox_begin(struct index *ix, const char *bucket, int64_t now)
{
	bool queued = conn_has_outbox(ix->writer);
	int r = conn_code(sqlite3_exec(ix->writer->db, index_schema_outbox, NULL, NULL, NULL));
	int same;

	if (r < 0)
		return r;
	same = queued ? meta_is(ix, "bucket", bucket) : 0;
	if (same != 0)
		return MIN(same, 0);
	r = index_meta_set(ix, "bucket", bucket);
	return r == 0 ? conn_run(ix->writer, Q_OUTBOX_ALL, "i", now) : r;
}

int index_outbox_done(struct index *ix, const struct outbox_row *row)
{
	int r = conn_run(ix->writer, Q_OUTBOX_FREE, "ii", row->object, row->change);

	return r == 0 ? conn_run(ix->writer, Q_OUTBOX_DONE, "ii", row->object, row->change) : r;
}

int index_outbox_add(struct index *ix, const char *canon, int64_t now)
{
	return conn_run(ix->writer, Q_OUTBOX_ADD, "it", now, canon);
}

int index_outbox_later(struct index *ix, const struct outbox_row *row, int64_t next)
{
	return conn_run(ix->writer, Q_OUTBOX_LATER, "ii", next, row->object);
}

int index_outbox_keep(struct index *ix, int64_t now, uint64_t most)
{
	int r = conn_run(ix->writer, Q_OUTBOX_KEEP, "ii", now, (int64_t)MIN(most, (uint64_t)INT64_MAX));

	return r == 0 ? conn_run(ix->writer, Q_OUTBOX_KEEP_OBJECTS, "i", now) : r;
}

/* ---- any thread --------------------------------------------------------------------- */

int index_outbox_next(struct index *ix, int64_t now, int64_t after, struct outbox_row *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	char worth[WORTH_TEXT];
	unsigned count = 0;
	int r = rows_of(&rows, Q_OUTBOX_NEXT, "iii", now, after, (int64_t)n);

	while (r >= 0 && count < n && (r = rows_next(&rows)) > 0) {
		struct outbox_row *row = &out[count++];

		row->object = sqlite3_column_int64(rows.st, 0);
		row->change = sqlite3_column_int64(rows.st, 1);
		row->tries = (unsigned)sqlite3_column_int64(rows.st, 2);
		row->since = sqlite3_column_int64(rows.st, 3);
		column_text(rows.st, 4, row->sha256, sizeof(row->sha256));
		row->size = (uint64_t)sqlite3_column_int64(rows.st, 5);
		column_text(rows.st, 6, worth, sizeof(worth));
		worth_parse(&row->worth, worth);
		held_columns(rows.st, 8, sqlite3_column_int64(rows.st, 7) == INT64_MAX, &row->held);
	}
	return r < 0 ? r : (int)count;
}

/* 1: there is a row; 0: no; -errno. `r` is the result of row_of(). */
static int is_row(int r)
{
	return r == 0 ? 1 : r == -ENOENT ? 0 : r;
}

int index_outbox_has(struct index *ix, const char *canon)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);

	return is_row(row_of(&rows, Q_OUTBOX_HAS, "t", canon));
}

int index_outbox_lists(struct index *ix, int64_t object)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);

	return is_row(row_of(&rows, Q_OUTBOX_LISTS, "i", object));
}

int index_outgone_has(struct index *ix, const char *canon)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);

	return is_row(row_of(&rows, Q_OUTGONE_HAS, "t", canon));
}

int index_outbox_count(struct index *ix, struct outbox_totals *out)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	int r = row_of(&rows, Q_OUTBOX_COUNT, "");

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	out->files = (uint64_t)sqlite3_column_int64(rows.st, 0);
	out->bytes = (uint64_t)sqlite3_column_int64(rows.st, 1);
	out->oldest = sqlite3_column_int64(rows.st, 2);
	out->failed = (uint64_t)sqlite3_column_int64(rows.st, 3);
	out->lost = (uint64_t)sqlite3_column_int64(rows.st, 4);
	return 0;
}

int index_outgone_next(struct index *ix, int64_t now, const char *after, struct outgone_row *out)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	int r = row_of(&rows, Q_OUTGONE_NEXT, "ti", after, now);

	if (r < 0)
		return r;
	column_text(rows.st, 0, out->canon, sizeof(out->canon));
	out->ended = sqlite3_column_int64(rows.st, 1);
	out->expired = sqlite3_column_int(rows.st, 2) != 0;
	return 0;
}

int index_outgone_done(struct index *ix, const struct outgone_row *row)
{
	return conn_run(ix->writer, Q_OUTGONE_DONE, "ti", row->canon, row->ended);
}

int index_outgone_later(struct index *ix, const struct outgone_row *row, int64_t due)
{
	return conn_run(ix->writer, Q_OUTGONE_LATER, "iti", due, row->canon, row->ended);
}

int index_outgone_put(struct index *ix, const struct outgone_row *row, int64_t due)
{
	return conn_run(ix->writer, Q_OUTGONE_PUT, "tiii", row->canon, row->ended, (int64_t)row->expired, due);
}

int index_uses_next(struct index *ix, struct use_row *out)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	int r = row_of(&rows, Q_USES_NEXT, "");

	if (r < 0)
		return r;
	out->object = sqlite3_column_int64(rows.st, 0);
	out->used = sqlite3_column_int64(rows.st, 1);
	column_text(rows.st, 2, out->sha256, sizeof(out->sha256));
	return 0;
}

int index_uses_done(struct index *ix, const struct use_row *row)
{
	return conn_run(ix->writer, Q_USES_DONE, "ii", row->object, row->used);
}
