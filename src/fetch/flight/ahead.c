/* Read-ahead for sparse files: the windows, tables and unit heads that readers will want next. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/flight/ahead.h"
#include "base/search.h"
#include "base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 65536u	       /* bytes of a block of the store */
#define WINDOW_LEAST (256u << 10)
#define WINDOW_MOST (4u << 20)
#define TABLE_MOST (8u << 20)  /* the longest window in a table */
#define TABLE_AT_ONCE (2u << 20) /* a table, or the rest of one, is fetched at once up to this size */
#define TABLE_SHARE 64	       /* and up to 1/64 of the file */
#define MARKED_LEAST (512u << 10) /* a shorter window gets no mark outside of tables: it may be the reader's last */
#define HEAD 64		       /* bytes at the start of a unit that hold its length and kind */
#define HOPS_LEAST 2	       /* fewer consecutive heads than this may be chance */
#define BATCH_LEAST 4
#define SKIPPED_MOST 8	       /* heads that a hopping reader can leave out at once */

void ahead_reset(struct ahead *a, uint64_t size)
{
	free(a->heads);
	*a = (struct ahead){.size = size};
}

void ahead_table(struct ahead *a, uint64_t off, uint64_t n)
{
	if (n && a->n_tables < AHEAD_TABLES && off < a->size && n <= a->size - off)
		a->tables[a->n_tables++] = (struct ahead_span){off, off + n};
}

int ahead_heads(struct ahead *a, const uint64_t *heads, unsigned n)
{
	unsigned kept = 0;

	free(a->heads);
	a->n_heads = a->next_head = a->hops = 0;
	a->heads = calloc(n ? n : 1, sizeof(*heads));
	if (!a->heads)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		if (heads[i] < a->size && (!kept || heads[i] > a->heads[kept - 1]))
			a->heads[kept++] = heads[i];
	a->n_heads = kept;
	return 0;
}

bool ahead_lacks_heads(const struct ahead *a, uint64_t off)
{
	return !a->heads && off >= a->units.off && off < a->units.end;
}

/* ---- from front to back ------------------------------------------------------------- */

static const struct ahead_span *table_at(const struct ahead *a, uint64_t off)
{
	for (unsigned i = 0; i < a->n_tables; i++)
		if (off >= a->tables[i].off && off < a->tables[i].end)
			return &a->tables[i];
	return NULL;
}

/* Blocks are fetched whole, so a reader may continue anywhere in the block after the last window. */
static struct ahead_run *run_at(struct ahead *a, uint64_t from)
{
	for (unsigned i = 0; i < AHEAD_RUNS; i++)
		if (a->runs[i].next && from + BLOCK >= a->runs[i].next && from <= a->runs[i].next + BLOCK)
			return &a->runs[i];
	return NULL;
}

/* Bytes to fetch for a reader that wants n bytes at `from` and does not continue a run. */
static uint64_t first_window(const struct ahead *a, const struct ahead_span *table, uint64_t from, uint64_t n)
{
	uint64_t left;

	if (!table)
		return n;
	left = table->end - from;
	if (left <= TABLE_AT_ONCE && left <= a->size / TABLE_SHARE)
		return MAX(n, left);
	/* A reader that begins at the start of a long table mostly reads on. */
	return from <= table->off && n <= WINDOW_LEAST && a->size / TABLE_SHARE >= WINDOW_LEAST ? WINDOW_LEAST : n;
}

uint64_t ahead_window(struct ahead *a, uint64_t from, uint64_t to)
{
	const struct ahead_span *table = table_at(a, to - 1);
	struct ahead_run *run = run_at(a, from);
	uint64_t n = to - from;

	if (!run) {
		run = &a->runs[a->next_run++ % AHEAD_RUNS];
		n = first_window(a, table, from, n);
		run->window = MAX(n, WINDOW_LEAST / 2);
	} else if (!ahead_lacks_heads(a, from)) { /* else the window stays: the reader may hop between heads */
		run->window = MIN(run->window * 2, table ? TABLE_MOST : WINDOW_MOST);
		n = MAX(n, run->window);
	}
	/* The window ends with the table, unless a reader asked for bytes after the table. */
	if (table)
		n = MAX(MIN(n, table->end - from), to - from);
	run->next = from + MIN(n, a->size - from);
	run->mark = n >= (table ? WINDOW_LEAST : MARKED_LEAST) ? from + n / 2 : 0;
	return run->next;
}

bool ahead_go_on(struct ahead *a, unsigned i, uint64_t *from, uint64_t *to)
{
	struct ahead_run *run = &a->runs[i];
	const struct ahead_span *table = run->next ? table_at(a, run->next - 1) : NULL;
	uint64_t end = table ? table->end : a->size;

	if (!run->mark || run->next >= end)
		return false;
	run->window = MIN(run->window * 2, table ? TABLE_MOST : WINDOW_MOST);
	*from = run->mark = run->next;
	*to = run->next = *from + MIN(run->window, end - *from);
	return true;
}

/* ---- from head to head -------------------------------------------------------------- */

/* Index of the first head that overlaps [off, end); n_heads: no head does. */
static unsigned head_in(const struct ahead *a, uint64_t off, uint64_t end)
{
	unsigned from = (unsigned)search_first(i, 0, a->n_heads, a->heads[i] + HEAD <= off);

	return from < a->n_heads && a->heads[from] < end ? from : a->n_heads;
}

/* Writes the pages of n heads, adjacent pages joined. Returns the number of spans. */
static unsigned pages_of(const struct ahead *a, unsigned from, unsigned n, struct ahead_span *out)
{
	unsigned count = 0;

	for (unsigned i = from; i < from + n; i++) {
		uint64_t off = a->heads[i] - a->heads[i] % AHEAD_PAGE;
		uint64_t end = MIN((a->heads[i] + HEAD + AHEAD_PAGE - 1) / AHEAD_PAGE * AHEAD_PAGE, a->size);

		if (count && off <= out[count - 1].end)
			out[count - 1].end = MAX(end, out[count - 1].end);
		else
			out[count++] = (struct ahead_span){off, end};
	}
	return count;
}

unsigned ahead_hop(struct ahead *a, uint64_t off, uint64_t end, struct ahead_span out[static AHEAD_BATCH])
{
	unsigned i = head_in(a, off, end);

	if (i == a->n_heads)
		return 0;
	if (i < a->next_head || i > a->next_head + SKIPPED_MOST)
		a->hops = 0;
	a->next_head = i + 1;
	if (++a->hops < HOPS_LEAST) {
		a->batch = BATCH_LEAST / 2;
		return 0;
	}
	a->batch = MIN(a->batch * 2, AHEAD_BATCH);
	a->next_head = MIN(i + a->batch, a->n_heads);
	return pages_of(a, i, a->next_head - i, out);
}
