/* The audit log: a JSON object per line for each uploaded file, each removal, and each refusal. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/jtext.h"
#include "base/log.h"
#include "base/util.h"
#include "http/private.h"

#include <string.h>

#define LINE_MOST (8 * HTTP_HEAD_MOST)

static void add_member(struct buf *out, const char *name, const char *text)
{
	if (!text)
		return;
	buf_addf(out, ",\"%s\":", name);
	jtext_add(out, text);
}

/* One write() per line, so that the lines of several threads do not mix. */
void audit_write(struct exchange *x, const char *event, const char *file, const struct key *k, const char *why)
{
	_cleanup_buf_ struct buf line = BUF_UP_TO(LINE_MOST), target = BUF_UP_TO(HTTP_HEAD_MOST + 64);
	int fd = atomic_load(&x->h->audit_fd);
	char now[24], key[KEY_TEXT];

	if (fd < 0)
		return;
	clock_print(clock_wall(), now);
	access_add_target(x, &target);
	buf_addf(&line, "{\"time\":\"%s\",\"event\":\"%s\"", now, event);
	add_member(&line, "user", exchange_user(x));
	add_member(&line, "namespace", x->space->name);
	add_member(&line, "peer", x->conn && x->conn->peer[0] ? x->conn->peer : NULL);
	add_member(&line, "method", x->method);
	add_member(&line, "target", buf_text(&target));
	if (x->status)
		buf_addf(&line, ",\"status\":%d", x->status);
	add_member(&line, "file", file);
	add_member(&line, "key", k ? key_text(k, key) : NULL);
	add_member(&line, "why", why);
	buf_adds(&line, "}\n");
	if (write(fd, line.p, line.n) < 0)
		log_debug(LOG_HTTP, "audit log: %s", err_text(errno));
}
