/* Shared by the files of `symfs cache`: cmd-cache.c has the command and its verbs, cache-ls.c lists, and reads the
 * words. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "cmd/app.h"
#include "cmd/json.h"
#include "names/id/key.h"

struct cache {
	struct store *store;
	const struct settings *settings;
	struct json *json; /* the document, which cmd-cache.c prints at the end; NULL: text */
	bool misses, dry_run, bucket; /* --misses, --dry-run, --bucket */
	struct app *app;
	enum filetype type; /* the value of --type; FILETYPE_NONE: the option is not given */
	struct buf room; /* for text_shown() */
};

/* A word of the command line: the keys that it can mean, best first. */
#define CACHE_KEYS_MOST 64
struct cache_word {
	bool every; /* an identifier or a file, which means every stored key; false: only the first stored key */
	unsigned n;
	struct key keys[CACHE_KEYS_MOST];
};

/* Finds the keys that `word` can mean. 0; otherwise an exit status: the word means no key, and a message was
 * printed. */
int cache_word_parse(struct cache *c, const char *word, struct cache_word *out);

/* Prints which action on the store failed (`what`), and the error `r`. Empties the document. Returns an exit
 * status. */
int cache_failed(struct cache *c, const char *what, int r);

/* These run the verbs, and return an exit status. */
int cache_ls(struct cache *c, char **words, unsigned n);
int cache_expire(struct cache *c, char **words, unsigned n);
