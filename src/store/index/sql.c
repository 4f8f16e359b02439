/* The index: its tables, and every query. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index/private.h"

#define GONE_MOST 10000
#define TOMBS_MOST 100000
#define PINNED "9223372036854775807" /* keep_until of a pinned object: INT64_MAX */

const char index_schema[] =
	"CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	/* `worth`: as text; "": the file was not looked at. `class`, `age`, `ends` (0: it does not expire) and
	 * `labels` are the hold of a pinned object (hold.h). */
	"CREATE TABLE objects(id INTEGER PRIMARY KEY AUTOINCREMENT, sha256 TEXT NOT NULL UNIQUE,"
	" size INTEGER NOT NULL, used INTEGER NOT NULL, keep_until INTEGER NOT NULL DEFAULT 0,"
	" worth TEXT NOT NULL DEFAULT '', class TEXT NOT NULL DEFAULT '', age INTEGER NOT NULL DEFAULT 0,"
	" ends INTEGER NOT NULL DEFAULT 0, labels TEXT NOT NULL DEFAULT '');"
	/* Eviction uses the first index, and so never reads pinned objects; index_kept_bytes() the next two. */
	"CREATE INDEX objects_used ON objects(used) WHERE keep_until < " PINNED ";"
	"CREATE INDEX objects_pinned ON objects(size) WHERE keep_until = " PINNED ";"
	"CREATE INDEX objects_kept ON objects(keep_until, size) WHERE keep_until > 0 AND keep_until < " PINNED ";"
	"CREATE INDEX objects_ends ON objects(ends) WHERE ends > 0;"
	/* `generation`: how often another file took the key. `modified`: the time of the file at its origin; 0:
	 * unknown. */
	"CREATE TABLE keys(id INTEGER PRIMARY KEY AUTOINCREMENT, canon TEXT NOT NULL UNIQUE,"
	" key TEXT NOT NULL, object_id INTEGER NOT NULL REFERENCES objects(id) ON DELETE CASCADE,"
	" source TEXT NOT NULL, url TEXT NOT NULL, verified INTEGER NOT NULL,"
	" fetched INTEGER NOT NULL, class INTEGER NOT NULL, stem TEXT NOT NULL, tier TEXT,"
	" name_id INTEGER, generation INTEGER NOT NULL DEFAULT 0, modified INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX keys_object ON keys(object_id);"
	/* Listings use these indexes. */
	"CREATE INDEX keys_stem ON keys(class, stem);"
	"CREATE INDEX keys_name ON keys(class, tier, name_id, stem) WHERE name_id IS NOT NULL;"
	/* File names as first given; names that differ only in case share a row. `keys` counts the keys of a
	 * name. */
	"CREATE TABLE names(id INTEGER PRIMARY KEY AUTOINCREMENT, folded TEXT NOT NULL UNIQUE,"
	" name TEXT NOT NULL, tier TEXT NOT NULL, keys INTEGER NOT NULL);"
	/* The places of the last dropped names and keys, so that a listing can continue from there. */
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
	/* The module that a file describes, for requests with fewer ids. `code` and `debug` are the ids
	 * as lookups spell them. A row is dropped with its file. So the claims of a bad file end with the
	 * file, and the table never has more rows than `objects`. */
	"CREATE TABLE modules(object_id INTEGER PRIMARY KEY REFERENCES objects(id)"
	" ON DELETE CASCADE, kind TEXT NOT NULL, code TEXT NOT NULL, debug TEXT NOT NULL,"
	" code_id TEXT NOT NULL, code_file TEXT NOT NULL, debug_id TEXT NOT NULL,"
	" debug_file TEXT NOT NULL, checksum TEXT NOT NULL);"
	"CREATE INDEX modules_code ON modules(code) WHERE code <> '';"
	"CREATE INDEX modules_debug ON modules(debug) WHERE debug <> '';"
	/* `name`: the file name in the request, if the source's path has a file name that is not part of
	 * the key; else "". */
	"CREATE TABLE misses(id INTEGER PRIMARY KEY AUTOINCREMENT, canon TEXT NOT NULL,"
	" key TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, since INTEGER NOT NULL,"
	" until INTEGER NOT NULL, reason TEXT NOT NULL, asked INTEGER NOT NULL DEFAULT 1,"
	" UNIQUE(canon, name, source));"
	"CREATE INDEX misses_until ON misses(until);"
	/* Files that a process was about to change. */
	"CREATE TABLE intents(sha256 TEXT PRIMARY KEY, gone INTEGER NOT NULL) WITHOUT ROWID;"
	/* Totals that every publish reads. */
	"CREATE TABLE totals(artifacts INTEGER NOT NULL, bytes INTEGER NOT NULL,"
	" sparse INTEGER NOT NULL, sparse_bytes INTEGER NOT NULL);"
	"INSERT INTO totals VALUES(0, 0, 0, 0);"
	"CREATE TRIGGER objects_in AFTER INSERT ON objects BEGIN"
	" UPDATE totals SET artifacts = artifacts + 1, bytes = bytes + new.size; END;"
	"CREATE TRIGGER objects_out AFTER DELETE ON objects BEGIN"
	" UPDATE totals SET artifacts = artifacts - 1, bytes = bytes - old.size; END;"
	"CREATE TRIGGER objects_size AFTER UPDATE OF size ON objects BEGIN"
	" UPDATE totals SET bytes = bytes + new.size - old.size; END;"
	/* Sparse files. `bytes`: the size on disk. */
	"CREATE TABLE sparse(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,"
	" canon TEXT NOT NULL UNIQUE, key TEXT NOT NULL, size INTEGER NOT NULL,"
	" source TEXT NOT NULL, etag TEXT NOT NULL, modified TEXT NOT NULL, url TEXT NOT NULL,"
	" present INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,"
	" since INTEGER NOT NULL, used INTEGER NOT NULL);"
	"CREATE INDEX sparse_used ON sparse(used);"
	/* The blocks of a part of a sparse file: for each block a bit and a checksum of four bytes. */
	"CREATE TABLE sparse_parts(sparse_id INTEGER NOT NULL REFERENCES sparse(id)"
	" ON DELETE CASCADE, part INTEGER NOT NULL, bits BLOB NOT NULL, sums BLOB NOT NULL,"
	" UNIQUE(sparse_id, part));"
	"CREATE TRIGGER sparse_in AFTER INSERT ON sparse BEGIN"
	" UPDATE totals SET sparse = sparse + 1, sparse_bytes = sparse_bytes + new.bytes; END;"
	"CREATE TRIGGER sparse_out AFTER DELETE ON sparse BEGIN"
	" UPDATE totals SET sparse = sparse - 1, sparse_bytes = sparse_bytes - old.bytes; END;"
	"CREATE TRIGGER sparse_grows AFTER UPDATE OF bytes ON sparse BEGIN"
	" UPDATE totals SET sparse_bytes = sparse_bytes + new.bytes - old.bytes; END;"
	/* Keys whose file expired or was purged, and why. `expired` 0: purged. */
	"CREATE TABLE tombs(id INTEGER PRIMARY KEY AUTOINCREMENT, canon TEXT NOT NULL UNIQUE,"
	" key TEXT NOT NULL, ended INTEGER NOT NULL, why TEXT NOT NULL, expired INTEGER NOT NULL DEFAULT 0);"
	"CREATE TRIGGER tombs_in AFTER INSERT ON tombs BEGIN"
	" DELETE FROM tombs WHERE id <= new.id - " TEXT_OF(TOMBS_MOST) "; END;"
	/* Keys whose file expired or was purged here, and that the bucket does not know of. Only in a store
	 * that has a bucket. `due`: when the server asks the bucket to remove the key. */
	"CREATE TABLE outgone(canon TEXT PRIMARY KEY, ended INTEGER NOT NULL, expired INTEGER NOT NULL,"
	" due INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TRIGGER outgone_new AFTER INSERT ON tombs"
	" WHEN EXISTS(SELECT 1 FROM meta WHERE name = 'bucket') BEGIN"
	" INSERT OR REPLACE INTO outgone VALUES(new.canon, new.ended, new.expired, 0); END;"
	/* A file that is read from the bucket in the meantime does not cancel the removal. */
	"CREATE TRIGGER outgone_back AFTER INSERT ON keys WHEN new.source <> 'bucket' BEGIN"
	" DELETE FROM outgone WHERE canon = new.canon; END;"
	"CREATE TRIGGER outgone_again AFTER UPDATE OF source ON keys WHEN new.source <> 'bucket' BEGIN"
	" DELETE FROM outgone WHERE canon = new.canon; END;"
	"PRAGMA application_id = " TEXT_OF(INDEX_APPLICATION) "; PRAGMA user_version = " TEXT_OF(INDEX_VERSION) ";";

#define OUTBOX_KEEP "3600" /* seconds for which a queued file is not evicted; renewed by Q_OUTBOX_KEEP */
#define OUTBOX_NOW "CAST(strftime('%s', 'now') AS INTEGER)"
#define OUTBOX_ROW(object)                                                                         \
	"INSERT INTO outbox(object_id, since, kept) VALUES(" #object ", " OUTBOX_NOW ", " OUTBOX_NOW      \
	" + " OUTBOX_KEEP ") ON CONFLICT(object_id) DO UPDATE SET change = change + 1, next = 0;"
#define OUTBOX_ADD                                                                                 \
	" BEGIN " OUTBOX_ROW(new.object_id)                                                         \
	" UPDATE objects SET keep_until = max(keep_until, (SELECT kept FROM outbox"                     \
	"  WHERE object_id = new.object_id)) WHERE id = new.object_id; END;"

/* Made when a store gets a bucket; an index may lack it. The triggers queue a file in the transaction
 * that publishes it, whichever process does that. */
const char index_schema_outbox[] =
	"CREATE TABLE IF NOT EXISTS outbox(object_id INTEGER PRIMARY KEY REFERENCES objects(id)"
	" ON DELETE CASCADE, change INTEGER NOT NULL DEFAULT 0, since INTEGER NOT NULL,"
	" next INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0, kept INTEGER NOT NULL);"
	"CREATE TRIGGER IF NOT EXISTS outbox_new AFTER INSERT ON keys WHEN new.source <> 'bucket'" OUTBOX_ADD
	"CREATE TRIGGER IF NOT EXISTS outbox_change AFTER UPDATE OF object_id ON keys"
	" WHEN new.source <> 'bucket' AND new.object_id <> old.object_id" OUTBOX_ADD
	/* Files that leave the store before the bucket has them. */
	"CREATE TRIGGER IF NOT EXISTS outbox_lost BEFORE DELETE ON objects"
	" WHEN EXISTS(SELECT 1 FROM outbox WHERE object_id = old.id) BEGIN"
	" INSERT INTO meta VALUES('outbox-lost', '1') ON CONFLICT(name) DO UPDATE SET value = value + 1; END;"
	/* The bucket has the end of a hold, so a later end is uploaded, too. */
	"CREATE TRIGGER IF NOT EXISTS outbox_held AFTER UPDATE OF keep_until, ends ON objects"
	" WHEN new.keep_until = " PINNED " AND EXISTS(SELECT 1 FROM keys WHERE object_id = new.id)"
	" AND (old.keep_until < " PINNED " OR (old.ends > 0 AND (new.ends = 0 OR new.ends > old.ends)))"
	" BEGIN " OUTBOX_ROW(new.id) " END;"
	/* It also has that the file is one of `symfs add` now, which has no class. */
	"CREATE TRIGGER IF NOT EXISTS outbox_added AFTER UPDATE OF class ON objects"
	" WHEN new.keep_until = " PINNED " AND new.class = '' AND old.class <> ''"
	" AND EXISTS(SELECT 1 FROM keys WHERE object_id = new.id) BEGIN " OUTBOX_ROW(new.id) " END;"
	/* Uses of files that another server may hold. `told`: the last use of which the bucket was told, or is to be
	 * told (`due`). */
	"CREATE TABLE IF NOT EXISTS bucket_uses(object_id INTEGER PRIMARY KEY REFERENCES objects(id)"
	" ON DELETE CASCADE, told INTEGER NOT NULL, due INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX IF NOT EXISTS bucket_uses_due ON bucket_uses(object_id) WHERE due = 1;"
	"CREATE TRIGGER IF NOT EXISTS bucket_uses_new AFTER INSERT ON keys BEGIN"
	" INSERT INTO bucket_uses VALUES(new.object_id, " OUTBOX_NOW ", new.source = 'bucket')"
	" ON CONFLICT(object_id) DO NOTHING; END;"
	"CREATE TRIGGER IF NOT EXISTS bucket_uses_again AFTER UPDATE OF used ON objects"
	" WHEN new.used > old.used AND new.keep_until < " PINNED " BEGIN"
	" INSERT INTO bucket_uses VALUES(new.id, new.used, 1) ON CONFLICT(object_id) DO UPDATE SET"
	" told = excluded.told, due = 1 WHERE excluded.told >= told + 86400; END;";

#define HIT_COLUMNS                                                                                \
	"o.id, o.sha256, o.size, o.used, k.source, k.url, k.verified, k.fetched, k.key,"           \
	" o.keep_until, o.worth, k.generation, o.class, o.age, o.ends, o.labels, k.modified"
#define OBJECT_COLUMNS "id, sha256, size, keep_until, class, age, ends, labels"
#define SPARSE_COLUMNS                                                                             \
	"id, name, key, size, source, etag, modified, url, present, bytes, used, since"
#define MODULE_COLUMNS "kind, code_id, code_file, debug_id, debug_file, checksum"

const char *const index_sql[QUERIES] = {
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
	[Q_LIST] = "SELECT " HIT_COLUMNS ", k.id FROM keys k"
		   " JOIN objects o ON o.id = k.object_id WHERE k.id > ? ORDER BY k.id LIMIT ?",
	[Q_LIST_ENDED] = "SELECT " HIT_COLUMNS ", k.id FROM objects o JOIN keys k ON k.object_id = o.id"
			 " WHERE o.ends > 0 AND o.ends <= ? AND k.id > ? ORDER BY k.id LIMIT ?",
	[Q_COUNT] = "SELECT artifacts, bytes, (SELECT count(*) FROM keys),"
		    " (SELECT count(*) FROM misses WHERE until > ?), sparse, sparse_bytes,"
		    " (SELECT count(*) FROM objects WHERE keep_until = " PINNED "),"
		    " (SELECT coalesce(sum(size), 0) FROM objects WHERE keep_until = " PINNED ")"
		    " FROM totals",
	[Q_BYTES] = "SELECT bytes + sparse_bytes FROM totals",
	[Q_KEPT] = "SELECT (SELECT coalesce(sum(size), 0) FROM objects WHERE keep_until = " PINNED ")"
		   " + (SELECT coalesce(sum(size), 0) FROM objects WHERE keep_until > 0"
		   " AND keep_until < " PINNED " AND keep_until > ?)",
	[Q_OBJECT] = "SELECT " OBJECT_COLUMNS " FROM objects WHERE sha256 = ?",
	[Q_OBJECT_NEXT] = "SELECT " OBJECT_COLUMNS " FROM objects WHERE id > ? ORDER BY id LIMIT 1",
	[Q_OBJECT_PUT] = "INSERT INTO objects(sha256, size, used, worth) VALUES(?, ?, ?, ?)"
			 " ON CONFLICT(sha256) DO UPDATE SET size = excluded.size,"
			 " used = max(used, excluded.used),"
			 " worth = CASE excluded.worth WHEN '' THEN worth ELSE excluded.worth END"
			 " RETURNING id",
	[Q_OBJECT_WORTH] = "SELECT worth FROM objects WHERE id = ?",
	[Q_OBJECT_DROP] = "DELETE FROM objects WHERE id = ?",
	/* A use renews a hold that has not ended, if a day, or half of a shorter age, has passed since it began. */
	[Q_OBJECT_USED] = "UPDATE objects SET used = ?1, ends = CASE WHEN ends > ?3"
			  " AND ends <= ?1 + age - min(86400, age / 2) THEN ?1 + age ELSE ends END"
			  " WHERE id = ?2",
	[Q_ENDS_ANEW] = "UPDATE objects SET used = ?1, ends = ?1 + age WHERE ends > 0 AND used >= ?2",
	[Q_OBJECT_KEEP] = "UPDATE objects SET keep_until ="
			  " CASE WHEN ?1 > 0 THEN max(keep_until, ?1) ELSE 0 END,"
			  " ends = CASE WHEN ?1 IN (0, " PINNED ") THEN 0"
			  " WHEN ends > 0 THEN max(ends, ?1) ELSE ends END,"
			  " age = CASE WHEN ?1 IN (0, " PINNED ") THEN 0 ELSE age END,"
			  " class = CASE WHEN ?1 IN (0, " PINNED ") THEN '' ELSE class END WHERE id = ?2",
	[Q_OBJECT_HOLD] = "UPDATE objects SET keep_until = " PINNED ", class = ?, age = ?, ends = ?,"
			  " labels = ? WHERE id = ?",
	[Q_OBJECT_ENDED] = "SELECT " OBJECT_COLUMNS " FROM objects WHERE ends > 0 AND ends <= ?"
			   " ORDER BY ends LIMIT 1",
	[Q_VICTIM] = "SELECT id, sha256, size, 0, used FROM (SELECT id, sha256, size, used"
		     "  FROM objects WHERE keep_until < " PINNED " AND keep_until <= ?1 AND id <> ?2"
		     "  ORDER BY used, id LIMIT 1)"
		     " UNION ALL SELECT id, name, bytes, 1, used FROM (SELECT id, name, bytes, used"
		     "  FROM sparse WHERE (used, id) > (?3, ?4) ORDER BY used, id LIMIT 1)"
		     " ORDER BY 5, 4 LIMIT 1",
	[Q_SPARSE] = "SELECT " SPARSE_COLUMNS " FROM sparse WHERE canon = ?",
	[Q_SPARSE_NAME] = "SELECT " SPARSE_COLUMNS " FROM sparse WHERE name = ?",
	[Q_SPARSE_LIST] = "SELECT " SPARSE_COLUMNS " FROM sparse WHERE id > ? ORDER BY id LIMIT ?",
	[Q_SPARSE_PUT] = "INSERT INTO sparse(name, canon, key, size, source, etag, modified, url,"
			 " since, used) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[Q_SPARSE_DROP] = "DELETE FROM sparse WHERE name = ?",
	[Q_SPARSE_USED] = "UPDATE sparse SET used = ? WHERE name = ?",
	[Q_SPARSE_GREW] = "UPDATE sparse SET present = ?, bytes = ?, used = ? WHERE name = ?",
	[Q_SPARSE_PART] = "SELECT part, bits, sums FROM sparse_parts WHERE sparse_id ="
			  " (SELECT id FROM sparse WHERE name = ?) AND part = ?",
	[Q_SPARSE_PARTS] = "SELECT part, bits, sums FROM sparse_parts WHERE sparse_id ="
			   " (SELECT id FROM sparse WHERE name = ?) AND part > ? ORDER BY part"
			   " LIMIT ?",
	[Q_SPARSE_PART_PUT] = "INSERT OR REPLACE INTO sparse_parts SELECT id, ?, ?, ? FROM sparse"
			      " WHERE name = ?",
	[Q_KEY_PUT] = "UPDATE keys SET generation = generation + (object_id <> ?1), object_id = ?1,"
		      " source = ?2, url = ?3, verified = ?4, fetched = ?5, modified = ?6 WHERE canon = ?7",
	[Q_KEY_NEW] = "INSERT INTO keys(canon, key, object_id, source, url, verified, fetched,"
		      " class, stem, modified, tier, name_id) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
		      " (SELECT tier FROM names WHERE folded = ?11),"
		      " (SELECT id FROM names WHERE folded = ?11))",
	[Q_NAME_PUT] = "INSERT INTO names(folded, name, tier, keys) VALUES(?, ?, ?, 0)"
		       " ON CONFLICT(folded) DO NOTHING",
	[Q_NAME_BY_FOLDED] = "SELECT id, tier, name FROM names WHERE folded = ?",
	/* The place of a name or key that exists, or was dropped recently. */
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
	[Q_NEXT_IDS] = "SELECT id, stem, key, (SELECT name FROM names WHERE id = name_id)"
			 " FROM keys WHERE class = ? AND (stem, id) > (?, ?) AND stem < ?"
			 " ORDER BY stem, id LIMIT ?",
	[Q_NEXT_IDS_OF_NAME] = "SELECT id, stem, key, NULL FROM keys WHERE name_id IS NOT NULL"
				 " AND class = ? AND tier = ? AND name_id = ?"
				 " AND (stem, id) > (?, ?) AND stem < ? ORDER BY stem, id LIMIT ?",
	[Q_KEYS_OF] = "SELECT key, source, url, verified, fetched, modified FROM keys WHERE object_id = ?"
		      " ORDER BY id",
	[Q_KEYS_RANGE] = "SELECT key FROM keys WHERE canon >= ?1 AND canon < ?2 UNION"
			 " SELECT key FROM misses WHERE canon >= ?1 AND canon < ?2 LIMIT ?3",
	[Q_EMBEDDED] = "SELECT " OBJECT_COLUMNS " FROM objects WHERE id IN (SELECT object_id FROM keys"
		       " WHERE canon >= ? AND canon < ? AND source = 'embedded') LIMIT ?",
	[Q_INTENT_ADD] = "INSERT OR REPLACE INTO intents VALUES(?, ?)",
	[Q_INTENT_NEXT] = "SELECT sha256, gone FROM intents LIMIT 1",
	[Q_INTENT_DONE] = "DELETE FROM intents WHERE sha256 = ?",
	[Q_MODULE_PUT] = "INSERT OR REPLACE INTO modules VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[Q_MODULE_OF] = "SELECT " MODULE_COLUMNS " FROM modules WHERE object_id = ?",
	[Q_MODULE_BY_CODE] = "SELECT " MODULE_COLUMNS " FROM modules WHERE code = ? AND code <> ''"
			     " ORDER BY object_id LIMIT ?",
	[Q_MODULE_BY_DEBUG] = "SELECT " MODULE_COLUMNS " FROM modules WHERE debug <> ''"
			      " AND debug IN (?, ?) ORDER BY object_id LIMIT ?",
	[Q_MISS] = "SELECT until FROM misses WHERE canon = ? AND name = ? AND source = ?"
		   " AND since <= ?",
	[Q_MISS_PUT] = "INSERT INTO misses(canon, key, name, source, since, until, reason)"
		       " VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(canon, name, source) DO UPDATE SET"
		       " since = excluded.since, until = excluded.until, reason = excluded.reason,"
		       " asked = asked + 1",
	[Q_MISS_ASKED] = "UPDATE misses SET asked = asked + ? WHERE canon = ?",
	[Q_MISSES_LIST] = "SELECT id, key, source, since, until, asked FROM misses"
			  " WHERE id > ? AND until > ?"
			  " AND (reason <> '" STORE_MISS_UNLISTED "' OR asked > 1) ORDER BY id LIMIT ?",
	[Q_MISSES_EXPIRE] = "DELETE FROM misses WHERE until <= ?1 OR since > ?1 + 60",
	[Q_MISSES_DROP] = "DELETE FROM misses WHERE canon = ?",
	[Q_MISSES_DROP_ALL] = "DELETE FROM misses",
	[Q_TOMB] = "SELECT key, ended, why FROM tombs WHERE canon = ?",
	[Q_TOMB_PUT] = "INSERT OR REPLACE INTO tombs(canon, key, ended, why, expired) VALUES(?, ?, ?, ?, ?)",
	[Q_TOMB_DROP] = "DELETE FROM tombs WHERE canon = ?",
	[Q_HAS_OUTBOX] = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'bucket_uses'",
	[Q_OUTBOX_ALL] = "INSERT INTO outbox(object_id, since, kept) SELECT id, ?1, ?1 + " OUTBOX_KEEP
			 " FROM objects WHERE EXISTS(SELECT 1 FROM keys WHERE object_id = objects.id"
			 "  AND source <> 'bucket') ON CONFLICT(object_id) DO NOTHING",
	[Q_OUTBOX_NEXT] = "SELECT o.object_id, o.change, o.tries, o.since, b.sha256, b.size, b.worth,"
			  " b.keep_until, b.class, b.age, b.ends, b.labels"
			  " FROM outbox o JOIN objects b ON b.id = o.object_id"
			  " WHERE o.next <= ?1 AND o.object_id > ?2 ORDER BY o.object_id LIMIT ?3",
	[Q_OUTBOX_HAS] = "SELECT 1 FROM outbox o JOIN keys k ON k.object_id = o.object_id"
			 " WHERE k.canon = ?",
	[Q_OUTGONE_HAS] = "SELECT 1 FROM outgone WHERE canon = ?",
	[Q_OUTBOX_ADD] = "INSERT INTO outbox(object_id, since, kept) SELECT object_id, ?1, ?1 + " OUTBOX_KEEP
			 " FROM keys WHERE canon = ?2"
			 " ON CONFLICT(object_id) DO UPDATE SET change = change + 1, next = 0",
	[Q_OUTBOX_LISTS] = "SELECT 1 FROM outbox WHERE object_id = ?",
	[Q_OUTBOX_COUNT] = "SELECT count(*), coalesce(sum(b.size), 0), coalesce(min(o.since), 0),"
			   " coalesce(sum(o.tries > 0), 0),"
			   " coalesce((SELECT value FROM meta WHERE name = 'outbox-lost'), 0)"
			   " FROM outbox o JOIN objects b ON b.id = o.object_id",
	[Q_OUTBOX_DONE] = "DELETE FROM outbox WHERE object_id = ? AND change = ?",
	[Q_OUTBOX_LATER] = "UPDATE outbox SET tries = tries + 1, next = ?1 WHERE object_id = ?2",
	/* Ends the keeping that the outbox began, unless another keeping has replaced it. */
	[Q_OUTBOX_FREE] = "UPDATE objects SET keep_until = 0 WHERE id = ?1 AND keep_until ="
			  " (SELECT kept FROM outbox WHERE object_id = ?1 AND change = ?2)",
	[Q_OUTBOX_KEEP] = "UPDATE outbox SET kept = ?1 + " OUTBOX_KEEP " WHERE object_id IN"
			  " (SELECT id FROM (SELECT b.id, sum(b.size) OVER (ORDER BY b.id) AS total"
			  "  FROM outbox o JOIN objects b ON b.id = o.object_id) WHERE total <= ?2)",
	[Q_OUTGONE_NEXT] = "SELECT canon, ended, expired FROM outgone WHERE canon > ? AND due <= ?"
			   " ORDER BY canon LIMIT 1",
	[Q_OUTGONE_PUT] = "INSERT OR REPLACE INTO outgone VALUES(?, ?, ?, ?)",
	[Q_OUTGONE_LATER] = "UPDATE outgone SET due = ?1 WHERE canon = ?2 AND ended = ?3",
	[Q_OUTGONE_DONE] = "DELETE FROM outgone WHERE canon = ? AND ended = ?",
	[Q_USES_NEXT] = "SELECT u.object_id, u.told, b.sha256 FROM bucket_uses u"
			" JOIN objects b ON b.id = u.object_id WHERE u.due = 1 LIMIT 1",
	[Q_USES_DONE] = "UPDATE bucket_uses SET due = 0 WHERE object_id = ? AND told = ?",
	[Q_OUTBOX_KEEP_OBJECTS] = "UPDATE objects SET keep_until = (SELECT kept FROM outbox"
				  " WHERE object_id = objects.id) WHERE id IN (SELECT object_id FROM outbox"
				  " WHERE kept > ?1) AND keep_until < (SELECT kept FROM outbox"
				  " WHERE object_id = objects.id)",
};
