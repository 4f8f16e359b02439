/* Writes JSON documents. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/json.h"
#include "base/err.h"
#include "base/jtext.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- documents ---------------------------------------------------------------------- */

void json_init(struct json *j, bool compact)
{
	j->text = BUF_UP_TO((size_t)UINT32_MAX);
	j->compact = compact;
	json_clear(j);
}

void json_release(struct json *j)
{
	buf_release(&j->text);
}

void json_clear(struct json *j)
{
	buf_clear(&j->text);
	j->depth = 0;
}

static void json_break_line(struct json *j)
{
	if (!j->compact)
		buf_addf(&j->text, "\n%*s", (int)(2 * j->depth), "");
}

/* Whether the innermost open array or object is empty: the text then ends with an opening bracket. No value ends
 * with such a bracket, because a string ends with a quote. */
static bool json_is_empty(const struct json *j)
{
	return j->text.n == 0 || strchr("[{", j->text.p[j->text.n - 1]);
}

/* Writes the text that comes before a value: a comma, a line break, the name. */
static void json_begin_value(struct json *j, const char *name)
{
	if (!json_is_empty(j))
		buf_add(&j->text, ",", 1);
	if (j->depth)
		json_break_line(j);
	if (name) {
		jtext_add(&j->text, name);
		buf_add(&j->text, ":", 1);
	}
}

static void json_open(struct json *j, const char *name, char opening, char closing)
{
	json_begin_value(j, name);
	buf_add(&j->text, &opening, 1);
	if (j->depth < JSON_DEPTH)
		j->closing[j->depth++] = closing;
	else if (j->text.r == 0)
		j->text.r = -EFBIG;
}

void json_begin_object(struct json *j, const char *name)
{
	json_open(j, name, '{', '}');
}

void json_begin_array(struct json *j, const char *name)
{
	json_open(j, name, '[', ']');
}

void json_end(struct json *j)
{
	bool empty = json_is_empty(j);

	if (j->depth == 0)
		return;
	j->depth--;
	if (!empty)
		json_break_line(j);
	buf_add(&j->text, &j->closing[j->depth], 1);
}

void json_string(struct json *j, const char *name, const char *text)
{
	json_begin_value(j, name);
	jtext_add(&j->text, text);
}

void json_null(struct json *j, const char *name)
{
	json_begin_value(j, name);
	buf_adds(&j->text, "null");
}

void json_text(struct json *j, const char *name, const char *text)
{
	if (text && text[0])
		json_string(j, name, text);
	else
		json_null(j, name);
}

void json_number(struct json *j, const char *name, long long n)
{
	json_begin_value(j, name);
	buf_addf(&j->text, "%lld", n);
}

void json_number_or_null(struct json *j, const char *name, long long n)
{
	if (n)
		json_number(j, name, n);
	else
		json_null(j, name);
}

void json_boolean(struct json *j, const char *name, bool value)
{
	json_begin_value(j, name);
	buf_adds(&j->text, value ? "true" : "false");
}

int json_print(struct json *j)
{
	int r;

	while (j->depth)
		json_end(j);
	r = buf_add(&j->text, "\n", 1);
	if (r == 0 && (fwrite(j->text.p, 1, j->text.n, stdout) != j->text.n || fflush(stdout) != 0))
		r = -errno;
	json_release(j);
	return r < 0 ? cmd_say(EXIT_LOCAL, "stdout: %s", err_text(r)) : EXIT_DONE;
}

int json_finish(struct json *j, bool wanted, int status)
{
	int r = wanted ? json_print(j) : cmd_flush(EXIT_DONE);

	json_release(j);
	return r == EXIT_DONE ? status : r;
}
