/* symfs cache gc --bucket: removes files from a team's bucket that no key refers to any more. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bucket/clear.h"
#include "cmd/cache.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static void show(void *ctx, const char *sha256, uint64_t size)
{
	const struct cache *c = ctx;

	if (!c->json)
		printf("%s%s\t%" PRIu64 "\n", c->dry_run ? "would remove " : "removed ", sha256, size);
}

static int show_json(const struct cleared *r)
{
	struct json j;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	json_number(&j, "files", (long long)r->files);
	json_number(&j, "bytes", (long long)r->bytes);
	json_number(&j, "references", (long long)r->references);
	json_number(&j, "removed", (long long)r->removed);
	json_number(&j, "removed_bytes", (long long)r->removed_bytes);
	json_number(&j, "young", (long long)r->young);
	json_number(&j, "put_back", (long long)r->saved);
	json_number(&j, "made_removed", (long long)r->made);
	json_number(&j, "probes_removed", (long long)r->probes);
	json_number(&j, "removals_stuck", (long long)r->stuck);
	json_number(&j, "requests", (long long)r->requests);
	json_end(&j);
	return json_print(&j);
}

int cache_clear_bucket(struct cache *c, struct sources *so)
{
	struct cleared done;
	struct err e = {0};
	int r;

	if (bucket_clear(so, c->dry_run, c->grace, show, c, &done, &e) < 0)
		return cmd_say(app_exit(-EHOSTUNREACH), "the bucket: %s", e.text);
	if (c->json) {
		r = show_json(&done);
	} else {
		printf("%s %" PRIu64 " of %" PRIu64 " files, %" PRIu64 " of %" PRIu64 " bytes; %" PRIu64
		       " references, %" PRIu64 " unused files are younger than a day, %" PRIu64
		       " were put back, %" PRIu64
		       " GSYM files of removed files %s\n",
			c->dry_run ? "would remove" : "removed", done.removed, done.files, done.removed_bytes,
			done.bytes,
			done.references, done.young, done.saved, done.made, c->dry_run ? "would end" : "ended");
		r = cmd_flush(EXIT_DONE);
	}
	if (done.stuck)
		cmd_say(0, "the bucket: unfinished removals of keys: %" PRIu64 " left; check the right to delete, "
			"then run the command again", done.stuck);
	return r == EXIT_DONE && done.stuck ? EXIT_UNASKED : r;
}
