/* Converts a file in a worker process, and reads unwind tables in another. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/worker.h"
#include "base/clock.h"
#include "base/util.h"
#include "derive/convert/worker-private.h"
#include "priv/worker.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define ROUND_MOST (1ull << 30) /* the most bytes that a worker may request in a round */
#define STUCK_MS 10000		/* a worker that reads nothing for this long is ended */
#define LOOK_MS 200		/* milliseconds between two checks of `stop` */

static const char *word_for(const struct gsym_work *o, const struct gsym_work_file *f)
{
	if (o->form == GSYM_WORK_ASKED && f == &o->alt)
		return WORKER_HERE;
	return !o->lack ? WORKER_NONE : f->ask ? WORKER_ASK : f->fd >= 0 ? WORKER_HERE : WORKER_NONE;
}

/* Reads the ids of the units that the worker lacks. 0; -EBADMSG, -ENOMEM. */
static int take_units(int word, struct gsym_work_lack *lack)
{
	off_t size = lseek(word, 0, SEEK_END) - (off_t)WORKER_UNITS_AT;
	size_t n = MIN(size > 0 ? (size_t)size / 8 : 0, (size_t)GSYM_WORK_UNITS_MOST);

	lack->units = n ? malloc(n * 8) : NULL;
	if (!lack->units)
		return n ? -ENOMEM : -EBADMSG;
	lack->n_units = n;
	return pread(word, lack->units, n * 8, WORKER_UNITS_AT) == (ssize_t)(n * 8) ? 0 : -EBADMSG;
}

static int take_lack(int word, struct gsym_work_lack *out)
{
	if (pread(word, out, sizeof(*out), sizeof(struct worker_word)) != (ssize_t)sizeof(*out))
		*out = (struct gsym_work_lack){.id_len = UINT8_MAX};
	out->units = NULL; /* a pointer of the worker means nothing here */
	out->n_units = 0;
	return out->id_len > sizeof(out->id) || (unsigned)out->kind > GSYM_DWO ? -EBADMSG
		: out->kind == GSYM_DWO ? take_units(word, out)
					: 0;
}

/* The result of a worker that has reported -ENOMEM or -EAGAIN. */
static int explain(const struct gsym_work *o, int r, int word, struct err *e)
{
	if (r == -ENOMEM)
		return err_set(e, r, "was not converted: it needs more memory than the %llu MiB that a worker may "
			"have", (unsigned long long)((o->memory ? o->memory : worker_memory()) >> 20));
	r = o->lack ? take_lack(word, o->lack) : -EBADMSG;
	return r < 0 ? err_set(e, r, "cannot be converted: %s", err_text(r)) : -EAGAIN;
}

static unsigned threads_of(const struct gsym_work *o)
{
	return o->threads ? o->threads : (unsigned)MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L), 8L);
}

/* ---- the bytes that a worker of GSYM_WORK_PARTIAL asks for ---------------------------------- */

struct served {
	const struct partial_file *file;
	const atomic_bool *stop;
	int socket;
	uint64_t sent;
	uint64_t end; /* clock_ms() at which the worker's time ends */
};

/* Sends a packet. Waits for a slow worker, but not beyond its time. */
static int send_packet(struct served *s, const void *p, size_t n)
{
	uint64_t end = MIN(s->end, clock_ms() + STUCK_MS);
	struct pollfd socket = {.fd = s->socket, .events = POLLOUT};

	while (send(s->socket, p, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n) {
		if (errno != EAGAIN && errno != EINTR)
			return -EIO;
		if (s->stop && atomic_load(s->stop))
			return -EINTR;
		if (clock_ms() >= end)
			return -ETIME;
		poll(&socket, 1, LOOK_MS);
	}
	return 0;
}

static int send_range(struct served *s, const struct msf_lack *range)
{
	_cleanup_free_ uint8_t *packet = malloc(PARTIAL_PACKET);
	int r = packet ? 0 : -ENOMEM;

	for (uint64_t at = range->off; r == 0 && at < range->off + range->n;) {
		size_t n = (size_t)MIN(PARTIAL_PACKET, range->off + range->n - at);

		r = s->file->read(s->file->ctx, at, packet, n);
		if (r == 0)
			r = send_packet(s, packet, n);
		at += n;
	}
	return r;
}

/* Whether the ranges lie in the file, and their sum is possible: a worker requests each byte only once. */
static bool are_sound(const struct served *s, const struct msf_lack *ranges, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!ranges[i].n || ranges[i].off > s->file->size || ranges[i].n > s->file->size - ranges[i].off)
			return false;
		sum += ranges[i].n;
	}
	return n && sum <= ROUND_MOST && sum <= s->file->size - s->sent;
}

/* Answers one message of the worker. */
static int serve(void *ctx)
{
	struct served *s = ctx;
	_cleanup_free_ struct msf_lack *ranges = malloc(MSF_LACKS_MOST * sizeof(*ranges));
	ssize_t got = ranges ? recv(s->socket, ranges, MSF_LACKS_MOST * sizeof(*ranges), MSG_DONTWAIT) : -1;
	unsigned n = got > 0 ? (unsigned)((size_t)got / sizeof(*ranges)) : 0;
	int r;

	if (!ranges)
		return -ENOMEM;
	if (got <= 0 || (size_t)got % sizeof(*ranges) || !are_sound(s, ranges, n))
		return -EBADMSG;
	r = s->file->await(s->file->ctx, ranges, n);
	for (unsigned i = 0; r == 0 && i < n; i++) {
		r = send_range(s, &ranges[i]);
		s->sent += ranges[i].n;
	}
	return r;
}

/* `s`: answers the worker, which asks for bytes; NULL: the worker has all files. */
static int run(const struct gsym_work *o, int in, struct served *s, int *out, struct err *e)
{
	_cleanup_close_ int made = memfd_create("gsym", MFD_CLOEXEC);
	_cleanup_worker_end_ struct worker_end end = {.word = -1};
	char threads[16], form[16], sym[8];
	int alt = o->form == GSYM_WORK_ASKED ? o->asked : o->alt.fd, r;
	struct worker_run run = {.name = "convert", .program = o->program, .done = "converted", .verb = "convert",
		.unstarted = "was not converted", .seconds = o->seconds, .threads = threads_of(o),
		.memory = o->memory, .unsandboxed = o->unsandboxed, .stop = o->stop,
		.serve = s ? serve : NULL, .ctx = s, .socket = s ? s->socket : -1,
		.words = {threads, form, word_for(o, &o->alt), word_for(o, &o->package),
			word_for(o, &o->units), sym, o->name ? o->name : "", o->code_id ? o->code_id : "",
			o->code_file ? o->code_file : ""},
		.fds = (const int[]){in, made, -1, o->lack || o->form == GSYM_WORK_ASKED ? alt : -1,
			o->lack ? o->package.fd : -1, o->lack ? o->units.fd : -1}, .n = 6};

	if (made < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	snprintf(threads, sizeof(threads), "%u", run.threads);
	snprintf(form, sizeof(form), "%u", o->form);
	snprintf(sym, sizeof(sym), "%s%s%s", WORKER_PLAIN, o->bare_sym ? WORKER_BARE : "",
		o->no_rules ? WORKER_NO_RULES : "");
	r = worker_run(&run, &end, e);
	if (end.how == WORKER_SAID && o->bare)
		*o->bare = end.bare;
	if (end.how == WORKER_SAID && (r == -ENOMEM || r == -EAGAIN))
		r = explain(o, r, end.word, e);
	if (r == 0)
		*out = take_fd(&made);
	return r;
}

int gsym_work(const struct gsym_work *o, int in, int *out, struct err *e)
{
	return run(o, in, NULL, out, e);
}

static int send_question(struct served *s, const uint32_t *addrs, size_t n)
{
	struct partial_ask q = {.size = s->file->size, .n = (uint32_t)n};
	_cleanup_buf_ struct buf packet = BUF_UP_TO(1u << 20);

	if (n > PARTIAL_ADDRESSES_MOST)
		return -E2BIG;
	buf_add(&packet, &q, sizeof(q));
	buf_add(&packet, addrs, n * sizeof(*addrs));
	return packet.r < 0 ? packet.r : send_packet(s, packet.p, packet.n);
}

int gsym_work_partial(const struct gsym_work *o, const struct partial_file *file, const uint32_t *addrs, size_t n,
	int *out, struct err *e)
{
	uint64_t seconds = o->seconds ? o->seconds : WORKER_SECONDS;
	struct served s = {.file = file, .stop = o->stop, .end = clock_ms() + seconds * 1000};
	struct gsym_work w = *o;
	int ends[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	s.socket = ends[0];
	w.form = GSYM_WORK_PARTIAL;
	r = send_question(&s, addrs, n);
	r = r < 0 ? err_set(e, r, "%s", err_text(r)) : run(&w, ends[1], &s, out, e);
	close(ends[0]);
	close(ends[1]);
	return r;
}

/* ---- unwind tables ------------------------------------------------------------------- */

/* The errors that the program may report. Others would be taken for trouble of this machine. */
static bool is_plain(int r)
{
	return r == -ENODATA || r == -ENOTSUP || r == -ENOMSG || r == -EFBIG || r == -EPERM || r == -ENOMEM;
}

int frames_text(const struct frames_work *w, int in, int *out, struct unwind_counts *counts, struct err *e)
{
	_cleanup_close_ int text = memfd_create("frames", MFD_CLOEXEC);
	_cleanup_worker_end_ struct worker_end end = {.word = -1};
	const struct worker_run run = {.name = "frames", .program = w->program, .done = "read", .verb = "read",
		.unstarted = "has no unwind rules", .seconds = w->seconds, .memory = w->memory,
		.unsandboxed = w->unsandboxed, .stop = w->stop, .fds = (const int[]){in, text}, .n = 2};
	int r;

	memset(counts, 0, sizeof(*counts));
	if (text < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	r = worker_run(&run, &end, e);
	if (end.how == WORKER_SILENT || (end.how == WORKER_SAID &&
		pread(end.word, counts, sizeof(*counts), sizeof(struct worker_word)) != (ssize_t)sizeof(*counts)))
		return err_set(e, -EBADMSG, "cannot be read: the reader of unwind tables sent no result");
	if (end.how == WORKER_SAID && w->bare)
		*w->bare = end.bare;
	if (end.how == WORKER_SAID && r < 0 && !is_plain(r))
		r = -EBADMSG;
	if (r == 0 && lseek(text, 0, SEEK_SET) < 0)
		r = err_set(e, -errno, "%s", err_text(errno));
	if (r == 0)
		*out = take_fd(&text);
	return r;
}
