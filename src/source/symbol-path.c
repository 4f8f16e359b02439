/* Parses _NT_SYMBOL_PATH as dbghelp and symsrv do. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/symbol-path.h"
#include "base/utf8.h"
#include "base/util.h"

#include <string.h>
#include <strings.h>

#define BLANKS " \t\r\n\""

enum mode { MODE_PLAIN, MODE_SERVER, MODE_CACHE, MODE_DEBUGINFOD };

static const struct keyword {
	const char *word;
	enum mode mode;
	bool dll; /* the name of a DLL follows */
} keywords[] = {
	{"srv", MODE_SERVER, false},
	{"symsrv", MODE_SERVER, true},
	{"cache", MODE_CACHE, false},
	{"DebugInfoD", MODE_DEBUGINFOD, false},
};

/* The state while parsing one element. */
struct walk {
	int (*each)(void *ctx, const struct symbol_place *p);
	void *ctx;
	enum mode mode;
	bool dll;	 /* the next part is the name of a DLL */
	unsigned stores; /* number of stores in this chain so far */
};

static const struct keyword *keyword_find(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (strcasecmp(keywords[i].word, word) == 0)
			return &keywords[i];
	return NULL;
}

static bool begins(const char *text, const char *with)
{
	return strncasecmp(text, with, strlen(with)) == 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static enum symbol_place_kind kind_of(const char *where)
{
	if (begins(where, "http://") || begins(where, "https://") || begins(where, "file:///"))
		return SYMBOL_URL;
	if (where[0] == '/')
		return SYMBOL_DIR;
	if (where[0] == '\\' && where[1] == '\\')
		return SYMBOL_SHARE;
	if (is_letter(where[0]) && where[1] == ':')
		return SYMBOL_DRIVE;
	return SYMBOL_NONSENSE;
}

/* Ends a chain. `srv` without any store means the default server. `cache` without a directory means the
 * debugger's own cache; symfs has its own cache, so such an element is ignored. */
static int chain_end(struct walk *w)
{
	struct symbol_place p = {.kind = SYMBOL_DEFAULT, .where = ""};
	bool nothing = w->mode == MODE_SERVER && w->stores == 0;

	w->mode = MODE_PLAIN;
	w->stores = 0;
	w->dll = false;
	return nothing ? w->each(w->ctx, &p) : 0;
}

static int chain_begin(struct walk *w, const struct keyword *k)
{
	int r = chain_end(w);

	w->mode = k->mode;
	w->dll = k->dll;
	return r;
}

static int add_store(struct walk *w, const char *where)
{
	struct symbol_place p = {
		.kind = kind_of(where),
		.debuginfod = w->mode == MODE_DEBUGINFOD,
		.where = where,
	};

	/* Two asterisks in a row mean the debugger's own default store, which is ignored. */
	if (!where[0])
		return 0;
	w->stores++;
	return w->each(w->ctx, &p);
}

static int add_part(struct walk *w, char *part)
{
	const struct keyword *k;
	bool dll = w->dll;

	part = text_trim(part, BLANKS);
	k = keyword_find(part);
	w->dll = false;
	if (k)
		return chain_begin(w, k);
	return dll && kind_of(part) == SYMBOL_NONSENSE ? 0 : add_store(w, part);
}

static int add_element(struct walk *w, char *element)
{
	char *part;
	int r = 0;

	/* An element without an asterisk is a directory, even if its name is a keyword. */
	if (!strchr(element, '*'))
		return add_store(w, text_trim(element, BLANKS));
	while (r == 0 && (part = strsep(&element, "*")))
		r = add_part(w, part);
	return r == 0 ? chain_end(w) : r;
}

int symbol_path_parse(
	const char *path, int (*each)(void *ctx, const struct symbol_place *p), void *ctx)
{
	_cleanup_free_ char *copy = strdup(path);
	struct walk w = {.each = each, .ctx = ctx};
	char *rest = copy, *element;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (element = strsep(&rest, ";"))) {
		w.stores = 0;
		r = add_element(&w, element);
	}
	return r;
}
