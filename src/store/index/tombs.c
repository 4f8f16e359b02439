/* The index: tombstones, the keys whose file expired or was purged. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index/private.h"

#include <string.h>

static int tomb_with(struct conn *c, const struct question *q, void *out)
{
	_cleanup_rows_ struct rows rows = {NULL};
	struct store_tomb t;
	char text[KEY_TEXT];
	int r;

	r = rows_of(&rows, c, Q_TOMB, "t", q->text[0]);
	if (r == 0)
		r = rows_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	column_text(rows.st, 0, text, sizeof(text));
	if (key_parse(&t.key, text) < 0)
		return -EUCLEAN;
	t.when = sqlite3_column_int64(rows.st, 1);
	column_text(rows.st, 2, t.why, sizeof(t.why));
	memcpy(out, &t, sizeof(t));
	return 0;
}

int index_tomb(struct index *ix, const char *canon, struct store_tomb *out)
{
	struct question q = {.query = Q_TOMB, .text = {canon, "", ""}};

	return recent_ask(ix, &q, tomb_with, out, sizeof(*out));
}

int index_tomb_put(struct index *ix, const struct key *k, int64_t when, const char *why, bool expired)
{
	char canon[KEY_TEXT], text[KEY_TEXT];

	return conn_run(ix->writer, Q_TOMB_PUT, "ttiti", key_canon(k, canon), key_text(k, text), when, why,
		(int64_t)expired);
}

int index_tomb_drop(struct index *ix, const char *canon)
{
	return conn_run(ix->writer, Q_TOMB_DROP, "t", canon);
}
