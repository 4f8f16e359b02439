/* The search of the status page: a path of any layout, a key as `symfs cache ls` prints it, or an
 * identifier alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "http/private.h"

#include <stdio.h>
#include <string.h>

#define KNOWN_MOST 8 /* files of one type and identifier, by different names */

struct results {
	struct http *h;
	struct artifact *list;
	unsigned n;
};

static void add(struct results *r, enum filetype t, const struct module *m)
{
	struct artifact a = {.type = t, .m = *m};
	struct key k, have;

	if (r->n == SEARCH_MOST || key_of(&k, &a) < 0)
		return;
	for (unsigned i = 0; i < r->n; i++)
		if (key_of(&have, &r->list[i]) == 0 && key_equal(&have, &k))
			return;
	r->list[r->n++] = a;
}

static void add_key(struct results *r, const struct key *k)
{
	struct artifact a;

	key_artifact(k, &a);
	add(r, a.type, &a.m);
}

/* Adds the types that an identifier alone can name. Of types that also need a name, only known files. */
static void add_types(struct results *r, const struct module *m)
{
	static const enum filetype types[] = {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE, FILETYPE_MACH_DEBUG,
		FILETYPE_MACH_CODE, FILETYPE_WASM_DEBUG, FILETYPE_BREAKPAD, FILETYPE_PDB, FILETYPE_PORTABLEPDB,
		FILETYPE_PE};
	_cleanup_free_ struct key *known = calloc(KNOWN_MOST, sizeof(*known));

	for (unsigned i = 0; known && i < ARRAY_SIZE(types); i++) {
		struct artifact a = {.type = types[i], .m = *m};
		bool by_name = filetype_is(types[i], TYPE_LEARNS);
		struct key k;
		int n;

		a.m.object = filetype_row(types[i])->object;
		/* Keys of these types need a name; the look-up ignores it. */
		if (by_name) {
			snprintf(a.m.code_file, sizeof(a.m.code_file), "x");
			snprintf(a.m.debug_file, sizeof(a.m.debug_file), "x");
		}
		if (key_of(&k, &a) < 0)
			continue;
		n = store_keys_with_id(fetch_store(r->h->fetch), &k, known, KNOWN_MOST);
		for (int j = 0; j < n; j++)
			add_key(r, &known[j]);
		if (!by_name)
			add(r, types[i], &a.m);
	}
}

/* Reads the digits of an identifier, without dashes and braces. False: not an identifier. */
static bool read_id(const char *text, char digits[static MODULE_ID_TEXT])
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

static void search_id(struct results *r, const char *digits)
{
	struct module by_code = {0}, by_debug = {0};

	if (debug_id_parse(&by_debug.debug_id, digits, strlen(digits)) == 0)
		add_types(r, &by_debug);
	if (module_set_code_id(&by_code, digits, strlen(digits)) == 0)
		add_types(r, &by_code);
}

unsigned search(struct http *h, const char *words, struct artifact *out)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	struct results r = {h, out, 0};
	char digits[MODULE_ID_TEXT];
	struct key k;

	if (!hit)
		return 0;
	tree_parse(words + strspn(words, "/"), hit);
	for (unsigned i = 0; i < hit->n; i++)
		add(&r, hit->files[i].type, &hit->files[i].m);
	if (r.n)
		return r.n;
	if (key_parse(&k, words) == 0)
		add_key(&r, &k);
	else if (read_id(words, digits))
		search_id(&r, digits);
	return r.n;
}
