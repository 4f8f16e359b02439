/* Fuzzes the executor of call frame instructions. Eight bytes choose the processor, the units, the column of the
 * return address, the encoding of addresses and the length of the CIE; instructions follow. The executor terminates,
 * has at most UNWIND_ROWS_MOST rows, and its records are in order and have a rule for the CFA and the return
 * address. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "base/buf.h"
#include "formats/unwind/execute.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 8, START = 0x1000, SIZE = 0x8000 };

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

static void check_text(char *text)
{
	unsigned long long at = 0, end = 0, start, size;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "STACK CFI INIT %llx %llx .cfa: ", &start, &size) == 2) {
			must(start >= end && size > 0 && start + size <= SIZE, "records overlap");
			must(strstr(line, " .cfa: ") && strstr(line, " .ra: "), "no CFA or no return address");
			end = start + size;
		} else {
			must(sscanf(line, "STACK CFI %llx ", &start) == 1, "a strange line");
			must(start > at && start < end, "a row outside its record");
		}
		at = start;
	}
}

static void check_counts(const struct unwind_counts *c)
{
	uint64_t gaps = 0;

	for (unsigned i = 0; i < UNWIND_GAPS; i++)
		gaps += c->gaps[i];
	must(c->rows <= UNWIND_ROWS_MOST, "too many rows");
	must(c->said <= c->rows && c->rows <= c->said + gaps, "a row is neither said nor a gap");
}

FUZZ_TARGET("execute", p, n)
{
	static const unsigned machines[] = {62, 3, 183, 40, 243, 21, 8, 62};
	static const struct unwind_range range = {START, START + SIZE};
	struct buf text = BUF_UP_TO(64 << 20);
	struct unwind_executor *x = NULL;
	struct unwind_text *to = NULL;
	struct unwind_text_opts o = {.base = START, .ranges = &range, .n_ranges = 1, .pass = pass, .ctx = &text};
	struct unwind_executor_opts own = {0};
	struct unwind_code c = {.start = START, .end = START + SIZE};
	size_t first;

	if (n < HEAD)
		return 0;
	o.arch = unwind_arch_elf(machines[p[0] & 7], !(p[0] & 8));
	o.big = own.big = p[0] >> 4 & 1;
	own.address_bytes = p[0] & 8 ? 4 : 8;
	c.unit = p[1];
	c.data_unit = (int8_t)p[2];
	c.ra_column = p[3] & 0x80 ? o.arch->ra : p[3];
	c.pointer = p[4];
	c.more_at = START + SIZE + p[5];
	first = (p[6] | (size_t)p[7] << 8) % (n - HEAD + 1);
	c.first = (struct span){p + HEAD, first};
	c.more = (struct span){p + HEAD + first, n - HEAD - first};
	must(unwind_text_new(&to, &o) == 0 && unwind_executor_new(&x, &own) == 0, "no memory");
	for (unsigned again = 0; again < 2; again++) { /* the second time, nothing of the first is left */
		must(unwind_begin(to, c.start, c.end) == !again, "the function is not where it should be");
		if (!again)
			unwind_execute(x, o.arch, &c, to);
		must(unwind_end(to) == 0, "the text is not complete");
	}
	must(unwind_text_flush(to) == 0, "the text is not complete");
	check_counts(unwind_text_counts(to));
	if (text.n)
		check_text(text.p);
	unwind_text_free(to);
	unwind_executor_free(x);
	buf_release(&text);
	return 0;
}
