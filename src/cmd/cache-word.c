/* Converts words of a `symfs cache` command line to keys, and prints its errors. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/cache.h"
#include "cmd/cmd.h"
#include "cmd/what.h"
#include "store/store.h"

#include <stdio.h>

struct keys {
	struct cache_word *out;
	bool text; /* the word is a file that the mount generates */
};

static int add_keys(void *ctx, const struct what *w)
{
	struct keys *k = ctx;

	/* A file that the mount generates (NAME.meta) is not in the cache: `rm NAME.meta` must not remove NAME. */
	k->text = w->hit && !tree_names_file(w->hit);
	k->out->every = w->kind == WHAT_ID || w->kind == WHAT_FILE;
	for (unsigned i = 0; !k->text && i < w->n && k->out->n < CACHE_KEYS_MOST; i++)
		k->out->n += key_of(&k->out->keys[k->out->n], &w->files[i]) == 0;
	return 0;
}

int cache_word_parse(struct cache *c, const char *word, struct cache_word *out)
{
	const struct what_opts o = {.store = c->store, .type = c->type, .every = true};
	struct keys k = {out, false};
	struct err e = {0};
	int r;

	out->n = 0;
	r = what_named(&o, word, add_keys, &k, &e);
	if (r == 0 && out->n)
		return 0;
	return r == 0 ? cmd_say(EXIT_NO, "%s: no layout can mean this path", word)
		      : cmd_say(what_exit(r), "%s: %s", word, err_why(&e, r));
}

int cache_failed(struct cache *c, const char *what, int r)
{
	return cmd_say(EXIT_LOCAL, "%s: %s: %s", store_dir(c->store), what, err_text(r));
}
