/* The access log: one line per request, in the form that most tools for web servers read, with the
 * milliseconds at its end. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "http/private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
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
void access_write(struct http *h, struct exchange *x, bool cut)
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
