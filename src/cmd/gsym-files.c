/* Finds files that hold parts of a program's debug information, apart from the program itself. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/gsym-files.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "image/image.h"
#include "obj/obj.h"

#include <inttypes.h>
#include <string.h>

#define PATH_ROOM (16u << 10)

#define SLICES_MOST 64

/* Reports that `arch` is missing, or is not the name of a slice: "is a fat file of x86_64, arm64: …". */
static int fail_arch(const struct buf *names, const char *arch, struct err *e)
{
	return err_set(e, -ENOTSUP, "is a fat file of %s: %s%s", buf_text(names),
		arch ? "it has no " : "choose one with --arch", arch ? arch : "");
}

static int pick_slice(struct span file, const char *arch, struct span *out, struct err *e)
{
	_cleanup_buf_ struct buf names = BUF_UP_TO(4096);
	struct view v = view_of_mem(file.p, file.n);
	struct obj_slice s, found = {0};
	unsigned n = 0;

	for (; n < SLICES_MOST && obj_identify(&v, n, &s, NULL) == 0; n++) {
		buf_addf(&names, "%s%s", n ? ", " : "", s.arch);
		if ((arch ? strcmp(s.arch, arch) == 0 : n == 0) && span_at(file, s.off, s.size))
			found = s;
	}
	if (!n || (!arch && n == 1 && s.size == file.n))
		return 0;
	if (!found.size || (!arch && n > 1))
		return fail_arch(&names, arch, e);
	*out = (struct span){file.p + found.off, found.size};
	return 0;
}

int gsym_files_open(struct span *map, struct span *out, const char *path, const char *arch, struct err *e)
{
	static const uint8_t fat[] = {0xca, 0xfe, 0xba};
	const uint8_t *head;
	int r = map_file(map, path, e);

	if (r < 0)
		return r;
	*out = *map;
	head = span_at(*map, 0, 4);
	if (!head || memcmp(head, fat, sizeof(fat)) != 0 || (head[3] != 0xbe && head[3] != 0xbf))
		return arch ? err_set(e, -ENOTSUP, "is not a fat file; omit --arch") : 0;
	return pick_slice(*map, arch, out, e);
}

/* Whether the file is the wanted one. Only an alternate file has a build id to check. Other files are checked when
 * they are read. */
static bool is_wanted(const struct gsym_want *want, struct span bytes)
{
	struct err e = {0};
	struct image m;
	struct span id;

	if (want->kind != GSYM_ALT)
		return true;
	if (image_open(&m, bytes, &e) < 0)
		return false;
	id = image_build_id(&m);
	return id.n == want->id.n && memcmp(id.p, want->id.p, id.n) == 0;
}

/* Maps the file at `path` if it is the wanted file. 0, -errno. */
static int try_path(struct gsym_files *f, const struct gsym_want *want, const struct buf *path,
	struct span *out)
{
	struct span *more = realloc(f->maps, (f->n + 1) * sizeof(*more)), bytes = {0};
	struct err e = {0};
	int r;

	if (!more)
		return -ENOMEM;
	f->maps = more;
	r = map_file(&bytes, buf_text(path), &e);
	if (r == 0 && !is_wanted(want, bytes)) {
		map_release(&bytes);
		r = -ENOENT;
	}
	if (r == 0)
		f->maps[f->n++] = *out = bytes;
	return r;
}

/* Tries "DIR/NAME", where DIR is the first `n` bytes of `dir`; with `n` 0 only NAME. */
static int try_in(struct gsym_files *f, const struct gsym_want *want, const char *dir, size_t n,
	const char *name, struct span *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(PATH_ROOM);

	if (n > PATH_ROOM || buf_add(&path, dir, n) < 0 || buf_addf(&path, "%s%s", n ? "/" : "", name) < 0)
		return -ENAMETOOLONG;
	return try_path(f, want, &path, out);
}

static int find_package(struct gsym_files *f, const struct gsym_want *want, struct span *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(PATH_ROOM);
	size_t n = strlen(f->path);
	int r;

	buf_addf(&path, "%s.dwp", f->path);
	r = try_path(f, want, &path, out);
	if (r == 0 || n < 7 || strcmp(f->path + n - 6, ".debug") != 0)
		return r;
	buf_clear(&path);
	buf_add(&path, f->path, n - 6);
	buf_adds(&path, ".dwp");
	return try_path(f, want, &path, out);
}

static int find_by_id(struct gsym_files *f, const struct gsym_want *want, struct span *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(PATH_ROOM);

	if (want->id.n < 2 || want->id.n > 64)
		return -ENOENT;
	buf_adds(&path, "/usr/lib/debug/.build-id/");
	for (size_t i = 0; i < want->id.n; i++)
		buf_addf(&path, i == 1 ? "/%02x" : "%02x", want->id.p[i]);
	buf_adds(&path, ".debug");
	return try_path(f, want, &path, out);
}

int gsym_files_find(void *ctx, const struct gsym_want *want, struct span *out)
{
	struct gsym_files *f = ctx;
	const char *slash = strrchr(f->path, '/'), *base = path_base(want->name);
	size_t dir = slash ? (size_t)(slash - f->path) : 0;
	int r = -ENOENT;

	if (want->kind == GSYM_DWP)
		return find_package(f, want, out);
	if (want->name[0] == '/')
		r = try_in(f, want, "", 0, want->name, out);
	if (r < 0 && want->name[0] != '/' && want->dir[0])
		r = try_in(f, want, want->dir, strlen(want->dir), want->name, out);
	if (r < 0 && want->name[0] != '/')
		r = try_in(f, want, slash ? f->path : ".", slash ? dir : 1, want->name, out);
	if (r < 0)
		r = try_in(f, want, slash ? f->path : ".", slash ? dir : 1, base, out);
	return r < 0 && want->kind == GSYM_ALT ? find_by_id(f, want, out) : r;
}

void gsym_files_release(struct gsym_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		map_release(&f->maps[i]);
	free(f->maps);
	memset(f, 0, sizeof(*f));
}

void gsym_files_report(const char *path, const struct gsym_made *made)
{
	if (made->left_out)
		cmd_say(0, "%s: bad lines left out: %" PRIu64 ", the first is line %" PRIu64, path,
			made->left_out, made->first_left_out);
	if (made->broken)
		cmd_say(0, "%s: broken units of debug information: %zu", path, made->broken);
	if (made->split)
		cmd_say(0, "%s: units whose debug information is in other files, not found: %zu", path, made->split);
	if (made->no_alt)
		cmd_say(0, "%s: the file with the parts that dwz moved was not found", path);
}
