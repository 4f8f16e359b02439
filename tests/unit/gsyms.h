/* Shared code of the tests of gsym/: makes an ELF file with given sections, and prints the answer
 * for an address as a line of text. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/util.h"
#include "formats/gsym/gsym.h"
#include "formats/gsym/writer.h"

#include <stdio.h>
#include <string.h>

struct gsym_section_bytes {
	const char *name;
	const void *p;
	size_t n;
};

static inline void gsyms_number(struct buf *b, bool big, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t c = (uint8_t)(v >> 8 * (big ? n - 1 - i : i));

		buf_add(b, &c, 1);
	}
}

static inline void gsyms_section(
	struct buf *b, bool big, uint64_t name, unsigned type, uint64_t off, uint64_t size)
{
	gsyms_number(b, big, name, 4);
	gsyms_number(b, big, type, 4);
	gsyms_number(b, big, 0, 8);
	gsyms_number(b, big, 0, 8);
	gsyms_number(b, big, off, 8);
	gsyms_number(b, big, size, 8);
	gsyms_number(b, big, 0, 8);
	gsyms_number(b, big, 1, 8);
	gsyms_number(b, big, 0, 8);
}

/* ELF64 with these sections, packed behind the section headers as gsym.py packed them. */
static inline void gsyms_elf(
	struct buf *b, bool big, const struct gsym_section_bytes *s, unsigned n)
{
	char names[256] = "";
	size_t at[8], names_n = 1, data = 64 + (n + 2) * 64;

	buf_clear(b);
	for (unsigned i = 0; i < n; i++) {
		at[i] = names_n;
		names_n += (size_t)snprintf(
				   names + names_n, sizeof(names) - names_n, "%s", s[i].name) +
			   1;
	}
	buf_add(b, "\177ELF\2", 5);
	buf_add(b, big ? "\2\1\0\0\0\0\0\0\0\0\0" : "\1\1\0\0\0\0\0\0\0\0\0", 11);
	gsyms_number(b, big, 2, 2);
	gsyms_number(b, big, 62, 2);
	gsyms_number(b, big, 1, 4);
	gsyms_number(b, big, 0, 8);
	gsyms_number(b, big, 0, 8);
	gsyms_number(b, big, 64, 8);
	gsyms_number(b, big, 0, 4);
	gsyms_number(b, big, 64, 2);
	gsyms_number(b, big, 0, 4);
	gsyms_number(b, big, 64, 2);
	gsyms_number(b, big, n + 2, 2);
	gsyms_number(b, big, 1, 2);
	gsyms_section(b, big, 0, 0, 0, 0);
	gsyms_section(b, big, 0, 3, data, names_n);
	data += names_n;
	for (unsigned i = 0; i < n; i++) {
		gsyms_section(b, big, at[i], 1, data, s[i].n);
		data += s[i].n;
	}
	buf_add(b, names, names_n);
	for (unsigned i = 0; i < n; i++)
		buf_add(b, s[i].p, s[i].n);
}

/* The file that `w` makes: 0, or gsym_write()'s error. */
static inline int gsyms_write(struct gsym_writer *w, enum gsym_form form, bool big, struct buf *out,
	struct err *e)
{
	struct buf main = BUF_UP_TO(64 << 20), strings = BUF_UP_TO(64 << 20);
	int r = gsym_write(w, form, big, ".gsymstrtab", form == GSYM_V1 ? out : &main, &strings, e);

	if (r == 0 && form != GSYM_V1) {
		struct gsym_section_bytes s[] = {{".gsym", main.p, main.n},
			{".gsymstrtab", strings.p, strings.n}};

		gsyms_elf(out, big, s, 2);
	}
	buf_release(&main);
	buf_release(&strings);
	return r;
}

/* "name@dir/base:line < outer@...", "-" for nothing, "! words" for broken. */
static inline const char *gsyms_frames(const struct gsym *g, uint64_t addr, struct buf *out)
{
	struct gsym_hit hit;
	struct err e = {0};
	char path[8192];
	int r = gsym_lookup(g, addr, &hit, &e);

	buf_clear(out);
	if (r < 0) {
		buf_addf(out, "%s%s", r == -ENOENT ? "-" : "! ", r == -ENOENT ? "" : e.text);
		return buf_text(out);
	}
	for (unsigned i = 0; i < hit.n; i++)
		buf_addf(out, "%s%s@%s:%u", i ? " < " : "", hit.frame[i].name,
			gsym_path_text(hit.frame[i].dir, hit.frame[i].base, path, sizeof(path)),
			hit.frame[i].line);
	return buf_text(out);
}

/* The same of function `i`, which has the address, by the iterators: gsym_lookup() decodes by itself,
 * and faster. For a file that is whole. */
static inline const char *gsyms_plain(
	const struct gsym *g, uint32_t i, uint64_t addr, struct buf *out)
{
	struct {
		const char *name, *dir, *base;
		uint32_t line;
	} frames[GSYM_DEPTH_MOST + 2] = {0}, *last = frames;
	struct gsym_nodes nodes;
	struct gsym_node node;
	struct gsym_rows rows;
	struct gsym_row row;
	struct gsym_func f;
	bool found = false;
	unsigned inside = 0;
	char path[8192];

	buf_clear(out);
	if (gsym_func_at(g, i, &f, NULL) < 0 || gsym_rows_begin(&rows, &f) < 0)
		return "a broken function";
	last->name = f.name;
	last->dir = last->base = "";
	while (gsym_rows_next(&rows, &row) > 0 && row.addr <= addr) {
		found = true;
		last->line = row.line;
		gsym_file(g, row.file, &last->dir, &last->base);
	}
	gsym_nodes_begin(&nodes, g, &f);
	while (found && gsym_nodes_next(&nodes, &node) > 0 && node.depth >= inside) {
		uint64_t start, size;
		bool covers = false, named;
		const char *dir = "", *base = "";

		for (size_t at = 0; gsym_node_range(&node, &at, &start, &size);)
			covers = covers || (addr >= start && addr - start < size);
		if (node.depth > inside || !covers)
			continue;
		named = node.call_file && node.call_file < g->n_files &&
			(memcmp(g->files + node.call_file * 8, "\0\0\0\0\0\0\0", 8) != 0);
		/* The prototype left out files that only calls name. */
		if (named)
			gsym_file(g, node.call_file, &dir, &base);
		if (named || node.call_file >= g->n_files) {
			last[1] = last[0];
			last[1].name = gsym_string(g, node.name);
			last->dir = dir;
			last->base = base;
			last->line = (uint32_t)node.call_line;
			last++;
		}
		inside++;
		if (!node.children)
			break;
	}
	for (; last >= frames; last--)
		buf_addf(out, "%s%s@%s:%u", out->n ? " < " : "", last->name,
			gsym_path_text(last->dir, last->base, path, sizeof(path)), last->line);
	return buf_text(out);
}
