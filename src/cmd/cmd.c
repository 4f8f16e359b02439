/* What all commands do alike: messages on stderr, exit statuses, the end of the output. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/cmd.h"
#include "base/utf8.h"
#include "base/util.h"

#include <stdarg.h>
#include <stdio.h>

static const char *called = ""; /* the command in messages */

void cmd_called(const char *name)
{
	called = name;
}

static void say(const char *fmt, va_list args, const char *advice)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);
	_cleanup_free_ char *text = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	fprintf(stderr, "symfs%s%s: %s%s%s%s\n", *called ? " " : "", called,
		text ? text_shown(text, true, &room) : err_text(ENOMEM), advice, *advice ? called : "",
		*advice ? " --help" : "");
}

int cmd_say(int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args, "");
	va_end(args);
	return status;
}

int cmd_usage(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args, "; try: symfs ");
	va_end(args);
	return EXIT_USAGE;
}

int cmd_fail(const char *path, const struct err *e)
{
	bool none = e->code == -ENOMSG || e->code == -ENODATA || e->code == -ENOTSUP;

	return cmd_say(none ? EXIT_NO : EXIT_LOCAL, "%s: %s", path, err_why(e, e->code));
}

int cmd_flush(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	return cmd_say(EXIT_LOCAL, "stdout: %s", err_text(errno));
}
