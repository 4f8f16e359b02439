/* The inner loops of the reader, where every lookup spends its time. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/util.h"
#include "base/bytes.h"
#include "formats/gsym/gsym.h"

/* Kinds of information about a function. */
enum { INFO_END = 0, INFO_LINES = 1, INFO_INLINES = 2, INFO_MERGED = 3, INFO_CALLS = 4 };

/* Opcodes of a line table. */
enum { ROW_END = 0, ROW_FILE = 1, ROW_PC = 2, ROW_LINE = 3, ROW_SPECIAL = 4 };

/* Reads the record of function i. `all`: of version 1, to its end, not only to what a look-up needs. NULL, or what is
 * wrong with it. */
const char *func_read(const struct gsym *g, uint32_t i, bool all, struct gsym_func *out);

/* As gsym_file(), for the file of a call site. The prototype omits files that only call sites name, so in
 * its output a missing file has no name. */
int call_site(const struct gsym *g, uint64_t index, const char **dir, const char **base);

/* Whether file `i`, which exists, has no name and so means "no file". */
static inline bool file_is_none(const struct gsym *g, uint32_t i)
{
	return !load32(g->files + (size_t)i * 8, g->swap) &&
	       !load32(g->files + (size_t)i * 8 + 4, g->swap);
}

static inline int rows_bad(struct gsym_rows *it, const char *why)
{
	it->bad = why;
	return -EBADMSG;
}

static inline int rows_step(struct gsym_rows *it, struct gsym_row *row)
{
	const uint8_t *p = it->p, *end = it->end;
	uint64_t more;
	int64_t lines;

	for (;;) {
		unsigned op;

		if (p >= end)
			return it->p == end && !it->range
				       ? 0
				       : rows_bad(it, "a line table without an end");
		op = *p++;
		if (op >= ROW_SPECIAL) {
			uint32_t adjust = op - ROW_SPECIAL, steps = adjust * it->inverse >> 16;

			more = steps;
			it->line += it->min + (int64_t)(adjust - steps * it->range);
		} else if (op == ROW_END) {
			it->p = p;
			return 0;
		} else if (op == ROW_FILE) {
			if (!take_uleb(&p, end, &it->file))
				return rows_bad(it, "a line table that is cut short");
			continue;
		} else if (op == ROW_LINE) {
			if (!take_sleb(&p, end, &lines))
				return rows_bad(it, "a line table that is cut short");
			if (lines > UINT32_MAX || lines < -(int64_t)UINT32_MAX)
				return rows_bad(it, "an invalid line number");
			it->line += lines;
			/* Only a row needs a valid line, but no sum before it may overflow. */
			if (it->line > INT64_MAX / 2 || it->line < INT64_MIN / 2)
				return rows_bad(it, "an invalid line number");
			continue;
		} else if (!take_uleb(&p, end, &more)) {
			return rows_bad(it, "a line table that is cut short");
		}
		it->p = p;
		if (it->addr + more < it->addr)
			return rows_bad(it, "a line behind the last address");
		it->addr += more;
		if (it->line < 0 || it->line > UINT32_MAX || it->file > UINT32_MAX ||
			it->file < it->biased)
			return rows_bad(it, "an invalid line or file number");
		*row = (struct gsym_row){it->addr, (uint32_t)it->file - it->biased,
			(uint32_t)it->line};
		return 1;
	}
}
