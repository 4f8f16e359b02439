/* What `symfs push` prints: progress, refused files, and the error that ends the command. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/push.h"

#include <inttypes.h>
#include <stdio.h>

void push_show(struct push *p, const char *what)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	uint64_t now = clock_ms(), done = p->added + p->present + p->refused;

	if (!p->progress || now - p->shown < 200)
		return;
	p->shown = now;
	fprintf(stderr, "\r\033[K%" PRIu64 " of %zu files, %.1f of %.1f MB sent: %.60s", done, p->n_files,
		(double)atomic_load(&p->sent) / 1e6, (double)p->to_send / 1e6, text_shown(what, true, &room));
}

void push_show_end(struct push *p)
{
	if (p->shown)
		fprintf(stderr, "\r\033[K");
	p->shown = 0;
}

void push_refuse(struct push *p, const struct push_file *f, const char *why)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10), text = BUF_UP_TO(4 << 10);

	push_show_end(p);
	printf("%s: refused: %s\n", text_shown(f->path, true, &room), text_shown(why, true, &text));
	p->refused++;
	if (p->status == EXIT_DONE)
		p->status = EXIT_NO;
}

int push_fail(struct push *p, int status, const char *text)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(4 << 10);

	push_show_end(p);
	if (p->status < EXIT_USAGE)
		fprintf(stderr, "symfs push: %s\n", text_shown(text, true, &room));
	p->status = MAX(p->status, status);
	return -1;
}
