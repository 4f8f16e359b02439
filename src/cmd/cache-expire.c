/* symfs cache expire: removes uploaded files that were not used for the age of their class. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "cmd/cache.h"
#include "cmd/cmd.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>

#define AT_ONCE 64 /* rows of one query to the index */

static void show(struct cache *c, struct json *j, const struct store_row *row)
{
	char room[KEY_TEXT], ended[24];

	clock_print(row->held.ends, ended);
	if (!j) {
		printf("%12" PRIu64 "  %s  %s", row->size, ended, row->held.hold.class);
		printf("  %s\n", text_shown(key_text(&row->key, room), true, &c->room));
		return;
	}
	json_begin_object(j, NULL);
	json_text(j, "key", key_text(&row->key, room));
	json_text(j, "class", row->held.hold.class);
	json_text(j, "expired", ended);
	json_number(j, "size", (long long)row->size);
	json_end(j);
}

/* Shows the keys of the files that expire now. Their number, or -errno. */
static int list_ended(struct cache *c, struct json *j)
{
	_cleanup_free_ struct store_row *rows = calloc(AT_ONCE, sizeof(*rows));
	int64_t after = 0;
	int n = rows ? 1 : -ENOMEM, all = 0;

	while (n > 0) {
		n = store_list_ended(c->store, after, rows, AT_ONCE);
		for (int i = 0; i < n; i++, all++)
			show(c, j, &rows[i]);
		if (n > 0)
			after = rows[n - 1].id;
	}
	return n < 0 ? n : all;
}

int cache_expire(struct cache *c, char **words, unsigned n)
{
	struct store_expired done = {0};
	struct json j;
	int r, ended;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	r = ended = list_ended(c, c->json ? &j : NULL);
	r = MIN(r, 0);
	if (r == 0 && !c->dry_run)
		r = store_expire(c->store, &done);
	json_end(&j);
	if (r == 0 && c->json)
		return json_print(&j);
	json_release(&j);
	if (r < 0)
		return cache_failed(c, "expired files cannot be removed", r);
	if (!ended && !done.artifacts)
		printf("nothing to expire in %s\n", text_shown(store_dir(c->store), true, &c->room));
	else if (!c->dry_run)
		printf("removed %" PRIu64 " artifacts, %" PRIu64 " bytes\n", done.artifacts, done.bytes);
	return cmd_flush(EXIT_DONE);
}
