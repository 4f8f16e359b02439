/* The index: opening, readers and transactions; the tables have files of their own. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "store/index/private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int pragma_number(struct conn *c, const char *text, int64_t *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(c->db, text, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? -EUCLEAN : conn_code(rc);
}

/* 0; -ENOENT: nothing was ever written there; -EUCLEAN: it is not an index of this version. */
static int conn_check_version(struct conn *c)
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
	return app == INDEX_APPLICATION && version == INDEX_VERSION ? 0 : -EUCLEAN;
}

/* ---- opening ------------------------------------------------------------------------ */

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

static void recent_end(struct index *ix)
{
	for (unsigned i = 0; i < RECENT_MOST; i++)
		free(ix->recent[i].texts);
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
	recent_end(ix);
	pthread_mutex_destroy(&ix->lock);
	free(ix->path);
	free(ix);
}

static int wal_on(struct conn *c)
{
	return conn_code(sqlite3_exec(c->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL));
}

#define SHM_REGION 32768 /* bytes of the WAL's index that SQLite maps at once */

/* Each commit of any process changes the head of the WAL's index (sqlite.org/walformat.html, 2.1), which SQLite keeps
 * mapped as long as the connection of the writer is open. */
static void recent_begin(struct index *ix)
{
	void volatile *p = NULL;
	sqlite3_file *f = NULL;

	if (sqlite3_file_control(ix->writer->db, "main", SQLITE_FCNTL_FILE_POINTER, &f) == SQLITE_OK && f &&
		f->pMethods && f->pMethods->iVersion >= 2 &&
		f->pMethods->xShmMap(f, 0, SHM_REGION, 0, &p) == SQLITE_OK)
		ix->wal_head = (const uint64_t *)p;
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
	if (!S_ISREG(about.st_mode)) /* a link is the user's own; anything else is set aside as damaged */
		return err_set(e, S_ISLNK(about.st_mode) ? -EINVAL : -EUCLEAN, "%s: is not a regular file", ix->path);
	if (faccessat(AT_FDCWD, ix->path, R_OK | W_OK, AT_EACCESS) < 0 && errno == EACCES)
		return err_set(e, -EIO, "%s: %s; chmod u+rw it, or remove it: it is then made anew", ix->path,
			err_text(errno));
	r = conn_open(&ix->writer, ix->path, false);
	if (r == 0)
		r = conn_check_version(ix->writer);
	if (r == 0)
		r = wal_on(ix->writer);
	for (unsigned q = 0; q < Q_OUTBOX && r == 0; q++)
		r = conn_statement(ix->writer, q, &st);
	if (r < 0)
		return err_set(e, r, "%s: %s", ix->path,
			r == -EUCLEAN ? "is damaged" : err_text(r));
	recent_begin(ix);
	*out = take(ix);
	return 0;
}

/* Makes an empty database in WAL mode under another name, and renames it. A rollback journal at the index's own path
 * would be rolled back, and removed, by a process that still opens the index that was set aside. 0, -errno. */
static int make_empty(const char *path)
{
	_cleanup_free_ char *fresh = NULL;
	_cleanup_close_ int fd = -1;
	struct conn *c = NULL;
	int r;

	if (asprintf(&fresh, "%s.new", path) < 0)
		return -ENOMEM;
	unlink(fresh);
	fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	/* Close before SQLite opens the file: closing any descriptor of a file drops all its POSIX locks. */
	close(take_fd(&fd));
	r = conn_open(&c, fresh, false);
	if (r == 0)
		r = wal_on(c);
	conn_free(c);
	return r == 0 && rename(fresh, path) < 0 ? -errno : r;
}

static int fill_new(struct conn *c, const char *id)
{
	char fresh[17];
	int r;

	if (!id[0] && hex_random(8, fresh) < 0)
		return -EIO;
	id = id[0] ? id : fresh;
	r = conn_run(c, Q_BEGIN, "");
	if (r == 0)
		r = conn_code(sqlite3_exec(c->db, index_schema, NULL, NULL, NULL));
	return r == 0 ? conn_run(c, Q_META_SET, "tt", "id", id) : r;
}

int index_make(struct index **out, const char *dir, const char *id, struct err *e)
{
	static const char *const leftovers[] = {"-wal", "-shm", "-journal"};
	_cleanup_index_ struct index *ix = NULL;
	char name[4200];
	int r;

	r = index_new(&ix, dir);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	/* A leftover write-ahead log must not be replayed into a new index. */
	for (unsigned i = 0; i < ARRAY_SIZE(leftovers); i++) {
		snprintf(name, sizeof(name), "%s%s", ix->path, leftovers[i]);
		unlink(name);
	}
	r = make_empty(ix->path);
	if (r == 0)
		r = conn_open(&ix->writer, ix->path, false);
	if (r == 0)
		r = fill_new(ix->writer, id);
	if (r < 0)
		return err_set(e, r, "%s: cannot be made: %s", ix->path, err_text(r));
	recent_begin(ix);
	*out = take(ix);
	return 0;
}

/* ---- readers ------------------------------------------------------------------------ */

int index_count(struct index *ix, int64_t now, struct store_totals *out)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	int r = row_of(&rows, Q_COUNT, "i", now);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	out->artifacts = (uint64_t)sqlite3_column_int64(rows.st, 0);
	out->bytes = (uint64_t)sqlite3_column_int64(rows.st, 1);
	out->keys = (uint64_t)sqlite3_column_int64(rows.st, 2);
	out->misses = (uint64_t)sqlite3_column_int64(rows.st, 3);
	out->sparse = (uint64_t)sqlite3_column_int64(rows.st, 4);
	out->sparse_bytes = (uint64_t)sqlite3_column_int64(rows.st, 5);
	out->pinned = (uint64_t)sqlite3_column_int64(rows.st, 6);
	out->pinned_bytes = (uint64_t)sqlite3_column_int64(rows.st, 7);
	return 0;
}

int index_meta(struct index *ix, const char *name, char *out, size_t room)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	int r = row_of(&rows, Q_META, "t", name);

	if (r == 0)
		column_text(rows.st, 0, out, room);
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

	if (conn_path_missing(ix->path))
		return true;
	if (conn_take(ix, &c) < 0)
		return false;
	moved = has_moved(c);
	conn_give(ix, c);
	return moved;
}

/* ---- with the write lock ------------------------------------------------------------- */

bool index_moved(struct index *ix)
{
	return has_moved(ix->writer);
}

int index_begin(struct index *ix)
{
	return conn_run(ix->writer, Q_BEGIN, "");
}

int index_commit(struct index *ix)
{
	int r = conn_run(ix->writer, Q_COMMIT, "");

	if (r < 0)
		index_rollback(ix);
	return r;
}

void index_rollback(struct index *ix)
{
	if (!sqlite3_get_autocommit(ix->writer->db))
		conn_run(ix->writer, Q_ROLLBACK, "");
}

int index_end(struct index *ix, int r)
{
	if (r == 0)
		return index_commit(ix);
	index_rollback(ix);
	return r;
}

int index_meta_set(struct index *ix, const char *name, const char *value)
{
	return conn_run(ix->writer, Q_META_SET, "tt", name, value);
}

/* Reads the sum of a query's only row, of which `r` is the result. */
static int one_sum(struct rows *rows, int r, uint64_t *out)
{
	int64_t bytes;

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	bytes = sqlite3_column_int64(rows->st, 0);
	*out = (uint64_t)MAX(bytes, 0);
	return 0;
}

int index_bytes(struct index *ix, uint64_t *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);

	return one_sum(&rows, row_of(&rows, Q_BYTES, ""), out);
}

int index_kept_bytes(struct index *ix, int64_t now, uint64_t *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);

	return one_sum(&rows, row_of(&rows, Q_KEPT, "i", now), out);
}

int index_try_used(struct index *ix, const int64_t *objects, unsigned n, int64_t when, int64_t past)
{
	struct conn *c = ix->writer;
	int r;

	/* A reader must not wait for another process, nor for the syncs of a checkpoint. */
	sqlite3_busy_timeout(c->db, 0);
	sqlite3_wal_autocheckpoint(c->db, 0);
	r = index_begin(ix);
	for (unsigned i = 0; i < n && r == 0; i++)
		r = index_object_used(ix, objects[i], when, past);
	r = index_end(ix, r);
	sqlite3_wal_autocheckpoint(c->db, LOG_PAGES);
	sqlite3_busy_timeout(c->db, BUSY_MS);
	return r;
}
