/* The program `frames`: writes the unwind tables of a file as STACK CFI records. symfs starts it (convert/frames.h);
 * it is a program of its own so that symfs needs neither libdwarf nor libelf. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "base/write.h"
#include "frames/frames.h"
#include "frames/wire.h"
#include "priv/worker.h"

#include <libdwarf.h>
#include <stdio.h>
#include <string.h>

static int pass(void *ctx, const char *p, size_t n)
{
	return write_all(FRAMES_OUT, p, n);
}

static int work(struct frames_word *w, char **argv, struct err *e)
{
	const struct worker_filter filter = {.may_lack = strcmp(argv[3], FRAMES_MAY) == 0, .done = "read"};
	struct span file = {0};
	int r = map_fd(&file, FRAMES_IN, e);
	bool bare;

	if (r < 0)
		return r;
	worker_limit(strtoull(argv[1], NULL, 10), FRAMES_TEXT_MOST, strtoull(argv[2], NULL, 10));
	r = worker_filter(&filter, &bare, e);
	if (r < 0)
		return r;
	w->bare = bare;
	/* The process ends after this file, so nothing needs to be found again to free it. */
	dwarf_set_de_alloc_flag(0);
	return frames_convert(file, pass, NULL, &w->counts, e);
}

int main(int argc, char **argv)
{
	struct frames_word w = {0};
	struct err e = {0};

	worker_version(argc, argv);
	if (argc != 4) {
		fputs("frames is started by symfs, and is no command\n", stderr);
		return 2;
	}
	w.r = work(&w, argv, &e);
	snprintf(w.text, sizeof(w.text), "%.250s", e.text);
	/* _exit() runs neither destructors nor a leak checker: the filter would stop them. */
	_exit(write_all(FRAMES_WORD, &w, sizeof(w)) < 0 ? 3 : 0);
}
