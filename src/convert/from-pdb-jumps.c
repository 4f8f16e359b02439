/* Names the jumps of incremental links after the functions that they lead to. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "convert/from-pdb-private.h"

#include <stdlib.h>
#include <string.h>

int pdb_part_keep_target(struct part *p, uint32_t rva, uint32_t size, uint32_t name, uint32_t module)
{
	return APPEND(p->targets, p->targets_room, p->n_targets, (struct target){rva, size, name, module});
}

int pdb_part_keep_jump(struct part *p, const struct pdb_func *f)
{
	return APPEND(p->jumps, p->jumps_room, p->n_jumps, *f);
}

static int compare_targets(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	/* the first module is last, where name_at() finds it */
	return COMPARE(x->rva, y->rva) ?: COMPARE(y->module, x->module) ?: COMPARE(x->size, y->size);
}

/* All targets, sorted. NULL: out of memory. */
static struct target *all_targets(struct part *parts, unsigned n, size_t *n_all)
{
	struct target *all;
	size_t at = 0;

	for (unsigned i = *n_all = 0; i < n; i++)
		*n_all += parts[i].n_targets;
	all = malloc((*n_all + 1) * sizeof(*all));
	for (unsigned i = 0; all && i < n; i++) {
		if (parts[i].n_targets)
			memcpy(all + at, parts[i].targets, parts[i].n_targets * sizeof(*all));
		at += parts[i].n_targets;
	}
	sort_array(all, all ? *n_all : 0, sizeof(*all), compare_targets);
	return all;
}

/* The name of the last function that begins at or before the address; 0: that function does not contain the
 * address. */
static uint32_t name_at(const struct target *all, size_t n, uint32_t rva)
{
	size_t from = search_first(i, 0, n, all[i].rva <= rva);

	return from && rva - all[from - 1].rva < all[from - 1].size ? all[from - 1].name : 0;
}

static int write_jump(struct part *p, const struct pdb_func *f, const struct target *all, size_t n)
{
	const struct pdb *pdb = &p->job->pdb;
	uint32_t rva, target, name;
	int r;

	if (!pdb_address(pdb, f->section, f->off, &rva) ||
		!pdb_address(pdb, f->target_section, f->target, &target))
		return 0;
	name = name_at(all, n, target);
	if (!name)
		return 0;
	r = gsym_begin(p->w, rva, f->size, name, GSYM_DEBUG);
	return r == -ERANGE ? 0 : r < 0 ? r : gsym_end(p->w);
}

int pdb_parts_write_jumps(struct part *parts, unsigned n)
{
	size_t n_all;
	struct target *all = all_targets(parts, n, &n_all);
	int r = all ? 0 : -ENOMEM;

	for (unsigned i = 0; i < n; i++) {
		if (parts[i].n_jumps)
			gsym_set_order(parts[i].w, parts[i].job->pdb.n_modules);
		for (size_t k = 0; r == 0 && k < parts[i].n_jumps; k++)
			r = write_jump(&parts[i], &parts[i].jumps[k], all, n_all);
	}
	free(all);
	return r;
}
