/* Writes the records of a Breakpad file, in order of address. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/to-breakpad.h"
#include "base/demangle.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "config.h"
#include "formats/gsym/pieces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_ROOM (1u << 20)
#define NAME_MOST (64u << 10) /* a longer name is cut: rust-minidump drops a line of more than 160 KB */
#define LINE_MOST INT32_MAX	  /* readers keep line numbers as int */
#define NO_NAME "<name omitted>"

struct sym {
	const struct gsym_writer *w;
	uint64_t base;
	int fd, failed;
	struct buf out;
	struct buf text; /* a demangled name */
	struct gsym_parts parts;
	uint64_t *cuts; /* addresses at which inlined calls of the piece begin or end */
	size_t n_cuts, cuts_room;
	uint32_t *file_at, *origin_at; /* by the writer's number: the number in the output plus 1; 0: not used */
	uint32_t n_files, n_origins;
	struct sym_counts counts;
};

/* ---- output ----------------------------------------------------------------------------- */

/* Passes the text on when it is long, or (`all`) at the end. */
static void flush(struct sym *s, bool all)
{
	if (!all && s->out.n < OUT_ROOM)
		return;
	if (!s->failed)
		s->failed = s->out.r < 0 ? s->out.r : write_all(s->fd, s->out.p, s->out.n);
	s->counts.bytes += s->out.n;
	buf_clear(&s->out);
}

/* `after`: a character behind the number. Every record has numbers, so the text is never much longer than
 * OUT_ROOM. */
static void put_number(struct sym *s, uint64_t v, unsigned base, char after)
{
	char room[24], *end = room + sizeof(room) - 1, *p = digits_back(end, v, base);

	*end = after;
	buf_add(&s->out, p, (size_t)(end + 1 - p));
	flush(s, false);
}

static void put_hex(struct sym *s, uint64_t v, char after)
{
	put_number(s, v, 16, after);
}

static void put_decimal(struct sym *s, uint64_t v, char after)
{
	put_number(s, v, 10, after);
}

/* Writes a name or path of up to NAME_MOST bytes without characters that would end the line. */
static void put_line_text(struct sym *s, const char *text)
{
	size_t left = strnlen(text, NAME_MOST);

	while (left) {
		size_t n = 0;

		while (n < left && (unsigned char)text[n] >= ' ' && text[n] != 0x7f)
			n++;
		buf_add(&s->out, text, n);
		text += n + (n < left);
		left -= n + (n < left);
	}
}

static void put_name(struct sym *s, uint32_t number)
{
	const char *name = gsym_text_at(s->w, number);

	put_line_text(s, demangle(name, &s->text) ? buf_text(&s->text) : name[0] ? name : NO_NAME);
}

/* ---- FILE and INLINE_ORIGIN ------------------------------------------------------------- */

static bool has_name(const struct sym *s, uint32_t file)
{
	const char *dir, *base;

	gsym_file_parts(s->w, file, &dir, &base);
	return dir[0] || base[0];
}

static void use_file(struct sym *s, uint32_t file)
{
	const char *dir, *base;
	size_t n;

	if (s->file_at[file] || !has_name(s, file))
		return;
	s->file_at[file] = ++s->n_files;
	gsym_file_parts(s->w, file, &dir, &base);
	buf_adds(&s->out, "FILE ");
	put_decimal(s, s->n_files - 1, ' ');
	put_line_text(s, dir);
	n = strlen(dir);
	if (n && base[0] && dir[n - 1] != '/' && dir[n - 1] != '\\')
		buf_adds(&s->out, strchr(dir, '\\') && !strchr(dir, '/') ? "\\" : "/");
	put_line_text(s, base);
	buf_adds(&s->out, "\n");
}

static void use_origin(struct sym *s, uint32_t name)
{
	if (s->origin_at[name])
		return;
	s->origin_at[name] = ++s->n_origins;
	buf_adds(&s->out, "INLINE_ORIGIN ");
	put_decimal(s, s->n_origins - 1, ' ');
	put_name(s, name);
	buf_adds(&s->out, "\n");
}

/* Writes a record for each file and each inlined function, in the order of their first use. */
static int put_tables(struct sym *s, const struct gsym_pieces *all)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->n; i++) {
		r = gsym_piece_parts(&all->at[i], &s->parts);
		for (size_t k = 0; r == 0 && k < s->parts.n_rows; k++)
			use_file(s, s->parts.rows[k].file);
		for (size_t k = 0; r == 0 && k < s->parts.n_calls; k++)
			use_file(s, s->parts.calls[k].call_file);
	}
	for (size_t i = 0; r == 0 && i < all->n; i++) {
		r = gsym_piece_parts(&all->at[i], &s->parts);
		for (size_t k = 0; r == 0 && k < s->parts.n_calls; k++)
			use_origin(s, s->parts.calls[k].name);
	}
	return r;
}

/* ---- FUNC, INLINE, lines, PUBLIC -------------------------------------------------------- */

/* The number of a file in the output. A file without a name has a number that no FILE record has. */
static uint32_t file_number(const struct sym *s, uint32_t file)
{
	return s->file_at[file] ? s->file_at[file] - 1 : s->n_files;
}

static void put_call(struct sym *s, const struct gsym_piece_call *c)
{
	buf_adds(&s->out, "INLINE ");
	put_decimal(s, c->depth - 1, ' ');
	put_decimal(s, MIN(c->call_line, (uint32_t)LINE_MOST), ' ');
	put_decimal(s, file_number(s, c->call_file), ' ');
	put_decimal(s, s->origin_at[c->name] - 1, c->n_ranges ? ' ' : '\n');
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		const struct gsym_piece_range *range = &s->parts.ranges[c->ranges + i];

		put_hex(s, range->start - s->base, ' ');
		put_hex(s, range->end - range->start, i + 1 < c->n_ranges ? ' ' : '\n');
	}
	s->counts.inlines++;
}

/* Lists where lines are cut: a reader that knows one line for each record (symbolic) needs a record where an inlined
 * call begins or ends. */
static int list_cuts(struct sym *s)
{
	s->n_cuts = 0;
	for (size_t i = 0; i < s->parts.n_ranges; i++)
		if (APPEND(s->cuts, s->cuts_room, s->n_cuts, s->parts.ranges[i].start) < 0 ||
			APPEND(s->cuts, s->cuts_room, s->n_cuts, s->parts.ranges[i].end) < 0)
			return -ENOMEM;
	sort_array(s->cuts, s->n_cuts, sizeof(*s->cuts), compare_u64);
	return 0;
}

static void put_line(struct sym *s, uint64_t start, uint64_t end, uint32_t line, uint32_t file)
{
	put_hex(s, start - s->base, ' ');
	put_hex(s, end - start, ' ');
	put_decimal(s, line, ' ');
	put_decimal(s, file, '\n');
	s->counts.lines++;
}

static int put_lines(struct sym *s, const struct gsym_piece *p)
{
	size_t cut = 0;
	int r = list_cuts(s);

	for (size_t i = 0; r == 0 && i < s->parts.n_rows; i++) {
		const struct gsym_piece_row *row = &s->parts.rows[i];
		uint64_t at = row->addr, end = i + 1 < s->parts.n_rows ? row[1].addr : p->end;

		if (row->line > LINE_MOST)
			continue;
		while (cut < s->n_cuts && s->cuts[cut] <= at)
			cut++;
		for (; cut < s->n_cuts && s->cuts[cut] < end; cut++) {
			if (s->cuts[cut] > at)
				put_line(s, at, s->cuts[cut], row->line, file_number(s, row->file));
			at = s->cuts[cut];
		}
		put_line(s, at, end, row->line, file_number(s, row->file));
	}
	return r;
}

static void put_public(struct sym *s, const struct gsym_piece *p)
{
	buf_adds(&s->out, p->shared ? "PUBLIC m " : "PUBLIC ");
	put_hex(s, p->start - s->base, ' ');
	buf_adds(&s->out, "0 ");
	put_name(s, p->name);
	buf_adds(&s->out, "\n");
	s->counts.publics++;
}

/* Writes a function. A function of a symbol table is a PUBLIC, unless lines are known for it. */
static int put_piece(struct sym *s, const struct gsym_piece *p)
{
	int r = gsym_piece_parts(p, &s->parts);

	if (r < 0 || p->start < s->base)
		return r;
	if (p->rank != GSYM_DEBUG && !s->parts.n_rows) {
		put_public(s, p);
		return 0;
	}
	buf_adds(&s->out, p->shared ? "FUNC m " : "FUNC ");
	put_hex(s, p->start - s->base, ' ');
	put_hex(s, p->end - p->start, ' ');
	buf_adds(&s->out, "0 ");
	put_name(s, p->name);
	buf_adds(&s->out, "\n");
	s->counts.funcs++;
	for (size_t i = 0; i < s->parts.n_calls; i++)
		put_call(s, &s->parts.calls[i]);
	return put_lines(s, p);
}

static int put_all(struct sym *s)
{
	struct gsym_pieces all;
	int r = gsym_pieces_new(&all, s->w);

	s->base = all.base;
	s->file_at = calloc(all.n_files, sizeof(*s->file_at));
	s->origin_at = calloc(all.n_texts, sizeof(*s->origin_at));
	if (!s->file_at || !s->origin_at)
		r = -ENOMEM;
	if (r == 0)
		r = put_tables(s, &all);
	for (size_t i = 0; r == 0 && i < all.n; i++)
		r = put_piece(s, &all.at[i]);
	gsym_pieces_release(&all);
	return r;
}

/* ---- the file --------------------------------------------------------------------------- */

static void put_head(struct sym *s, const struct sym_head *h)
{
	buf_addf(&s->out, "MODULE %s %s %s ", h->os, h->cpu, h->id);
	put_line_text(s, h->name[0] ? h->name : "unknown");
	if (h->code_id[0]) {
		buf_adds(&s->out, "\nINFO CODE_ID ");
		buf_adds(&s->out, h->code_id);
		buf_adds(&s->out, h->code_file[0] ? " " : "");
		put_line_text(s, h->code_file);
	}
	buf_adds(&s->out, h->no_rules ? "\nINFO UNWIND none" : "");
	buf_adds(&s->out, "\nINFO GENERATOR symfs " PACKAGE_VERSION "\n");
}

int sym_write(const struct sym_head *h, const struct gsym_writer *w, int fd, struct sym_counts *counts)
{
	struct sym s = {.w = w, .fd = fd, .out = BUF_UP_TO(2 * OUT_ROOM),
		.text = BUF_UP_TO(NAME_MOST)};
	int r;

	put_head(&s, h);
	r = w ? put_all(&s) : 0;
	flush(&s, true);
	s.counts.files = s.n_files;
	s.counts.origins = s.n_origins;
	if (counts)
		*counts = s.counts;
	buf_release(&s.out);
	free(s.cuts);
	free(s.file_at);
	free(s.origin_at);
	buf_release(&s.text);
	gsym_parts_release(&s.parts);
	return r < 0 ? r : s.failed;
}
