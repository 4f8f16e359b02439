/* Times look-ups in a GSYM file, in process: gsym-lookup FILE COUNT prints the nanoseconds of one
 * look-up. Each of three rounds makes COUNT look-ups of 10,000 addresses of the file's functions,
 * in random order; the best round counts. The time is processor time. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "formats/gsym/gsym.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HOT 10000

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static double round_of(const struct gsym *g, const uint64_t *addrs, size_t n, size_t *found)
{
	static struct gsym_hit hit;
	struct timespec a, b;
	struct err e;

	*found = 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (size_t i = 0; i < n; i++)
		*found += gsym_lookup(g, addrs[i], &hit, &e) == 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)n;
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, found = 0;
	uint64_t *addrs = malloc(n * sizeof(*addrs) + 1), state = 1;
	double best = 1e18;
	struct gsym_func f;
	struct span file;
	struct err e = {0};
	struct gsym g;

	if (!n || !addrs || map_file(&file, argv[1], &e) < 0 || gsym_open(&g, file, &e) < 0 ||
		gsym_prepare(&g, &e) < 0) {
		fprintf(stderr, "gsym-lookup: %s\n", e.text[0] ? e.text : "FILE COUNT");
		return 1;
	}
	for (size_t i = 0; i < n && i < HOT; i++) {
		uint32_t k = (uint32_t)(random_next(&state) % g.count);

		if (gsym_func_at(&g, k, &f, &e) < 0)
			return 1;
		addrs[i] = f.addr + (f.size ? random_next(&state) % f.size : 0);
	}
	for (size_t i = HOT; i < n; i++)
		addrs[i] = addrs[random_next(&state) % HOT];
	for (unsigned i = 0; i < 3; i++) {
		double took = round_of(&g, addrs, n, &found);

		best = took < best ? took : best;
	}
	printf("%.1f\n", best);
	return found == n ? 0 : 2;
}
