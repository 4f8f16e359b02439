/* Starts the program that unwinds stacks, and gets files of modules for it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/stacks.h"
#include "base/path.h"
#include "base/util.h"
#include "base/view.h"
#include "formats/obj/obj.h"
#include "priv/worker.h"
#include "stacks/dump/dump.h"
#include "stacks/dump/state.h"
#include "stacks/libdw/wire.h"
#include "stacks/records.h"
#include "symb/wait.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define WAIT_SECONDS 86400 /* downloads take as long as fetch/ allows */
#define VDSO "[vdso]"

struct unwinding {
	struct stacks *s;
	const struct stacks_unwind *how;
	struct dump_state state;
	pid_t pid; /* of the process; 0: a core file */
	uint32_t program, vdso; /* indexes of modules; STACKS_NO_MODULE */
	int socket;
};

/* ---- modules ------------------------------------------------------------------------ */

static void cut_mark(char *path)
{
	size_t n = strlen(path), mark = strlen(DUMP_DELETED);

	if (n > mark && strcmp(path + n - mark, DUMP_DELETED) == 0)
		path[n - mark] = '\0';
}

static int add_module(void *ctx, const struct dump_module *d)
{
	struct unwinding *w = ctx;
	char path[DUMP_PATH];
	struct stack_module m = {.m = d->m, .path = d->path[0] ? path : NULL, .base = d->base, .end = d->end,
		.deleted = d->deleted};
	int r;

	snprintf(path, sizeof(path), "%s", d->path);
	if (d->deleted) {
		cut_mark(path);
		cut_mark(m.m.code_file);
		cut_mark(m.m.debug_file);
	}
	r = stacks_module(w->s, &m);
	if (r >= 0 && d->program && w->program == STACKS_NO_MODULE)
		w->program = (uint32_t)r;
	return r < 0 ? r : 0;
}

static int add_vdso(struct unwinding *w)
{
	struct stack_module m = {.path = (char *)VDSO, .base = w->state.vdso, .end = w->state.vdso_end,
		.file = STACK_FILE_THERE};
	int r = m.base ? stacks_module(w->s, &m) : -ENOENT;

	if (r >= 0)
		w->vdso = (uint32_t)r;
	return r == -ENOMEM ? r : 0;
}

/* ---- files for the program ---------------------------------------------------------- */

/* Waits for a file of a source. 0, -ENOENT, -EINTR, … */
static int get_file(const struct unwinding *w, const struct module *m, enum filetype t, int *fd)
{
	struct artifact a = {.type = t, .m = *m};
	struct question *q;
	struct waits *all;
	struct key k;
	int r;

	if (key_of(&k, &a) < 0)
		return -ENOENT;
	all = waits_new();
	q = all ? question_new(all) : NULL;
	if (!q) {
		if (all)
			waits_unref(all);
		return -ENOMEM;
	}
	question_fetch(q, w->how->fetch, &a, 1);
	r = wait_all(all, w->how->stop);
	if (r < 0) {
		question_cancel(q);
	} else {
		r = q->r;
		if (r == 0 && (*fd = fcntl(blob_fd(q->blob), F_DUPFD_CLOEXEC, 3)) < 0)
			r = -errno;
		question_unref(q);
	}
	waits_unref(all);
	return r;
}

/* Finds the file that the program asks for. A program that no source has is replaced by its debug file, which may
 * have unwind rules, too. */
static int find_file(const struct unwinding *w, const struct unwinder_ask *ask, int *fd)
{
	enum stack_file got = STACK_FILE_DEBUG;
	struct module m;
	int r = -ENOENT;

	if (ask->module >= w->s->n_modules)
		return -ENOENT;
	m = w->s->module[ask->module].m;
	if (!m.code_id[0])
		return -ENOENT;
	m.object = OBJECT_ELF;
	if (ask->what == UNWINDER_PROGRAM)
		r = get_file(w, &m, FILETYPE_ELF_CODE, fd);
	if (r == 0 || r == -EINTR)
		got = STACK_FILE_THERE;
	else if ((r = get_file(w, &m, FILETYPE_ELF_DEBUG, fd)) < 0)
		got = r == -ENOENT ? STACK_FILE_MISSING : STACK_FILE_FAILED;
	if (ask->what == UNWINDER_PROGRAM)
		w->s->module[ask->module].file = got;
	return r;
}

/* Answers a question of the program. -EINTR ends the program; so does -EAGAIN: it asks, and takes no answers. */
static int serve(void *ctx)
{
	const struct unwinding *w = ctx;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct unwinder_file answer;
	struct unwinder_ask ask;
	struct iovec v = {&answer, sizeof(answer)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	_cleanup_close_ int fd = -1;
	ssize_t n = recv(w->socket, &ask, sizeof(ask), MSG_DONTWAIT);

	if (n == 0) { /* the program has closed its end, and is about to end */
		poll(NULL, 0, 1);
		return 0;
	}
	if (n != (ssize_t)sizeof(ask))
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -EBADMSG;
	answer.r = find_file(w, &ask, &fd);
	if (answer.r == -EINTR)
		return -EINTR;
	if (answer.r == 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control.room);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(w->socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EPIPE ? -errno : 0;
}

/* ---- the task ----------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct dump_part *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int put_threads(const struct unwinding *w, struct buf *out)
{
	for (size_t i = 0; i < w->state.n_threads; i++) {
		const struct dump_thread *t = &w->state.thread[i];
		struct unwinder_thread to = {.pc = t->pc, .n = t->n};

		_Static_assert(sizeof(to.reg) == sizeof(t->reg), "as many registers");
		memcpy(to.reg, t->reg, sizeof(to.reg));
		buf_add(out, &to, sizeof(to));
	}
	return out->r;
}

static int put_task(const struct unwinding *w, struct buf *out)
{
	struct unwinder_head h = {w->state.machine, w->state.is64, (uint32_t)w->s->n_modules,
		(uint32_t)w->state.n_parts, (uint32_t)w->state.n_threads, 0};

	buf_add(out, &h, sizeof(h));
	for (size_t i = 0; i < w->s->n_modules; i++) {
		const struct stack_module *m = &w->s->module[i];
		struct unwinder_module to = {m->base, m->end, i == w->vdso};

		buf_add(out, &to, sizeof(to));
	}
	if (w->state.n_parts)
		qsort(w->state.part, w->state.n_parts, sizeof(*w->state.part), by_address);
	for (size_t i = 0; i < w->state.n_parts; i++) {
		const struct dump_part *p = &w->state.part[i];
		struct unwinder_part to = {p->address, p->offset, p->size};

		buf_add(out, &to, sizeof(to));
	}
	return put_threads(w, out);
}

/* ---- the frames --------------------------------------------------------------------- */

static int read_records(int out, struct unwinder_record **x, size_t *n, struct err *e)
{
	off_t size = lseek(out, 0, SEEK_END);

	*n = MIN(size > 0 ? (size_t)size / sizeof(**x) : 0, (size_t)UNWINDER_FRAMES_MOST * 2);
	*x = calloc(*n + 1, sizeof(**x));
	if (!*x)
		return err_set(e, -ENOMEM, "out of memory");
	return pread_all(out, 0, *x, *n * sizeof(**x)) == 0 ? 0
		: err_set(e, -EIO, "the unwound frames cannot be read");
}

/* Takes what the program wrote. `ended` is how it ended; if it ended early, `e` has the reason, and gets the place.
 */
static int take_frames(struct unwinding *w, int out, int ended, bool crashed, struct err *e)
{
	struct stacks_records of = {w->state.thread, w->state.n_threads, !w->pid && w->state.signal, ended < 0};
	_cleanup_free_ struct unwinder_record *x = NULL;
	struct err why = *e;
	struct stacks_cut at;
	size_t n;
	int r = read_records(out, &x, &n, e);

	if (r < 0 || (ended < 0 && !n && !crashed))
		return r < 0 ? r : ended;
	r = stacks_records(w->s, &of, x, n, &at);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	if (r == 0)
		return 0; /* it had written the last frame */
	return err_set(e, ended, "%s, at thread %" PRIu64 ": the rest of its stack is missing, and the stacks of "
		"%zu more thread%s", why.text, at.id, at.after, PLURAL(at.after));
}

/* ---- the program -------------------------------------------------------------------- */

struct ends {
	int task, out, socket[2];
};

static void ends_close(struct ends *x)
{
	cleanup_close(&x->task);
	cleanup_close(&x->out);
	cleanup_close(&x->socket[0]);
	cleanup_close(&x->socket[1]);
}

static int ends_open(struct ends *x, const struct unwinding *w)
{
	_cleanup_buf_ struct buf task = BUF_UP_TO((size_t)1 << 30);
	int r = put_task(w, &task);

	if (r < 0)
		return r;
	x->task = memfd_create("unwind-task", MFD_CLOEXEC);
	x->out = memfd_create("unwind-out", MFD_CLOEXEC);
	if (x->task < 0 || x->out < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, x->socket) < 0)
		return -errno;
	return pwrite(x->task, task.p, task.n, 0) == (ssize_t)task.n ? 0 : -EIO;
}

static int ended_by(int number, int r, struct err *e)
{
	const char *name = sigabbrev_np(number);

	return err_set(e, r, "the program that unwinds stacks was ended by signal %d%s%s%s", number,
		name ? ", SIG" : "", name ? name : "", number == SIGKILL ? " (memory is short)" :
		number == SIGXCPU ? " (it took too long)" : "");
}

/* Names the program in the error of a run; what the program itself reported stays. */
static int explain(const struct worker_end *end, int r, struct err *e)
{
	switch (end->how) {
	case WORKER_GIVEN_UP:
		return err_set(e, r, "the program that unwinds stacks was ended: %s", err_text(r));
	case WORKER_DIED:
		if (WIFSIGNALED(end->status))
			return ended_by(WTERMSIG(end->status), r, e);
		return err_set(e, r, "the program that unwinds stacks ended with status %d",
			WEXITSTATUS(end->status));
	case WORKER_SILENT:
		return err_set(e, r, "the program that unwinds stacks reported nothing");
	case WORKER_SAID:
		return r == 0 || r == -EPERM || r == -ENOMEM ? r : -EBADMSG;
	default:
		return r;
	}
}

static int unwind(struct unwinding *w, int memory, struct err *e)
{
	_cleanup_(ends_close) struct ends x = {-1, -1, {-1, -1}};
	_cleanup_worker_end_ struct worker_end end = {.word = -1};
	int r = ends_open(&x, w);
	const struct worker_run run = {.name = "unwind", .done = "unwound", .verb = "unwind",
		.wait_seconds = WAIT_SECONDS, .unsandboxed = w->how->unsandboxed, .stop = w->how->stop,
		.serve = serve, .ctx = w, .socket = x.socket[0],
		.fds = (const int[]){x.task, memory, -1, x.out, x.socket[1]}, .n = 5};

	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	w->socket = x.socket[0];
	r = explain(&end, worker_run(&run, &end, e), e);
	return r == -EINTR || end.how == WORKER_UNSTARTED ? r
		: take_frames(w, x.out, r, WIFSIGNALED(end.status), e);
}

/* ---- the program's stacks ----------------------------------------------------------- */

static int finish(struct unwinding *w, int memory, struct err *e)
{
	char reason[DUMP_REASON];
	int r = add_vdso(w);

	if (r == 0)
		r = unwind(w, memory, e);
	snprintf(w->s->reason, sizeof(w->s->reason), "%s", dump_reason(&w->state, reason));
	w->s->address = w->state.has_address ? w->state.address : 0;
	w->s->whole = w->pid ? 0 : w->state.whole;
	dump_state_release(&w->state);
	return r;
}

int stacks_from_core(struct stacks *s, int fd, uint64_t size, const struct stacks_unwind *how, struct err *e)
{
	struct unwinding w = {s, how, {.fd = -1}, 0, STACKS_NO_MODULE, STACKS_NO_MODULE, -1};
	struct view v = view_of_fd(fd, size);
	int r = dump_core_state(&v, &w.state, e);

	if (r < 0)
		return r;
	r = dump_read(&v, add_module, &w, e);
	if (r < 0) {
		dump_state_release(&w.state);
		return e->text[0] ? r : err_set(e, r, "%s", err_text(r));
	}
	return finish(&w, fd, e);
}

int stacks_from_process(struct stacks *s, pid_t pid, const struct stacks_unwind *how, struct err *e)
{
	struct unwinding w = {s, how, {.fd = -1}, pid, STACKS_NO_MODULE, STACKS_NO_MODULE, -1};
	int r = dump_process(pid, add_module, &w, e);

	if (r < 0)
		return e->text[0] ? r : err_set(e, r, "%s", err_text(r));
	r = dump_process_state(pid, &w.state, e);
	return r < 0 ? r : finish(&w, w.state.fd, e);
}
