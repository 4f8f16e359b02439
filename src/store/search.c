/* Finds the artifacts that an identifier alone can name, by its length and by the keys in the index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/search.h"
#include "base/hash.h"
#include "base/util.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define KNOWN_MOST 8 /* files of one type and identifier, by different names */
#define SHA1_DIGITS 40

void search_add(struct search *r, enum filetype t, const struct module *m)
{
	struct artifact a = {.type = t, .m = *m};
	struct key k, have;

	if (r->n == r->most || key_of(&k, &a) < 0)
		return;
	for (unsigned i = 0; i < r->n; i++)
		if (key_of(&have, &r->list[i]) == 0 && key_equal(&have, &k))
			return;
	r->list[r->n++] = a;
}

void search_add_key(struct search *r, const struct key *k)
{
	struct artifact a;

	key_artifact(k, &a);
	search_add(r, a.type, &a.m);
}

/* Adds the types that an identifier alone can name. Of the types that also need a name, adds only known
 * files. */
static void add_types(struct search *r, const struct module *m)
{
	static const enum filetype types[] = {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE, FILETYPE_MACH_DEBUG,
		FILETYPE_MACH_CODE, FILETYPE_WASM_DEBUG, FILETYPE_BREAKPAD, FILETYPE_PDB, FILETYPE_PORTABLEPDB,
		FILETYPE_PE};
	_cleanup_free_ struct key *known = calloc(KNOWN_MOST, sizeof(*known));

	for (unsigned i = 0; known && i < ARRAY_SIZE(types); i++) {
		struct artifact a = {.type = types[i], .m = *m};
		bool by_name = filetypes[types[i]].flags & TYPE_LEARNS;
		struct key k;
		int n;

		if (m->object && filetypes[types[i]].object != m->object)
			continue;
		a.m.object = filetypes[types[i]].object;
		/* Keys of these types need a name; the look-up ignores the name. */
		if (by_name) {
			snprintf(a.m.code_file, sizeof(a.m.code_file), "x");
			snprintf(a.m.debug_file, sizeof(a.m.debug_file), "x");
		}
		if (key_of(&k, &a) < 0)
			continue;
		n = store_keys_with_id(r->store, &k, known, KNOWN_MOST);
		for (int j = 0; j < n; j++)
			search_add_key(r, &known[j]);
		if (!by_name)
			search_add(r, types[i], &a.m);
	}
}

bool search_digits(const char *text, char digits[static MODULE_ID_TEXT])
{
	size_t n = 0;

	for (; *text; text++) {
		if (strchr("-{}", *text))
			continue;
		if (hex_value(*text) < 0 || n + 1 == MODULE_ID_TEXT)
			return false;
		digits[n++] = *text;
	}
	digits[n] = '\0';
	return n >= 8;
}

bool search_is_pe(const char *digits)
{
	size_t n = strlen(digits);

	return n > 10 && n < 16 && strcmp(digits + n - 3, "000") == 0;
}

void search_id(struct search *r, const char *text)
{
	struct module by_code = {0}, by_debug = {0};
	char digits[MODULE_ID_TEXT];
	bool code, debug;

	if (!search_digits(text, digits))
		return;
	/* More than a GUID and less than a SHA-1: a GUID and an age. */
	code = (strlen(digits) <= 32 || strlen(digits) >= SHA1_DIGITS) &&
	       module_set_code_id(&by_code, digits, strlen(digits)) == 0;
	by_code.object = search_is_pe(digits) ? OBJECT_PE : OBJECT_UNKNOWN;
	debug = debug_id_parse(&by_debug.debug_id, digits, strlen(digits)) == 0;
	/* 40 digits are nearly always a build id, and seldom a GUID with a stamp. */
	if (code && strlen(digits) == SHA1_DIGITS)
		add_types(r, &by_code);
	if (debug)
		add_types(r, &by_debug);
	if (code)
		add_types(r, &by_code);
}
