/* Source files of builds in scanned trees. A request names a build and a path; a worker lists the source files that
 * the build's debug file names, and only a path among them is looked for, below the source's roots and in archives.
 * Debug files are hostile: a path that one names is opened only below a root, and only if everyone may read it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/util.h"
#include "derive/convert/worker.h"
#include "fetch/fetch-private.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define KEEP_MS 600000	   /* how long the names of a build are kept */
#define KEEP_NONE_MS 30000 /* if the debug file names none, or is broken */
#define SECONDS 30	   /* of processor time for one debug file */

void tree_names_release(struct fetch *f)
{
	for (unsigned i = 0; i < BUILD_NAMES_MOST; i++)
		free(f->names[i].all);
}

/* ---- the debug file ------------------------------------------------------------------ */

/* Where the names of a build are read from. */
struct reading {
	struct fetch *f;
	const struct source *s;
	tree_find *find;
};

/* Finds the debug file of a build in the tree, or else in the store. -ENOENT; -EAGAIN: the tree is still walked. */
static int find_debug(const struct reading *g, const char *build_id, struct blob **out)
{
	struct artifact a;
	struct key k;
	int r;

	if (scan_debug_key(build_id, &a, &k) < 0)
		return -ENOENT;
	r = g->find(g->f, g->s, &a, &k, out);
	return *out ? 0 : store_find(g->f->store, &k, out) == 0 ? 0 : r == -EAGAIN ? r : -ENOENT;
}

/* ---- the names in it ------------------------------------------------------------------ */

static int take_numbers(int fd, struct build_names *b)
{
	struct stat st;
	size_t n = fstat(fd, &st) < 0 ? 0 : (size_t)st.st_size;

	b->all = n > WORK_SOURCES_MOST * sizeof(*b->all) ? NULL : malloc(MAX(n, (size_t)1));
	if (!b->all || pread(fd, b->all, n, 0) != (ssize_t)n)
		return b->all ? -EIO : -ENOMEM;
	b->n = n / sizeof(*b->all);
	return 0;
}

/* 0; -ENOENT: no debug file is there; -EAGAIN; others: it cannot be read. */
static int read_names(const struct reading *g, struct build_names *b)
{
	_cleanup_blob_ struct blob *debug = NULL, *alt = NULL; /* `alt`: the file into which dwz moved texts */
	_cleanup_close_ int out = -1;
	struct gsym_work_lack lack = {0};
	struct gsym_work w = {.seconds = SECONDS, .threads = 1, .unsandboxed = g->f->opts.allow_unsandboxed,
		.stop = &g->f->closing, .form = GSYM_WORK_SOURCES, .alt = {.ask = true, .fd = -1},
		.package = {.fd = -1}, .units = {.fd = -1}, .lack = &lack};
	char id[2 * sizeof(lack.id) + 1];
	struct err e = {0};
	int r = find_debug(g, b->id, &debug);

	if (r < 0)
		return r;
	r = gsym_work(&w, blob_fd(debug), &out, &e);
	if (r == -EAGAIN) {
		free(lack.units);
		hex_print(lack.id, lack.id_len, id);
		if (find_debug(g, id, &alt) == -EAGAIN)
			return -EAGAIN;
		w.alt = (struct gsym_work_file){.fd = alt ? blob_fd(alt) : -1};
		lack = (struct gsym_work_lack){0};
		r = gsym_work(&w, blob_fd(debug), &out, &e);
		free(lack.units);
	}
	if (r == 0)
		r = take_numbers(out, b);
	b->until = r == -EINTR || r == -ENOMEM ? 0 : clock_ms() + (b->n ? KEEP_MS : KEEP_NONE_MS);
	if (r < 0)
		log_debug(LOG_FETCH, "the debug file of %s: its sources are not listed: it %s", b->id,
			e.text[0] ? e.text : err_text(r));
	return r;
}

int tree_names_source(struct fetch *f, const struct source *s, const struct key *k, tree_find *find)
{
	uint64_t number = scan_name_number(k->name);
	/* One thread at a time: a debug file can need much memory, and the next thread often wants the same. */
	LOCK_SCOPE(&f->names_lock);
	struct build_names *b = f->names;
	int r = 0;

	for (unsigned i = 0; i < BUILD_NAMES_MOST && strcmp(b->id, k->id) != 0; i++)
		if (f->names[i].until < b->until || strcmp(f->names[i].id, k->id) == 0)
			b = &f->names[i];
	if (strcmp(b->id, k->id) != 0 || b->until < clock_ms()) {
		free(b->all);
		*b = (struct build_names){0};
		snprintf(b->id, sizeof(b->id), "%s", k->id);
		r = read_names(&(struct reading){f, s, find}, b);
	}
	for (size_t i = 0; i < b->n; i++)
		if (b->all[i] == number)
			return 0;
	return r == -EAGAIN || r == -EINTR || r == -ENOMEM ? r : -ENOENT;
}

/* ---- files below the roots ----------------------------------------------------------- */

/* The rest of `path` below the directory; NULL: the path is not below it. */
static const char *rest_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

static int open_rest(const char *dir, const char *rest, int *fd)
{
	_cleanup_close_ int base = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = base < 0 ? -errno : mounts_refuse_symfs(base);

	return r < 0 ? r : beneath_open(&(struct beneath){.base = base, .links = BENEATH_INSIDE, .for_all = true},
		rest, fd);
}

int tree_open_source(const struct source *s, const char *path, int *fd, struct buf *full, char why[static 200])
{
	_cleanup_free_ char *clean = path_absolute(path);
	struct source_root root;

	for (unsigned i = 0; clean && source_root(s, i, &root); i++) {
		_cleanup_free_ char *real = realpath(root.dir, NULL);
		const char *rest = rest_below(clean, root.from);
		int r;

		/* Compilers write the path without links. */
		if (!rest && real && strcmp(root.from, root.dir) == 0)
			rest = rest_below(clean, real);
		r = rest ? open_rest(root.dir, rest, fd) : -ENOENT;
		if (r == 0)
			return buf_addf(full, "%s/%s", root.dir, rest);
		if (r == -EXDEV || r == -EPERM)
			snprintf(why, 200, "%.120s: %s", path, r == -EXDEV ? "a link leads out of the root"
									   : "not everyone may read it");
	}
	return clean ? -ENOENT : -ENOMEM;
}
