/* Stops the threads of a process for a moment, and copies their registers and stacks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/grow.h"
#include "base/path.h"
#include "base/util.h"
#include "stacks/dump/private.h"
#include "stacks/dump/state-private.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define STACK_MOST ((uint64_t)8 << 20)	/* of one thread */
#define COPIES_MOST ((uint64_t)1 << 30) /* of all threads */
#define MAPS_MOST (64u << 20)
/* For all threads to stop. A thread that is in the kernel for long is left out, after half of what is left: otherwise
 * the first such thread would take the time of all others. */
#define WAIT_MS 5000
#define ALT_MOST (64u << 10) /* bytes of an alternate stack in which the frame of a signal is sought */

struct mapping {
	uint64_t from, to;
};

/* A thread that is stopped; `signal` waits for it, and is given back. */
struct stopped {
	pid_t id;
	int signal;
};

struct stopping {
	struct dump_state *s;
	pid_t pid;
	int proc, mem;
	struct stopped *list;
	size_t n, room;
	struct mapping *map;
	size_t n_map, room_map;
	uint64_t until; /* clock_ms() */
	uint64_t copied;
	int r; /* the result of trace() */
};

/* ---- stopping ----------------------------------------------------------------------- */

/* Waits until the thread has stopped. -ETIMEDOUT: it has not; -ESRCH: it has ended. */
static int wait_stop(struct stopping *x, struct stopped *t)
{
	uint64_t begun = clock_ms(), until = begun < x->until ? begun + (x->until - begun) / 2 : begun;

	for (;;) {
		int status;
		pid_t r = waitpid(t->id, &status, __WALL | WNOHANG);

		if (r < 0 && errno != EINTR)
			return -ESRCH;
		if (r == t->id && !WIFSTOPPED(status))
			return -ESRCH;
		if (r == t->id) {
			/* Another stop than that of PTRACE_INTERRUPT: a signal is about to be delivered. */
			t->signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
			return 0;
		}
		if (clock_ms() >= until)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

static bool is_known(const struct stopping *x, pid_t id)
{
	for (size_t i = 0; i < x->s->n_threads; i++)
		if (x->s->thread[i].id == (uint64_t)id)
			return true;
	return false;
}

static void read_name(const struct stopping *x, pid_t id, struct dump_thread *t)
{
	_cleanup_free_ char *text = NULL;
	char path[48];

	snprintf(path, sizeof(path), "task/%d/comm", (int)id);
	if (path_read(x->proc, path, 256, &text, NULL) == 0) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(t->name, sizeof(t->name), "%s", text);
	}
}

static int read_registers(struct stopping *x, pid_t id, struct dump_thread *t)
{
	uint8_t regs[512];
	struct iovec v = {regs, sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, id, (void *)(uintptr_t)NT_PRSTATUS, &v) < 0)
		return -errno;
	if (!x->s->machine) {
		unsigned machine = state_machine(v.iov_len);

		if (!state_begin(x->s, machine, machine != DUMP_I386, false))
			return -ENOTSUP;
		x->s->fd = memfd_create("stacks", MFD_CLOEXEC);
		if (x->s->fd < 0)
			return -errno;
	}
	return state_registers(x->s->machine, regs, v.iov_len, t) ? 0 : -ENOTSUP;
}

/* Stops one thread and reads its registers. 1: it is one more; 0: it is not; -errno. */
static int stop_thread(struct stopping *x, pid_t id)
{
	struct dump_thread t = {.id = (uint64_t)id};
	struct stopped now = {id, 0};
	int r;

	if (x->s->n_threads == DUMP_THREADS || is_known(x, id))
		return 0;
	if (ptrace(PTRACE_SEIZE, id, NULL, NULL) < 0)
		return errno == ESRCH || (errno == EPERM && x->s->n_threads) ? 0 : -errno;
	if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL) < 0)
		return 0;
	r = wait_stop(x, &now);
	if (r == -ESRCH)
		return 0;
	read_name(x, id, &t);
	if (r == 0) {
		if (APPEND(x->list, x->room, x->n, now) < 0) {
			ptrace(PTRACE_DETACH, id, NULL, (void *)(uintptr_t)now.signal);
			return -ENOMEM;
		}
		r = read_registers(x, id, &t);
		if (r == -ENOTSUP)
			return r;
	}
	if (r < 0)
		snprintf(t.lacks, sizeof(t.lacks), "%s", r == -ETIMEDOUT ? "the thread did not stop" : err_text(r));
	r = state_thread(x->s, &t);
	return r < 0 ? r : 1;
}

static int stop_some(struct stopping *x)
{
	int fd = openat(x->proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), more = 0, r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		r = -errno;
		cleanup_close(&fd);
		return r == -ENOENT ? -ESRCH : r;
	}
	while (r >= 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			r = stop_thread(x, (pid_t)strtol(entry->d_name, NULL, 10));
			more |= r > 0;
		}
	closedir(dir);
	return r < 0 ? r : more;
}

/* The kernel does the same when the tracing thread ends. */
static void let_go(struct stopping *x)
{
	for (size_t i = 0; i < x->n; i++)
		ptrace(PTRACE_DETACH, x->list[i].id, NULL, (void *)(uintptr_t)x->list[i].signal);
}

/* ---- stacks ------------------------------------------------------------------------- */

static int read_maps(struct stopping *x)
{
	_cleanup_free_ char *maps = NULL;
	char *save = NULL;
	int r = path_read(x->proc, "maps", MAPS_MOST, &maps, NULL);

	for (char *line = r < 0 ? NULL : strtok_r(maps, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct mapping m;
		char mode[8], *name;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &m.from, &m.to, mode) < 3 || mode[0] != 'r')
			continue;
		name = strchr(line, '[');
		if (name && strcmp(name, "[vdso]") == 0)
			x->s->vdso = m.from;
		if (APPEND(x->map, x->room_map, x->n_map, m) < 0)
			return -ENOMEM;
	}
	return r;
}

static const struct mapping *mapping_of(const struct stopping *x, uint64_t at)
{
	for (size_t i = 0; i < x->n_map; i++)
		if (at >= x->map[i].from && at < x->map[i].to)
			return &x->map[i];
	return NULL;
}

/* Copies memory into the file of the state. What cannot be read ends the copy. */
static int copy(struct stopping *x, uint64_t from, uint64_t to)
{
	char room[64 << 10];
	uint64_t begin = x->copied, at = from;
	int r = 0;

	while (r == 0 && at < to && x->copied < COPIES_MOST) {
		size_t n = (size_t)MIN(to - at, (uint64_t)sizeof(room));
		ssize_t got = pread(x->mem, room, n, (off_t)at);

		if (got <= 0)
			break;
		if (pwrite(x->s->fd, room, (size_t)got, (off_t)x->copied) != got)
			r = -ENOSPC;
		x->copied += (uint64_t)got;
		at += (uint64_t)got;
	}
	return r == 0 && at > from ? state_part(x->s, from, begin, at - from) : r;
}

/* Copies the stack from an address up, at most STACK_MOST bytes. */
static int copy_stack(struct stopping *x, uint64_t at)
{
	const struct mapping *m = mapping_of(x, at);

	if (!m)
		return 0;
	for (size_t i = 0; i < x->s->n_parts; i++)
		if (at >= x->s->part[i].address && at - x->s->part[i].address < x->s->part[i].size)
			return 0;
	/* The red zone lies below the stack pointer. */
	at = at - m->from < 256 ? m->from : at - 256;
	return copy(x, at, m->to - at > STACK_MOST ? at + STACK_MOST : m->to);
}

/* The stack pointer that a signal handler on an alternate stack interrupted; 0: there is no such handler. It is in
 * the struct ucontext, which also has the bounds of the alternate stack, and the stack pointer `at` lies in these.
 * */
static uint64_t interrupted(const struct stopping *x, uint64_t at)
{
	const struct mapping *m = mapping_of(x, at);
	unsigned sp = x->s->machine == DUMP_AMD64 ? 160 : x->s->machine == DUMP_ARM64 ? 432 : 0;
	_cleanup_free_ uint8_t *room = NULL;
	ssize_t n;

	if (!m || !sp || !(room = malloc(ALT_MOST)))
		return 0;
	at &= ~(uint64_t)7;
	n = pread(x->mem, room, (size_t)MIN(m->to - at, (uint64_t)ALT_MOST), (off_t)at);
	for (ssize_t i = 0; i + sp + 8 <= n; i += 8) {
		uint64_t base = load_number(room + i + 16, 8, false), size = load_number(room + i + 32, 8, false);
		uint64_t before = load_number(room + i + sp, 8, false);

		if (base <= at && at - base < size && size >= 1024 && size <= STACK_MOST && base >= m->from &&
			(before < base || before - base >= size) && mapping_of(x, before))
			return before;
	}
	return 0;
}

/* The stack pointer. */
static uint64_t stack_of(const struct dump_state *s, const struct dump_thread *t)
{
	return t->reg[s->machine == DUMP_AMD64 ? 7 : s->machine == DUMP_ARM64 ? 31 : 4];
}

static int copy_stacks(struct stopping *x)
{
	uint64_t vdso;
	const struct mapping *m;
	int r = read_maps(x);

	for (size_t i = 0; r == 0 && i < x->s->n_threads; i++) {
		uint64_t at = x->s->thread[i].n ? stack_of(x->s, &x->s->thread[i]) : 0, before;

		r = at ? copy_stack(x, at) : 0;
		before = r == 0 && at ? interrupted(x, at) : 0;
		if (before)
			r = copy_stack(x, before);
	}
	vdso = x->s->vdso;
	m = r == 0 && vdso ? mapping_of(x, vdso) : NULL;
	return m ? copy(x, m->from, m->to) : r;
}

/* ---- the process -------------------------------------------------------------------- */

static int stop_and_copy(struct stopping *x)
{
	int r;

	x->until = clock_ms() + WAIT_MS;
	do {
		r = stop_some(x);
	} while (r > 0); /* a thread that runs may start another one */
	if (r == 0 && !x->s->n_threads)
		r = -ESRCH;
	if (r == 0 && !x->s->machine)
		r = -EBUSY;
	if (r == 0)
		r = copy_stacks(x);
	let_go(x);
	return r;
}

static void *trace(void *ctx)
{
	struct stopping *x = ctx;

	x->r = stop_and_copy(x);
	return NULL;
}

/* A tracer cannot let a thread go that has not stopped yet, and that thread would stop later. So a thread of its own
 * is the tracer: when it ends, the kernel lets all go. */
static int trace_on_thread(struct stopping *x)
{
	sigset_t all, was;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	r = -pthread_create(&thread, NULL, trace, x);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (r < 0)
		return r;
	pthread_join(thread, NULL);
	return x->r;
}

static int explain(pid_t pid, int r, struct err *e)
{
	int id = (int)pid;

	switch (r) {
	case -ESRCH:
		return err_set(e, r, "no such process: %d", id);
	case -EPERM:
	case -EACCES:
		return err_set(e, -EPERM, "process %d may not be traced by this user, or has a debugger; see "
			"/proc/sys/kernel/yama/ptrace_scope", id);
	case -EBUSY:
		return err_set(e, r, "process %d: no thread stopped in time: the kernel works for each; try again",
			id);
	case -ENOTSUP:
		return err_set(e, r, "process %d: symfs reads stacks of amd64, arm64 and i386 only", id);
	default:
		return err_set(e, r, "process %d: %s", id, err_text(r));
	}
}

int dump_process_state(pid_t pid, struct dump_state *out, struct err *e)
{
	struct stopping x = {.s = out, .pid = pid, .proc = -1, .mem = -1};
	char name[40];
	int r = 0;

	*out = (struct dump_state){.fd = -1};
	snprintf(name, sizeof(name), "/proc/%d", (int)pid);
	x.proc = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	x.mem = x.proc < 0 ? -1 : openat(x.proc, "mem", O_RDONLY | O_CLOEXEC);
	if (x.mem < 0)
		r = errno == ENOENT ? -ESRCH : -errno;
	if (r == 0)
		r = trace_on_thread(&x);
	free(x.list);
	free(x.map);
	cleanup_close(&x.mem);
	cleanup_close(&x.proc);
	if (r == 0) {
		state_end(out);
		return 0;
	}
	dump_state_release(out);
	return explain(pid, r, e);
}
