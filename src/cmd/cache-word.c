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
	fprintf(stderr, "symfs cache: %s: %s\n", text_shown(word, true, &c->room),
		r == 0 ? "no layout can mean this path" : e.text[0] ? e.text : err_text(r));
	return r == 0 ? EXIT_NO : what_exit(r);
}

int cache_flush(void)
{
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_LOCAL;
}

int cache_failed(struct cache *c, const char *what, int r)
{
	fprintf(stderr, "symfs cache: %s: %s: %s\n", store_dir(c->store), what, err_text(r));
	return EXIT_LOCAL;
}
