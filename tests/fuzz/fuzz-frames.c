/* Fuzzes the reader of unwind tables: DWARF, .pdata of PE, compact unwind information of Mach-O, frame data
 * of PDBs. It terminates, and its records are in order, do not overlap, and have a rule for the CFA and the return
 * address. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "base/buf.h"
#include "formats/cfi/frames.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static int pass(void *ctx, const char *p, size_t n)
{
	return buf_add(ctx, p, n);
}

static void check_line(const char *line, unsigned long long *at, unsigned long long *end)
{
	unsigned long long start, size;

	if (strncmp(line, "STACK WIN ", 10) == 0)
		return;
	if (sscanf(line, "STACK CFI INIT %llx %llx .cfa: ", &start, &size) == 2) {
		must(start >= *end && size > 0, "records overlap");
		must(strstr(line, " .cfa: ") && strstr(line, " .ra: "), "a record without a CFA or a return address");
		*end = start + size;
	} else {
		must(sscanf(line, "STACK CFI %llx ", &start) == 1, "a strange line");
		must(start > *at && start < *end, "a row outside its record");
	}
	*at = start;
}

FUZZ_TARGET("frames", p, n)
{
	struct buf text = BUF_UP_TO(64 << 20);
	unsigned long long at = 0, end = 0;
	struct unwind_counts counts;
	struct err e = {0};
	char *save = NULL;
	int r = frames_convert((struct span){p, n}, pass, &text, &counts, &e);

	must(r == 0 || e.text[0], "an error without words");
	must(counts.said <= counts.rows, "more rows are said than there are");
	if (r == 0 && text.n) {
		must(text.p[text.n - 1] == '\n' && strlen(text.p) == text.n, "the text does not end a line");
		for (char *line = strtok_r(text.p, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			check_line(line, &at, &end);
	}
	buf_release(&text);
	return 0;
}
