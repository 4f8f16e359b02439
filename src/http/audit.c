/* The audit log: a JSON object per line for each uploaded file, each removal, and each refusal. Uploads and errors
 * also go into the journal of the space, for the page. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/jtext.h"
#include "base/log.h"
#include "base/util.h"
#include "http/upload.h"

#include <stdio.h>
#include <string.h>

#define LINE_MOST (8 * HTTP_HEAD_MOST)

/* ---- the log ------------------------------------------------------------------------- */

static void add_member(struct buf *out, const char *name, const char *text)
{
	if (!text)
		return;
	buf_addf(out, ",\"%s\":", name);
	jtext_add(out, text);
}

/* One write() per line, so that the lines of several threads do not mix. */
static void write_line(struct http *h, const struct audit_line *l)
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

/* A refusal without a file is one of the client and not of a file. */
void audit_add(struct http *h, struct space *s, const struct audit_line *l)
{
	write_line(h, l);
	if (l->file || l->key)
		journal_add(s->journal, JOURNAL_UPLOADS, l);
}

void audit_write(struct exchange *x, const char *event, const char *file, const struct key *k, const char *why)
{
	_cleanup_buf_ struct buf target = BUF_UP_TO(HTTP_HEAD_MOST + 64);

	if (x->upload && file && strcmp(event, "refused") == 0)
		x->upload->audited = true;
	target_add(x, &target);
	audit_add(x->h, x->space, &(struct audit_line){.event = event,
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

/* A refused file has a line of its own already. */
void audit_refusal(struct exchange *x)
{
	const struct upload *u = x->upload;
	const char *why = x->status == 401 ? "no valid token" : x->status == 403 ? "no right" : NULL;

	if (!why && u && x->status >= 400 && !u->audited)
		why = u->e.text[0] ? u->e.text : "refused";
	if (why)
		audit_write(x, "refused", NULL, NULL, why);
}

/* Whether the holders of other tokens may not see what the request asks for: it has no valid token, or its namespace
 * could not be opened. */
static bool is_foreign(const struct exchange *x)
{
	return x->h->auth && (!x->known || strcmp(x->token.space, x->space->name) != 0);
}

/* Errors of answers: a source or this machine failed, or an upload was refused. */
void audit_answer(struct exchange *x)
{
	_cleanup_buf_ struct buf target = BUF_UP_TO(HTTP_HEAD_MOST + 64);
	bool refused = x->upload && x->status >= 400 && x->status != 404;

	if ((x->status < 500 && !refused) || x->status == 401 || x->status == 403 || is_foreign(x))
		return;
	buf_addf(&target, "%s ", x->method ? x->method : "-");
	target_add(x, &target);
	journal_add(x->space->journal, JOURNAL_ERRORS, &(struct audit_line){.status = x->status,
		.target = buf_text(&target),
		.user = exchange_user(x),
		.why = refused ? x->upload->e.text : x->answer.why});
}
