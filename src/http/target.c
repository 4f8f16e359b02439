/* The target of a request as logs and messages show it: without the secrets that it may have. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/private.h"
#include "layout/name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The key of an upload in "v1/uploads/KEY:complete" stands for a token. The client may have encoded the path, or
 * mistyped it, so everything behind the slash stays out of the log. */
static bool has_upload_key(const struct exchange *x, bool *completes)
{
	static const char before[] = "v1/uploads/";
	const char *path = x->route->path;

	*completes = name_ends(path, ":complete");
	return strncasecmp(path, before, strlen(before)) == 0 || strcasestr(x->target, before);
}

void target_add(const struct exchange *x, struct buf *out)
{
	const char *p = x->target, *at = strchr(p, '?');
	bool completes;

	if (has_upload_key(x, &completes)) {
		buf_addf(out, "/v1/uploads/-%s", completes ? ":complete" : "");
		p += strcspn(p, "?");
	}
	for (; at; at = strchr(at + 1, '&')) {
		if (strncmp(at + 1, "key=", 4) != 0)
			continue;
		buf_add(out, p, (size_t)(at + 5 - p));
		buf_adds(out, "...");
		p = at + 5 + strcspn(at + 5, "&#");
	}
	buf_adds(out, p);
}

const char *target_shown(const struct exchange *x, char out[static TARGET_TEXT])
{
	_cleanup_buf_ struct buf target = BUF_UP_TO(HTTP_HEAD_MOST + 64);

	target_add(x, &target);
	snprintf(out, TARGET_TEXT, "%s", buf_text(&target));
	return out;
}
