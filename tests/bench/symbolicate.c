/* Times symb_answer() for a request whose modules are already in the store. It prints the median
 * and the worst of TIMES runs in milliseconds, and the peak memory.
 *
 *	symbolicate STORE REQUEST TIMES [THREADS] */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "fetch/fetch.h"
#include "symb/form.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct run {
	struct symb *symb;
	struct span request;
	unsigned times;
	double *took;
	size_t bytes;
	int status;
};

static void *run(void *ctx)
{
	struct run *r = ctx;
	struct buf out = BUF_UP_TO(SYMB_REPLY_MOST);

	for (unsigned i = 0; i < r->times; i++) {
		double begun = now();

		r->status = symb_answer(r->symb, symb_api_find("v5"), r->request, NULL, &out);
		r->took[i] = now() - begun;
		r->bytes = out.n;
	}
	buf_release(&out);
	return NULL;
}

int main(int argc, char **argv)
{
	struct app_args args = {.no_default_sources = true, .offline = true};
	unsigned times = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	unsigned threads = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 1;
	struct run *runs = calloc(threads, sizeof(*runs));
	pthread_t *ids = calloc(threads, sizeof(*ids));
	double *took = calloc((size_t)times * threads, sizeof(*took)), begun;
	struct symb *symb = NULL;
	struct rusage usage;
	struct err e = {0};
	struct app app;
	char *request = NULL;
	size_t n;

	if (!times || !runs || !ids || !took || path_read(AT_FDCWD, argv[2], 64u << 20, &request, &n) < 0)
		return 2;
	args.cache = argv[1];
	if (app_open(&app, &args, &e) < 0 || symb_new(&symb, app.fetch, NULL, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		return 2;
	}
	for (unsigned i = 0; i < threads; i++)
		runs[i] = (struct run){.symb = symb, .request = {(uint8_t *)request, n}, .times = times,
			.took = took + (size_t)i * times};
	runs[0].times = 1; /* maps the files */
	run(&runs[0]);
	runs[0].times = times;
	begun = now();
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, run, &runs[i]);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	begun = now() - begun;
	getrusage(RUSAGE_SELF, &usage);
	qsort(took, (size_t)times * threads, sizeof(*took), compare);
	printf("%.3f %.3f %.0f %ld %d %zu\n", took[(size_t)times * threads / 2], took[(size_t)times * threads - 1],
		times * threads / (begun / 1e3), usage.ru_maxrss / 1024, runs[0].status, runs[0].bytes);
	symb_free(symb);
	app_close(&app);
	free(request);
	free(took);
	free(runs);
	free(ids);
	return 0;
}
