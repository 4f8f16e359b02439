/* Both ends of the socket between a worker that reads a few addresses of a PDB and the process that has the bytes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/partial-work.h"
#include "base/clock.h"
#include "base/util.h"
#include "convert/worker-private.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define PAGE 4096u
#define ROUND_MOST (1ull << 30) /* the most bytes that a worker may request in a round */
#define STUCK_MS 10000		/* a worker that reads nothing for this long is ended */
#define LOOK_MS 200		/* milliseconds between two checks of `stop` */

/* ---- the worker ----------------------------------------------------------------------------- */

/* The PDB in the worker's memory. Pages are present once their bytes have come. */
struct pages {
	int socket;
	uint64_t size;
	uint8_t *bytes;
	uint8_t *present; /* a byte for each page */
};

static bool has_pages(const void *ctx, uint64_t off, uint64_t n)
{
	const struct pages *p = ctx;

	for (uint64_t i = off / PAGE; i * PAGE < off + n; i++)
		if (!p->present[i])
			return false;
	return true;
}

/* Turns the missing ranges into ranges of whole missing pages, ascending; a range ends where a page is present or
 * not needed. */
static unsigned list_pages(const struct pages *p, const struct msf_lack *lacks, unsigned n, uint8_t *wanted,
	struct msf_lack out[static MSF_LACKS_MOST])
{
	uint64_t pages = (p->size + PAGE - 1) / PAGE;
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++)
		for (uint64_t at = lacks[i].off / PAGE; at < pages && at * PAGE < lacks[i].off + lacks[i].n; at++)
			wanted[at] = !p->present[at];
	for (uint64_t at = 0; at < pages; at++) {
		uint64_t off = at * PAGE;

		if (!wanted[at])
			continue;
		if (k && out[k - 1].off + out[k - 1].n == off)
			out[k - 1].n += MIN(PAGE, p->size - off);
		else if (k < MSF_LACKS_MOST)
			out[k++] = (struct msf_lack){off, MIN(PAGE, p->size - off)};
	}
	return k;
}

static int read_range(struct pages *p, const struct msf_lack *range)
{
	for (uint64_t at = range->off; at < range->off + range->n;) {
		ssize_t n = read(p->socket, p->bytes + at, (size_t)MIN(PARTIAL_PACKET, range->off + range->n - at));

		if (n <= 0)
			return -EIO;
		at += (uint64_t)n;
	}
	memset(p->present + range->off / PAGE, 1, (size_t)((range->n + PAGE - 1) / PAGE));
	return 0;
}

static int ask(void *ctx, const struct msf_lack *lacks, unsigned n)
{
	struct pages *p = ctx;
	_cleanup_free_ struct msf_lack *ranges = malloc(MSF_LACKS_MOST * sizeof(*ranges));
	_cleanup_free_ uint8_t *wanted = calloc((size_t)(p->size / PAGE + 1), 1);
	int r = ranges && wanted ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	n = list_pages(p, lacks, n, wanted, ranges);
	if (!n || write(p->socket, ranges, n * sizeof(*ranges)) != (ssize_t)(n * sizeof(*ranges)))
		return -EIO;
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = read_range(p, &ranges[i]);
	return r;
}

static int work_on(struct pages *p, struct gsym_writer *w, const uint32_t *addrs, uint32_t n, struct err *e)
{
	struct view v;
	int r;

	/* Memory that is never touched takes no space, whatever the size of the file. */
	p->bytes = mmap(NULL, (size_t)p->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		0);
	p->present = calloc((size_t)(p->size / PAGE + 1), 1);
	if (p->bytes == MAP_FAILED || !p->present) {
		free(p->present);
		return err_set(e, -ENOMEM, "out of memory");
	}
	v = view_of_mem(p->bytes, (size_t)p->size);
	v.has = has_pages;
	v.ctx = p;
	r = gsym_partial(w, &v, addrs, n, ask, p, e);
	free(p->present);
	munmap(p->bytes, (size_t)p->size);
	return r;
}

int partial_work(struct gsym_writer *w, int socket, struct err *e)
{
	const size_t most = sizeof(struct partial_ask) + PARTIAL_ADDRESSES_MOST * sizeof(uint32_t);
	_cleanup_free_ uint8_t *packet = malloc(most);
	struct pages p = {.socket = socket};
	struct partial_ask q;
	ssize_t n = packet ? read(socket, packet, most) : -1;

	if (n < (ssize_t)sizeof(q))
		return err_set(e, -EIO, "cannot be read: no addresses");
	memcpy(&q, packet, sizeof(q));
	if ((size_t)n != sizeof(q) + q.n * sizeof(uint32_t) || !q.size || q.size > SIZE_MAX / 2)
		return err_set(e, -EIO, "cannot be read: no addresses");
	p.size = q.size;
	return work_on(&p, w, (const uint32_t *)(packet + sizeof(q)), q.n, e);
}

/* ---- the process that has the bytes --------------------------------------------------------- */

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
	s.socket = w.socket = ends[0];
	w.form = GSYM_WORK_PARTIAL;
	w.serve = serve;
	w.ctx = &s;
	r = send_question(&s, addrs, n);
	r = r < 0 ? err_set(e, r, "%s", err_text(r)) : gsym_work(&w, ends[1], out, e);
	close(ends[0]);
	close(ends[1]);
	return r;
}
