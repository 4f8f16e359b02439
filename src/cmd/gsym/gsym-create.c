/* symfs gsym create: makes a GSYM file, an object with GSYM, or a copy of a file with GSYM in it. Finds the files
 * that hold parts of a program's debug information, apart from the program itself. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/bundle.h"
#include "cmd/cmd.h"
#include "cmd/gsym/gsym-command.h"
#include "cmd/json.h"
#include "derive/convert/embed.h"
#include "derive/convert/object.h"
#include "formats/image/image.h"
#include "formats/obj/obj.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the files with debug information ------------------------------------------------ */

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

/* Whether the file is the wanted one. Only an alternate file may have a build id to check. Other files are checked
 * when they are read. */
static bool is_wanted(const struct gsym_want *want, struct span bytes)
{
	struct err e = {0};
	struct image m;
	struct span id;

	if (want->kind != GSYM_ALT || !want->id.n)
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
	struct span bytes = {0};
	struct err e = {0};
	int r;

	if (grow(&f->maps, &f->room, f->n, sizeof(*f->maps)) < 0)
		return -ENOMEM;
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
	if (f->debug && want->kind == GSYM_ALT)
		r = try_in(f, want, "", 0, f->debug, out);
	if (r < 0 && want->name[0] == '/')
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

/* ---- making -------------------------------------------------------------------------- */

struct making {
	struct gsym_files files;
	const char *path;
	unsigned shown; /* the last printed progress, in per cent */
};

static void show_progress(void *ctx, unsigned part)
{
	struct making *p = ctx;

	if (part / 10 == p->shown)
		return;
	p->shown = part / 10;
	fprintf(stderr, "\r%s: %u %%", path_base(p->path), p->shown);
}

static int find_file(void *ctx, const struct gsym_want *want, struct span *out)
{
	struct making *p = ctx;

	return gsym_files_find(&p->files, want, out);
}

int gsym_run_make(const struct gsym_run *run, const char *path, struct gsym_writer **out,
	struct gsym_made *made, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_map_ struct span map = {0};
	struct span file = {0};
	struct making p = {.path = path, .files = {.path = path, .debug = run->debug}};
	struct gsym_make_opts o = {.strict = run->strict, .shorten = run->shorten,
		.plain_names = run->plain_names, .threads = run->n_threads,
		.find = find_file, .ctx = &p};
	int r;

	if (isatty(STDERR_FILENO))
		o.progress = show_progress;
	r = gsym_files_open(&map, &file, path, run->arch, e);
	o.map = map;
	if (r == 0)
		r = gsym_writer_new(&w);
	if (r == 0)
		r = gsym_make(w, file, &o, made, e);
	if (p.shown)
		fputs("\r\033[K", stderr);
	gsym_files_release(&p.files);
	if (r == 0)
		*out = take(w);
	return r;
}

/* Writes the output. SIGINT ends a conversion at once, but is deferred during this short write:
 * otherwise a temporary file would remain. */
static int save_output(const char *path, const struct buf *b, mode_t mode, struct err *e)
{
	_cleanup_free_ char *copy = strdup(path);
	_cleanup_close_ int dir = -1;
	char *slash = copy ? strrchr(copy, '/') : NULL;
	sigset_t ends, before;
	int r;

	if (!copy)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	if (slash)
		*slash = '\0';
	dir = open(!slash ? "." : copy[0] ? copy : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, &before);
	r = dir < 0 ? -errno : path_write_synced(dir, path_base(path), b->p, b->n, 0644);
	if (r == 0 && mode && fchmodat(dir, path_base(path), mode, 0) < 0)
		r = -errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

static bool is_object(const struct gsym_run *run)
{
	return run->embed || (run->format && strcmp(run->format, "object") == 0);
}

/* Writes the GSYM file, the object or the copy into memory. */
static int render(const struct gsym_run *run, const char *path, struct gsym_writer *w,
	const struct gsym_made *made, struct buf *out, struct err *e)
{
	_cleanup_map_ struct span map = {0};
	struct span file = {0};
	int r;

	if (!run->embed)
		gsym_set_last(w);
	if (!is_object(run))
		return gsym_write(w, GSYM_V1, made->big, NULL, out, NULL, e);
	if (!run->embed)
		return gsym_write_object(w, made, out, e);
	r = gsym_files_open(&map, &file, path, run->arch, e);
	return r < 0 ? r : gsym_embed(w, made, file, out, e);
}

/* Checks the options for the output's form (GSYM file, object, copy). -1: they are valid; otherwise the exit
 * status. */
static int check_form(struct gsym_run *run)
{
	if (run->format && strcmp(run->format, "v1") != 0 && strcmp(run->format, "object") != 0)
		return cmd_usage("--format: expected v1 or object");
	if (run->shorten && run->full)
		return cmd_usage("--shorten-cpp and --full-names exclude each other");
	if (run->embed && run->format && strcmp(run->format, "v1") == 0)
		return cmd_usage("--embed always writes the form of objects; omit --format v1");
	if (run->embed && !run->out)
		return cmd_usage("--embed needs -o: it does not write to the file itself");
	run->shorten = run->shorten || (is_object(run) && !run->full);
	return -1;
}

/* A bundle must hold only one debug file. */
static int open_bundle(struct bundle *b, const char *word, struct err *e)
{
	int r = bundle_open(b, word, e);

	return r == 0 && b->n > 1 ? err_set(e, -ENOTSUP, "holds %u debug files, such as %s: name one of them",
					    b->n, b->files[0])
				  : r;
}

/* The path of the output without -o: WORD.gsym or WORD.gsym.o, beside the file or the bundle. */
static const char *default_output(const struct gsym_run *run, const char *word, struct buf *room)
{
	int len = (int)strlen(word);

	while (len > 1 && word[len - 1] == '/')
		len--;
	buf_addf(room, "%.*s.gsym%s", len, word, is_object(run) ? ".o" : "");
	return buf_text(room);
}

/* The permissions of the output. A copy gets the permissions of the original without the set-user-ID bit. 0: the
 * usual permissions of a new file. */
static mode_t mode_of(const struct gsym_run *run, const char *path)
{
	struct stat st;

	return run->embed && stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

int gsym_create(struct gsym_run *run)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_buf_ struct buf bytes = BUF_UP_TO(1ull << 36), name = BUF_UP_TO(1 << 16);
	_cleanup_bundle_ struct bundle bundle = {0};
	const char *path = run->argc ? run->argv[0] : NULL, *to = run->out;
	struct gsym_made made;
	struct err e = {0};
	int r;

	if (run->argc != 1)
		return cmd_usage(path ? "expected only one file" : "expected a file");
	r = check_form(run);
	if (r >= 0)
		return r;
	if (!to)
		to = default_output(run, path, &name);
	r = open_bundle(&bundle, path, &e);
	if (r < 0)
		return cmd_fail(path, &e);
	path = bundle.files[0];
	r = gsym_run_make(run, path, &w, &made, &e);
	if (r < 0)
		return cmd_fail(path, &e);
	gsym_files_report(path, &made);
	r = render(run, path, w, &made, &bytes, &e);
	if (r < 0)
		return cmd_fail(path, &e);
	if (strcmp(to, "-") == 0)
		return cmd_flush(
			fwrite(bytes.p, 1, bytes.n, stdout) == bytes.n ? EXIT_DONE : EXIT_LOCAL);
	r = save_output(to, &bytes, mode_of(run, path), &e);
	return r < 0 ? cmd_fail(to, &e) : EXIT_DONE;
}
