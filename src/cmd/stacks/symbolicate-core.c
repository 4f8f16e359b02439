/* symfs symbolicate CORE | PID | MINIDUMP: prints the stacks. Makes and removes the directory of links by which local
 * files are a source. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "base/view.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/stacks/symbolicate.h"
#include "derive/derive.h"
#include "formats/obj/obj.h"
#include "stacks/dump/dump.h"
#include "stacks/stacks.h"
#include "stacks/walk/walk.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>

#define TEXT_MOST ((size_t)1 << 30)

pid_t symbolicate_process(const char *word)
{
	char *end;
	long pid;

	if (!word || !word[0] || strspn(word, "0123456789") != strlen(word) || access(word, F_OK) == 0)
		return 0;
	errno = 0;
	pid = strtol(word, &end, 10);
	return errno == 0 && pid > 0 && pid <= 1 << 30 ? (pid_t)pid : 0;
}

/* A core file can have more than a request from elsewhere. */
static struct symb_limits limits_of(const struct app *app)
{
	struct symb_limits most = app->limits;

	most.modules = STACKS_MODULES_MOST;
	most.stacks = STACKS_THREADS_MOST;
	most.frames = STACKS_FRAMES_MOST;
	return most;
}

/* ---- files of this machine ---------------------------------------------------------- */

struct taking {
	struct local_files *files;
	pid_t pid; /* 0: a core file */
};

#define COPY_MOST ((uint64_t)1 << 30)
#define DISTRIBUTED "/usr/lib/debug/.build-id" /* debug files of packages */

static int make_directory(struct local_files *l)
{
	const char *tmp = getenv("TMPDIR");

	if (l->dir[0])
		return 0;
	if ((size_t)snprintf(l->dir, sizeof(l->dir), "%s/symfs-files.XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp") >=
			sizeof(l->dir) ||
		!mkdtemp(l->dir)) {
		l->dir[0] = '\0';
		return errno ? -errno : -ENAMETOOLONG;
	}
	return 0;
}

static int link_as(const struct local_files *l, const char *path, const char *build_id, const char *ending)
{
	char at[PATH_MAX + 300];

	snprintf(at, sizeof(at), "%s/.build-id/%.2s/%.250s%s", l->dir, build_id, build_id + 2, ending);
	return symlink(path, at) < 0 && errno != EEXIST ? -errno : 0;
}

int local_files_add(struct local_files *l, const char *path, const char *build_id, bool debug)
{
	_cleanup_free_ char *full = path_absolute(path);
	char at[PATH_MAX + 32];
	int r = full ? 0 : -ENOMEM;

	if (r == 0 && strlen(build_id) < 4)
		r = -EINVAL;
	if (r == 0)
		r = make_directory(l);
	if (r < 0)
		return r;
	snprintf(at, sizeof(at), "%s/.build-id/%.2s", l->dir, build_id);
	r = path_mkdirs(at, 0700);
	if (r == 0)
		r = link_as(l, full, build_id, "");
	return r == 0 && debug ? link_as(l, full, build_id, ".debug") : r;
}

/* As local_files_add(), for an open file that has no path any more: the directory gets a copy. -EFBIG: all copies
 * would have more than 1 GiB. */
static int local_files_copy(struct local_files *l, int fd, uint64_t size, const char *build_id, bool debug)
{
	_cleanup_close_ int to = -1;
	char at[PATH_MAX + 32];
	int r = size > COPY_MOST - l->copied ? -EFBIG : make_directory(l);

	if (r < 0)
		return r;
	snprintf(at, sizeof(at), "%s/%.24s", l->dir, build_id);
	to = open(at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	l->copied += size;
	for (off_t from = 0; (uint64_t)from < size;) {
		ssize_t n = sendfile(to, fd, &from, (size_t)(size - (uint64_t)from));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	return local_files_add(l, at, build_id, debug);
}

void local_files_source(struct local_files *l, struct app_args *args)
{
	if (l->dir[0])
		args->links = l->dir;
}

/* Takes a file if it is of the module's build. `gone`: it is copied, because it has no other path. Whether it is. */
static bool take_file(struct local_files *l, const char *path, bool gone, const struct module *m)
{
	_cleanup_close_ int fd = -1;
	struct obj_slice slice;
	uint64_t size;
	struct view v;
	bool debug;

	if (path_open_file(path, &fd, &size, NULL) < 0)
		return false;
	v = view_of_fd(fd, size);
	if (obj_identify(&v, 0, &slice, NULL) < 0 || slice.module.object != OBJECT_ELF ||
		!build_id_equal(slice.module.code_id, m->code_id))
		return false;
	debug = slice.worth.debug != WORTH_NO_DEBUG;
	if (gone)
		local_files_copy(l, fd, size, slice.module.code_id, debug);
	else
		local_files_add(l, path, slice.module.code_id, debug);
	return true;
}

/* The files of a running process can be read after they were deleted, and in its own root directory. */
static int take_module(void *ctx, const struct dump_module *d)
{
	const struct taking *t = ctx;
	bool here = !d->deleted && d->path[0] == '/';
	char path[DUMP_PATH + CODE_ID_MAX + 40];

	if (atomic_load(&symbolicate_stopped))
		return -EINTR;
	if (!d->m.code_id[0])
		return 0;
	if (here && take_file(t->files, d->path, false, &d->m)) {
		snprintf(path, sizeof(path), DISTRIBUTED "/%.2s/%s.debug", d->m.code_id, d->m.code_id + 2);
		take_file(t->files, path, false, &d->m);
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)t->pid, d->path);
	if (!t->pid || (here && take_file(t->files, path, false, &d->m)))
		return 0;
	if (dump_process_link(t->pid, d, path) == 0)
		take_file(t->files, path, true, &d->m);
	return 0;
}

void symbolicate_core_files(struct app_args *args, const struct symbolicate_input *in, struct local_files *l)
{
	struct view v = view_of_fd(in->fd, in->size);
	struct taking t = {l, in->pid};
	struct err e = {0};

	if (in->pid)
		dump_process(in->pid, take_module, &t, &e);
	else
		dump_read(&v, take_module, &t, &e);
	local_files_source(l, args);
}

/* ---- stacks ------------------------------------------------------------------------- */

static int read_stacks(struct app *app, struct stacks *s, const struct symbolicate_input *in, struct err *e)
{
	const struct stacks_unwind how = {.fetch = app->fetch, .unsandboxed = app->settings.allow_unsandboxed,
		.stop = &symbolicate_stopped};
	struct walk_source from = {.fetch = app->fetch, .stop = &symbolicate_stopped};
	struct view v = view_of_fd(in->fd, in->size);
	int r;

	if (in->kind != INPUT_MINIDUMP)
		return in->pid ? stacks_from_process(s, in->pid, &how, e)
			       : stacks_from_core(s, in->fd, in->size, &how, e);
	r = derive_new(&from.derive, app->fetch);
	r = r < 0 ? err_set(e, r, "cannot start conversions: %s", err_text(r)) : walk_minidump(s, &v, &from, e);
	derive_free(from.derive);
	return r;
}

static int print(struct buf *out, bool json)
{
	int r = json ? buf_adds(out, "\n") : 0;

	if (r == 0 && fwrite(buf_text(out), 1, out->n, stdout) != out->n)
		r = -EIO;
	if (r == 0 && fflush(stdout) != 0)
		r = -errno;
	if (r < 0 && !atomic_load(&symbolicate_stopped))
		cmd_say(0, "%s", err_text(r));
	return r < 0 ? EXIT_LOCAL : EXIT_DONE;
}

static int fail(const struct symbolicate_input *in, int r, const struct err *e)
{
	if (!atomic_load(&symbolicate_stopped))
		cmd_say(0, "%s%s%s", in->pid ? "" : in->shown, in->pid ? "" : ": ", e->text);
	return r == -ENOMSG || r == -EBADMSG || r == -ENODATA || r == -ENOTSUP || r == -ESRCH || r == -E2BIG ? EXIT_NO
		: EXIT_LOCAL;
}

/* Asks for the names, and prints the stacks. */
static int name_stacks(struct app *app, struct stacks *s, const struct symbolicate_input *in,
	const struct symb_flags *flags)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(TEXT_MOST);
	struct symb_limits most = limits_of(app);
	struct symbolicating g;
	struct err e = {0};
	int status;

	if (symbolicate_begin(&g, app, &most, flags) < 0)
		return EXIT_LOCAL;
	g.dump = true;
	if (in->readable)
		snprintf(g.id, sizeof(g.id), "%s", in->shown);
	status = stacks_print(s, g.symb, &g.flags, app->args.json, &out, &e);
	symbolicate_finish(&g);
	status = status == 0 ? print(&out, app->args.json) : fail(in, status, &e);
	return symbolicate_close(&g, app, status);
}

int symbolicate_stacks(struct app *app, const struct symbolicate_input *in, const struct symb_flags *flags)
{
	struct stacks s = {0};
	struct progress progress;
	struct err e = {0};
	int r, status = EXIT_DONE;

	progress_start(&progress, app->fetch);
	r = read_stacks(app, &s, in, &e);
	progress_stop(&progress);
	if (r == 0 || s.n_threads) /* stacks without their end are better than none */
		status = name_stacks(app, &s, in, flags);
	if (s.whole > in->size)
		cmd_say(0, "%s is cut: %" PRIu64 " of %s%" PRIu64 " bytes are there, so frames can be missing",
			in->shown, in->size, in->kind == INPUT_MINIDUMP ? "at least " : "", s.whole);
	stacks_release(&s);
	if (r < 0)
		status = fail(in, r, &e); /* after the stacks, and the status counts */
	return status != EXIT_DONE && atomic_load(&symbolicate_stopped) ? EXIT_INTERRUPTED : status;
}
