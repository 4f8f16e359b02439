/* The kind "scan": any directory tree of this machine, such as a build directory. No layout says where a
 * file is; fetch/ asks scan/, which finds files by their contents. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "id/key.h"
#include "source/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct layout_row no_rows[] = {{0}};

const struct layout source_anywhere = {
	"scan", "scan", "", "any tree, by what its files are", no_rows};

/* Plans a single request: whether any file of the tree is the artifact. */
static int scan_plan(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct source_ask *out)
{
	struct key k;

	if (nth > 0 || !source_allows(s, a) || key_of(&k, a) < 0)
		return -ENOENT;
	snprintf(out->spelling, sizeof(out->spelling), "anywhere below");
	out->where = strdup("");
	return out->where ? 0 : -ENOMEM;
}

const struct source_kind source_scan = {
	.name = "scan", .layout = "scan", .local = true, .plan = scan_plan};

bool source_scans(const struct source *s)
{
	return s->kind == &source_scan;
}
