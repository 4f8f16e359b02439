/* The index: what stored files state about their modules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index/private.h"

#include <stdio.h>
#include <string.h>

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
	_cleanup_rows_ struct rows rows = {NULL};
	char id[MODULE_ID_TEXT], guid[33];
	unsigned count = 0;
	int r;

	if (like->code_id[0]) {
		r = rows_of(&rows, c, Q_MODULE_BY_CODE, "ti", module_code_text(like, id),
			(int64_t)n);
	} else {
		/* A module of .NET is recorded by the GUID alone, without a stamp. */
		snprintf(guid, sizeof(guid), "%.32s", module_debug_text(like, id));
		r = rows_of(&rows, c, Q_MODULE_BY_DEBUG, "tti", id, guid, (int64_t)n);
	}
	while (r == 0 && count < n && (r = rows_next(&rows)) > 0) {
		module_fill(&out[count++], rows.st);
		r = 0;
	}
	return r < 0 ? r : (int)count;
}

int index_modules(struct index *ix, const struct module *like, struct module *out, unsigned n)
{
	_cleanup_reader_ struct reader rd = {.ix = ix};
	int r = reader_open(&rd);

	return r < 0 ? r : modules_with(rd.c, like, out, n);
}

int index_module_put(struct index *ix, int64_t object, const struct module *m)
{
	char code[MODULE_ID_TEXT], debug[MODULE_ID_TEXT], id[DEBUG_ID_TEXT];

	return conn_run(ix->writer, Q_MODULE_PUT, "itttttttt", object, object_type_name(m->object),
		module_code_text(m, code), module_debug_text(m, debug), m->code_id, m->code_file,
		debug_id_breakpad(&m->debug_id, id), m->debug_file, m->checksum);
}

int index_module_of(struct index *ix, int64_t object, struct module *out)
{
	_cleanup_rows_ struct rows rows = {NULL};
	int r;

	r = rows_of(&rows, ix->writer, Q_MODULE_OF, "i", object);
	if (r == 0)
		r = rows_next(&rows);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	module_fill(out, rows.st);
	return 0;
}
