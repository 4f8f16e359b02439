/* symfs gsym verify: checks whether a GSYM file is whole, and whether it agrees with its debug file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/gsym-command.h"
#include "cmd/gsym-text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MOST 20 /* differences that are printed */

struct comparison {
	const struct gsym *ours, *theirs;
	struct buf a, b;
	uint64_t asked, differ;
	struct err e;
	int r;
};

static void compare_at(struct comparison *c, uint64_t addr)
{
	if (c->r < 0)
		return;
	buf_clear(&c->a);
	buf_clear(&c->b);
	c->r = gsym_frames_text(c->ours, addr, false, &c->a, &c->e);
	if (c->r == 0)
		c->r = gsym_frames_text(c->theirs, addr, false, &c->b, &c->e);
	c->asked++;
	if (c->r < 0 || strcmp(buf_text(&c->a), buf_text(&c->b)) == 0)
		return;
	if (c->differ++ < SHOWN_MOST)
		printf("0x%" PRIx64 "\t%s\t%s\n", addr, buf_text(&c->a), buf_text(&c->b));
}

/* Compares the answers at the addresses where they can change: the bounds of functions, lines and inlined calls. */
static void compare_function(struct comparison *c, const struct gsym *g, uint32_t i)
{
	struct gsym_func f;
	struct gsym_rows rows;
	struct gsym_row row;
	struct gsym_nodes nodes;
	struct gsym_node node;
	uint64_t start, size;

	if (gsym_func_at(g, i, &f, &c->e) < 0 || gsym_rows_begin(&rows, &f) < 0) {
		c->r = -EBADMSG;
		return;
	}
	compare_at(c, f.addr - 1);
	compare_at(c, f.addr);
	compare_at(c, f.addr + f.size);
	while (gsym_rows_next(&rows, &row) > 0)
		compare_at(c, row.addr);
	gsym_nodes_begin(&nodes, g, &f);
	while (gsym_nodes_next(&nodes, &node) > 0)
		for (size_t at = 0; gsym_node_range(&node, &at, &start, &size);) {
			compare_at(c, start);
			compare_at(c, start + size);
		}
}

static int compare(struct gsym *ours, struct gsym *theirs, const char *path)
{
	struct comparison c = {.ours = ours, .theirs = theirs, .a = BUF_UP_TO(16 << 20),
		.b = BUF_UP_TO(16 << 20)};
	int status;

	c.r = gsym_prepare(ours, &c.e);
	if (c.r == 0)
		c.r = gsym_prepare(theirs, &c.e);
	for (unsigned side = 0; side < 2; side++) {
		const struct gsym *g = side ? theirs : ours;

		for (uint32_t i = 0; c.r == 0 && i < g->count; i++)
			compare_function(&c, g, i);
	}
	status = c.r < 0 ? gsym_fail(path, &c.e) : c.differ ? EXIT_NO : EXIT_DONE;
	if (c.r == 0)
		printf("%" PRIu64 " addresses compared, %" PRIu64 " differ\n", c.asked, c.differ);
	buf_release(&c.a);
	buf_release(&c.b);
	return status;
}

static int verify_against(const struct gsym_run *run, struct gsym *g, const char *path)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_buf_ struct buf bytes = BUF_UP_TO(UINT32_MAX);
	struct gsym_made made;
	struct gsym theirs;
	struct err e = {0};
	int status, r = gsym_run_make(run, run->against, &w, &made, &e);

	if (r == 0)
		r = gsym_write(w, GSYM_V1, made.big, NULL, &bytes, NULL, &e);
	if (r == 0)
		r = gsym_open(&theirs, (struct span){(const uint8_t *)bytes.p, bytes.n}, &e);
	if (r < 0)
		return gsym_fail(run->against, &e);
	status = compare(g, &theirs, path);
	gsym_release(&theirs);
	return status;
}

int gsym_verify(struct gsym_run *run)
{
	_cleanup_gsym_file_ struct gsym_file o = {0};
	struct err e = {0};
	int status;

	status = gsym_file_open(&o, run);
	if (status >= 0)
		return status;
	if (gsym_check(&o.g, &e) < 0)
		return gsym_fail(run->argv[0], &e);
	if (run->against)
		return gsym_flushed(verify_against(run, &o.g, run->argv[0]));
	printf("%" PRIu32 " functions, all whole\n", o.g.count);
	return gsym_flushed(EXIT_DONE);
}
