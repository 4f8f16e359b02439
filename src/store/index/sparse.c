/* The index: the rows of sparse files and their blocks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index/private.h"

#include <stdio.h>
#include <string.h>

static int sparse_fill(struct store_sparse_row *out, sqlite3_stmt *st)
{
	memset(out, 0, sizeof(*out));
	out->id = sqlite3_column_int64(st, 0);
	column_text(st, 1, out->name, sizeof(out->name));
	out->validator.size = (uint64_t)sqlite3_column_int64(st, 3);
	column_text(st, 4, out->validator.source, sizeof(out->validator.source));
	column_text(st, 5, out->validator.etag, sizeof(out->validator.etag));
	column_text(st, 6, out->validator.last_modified, sizeof(out->validator.last_modified));
	column_text(st, 7, out->url, sizeof(out->url));
	out->present = (uint64_t)sqlite3_column_int64(st, 8);
	out->allocated = (uint64_t)sqlite3_column_int64(st, 9);
	out->used = sqlite3_column_int64(st, 10);
	out->since = sqlite3_column_int64(st, 11);
	return column_key(st, 2, &out->key);
}

static int sparse_from(struct rows *rows, int r, struct store_sparse_row *out)
{
	return r == 0 ? sparse_fill(out, rows->st) : r;
}

int index_sparse_find(struct index *ix, const char *canon, struct store_sparse_row *out)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);

	return sparse_from(&rows, row_of(&rows, Q_SPARSE, "t", canon), out);
}

int index_sparse_find_name(struct index *ix, const char *name, struct store_sparse_row *out)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);

	return sparse_from(&rows, row_of(&rows, Q_SPARSE_NAME, "t", name), out);
}

int index_sparse_list(struct index *ix, int64_t after, struct store_sparse_row *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	unsigned count = 0;
	int r = rows_of(&rows, Q_SPARSE_LIST, "ii", after, (int64_t)n);

	while (r == 0 && count < n && (r = rows_next(&rows)) > 0)
		r = sparse_fill(&out[count++], rows.st);
	return r < 0 ? r : (int)count;
}

static int part_fill(struct index_part *out, sqlite3_stmt *st)
{
	memset(out, 0, sizeof(*out));
	out->part = sqlite3_column_int64(st, 0);
	if (out->part < 0 || sqlite3_column_bytes(st, 1) != sizeof(out->bits) ||
		sqlite3_column_bytes(st, 2) != sizeof(out->sums))
		return -EUCLEAN;
	memcpy(out->bits, sqlite3_column_blob(st, 1), sizeof(out->bits));
	memcpy(out->sums, sqlite3_column_blob(st, 2), sizeof(out->sums));
	return 0;
}

int index_sparse_parts(struct index *ix, const char *name, int64_t after, struct index_part *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	unsigned count = 0;
	int r = rows_of(&rows, Q_SPARSE_PARTS, "tii", name, after, (int64_t)n);

	while (r == 0 && count < n && (r = rows_next(&rows)) > 0)
		r = part_fill(&out[count++], rows.st);
	return r < 0 ? r : (int)count;
}

int index_sparse_get(struct index *ix, const char *canon, struct store_sparse_row *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);

	return sparse_from(&rows, row_of(&rows, Q_SPARSE, "t", canon), out);
}

int index_sparse_get_name(struct index *ix, const char *name, struct store_sparse_row *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);

	return sparse_from(&rows, row_of(&rows, Q_SPARSE_NAME, "t", name), out);
}

int index_sparse_next(struct index *ix, int64_t after, struct store_sparse_row *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);

	return sparse_from(&rows, row_of(&rows, Q_SPARSE_LIST, "ii", after, (int64_t)1), out);
}

int index_sparse_put(struct index *ix, const struct store_sparse_row *row)
{
	char canon[KEY_TEXT], text[KEY_TEXT];
	const struct sparse_validator *v = &row->validator;

	return conn_run(ix->writer, Q_SPARSE_PUT, "tttittttii", row->name, key_canon(&row->key, canon),
		key_text(&row->key, text), (int64_t)v->size, v->source, v->etag, v->last_modified,
		row->url, row->since, row->used);
}

int index_sparse_drop(struct index *ix, const char *name)
{
	return conn_run(ix->writer, Q_SPARSE_DROP, "t", name);
}

int index_sparse_used(struct index *ix, const char *name, int64_t when)
{
	return conn_run(ix->writer, Q_SPARSE_USED, "it", when, name);
}

int index_sparse_grew(struct index *ix, const char *name, uint64_t present, uint64_t bytes,
	int64_t when)
{
	return conn_run(ix->writer, Q_SPARSE_GREW, "iiit", (int64_t)present, (int64_t)bytes, when, name);
}

int index_sparse_part(struct index *ix, const char *name, int64_t part, struct index_part *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);
	int r = row_of(&rows, Q_SPARSE_PART, "ti", name, part);

	return r == 0 ? part_fill(out, rows.st) : r;
}

int index_sparse_part_put(struct index *ix, const char *name, const struct index_part *p)
{
	return conn_run(ix->writer, Q_SPARSE_PART_PUT, "ibbt", p->part, p->bits, sizeof(p->bits), p->sums,
		sizeof(p->sums), name);
}
