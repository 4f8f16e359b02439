/* Printing of text and of JSON. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/json.h"
#include "base/err.h"
#include "base/utf8.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>

const char *text_shown(const char *text, bool terminal, struct buf *room)
{
	const unsigned char *p = (const unsigned char *)text;

	buf_clear(room);
	while (*p) {
		unsigned n = utf8_length(p);
		bool control = *p < ' ' || *p == 0x7f || (*p == 0xc2 && n == 2 && p[1] < 0xa0);

		if (n && !(control && terminal)) {
			if (buf_add(room, p, n) < 0)
				break;
			p += n;
		} else if (buf_addf(room, "\\x%02x", *p++) < 0) {
			break;
		}
	}
	return buf_text(room);
}

void json_add_text(struct json_object *o, const char *name, const char *text)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);

	json_object_object_add(o, name,
		text && text[0] ? json_object_new_string(text_shown(text, false, &room)) : NULL);
}

void json_add_number(struct json_object *o, const char *name, long long n)
{
	json_object_object_add(o, name, json_object_new_int64(n));
}

int json_print(struct json_object *o)
{
	int r = printf("%s\n", json_object_to_json_string_ext(o,
		JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));

	json_object_put(o);
	if (r >= 0 && fflush(stdout) == 0)
		return EXIT_DONE;
	fprintf(stderr, "symfs: stdout: %s\n", err_text(errno));
	return EXIT_LOCAL;
}
