/* Converts words of a `symfs cache` command line to keys, and reports how its commands end. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/cache.h"
#include "cmd/cmd.h"
#include "layout/tree.h"
#include "store/store.h"

#include <stdio.h>

int cache_word_parse(struct cache *c, const char *word, struct cache_word *out)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	_cleanup_free_ char *path = NULL;
	int r = hit ? 0 : -ENOMEM;

	out->n = 0;
	if (r == 0 && key_parse(&out->keys[0], word) == 0) { /* as `cache ls` prints it */
		out->n = 1;
		return 0;
	}
	if (r == 0)
		r = app_tree_path(word, &path);
	if (r == 0)
		tree_parse(path, hit);
	/* A file that the mount generates (NAME.meta) is not in the cache: `rm` of it must not remove NAME. */
	for (unsigned i = 0; r == 0 && tree_names_file(hit) && i < hit->n; i++)
		out->n += key_of(&out->keys[out->n], &hit->files[i]) == 0;
	if (r == 0 && out->n)
		return 0;
	fprintf(stderr, "symfs cache: %s: %s\n", text_shown(word, true, &c->room),
		r == 0 || r == -ENOENT ? "no layout can mean this path" : err_text(r));
	return r == 0 ? EXIT_NO : app_exit(r);
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
