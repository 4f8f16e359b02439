/* The index: SQLite. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index.h"
#include "base/log.h"
#include "base/util.h"
#include "layout/layout.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define BUSY_MS 5000
#define IDLE_MOST 8 /* readers kept open */
#define TEXT_OF(x) TEXT_OF_(x)
#define TEXT_OF_(x) #x
#define GONE_MOST 10000
#define LOG_PAGES 400 /* that the log may grow by: on a small disk it is in the way of blobs */
#define APPLICATION_ID 1937337958 /* "symf" */
#define VERSION_3 3 /* before files with holes */
#define VERSION 4

static const char schema[] =
	"CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE objects(id INTEGER PRIMARY KEY AUTOINCREMENT, sha256 TEXT NOT NULL UNIQUE,"
	" size INTEGER NOT NULL, used INTEGER NOT NULL, keep_until INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX objects_used ON objects(used);"
	"CREATE TABLE keys(id INTEGER PRIMARY KEY AUTOINCREMENT, canon TEXT NOT NULL UNIQUE,"
	" key TEXT NOT NULL, object_id INTEGER NOT NULL REFERENCES objects(id) ON DELETE CASCADE,"
	" source TEXT NOT NULL, url TEXT NOT NULL, verified INTEGER NOT NULL,"
	" fetched INTEGER NOT NULL, class INTEGER NOT NULL, stem TEXT NOT NULL, tier TEXT,"
	" name_id INTEGER);"
	"CREATE INDEX keys_object ON keys(object_id);"
	/* Listings go along these. */
	"CREATE INDEX keys_stem ON keys(class, stem);"
	"CREATE INDEX keys_name ON keys(class, tier, name_id, stem) WHERE name_id IS NOT NULL;"
	/* File names, each once whatever its case, as first given; `keys` counts who has it. */
	"CREATE TABLE names(id INTEGER PRIMARY KEY AUTOINCREMENT, folded TEXT NOT NULL UNIQUE,"
	" name TEXT NOT NULL, tier TEXT NOT NULL, keys INTEGER NOT NULL);"
	/* Where those were that are gone, for listings that stand there; only the last of them. */
	"CREATE TABLE gone(seq INTEGER PRIMARY KEY AUTOINCREMENT, is_name INTEGER NOT NULL,"
	" id INTEGER NOT NULL, place TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL);"
	"CREATE INDEX gone_id ON gone(is_name, id);"
	"CREATE TRIGGER keys_in AFTER INSERT ON keys WHEN new.name_id IS NOT NULL BEGIN"
	" UPDATE names SET keys = keys + 1 WHERE id = new.name_id; END;"
	"CREATE TRIGGER keys_out AFTER DELETE ON keys BEGIN"
	" INSERT INTO gone(is_name, id, place, key, name) VALUES(0, old.id, old.stem, old.key,"
	"  coalesce((SELECT name FROM names WHERE id = old.name_id), ''));"
	" UPDATE names SET keys = keys - 1 WHERE id = old.name_id;"
	" DELETE FROM names WHERE id = old.name_id AND keys <= 0;"
	" DELETE FROM gone WHERE seq <= (SELECT max(seq) FROM gone) - " TEXT_OF(GONE_MOST) "; END;"
	"CREATE TRIGGER names_out AFTER DELETE ON names BEGIN"
	" INSERT INTO gone(is_name, id, place, key, name)"
	"  VALUES(1, old.id, old.tier, '', old.name); END;"
	/* What a file says of itself, for requests that know less: `code` and `debug` are the ids
	 * in the spelling that is looked for. It goes with its file, so that a bad file takes along
	 * what it claimed, and the table is never longer than that of the files. */
	"CREATE TABLE modules(object_id INTEGER PRIMARY KEY REFERENCES objects(id)"
	" ON DELETE CASCADE, kind TEXT NOT NULL, code TEXT NOT NULL, debug TEXT NOT NULL,"
	" code_id TEXT NOT NULL, code_file TEXT NOT NULL, debug_id TEXT NOT NULL,"
	" debug_file TEXT NOT NULL, checksum TEXT NOT NULL);"
	"CREATE INDEX modules_code ON modules(code) WHERE code <> '';"
	"CREATE INDEX modules_debug ON modules(debug) WHERE debug <> '';"
	/* `name`: what the source was asked for by, where that is more than the key. */
	"CREATE TABLE misses(id INTEGER PRIMARY KEY AUTOINCREMENT, canon TEXT NOT NULL,"
	" key TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, since INTEGER NOT NULL,"
	" until INTEGER NOT NULL, reason TEXT NOT NULL, asked INTEGER NOT NULL DEFAULT 1,"
	" UNIQUE(canon, name, source));"
	"CREATE INDEX misses_until ON misses(until);"
	/* Files that a process was about to change. */
	"CREATE TABLE intents(sha256 TEXT PRIMARY KEY, gone INTEGER NOT NULL) WITHOUT ROWID;"
	/* Sums that every publish asks for. */
	"CREATE TABLE totals(artifacts INTEGER NOT NULL, bytes INTEGER NOT NULL);"
	"INSERT INTO totals VALUES(0, 0);"
	"CREATE TRIGGER objects_in AFTER INSERT ON objects BEGIN"
	" UPDATE totals SET artifacts = artifacts + 1, bytes = bytes + new.size; END;"
	"CREATE TRIGGER objects_out AFTER DELETE ON objects BEGIN"
	" UPDATE totals SET artifacts = artifacts - 1, bytes = bytes - old.size; END;"
	"CREATE TRIGGER objects_size AFTER UPDATE OF size ON objects BEGIN"
	" UPDATE totals SET bytes = bytes + new.size - old.size; END;"
	"PRAGMA application_id = " TEXT_OF(APPLICATION_ID) ";"
	"PRAGMA user_version = " TEXT_OF(VERSION_3) ";";

/* What version 4 has beyond 3: a new index is made by both. */
static const char schema_4[] =
	/* Files with holes: `bytes` are those that they take on the disk. */
	"CREATE TABLE sparse(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,"
	" canon TEXT NOT NULL UNIQUE, key TEXT NOT NULL, size INTEGER NOT NULL,"
	" source TEXT NOT NULL, etag TEXT NOT NULL, modified TEXT NOT NULL, url TEXT NOT NULL,"
	" present INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,"
	" since INTEGER NOT NULL, used INTEGER NOT NULL, keep_until INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX sparse_used ON sparse(used);"
	/* The blocks of a part of one: a bit each, and four bytes of a sum. */
	"CREATE TABLE sparse_parts(sparse_id INTEGER NOT NULL REFERENCES sparse(id)"
	" ON DELETE CASCADE, part INTEGER NOT NULL, bits BLOB NOT NULL, sums BLOB NOT NULL,"
	" UNIQUE(sparse_id, part));"
	"ALTER TABLE totals ADD COLUMN sparse INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE totals ADD COLUMN sparse_bytes INTEGER NOT NULL DEFAULT 0;"
	"CREATE TRIGGER sparse_in AFTER INSERT ON sparse BEGIN"
	" UPDATE totals SET sparse = sparse + 1, sparse_bytes = sparse_bytes + new.bytes; END;"
	"CREATE TRIGGER sparse_out AFTER DELETE ON sparse BEGIN"
	" UPDATE totals SET sparse = sparse - 1, sparse_bytes = sparse_bytes - old.bytes; END;"
	"CREATE TRIGGER sparse_grows AFTER UPDATE OF bytes ON sparse BEGIN"
	" UPDATE totals SET sparse_bytes = sparse_bytes + new.bytes - old.bytes; END;"
	"PRAGMA user_version = " TEXT_OF(VERSION) ";";

#define HIT_COLUMNS                                                                                \
	"o.id, o.sha256, o.size, o.used, k.source, k.url, k.verified, k.fetched, k.key"
#define SPARSE_COLUMNS                                                                             \
	"id, name, key, size, source, etag, modified, url, present, bytes, used, since, keep_until"
#define MODULE_COLUMNS "kind, code_id, code_file, debug_id, debug_file, checksum"

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
	Q_COUNT,
	Q_BYTES,
	Q_OBJECT,
	Q_OBJECT_NEXT,
	Q_OBJECT_PUT,
	Q_OBJECT_DROP,
	Q_OBJECT_USED,
	Q_OBJECT_KEEP,
	Q_VICTIM,
	Q_SPARSE,
	Q_SPARSE_NAME,
	Q_SPARSE_LIST,
	Q_SPARSE_PUT,
	Q_SPARSE_DROP,
	Q_SPARSE_USED,
	Q_SPARSE_GREW,
	Q_SPARSE_KEEP,
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
	Q_NEXT_STEMS,
	Q_NEXT_STEMS_OF_NAME,
	Q_KEY_DROP,
	Q_KEYS_OF,
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
	QUERIES
};

static const char *const sql[QUERIES] = {
	[Q_BEGIN] = "BEGIN IMMEDIATE",
	[Q_READ] = "BEGIN",
	[Q_COMMIT] = "COMMIT",
	[Q_ROLLBACK] = "ROLLBACK",
	[Q_META] = "SELECT value FROM meta WHERE name = ?",
	[Q_META_SET] = "INSERT OR REPLACE INTO meta VALUES(?, ?)",
	[Q_FIND] = "SELECT " HIT_COLUMNS " FROM keys k JOIN objects o ON o.id = k.object_id"
		   " WHERE k.canon = ?",
	[Q_SIBLINGS] = "SELECT s.key FROM keys k JOIN keys s ON s.object_id = k.object_id"
		       " WHERE k.canon = ? ORDER BY s.id LIMIT 64",
	[Q_LIST] = "SELECT " HIT_COLUMNS ", k.id, o.keep_until FROM keys k"
		   " JOIN objects o ON o.id = k.object_id WHERE k.id > ? ORDER BY k.id LIMIT ?",
	[Q_COUNT] = "SELECT artifacts, bytes, (SELECT count(*) FROM keys),"
		    " (SELECT count(*) FROM misses WHERE until > ?), sparse, sparse_bytes"
		    " FROM totals",
	[Q_BYTES] = "SELECT bytes + sparse_bytes FROM totals",
	[Q_OBJECT] = "SELECT id, sha256, size FROM objects WHERE sha256 = ?",
	[Q_OBJECT_NEXT] = "SELECT id, sha256, size FROM objects WHERE id > ? ORDER BY id LIMIT 1",
	[Q_OBJECT_PUT] = "INSERT INTO objects(sha256, size, used) VALUES(?, ?, ?)"
			 " ON CONFLICT(sha256) DO UPDATE SET size = excluded.size,"
			 " used = max(used, excluded.used) RETURNING id",
	[Q_OBJECT_DROP] = "DELETE FROM objects WHERE id = ?",
	[Q_OBJECT_USED] = "UPDATE objects SET used = ? WHERE id = ?",
	[Q_OBJECT_KEEP] = "UPDATE objects SET keep_until ="
			  " CASE WHEN ?1 > 0 THEN max(keep_until, ?1) ELSE 0 END WHERE id = ?2",
	[Q_VICTIM] = "SELECT id, sha256, size, 0, used FROM (SELECT id, sha256, size, used"
		     "  FROM objects WHERE keep_until <= ?1 AND id <> ?2 ORDER BY used, id LIMIT 1)"
		     " UNION ALL SELECT id, name, bytes, 1, used FROM (SELECT id, name, bytes, used"
		     "  FROM sparse WHERE keep_until <= ?1 ORDER BY used, id LIMIT 1)"
		     " ORDER BY 5, 4 LIMIT 1",
	[Q_SPARSE] = "SELECT " SPARSE_COLUMNS " FROM sparse WHERE canon = ?",
	[Q_SPARSE_NAME] = "SELECT " SPARSE_COLUMNS " FROM sparse WHERE name = ?",
	[Q_SPARSE_LIST] = "SELECT " SPARSE_COLUMNS " FROM sparse WHERE id > ? ORDER BY id LIMIT ?",
	[Q_SPARSE_PUT] = "INSERT INTO sparse(name, canon, key, size, source, etag, modified, url,"
			 " since, used) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[Q_SPARSE_DROP] = "DELETE FROM sparse WHERE name = ?",
	[Q_SPARSE_USED] = "UPDATE sparse SET used = ? WHERE name = ?",
	[Q_SPARSE_GREW] = "UPDATE sparse SET present = ?, bytes = ?, used = ? WHERE name = ?",
	[Q_SPARSE_KEEP] = "UPDATE sparse SET keep_until = ? WHERE name = ?",
	[Q_SPARSE_PART] = "SELECT part, bits, sums FROM sparse_parts WHERE sparse_id ="
			  " (SELECT id FROM sparse WHERE name = ?) AND part = ?",
	[Q_SPARSE_PARTS] = "SELECT part, bits, sums FROM sparse_parts WHERE sparse_id ="
			   " (SELECT id FROM sparse WHERE name = ?) AND part > ? ORDER BY part"
			   " LIMIT ?",
	[Q_SPARSE_PART_PUT] = "INSERT OR REPLACE INTO sparse_parts SELECT id, ?, ?, ? FROM sparse"
			      " WHERE name = ?",
	[Q_KEY_PUT] = "UPDATE keys SET object_id = ?, source = ?, url = ?, verified = ?,"
		      " fetched = ? WHERE canon = ?",
	[Q_KEY_NEW] = "INSERT INTO keys(canon, key, object_id, source, url, verified, fetched,"
		      " class, stem, tier, name_id) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?,"
		      " (SELECT tier FROM names WHERE folded = ?10),"
		      " (SELECT id FROM names WHERE folded = ?10))",
	[Q_NAME_PUT] = "INSERT INTO names(folded, name, tier, keys) VALUES(?, ?, ?, 0)"
		       " ON CONFLICT(folded) DO NOTHING",
	[Q_NAME_BY_FOLDED] = "SELECT id, tier, name FROM names WHERE folded = ?",
	/* Of what there is, or was. */
	[Q_NAME_PLACE] = "SELECT tier FROM names WHERE id = ?1 UNION ALL SELECT place FROM gone"
			 " WHERE is_name = 1 AND id = ?1 LIMIT 1",
	[Q_KEY_PLACE] = "SELECT stem, key, coalesce((SELECT name FROM names WHERE id = name_id), '')"
			" FROM keys WHERE id = ?1 UNION ALL SELECT place, key, name FROM gone"
			" WHERE is_name = 0 AND id = ?1 LIMIT 1",
	[Q_NEXT_NAMES] = "SELECT name_id, tier, (SELECT name FROM names WHERE id = name_id)"
			 " FROM keys WHERE name_id IS NOT NULL AND class = ?"
			 " AND (tier, name_id) > (?, ?) GROUP BY tier, name_id"
			 " ORDER BY tier, name_id LIMIT ?",
	[Q_NEXT_NAMES_OF_TIER] = "SELECT name_id, tier, (SELECT name FROM names WHERE id = name_id)"
				 " FROM keys WHERE name_id IS NOT NULL AND class = ? AND tier = ?"
				 " AND name_id > ? GROUP BY name_id ORDER BY name_id LIMIT ?",
	[Q_NEXT_STEMS] = "SELECT id, stem, key, (SELECT name FROM names WHERE id = name_id)"
			 " FROM keys WHERE class = ? AND (stem, id) > (?, ?) AND stem < ?"
			 " ORDER BY stem, id LIMIT ?",
	[Q_NEXT_STEMS_OF_NAME] = "SELECT id, stem, key, NULL FROM keys WHERE name_id IS NOT NULL"
				 " AND class = ? AND tier = ? AND name_id = ?"
				 " AND (stem, id) > (?, ?) AND stem < ? ORDER BY stem, id LIMIT ?",
	[Q_KEY_DROP] = "DELETE FROM keys WHERE canon = ?",
	[Q_KEYS_OF] = "SELECT key, source, url, verified, fetched FROM keys WHERE object_id = ?"
		      " ORDER BY id",
	[Q_INTENT_ADD] = "INSERT OR REPLACE INTO intents VALUES(?, ?)",
	[Q_INTENT_NEXT] = "SELECT sha256, gone FROM intents LIMIT 1",
	[Q_INTENT_DONE] = "DELETE FROM intents WHERE sha256 = ?",
	[Q_MODULE_PUT] = "INSERT OR REPLACE INTO modules VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[Q_MODULE_OF] = "SELECT " MODULE_COLUMNS " FROM modules WHERE object_id = ?",
	[Q_MODULE_BY_CODE] = "SELECT " MODULE_COLUMNS " FROM modules WHERE code = ? AND code <> ''"
			     " ORDER BY object_id LIMIT ?",
	[Q_MODULE_BY_DEBUG] = "SELECT " MODULE_COLUMNS " FROM modules WHERE debug <> ''"
			      " AND debug IN (?, ?) ORDER BY object_id LIMIT ?",
	[Q_MISS] = "SELECT until FROM misses WHERE canon = ? AND name = ? AND source = ?",
	[Q_MISS_PUT] = "INSERT INTO misses(canon, key, name, source, since, until, reason)"
		       " VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(canon, name, source) DO UPDATE SET"
		       " since = excluded.since, until = excluded.until, reason = excluded.reason,"
		       " asked = asked + 1",
	[Q_MISS_ASKED] = "UPDATE misses SET asked = asked + ? WHERE canon = ?",
	[Q_MISSES_LIST] = "SELECT id, key, source, since, until, asked FROM misses"
			  " WHERE id > ? AND until > ? ORDER BY id LIMIT ?",
	[Q_MISSES_EXPIRE] = "DELETE FROM misses WHERE until <= ?",
	[Q_MISSES_DROP] = "DELETE FROM misses WHERE canon = ?",
	[Q_MISSES_DROP_ALL] = "DELETE FROM misses",
};

/* One connection and its statements. One thread at a time. */
struct conn {
	sqlite3 *db;
	sqlite3_stmt *st[QUERIES];
	struct conn *next; /* idle */
};

struct index {
	atomic_uint refs;
	char *path;
	struct conn *writer; /* within a turn only */

	pthread_mutex_t lock;
	struct conn *idle; /* under lock */
	unsigned idle_n;
};

static int code_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_ERROR: /* the statements are ours: when they do not fit, the tables are not */
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

static void conn_free(struct conn *c)
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

static bool is_missing(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && errno == ENOENT;
}

static int conn_open(struct conn **out, const char *path, bool reader)
{
	_cleanup_(cleanup_conn) struct conn *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	rc = sqlite3_open_v2(path, &c->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
	if (rc == SQLITE_CANTOPEN)
		return is_missing(path) ? -EUCLEAN : -EMFILE;
	if (rc != SQLITE_OK)
		return code_of(rc);
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
		return code_of(rc);
	*out = take(c);
	return 0;
}

/* ---- running statements ------------------------------------------------------------- */

static int statement(struct conn *c, enum query q, sqlite3_stmt **out)
{
	if (!c->st[q]) {
		int rc = sqlite3_prepare_v3(c->db, sql[q], -1, SQLITE_PREPARE_PERSISTENT, &c->st[q],
			NULL);

		if (rc != SQLITE_OK)
			return code_of(rc);
	}
	*out = c->st[q];
	return 0;
}

/* Binds one value for each letter of `what`: t text, i int64_t, b bytes and how many (size_t). */
static int bind_all(sqlite3_stmt *st, const char *what, va_list ap)
{
	int rc = SQLITE_OK;

	for (int i = 1; *what && rc == SQLITE_OK; i++, what++) {
		if (*what == 't') {
			rc = sqlite3_bind_text(
				st, i, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
		} else if (*what == 'i') {
			rc = sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
		} else {
			const void *p = va_arg(ap, const void *);

			rc = sqlite3_bind_blob64(st, i, p, va_arg(ap, size_t), SQLITE_TRANSIENT);
		}
	}
	return code_of(rc);
}

/* A statement that answers in rows: row_next() until it is not 1. Reset by cleanup. */
struct rows {
	sqlite3_stmt *st;
};

static void cleanup_rows(struct rows *r)
{
	if (r->st) {
		sqlite3_reset(r->st);
		sqlite3_clear_bindings(r->st);
	}
}

static int rows_of(struct rows *rows, struct conn *c, enum query q, const char *what, ...)
{
	va_list ap;
	int r;

	r = statement(c, q, &rows->st);
	if (r < 0)
		return r;
	va_start(ap, what);
	r = bind_all(rows->st, what, ap);
	va_end(ap);
	return r;
}

static int row_next(struct rows *r) /* 1, 0: no more, -errno */
{
	int rc = sqlite3_step(r->st);

	return rc == SQLITE_ROW ? 1 : code_of(rc);
}

/* A statement that only does something. */
static int run(struct conn *c, enum query q, const char *what, ...)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	va_list ap;
	int r;

	r = statement(c, q, &rows.st);
	if (r < 0)
		return r;
	va_start(ap, what);
	r = bind_all(rows.st, what, ap);
	va_end(ap);
	if (r == 0)
		r = row_next(&rows);
	return r > 0 ? 0 : r;
}

static void column_text(sqlite3_stmt *st, int i, char *out, size_t room)
{
	const unsigned char *text = sqlite3_column_text(st, i);

	snprintf(out, room, "%s", text ? (const char *)text : "");
}

/* ---- opening ------------------------------------------------------------------------ */

static int pragma_number(struct conn *c, const char *text, int64_t *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(c->db, text, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? -EUCLEAN : code_of(rc);
}

/* What an older symfs wrote gets what is new, and loses nothing. */
static int upgrade(struct conn *c)
{
	int64_t version = 0;
	int r;

	r = run(c, Q_BEGIN, "");
	if (r == 0)
		r = pragma_number(c, "PRAGMA user_version", &version);
	if (r == 0 && version == VERSION_3) /* else another process was faster */
		r = code_of(sqlite3_exec(c->db, schema_4, NULL, NULL, NULL));
	if (r == 0)
		r = run(c, Q_COMMIT, "");
	if (!sqlite3_get_autocommit(c->db))
		run(c, Q_ROLLBACK, "");
	return r;
}

/* 0: ours. -ENOENT: nothing was ever written here. -EUCLEAN. */
static int judge(struct conn *c)
{
	int64_t app, version, tables;
	int r;

	r = pragma_number(c, "PRAGMA application_id", &app);
	if (r == 0)
		r = pragma_number(c, "PRAGMA user_version", &version);
	if (r == 0)
		r = pragma_number(c, "SELECT count(*) FROM sqlite_master", &tables);
	if (r < 0)
		return r;
	if (app == 0 && version == 0 && tables == 0)
		return -ENOENT;
	if (app == APPLICATION_ID && version == VERSION_3)
		return upgrade(c);
	return app == APPLICATION_ID && version == VERSION ? 0 : -EUCLEAN;
}

static int index_new(struct index **out, const char *dir)
{
	struct index *ix = calloc(1, sizeof(*ix));

	if (!ix || asprintf(&ix->path, "%s/index.sqlite", dir) < 0) {
		free(ix);
		return -ENOMEM;
	}
	atomic_init(&ix->refs, 1);
	pthread_mutex_init(&ix->lock, NULL);
	*out = ix;
	return 0;
}

struct index *index_ref(struct index *ix)
{
	atomic_fetch_add_explicit(&ix->refs, 1, memory_order_relaxed);
	return ix;
}

void index_unref(struct index *ix)
{
	if (!ix || atomic_fetch_sub_explicit(&ix->refs, 1, memory_order_acq_rel) != 1)
		return;
	while (ix->idle) {
		struct conn *c = ix->idle;

		ix->idle = c->next;
		conn_free(c);
	}
	conn_free(ix->writer);
	pthread_mutex_destroy(&ix->lock);
	free(ix->path);
	free(ix);
}

static int wal_on(struct conn *c)
{
	return code_of(sqlite3_exec(c->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL));
}

int index_open(struct index **out, const char *dir, struct err *e)
{
	_cleanup_index_ struct index *ix = NULL;
	sqlite3_stmt *st;
	struct stat about;
	int r;

	r = index_new(&ix, dir);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	if (lstat(ix->path, &about) < 0)
		return err_set(e, -errno, "%s: %s", ix->path, err_text(errno));
	if (!S_ISREG(about.st_mode))
		return err_set(e, -EINVAL, "%s: is not a plain file", ix->path);
	r = conn_open(&ix->writer, ix->path, false);
	if (r == 0)
		r = judge(ix->writer);
	if (r == 0)
		r = wal_on(ix->writer);
	for (unsigned q = 0; q < QUERIES && r == 0; q++)
		r = statement(ix->writer, q, &st);
	if (r < 0)
		return err_set(e, r, "%s: %s", ix->path,
			r == -EUCLEAN ? "is damaged" : err_text(r));
	*out = take(ix);
	return 0;
}

static int fill_new(struct conn *c, const char *id)
{
	char fresh[17];
	uint8_t raw[8];
	int r;

	if (!id[0]) {
		if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
			return -EIO;
		hex_print(raw, sizeof(raw), fresh);
		id = fresh;
	}
	r = wal_on(c);
	if (r == 0)
		r = run(c, Q_BEGIN, "");
	if (r == 0)
		r = code_of(sqlite3_exec(c->db, schema, NULL, NULL, NULL));
	if (r == 0)
		r = code_of(sqlite3_exec(c->db, schema_4, NULL, NULL, NULL));
	return r == 0 ? run(c, Q_META_SET, "tt", "id", id) : r;
}

int index_make(struct index **out, const char *dir, const char *id, struct err *e)
{
	static const char *const leftovers[] = {"-wal", "-shm", "-journal"};
	_cleanup_index_ struct index *ix = NULL;
	_cleanup_close_ int fd = -1;
	char name[4200];
	int r;

	r = index_new(&ix, dir);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	/* A log whose index is gone must not be played into the next one. */
	for (unsigned i = 0; i < ARRAY_SIZE(leftovers) && is_missing(ix->path); i++) {
		snprintf(name, sizeof(name), "%s%s", ix->path, leftovers[i]);
		unlink(name);
	}
	fd = open(ix->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno != EEXIST)
		return err_set(e, -errno, "%s: cannot be made: %s", ix->path, err_text(errno));
	/* Before SQLite opens it: closing any descriptor of a file drops all its POSIX locks. */
	if (fd >= 0)
		close(take_fd(&fd));
	r = conn_open(&ix->writer, ix->path, false);
	if (r == 0)
		r = fill_new(ix->writer, id);
	if (r < 0)
		return err_set(e, r, "%s: cannot be made: %s", ix->path, err_text(r));
	*out = take(ix);
	return 0;
}

/* ---- readers ------------------------------------------------------------------------ */

static int reader_take(struct index *ix, struct conn **out)
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

static void reader_give(struct index *ix, struct conn *c)
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

/* 0, -EINVAL: the row does not hold a key. */
static int hit_fill(struct index_hit *out, sqlite3_stmt *st)
{
	char text[KEY_TEXT];

	memset(out, 0, sizeof(*out));
	out->object.id = sqlite3_column_int64(st, 0);
	column_text(st, 1, out->object.sha256, sizeof(out->object.sha256));
	out->object.size = (uint64_t)sqlite3_column_int64(st, 2);
	out->used = sqlite3_column_int64(st, 3);
	column_text(st, 4, out->facts.source, sizeof(out->facts.source));
	column_text(st, 5, out->facts.url, sizeof(out->facts.url));
	out->facts.verified = sqlite3_column_int(st, 6) != 0;
	out->facts.fetched = sqlite3_column_int64(st, 7);
	column_text(st, 8, text, sizeof(text));
	return key_parse(&out->key, text);
}

static int find_with(struct conn *c, const char *canon, struct index_hit *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, c, Q_FIND, "t", canon);
	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	return hit_fill(out, rows.st) < 0 ? -EUCLEAN : 0;
}

int index_find(struct index *ix, const char *canon, struct index_hit *out)
{
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = find_with(c, canon, out);
	reader_give(ix, c);
	return r;
}

static int main_key_with(struct conn *c, const char *canon, enum filetype type, struct key *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	char text[KEY_TEXT];
	struct key k;
	int r;

	r = rows_of(&rows, c, Q_SIBLINGS, "t", canon);
	while (r == 0 && (r = row_next(&rows)) > 0) {
		column_text(rows.st, 0, text, sizeof(text));
		if (key_parse(&k, text) == 0 && k.type == type && !key_is_by_debug_id(&k)) {
			*out = k;
			return 0;
		}
		r = 0;
	}
	return r < 0 ? r : -ENOENT;
}

int index_main_key(struct index *ix, const char *canon, enum filetype type, struct key *out)
{
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = main_key_with(c, canon, type, out);
	reader_give(ix, c);
	return r;
}

static int list_with(struct conn *c, int64_t after, struct store_row *out, unsigned n)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	struct index_hit hit;
	unsigned count = 0;
	int r;

	r = rows_of(&rows, c, Q_LIST, "ii", after, (int64_t)n);
	if (r < 0)
		return r;
	while (count < n && (r = row_next(&rows)) > 0) {
		struct store_row *row = &out[count];

		if (hit_fill(&hit, rows.st) < 0)
			return -EUCLEAN;
		row->key = hit.key;
		row->id = sqlite3_column_int64(rows.st, 9);
		row->keep_until = sqlite3_column_int64(rows.st, 10);
		snprintf(row->sha256, sizeof(row->sha256), "%s", hit.object.sha256);
		row->size = hit.object.size;
		row->used = hit.used;
		row->facts = hit.facts;
		count++;
	}
	return r < 0 ? r : (int)count;
}

int index_list(struct index *ix, int64_t after, struct store_row *rows, unsigned n)
{
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = list_with(c, after, rows, n);
	reader_give(ix, c);
	return r;
}

static int miss_until_with(struct conn *c, const char *canon, const char *name,
	const char *source, int64_t *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, c, Q_MISS, "ttt", canon, name, source);
	if (r == 0)
		r = row_next(&rows);
	if (r < 0)
		return r;
	*out = r ? sqlite3_column_int64(rows.st, 0) : 0;
	return 0;
}

int index_miss_until(struct index *ix, const char *canon, const char *name, const char *source,
	int64_t *out)
{
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = miss_until_with(c, canon, name, source, out);
	reader_give(ix, c);
	return r;
}

static void module_fill(struct module *out, sqlite3_stmt *st)
{
	char word[32], id[DEBUG_ID_TEXT];

	memset(out, 0, sizeof(*out));
	column_text(st, 0, word, sizeof(word));
	out->object = object_type_find(word);
	column_text(st, 1, out->code_id, sizeof(out->code_id));
	column_text(st, 2, out->code_file, sizeof(out->code_file));
	column_text(st, 3, id, sizeof(id));
	if (id[0])
		debug_id_parse(&out->debug_id, id, strlen(id));
	column_text(st, 4, out->debug_file, sizeof(out->debug_file));
	column_text(st, 5, out->checksum, sizeof(out->checksum));
}

static int modules_with(struct conn *c, const struct module *like, struct module *out, unsigned n)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	char id[MODULE_ID_TEXT], guid[33];
	unsigned count = 0;
	int r;

	if (like->code_id[0]) {
		r = rows_of(&rows, c, Q_MODULE_BY_CODE, "ti", module_code_text(like, id),
			(int64_t)n);
	} else {
		/* Of .NET the GUID alone is known by. */
		snprintf(guid, sizeof(guid), "%.32s", module_debug_text(like, id));
		r = rows_of(&rows, c, Q_MODULE_BY_DEBUG, "tti", id, guid, (int64_t)n);
	}
	while (r == 0 && count < n && (r = row_next(&rows)) > 0) {
		module_fill(&out[count++], rows.st);
		r = 0;
	}
	return r < 0 ? r : (int)count;
}

int index_modules(struct index *ix, const struct module *like, struct module *out, unsigned n)
{
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = modules_with(c, like, out, n);
	reader_give(ix, c);
	return r;
}

static int misses_with(struct conn *c, int64_t *after, int64_t now, struct store_miss_row *out,
	unsigned n)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	char text[KEY_TEXT];
	unsigned count = 0;
	int r;

	r = rows_of(&rows, c, Q_MISSES_LIST, "iii", *after, now, (int64_t)n);
	if (r < 0)
		return r;
	while (count < n && (r = row_next(&rows)) > 0) {
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
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = misses_with(c, after, now, rows, n);
	reader_give(ix, c);
	return r;
}

static int count_with(struct conn *c, int64_t now, struct store_totals *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, c, Q_COUNT, "i", now);
	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -EUCLEAN;
	out->artifacts = (uint64_t)sqlite3_column_int64(rows.st, 0);
	out->bytes = (uint64_t)sqlite3_column_int64(rows.st, 1);
	out->keys = (uint64_t)sqlite3_column_int64(rows.st, 2);
	out->misses = (uint64_t)sqlite3_column_int64(rows.st, 3);
	out->sparse = (uint64_t)sqlite3_column_int64(rows.st, 4);
	out->sparse_bytes = (uint64_t)sqlite3_column_int64(rows.st, 5);
	return 0;
}

int index_count(struct index *ix, int64_t now, struct store_totals *out)
{
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = count_with(c, now, out);
	reader_give(ix, c);
	return r;
}

static int meta_with(struct conn *c, const char *name, char *out, size_t room)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, c, Q_META, "t", name);
	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	column_text(rows.st, 0, out, room);
	return 0;
}

int index_meta(struct index *ix, const char *name, char *out, size_t room)
{
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = meta_with(c, name, out, room);
	reader_give(ix, c);
	return r;
}

static bool has_moved(struct conn *c)
{
	int moved = 0;

	return sqlite3_file_control(c->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
	       moved;
}

bool index_seems_moved(struct index *ix)
{
	struct conn *c;
	bool moved;

	if (is_missing(ix->path))
		return true;
	if (reader_take(ix, &c) < 0)
		return false;
	moved = has_moved(c);
	reader_give(ix, c);
	return moved;
}

/* ---- listings ----------------------------------------------------------------------- */

struct index_view {
	struct index *ix;
	struct conn *c;
};

int index_view_open(struct index *ix, struct index_view **out)
{
	struct index_view *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return -ENOMEM;
	v->ix = ix;
	r = reader_take(ix, &v->c);
	if (r == 0)
		r = run(v->c, Q_READ, "");
	if (r < 0) {
		index_view_close(v);
		return r;
	}
	*out = v;
	return 0;
}

void index_view_close(struct index_view *v)
{
	if (!v)
		return;
	if (v->c && !sqlite3_get_autocommit(v->c->db))
		run(v->c, Q_ROLLBACK, "");
	if (v->c)
		reader_give(v->ix, v->c);
	free(v);
}

void index_rows_release(struct index_row *rows, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		free(rows[i].text);
		free(rows[i].key);
		rows[i] = (struct index_row){.id = 0};
	}
}

static char *column_copy(sqlite3_stmt *st, int i)
{
	const unsigned char *text = sqlite3_column_text(st, i);

	return strdup(text ? (const char *)text : "");
}

/* Rows of id, place, text or of id, place, key, text. */
static int view_rows(struct rows *from, int r, bool keys, struct index_row *out, unsigned n)
{
	unsigned count = 0;

	while (r == 0 && count < n && (r = row_next(from)) > 0) {
		struct index_row *row = &out[count++];

		row->id = sqlite3_column_int64(from->st, 0);
		column_text(from->st, 1, row->place, sizeof(row->place));
		row->key = keys ? column_copy(from->st, 2) : NULL;
		row->text = column_copy(from->st, keys ? 3 : 2);
		r = row->text && (row->key || !keys) ? 0 : -ENOMEM;
	}
	if (r == 0)
		return (int)count;
	index_rows_release(out, count);
	return r;
}

int index_view_names(struct index_view *v, unsigned class, const char *only, const char *tier,
	int64_t after, struct index_row *out, unsigned n)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r = rows_of(&rows, v->c, only ? Q_NEXT_NAMES_OF_TIER : Q_NEXT_NAMES, "itii",
		(int64_t)class, only ? only : tier, after, (int64_t)n);

	return view_rows(&rows, r, false, out, n);
}

int index_view_stems(struct index_view *v, unsigned class, const struct index_name *name,
	const char *stem, int64_t after, const char *end, struct index_row *out, unsigned n)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r;

	if (name)
		r = rows_of(&rows, v->c, Q_NEXT_STEMS_OF_NAME, "itititi", (int64_t)class, name->tier,
			name->id, stem, after, end, (int64_t)n);
	else
		r = rows_of(&rows, v->c, Q_NEXT_STEMS, "ititi", (int64_t)class, stem, after, end,
			(int64_t)n);
	return view_rows(&rows, r, true, out, n);
}

int index_view_name(struct index_view *v, const char *folded, struct index_name *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r = rows_of(&rows, v->c, Q_NAME_BY_FOLDED, "t", folded);

	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	out->id = sqlite3_column_int64(rows.st, 0);
	column_text(rows.st, 1, out->tier, sizeof(out->tier));
	column_text(rows.st, 2, out->name, sizeof(out->name));
	return 0;
}

int index_view_name_place(struct index_view *v, int64_t id, char tier[static MODULE_NAME_MAX])
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r = rows_of(&rows, v->c, Q_NAME_PLACE, "i", id);

	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	column_text(rows.st, 0, tier, MODULE_NAME_MAX);
	return 0;
}

int index_view_key_place(struct index_view *v, int64_t id, char stem[static KEY_ID_MAX],
	struct key *k)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	char text[KEY_TEXT], name[MODULE_NAME_MAX];
	int r = rows_of(&rows, v->c, Q_KEY_PLACE, "i", id);

	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	column_text(rows.st, 0, stem, KEY_ID_MAX);
	column_text(rows.st, 1, text, sizeof(text));
	column_text(rows.st, 2, name, sizeof(name));
	if (key_parse(k, text) < 0)
		return -EUCLEAN;
	if (name[0])
		snprintf(k->name, sizeof(k->name), "%s", name);
	return 0;
}

/* ---- within a turn ------------------------------------------------------------------ */

bool index_moved(struct index *ix)
{
	return has_moved(ix->writer);
}

int index_begin(struct index *ix)
{
	return run(ix->writer, Q_BEGIN, "");
}

int index_commit(struct index *ix)
{
	int r = run(ix->writer, Q_COMMIT, "");

	if (r < 0)
		index_rollback(ix);
	return r;
}

void index_rollback(struct index *ix)
{
	if (!sqlite3_get_autocommit(ix->writer->db))
		run(ix->writer, Q_ROLLBACK, "");
}

int index_meta_set(struct index *ix, const char *name, const char *value)
{
	return run(ix->writer, Q_META_SET, "tt", name, value);
}

/* The one object that a query answers with. */
static int object_from(struct rows *rows, int r, struct index_object *out)
{
	if (r == 0)
		r = row_next(rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	out->id = sqlite3_column_int64(rows->st, 0);
	column_text(rows->st, 1, out->sha256, sizeof(out->sha256));
	out->size = (uint64_t)sqlite3_column_int64(rows->st, 2);
	return 0;
}

int index_object_find(struct index *ix, const char *sha256, struct index_object *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};

	return object_from(&rows, rows_of(&rows, ix->writer, Q_OBJECT, "t", sha256), out);
}

int index_object_next(struct index *ix, int64_t after, struct index_object *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};

	return object_from(&rows, rows_of(&rows, ix->writer, Q_OBJECT_NEXT, "i", after), out);
}

int index_victim(struct index *ix, int64_t now, int64_t except, struct index_object *out,
	bool *sparse)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r = object_from(&rows, rows_of(&rows, ix->writer, Q_VICTIM, "ii", now, except), out);

	if (r == 0)
		*sparse = sqlite3_column_int(rows.st, 3) != 0;
	return r;
}

int index_object_put(struct index *ix, const char *sha256, uint64_t size, int64_t used, int64_t *id)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, ix->writer, Q_OBJECT_PUT, "tii", sha256, (int64_t)size, used);
	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	*id = sqlite3_column_int64(rows.st, 0);
	return 0;
}

int index_object_drop(struct index *ix, int64_t id)
{
	return run(ix->writer, Q_OBJECT_DROP, "i", id);
}

int index_object_used(struct index *ix, int64_t id, int64_t when)
{
	return run(ix->writer, Q_OBJECT_USED, "ii", when, id);
}

int index_object_keep(struct index *ix, int64_t id, int64_t until)
{
	return run(ix->writer, Q_OBJECT_KEEP, "ii", until, id);
}

int index_bytes(struct index *ix, uint64_t *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int64_t bytes;
	int r;

	r = rows_of(&rows, ix->writer, Q_BYTES, "");
	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -EUCLEAN;
	bytes = sqlite3_column_int64(rows.st, 0);
	*out = bytes > 0 ? (uint64_t)bytes : 0;
	return 0;
}

int index_key_find(struct index *ix, const char *canon, struct index_hit *out)
{
	return find_with(ix->writer, canon, out);
}

static int name_put(struct index *ix, const struct key *k, const char *folded)
{
	size_t n = layout_tier(folded);
	char tier[MODULE_NAME_MAX];

	snprintf(tier, sizeof(tier), "%.*s", (int)n, folded);
	return run(ix->writer, Q_NAME_PUT, "ttt", folded, k->name, tier);
}

static int key_new(struct index *ix, const struct key *k, const char *canon, int64_t object,
	const struct blob_facts *facts)
{
	char text[KEY_TEXT], stem[KEY_ID_MAX], folded[MODULE_NAME_MAX];
	int r = 0;

	key_folded(k, folded);
	if (folded[0])
		r = name_put(ix, k, folded);
	return r < 0 ? r
		     : run(ix->writer, Q_KEY_NEW, "ttittiiitt", canon, key_text(k, text), object,
			       facts->source, facts->url, (int64_t)facts->verified, facts->fetched,
			       (int64_t)key_class(k), key_stem(k, stem), folded);
}

int index_key_put(struct index *ix, const struct key *k, int64_t object,
	const struct blob_facts *facts)
{
	char canon[KEY_TEXT];
	int r;

	key_canon(k, canon);
	r = run(ix->writer, Q_KEY_PUT, "ittiit", object, facts->source, facts->url,
		(int64_t)facts->verified, facts->fetched, canon);
	return r == 0 && !sqlite3_changes(ix->writer->db) ? key_new(ix, k, canon, object, facts) : r;
}

int index_key_drop(struct index *ix, const char *canon)
{
	return run(ix->writer, Q_KEY_DROP, "t", canon);
}

int index_keys_of(struct index *ix, int64_t object,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	struct blob_facts facts;
	char text[KEY_TEXT];
	struct key k;
	int r;

	r = rows_of(&rows, ix->writer, Q_KEYS_OF, "i", object);
	while (r == 0 && (r = row_next(&rows)) > 0) {
		memset(&facts, 0, sizeof(facts));
		column_text(rows.st, 0, text, sizeof(text));
		column_text(rows.st, 1, facts.source, sizeof(facts.source));
		column_text(rows.st, 2, facts.url, sizeof(facts.url));
		facts.verified = sqlite3_column_int(rows.st, 3) != 0;
		facts.fetched = sqlite3_column_int64(rows.st, 4);
		r = key_parse(&k, text) < 0 ? -EUCLEAN : each(ctx, &k, &facts);
		if (r != 0)
			return r;
	}
	return r;
}

int index_intent_add(struct index *ix, const char *sha256, bool gone)
{
	return run(ix->writer, Q_INTENT_ADD, "ti", sha256, (int64_t)gone);
}

int index_intent_next(struct index *ix, char sha256[static SHA256_TEXT], bool *gone)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, ix->writer, Q_INTENT_NEXT, "");
	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	column_text(rows.st, 0, sha256, SHA256_TEXT);
	*gone = sqlite3_column_int(rows.st, 1) != 0;
	return 0;
}

int index_intent_done(struct index *ix, const char *sha256)
{
	return run(ix->writer, Q_INTENT_DONE, "t", sha256);
}

int index_module_put(struct index *ix, int64_t object, const struct module *m)
{
	char code[MODULE_ID_TEXT], debug[MODULE_ID_TEXT], id[DEBUG_ID_TEXT];

	return run(ix->writer, Q_MODULE_PUT, "itttttttt", object, object_type_name(m->object),
		module_code_text(m, code), module_debug_text(m, debug), m->code_id, m->code_file,
		debug_id_breakpad(&m->debug_id, id), m->debug_file, m->checksum);
}

int index_module_of(struct index *ix, int64_t object, struct module *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, ix->writer, Q_MODULE_OF, "i", object);
	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	module_fill(out, rows.st);
	return 0;
}

int index_miss_put(struct index *ix, const struct key *k, const char *name, const char *source,
	int64_t since, int64_t until, const char *reason)
{
	char canon[KEY_TEXT], text[KEY_TEXT];

	return run(ix->writer, Q_MISS_PUT, "ttttiit", key_canon(k, canon), key_text(k, text), name,
		source, since, until, reason);
}

int index_miss_asked(struct index *ix, const char *canon, int64_t times)
{
	return run(ix->writer, Q_MISS_ASKED, "it", times, canon);
}

int index_misses_expire(struct index *ix, int64_t now)
{
	return run(ix->writer, Q_MISSES_EXPIRE, "i", now);
}

int index_misses_drop(struct index *ix, const char *canon)
{
	int r = canon ? run(ix->writer, Q_MISSES_DROP, "t", canon)
		      : run(ix->writer, Q_MISSES_DROP_ALL, "");

	return r < 0 ? r : sqlite3_changes(ix->writer->db);
}

int index_try_used(struct index *ix, const int64_t *objects, unsigned n, int64_t when)
{
	struct conn *c = ix->writer;
	int r;

	/* Neither another process nor the syncs of a checkpoint may hold a reader up. */
	sqlite3_busy_timeout(c->db, 0);
	sqlite3_wal_autocheckpoint(c->db, 0);
	r = index_begin(ix);
	for (unsigned i = 0; i < n && r == 0; i++)
		r = index_object_used(ix, objects[i], when);
	if (r == 0)
		r = index_commit(ix);
	else
		index_rollback(ix);
	sqlite3_wal_autocheckpoint(c->db, LOG_PAGES);
	sqlite3_busy_timeout(c->db, BUSY_MS);
	return r;
}

/* ---- files with holes ----------------------------------------------------------------- */

static int sparse_fill(struct store_sparse_row *out, sqlite3_stmt *st)
{
	char text[KEY_TEXT];

	memset(out, 0, sizeof(*out));
	out->id = sqlite3_column_int64(st, 0);
	column_text(st, 1, out->name, sizeof(out->name));
	column_text(st, 2, text, sizeof(text));
	out->validator.size = (uint64_t)sqlite3_column_int64(st, 3);
	column_text(st, 4, out->validator.source, sizeof(out->validator.source));
	column_text(st, 5, out->validator.etag, sizeof(out->validator.etag));
	column_text(st, 6, out->validator.last_modified, sizeof(out->validator.last_modified));
	column_text(st, 7, out->url, sizeof(out->url));
	out->present = (uint64_t)sqlite3_column_int64(st, 8);
	out->allocated = (uint64_t)sqlite3_column_int64(st, 9);
	out->used = sqlite3_column_int64(st, 10);
	out->since = sqlite3_column_int64(st, 11);
	out->keep_until = sqlite3_column_int64(st, 12);
	return key_parse(&out->key, text) < 0 ? -EUCLEAN : 0;
}

static int sparse_with(struct conn *c, enum query q, const char *text, struct store_sparse_row *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r = rows_of(&rows, c, q, "t", text);

	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	return sparse_fill(out, rows.st);
}

static int sparse_taken(struct index *ix, enum query q, const char *text, struct store_sparse_row *out)
{
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = sparse_with(c, q, text, out);
	reader_give(ix, c);
	return r;
}

int index_sparse_find(struct index *ix, const char *canon, struct store_sparse_row *out)
{
	return sparse_taken(ix, Q_SPARSE, canon, out);
}

int index_sparse_find_name(struct index *ix, const char *name, struct store_sparse_row *out)
{
	return sparse_taken(ix, Q_SPARSE_NAME, name, out);
}

static int sparse_list_with(struct conn *c, int64_t after, struct store_sparse_row *out, unsigned n)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	unsigned count = 0;
	int r;

	r = rows_of(&rows, c, Q_SPARSE_LIST, "ii", after, (int64_t)n);
	while (r == 0 && count < n && (r = row_next(&rows)) > 0)
		r = sparse_fill(&out[count++], rows.st);
	return r < 0 ? r : (int)count;
}

int index_sparse_list(struct index *ix, int64_t after, struct store_sparse_row *out, unsigned n)
{
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = sparse_list_with(c, after, out, n);
	reader_give(ix, c);
	return r;
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

static int parts_with(struct conn *c, const char *name, int64_t after, struct index_part *out,
	unsigned n)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	unsigned count = 0;
	int r;

	r = rows_of(&rows, c, Q_SPARSE_PARTS, "tii", name, after, (int64_t)n);
	while (r == 0 && count < n && (r = row_next(&rows)) > 0)
		r = part_fill(&out[count++], rows.st);
	return r < 0 ? r : (int)count;
}

int index_sparse_parts(struct index *ix, const char *name, int64_t after, struct index_part *out,
	unsigned n)
{
	struct conn *c;
	int r;

	r = reader_take(ix, &c);
	if (r < 0)
		return r;
	r = parts_with(c, name, after, out, n);
	reader_give(ix, c);
	return r;
}

int index_sparse_get(struct index *ix, const char *canon, struct store_sparse_row *out)
{
	return sparse_with(ix->writer, Q_SPARSE, canon, out);
}

int index_sparse_get_name(struct index *ix, const char *name, struct store_sparse_row *out)
{
	return sparse_with(ix->writer, Q_SPARSE_NAME, name, out);
}

int index_sparse_next(struct index *ix, int64_t after, struct store_sparse_row *out)
{
	int n = sparse_list_with(ix->writer, after, out, 1);

	return n == 0 ? -ENOENT : MIN(n, 0);
}

int index_sparse_put(struct index *ix, const struct store_sparse_row *row)
{
	char canon[KEY_TEXT], text[KEY_TEXT];
	const struct sparse_validator *v = &row->validator;

	return run(ix->writer, Q_SPARSE_PUT, "tttittttii", row->name, key_canon(&row->key, canon),
		key_text(&row->key, text), (int64_t)v->size, v->source, v->etag, v->last_modified,
		row->url, row->since, row->used);
}

int index_sparse_drop(struct index *ix, const char *name)
{
	return run(ix->writer, Q_SPARSE_DROP, "t", name);
}

int index_sparse_used(struct index *ix, const char *name, int64_t when)
{
	return run(ix->writer, Q_SPARSE_USED, "it", when, name);
}

int index_sparse_keep(struct index *ix, const char *name, int64_t until)
{
	return run(ix->writer, Q_SPARSE_KEEP, "it", until, name);
}

int index_sparse_grew(struct index *ix, const char *name, uint64_t present, uint64_t bytes,
	int64_t when)
{
	return run(ix->writer, Q_SPARSE_GREW, "iiit", (int64_t)present, (int64_t)bytes, when, name);
}

int index_sparse_part(struct index *ix, const char *name, int64_t part, struct index_part *out)
{
	_cleanup_(cleanup_rows) struct rows rows = {NULL};
	int r = rows_of(&rows, ix->writer, Q_SPARSE_PART, "ti", name, part);

	if (r == 0)
		r = row_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	return part_fill(out, rows.st);
}

int index_sparse_part_put(struct index *ix, const char *name, const struct index_part *p)
{
	return run(ix->writer, Q_SPARSE_PART_PUT, "ibbt", p->part, p->bits, sizeof(p->bits), p->sums,
		sizeof(p->sums), name);
}
