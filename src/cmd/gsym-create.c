/* symfs gsym create: makes a GSYM file, an object with GSYM, or a copy of a file with GSYM in it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/bundle.h"
#include "cmd/cmd.h"
#include "cmd/gsym-command.h"
#include "cmd/gsym-files.h"
#include "cmd/json.h"
#include "convert/embed.h"
#include "convert/object.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
	struct making p = {.path = path, .files = {.path = path}};
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
