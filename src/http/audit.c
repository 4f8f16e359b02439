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
void audit_add(struct http *h, const struct audit_line *l)
{
	_cleanup_buf_ struct buf line = BUF_UP_TO(LINE_MOST);
	int fd = atomic_load(&h->audit_fd);
	char now[24], key[KEY_TEXT];

	if (fd < 0)
		return;
	clock_print(clock_wall(), now);
	buf_addf(&line, "{\"time\":\"%s\",\"event\":\"%s\"", now, l->event);
	add_member(&line, "user", l->user);
	add_member(&line, "namespace", l->space);
	add_member(&line, "peer", l->peer);
	add_member(&line, "method", l->method);
	add_member(&line, "target", l->target);
	if (l->status)
		buf_addf(&line, ",\"status\":%d", l->status);
	add_member(&line, "file", l->file);
	add_member(&line, "key", l->key ? key_text(l->key, key) : NULL);
	add_member(&line, "why", l->why);
	buf_adds(&line, "}\n");
	if (write(fd, line.p, line.n) < 0)
		log_debug(LOG_HTTP, "audit log: %s", err_text(errno));
}

void audit_write(struct exchange *x, const char *event, const char *file, const struct key *k, const char *why)
{
	_cleanup_buf_ struct buf target = BUF_UP_TO(HTTP_HEAD_MOST + 64);

	target_add(x, &target);
	audit_add(x->h, &(struct audit_line){.event = event,
		.user = exchange_user(x),
		.space = x->space->name,
		.peer = x->conn && x->conn->peer[0] ? x->conn->peer : NULL,
		.method = x->method,
		.target = buf_text(&target),
		.status = x->status,
		.file = file,
		.key = k,
		.why = why});
}
