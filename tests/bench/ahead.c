/* Replays recorded reads of a file with the read-ahead of fetch/flight/ahead.c, without a mount or a
 * server, and prints what they would cost:
 *
 *	ahead FILE READS [RTT_MS [MB_PER_S]]
 *
 * READS has lines `OFFSET SIZE`, as `bare FILE MOUNTPOINT PATH reads` prints them while a debugger
 * runs. FILE is the file that was read; its tables and unit heads are known from the start. One
 * reader waits for each answer. An answer takes the round trip (20 ms) and the time of its bytes
 * (50 MB/s). The output is bytes, requests and the time of waiting. Unlike fetch/flight/ranges.c, the
 * simulation sends one request at a time. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/flight/ahead.h"
#include "formats/obj/obj.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define BLOCK 65536u
#define HEADS_MOST 16384

struct play {
	struct ahead a;
	uint8_t *pages; /* 1: it is here */
	uint64_t bytes, requests;
	double ms, rtt, per_ms; /* bytes in a millisecond */
};

static bool here(const struct play *p, uint64_t off, uint64_t end)
{
	for (uint64_t i = off / AHEAD_PAGE; i * AHEAD_PAGE < end; i++)
		if (!p->pages[i])
			return false;
	return true;
}

static void fetch(struct play *p, uint64_t off, uint64_t end)
{
	for (uint64_t i = off / AHEAD_PAGE; i * AHEAD_PAGE < end; i++)
		p->pages[i] = 1;
	p->bytes += end - off;
	p->ms += (double)(end - off) / p->per_ms;
}

static void demand(struct play *p, uint64_t off, uint64_t end)
{
	struct ahead_span more[AHEAD_BATCH];
	unsigned n = ahead_hop(&p->a, off, end, more);
	uint64_t to;

	p->ms += p->rtt;
	p->requests += n > AHEAD_BATCH / 2 ? 2 : 1;
	for (unsigned i = 0; i < n; i++)
		if (!here(p, more[i].off, more[i].end))
			fetch(p, more[i].off, more[i].end);
	if (n)
		return;
	off -= off % BLOCK;
	to = ahead_window(&p->a, off, MIN((end + BLOCK - 1) / BLOCK * BLOCK, p->a.size));
	fetch(p, off, MIN((to + BLOCK - 1) / BLOCK * BLOCK, p->a.size));
}

static void go_on(struct play *p, uint64_t off)
{
	uint64_t from, to;

	for (unsigned i = 0; i < AHEAD_RUNS; i++) {
		double ms = p->ms;

		if (!p->a.runs[i].mark || off < p->a.runs[i].mark || off >= p->a.runs[i].next ||
			!ahead_go_on(&p->a, i, &from, &to))
			continue;
		p->requests++;
		fetch(p, from, MIN((to + BLOCK - 1) / BLOCK * BLOCK, p->a.size));
		p->ms = ms; /* it comes while he reads */
	}
}

static void learn(struct play *p, int fd, uint64_t size)
{
	static uint64_t heads[HEADS_MOST];
	struct view v = view_of_fd(fd, size);
	struct obj_walk w;
	int n;

	ahead_reset(&p->a, size);
	if (obj_walk(&v, &w) < 0)
		return;
	for (unsigned i = 0; i < w.n_tables; i++)
		ahead_table(&p->a, w.tables[i].off, w.tables[i].n);
	p->a.units = (struct ahead_span){w.units.off, w.units.off + w.units.n};
	n = obj_heads(&v, heads, HEADS_MOST);
	ahead_heads(&p->a, heads, n > 0 ? (unsigned)n : 0);
}

int main(int argc, char **argv)
{
	struct play p = {.rtt = argc > 3 ? atof(argv[3]) : 20, .per_ms = (argc > 4 ? atof(argv[4]) : 50) * 1000};
	FILE *reads = argc > 2 ? fopen(argv[2], "re") : NULL;
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	unsigned long long off, n;
	struct stat st;

	if (!reads || fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0) {
		fprintf(stderr, "usage: ahead FILE READS [RTT_MS [MB_PER_S]]\n");
		return 2;
	}
	p.pages = calloc((size_t)st.st_size / AHEAD_PAGE + 2 * BLOCK / AHEAD_PAGE, 1);
	if (!p.pages)
		return 1;
	learn(&p, fd, (uint64_t)st.st_size);
	while (fscanf(reads, "%llu %llu", &off, &n) == 2) {
		uint64_t end = MIN(off + n, (unsigned long long)st.st_size);

		if (off >= end)
			continue;
		if (!here(&p, off, end))
			demand(&p, off, end);
		go_on(&p, off);
	}
	printf("%.1f %% of %llu bytes, %llu requests, %.0f ms of waiting\n",
		100.0 * (double)p.bytes / (double)st.st_size, (unsigned long long)st.st_size,
		(unsigned long long)p.requests, p.ms);
	ahead_reset(&p.a, 0);
	free(p.pages);
	fclose(reads);
	close(fd);
	return 0;
}
