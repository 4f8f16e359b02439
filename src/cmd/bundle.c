/* Finds the debug files of a dSYM bundle that a word of the command line names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/bundle.h"
#include "base/util.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define INSIDE "Contents/Resources/DWARF"

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int bundle_add(struct bundle *b, char *path)
{
	if (!path)
		return -ENOMEM;
	b->files[b->n++] = path;
	return 0;
}

/* Adds only regular files: a link in a bundle can lead anywhere. */
static int add_file(struct bundle *b, const char *dir, const char *name)
{
	char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	if (b->n < BUNDLE_MOST && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		return bundle_add(b, path);
	free(path);
	return 0;
}

static int add_all(struct bundle *b, const char *dir, struct err *e)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort), r = 0;

	if (n < 0)
		return err_set(e, -errno, "%s: %s", dir, err_text(errno));
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = add_file(b, dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (r == 0 && b->n == 0)
		return err_set(e, -ENOENT, "holds no file in " INSIDE);
	return r;
}

int bundle_open(struct bundle *b, const char *word, struct err *e)
{
	_cleanup_free_ char *dir = NULL;
	int len = (int)strlen(word);

	*b = (struct bundle){.files = calloc(BUNDLE_MOST, sizeof(*b->files))};
	while (len > 1 && word[len - 1] == '/')
		len--;
	if (!b->files || asprintf(&dir, "%.*s/" INSIDE, len, word) < 0) {
		dir = NULL;
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	}
	return is_dir(dir) ? add_all(b, dir, e) : bundle_add(b, strdup(word));
}

void bundle_release(struct bundle *b)
{
	for (unsigned i = 0; i < b->n; i++)
		free(b->files[i]);
	free(b->files);
	*b = (struct bundle){.n = 0};
}
