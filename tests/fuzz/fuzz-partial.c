/* Fuzzes the socket between a worker that reads a part of a PDB and the process that has its bytes. This program is
 * both: the input is a script for the worker, which comes to it as the addresses of the first packet. Whatever the
 * worker sends, the other process ends in time, and hands out only bytes of the file, each once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "derive/convert/worker.h"
#include "derive/convert/worker-private.h"
#include "fuzz/fuzz.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SIZE ((4u << 20) + 1234) /* of the file: more than a socket holds */
#define PAGE 4096u
#define SCRIPT_MOST (PARTIAL_ADDRESSES_MOST * 4 - 4)
#define SECONDS 1
#define SLOW_MS 60000 /* a run that takes longer is a hang, even on a busy machine */

/* ---- the worker ----------------------------------------------------------------------------- */

struct script {
	const uint8_t *p;
	size_t n;
};

enum {
	OP_PAGES, OP_RANGES, OP_RAW, OP_TAKE, OP_TAKE_ALL, OP_FLOOD, OP_OUT, OP_WORDS, OP_WORD, OP_SHUTDOWN, OP_CLOSE,
	OP_SIGNAL, OP_EXIT, OP_HANG, OPS
};

static unsigned next_byte(struct script *s)
{
	return s->n ? s->n--, *s->p++ : 0;
}

static size_t next_bytes(struct script *s, void *to, size_t n)
{
	n = MIN(n, s->n);
	if (n)
		memcpy(to, s->p, n);
	s->p += n;
	s->n -= n;
	return n;
}

static void say(int fd, const void *p, size_t n)
{
	if (write(fd, p, n) < 0)
		return; /* the other end does not matter to a hostile worker */
}

/* Requests ranges of whole pages, most of which are in the file. */
static void ask_pages(struct script *s)
{
	struct msf_lack all[16] = {0};
	unsigned n = next_byte(s) % (ARRAY_SIZE(all) + 1);

	for (unsigned i = 0; i < n; i++) {
		all[i].off = (uint64_t)next_byte(s) * 5 * PAGE;
		all[i].n = (uint64_t)next_byte(s) * PAGE;
	}
	say(WORKER_IN, all, n * sizeof(*all));
}

static void ask_ranges(struct script *s)
{
	struct msf_lack all[16] = {0};
	size_t n = next_byte(s) % (ARRAY_SIZE(all) + 1) * sizeof(*all);

	next_bytes(s, all, n);
	say(WORKER_IN, all, n);
}

static void send_raw(struct script *s, int fd)
{
	uint8_t room[256];
	size_t n = next_byte(s);

	say(fd, room, next_bytes(s, room, n));
}

static bool take_packet(int ms)
{
	static uint8_t room[PARTIAL_PACKET];
	struct pollfd in = {.fd = WORKER_IN, .events = POLLIN};

	return poll(&in, 1, ms) > 0 && read(WORKER_IN, room, sizeof(room)) > 0;
}

static void flood(void)
{
	static const struct msf_lack all[MSF_LACKS_MOST + 1];

	for (unsigned i = 0; i < 64; i++)
		if (send(WORKER_IN, all, sizeof(all) - i, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return;
}

static void send_word(struct script *s)
{
	struct {
		struct worker_word word;
		struct gsym_work_lack lack;
	} x;

	memset(&x, 'x', sizeof(x));
	x.word.r = -(int)next_byte(s);
	x.word.bare = false;
	next_bytes(s, &x.lack.kind, sizeof(x.lack.kind));
	say(WORKER_WORD, &x, sizeof(x));
}

/* By the kernel's action, because a sanitizer has handlers of its own. */
static void end_by_signal(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

static void run_operation(struct script *s)
{
	switch (next_byte(s) % OPS) {
	case OP_PAGES: ask_pages(s); break;
	case OP_RANGES: ask_ranges(s); break;
	case OP_RAW: send_raw(s, WORKER_IN); break;
	case OP_TAKE: take_packet(20); break;
	case OP_TAKE_ALL: while (take_packet(20)); break;
	case OP_FLOOD: flood(); break;
	case OP_OUT: send_raw(s, WORKER_OUT); break;
	case OP_WORDS: send_raw(s, WORKER_WORD); break;
	case OP_WORD: send_word(s); break;
	case OP_SHUTDOWN: shutdown(WORKER_IN, (int)next_byte(s) % 3); break;
	case OP_CLOSE: close(WORKER_IN + (int)next_byte(s) % 3); break;
	case OP_SIGNAL: end_by_signal((int)next_byte(s) % 32); break;
	case OP_EXIT: _exit((int)next_byte(s));
	case OP_HANG: poll(NULL, 0, 2000 * SECONDS); break;
	}
}

static void act(void)
{
	static uint32_t packet[sizeof(struct partial_ask) / 4 + PARTIAL_ADDRESSES_MOST];
	ssize_t n = read(WORKER_IN, packet, sizeof(packet));
	const uint32_t *first = packet + sizeof(struct partial_ask) / 4;
	struct script s = {(const uint8_t *)(first + 1), 0};

	if (n < (ssize_t)(sizeof(struct partial_ask) + sizeof(*first)))
		_exit(9);
	s.n = MIN((size_t)*first, (size_t)n - sizeof(struct partial_ask) - sizeof(*first));
	while (s.n)
		run_operation(&s);
	_exit(0);
}

/* Runs before main(), which is libFuzzer's or that of replay.c. */
static __attribute__((constructor)) void act_as_worker(int argc, char **argv)
{
	if (strcmp(argv[0], "convert") == 0)
		act();
}

/* ---- the process that has the bytes --------------------------------------------------------- */

struct given {
	uint64_t awaited, read;
	bool fails;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static int await_ranges(void *ctx, const struct msf_lack *ranges, unsigned n)
{
	struct given *g = ctx;

	must(n && n <= MSF_LACKS_MOST, "no ranges, or too many");
	for (unsigned i = 0; i < n; i++) {
		must(ranges[i].n && ranges[i].off < SIZE && ranges[i].n <= SIZE - ranges[i].off, "a range outside");
		g->awaited += ranges[i].n;
	}
	must(g->awaited <= SIZE, "more bytes than the file has");
	return g->fails ? -EIO : 0;
}

static int read_range(void *ctx, uint64_t off, void *p, size_t n)
{
	struct given *g = ctx;

	must(n && n <= PARTIAL_PACKET && off < SIZE && n <= SIZE - off, "a read outside");
	g->read += n;
	must(g->read <= g->awaited, "a read of bytes that were not asked for");
	memset(p, 0x5a, n);
	return 0;
}

FUZZ_TARGET("partial", p, n)
{
	static uint32_t addrs[PARTIAL_ADDRESSES_MOST];
	struct given given = {.fails = n && p[0] == 0xff};
	struct partial_file file = {SIZE, await_ranges, read_range, &given};
	struct gsym_work o = {.program = "/proc/self/exe", .seconds = SECONDS, .unsandboxed = true};
	uint64_t began = clock_ms();
	struct err e = {0};
	int out = -1, r;

	n = MIN(n, (size_t)SCRIPT_MOST);
	addrs[0] = (uint32_t)n;
	if (n)
		memcpy(addrs + 1, p, n);
	r = gsym_work_partial(&o, &file, addrs, 1 + (n + 3) / 4, &out, &e);
	must((r == 0) == (out >= 0), "a result without a file, or a file without a result");
	must(r == 0 || e.text[0], "an error without words");
	must(clock_ms() - began < SLOW_MS, "it took too long");
	if (out >= 0)
		close(out);
	return 0;
}
