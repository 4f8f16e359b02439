/* symfs symbolicate MINIDUMP: prints the stacks of a minidump, with names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/symbolicate.h"
#include "derive/derive.h"
#include "walk/walk.h"

#include <stdio.h>
#include <string.h>

bool symbolicate_is_minidump(const char *path)
{
	_cleanup_close_ int fd = -1;
	struct err e = {0};
	uint64_t size;
	char magic[4];

	return path && strcmp(path, "-") != 0 && path_open_file(path, &fd, &size, &e) == 0 &&
	       pread(fd, magic, 4, 0) == 4 && memcmp(magic, "MDMP", 4) == 0;
}

static int answer(struct app *app, struct view *v, struct derive *d, const struct walk_names *names, struct err *e)
{
	struct walk_source from = {.fetch = app->fetch, .derive = d, .stop = &symbolicate_stopped};
	_cleanup_buf_ struct buf out = BUF_UP_TO(SYMB_REPLY_MOST);
	int r = walk_answer(v, &from, names, app->args.json, &out, e);

	if (r == 0 && fwrite(buf_text(&out), 1, out.n, stdout) != out.n)
		r = err_set(e, -EIO, "cannot write the answer");
	return r;
}

static int serve(struct app *app, struct view *v, const struct symb_flags *flags, struct err *e)
{
	struct walk_names names = {.flags = flags};
	struct derive *d = NULL;
	int r = symb_new(&names.symb, app->fetch, &app->limits, e);

	if (r < 0)
		return r;
	symbolicate_running(names.symb);
	r = derive_new(&d, app->fetch);
	r = r < 0 ? err_set(e, r, "cannot start conversions: %s", err_text(r)) : answer(app, v, d, &names, e);
	symbolicate_running(NULL);
	derive_free(d);
	symb_free(names.symb);
	return r;
}

int symbolicate_minidump(struct app *app, const char *path, const struct symb_flags *flags)
{
	_cleanup_close_ int fd = -1;
	struct err e = {0};
	struct view v;
	uint64_t size = 0;
	int r = path_open_file(path, &fd, &size, &e);

	if (r == 0) {
		v = view_of_fd(fd, size);
		r = serve(app, &v, flags, &e);
	}
	if (atomic_load(&symbolicate_stopped))
		return EXIT_INTERRUPTED;
	if (r < 0)
		fprintf(stderr, "symfs symbolicate: %s: %s\n", path, e.text);
	return r == 0 ? EXIT_DONE : r == -EBADMSG || r == -ENODATA || r == -ENOMSG || r == -E2BIG ? EXIT_NO
		: EXIT_LOCAL;
}
