/* The index: its snapshots, for listings. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index/private.h"

#include <stdio.h>
#include <string.h>

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
	r = conn_take(ix, &v->c);
	if (r == 0)
		r = conn_run(v->c, Q_READ, "");
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
		conn_run(v->c, Q_ROLLBACK, "");
	if (v->c)
		conn_give(v->ix, v->c);
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

/* Reads rows with the columns id, place, text; if `keys` is true, with the columns id, place, key, text.
 * Returns their number, or -errno. */
static int view_rows(struct rows *from, int r, bool keys, struct index_row *out, unsigned n)
{
	unsigned count = 0;

	while (r == 0 && count < n && (r = rows_next(from)) > 0) {
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
	_cleanup_rows_ struct rows rows = {.c = v->c};
	int r = rows_of(&rows, only ? Q_NEXT_NAMES_OF_TIER : Q_NEXT_NAMES, "itii",
		(int64_t)class, only ? only : tier, after, (int64_t)n);

	return view_rows(&rows, r, false, out, n);
}

int index_view_ids(struct index_view *v, unsigned class, const struct index_name *name,
	const char *prefix, int64_t after, const char *end, struct index_row *out, unsigned n)
{
	_cleanup_rows_ struct rows rows = {.c = v->c};
	int r;

	if (name)
		r = rows_of(&rows, Q_NEXT_IDS_OF_NAME, "itititi", (int64_t)class, name->tier,
			name->id, prefix, after, end, (int64_t)n);
	else
		r = rows_of(&rows, Q_NEXT_IDS, "ititi", (int64_t)class, prefix, after, end,
			(int64_t)n);
	return view_rows(&rows, r, true, out, n);
}

int index_view_name(struct index_view *v, const char *folded, struct index_name *out)
{
	_cleanup_rows_ struct rows rows = {.c = v->c};
	int r = row_of(&rows, Q_NAME_BY_FOLDED, "t", folded);

	if (r < 0)
		return r;
	out->id = sqlite3_column_int64(rows.st, 0);
	column_text(rows.st, 1, out->tier, sizeof(out->tier));
	column_text(rows.st, 2, out->name, sizeof(out->name));
	return 0;
}

int index_view_name_place(struct index_view *v, int64_t id, char tier[static MODULE_NAME_MAX])
{
	_cleanup_rows_ struct rows rows = {.c = v->c};
	int r = row_of(&rows, Q_NAME_PLACE, "i", id);

	if (r == 0)
		column_text(rows.st, 0, tier, MODULE_NAME_MAX);
	return r;
}

int index_view_key_place(struct index_view *v, int64_t id, char prefix[static KEY_ID_MAX],
	struct key *k)
{
	_cleanup_rows_ struct rows rows = {.c = v->c};
	char name[MODULE_NAME_MAX];
	int r = row_of(&rows, Q_KEY_PLACE, "i", id);

	if (r < 0)
		return r;
	column_text(rows.st, 0, prefix, KEY_ID_MAX);
	column_text(rows.st, 2, name, sizeof(name));
	if (column_key(rows.st, 1, k) < 0)
		return -EUCLEAN;
	if (name[0])
		snprintf(k->name, sizeof(k->name), "%s", name);
	return 0;
}

uint64_t index_view_number(struct index_view *v, const struct key *k)
{
	_cleanup_rows_ struct rows rows = {.c = v->c};
	char canon[KEY_TEXT];
	struct key own;

	if (key_is_by_debug_id(k) && main_key(&rows, key_canon(k, canon), k->type, &own) == 0)
		return key_number(&own);
	return key_number(k);
}
