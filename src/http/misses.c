/* /missingsymbols.csv: the symbol files that clients asked for and no source has, in the columns of
 * Mozilla's symbol server. The page shows the owners of the programs which files to upload. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "http/private.h"

#include <stdio.h>
#include <string.h>

#define PAGE 64

static uint64_t hash_of(const struct key *k)
{
	char canon[KEY_TEXT];

	key_canon(k, canon);
	return hash_mix(canon, strlen(canon)) | 1;
}

static bool is_code_id(const char *text)
{
	return *text && strspn(text, "0123456789abcdefABCDEF") == strlen(text);
}

void misses_note(struct exchange *x)
{
	const char *query = x->route->query;
	struct misses *m = &x->space->misses;
	struct miss_program t = {0};
	struct key k;

	if (!x->route->tecken || !x->route->hit.n || x->route->hit.files[0].type != FILETYPE_BREAKPAD ||
		key_of(&k, &x->route->hit.files[0]) < 0)
		return;
	route_query(query, "code_file", t.file, sizeof(t.file));
	if (!route_query(query, "code_id", t.id, sizeof(t.id)) || !is_code_id(t.id))
		t.id[0] = '\0';
	if (!t.file[0] && !t.id[0])
		return;
	t.key = hash_of(&k);
	LOCK_SCOPE(&m->lock);
	m->programs[t.key / 2 % HTTP_PROGRAMS] = t;
}

static void find_program(struct misses *m, const struct key *k, struct miss_program *out)
{
	uint64_t key = hash_of(k);
	const struct miss_program *t = &m->programs[key / 2 % HTTP_PROGRAMS];
	LOCK_SCOPE(&m->lock);

	*out = t->key == key ? *t : (struct miss_program){0};
}

/* ---- Mozilla's columns --------------------------------------------------------------- */

/* Writes a field as Python's csv module does: in quotes where they are needed. */
static int add_field(struct buf *out, const char *text, const char *end)
{
	if (!strpbrk(text, ",\"\r\n"))
		return buf_addf(out, "%s%s", text, end);
	buf_adds(out, "\"");
	for (; *text; text++)
		buf_addf(out, "%s%c", *text == '"' ? "\"" : "", *text);
	return buf_addf(out, "\"%s", end);
}

static void upper_case(char *text)
{
	for (; *text; text++)
		if (*text >= 'a' && *text <= 'f')
			*text = (char)(*text - 'a' + 'A');
}

/* The file name and code id in the module's stored files take precedence over those that the client
 * named. */
static int add_line(struct space *s, const struct key *k, struct buf *out)
{
	struct artifact a;
	struct miss_program t;
	char id[KEY_ID_MAX];

	key_artifact(k, &a);
	a.m.code_file[0] = a.m.code_id[0] = '\0';
	fetch_complete(s->fetch, &a);
	find_program(&s->misses, k, &t);
	snprintf(id, sizeof(id), "%s", k->id);
	upper_case(id);
	add_field(out, k->name, ",");
	add_field(out, id, ",");
	add_field(out, a.m.code_file[0] ? a.m.code_file : t.file, ",");
	return add_field(out, a.m.code_id[0] ? a.m.code_id : t.id, "\r\n");
}

/* Adds the files that requests of the last days did not get: a directory source leaves no remembered miss. */
static int add_missed(struct space *s, bool all, struct hash_set *seen, struct buf *out)
{
	struct store_miss_row row = {.source = ""};
	int r = 0;

	for (unsigned ago = 0; r == 0 && ago < MISSED_DAYS; ago++) {
		struct missed_day d;

		missed_read(s->missed, ago, &d);
		row.since = d.when;
		for (unsigned i = 0; r == 0 && i < d.n; i++) {
			if (key_parse(&row.key, d.rows[i].key) < 0 || hash_set_add(seen, hash_of(&row.key)) < 0 ||
				store_has(s->store, &row.key, NULL))
				continue;
			if (all)
				fetch_missing_row(out, &row, (int64_t)d.rows[i].asked);
			else if (row.key.type == FILETYPE_BREAKPAD && row.key.name[0])
				r = add_line(s, &row.key, out);
		}
		missed_day_release(&d);
	}
	return r;
}

int misses_text(struct space *s, bool all, const atomic_bool *gone, struct buf *out)
{
	_cleanup_free_ struct store_miss_row *rows = calloc(PAGE, sizeof(*rows));
	struct store *st = s->store;
	struct hash_set seen = {0}; /* printed keys: a miss has a row for each source */
	int64_t after = 0;
	int n, r = rows ? 0 : -ENOMEM;

	if (all)
		fetch_missing(s->fetch, out);
	else if (r == 0)
		r = buf_adds(out, "debug_file,debug_id,code_file,code_id\r\n");
	while (r == 0 && !atomic_load(gone) && (n = store_list_misses(st, &after, rows, PAGE)) > 0)
		for (int i = 0; r == 0 && i < n; i++) {
			const struct key *k = &rows[i].key;

			/* A file that one source did not have may be stored, from another source. */
			if (hash_set_add(&seen, hash_of(k)) == 0 && !all && k->type == FILETYPE_BREAKPAD &&
				k->name[0] && !store_has(st, k, NULL))
				r = add_line(s, k, out);
		}
	if (r == 0)
		r = add_missed(s, all, &seen, out);
	hash_set_release(&seen);
	return r;
}
