/* The index: checks its version, and upgrades an older index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index/private.h"

#include <string.h>

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

struct old_key {
	int64_t id;
	char key[KEY_TEXT], canon[KEY_TEXT];
};

/* The next key that ends with an all-zero id. Since version 5 a name follows such an id. 1: found; 0: no more;
 * -errno. */
static int next_old(struct conn *c, struct old_key *k)
{
	static const char text[] = "SELECT id, key, canon FROM keys WHERE id > ?"
				   " AND rtrim(canon, '0') LIKE '% ' ORDER BY id LIMIT 1";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(c->db, text, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 1, k->id);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		k->id = sqlite3_column_int64(st, 0);
		column_text(st, 1, k->key, sizeof(k->key));
		column_text(st, 2, k->canon, sizeof(k->canon));
	}
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : conn_code(rc);
}

/* Renames a key. A key without a name is dropped, and so is a key whose file was downloaded again since. */
static int rename_old(struct conn *c, const struct old_key *old)
{
	static const char *const texts[] = {"UPDATE OR IGNORE keys SET canon = ? WHERE canon = ?",
		"DELETE FROM keys WHERE ?1 <> ?2 AND canon = ?2"};
	char canon[KEY_TEXT] = "";
	sqlite3_stmt *st;
	int rc = SQLITE_OK;
	struct key k;
	bool keeps = key_parse(&k, old->key) == 0;

	if (keeps)
		key_canon(&k, canon);
	for (unsigned i = keeps ? 0 : 1; rc == SQLITE_OK && i < ARRAY_SIZE(texts); i++) {
		st = NULL;
		rc = sqlite3_prepare_v2(c->db, texts[i], -1, &st, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_bind_text(st, 1, canon, -1, SQLITE_STATIC);
		if (rc == SQLITE_OK)
			rc = sqlite3_bind_text(st, 2, old->canon, -1, SQLITE_STATIC);
		if (rc == SQLITE_OK && sqlite3_step(st) != SQLITE_DONE)
			rc = sqlite3_errcode(c->db);
		sqlite3_finalize(st);
	}
	return conn_code(rc);
}

/* Renames the keys of version 4 whose text differs in version 5. The caller has begun a transaction. */
static int upgrade_keys(struct conn *c)
{
	struct old_key old = {.id = 0};
	int r;

	while ((r = next_old(c, &old)) > 0) {
		r = rename_old(c, &old);
		if (r < 0)
			return r;
	}
	/* Misses of such keys are dropped; the next request asks the sources again. */
	return r < 0 ? r
		     : conn_code(sqlite3_exec(c->db, "DELETE FROM misses WHERE rtrim(canon, '0') LIKE '% '", NULL,
			       NULL, NULL));
}

/* Upgrades an older index in place: adds tables and columns, and renames keys. Files and uses stay; some misses
 * are dropped, so their files are requested again. */
static int upgrade(struct conn *c)
{
	int64_t version = 0;
	int r;

	r = conn_run(c, Q_BEGIN, "");
	/* Reads the version again, because another process may have upgraded the index meanwhile. */
	if (r == 0)
		r = pragma_number(c, "PRAGMA user_version", &version);
	if (r == 0 && version == INDEX_VERSION_3)
		r = conn_code(sqlite3_exec(c->db, index_schema_4, NULL, NULL, NULL));
	if (r == 0 && version < INDEX_VERSION_5)
		r = upgrade_keys(c);
	if (r == 0 && version < INDEX_VERSION_6)
		r = conn_code(sqlite3_exec(c->db, index_schema_6, NULL, NULL, NULL));
	if (r == 0 && version < INDEX_VERSION_7)
		r = conn_code(sqlite3_exec(c->db, index_schema_7, NULL, NULL, NULL));
	if (r == 0 && version < INDEX_VERSION_8)
		r = conn_code(sqlite3_exec(c->db, index_schema_8, NULL, NULL, NULL));
	if (r == 0 && version < INDEX_VERSION)
		r = conn_code(sqlite3_exec(c->db, index_schema_9, NULL, NULL, NULL));
	if (r == 0)
		r = conn_run(c, Q_COMMIT, "");
	if (!sqlite3_get_autocommit(c->db))
		conn_run(c, Q_ROLLBACK, "");
	return r;
}

int conn_check_version(struct conn *c)
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
	if (app == INDEX_APPLICATION && version >= INDEX_VERSION_3 && version < INDEX_VERSION)
		return upgrade(c);
	return app == INDEX_APPLICATION && version == INDEX_VERSION ? 0 : -EUCLEAN;
}
