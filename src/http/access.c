/* The access log: one line per request, in the form that most tools for web servers read, with the milliseconds at
 * its end. The audit log: a JSON object per line for each uploaded file, each removal, and each refusal. Uploads and
 * errors also go into the journal of the space, for the page. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/jtext.h"
#include "base/log.h"
#include "base/util.h"
#include "http/upload/upload.h"
#include "names/layout/name.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define FIELD_MOST (16u << 10) /* bytes of one field of the log that a client sent */

/* Opens a log, or opens it again. `what` is its name in messages. */
static int open_log(const char *path, atomic_int *log_fd, const char *what, struct err *e)
{
	int fd = STDERR_FILENO, old;

	if (!path)
		return 0;
	if (strcmp(path, "-") != 0) {
		/* Neither opening a pipe nor writing to it waits for its reader. */
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
		if (fd < 0)
			return err_set(e, -errno, "%s %s: %s", what, path,
				errno == ENXIO ? "no program reads this pipe" : err_text(errno));
	}
	/* The descriptor keeps its number, so a thread that writes now has the old file or the new one. */
	old = atomic_load(log_fd);
	if (old < 0 || old == STDERR_FILENO)
		atomic_store(log_fd, fd);
	else if (dup3(fd, old, O_CLOEXEC) >= 0)
		close(fd);
	return 0;
}

int access_open(struct http *h, struct err *e)
{
	int r = open_log(h->log_path, &h->log_fd, "access log", e);

	return r < 0 ? r : open_log(h->audit_path, &h->audit_fd, "audit log", e);
}

void http_reopen_log(struct http *h)
{
	struct err e;

	if (access_open(h, &e) < 0)
		log_error("%s", e.text);
}

/* ---- the target in logs and messages: without the secrets that it may have ------- */

/* The key of an upload in "v1/uploads/KEY:complete" stands for a token. The client may have encoded the path, or
 * mistyped it, so everything behind the slash stays out of the log. */
static bool has_upload_key(const struct exchange *x, bool *completes)
{
	static const char before[] = "v1/uploads/";
	const char *path = x->route->path;

	*completes = name_ends(path, ":complete");
	return strncasecmp(path, before, strlen(before)) == 0 || strcasestr(x->target, before);
}

/* Adds the target of the request, without its secrets: the value of `key` in its query, which is a token, and the key
 * of an upload in its path. */
static void target_add(const struct exchange *x, struct buf *out)
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

/* ---- the access log --------------------------------------------------------------- */

/* A client can send any bytes, and many of them; an escape is four times as long as its byte. So each field
 * is cut, and the whole line fits in its buffer. */
static void add_quoted(struct buf *out, const char *text)
{
	size_t end = out->n + FIELD_MOST;

	buf_adds(out, "\"");
	for (const unsigned char *p = (const unsigned char *)(text ? text : "-"); *p; p++) {
		if (out->n >= end) {
			buf_adds(out, "...");
			break;
		}
		if (*p < 0x20 || *p >= 0x7f || *p == '"' || *p == '\\')
			buf_addf(out, "\\x%02x", *p);
		else
			buf_add(out, p, 1);
	}
	buf_adds(out, "\"");
}

/* One write() per line, so that the lines of several threads do not mix. */
static void access_write(struct http *h, struct exchange *x, bool cut)
{
	_cleanup_buf_ struct buf line = BUF_UP_TO(3 * FIELD_MOST + 1024),
				 request = BUF_UP_TO(HTTP_HEAD_MOST + 64);
	int fd = atomic_load(&h->log_fd);
	time_t now = clock_wall();
	struct tm tm = {0};
	char when[64];

	if (fd < 0)
		return;
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%d/%b/%Y:%H:%M:%S +0000", &tm);
	buf_addf(&request, "%s ", x->method ? x->method : "-");
	target_add(x, &request);
	buf_adds(&request, " HTTP/1.1");
	buf_addf(&line, "%s - %s [%s] ", x->conn && x->conn->peer[0] ? x->conn->peer : "-",
		exchange_user(x), when);
	add_quoted(&line, buf_text(&request));
	buf_addf(&line, " %d %" PRIu64 " ", x->status, x->bytes);
	add_quoted(&line, exchange_header(x, "Referer"));
	buf_adds(&line, " ");
	add_quoted(&line, exchange_header(x, "User-Agent"));
	buf_addf(&line, " %" PRIu64 "ms%s\n", clock_ms() - x->began, cut ? " cut" : "");
	if (write(fd, line.p, line.n) < 0)
		log_debug(LOG_HTTP, "access log: %s", err_text(errno));
}

/* ---- the audit log and the journal ----------------------------------------------- */

#define LINE_MOST (8 * HTTP_HEAD_MOST)

static void set(char *out, size_t room, const char *text)
{
	snprintf(out, room, "%s", text ? text : "");
}

/* Keeps the line in place of the oldest. Any thread. */
static void journal_add(struct journal *j, enum journal_kind kind, const struct audit_line *l)
{
	LOCK_SCOPE(&j->lock);
	struct journal_ring *r = &j->rings[kind];
	struct journal_line *line = &r->lines[r->next++ % JOURNAL_LINES];
	char room[KEY_TEXT];

	line->when = clock_wall();
	line->status = l->status;
	set(line->event, sizeof(line->event), l->event);
	set(line->user, sizeof(line->user), l->user);
	set(line->file, sizeof(line->file), l->file ? l->file : l->target);
	set(line->key, sizeof(line->key), l->key ? key_text(l->key, room) : NULL);
	set(line->why, sizeof(line->why), l->why);
}

unsigned journal_read(struct journal *j, enum journal_kind kind, int64_t since, struct journal_line *out,
	unsigned most)
{
	LOCK_SCOPE(&j->lock);
	const struct journal_ring *r = &j->rings[kind];
	unsigned n = 0;

	for (uint64_t i = r->next; i > 0 && r->next - i < JOURNAL_LINES && n < most; i--) {
		const struct journal_line *line = &r->lines[(i - 1) % JOURNAL_LINES];

		if (line->when < since)
			break;
		out[n++] = *line;
	}
	return n;
}

static void add_member(struct buf *out, const char *name, const char *text)
{
	if (!text)
		return;
	buf_addf(out, ",\"%s\":", name);
	jtext_add(out, text);
}

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
		journal_add(&s->journal, JOURNAL_UPLOADS, l);
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
static void audit_refusal(struct exchange *x)
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
static void audit_answer(struct exchange *x)
{
	_cleanup_buf_ struct buf target = BUF_UP_TO(HTTP_HEAD_MOST + 64);
	bool refused = x->upload && x->status >= 400 && x->status != 404;

	if ((x->status < 500 && !refused) || x->status == 401 || x->status == 403 || is_foreign(x))
		return;
	buf_addf(&target, "%s ", x->method ? x->method : "-");
	target_add(x, &target);
	journal_add(&x->space->journal, JOURNAL_ERRORS, &(struct audit_line){.status = x->status,
		.target = buf_text(&target),
		.user = exchange_user(x),
		.why = refused ? x->upload->e.text : x->answer.why});
}

void access_end(struct exchange *x, bool cut)
{
	audit_refusal(x);
	audit_answer(x);
	access_write(x->h, x, cut);
}
