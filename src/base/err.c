/* Errors with a text for users. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

int err_wrap(struct err *e, const char *what)
{
	char old[sizeof(e->text)];

	if (!e)
		return -EIO;
	memcpy(old, e->text, sizeof(old));
	snprintf(e->text, sizeof(e->text), "%.200s: %.270s", what, old);
	return e->code;
}

const char *err_text(int code)
{
	const char *s = strerrordesc_np(abs(code));

	return s ? s : "unknown error";
}

const char *err_name(int code)
{
	const char *s = strerrorname_np(abs(code));

	return s ? s : "E?";
}
