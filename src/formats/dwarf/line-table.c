/* Reads the header of a line table, version 2 to 5: directories and files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/dwarf/line-table.h"
#include "base/grow.h"
#include "base/path.h"
#include "base/util.h"
#include "formats/dwarf/dwarf.h"

#include <stdio.h>

enum { DW_LNCT_path = 1, DW_LNCT_directory_index = 2 };

#define FORMATS_MOST 16

struct head {
	struct dwarf_lines *l;
	const struct dwarf_unit *u;
	const uint8_t *p, *end;
	struct dwarf_sizes sizes;
};

static int add_dir(struct dwarf_lines *l, const char *name)
{
	return APPEND(l->dirs, l->dirs_room, l->n_dirs, name);
}

/* Directories and files count from 1: directory 0 is the unit's directory, and file 0 does not exist. */
static int old_tables(struct head *h)
{
	const char *name;
	uint64_t dir;
	int r = add_dir(h->l, "");

	while (r == 0) {
		name = take_line_text(&h->p, h->end);
		if (!name)
			return -EBADMSG;
		if (!name[0])
			break;
		r = add_dir(h->l, name);
	}
	if (r == 0)
		r = line_table_add(h->l, NULL, 0);
	while (r == 0) {
		name = take_line_text(&h->p, h->end);
		if (!name)
			return -EBADMSG;
		if (!name[0])
			break;
		if (!take_line_file(&h->p, h->end, &dir))
			return -EBADMSG;
		r = line_table_add(h->l, name, dir);
	}
	return r;
}

struct format {
	uint64_t type;
	unsigned form;
};

static int take_formats(struct head *h, struct format *all)
{
	unsigned n;

	if (h->p == h->end)
		return -EBADMSG;
	n = *h->p++;
	if (n > FORMATS_MOST)
		return -EBADMSG;
	for (unsigned i = 0; i < n; i++) {
		uint64_t form;

		if (!take_uleb(&h->p, h->end, &all[i].type) || !take_uleb(&h->p, h->end, &form) ||
			form > UINT16_MAX)
			return -EBADMSG;
		all[i].form = (unsigned)form;
	}
	return (int)n;
}

static int take_entry(struct head *h, const struct format *all, int n, bool file)
{
	const char *name = NULL;
	uint64_t dir = 0;

	for (int i = 0; i < n; i++) {
		struct dwarf_value v;

		if (!read_form(all[i].form, 0, h->sizes, h->u->main->swap, &h->p, h->end, &v))
			return -EBADMSG;
		if (all[i].type == DW_LNCT_path)
			name = dwarf_text(h->u->skeleton ? h->u->skeleton : h->u, &v);
		else if (all[i].type == DW_LNCT_directory_index)
			dwarf_number(&v, &dir);
	}
	return file ? line_table_add(h->l, name, dir) : add_dir(h->l, name ? name : "");
}

static int new_table(struct head *h, bool file)
{
	struct format formats[FORMATS_MOST];
	int r = 0, n = take_formats(h, formats);
	uint64_t count;

	if (n < 0 || !take_uleb(&h->p, h->end, &count))
		return -EBADMSG;
	/* Entries without a format have no bytes, so the remaining bytes do not limit their number. */
	if (!n || count > (uint64_t)(h->end - h->p))
		return count ? -EBADMSG : 0;
	while (r == 0 && count--)
		r = take_entry(h, formats, n, file);
	return r;
}

static int read_fixed(struct head *h)
{
	struct dwarf_lines *l = h->l;
	unsigned n;

	if ((size_t)(h->end - h->p) < (l->version >= 4 ? 6u : 5u))
		return -EBADMSG;
	l->min_length = *h->p++;
	l->max_ops = l->version >= 4 ? *h->p++ : 1;
	h->p++; /* default_is_stmt */
	l->line_base = (int8_t)*h->p++;
	l->line_range = *h->p++;
	l->opcode_base = *h->p++;
	n = l->opcode_base ? l->opcode_base - 1 : 0;
	if ((size_t)(h->end - h->p) < n)
		return -EBADMSG;
	memset(l->lengths, 0, sizeof(l->lengths));
	memcpy(l->lengths + 1, h->p, n);
	h->p += n;
	return 0;
}

/* Finds the table, and reads the parts of the header that define how to read the rest. */
static int read_start(struct head *h, uint64_t at)
{
	struct span s = h->u->main->s[DWARF_LINE];
	bool swap = h->u->main->swap;
	const uint8_t *p = span_at(s, at, 4);
	uint64_t length = p ? load32(p, swap) : 0, head;

	h->sizes = sizes_of(h->u->head);
	h->sizes.off = 4;
	at += 4;
	if (length == UINT32_MAX) {
		p = span_at(s, at, 8);
		length = p ? load64(p, swap) : 0;
		h->sizes.off = 8;
		at += 8;
	}
	/* A table that is cut short is read as far as it goes. */
	length = at <= s.n ? MIN(length, s.n - at) : 0;
	s.n = at <= s.n ? at + length : 0;
	p = span_at(s, at, 4u + h->sizes.off);
	if (!p)
		return -EBADMSG;
	h->l->version = h->sizes.version = (uint8_t)load16(p, swap);
	if (load16(p, swap) < 2 || load16(p, swap) > 5)
		return -ENOTSUP;
	h->l->addr_size = h->l->version >= 5 ? p[2] : h->u->head->addr_size;
	h->sizes.addr = h->l->addr_size;
	at += h->l->version >= 5 ? 4 : 2;
	p = span_at(s, at, h->sizes.off);
	if (!p)
		return -EBADMSG;
	head = load_sized(p, h->sizes.off, swap);
	at += h->sizes.off;
	if (head > s.n - at)
		return -EBADMSG;
	h->p = s.p + at;
	h->end = h->p + head;
	h->l->program = at + head;
	h->l->end = s.n;
	return 0;
}

static int read_header(struct dwarf_lines *l, const struct dwarf_unit *u)
{
	struct head h = {.l = l, .u = u};
	int r = read_start(&h, u->lines);

	if (r == 0)
		r = read_fixed(&h);
	if (r < 0)
		return r;
	if (l->version < 5)
		return old_tables(&h);
	r = new_table(&h, false);
	return r < 0 ? r : new_table(&h, true);
}

int dwarf_lines_open(struct dwarf_lines *l, const struct dwarf_unit *u)
{
	int r;

	if (!u->has_lines)
		return -EBADMSG;
	if (l->opened && l->file == u->main && l->at == u->lines) {
		l->comp_dir = u->comp_dir;
		return 0;
	}
	l->file = u->main;
	l->at = u->lines;
	l->opened = l->ran = false;
	l->n_dirs = l->n_files = l->n_rows = l->n_sequences = 0;
	l->comp_dir = u->comp_dir;
	r = read_header(l, u);
	l->opened = r == 0;
	return r;
}

void dwarf_lines_release(struct dwarf_lines *l)
{
	free(l->dirs);
	free(l->files);
	free(l->rows);
	free(l->sequences);
	memset(l, 0, sizeof(*l));
}

struct dwarf_line_file *dwarf_line_file(struct dwarf_lines *l, uint64_t i)
{
	return i < l->n_files && l->files[i].name ? &l->files[i] : NULL;
}

static bool is_absolute(const char *s)
{
	bool letter = (s[0] >= 'a' && s[0] <= 'z') || (s[0] >= 'A' && s[0] <= 'Z');

	return s[0] == '/' || s[0] == '\\' ||
	       (letter && s[1] == ':' && (s[2] == '/' || s[2] == '\\'));
}

void dwarf_line_dirs(const struct dwarf_lines *l, const struct dwarf_line_file *f,
	const char **first, const char **second)
{
	*first = *second = "";
	if (is_absolute(f->name))
		return;
	if (f->dir < l->n_dirs)
		*second = l->dirs[f->dir];
	/* From version 5 on directory 0 is the unit's own. */
	if (!is_absolute(*second) && (l->version < 5 || f->dir))
		*first = l->comp_dir;
}

/* ---- source files of a file of debug information  ------------------------------------ */

#define NAMES_MOST (64u << 20) /* names of one file: a broken file can name one table often */

struct naming {
	int (*each)(void *ctx, const char *path);
	void *ctx;
	struct dwarf_lines lines;
	unsigned left;
};

/* Passes "FIRST/SECOND/NAME" on; each part may be "". Names that stay relative are left out. */
static int tell(struct naming *n, const char *first, const char *second, const char *name)
{
	_cleanup_free_ char *full = NULL, *path = NULL;

	if (n->left-- == 0)
		return -EFBIG;
	if (asprintf(&full, "%s%s%s%s%s", first, *first ? "/" : "", second, *second ? "/" : "", name) < 0)
		return -ENOMEM;
	path = full[0] == '/' ? path_absolute(full) : NULL;
	return path ? n->each(n->ctx, path) : full[0] == '/' ? -ENOMEM : 0;
}

/* The name in a unit's first entry is not always in its line table. */
static int tell_unit(struct naming *n, const struct dwarf_unit *u)
{
	const char *first, *second, *name;
	struct dwarf_die d;
	int r = 0;

	if (u->tag != DW_TAG_partial_unit && dwarf_die_at(u, u->head->first, &d) && die_has(&d, AT_NAME) &&
		(name = dwarf_text(u, &d.v[AT_NAME])))
		r = tell(n, name[0] == '/' ? "" : u->comp_dir, "", name);
	if (r < 0 || !u->has_lines ||
		(n->lines.opened && n->lines.at == u->lines && n->lines.comp_dir == u->comp_dir))
		return r;
	r = dwarf_lines_open(&n->lines, u);
	for (size_t i = 0; r == 0 && i < n->lines.n_files; i++) {
		const struct dwarf_line_file *f = dwarf_line_file(&n->lines, i);

		if (!f)
			continue;
		dwarf_line_dirs(&n->lines, f, &first, &second);
		r = tell(n, first, second, f->name);
	}
	return r == -EBADMSG || r == -ENOTSUP ? 0 : r;
}

int dwarf_each_source(const struct dwarf_file *f, int (*each)(void *ctx, const char *path), void *ctx)
{
	struct naming n = {.each = each, .ctx = ctx, .left = NAMES_MOST};
	struct dwarf_reader reader = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->n_units; i++) {
		struct dwarf_unit u;

		r = dwarf_unit_open(&u, &reader, f, &f->units[i], NULL);
		if (r == 0) {
			r = tell_unit(&n, &u);
			dwarf_unit_close(&u);
		}
		r = r == -EBADMSG ? 0 : r;
	}
	dwarf_lines_release(&n.lines);
	dwarf_reader_release(&reader);
	return r;
}
