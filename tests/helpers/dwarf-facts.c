/* Prints the functions, inlined calls and lines that dwarf/ finds in a file.
 * tests/check-dwarf-oracle.sh compares the output with that of tests/helpers/dwarf-oracle for the
 * same file:
 *
 *	dwarf-facts FILE [DWO...]
 *
 *	func START-END NAME			a function, or one range of it
 *	call DEPTH START-END NAME FILE:LINE	an inlined call, with the place of the call
 *	row FUNCTION ADDRESS FILE:LINE		the line from that address of the function on
 *
 * NAME is the linkage name, or else the short name. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "formats/dwarf/batch.h"
#include "formats/dwarf/split.h"
#include "formats/image/ranges.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>

/* libdwarf does not know the classes and namespaces that a name is in. */
static const char *short_name(const struct batch *b, uint32_t i)
{
	const char *name = i == BATCH_NONE ? NULL : b->names[i].text, *last;

	if (!name || (name[0] == '_' && name[1] == 'Z'))
		return name ? name : "?";
	while ((last = strstr(name, "::")))
		name = last + 2;
	return name;
}

static void print_func(const struct batch *b, const struct batch_func *f)
{
	printf("func %" PRIx64 "-%" PRIx64 " %s\n", f->addr, f->addr + f->size, short_name(b, f->name));
	for (uint32_t i = f->rows; i < f->rows + f->n_rows; i++)
		printf("row %" PRIx64 " %" PRIx64 " %s:%u\n", f->addr, b->rows[i].addr,
			b->files[b->rows[i].file], b->rows[i].line);
}

static void print_call(const struct batch *b, const struct batch_node *n)
{
	for (uint32_t i = n->ranges; i < n->ranges + n->n_ranges; i++)
		printf("call %u %" PRIx64 "-%" PRIx64 " %s %s:%u\n", n->depth, b->ranges.all[i].start,
			b->ranges.all[i].end, short_name(b, n->name), b->files[n->file], n->line);
}

static int walk(struct dwarf_walker *w, const struct dwarf_unit *u)
{
	struct batch b = {0};
	int r = dwarf_walk(w, u, &b);

	if (r == 0 && b.broken)
		r = -EBADMSG;
	for (size_t i = 0; i < b.n_funcs; i++)
		print_func(&b, &b.funcs[i]);
	for (size_t i = 0; i < b.n_nodes; i++)
		print_call(&b, &b.nodes[i]);
	batch_release(&b);
	return r;
}

/* The split unit of a skeleton, which one of the files has. */
static int walk_split(struct dwarf_walker *w, const struct dwarf_unit *skeleton, char **dwo)
{
	_cleanup_map_ struct span bytes = {0};
	struct dwarf_split s = {0};
	struct dwarf_unit u;
	struct err e = {0};
	int r = -ENOENT;

	for (; *dwo && r == -ENOENT; dwo++) {
		dwarf_close(&s.file);
		map_release(&bytes);
		if (map_file(&bytes, *dwo, &e) < 0)
			errx(2, "%s: %s", *dwo, e.text);
		r = dwarf_split_open(&s, &w->reader, bytes, skeleton->dwo_id);
	}
	if (r == 0)
		r = dwarf_unit_open(&u, &w->reader, &s.file, s.head, skeleton);
	if (r == 0) {
		r = walk(w, &u);
		dwarf_unit_close(&u);
	}
	/* The reader has tables of that file. */
	dwarf_reader_release(&w->reader);
	dwarf_close(&s.file);
	return r;
}

static int walk_unit(struct dwarf_walker *w, const struct dwarf_file *f, size_t i, char **dwo)
{
	struct dwarf_unit u;
	int r = dwarf_unit_open(&u, &w->reader, f, &f->units[i], NULL);

	if (r < 0)
		return r;
	if (u.dwo_name)
		r = walk_split(w, &u, dwo);
	else if (u.tag == DW_TAG_compile_unit)
		r = walk(w, &u);
	dwarf_unit_close(&u);
	return r;
}

int main(int argc, char **argv)
{
	_cleanup_map_ struct span bytes = {0};
	_cleanup_free_ struct text_range *text = NULL;
	struct dwarf_walker w = {0};
	struct dwarf_file f = {0};
	struct err e = {0};
	struct image m;
	int r = 0;

	if (argc < 2)
		errx(2, "usage: dwarf-facts FILE [DWO...]");
	if (map_file(&bytes, argv[1], &e) < 0 || image_open(&m, bytes, &e) < 0 || dwarf_open(&f, &m, false, &e) < 0)
		errx(2, "%s: %s", argv[1], e.text);
	if (text_ranges(&m, &text, &w.n_text) < 0)
		errx(2, "no memory");
	w.text = text;
	for (size_t i = 0; r == 0 && i < f.n_units; i++)
		r = walk_unit(&w, &f, i, argv + 2);
	dwarf_walker_release(&w);
	dwarf_close(&f);
	if (r < 0)
		errx(1, "%s: error %d", argv[1], r);
	return 0;
}
