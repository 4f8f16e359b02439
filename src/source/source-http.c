/* The kinds "http" (any layout under a base URL) and "debuginfod" (whose layout is its API). A stock
 * debuginfod answers GET only (HEAD gets 400) and ignores ranges. Such a server answers 503 to an id that
 * is not lower-case hex of whole bytes; symfs never sends one. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/plan.h"
#include "source/kinds.h"
#include "source/url.h"

#include <errno.h>
#include <stdio.h>

/* Adds the checksum of a Portable PDB, which NuGet's server requires. Only the PE file contains the
 * checksum, but the server does not compare it, so a placeholder will do. */
static int checksum_header(const struct source *s, const struct artifact *a, struct source_ask *out)
{
	static const char none[] = "SHA256:00000000000000000000000000000000"
				   "00000000000000000000000000000000";
	const char *checksum = a->m.checksum[0] ? a->m.checksum : none;

	if (a->type != FILETYPE_PORTABLEPDB ||
		(checksum == none && !s->o.checksum_placeholder))
		return 0;
	if (asprintf(&out->header, "SymbolChecksum: %s", checksum) < 0) {
		out->header = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int http_plan(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct source_ask *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX), url = BUF_UP_TO(8192);
	int r = plan_path(s, facts, a, nth, &path, out);

	if (r == 0)
		r = url_join(&url, s->o.url, buf_text(&path));
	if (r < 0)
		return r;
	out->where = buf_take(&url, NULL);
	return out->where ? checksum_header(s, a, out) : -ENOMEM;
}

/* In the debuginfod protocol, status 406 means that the file is larger than the request allowed. */
static void debuginfod_judge(const struct source *s, const struct net_reply *r, struct judgement *out)
{
	if (r->status == 406 && s->o.max_file_size)
		out->error = -EFBIG;
}

const struct source_kind source_http = {.name = "http", .layout = "native", .plan = http_plan};
const struct source_kind source_debuginfod = {
	.name = "debuginfod",
	.layout = "debuginfod",
	.no_ranges = true,
	.by_layout = true,
	.plan = http_plan,
	.judge = debuginfod_judge,
};
