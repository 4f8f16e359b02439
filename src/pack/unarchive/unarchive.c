/* Starts the worker that takes an archive apart, and checks each of its messages. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pack/unarchive/unarchive.h"
#include "base/clock.h"
#include "base/process.h"
#include "base/util.h"
#include "priv/worker.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define RATIO_MOST 100u
#define BYTES_FREE (256ull << 20)
#define STALL_SECONDS 120
/* Ten times the processor time that the worker allows itself: many processes may share the processors. */
#define WAIT_SECONDS 3000
#define WAIT_SECONDS_PER_MIB 10
#define MEMORY (512ull << 20) /* a dictionary of xz or 7z can have up to 256 MiB */
#define LOOK_MS 200 /* between two checks of `stop` */

enum stage {
	STAGE_BETWEEN,	/* before a member: WIRE_MEMBER or WIRE_DONE must come */
	STAGE_NAMED,	/* after WIRE_MEMBER: the first bytes must come */
	STAGE_JUDGED,	/* the first bytes are here, and the worker waits for the verdict */
	STAGE_RUNNING,	/* after WIRE_GO: bytes and an end must come */
	STAGE_OVER	/* after WIRE_DONE or an error */
};

struct unarchive {
	struct unarchive_opts opts;
	int socket;
	pid_t pid; /* 0: this process did not start the worker, or has waited for its end */
	enum stage stage;
	uint64_t seen;
	uint64_t bytes_seen; /* of all members */
	double waited; /* seconds in which this process waited for the worker */
	int r; /* STAGE_OVER: the result */
	struct err e;
	struct wire w; /* the last message */
	uint8_t bytes[WIRE_BYTES_MOST];
};

uint64_t unarchive_bytes_most(uint64_t size)
{
	uint64_t most = size > UINT64_MAX / RATIO_MOST ? UINT64_MAX : size * RATIO_MOST;

	return MAX(most, (uint64_t)BYTES_FREE);
}

/* ---- the process --------------------------------------------------------------------- */

static uint64_t mib_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_size >> 20;
}

static const struct worker_run texts = {.name = "unarchive", .done = "unpacked", .verb = "unpack",
	.unstarted = "was not unpacked"};

static int start(struct unarchive *u, int fd, int socket, struct err *e)
{
	char bytes[32], members[32];
	struct worker_run run = texts;

	run.program = u->opts.program;
	run.seconds = (unsigned)MIN(WORKER_SECONDS + mib_of(fd), (uint64_t)UINT_MAX);
	run.memory = MEMORY;
	run.unsandboxed = u->opts.unsandboxed;
	run.words[0] = bytes;
	run.words[1] = members;
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)u->opts.limits.bytes);
	snprintf(members, sizeof(members), "%llu", (unsigned long long)u->opts.limits.members);
	return worker_begin(&run, (const int[]){fd, socket}, 2, &u->pid, e);
}

int unarchive_over(struct unarchive **out, const struct unarchive_opts *o, int socket, struct err *e)
{
	struct unarchive *u = calloc(1, sizeof(*u));

	if (!u) {
		close(socket);
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	}
	u->opts = *o;
	u->opts.wait_seconds = o->wait_seconds ? o->wait_seconds : WAIT_SECONDS;
	u->socket = socket;
	*out = u;
	return 0;
}

/* Opens the archive anew to read only: a draft of the store is open for writing. -1: /proc is not there; then the
 * worker gets the descriptor as it is, and could change the archive, but no other file. */
static int only_read(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int unarchive_open(struct unarchive **out, const struct unarchive_opts *o, int fd, struct err *e)
{
	_cleanup_close_ int own = only_read(fd);
	struct unarchive_opts sized = *o;
	struct unarchive *u = NULL;
	int pair[2], r;

	sized.wait_seconds = o->wait_seconds ? o->wait_seconds
		: (unsigned)MIN(WAIT_SECONDS + mib_of(fd) * WAIT_SECONDS_PER_MIB, (uint64_t)UINT_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, -errno, "was not unpacked: %s", err_text(errno));
	/* The system's default may have no room for a whole message. */
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &(int){4 * WIRE_BYTES_MOST}, sizeof(int));
	r = unarchive_over(&u, &sized, pair[0], e);
	if (r == 0)
		r = start(u, own >= 0 ? own : fd, pair[1], e);
	close(pair[1]);
	if (r < 0) {
		unarchive_close(u);
		return r;
	}
	*out = u;
	return 0;
}

/* Waits for the end of the worker, and ends it after a second. Returns the status of waitpid(). */
static int reap(struct unarchive *u)
{
	int status = u->pid ? SIGKILL : 0; /* if the worker does not end in time */

	if (u->pid)
		process_wait(u->pid, 1000, &status);
	u->pid = 0;
	return status;
}

void unarchive_close(struct unarchive *u)
{
	if (!u)
		return;
	if (u->pid)
		kill(u->pid, SIGKILL);
	close(u->socket);
	reap(u);
	free(u);
}

uint64_t unarchive_seen(const struct unarchive *u)
{
	return u->seen;
}

/* ---- messages ------------------------------------------------------------------------ */

static int over(struct unarchive *u, int r)
{
	u->stage = STAGE_OVER;
	u->r = r;
	u->e.code = r;
	return r;
}

/* The worker closed its socket without WIRE_DONE. */
static int died(struct unarchive *u)
{
	int status = reap(u), r = worker_ended(&texts, status, &u->e);

	if (r == -ETIMEDOUT)
		r = -EFBIG;
	if (r == -ENOMEM) /* by reap(), or because memory is short */
		r = err_set(&u->e, -EBADMSG, "cannot be unpacked: the worker was ended by signal %d", SIGKILL);
	if (r == 0)
		r = err_set(&u->e, -EBADMSG, "cannot be unpacked: the worker ended with status 0");
	return over(u, r);
}

static int confused(struct unarchive *u)
{
	return over(u, err_set(&u->e, -EBADMSG, "cannot be unpacked: the worker sent an unexpected message"));
}

/* Waits until the worker has sent something, or has ended. A worker that was taken over could send something now and
 * then, and sleep meanwhile, so that no limit of processor time ends it: the waits are limited together, too. */
static int wait_for(struct unarchive *u)
{
	unsigned seconds = u->opts.stall_seconds ? u->opts.stall_seconds : STALL_SECONDS;
	struct pollfd p = {.fd = u->socket, .events = POLLIN};
	double began = clock_seconds(), before = u->waited;

	for (;;) {
		bool came;

		if (u->opts.stop && atomic_load(u->opts.stop))
			return over(u, err_set(&u->e, -EINTR, "%s", err_text(EINTR)));
		came = poll(&p, 1, LOOK_MS) > 0;
		u->waited = before + clock_seconds() - began;
		if (u->waited > u->opts.wait_seconds)
			return over(u, err_set(&u->e, -EFBIG, "takes too long to unpack"));
		if (came)
			return 0;
		if (clock_seconds() - began > seconds)
			return over(u, err_set(&u->e, -ETIME,
				"was not unpacked: the worker made no progress for %u s", seconds));
	}
}

static bool is_sound(const struct unarchive *u, size_t n)
{
	const struct wire *w = &u->w;
	bool text = w->kind == WIRE_END || w->kind == WIRE_DONE;
	uint32_t most = w->kind == WIRE_BYTES ? WIRE_BYTES_MOST : w->kind == WIRE_MEMBER ? WIRE_NAME_MOST : 0;

	if (n < sizeof(*w) || n - sizeof(*w) != w->n || w->nth < u->seen || w->nth > u->opts.limits.members + 1)
		return false;
	if (w->kind == WIRE_MEMBER && w->nth == u->seen)
		return false;
	if (w->kind == WIRE_BYTES && w->n == 0 && u->stage != STAGE_NAMED)
		return false;
	if (w->kind == WIRE_BYTES && w->n > u->opts.limits.bytes - u->bytes_seen)
		return false;
	return w->n <= (text ? WIRE_TEXT_MOST : most) && w->r <= 0 && (text || w->r == 0);
}

/* Receives the next message that is not WIRE_TICK. */
static int receive(struct unarchive *u)
{
	struct iovec parts[] = {{&u->w, sizeof(u->w)}, {u->bytes, sizeof(u->bytes)}};
	ssize_t n;

	do {
		struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
		int r = wait_for(u);

		if (r < 0)
			return r;
		n = recvmsg(u->socket, &m, MSG_CMSG_CLOEXEC);
		if (n <= 0)
			return died(u);
		if ((m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || !is_sound(u, (size_t)n))
			return confused(u);
		u->seen = u->w.nth;
		u->bytes_seen += u->w.kind == WIRE_BYTES ? u->w.n : 0;
	} while (u->w.kind == WIRE_TICK);
	return 0;
}

/* The errors that a worker may report. Others would be taken for trouble of this machine. */
static int plain_error(int r)
{
	return r == -ENOTSUP || r == -EFBIG || r == -E2BIG || r == -EPERM ? r : -EBADMSG;
}

/* Sets `e` to the text of WIRE_END or WIRE_DONE. */
static int told_error(struct unarchive *u, struct err *e)
{
	const char *text = (const char *)u->bytes;

	return u->w.n && text[0] ? err_set(e, plain_error(u->w.r), "%.*s", (int)u->w.n, text)
				 : err_set(e, plain_error(u->w.r), "cannot be unpacked");
}

static int answer(struct unarchive *u, char verdict)
{
	if (send(u->socket, &verdict, 1, MSG_NOSIGNAL) == 1)
		return 0;
	return died(u);
}

/* ---- members ------------------------------------------------------------------------- */

/* After WIRE_DONE: 0 if the archive was read to its end. */
static int done(struct unarchive *u)
{
	over(u, -ENOENT);
	if (u->w.r < 0)
		over(u, told_error(u, &u->e));
	return u->r;
}

static void take_name(struct unarchive *u, struct unarchive_member *out)
{
	out->nth = u->w.nth;
	out->size = u->w.size;
	out->time = u->w.time > 0 && u->w.time <= clock_wall() ? u->w.time : 0;
	out->raw = u->w.flags & WIRE_RAW;
	memcpy(out->name, u->bytes, u->w.n);
	out->name[memchr(u->bytes, '\0', u->w.n) ? 0 : u->w.n] = '\0';
}

int unarchive_next(struct unarchive *u, struct unarchive_member *out, struct err *e)
{
	int r = 0;

	if (u->stage == STAGE_NAMED) { /* the first bytes were not asked for, but they come */
		const uint8_t *p;
		size_t n;

		r = unarchive_head(u, &p, &n, e);
	}
	if (u->stage == STAGE_JUDGED) {
		r = answer(u, WIRE_SKIP);
		u->stage = r < 0 ? u->stage : STAGE_BETWEEN;
	}
	if (u->stage == STAGE_RUNNING) /* the caller gave the member up */
		over(u, err_set(&u->e, -EFBIG, "is not unpacked further"));
	if (u->stage == STAGE_BETWEEN) {
		r = receive(u);
		if (r == 0 && u->w.kind == WIRE_DONE)
			r = done(u);
		else if (r == 0 && u->w.kind != WIRE_MEMBER)
			r = confused(u);
		else if (r == 0)
			u->stage = STAGE_NAMED;
	}
	if (u->stage == STAGE_OVER)
		return u->r == -ENOENT ? u->r : err_set(e, u->r, "%s", u->e.text);
	take_name(u, out);
	return 0;
}

/* Receives WIRE_BYTES or WIRE_END. 1: bytes; 0: the end of the member; -errno. */
static int receive_bytes(struct unarchive *u, const uint8_t **p, size_t *n, struct err *e)
{
	int r = u->stage == STAGE_OVER ? u->r : receive(u);

	*n = 0;
	*p = u->bytes;
	if (r == 0 && u->w.kind != WIRE_BYTES && u->w.kind != WIRE_END)
		r = confused(u);
	if (r < 0)
		return err_set(e, r, "%s", u->e.text);
	if (u->w.kind == WIRE_BYTES) {
		*n = u->w.n;
		return 1;
	}
	u->stage = STAGE_BETWEEN;
	return u->w.r < 0 ? told_error(u, e) : 0;
}

int unarchive_head(struct unarchive *u, const uint8_t **p, size_t *n, struct err *e)
{
	int r;

	if (u->stage != STAGE_NAMED)
		confused(u);
	r = receive_bytes(u, p, n, e);
	if (r == 0) { /* an end without an error, and without bytes */
		confused(u);
		return err_set(e, u->r, "%s", u->e.text);
	}
	if (r < 0)
		return r;
	u->stage = STAGE_JUDGED;
	return 0;
}

int unarchive_read(struct unarchive *u, const uint8_t **p, size_t *n, struct err *e)
{
	int r;

	*n = 0;
	if (u->stage == STAGE_JUDGED) {
		r = answer(u, WIRE_GO);
		u->stage = r < 0 ? u->stage : STAGE_RUNNING;
	}
	if (u->stage != STAGE_RUNNING) {
		if (u->stage != STAGE_OVER)
			confused(u);
		return err_set(e, u->r, "%s", u->e.text);
	}
	r = receive_bytes(u, p, n, e);
	return MIN(r, 0);
}
