/* Symbol servers over HTTP: any layout under a base URL; and debuginfod, whose layout is its API.
 * A stock debuginfod answers GET only (HEAD is 400), no ranges, and 503 for an id that is not
 * lower-case hex of whole bytes: what we ask it for never is. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/plan.h"
#include "source/sources.h"
#include "source/url.h"

#include <errno.h>

static int http_plan(
	const struct source *s, const struct artifact *a, unsigned nth, struct source_ask *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX), url = BUF_UP_TO(8192);
	int r = plan_path(s, a, nth, &path, out->spelling);

	if (r == 0)
		r = url_join(&url, s->o.url, buf_text(&path));
	if (r < 0)
		return r;
	out->where = buf_take(&url, NULL);
	return out->where ? 0 : -ENOMEM;
}

const struct source_kind source_http = {"http", "native", false, http_plan};
const struct source_kind source_debuginfod = {"debuginfod", "debuginfod", false, http_plan};
