/* symfs symbolicate CORE | PID | MINIDUMP: prints the stacks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "base/view.h"
#include "cmd/cmd.h"
#include "cmd/local-files.h"
#include "cmd/progress.h"
#include "cmd/symbolicate.h"
#include "derive/derive.h"
#include "dump/dump.h"
#include "obj/obj.h"
#include "stacks/stacks.h"
#include "walk/walk.h"

#include <stdio.h>
#include <string.h>

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
	char path[DUMP_PATH + 40];

	if (atomic_load(&symbolicate_stopped))
		return -EINTR;
	if (!d->m.code_id[0])
		return 0;
	if (!d->deleted && d->path[0] == '/') {
		if (take_file(t->files, d->path, false, &d->m) || !t->pid)
			return 0;
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)t->pid, d->path);
		if (take_file(t->files, path, false, &d->m))
			return 0;
	}
	if (t->pid && dump_process_link(t->pid, d, path) == 0)
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
	stacks_release(&s);
	if (r < 0)
		status = fail(in, r, &e); /* after the stacks, and the status counts */
	return status != EXIT_DONE && atomic_load(&symbolicate_stopped) ? EXIT_INTERRUPTED : status;
}
