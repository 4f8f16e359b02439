/* An error with a text for users. Functions return a negative errno; functions whose errors users read also
 * fill a `struct err`. A struct err owns no memory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

struct err {
	int code;
	char text[480];
};

/* Returns `code`, so that `return err_set(e, -EINVAL, "line %u: ...", n);` reads well.
 * `e` may be NULL. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts `what: ` in front of the text that a called function has set. Returns e->code, or -EIO if `e` is
 * NULL. */
int err_wrap(struct err *e, const char *what);

/* "No such file or directory" for -ENOENT (the sign does not matter). Any thread. */
const char *err_text(int code);

/* The text of `e`, or that of `code` if no function has set one. */
static inline const char *err_why(const struct err *e, int code)
{
	return e->text[0] ? e->text : err_text(code);
}

/* "ENOENT" for -ENOENT; "E?" for a number that has no name. */
const char *err_name(int code);
