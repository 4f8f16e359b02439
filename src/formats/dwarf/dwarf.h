/* A cursor over DWARF 2 to 5, for what GSYM needs: functions, inlined calls, their names, ranges and
 * lines. It decodes nothing else, and keeps only the entries that are being read. All bytes are in
 * memory, and every read is checked against their bounds. Broken bytes cost only the unit that contains them.
 *
 * A file is opened once and then read by many threads; each has a reader of its own. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"
#include "formats/image/image.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Inlined calls that are nested deeper are not read. */
#define DWARF_DEPTH_MOST 256

/* ---- files ---------------------------------------------------------------------------- */

enum dwarf_section {
	DWARF_INFO, DWARF_ABBREV, DWARF_STR, DWARF_LINE, DWARF_LINE_STR, DWARF_ADDR, DWARF_RANGES,
	DWARF_RNGLISTS, DWARF_STR_OFFSETS, DWARF_CU_INDEX, DWARF_SECTIONS
};

/* The header of a unit. Offsets count from the start of .debug_info. */
struct dwarf_head {
	uint64_t at, first, end;
	uint64_t abbrevs;
	uint64_t id; /* of a skeleton and of the split unit that belongs to it */
	uint16_t version;
	uint8_t kind, addr_size, off_size;
};

struct dwarf_file {
	struct span s[DWARF_SECTIONS];
	size_t mapped[DWARF_SECTIONS]; /* bytes of a compressed section, for dwarf_close() to unmap; else 0 */
	size_t spent; /* bytes of .debug_info that dwarf_spend() gave back */
	bool swap;
	bool dwo; /* the file has the sections of split units */
	struct dwarf_head *units;
	size_t n_units;
	const struct dwarf_file *alt; /* the file to which dwz moved entries; may be NULL */
	/* How many bytes of range lists may still be read. If many functions share a long list, each reads
	 * it again, and without a limit the time would grow with the square of the file's size. */
	_Atomic int64_t budget;
};

/* Opens the sections of `m`, which must outlive the file; `dwo`: opens the sections of split units. 0, also
 * for a file without sections; -EBADMSG, -ENOMEM, -EFBIG. */
int dwarf_open(struct dwarf_file *f, const struct image *m, bool dwo, struct err *e);
void dwarf_close(struct dwarf_file *f);
/* Finds the units in f->s, and sets the budget, as dwarf_open() does. 0, -ENOMEM. */
int dwarf_find_units(struct dwarf_file *f);

/* Whether no entry can refer to another unit of the file. */
bool dwarf_units_are_apart(const struct dwarf_file *f);
/* Gives back the memory of .debug_info up to `end`, if it was compressed: the units there are not read again. One
 * thread at a time. */
void dwarf_spend(struct dwarf_file *f, uint64_t end);

/* ---- entries --------------------------------------------------------------------------- */

enum dwarf_tag {
	DW_TAG_array_type = 0x01, DW_TAG_class_type = 0x02, DW_TAG_enumeration_type = 0x04,
	DW_TAG_lexical_block = 0x0b, DW_TAG_compile_unit = 0x11, DW_TAG_structure_type = 0x13,
	DW_TAG_subroutine_type = 0x15, DW_TAG_union_type = 0x17, DW_TAG_inlined_subroutine = 0x1d,
	DW_TAG_subprogram = 0x2e, DW_TAG_namespace = 0x39, DW_TAG_partial_unit = 0x3c,
	DW_TAG_call_site = 0x48, DW_TAG_skeleton_unit = 0x4a, DW_TAG_GNU_call_site = 0x4109
};

/* The attributes that the cursor reads. */
enum dwarf_field {
	AT_NONE, AT_LOW, AT_HIGH, AT_RANGES, AT_NAME, AT_LINKAGE, AT_SPEC, AT_ORIGIN, AT_DECL_FILE,
	AT_DECL_LINE, AT_CALL_FILE, AT_CALL_LINE, AT_SIBLING, AT_DECLARATION, AT_LINES, AT_COMP_DIR,
	AT_LANGUAGE, AT_STR_BASE, AT_ADDR_BASE, AT_RNGLISTS_BASE, AT_GNU_RANGES_BASE, AT_DWO_NAME,
	AT_DWO_ID, AT_FIELDS
};

enum dwarf_act {
	ACT_NONE,  /* read its children like any entry */
	ACT_SKIP,  /* its children have no code */
	ACT_TYPE,  /* a scope for names; its children may have code, except in C */
	ACT_SCOPE, ACT_FUNC, ACT_BLOCK, ACT_INLINE
};

struct dwarf_attr {
	uint16_t form;
	uint8_t field;
	int64_t value; /* of DW_FORM_implicit_const */
};

/* Skips `bytes` bytes, then one value of a form without a fixed size; form 0 ends the steps. */
struct dwarf_step {
	uint32_t bytes;
	uint16_t form;
};

struct dwarf_abbrev {
	uint64_t code;
	uint32_t attrs, n_attrs, steps;
	int32_t fixed; /* the size of all values together; -1: it varies */
	uint16_t tag;
	bool children, sibling;
	uint8_t act;
};

/* An abbreviation table, read for units with this version and these sizes. */
struct dwarf_abbrevs {
	const struct dwarf_file *file;
	uint64_t at;
	uint8_t version, addr_size, off_size;
	struct dwarf_abbrev *all;
	size_t n, room;
	struct dwarf_attr *attrs;
	size_t n_attrs, attrs_room;
	struct dwarf_step *steps;
	size_t n_steps, steps_room;
	unsigned users;
};

struct dwarf_value {
	uint16_t form; /* 0: the entry does not have the attribute */
	uint64_t v;
	const uint8_t *p; /* the start of a text inside .debug_info */
};

/* A unit after its first entry was read. */
struct dwarf_unit {
	const struct dwarf_file *file;
	const struct dwarf_file *main; /* the file that has the addresses and lines, also of a split unit */
	const struct dwarf_head *head;
	struct dwarf_abbrevs *abbrevs;
	const struct dwarf_unit *skeleton;
	uint64_t str_base, addr_base, rnglists_base, ranges_base;
	uint64_t low, lines, dwo_id;
	bool has_lines;
	unsigned tag, language;
	const char *comp_dir; /* "": the entry does not have it */
	const char *dwo_name; /* the file of the split unit; NULL: the unit is not a skeleton */
	uint64_t children; /* where its entries begin; 0: the unit has none */
	struct span str_offsets, rnglists;
};

struct dwarf_die {
	uint64_t at;
	const struct dwarf_abbrev *abbrev;
	uint32_t has; /* a bit for each field */
	struct dwarf_value v[AT_FIELDS];
	uint64_t next; /* the offset behind its values: of its first child, or of the next entry */
};

static inline bool die_has(const struct dwarf_die *d, enum dwarf_field f)
{
	return d->has >> f & 1;
}

struct dwarf_scope {
	uint64_t at, end;
	uint32_t parent; /* index of the scope around this one; UINT32_MAX: none */
	uint16_t tag;
};

struct dwarf_scopes {
	struct dwarf_scope *all;
	size_t n, room;
};

/* Another unit that an entry refers to. */
struct dwarf_foreign {
	struct dwarf_unit unit;
	struct dwarf_scopes scopes;
	bool scanned;
};

#define DWARF_TABLES 64
#define DWARF_FOREIGN 16

/* The state of one reading thread. */
struct dwarf_reader {
	struct dwarf_abbrevs *tables[DWARF_TABLES];
	struct dwarf_foreign *foreign[DWARF_FOREIGN];
};

void dwarf_reader_release(struct dwarf_reader *r);

/* Opens a unit: reads its first entry. `skeleton`: the skeleton of a split unit, from which the unit takes its
 * address base and ranges base; NULL: the unit is not split. 0, -EBADMSG, -ENOMEM. */
int dwarf_unit_open(struct dwarf_unit *u, struct dwarf_reader *r, const struct dwarf_file *f,
	const struct dwarf_head *h, const struct dwarf_unit *skeleton);
void dwarf_unit_close(struct dwarf_unit *u);

const struct dwarf_abbrev *dwarf_abbrev_of(const struct dwarf_abbrevs *t, uint64_t code);
/* Gets the abbreviations of a unit; dwarf_abbrevs_drop() gives them back. */
int dwarf_abbrevs_get(struct dwarf_reader *r, const struct dwarf_file *f,
	const struct dwarf_head *h, struct dwarf_abbrevs **out);
void dwarf_abbrevs_drop(struct dwarf_abbrevs *t);

/* Reads all fields of the entry at `at`, whose values begin at `p`. False: the entry is broken. */
bool dwarf_read_die(const struct dwarf_unit *u, uint64_t at, const struct dwarf_abbrev *a,
	const uint8_t *p, struct dwarf_die *out);
/* The entry at an offset; false: the entry is broken, or no entry begins there. */
bool dwarf_die_at(const struct dwarf_unit *u, uint64_t at, struct dwarf_die *out);

/* The text of a value. NULL: the value is not a text, or its text lies outside of the sections. */
const char *dwarf_text(const struct dwarf_unit *u, const struct dwarf_value *v);
bool dwarf_number(const struct dwarf_value *v, uint64_t *out);
/* The offset of the entry that a value refers to; `*f` is the file that contains it. */
bool dwarf_reference(const struct dwarf_unit *u, const struct dwarf_value *v,
	const struct dwarf_file **f, uint64_t *out);

struct dwarf_range {
	uint64_t start, end;
};

struct dwarf_ranges {
	struct dwarf_range *all;
	size_t n, room;
};

/* Appends the ranges of an entry, without empty ones. 0; -EBADMSG: the list lies outside of its section; -ENOMEM;
 * -E2BIG: the file's budget is used up. */
int dwarf_die_ranges(const struct dwarf_unit *u, const struct dwarf_die *d,
	struct dwarf_ranges *out);

/* ---- lines ----------------------------------------------------------------------------- */

struct dwarf_row {
	uint64_t addr;
	uint32_t file, line;
};

/* A sequence of rows, for the addresses [low, high). */
struct dwarf_sequence {
	uint64_t low, high, reach; /* `reach`: the highest `high` of this and earlier sequences */
	uint32_t rows, n_rows, order;
};

struct dwarf_line_file {
	const char *name;
	uint64_t dir;
	uint32_t number; /* a number that the caller gives; UINT32_MAX: none yet */
};

struct dwarf_lines {
	const struct dwarf_file *file;
	uint64_t at;
	bool opened, ran;
	unsigned version;
	const char *comp_dir;
	const char **dirs;
	size_t n_dirs, dirs_room;
	struct dwarf_line_file *files;
	size_t n_files, files_room;
	struct dwarf_row *rows;
	size_t n_rows, rows_room;
	struct dwarf_sequence *sequences; /* sorted by address */
	size_t n_sequences, sequences_room;
	/* fields of the header */
	uint64_t program, end;
	uint8_t min_length, max_ops, line_range, opcode_base, addr_size;
	int8_t line_base;
	uint8_t lengths[256];
};

/* Reads the header; dwarf_lines_run() then runs the program. Buffers stay for the next use; opening the
 * same table again costs nothing. 0, -EBADMSG, -ENOMEM. */
int dwarf_lines_open(struct dwarf_lines *l, const struct dwarf_unit *u);
int dwarf_lines_run(struct dwarf_lines *l, const struct dwarf_unit *u);
void dwarf_lines_release(struct dwarf_lines *l);

/* File i of the table; NULL: the table has no such file. */
struct dwarf_line_file *dwarf_line_file(struct dwarf_lines *l, uint64_t i);
/* Calls each() with the absolute path of every source file that the line tables and units of `f` name, until that
 * returns an error. Links are not followed, and a path can come often. 0, -ENOMEM, errors of each(); -EFBIG: more
 * than 64 million paths. */
int dwarf_each_source(const struct dwarf_file *f, int (*each)(void *ctx, const char *path), void *ctx);

/* The directory that a file's name is relative to, in one or two parts; "" for a missing part. */
void dwarf_line_dirs(const struct dwarf_lines *l, const struct dwarf_line_file *f,
	const char **first, const char **second);
