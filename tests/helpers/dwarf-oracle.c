/* Prints the functions, inlined calls and lines that libdwarf finds in a file, in the form that
 * dwarf-facts.c explains:
 *
 *	dwarf-oracle FILE
 *
 * Functions without code are left out, and so are calls without a file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <libdwarf.h>

#define CHAIN_MOST 16

struct row {
	Dwarf_Addr addr;
	Dwarf_Unsigned line;
	const char *file;
	bool end;
};

struct range {
	Dwarf_Addr start, end;
};

struct ranges {
	struct range *all;
	size_t n;
};

struct unit {
	Dwarf_Debug dbg;
	Dwarf_Addr low; /* ranges count from it */
	struct row *rows;
	size_t n_rows;
	char **files;
	Dwarf_Signed n_files;
	Dwarf_Half version;
};

static Dwarf_Error error;

static void must(int r, const char *what)
{
	if (r == DW_DLV_ERROR)
		errx(1, "%s: %s", what, dwarf_errmsg(error));
}

static Dwarf_Debug open_file(char *path)
{
	Dwarf_Debug dbg = NULL;
#ifdef DW_LIBDWARF_VERSION
	int r = dwarf_init_path(path, NULL, 0, DW_GROUPNUMBER_ANY, NULL, NULL, &dbg, &error);
#else
	int r = dwarf_init_path(path, NULL, 0, 0, DW_GROUPNUMBER_ANY, NULL, NULL, &dbg, NULL, 0, NULL, &error);
#endif

	must(r, path);
	if (r != DW_DLV_OK)
		errx(1, "%s: no debug information", path);
	return dbg;
}

static bool attribute(Dwarf_Die d, Dwarf_Half which, Dwarf_Attribute *out)
{
	int r = dwarf_attr(d, which, out, &error);

	must(r, "dwarf_attr");
	return r == DW_DLV_OK;
}

static bool number(Dwarf_Die d, Dwarf_Half which, Dwarf_Unsigned *out)
{
	Dwarf_Attribute a;
	Dwarf_Signed s;

	if (!attribute(d, which, &a))
		return false;
	if (dwarf_formudata(a, out, &error) == DW_DLV_OK)
		return true;
	must(dwarf_formsdata(a, &s, &error), "a number");
	*out = (Dwarf_Unsigned)s;
	return true;
}

static char *text(Dwarf_Die d, Dwarf_Half which)
{
	Dwarf_Attribute a;
	char *s = NULL;

	if (attribute(d, which, &a))
		must(dwarf_formstring(a, &s, &error), "a text");
	return s && s[0] ? s : NULL;
}

/* ---- names ------------------------------------------------------------------------------ */

/* The entry that this one refers to. */
static bool follow(Dwarf_Debug dbg, Dwarf_Die *d)
{
	Dwarf_Attribute a;
	Dwarf_Off at;

	if (!attribute(*d, DW_AT_specification, &a) && !attribute(*d, DW_AT_abstract_origin, &a))
		return false;
	must(dwarf_global_formref(a, &at, &error), "a reference");
	must(dwarf_offdie_b(dbg, at, 1, d, &error), "an entry that is referred to");
	return true;
}

static const char *name_of(Dwarf_Debug dbg, Dwarf_Die d)
{
	const char *name = NULL, *linkage = NULL;

	for (unsigned i = 0; i < CHAIN_MOST && !linkage; i++) {
		linkage = text(d, DW_AT_linkage_name);
		if (!linkage)
			linkage = text(d, DW_AT_MIPS_linkage_name);
		if (!name)
			name = text(d, DW_AT_name);
		if (!follow(dbg, &d))
			break;
	}
	return linkage ? linkage : name ? name : "?";
}

/* ---- ranges ----------------------------------------------------------------------------- */

static void add_range(struct ranges *out, Dwarf_Addr start, Dwarf_Addr end)
{
	if (start >= end)
		return;
	out->all = realloc(out->all, (out->n + 1) * sizeof(*out->all));
	if (!out->all)
		err(1, NULL);
	out->all[out->n++] = (struct range){start, end};
}

/* .debug_rnglists, where libdwarf has done the sums. */
static void new_ranges(Dwarf_Attribute a, struct ranges *out)
{
	Dwarf_Unsigned index, n, at;
	Dwarf_Rnglists_Head head;
	Dwarf_Half form;

	must(dwarf_whatform(a, &form, &error), "a form");
	if (form == DW_FORM_rnglistx)
		must(dwarf_formudata(a, &index, &error), "an index of ranges");
	else
		must(dwarf_global_formref(a, &index, &error), "an offset of ranges");
	must(dwarf_rnglists_get_rle_head(a, form, index, &head, &n, &at, &error), "ranges");
	for (Dwarf_Unsigned i = 0; i < n; i++) {
		Dwarf_Unsigned raw1, raw2, start, end;
		Dwarf_Bool unavailable;
		unsigned length, kind;

		must(dwarf_get_rnglists_entry_fields_a(head, i, &length, &kind, &raw1, &raw2, &unavailable,
			     &start, &end, &error), "a range");
		if (kind != DW_RLE_end_of_list && kind != DW_RLE_base_address && kind != DW_RLE_base_addressx)
			add_range(out, start, end);
	}
	dwarf_dealloc_rnglists_head(head);
}

/* .debug_ranges, until version 4. */
static void old_ranges(const struct unit *u, Dwarf_Die d, Dwarf_Attribute a, struct ranges *out)
{
	Dwarf_Unsigned bytes, offset;
	Dwarf_Addr base = u->low;
	Dwarf_Signed n = 0;
	Dwarf_Ranges *all;
	Dwarf_Off at, real;

	if (dwarf_global_formref(a, &at, &error) != DW_DLV_OK) {
		must(dwarf_formudata(a, &offset, &error), "an offset of ranges");
		at = offset;
	}
	must(dwarf_get_ranges_b(u->dbg, at, d, &real, &all, &n, &bytes, &error), "ranges");
	for (Dwarf_Signed i = 0; i < n && all[i].dwr_type != DW_RANGES_END; i++) {
		if (all[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
			base = all[i].dwr_addr2;
		else
			add_range(out, base + all[i].dwr_addr1, base + all[i].dwr_addr2);
	}
}

static void ranges_of(const struct unit *u, Dwarf_Die d, struct ranges *out)
{
	enum Dwarf_Form_Class class;
	Dwarf_Addr low, high;
	Dwarf_Attribute a;
	Dwarf_Half form;

	*out = (struct ranges){0};
	if (dwarf_lowpc(d, &low, &error) == DW_DLV_OK &&
		dwarf_highpc_b(d, &high, &form, &class, &error) == DW_DLV_OK)
		add_range(out, low, class == DW_FORM_CLASS_CONSTANT ? low + high : high);
	else if (attribute(d, DW_AT_ranges, &a) && u->version >= 5)
		new_ranges(a, out);
	else if (attribute(d, DW_AT_ranges, &a))
		old_ranges(u, d, a, out);
}

/* ---- lines ------------------------------------------------------------------------------ */

/* libdwarf 20210528 begins a sequence of version 5 with file 0 in place of file 1, which the standard has
 * (6.2.2): where it says 0, the file may be another. */
static bool is_sure(Dwarf_Line line, Dwarf_Half version)
{
#ifdef DW_LIBDWARF_VERSION
	(void)line, (void)version;
	return true;
#else
	Dwarf_Unsigned file;

	must(dwarf_line_srcfileno(line, &file, &error), "a file's number");
	return version < 5 || file;
#endif
}

static void read_lines(struct unit *u, Dwarf_Die cu)
{
	Dwarf_Line_Context context;
	Dwarf_Unsigned version;
	Dwarf_Small tables;
	Dwarf_Signed n = 0;
	Dwarf_Line *all;

	if (dwarf_srclines_b(cu, &version, &tables, &context, &error) != DW_DLV_OK)
		return;
	must(dwarf_srclines_from_linecontext(context, &all, &n, &error), "lines");
	must(dwarf_srcfiles(cu, &u->files, &u->n_files, &error), "files");
	u->rows = calloc((size_t)n + 1, sizeof(*u->rows));
	if (!u->rows)
		err(1, NULL);
	for (Dwarf_Signed i = 0; i < n; i++) {
		struct row *row = &u->rows[u->n_rows++];
		Dwarf_Bool end;
		char *file;

		must(dwarf_lineaddr(all[i], &row->addr, &error), "an address");
		must(dwarf_lineno(all[i], &row->line, &error), "a line");
		must(dwarf_lineendsequence(all[i], &end, &error), "an end");
		must(dwarf_linesrc(all[i], &file, &error), "a file");
		row->end = end;
		row->file = is_sure(all[i], u->version) ? file : "?";
	}
}

/* What holds from `start` on is the last row that is not behind it; of several at one address the last. */
static void print_sequence(const struct row *rows, size_t n, const struct range *f)
{
	const struct row *told = NULL;

	for (size_t i = 0; i + 1 < n; i++) {
		Dwarf_Addr from = rows[i].addr > f->start ? rows[i].addr : f->start;

		if (rows[i + 1].addr <= from || rows[i].addr >= f->end)
			continue;
		if (told && told->line == rows[i].line &&
			(strcmp(told->file, rows[i].file) == 0 || strcmp(told->file, "?") == 0))
			continue; /* nothing changes, as far as libdwarf knows */
		told = &rows[i];
		printf("row %llx %llx %s:%llu\n", f->start, from, told->file, told->line);
	}
}

static void print_rows(const struct unit *u, const struct range *f)
{
	size_t first = 0;

	for (size_t i = 0; i < u->n_rows; i++) {
		if (!u->rows[i].end)
			continue;
		if (u->rows[first].addr < f->end && u->rows[i].addr > f->start)
			print_sequence(u->rows + first, i + 1 - first, f);
		first = i + 1;
	}
}

/* ---- entries ---------------------------------------------------------------------------- */

static bool print_func(const struct unit *u, Dwarf_Die d)
{
	struct ranges all;
	bool any = false;

	ranges_of(u, d, &all);
	for (size_t i = 0; i < all.n; i++) {
		if (all.all[i].start < 16) /* the linker left it out */
			continue;
		any = true;
		printf("func %llx-%llx %s\n", all.all[i].start, all.all[i].end, name_of(u->dbg, d));
		print_rows(u, &all.all[i]);
	}
	free(all.all);
	return any;
}

static bool print_call(const struct unit *u, Dwarf_Die d, unsigned depth)
{
	Dwarf_Unsigned file, line = 0;
	struct ranges all;

	ranges_of(u, d, &all);
	if (!all.n || !number(d, DW_AT_call_file, &file)) {
		free(all.all);
		return false;
	}
	number(d, DW_AT_call_line, &line);
	file -= u->version < 5;
	for (size_t i = 0; i < all.n; i++)
		printf("call %u %llx-%llx %s %s:%llu\n", depth, all.all[i].start, all.all[i].end,
			name_of(u->dbg, d), file < (Dwarf_Unsigned)u->n_files ? u->files[file] : "?", line);
	free(all.all);
	return true;
}

/* `depth` of inlined calls; 0: not in a function that has code. */
static void print_entries(const struct unit *u, Dwarf_Die parent, unsigned depth)
{
	Dwarf_Die d;
	int r = dwarf_child(parent, &d, &error);

	for (; r == DW_DLV_OK; r = dwarf_siblingof_b(u->dbg, d, 1, &d, &error)) {
		unsigned inside = depth;
		Dwarf_Half tag;

		must(dwarf_tag(d, &tag, &error), "a tag");
		if (tag == DW_TAG_subprogram)
			inside = print_func(u, d);
		else if (tag == DW_TAG_inlined_subroutine)
			inside = depth && print_call(u, d, depth) ? depth + 1 : 0;
		print_entries(u, d, inside);
	}
	must(r, "an entry");
}

static void print_unit(Dwarf_Debug dbg, Dwarf_Die cu)
{
	struct unit u = {.dbg = dbg};
	Dwarf_Half offset_size;

	must(dwarf_get_version_of_die(cu, &u.version, &offset_size), "a version");
	if (dwarf_lowpc(cu, &u.low, &error) != DW_DLV_OK)
		u.low = 0;
	read_lines(&u, cu);
	print_entries(&u, cu, 0);
	free(u.rows);
}

/* The next unit's first entry; false: that was the last. */
static bool next_unit(Dwarf_Debug dbg, Dwarf_Die *out)
{
	Dwarf_Unsigned length, type_offset, next;
	Dwarf_Half version, address, offset, extension, kind;
	Dwarf_Off abbrevs;
	Dwarf_Sig8 id;
	int r = dwarf_next_cu_header_d(dbg, 1, &length, &version, &abbrevs, &address, &offset, &extension, &id,
		&type_offset, &next, &kind, &error);

	must(r, "a unit");
	if (r == DW_DLV_OK)
		must(dwarf_siblingof_b(dbg, NULL, 1, out, &error), "a unit's entry");
	return r == DW_DLV_OK;
}

int main(int argc, char **argv)
{
	Dwarf_Debug dbg;
	Dwarf_Die cu;

	if (argc != 2)
		errx(2, "usage: dwarf-oracle FILE");
	dbg = open_file(argv[1]);
	while (next_unit(dbg, &cu)) {
		Dwarf_Half tag;

		must(dwarf_tag(cu, &tag, &error), "a tag");
		if (tag == DW_TAG_compile_unit)
			print_unit(dbg, cu);
	}
	return 0;
}
