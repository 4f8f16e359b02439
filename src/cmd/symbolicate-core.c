/* symfs symbolicate CORE | PID: prints the stacks of a core file or of a process. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "base/view.h"
#include "cmd/cmd.h"
#include "cmd/local-files.h"
#include "cmd/symbolicate.h"
#include "dump/dump.h"
#include "obj/obj.h"
#include "stacks/unwind.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MOST ((size_t)1 << 30)

/* The type of an ELF file is in bytes 16 and 17; that of a core file is 4. */
bool symbolicate_is_core(const char *path)
{
	_cleanup_close_ int fd = -1;
	struct err e = {0};
	unsigned char head[18];
	uint64_t size;

	return path && strcmp(path, "-") != 0 && path_open_file(path, &fd, &size, &e) == 0 &&
		pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) && memcmp(head, "\177ELF", 4) == 0 &&
		head[16] + head[17] == 4 && (head[16] == 4 || head[5] == 2);
}

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

	most.bytes = TEXT_MOST;
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

void symbolicate_core_files(struct app_args *args, const char *path, pid_t pid, struct local_files *l)
{
	struct taking t = {l, pid};
	_cleanup_close_ int fd = -1;
	struct err e = {0};
	uint64_t size;
	struct view v;

	if (pid) {
		dump_process(pid, take_module, &t, &e);
	} else if (path_open_file(path, &fd, &size, &e) == 0) {
		v = view_of_fd(fd, size);
		dump_read(&v, take_module, &t, &e);
	}
	local_files_source(l, args);
}

/* ---- stacks ------------------------------------------------------------------------- */

static int read_stacks(struct app *app, struct stacks *s, const char *path, pid_t pid, struct err *e)
{
	const struct stacks_unwind how = {.fetch = app->fetch, .unsandboxed = app->settings.allow_unsandboxed,
		.stop = &symbolicate_stopped};
	_cleanup_close_ int fd = -1;
	uint64_t size;
	int r;

	if (pid)
		return stacks_from_process(s, pid, &how, e);
	r = path_open_file(path, &fd, &size, e);
	return r < 0 ? r : stacks_from_core(s, fd, size, &how, e);
}

static int name_stacks(struct app *app, struct stacks *s, const struct symb_flags *flags, struct err *e)
{
	struct symb_limits most = limits_of(app);
	struct symb_flags how = *flags;
	struct symb *symb = NULL;
	int r = symb_new(&symb, app->fetch, &most, e);

	if (r < 0)
		return r;
	how.demangle |= !app->args.json;
	symbolicate_running(symb);
	r = stacks_ask(s, symb, &how, e);
	symbolicate_running(NULL);
	symb_free(symb);
	return r;
}

static int print_stacks(const struct app *app, const struct stacks *s)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(TEXT_MOST);
	int r = app->args.json ? stacks_json(s, &out) : stacks_text(s, &out);

	if (r == 0 && app->args.json)
		r = buf_adds(&out, "\n");
	if (r == 0 && fwrite(buf_text(&out), 1, out.n, stdout) != out.n)
		r = -EIO;
	if (r == 0 && fflush(stdout) != 0)
		r = -errno;
	if (r < 0 && !atomic_load(&symbolicate_stopped))
		fprintf(stderr, "symfs symbolicate: %s\n", err_text(r));
	return r < 0 ? EXIT_LOCAL : EXIT_DONE;
}

static int fail(const char *path, pid_t pid, int r, const struct err *e)
{
	if (pid)
		fprintf(stderr, "symfs symbolicate: %s\n", e->text);
	else
		fprintf(stderr, "symfs symbolicate: %s: %s\n", path, e->text);
	return r == -ENOMSG || r == -EBADMSG || r == -ENODATA || r == -ENOTSUP || r == -ESRCH ? EXIT_NO : EXIT_LOCAL;
}

int symbolicate_core(struct app *app, const char *path, pid_t pid, const struct symb_flags *flags)
{
	struct stacks s = {0};
	struct err e = {0}, why = {0};
	int r = read_stacks(app, &s, path, pid, &e), named = -ENODATA, status = EXIT_DONE;

	if (r == 0 || s.n_threads) { /* stacks without their end are better than none */
		named = name_stacks(app, &s, flags, &why);
		status = named == 0 ? print_stacks(app, &s) : EXIT_DONE;
	}
	stacks_release(&s);
	if ((r < 0 || named < 0 || status != EXIT_DONE) && atomic_load(&symbolicate_stopped))
		return EXIT_INTERRUPTED;
	if (r < 0) /* after the stacks, and the status counts */
		status = fail(path, pid, r, &e);
	else if (named < 0)
		status = fail(path, pid, named, &why);
	return status;
}
