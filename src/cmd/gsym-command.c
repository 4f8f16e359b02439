/* Shared by the commands of `symfs gsym`: error messages, exit statuses, opening a GSYM file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/gsym-command.h"
#include "cmd/json.h"

#include <stdio.h>

/* The command in messages. */
static const char *self = "gsym";

void gsym_called(const char *name)
{
	self = name;
}

int gsym_fail(const char *path, const struct err *e)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(16 << 10), text = BUF_UP_TO(4 << 10);

	fprintf(stderr, "symfs %s: %s%s%s\n", self, path ? text_shown(path, true, &name) : "",
		path ? ": " : "",
		text_shown(e->text[0] ? e->text : err_text(e->code), true, &text));
	return e->code == -ENOMSG || e->code == -ENODATA || e->code == -ENOTSUP ? EXIT_NO
										: EXIT_LOCAL;
}

int gsym_usage(const char *what)
{
	fprintf(stderr, "symfs %s: %s; try: symfs %s --help\n", self, what, self);
	return EXIT_USAGE;
}

int gsym_flushed(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "symfs %s: %s\n", self, err_text(errno));
	return EXIT_LOCAL;
}

void gsym_file_release(struct gsym_file *o)
{
	gsym_release(&o->g);
	map_release(&o->file);
	buf_release(&o->made);
}

int gsym_file_open(struct gsym_file *o, const struct gsym_run *run)
{
	struct err e = {0};
	int r;

	if (run->argc != 1)
		return gsym_usage(run->argc ? "expected only one file" : "expected a file");
	r = map_file(&o->file, run->argv[0], &e);
	if (r == 0)
		r = gsym_open(&o->g, o->file, &e);
	return r < 0 ? gsym_fail(run->argv[0], &e) : -1;
}
