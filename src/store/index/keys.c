/* The index: blobs, their keys, and files that may disagree with the index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/layout.h"
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

/* 0; -EINVAL: the row does not hold a key. */
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
	out->object.pinned = sqlite3_column_int64(st, 9) == INT64_MAX;
	out->facts.pinned = out->object.pinned;
	held_columns(st, 12, out->object.pinned, &out->object.held);
	worth_column(st, 10, &out->facts.worth);
	out->facts.generation = (uint32_t)sqlite3_column_int64(st, 11);
	out->facts.modified = sqlite3_column_int64(st, 16);
	return key_parse(&out->key, text);
}

static int find_with(struct conn *c, const struct question *q, void *out)
{
	_cleanup_rows_ struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, c, Q_FIND, "t", q->text[0]);
	if (r == 0)
		r = rows_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	return hit_fill(out, rows.st) < 0 ? -EUCLEAN : 0;
}

int index_find(struct index *ix, const char *canon, struct index_hit *out)
{
	struct question q = {.query = Q_FIND, .text = {canon, "", ""}};

	return recent_ask(ix, &q, find_with, out, sizeof(*out));
}

static int with_id(struct conn *c, const char *from, const char *to, struct key *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = {NULL};
	unsigned count = 0;
	char text[KEY_TEXT];
	int r = rows_of(&rows, c, Q_KEYS_RANGE, "tti", from, to, (int64_t)n);

	while (r == 0 && count < n && (r = rows_next(&rows)) > 0) {
		column_text(rows.st, 0, text, sizeof(text));
		if (key_parse(&out[count], text) < 0)
			return -EUCLEAN;
		count++;
		r = 0;
	}
	return r < 0 ? r : (int)count;
}

/* Finds "TYPE ID" alone, and with a blank and a name after it. `!` ends the range, because it follows the blank in
 * ASCII. */
int index_keys_with_id(struct index *ix, const struct key *k, struct key *out, unsigned n)
{
	_cleanup_reader_ struct reader rd = {.ix = ix};
	struct key bare = *k;
	char from[KEY_TEXT], to[KEY_TEXT + 1];
	size_t n_from;
	int r = reader_open(&rd);

	bare.name[0] = '\0';
	n_from = strlen(key_canon(&bare, from));
	if (n_from && from[n_from - 1] == ' ') /* where a name would follow */
		from[n_from - 1] = '\0';
	snprintf(to, sizeof(to), "%s!", from);
	return r < 0 ? r : with_id(rd.c, from, to, out, n);
}

int conn_main_key(struct conn *c, const char *canon, enum filetype type, struct key *out)
{
	_cleanup_rows_ struct rows rows = {NULL};
	char text[KEY_TEXT];
	struct key k;
	int r;

	r = rows_of(&rows, c, Q_SIBLINGS, "t", canon);
	while (r == 0 && (r = rows_next(&rows)) > 0) {
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
	_cleanup_reader_ struct reader rd = {.ix = ix};
	int r = reader_open(&rd);

	return r < 0 ? r : conn_main_key(rd.c, canon, type, out);
}

/* Reads the rows of Q_LIST or Q_LIST_ENDED; `r` is the result of rows_of(). */
static int list_from(struct rows *rows, int r, struct store_row *out, unsigned n)
{
	struct index_hit hit;
	unsigned count = 0;

	if (r < 0)
		return r;
	while (count < n && (r = rows_next(rows)) > 0) {
		struct store_row *row = &out[count];

		if (hit_fill(&hit, rows->st) < 0)
			return -EUCLEAN;
		row->key = hit.key;
		row->keep_until = sqlite3_column_int64(rows->st, 9);
		row->held = hit.object.held;
		row->id = sqlite3_column_int64(rows->st, 17);
		snprintf(row->sha256, sizeof(row->sha256), "%s", hit.object.sha256);
		row->size = hit.object.size;
		row->used = hit.used;
		row->facts = hit.facts;
		count++;
	}
	return r < 0 ? r : (int)count;
}

static int list_with(struct conn *c, int64_t after, struct store_row *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = {NULL};

	return list_from(&rows, rows_of(&rows, c, Q_LIST, "ii", after, (int64_t)n), out, n);
}

int index_list(struct index *ix, int64_t after, struct store_row *rows, unsigned n)
{
	_cleanup_reader_ struct reader rd = {.ix = ix};
	int r = reader_open(&rd);

	return r < 0 ? r : list_with(rd.c, after, rows, n);
}

static int list_ended_with(struct conn *c, int64_t now, int64_t after, struct store_row *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = {NULL};

	return list_from(&rows, rows_of(&rows, c, Q_LIST_ENDED, "iii", now, after, (int64_t)n), out, n);
}

int index_list_ended(struct index *ix, int64_t now, int64_t after, struct store_row *rows, unsigned n)
{
	_cleanup_reader_ struct reader rd = {.ix = ix};
	int r = reader_open(&rd);

	return r < 0 ? r : list_ended_with(rd.c, now, after, rows, n);
}

/* ---- with the write lock ------------------------------------------------------------- */

/* Reads an object from the first three columns of the only row of a query. 0, -ENOENT, -errno. */
static int victim_from(struct rows *rows, int r, struct index_object *out)
{
	if (r == 0)
		r = rows_next(rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	out->id = sqlite3_column_int64(rows->st, 0);
	column_text(rows->st, 1, out->sha256, sizeof(out->sha256));
	out->size = (uint64_t)sqlite3_column_int64(rows->st, 2);
	out->pinned = false;
	out->held = (struct hold_state){.pinned = false};
	return 0;
}

static int object_from(struct rows *rows, int r, struct index_object *out)
{
	r = victim_from(rows, r, out);
	if (r == 0) {
		out->pinned = sqlite3_column_int64(rows->st, 3) == INT64_MAX;
		held_columns(rows->st, 4, out->pinned, &out->held);
	}
	return r;
}

int index_object_find(struct index *ix, const char *sha256, struct index_object *out)
{
	_cleanup_rows_ struct rows rows = {NULL};

	return object_from(&rows, rows_of(&rows, ix->writer, Q_OBJECT, "t", sha256), out);
}

int index_embedded(struct index *ix, enum filetype t, const char *id, struct index_object *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = {NULL};
	char from[KEY_TEXT], to[KEY_TEXT + 1];
	unsigned count = 0;
	int r;

	snprintf(from, sizeof(from), "%s %s", filetype_name(t), id);
	snprintf(to, sizeof(to), "%sg", from); /* follows every further digit, and the space before a name */
	r = rows_of(&rows, ix->writer, Q_EMBEDDED, "tti", from, to, (int64_t)n);
	while (r == 0 && count < n && (r = object_from(&rows, r, &out[count])) == 0)
		count++;
	return r < 0 && r != -ENOENT ? r : (int)count;
}

int index_object_next(struct index *ix, int64_t after, struct index_object *out)
{
	_cleanup_rows_ struct rows rows = {NULL};

	return object_from(&rows, rows_of(&rows, ix->writer, Q_OBJECT_NEXT, "i", after), out);
}

int index_victim(struct index *ix, int64_t now, int64_t except, const struct index_place *past,
	struct index_object *out, bool *sparse, int64_t *used)
{
	_cleanup_rows_ struct rows rows = {NULL};
	int r = rows_of(&rows, ix->writer, Q_VICTIM, "iiii", now, except, past->used, past->id);

	r = victim_from(&rows, r, out);
	if (r < 0)
		return r;
	*sparse = sqlite3_column_int(rows.st, 3) != 0;
	*used = sqlite3_column_int64(rows.st, 4);
	return 0;
}

static const char *worth_or_empty(const struct worth *w, char room[static WORTH_TEXT])
{
	return w->known ? worth_text(w, room) : "";
}

int index_object_put(struct index *ix, const char *sha256, uint64_t size, int64_t used, const struct worth *w,
	int64_t *id)
{
	_cleanup_rows_ struct rows rows = {NULL};
	char room[WORTH_TEXT];
	int r;

	r = rows_of(&rows, ix->writer, Q_OBJECT_PUT, "tiit", sha256, (int64_t)size, used, worth_or_empty(w, room));
	if (r == 0)
		r = rows_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	*id = sqlite3_column_int64(rows.st, 0);
	return 0;
}

int index_object_worth(struct index *ix, int64_t id, struct worth *out)
{
	_cleanup_rows_ struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, ix->writer, Q_OBJECT_WORTH, "i", id);
	if (r == 0)
		r = rows_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	worth_column(rows.st, 0, out);
	return 0;
}

int index_object_drop(struct index *ix, int64_t id)
{
	return conn_run(ix->writer, Q_OBJECT_DROP, "i", id);
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
	_cleanup_rows_ struct rows rows = {NULL};

	return object_from(&rows, rows_of(&rows, ix->writer, Q_OBJECT_ENDED, "i", now), out);
}

int index_key_find(struct index *ix, const char *canon, struct index_hit *out)
{
	return find_with(ix->writer, &(struct question){.text = {canon}}, out);
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

int index_key_drop(struct index *ix, const char *canon)
{
	return conn_run(ix->writer, Q_KEY_DROP, "t", canon);
}

static int keys_of_with(struct conn *c, int64_t object,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx)
{
	_cleanup_rows_ struct rows rows = {NULL};
	struct blob_facts facts;
	char text[KEY_TEXT];
	struct key k;
	int r;

	r = rows_of(&rows, c, Q_KEYS_OF, "i", object);
	while (r == 0 && (r = rows_next(&rows)) > 0) {
		memset(&facts, 0, sizeof(facts));
		column_text(rows.st, 0, text, sizeof(text));
		column_text(rows.st, 1, facts.source, sizeof(facts.source));
		column_text(rows.st, 2, facts.url, sizeof(facts.url));
		facts.verified = sqlite3_column_int(rows.st, 3) != 0;
		facts.fetched = sqlite3_column_int64(rows.st, 4);
		facts.modified = sqlite3_column_int64(rows.st, 5);
		r = key_parse(&k, text) < 0 ? -EUCLEAN : each(ctx, &k, &facts);
		if (r != 0)
			return r;
	}
	return r;
}

int index_keys_of(struct index *ix, int64_t object,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx)
{
	return keys_of_with(ix->writer, object, each, ctx);
}

int index_keys_of_object(struct index *ix, int64_t object,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx)
{
	_cleanup_reader_ struct reader rd = {.ix = ix};
	int r = reader_open(&rd);

	return r < 0 ? r : keys_of_with(rd.c, object, each, ctx);
}

int index_intent_add(struct index *ix, const char *sha256, bool gone)
{
	return conn_run(ix->writer, Q_INTENT_ADD, "ti", sha256, (int64_t)gone);
}

int index_intent_next(struct index *ix, char sha256[static SHA256_TEXT], bool *gone)
{
	_cleanup_rows_ struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, ix->writer, Q_INTENT_NEXT, "");
	if (r == 0)
		r = rows_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	column_text(rows.st, 0, sha256, SHA256_TEXT);
	*gone = sqlite3_column_int(rows.st, 1) != 0;
	return 0;
}

int index_intent_done(struct index *ix, const char *sha256)
{
	return conn_run(ix->writer, Q_INTENT_DONE, "t", sha256);
}
