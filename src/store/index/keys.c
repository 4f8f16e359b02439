/* The index: blobs, their keys, files that may disagree with the index, and what files state about modules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/layout/layout.h"
#include "store/index/private.h"

#include <stdio.h>
#include <string.h>

/* Reads a worth. A text that a newer version wrote may not parse; then the worth is unknown. */
static void worth_column(sqlite3_stmt *st, int i, struct worth *out)
{
	char text[WORTH_TEXT];

	column_text(st, i, text, sizeof(text));
	worth_parse(out, text);
}

void held_columns(sqlite3_stmt *st, int i, bool pinned, struct hold_state *out)
{
	out->pinned = pinned;
	column_text(st, i, out->hold.class, sizeof(out->hold.class));
	out->hold.age = sqlite3_column_int64(st, i + 1);
	out->ends = sqlite3_column_int64(st, i + 2);
	column_text(st, i + 3, out->hold.labels, sizeof(out->hold.labels));
}

static int hit_fill(struct index_hit *out, sqlite3_stmt *st)
{
	memset(out, 0, sizeof(*out));
	out->object.id = sqlite3_column_int64(st, 0);
	column_text(st, 1, out->object.sha256, sizeof(out->object.sha256));
	out->object.size = (uint64_t)sqlite3_column_int64(st, 2);
	out->used = sqlite3_column_int64(st, 3);
	column_text(st, 4, out->facts.source, sizeof(out->facts.source));
	column_text(st, 5, out->facts.url, sizeof(out->facts.url));
	out->facts.verified = sqlite3_column_int(st, 6) != 0;
	out->facts.fetched = sqlite3_column_int64(st, 7);
	out->object.pinned = sqlite3_column_int64(st, 9) == INT64_MAX;
	out->facts.pinned = out->object.pinned;
	held_columns(st, 12, out->object.pinned, &out->object.held);
	worth_column(st, 10, &out->facts.worth);
	out->facts.generation = (uint32_t)sqlite3_column_int64(st, 11);
	out->facts.modified = sqlite3_column_int64(st, 16);
	return column_key(st, 8, &out->key);
}

static int find_with(struct rows *rows, const struct question *q, void *out)
{
	int r = row_of(rows, Q_FIND, "t", q->text[0]);

	return r == 0 ? hit_fill(out, rows->st) : r;
}

int index_find(struct index *ix, const char *canon, struct index_hit *out)
{
	struct question q = {.query = Q_FIND, .text = {canon, "", ""}};

	return recent_ask(ix, &q, find_with, out, sizeof(*out));
}

/* Finds "TYPE ID" alone, and with a blank and a name after it. `!` ends the range, because it follows the blank in
 * ASCII. */
int index_keys_with_id(struct index *ix, const struct key *k, struct key *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	struct key bare = *k;
	char from[KEY_TEXT], to[KEY_TEXT + 1];
	unsigned count = 0;
	size_t n_from;
	int r;

	bare.name[0] = '\0';
	n_from = strlen(key_canon(&bare, from));
	if (n_from && from[n_from - 1] == ' ') /* where a name would follow */
		from[n_from - 1] = '\0';
	snprintf(to, sizeof(to), "%s!", from);
	r = rows_of(&rows, Q_KEYS_RANGE, "tti", from, to, (int64_t)n);
	while (r == 0 && count < n && (r = rows_next(&rows)) > 0)
		r = column_key(rows.st, 0, &out[count++]);
	return r < 0 ? r : (int)count;
}

int main_key(struct rows *rows, const char *canon, enum filetype type, struct key *out)
{
	struct key k;
	int r;

	r = rows_of(rows, Q_SIBLINGS, "t", canon);
	while (r == 0 && (r = rows_next(rows)) > 0) {
		if (column_key(rows->st, 0, &k) == 0 && k.type == type && !key_is_by_debug_id(&k)) {
			*out = k;
			return 0;
		}
		r = 0;
	}
	return r < 0 ? r : -ENOENT;
}

int index_main_key(struct index *ix, const char *canon, enum filetype type, struct key *out)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);

	return main_key(&rows, canon, type, out);
}

/* Reads the rows of Q_LIST or Q_LIST_ENDED; `r` is the result of rows_of(). */
static int list_from(struct rows *rows, int r, struct store_row *out, unsigned n)
{
	struct index_hit hit;
	unsigned count = 0;

	while (r == 0 && count < n && (r = rows_next(rows)) > 0) {
		struct store_row *row = &out[count++];

		r = hit_fill(&hit, rows->st);
		row->key = hit.key;
		row->keep_until = sqlite3_column_int64(rows->st, 9);
		row->held = hit.object.held;
		row->id = sqlite3_column_int64(rows->st, 17);
		snprintf(row->sha256, sizeof(row->sha256), "%s", hit.object.sha256);
		row->size = hit.object.size;
		row->used = hit.used;
		row->facts = hit.facts;
	}
	return r < 0 ? r : (int)count;
}

int index_list(struct index *ix, int64_t after, struct store_row *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);

	return list_from(&rows, rows_of(&rows, Q_LIST, "ii", after, (int64_t)n), out, n);
}

int index_list_ended(struct index *ix, int64_t now, int64_t after, struct store_row *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);

	return list_from(&rows, rows_of(&rows, Q_LIST_ENDED, "iii", now, after, (int64_t)n), out, n);
}

/* ---- with the write lock ------------------------------------------------------------- */

/* Reads an object from the first three columns of a row. */
static void victim_fill(struct index_object *out, sqlite3_stmt *st)
{
	out->id = sqlite3_column_int64(st, 0);
	column_text(st, 1, out->sha256, sizeof(out->sha256));
	out->size = (uint64_t)sqlite3_column_int64(st, 2);
	out->pinned = false;
	out->held = (struct hold_state){.pinned = false};
}

/* Reads an object from a row of OBJECT_COLUMNS, if `r`, the result of row_of(), is 0. Returns `r`. */
static int object_from(struct rows *rows, int r, struct index_object *out)
{
	if (r == 0) {
		victim_fill(out, rows->st);
		out->pinned = sqlite3_column_int64(rows->st, 3) == INT64_MAX;
		held_columns(rows->st, 4, out->pinned, &out->held);
	}
	return r;
}

int index_object_find(struct index *ix, const char *sha256, struct index_object *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);

	return object_from(&rows, row_of(&rows, Q_OBJECT, "t", sha256), out);
}

int index_embedded(struct index *ix, enum filetype t, const char *id, struct index_object *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);
	char from[KEY_TEXT], to[KEY_TEXT + 1];
	unsigned count = 0;
	int r;

	snprintf(from, sizeof(from), "%s %s", filetypes[t].name, id);
	snprintf(to, sizeof(to), "%sg", from); /* follows every further digit, and the space before a name */
	r = rows_of(&rows, Q_EMBEDDED, "tti", from, to, (int64_t)n);
	while (r == 0 && count < n && (r = rows_next(&rows)) > 0)
		r = object_from(&rows, 0, &out[count++]);
	return r < 0 ? r : (int)count;
}

int index_object_next(struct index *ix, int64_t after, struct index_object *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);

	return object_from(&rows, row_of(&rows, Q_OBJECT_NEXT, "i", after), out);
}

int index_victim(struct index *ix, int64_t now, int64_t except, const struct index_place *past,
	struct index_object *out, bool *sparse, int64_t *used)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);
	int r = row_of(&rows, Q_VICTIM, "iiii", now, except, past->used, past->id);

	if (r < 0)
		return r;
	victim_fill(out, rows.st);
	*sparse = sqlite3_column_int(rows.st, 3) != 0;
	*used = sqlite3_column_int64(rows.st, 4);
	return 0;
}

int index_object_put(struct index *ix, const char *sha256, uint64_t size, int64_t used, const struct worth *w,
	int64_t *id)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);
	char room[WORTH_TEXT];
	int r;

	r = row_of(&rows, Q_OBJECT_PUT, "tiit", sha256, (int64_t)size, used, w->known ? worth_text(w, room) : "");
	if (r < 0)
		return r == -ENOENT ? -EIO : r;
	*id = sqlite3_column_int64(rows.st, 0);
	return 0;
}

int index_object_worth(struct index *ix, int64_t id, struct worth *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);
	int r = row_of(&rows, Q_OBJECT_WORTH, "i", id);

	if (r == 0)
		worth_column(rows.st, 0, out);
	return r;
}

int index_object_drop(struct index *ix, int64_t id)
{
	return conn_run(ix->writer, Q_OBJECT_DROP, "i", id);
}

int index_object_remove(struct index *ix, const struct index_object *o)
{
	int r = index_intent_add(ix, o->sha256, true);

	return r == 0 ? index_object_drop(ix, o->id) : r;
}

int index_object_used(struct index *ix, int64_t id, int64_t when, int64_t past)
{
	return conn_run(ix->writer, Q_OBJECT_USED, "iii", when, id, past);
}

int index_ends_anew(struct index *ix, int64_t now, int64_t since)
{
	return conn_run(ix->writer, Q_ENDS_ANEW, "ii", now, since);
}

int index_object_keep(struct index *ix, int64_t id, int64_t until)
{
	return conn_run(ix->writer, Q_OBJECT_KEEP, "ii", until, id);
}

int index_object_hold(struct index *ix, int64_t id, const struct hold_state *held)
{
	return conn_run(ix->writer, Q_OBJECT_HOLD, "tiiti", held->hold.class, held->hold.age, held->ends,
		held->hold.labels, id);
}

int index_object_ended(struct index *ix, int64_t now, struct index_object *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);

	return object_from(&rows, row_of(&rows, Q_OBJECT_ENDED, "i", now), out);
}

int index_key_find(struct index *ix, const char *canon, struct index_hit *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);

	return find_with(&rows, &(struct question){.text = {canon}}, out);
}

static int name_put(struct index *ix, const struct key *k, const char *folded)
{
	size_t n = layout_tier(folded);
	char tier[MODULE_NAME_MAX];

	snprintf(tier, sizeof(tier), "%.*s", (int)n, folded);
	return conn_run(ix->writer, Q_NAME_PUT, "ttt", folded, k->name, tier);
}

static int key_new(struct index *ix, const struct key *k, const char *canon, int64_t object,
	const struct blob_facts *facts)
{
	char text[KEY_TEXT], prefix[KEY_ID_MAX], folded[MODULE_NAME_MAX];
	int r = 0;

	key_folded(k, folded);
	if (folded[0])
		r = name_put(ix, k, folded);
	return r < 0 ? r
		     : conn_run(ix->writer, Q_KEY_NEW, "ttittiiitit", canon, key_text(k, text), object,
			       facts->source, facts->url, (int64_t)facts->verified, facts->fetched,
			       (int64_t)key_class(k), key_id_prefix(k, prefix), facts->modified, folded);
}

int index_key_put(struct index *ix, const struct key *k, int64_t object,
	const struct blob_facts *facts)
{
	char canon[KEY_TEXT];
	int r;

	key_canon(k, canon);
	r = conn_run(ix->writer, Q_KEY_PUT, "ittiiit", object, facts->source, facts->url,
		(int64_t)facts->verified, facts->fetched, facts->modified, canon);
	return r == 0 && !sqlite3_changes(ix->writer->db) ? key_new(ix, k, canon, object, facts) : r;
}

static int keys_of_with(struct rows *rows, int64_t object,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx)
{
	struct key k;
	int r;

	r = rows_of(rows, Q_KEYS_OF, "i", object);
	while (r == 0 && (r = rows_next(rows)) > 0) {
		struct blob_facts facts = {.verified = sqlite3_column_int(rows->st, 3) != 0,
			.fetched = sqlite3_column_int64(rows->st, 4), .modified = sqlite3_column_int64(rows->st, 5)};

		column_text(rows->st, 1, facts.source, sizeof(facts.source));
		column_text(rows->st, 2, facts.url, sizeof(facts.url));
		r = column_key(rows->st, 0, &k);
		if (r == 0)
			r = each(ctx, &k, &facts);
		if (r != 0)
			return r;
	}
	return r;
}

int index_keys_of(struct index *ix, int64_t object,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);

	return keys_of_with(&rows, object, each, ctx);
}

int index_keys_of_object(struct index *ix, int64_t object,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);

	return keys_of_with(&rows, object, each, ctx);
}

int index_intent_add(struct index *ix, const char *sha256, bool gone)
{
	return conn_run(ix->writer, Q_INTENT_ADD, "ti", sha256, (int64_t)gone);
}

int index_intent_next(struct index *ix, char sha256[static SHA256_TEXT], bool *gone)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);
	int r = row_of(&rows, Q_INTENT_NEXT, "");

	if (r < 0)
		return r;
	column_text(rows.st, 0, sha256, SHA256_TEXT);
	*gone = sqlite3_column_int(rows.st, 1) != 0;
	return 0;
}

int index_intent_done(struct index *ix, const char *sha256)
{
	return conn_run(ix->writer, Q_INTENT_DONE, "t", sha256);
}

/* ---- modules: what stored files state --------------------------------------------------- */

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

int index_modules(struct index *ix, const struct module *like, struct module *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	char id[MODULE_ID_TEXT], guid[33];
	unsigned count = 0;
	int r;

	if (like->code_id[0]) {
		r = rows_of(&rows, Q_MODULE_BY_CODE, "ti", module_code_text(like, id), (int64_t)n);
	} else {
		/* A module of .NET is recorded by the GUID alone, without a stamp. */
		snprintf(guid, sizeof(guid), "%.32s", module_debug_text(like, id));
		r = rows_of(&rows, Q_MODULE_BY_DEBUG, "tti", id, guid, (int64_t)n);
	}
	while (r == 0 && count < n && (r = rows_next(&rows)) > 0) {
		module_fill(&out[count++], rows.st);
		r = 0;
	}
	return r < 0 ? r : (int)count;
}

int index_module_put(struct index *ix, int64_t object, const struct module *m)
{
	char code[MODULE_ID_TEXT], debug[MODULE_ID_TEXT], id[DEBUG_ID_TEXT];

	return conn_run(ix->writer, Q_MODULE_PUT, "itttttttt", object, object_types[m->object].name,
		module_code_text(m, code), module_debug_text(m, debug), m->code_id, m->code_file,
		debug_id_breakpad(&m->debug_id, id), m->debug_file, m->checksum);
}

int index_module_of(struct index *ix, int64_t object, struct module *out)
{
	_cleanup_rows_ struct rows rows = WRITER_ROWS(ix);
	int r = row_of(&rows, Q_MODULE_OF, "i", object);

	if (r == 0)
		module_fill(out, rows.st);
	return r;
}
