/* The program `frames`: writes the unwind tables of a file as STACK CFI records. symfs starts it
 * (derive/convert/worker.h); it is a program of its own so that symfs needs neither libdwarf nor libelf. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "formats/cfi/frames.h"
#include "priv/worker.h"

#include <libdwarf.h>
#include <stdio.h>
#include <string.h>

/* The program's descriptors, besides WORKER_WORD, in which a struct unwind_counts follows. */
enum { FRAMES_IN = 3, FRAMES_OUT = 4 };

#define FRAMES_TEXT_MOST (1u << 30) /* bytes of text */

static int pass(void *ctx, const char *p, size_t n)
{
	return write_all(FRAMES_OUT, p, n);
}

static int work(struct worker_word *w, char **argv, struct unwind_counts *counts, struct err *e)
{
	static const struct worker_filter filter = {.done = "read"};
	struct span file = {0};
	int r = map_fd(&file, FRAMES_IN, e);

	if (r == 0)
		r = worker_enter(argv, &filter, FRAMES_TEXT_MOST, w, e);
	if (r < 0)
		return r;
	/* The process ends after this file, so nothing needs to be found again to free it. */
	dwarf_set_de_alloc_flag(0);
	return frames_convert(file, pass, NULL, counts, e);
}

int main(int argc, char **argv)
{
	struct unwind_counts counts = {0};
	struct worker_word w = {0};
	struct err e = {0};

	worker_arguments(argc, argv, 0);
	worker_leave(&w, work(&w, argv, &counts, &e), &e, &counts, sizeof(counts));
}
