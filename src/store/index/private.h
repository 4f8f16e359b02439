/* The parts of the index, for src/store/index/ only: connections, statements, readers. sql.c has the tables
 * and the statements; the other files run them, each for its tables. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/util.h"
#include "store/index/index.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define TEXT_OF(x) TEXT_OF_(x)
#define TEXT_OF_(x) #x
#define INDEX_APPLICATION 1937337958 /* "symf" */
#define INDEX_VERSION 10
#define LOG_PAGES 400 /* pages of the WAL that trigger a checkpoint: a long WAL takes space from blobs */
#define BUSY_MS 5000 /* the longest wait of a statement for another process */

enum query {
	Q_BEGIN,
	Q_READ,
	Q_COMMIT,
	Q_ROLLBACK,
	Q_META,
	Q_META_SET,
	Q_FIND,
	Q_SIBLINGS,
	Q_LIST,
	Q_LIST_ENDED,
	Q_COUNT,
	Q_BYTES,
	Q_KEPT,
	Q_OBJECT,
	Q_OBJECT_NEXT,
	Q_OBJECT_PUT,
	Q_OBJECT_WORTH,
	Q_OBJECT_DROP,
	Q_OBJECT_USED,
	Q_ENDS_ANEW,
	Q_OBJECT_KEEP,
	Q_OBJECT_HOLD,
	Q_OBJECT_ENDED,
	Q_VICTIM,
	Q_SPARSE,
	Q_SPARSE_NAME,
	Q_SPARSE_LIST,
	Q_SPARSE_PUT,
	Q_SPARSE_DROP,
	Q_SPARSE_USED,
	Q_SPARSE_GREW,
	Q_SPARSE_PART,
	Q_SPARSE_PARTS,
	Q_SPARSE_PART_PUT,
	Q_KEY_PUT,
	Q_KEY_NEW,
	Q_NAME_PUT,
	Q_NAME_BY_FOLDED,
	Q_NAME_PLACE,
	Q_KEY_PLACE,
	Q_NEXT_NAMES,
	Q_NEXT_NAMES_OF_TIER,
	Q_NEXT_IDS,
	Q_NEXT_IDS_OF_NAME,
	Q_KEYS_OF,
	Q_KEYS_RANGE,
	Q_EMBEDDED,
	Q_INTENT_ADD,
	Q_INTENT_NEXT,
	Q_INTENT_DONE,
	Q_MODULE_PUT,
	Q_MODULE_OF,
	Q_MODULE_BY_CODE,
	Q_MODULE_BY_DEBUG,
	Q_MISS,
	Q_MISS_PUT,
	Q_MISS_ASKED,
	Q_MISSES_LIST,
	Q_MISSES_EXPIRE,
	Q_MISSES_DROP,
	Q_MISSES_DROP_ALL,
	Q_TOMB,
	Q_TOMB_PUT,
	Q_TOMB_DROP,
	Q_OUTGONE_NEXT,
	Q_OUTGONE_HAS,
	Q_OUTGONE_PUT,
	Q_OUTGONE_LATER,
	Q_OUTGONE_DONE,
	Q_HAS_OUTBOX,
	/* These need the tables of index_schema_outbox, which not every index has: conn_has_outbox(). */
	Q_OUTBOX,
	Q_OUTBOX_ALL = Q_OUTBOX,
	Q_OUTBOX_NEXT,
	Q_OUTBOX_HAS,
	Q_OUTBOX_LISTS,
	Q_OUTBOX_ADD,
	Q_OUTBOX_COUNT,
	Q_OUTBOX_DONE,
	Q_OUTBOX_LATER,
	Q_OUTBOX_FREE,
	Q_OUTBOX_KEEP,
	Q_OUTBOX_KEEP_OBJECTS,
	Q_USES_NEXT,
	Q_USES_DONE,
	QUERIES
};

extern const char *const index_sql[QUERIES];
extern const char index_schema[];	 /* the tables of a new index */
extern const char index_schema_outbox[]; /* for outbox.c */

/* ---- connections ---------------------------------------------------------------------- */

/* One connection and its statements. One thread at a time. */
struct conn {
	sqlite3 *db;
	sqlite3_stmt *st[QUERIES];
	struct conn *next; /* the next idle connection */
};

int conn_open(struct conn **out, const char *path, bool reader);
void conn_free(struct conn *c); /* NULL is fine */
int conn_code(int rc);		/* converts a result of SQLite to 0 or -errno */
static inline bool conn_path_missing(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && errno == ENOENT;
}

bool conn_has_outbox(struct conn *c); /* false: the index was rebuilt, or made by a process without a bucket */

/* The pool of connections that only read. */
int conn_take(struct index *ix, struct conn **out);
void conn_give(struct index *ix, struct conn *c);

/* The rows of a statement, read through a connection of the pool or through that of the writer. Cleanup resets the
 * statement, and gives a connection of the pool back. The letters of `what` are the types of the values to bind:
 * t text, i int64_t, b bytes and their number (size_t). */
struct rows {
	struct index *pool; /* NULL: the connection is not from the pool */
	struct conn *c;
	sqlite3_stmt *st;
};
#define READ_ROWS(ix) ((struct rows){.pool = (ix)})
#define WRITER_ROWS(ix) ((struct rows){.c = (ix)->writer})
#define _cleanup_rows_ _cleanup_(rows_end)

int conn_statement(struct conn *c, enum query q, sqlite3_stmt **out); /* 0; -ENOTSUP: it needs the outbox */
/* Begins a statement: call rows_next() until it does not return 1. 0, -errno. */
int rows_of(struct rows *rows, enum query q, const char *what, ...);
int rows_next(struct rows *r); /* 1: a row; 0: no more rows; -errno */
void rows_end(struct rows *r);
/* Begins a statement, and reads its first row. 0; -ENOENT: no row; -errno. */
int row_of(struct rows *rows, enum query q, const char *what, ...);
/* Runs a statement that returns no rows. 0, -errno. */
int conn_run(struct conn *c, enum query q, const char *what, ...);
void column_text(sqlite3_stmt *st, int i, char *out, size_t room);
int column_key(sqlite3_stmt *st, int i, struct key *out); /* 0, -EUCLEAN */

/* Reads class, age, end and labels from four columns, of which `i` is the first. */
void held_columns(sqlite3_stmt *st, int i, bool pinned, struct hold_state *out);
int main_key(struct rows *rows, const char *canon, enum filetype type, struct key *out); /* index_main_key() */

/* ---- the index ------------------------------------------------------------------------ */

#define RECENT_MOST 128
#define WAL_HEAD 6 /* words of the head of the WAL's index */

struct index {
	atomic_uint refs;
	char *path;
	struct conn *writer; /* with the write lock only */
	const uint64_t *wal_head; /* NULL: unknown, and no answer is kept */

	pthread_mutex_t lock;
	/* under lock */
	struct conn *idle;
	unsigned idle_n;
	struct recent {
		char *texts; /* those of the question, and then the answer; NULL: none */
		enum query query;
		int r;
		int64_t when;
		uint64_t head[WAL_HEAD];
	} recent[RECENT_MOST];
};

/* ---- recent.c -------------------------------------------------------------------------- */

struct question {
	enum query query;
	const char *text[3];
};
/* Gives a recent answer again, or calls `ask`, which fills the n bytes at `out`: 0, -ENOENT, or an error. */
int recent_ask(struct index *ix, const struct question *q,
	int (*ask)(struct rows *rows, const struct question *q, void *out), void *out, size_t n);
