/* _NT_SYMBOL_PATH, read as dbghelp and symsrv read it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/symbol-path.h"
#include "base/util.h"

#include <string.h>
#include <strings.h>

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

/* One element under way. */
struct walk {
	int (*each)(void *ctx, const struct symbol_place *p);
	void *ctx;
	enum mode mode;
	bool dll;	 /* the next part is the name of one */
	unsigned stores; /* in this chain so far */
};

static const struct keyword *keyword_find(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (strcasecmp(keywords[i].word, word) == 0)
			return &keywords[i];
	return NULL;
}

static char *trim(char *p)
{
	size_t n;

	p += strspn(p, " \t\r\n\"");
	n = strlen(p);
	while (n && strchr(" \t\r\n\"", p[n - 1]))
		p[--n] = '\0';
	return p;
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

/* A server's name without any store is the default one. What `cache*` alone means is a cache of
 * the asker's own, and that we have. */
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

	/* Two asterisks in a row: a store of the debugger's own. */
	if (!where[0])
		return 0;
	w->stores++;
	return w->each(w->ctx, &p);
}

static int add_part(struct walk *w, char *part)
{
	const struct keyword *k;
	bool dll = w->dll;

	part = trim(part);
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

	/* Without an asterisk it is a directory, whatever its name. */
	if (!strchr(element, '*'))
		return add_store(w, trim(element));
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
