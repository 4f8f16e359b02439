/* Makes the bundles of `symfs dsym` from stored files, and finds bundles in a mount. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/dsym-place.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/bundle.h"
#include "fetch/bundle.h"
#include "layout/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PLACE_PATH_MOST 16384
#define DIRECTORY "dsym/"
#define CONTENTS "/Contents/"
#define BUNDLE ".dSYM"

/* ---- copies -------------------------------------------------------------------------- */

static bool has_size(const char *path, uint64_t size)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
}

static int fill_blob(void *ctx, int fd)
{
	return files_copy(blob_fd(ctx), fd);
}

static int fill_text(void *ctx, int fd)
{
	struct buf *text = ctx;

	return write_all(fd, text->p, text->n);
}

/* ---- bundles ------------------------------------------------------------------------- */

/* Appends "INTO/UUID/NAME.dSYM/Contents/REST" of a told file, whose canonical path in the mount begins with
 * "dsym/". */
static int below(struct buf *out, const char *into, const char *told)
{
	const char *rest = strstr(told, DIRECTORY);

	return rest ? buf_addf(out, "%s/%s", into, rest + strlen(DIRECTORY)) : -EINVAL;
}

static int place_plist(struct fetch *f, const char *into, const struct artifact *a, const struct fetched *found)
{
	_cleanup_buf_ struct buf told = BUF_UP_TO(PLACE_PATH_MOST), path = BUF_UP_TO(PLACE_PATH_MOST),
				 text = BUF_UP_TO(64 << 10);
	int r = bundle_write(f, TOLD_PLIST, a, found, &told, &text);

	if (r == 0)
		r = below(&path, into, buf_text(&told));
	if (r == 0)
		r = path_make_parents(path.p, 0755);
	return r == 0 && !has_size(path.p, text.n) ? path_replace(path.p, 0644, fill_text, &text) : r;
}

/* Turns "UUID/NAME.dSYM/Contents/Resources/DWARF/NAME" into "UUID/NAME". */
static void beside_bundle(struct buf *path)
{
	char *contents = memmem(path->p, path->n, BUNDLE CONTENTS, strlen(BUNDLE CONTENTS));

	if (!contents)
		return;
	*contents = '\0';
	path->n = (size_t)(contents - path->p);
}

/* The name of a program chooses its path as the name of a debug file chooses that of a bundle. */
static int path_of(struct fetch *f, const char *into, const struct artifact *a, const struct fetched *found,
	struct buf *path)
{
	_cleanup_buf_ struct buf link = BUF_UP_TO(PLACE_PATH_MOST), target = BUF_UP_TO(PLACE_PATH_MOST);
	struct artifact debug = *a;
	int r;

	debug.type = FILETYPE_MACH_DEBUG;
	r = bundle_write(f, TOLD_LINK, &debug, found, &link, &target);

	if (r == 0)
		r = below(path, into, buf_text(&target));
	if (r == 0 && a->type == FILETYPE_MACH_CODE)
		beside_bundle(path);
	return r;
}

int dsym_place(struct fetch *f, const char *into, const struct artifact *a, const struct fetched *found, char **out,
	struct err *e)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(PLACE_PATH_MOST);
	int r = path_of(f, into, a, found, &path);

	if (r == 0)
		r = path_make_parents(path.p, 0755);
	if (r == 0 && !has_size(path.p, blob_size(found->blob)))
		r = path_replace(path.p, 0644, fill_blob, found->blob);
	if (r == 0 && a->type == FILETYPE_MACH_DEBUG)
		r = place_plist(f, into, a, found);
	if (r == 0 && !(*out = strdup(path.p)))
		r = -ENOMEM;
	return r < 0 ? err_set(e, r, "%s: %s", into, err_text(r)) : 0;
}

/* ---- a mount ------------------------------------------------------------------------- */

int dsym_in_mount(const char *mount, const struct artifact *a, char **out, struct err *e)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(PLACE_PATH_MOST);
	_cleanup_free_ char *resolved = NULL;
	int r = buf_addf(&path, "%s/lldb/", mount);

	if (r == 0)
		r = layout_path(layout_find("lldb"), a, CASING_DEFAULT, 0, &path);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	resolved = realpath(path.p, NULL); /* the path of a debug file is a link into its bundle */
	if (!resolved)
		return err_set(e, -errno, "%s: %s", mount, err_text(errno));
	*out = take(resolved);
	return 0;
}
