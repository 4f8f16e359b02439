/* The index: connections, the pool of those that only read, and their statements. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index/private.h"

#include <stdarg.h>
#include <stdio.h>

#define IDLE_MOST 8 /* connections that are kept open while no thread reads */

int conn_code(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_ERROR: /* the statements are fixed: if a statement does not fit, the tables are not symfs's */
	case SQLITE_SCHEMA:
	case SQLITE_CONSTRAINT:
		return -EUCLEAN;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return rc == SQLITE_READONLY_DBMOVED ? -EUCLEAN : -EROFS;
	case SQLITE_IOERR:
		return rc == SQLITE_IOERR_SHORT_READ ? -EUCLEAN : -EIO;
	}
	return -EIO;
}

void conn_free(struct conn *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < QUERIES; i++)
		sqlite3_finalize(c->st[i]);
	sqlite3_close(c->db);
	free(c);
}

static void cleanup_conn(struct conn **c)
{
	conn_free(*c);
}

int conn_open(struct conn **out, const char *path, bool reader)
{
	_cleanup_(cleanup_conn) struct conn *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	rc = sqlite3_open_v2(path, &c->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
	if (rc == SQLITE_CANTOPEN && conn_path_missing(path))
		return -EUCLEAN;
	if (rc == SQLITE_CANTOPEN && (sqlite3_system_errno(c->db) == EMFILE || sqlite3_system_errno(c->db) == ENFILE))
		return -EMFILE;
	if (rc != SQLITE_OK)
		return conn_code(rc);
	sqlite3_extended_result_codes(c->db, 1);
	sqlite3_busy_timeout(c->db, BUSY_MS);
	rc = sqlite3_exec(c->db,
		reader ? "PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1;"
			 "PRAGMA query_only = 1;"
		       : "PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1;"
			 "PRAGMA foreign_keys = 1; PRAGMA synchronous = NORMAL;"
			 "PRAGMA wal_autocheckpoint = " TEXT_OF(LOG_PAGES) ";",
		NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return conn_code(rc);
	*out = take(c);
	return 0;
}

int conn_take(struct index *ix, struct conn **out)
{
	{
		LOCK_SCOPE(&ix->lock);
		struct conn *c = ix->idle;

		if (c) {
			ix->idle = c->next;
			ix->idle_n--;
			*out = c;
			return 0;
		}
	}
	return conn_open(out, ix->path, true);
}

void conn_give(struct index *ix, struct conn *c)
{
	{
		LOCK_SCOPE(&ix->lock);

		if (ix->idle_n < IDLE_MOST) {
			c->next = ix->idle;
			ix->idle = c;
			ix->idle_n++;
			return;
		}
	}
	conn_free(c);
}

/* ---- statements ----------------------------------------------------------------------- */

bool conn_has_outbox(struct conn *c)
{
	_cleanup_rows_ struct rows rows = {.c = c};

	return row_of(&rows, Q_HAS_OUTBOX, "") == 0;
}

int conn_statement(struct conn *c, enum query q, sqlite3_stmt **out)
{
	if (q >= Q_OUTBOX && !conn_has_outbox(c))
		return -ENOTSUP;
	if (!c->st[q]) {
		int rc = sqlite3_prepare_v3(c->db, index_sql[q], -1, SQLITE_PREPARE_PERSISTENT, &c->st[q],
			NULL);

		if (rc != SQLITE_OK)
			return conn_code(rc);
	}
	*out = c->st[q];
	return 0;
}

/* Prepares a statement, and binds one value for each letter of `what`. */
static int bind_all(struct rows *rows, enum query q, const char *what, va_list ap)
{
	int r = 0, rc = SQLITE_OK;

	if (!rows->c)
		r = conn_take(rows->pool, &rows->c);
	if (r == 0)
		r = conn_statement(rows->c, q, &rows->st);
	for (int i = 1; r == 0 && *what && rc == SQLITE_OK; i++, what++) {
		if (*what == 't') {
			rc = sqlite3_bind_text(rows->st, i, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
		} else if (*what == 'i') {
			rc = sqlite3_bind_int64(rows->st, i, va_arg(ap, int64_t));
		} else {
			const void *p = va_arg(ap, const void *);

			rc = sqlite3_bind_blob64(rows->st, i, p, va_arg(ap, size_t), SQLITE_TRANSIENT);
		}
	}
	return r < 0 ? r : conn_code(rc);
}

void rows_end(struct rows *r)
{
	if (r->st) {
		sqlite3_reset(r->st);
		sqlite3_clear_bindings(r->st);
	}
	if (r->pool && r->c)
		conn_give(r->pool, r->c);
}

int rows_of(struct rows *rows, enum query q, const char *what, ...)
{
	va_list ap;
	int r;

	va_start(ap, what);
	r = bind_all(rows, q, what, ap);
	va_end(ap);
	return r;
}

int rows_next(struct rows *r)
{
	int rc = sqlite3_step(r->st);

	return rc == SQLITE_ROW ? 1 : conn_code(rc);
}

int row_of(struct rows *rows, enum query q, const char *what, ...)
{
	va_list ap;
	int r;

	va_start(ap, what);
	r = bind_all(rows, q, what, ap);
	va_end(ap);
	if (r == 0)
		r = rows_next(rows);
	return r > 0 ? 0 : r < 0 ? r : -ENOENT;
}

int conn_run(struct conn *c, enum query q, const char *what, ...)
{
	_cleanup_rows_ struct rows rows = {.c = c};
	va_list ap;
	int r;

	va_start(ap, what);
	r = bind_all(&rows, q, what, ap);
	va_end(ap);
	if (r == 0)
		r = rows_next(&rows);
	return r > 0 ? 0 : r;
}

void column_text(sqlite3_stmt *st, int i, char *out, size_t room)
{
	const unsigned char *text = sqlite3_column_text(st, i);

	snprintf(out, room, "%s", text ? (const char *)text : "");
}

int column_key(sqlite3_stmt *st, int i, struct key *out)
{
	char text[KEY_TEXT];

	column_text(st, i, text, sizeof(text));
	return key_parse(out, text) < 0 ? -EUCLEAN : 0;
}
