/* Looks into the store's index and counters from outside, for tests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "scratch.h"

#include <sqlite3.h>

/* Runs SQL on the index behind the store's back. */
static inline void sql(const char *text)
{
	sqlite3 *db;
	char *why = NULL;

	ck_assert_int_eq(sqlite3_open(in_scratch("index.sqlite"), &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 300000);
	ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, &why) == SQLITE_OK, "%s: %s", text, why);
	sqlite3_close(db);
}

static inline struct store_totals totals(struct store *s)
{
	struct store_totals t;

	ck_assert_int_eq(store_count(s, &t), 0);
	return t;
}
