/* Fuzzes the texts of keys and debug ids, as `.key` files have them and people write them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "names/id/key.h"

#include <stdlib.h>
#include <string.h>

FUZZ_TARGET("key", p, n)
{
	char *text = strndup((const char *)p, n), room[KEY_TEXT], other[DEBUG_ID_TEXT];
	struct debug_id d, again;
	struct artifact a;
	struct key k, same;

	if (!text)
		abort();
	if (key_parse(&k, text) == 0) {
		if (key_parse(&same, key_text(&k, room)) < 0 || !key_equal(&k, &same))
			abort();
		key_artifact(&k, &a);
	}
	if (debug_id_parse(&d, text, strlen(text)) == 0) {
		debug_id_text(&d, other);
		if (debug_id_parse(&again, other, strlen(other)) < 0 || !debug_id_equal(&d, &again))
			abort();
		debug_id_breakpad(&d, other);
	}
	free(text);
	return 0;
}
