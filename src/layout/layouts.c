/* The table of layouts: where each kind of symbol server keeps each kind of file. A new layout
 * is rows here. Rules: symfs-layouts(7). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/layouts.h"

#include <stddef.h>

/* GDB, LLDB and elfutils on Linux: the build id, its first byte a directory. */
static const struct layout_row gdb_rows[] = {
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code:0-2}/{code:2-}.debug", 0},
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code:0-2}/{code:2-}", 0},
	{0},
};

static const struct layout_row symstore_rows[] = {
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code_file}/elf-buildid-{code}/{code_file}", 0},
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "_.debug/elf-buildid-sym-{code}/_.debug", 0},
	/* Some clients put the module's own name where the key has `_.debug`. */
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code_file}/elf-buildid-sym-{code}/{code_file}", ROW_ACCEPTED},
	{0},
};

/* As symstore, with names in lower case. */
static const struct layout_row ssqp_rows[] = {
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code_file:lower}/elf-buildid-{code}/{code_file:lower}", 0},
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "_.debug/elf-buildid-sym-{code}/_.debug", 0},
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code_file}/elf-buildid-sym-{code}/{code_file}", ROW_ACCEPTED},
	{0},
};

static const struct layout_row debuginfod_rows[] = {
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code}/debuginfo", 0},
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code}/executable", 0},
	{FILETYPE_SECTION, OBJECT_ELF, "{code}/section/{section}", 0},
	{FILETYPE_SOURCE, OBJECT_ELF, "{code}/source/{path}", 0},
	{0},
};

/* Symbolicator's own: one directory for everything about one module. */
static const struct layout_row unified_rows[] = {
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code:0-2}/{code:2-}/executable", 0},
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code:0-2}/{code:2-}/debuginfo", 0},
	{0},
};

/* One name for every type: the file itself says what it is. Upper case is what the tools that
 * write such stores use. */
static const struct layout_row slashsymbols_rows[] = {
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code_file}/{CODE}/symbols", 0},
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code_file}/{code}/symbols", 0},
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code_file}/{CODE}/symbols", 0},
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code_file}/{code}/symbols", 0},
	{0},
};

/* perf's own cache of build ids: its directory has the name that is a file to gdb. */
static const struct layout_row perf_rows[] = {
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code:0-2}/{code:2-}/elf", 0},
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code:0-2}/{code:2-}/debug", 0},
	{0},
};

/* Their file types come with the formats that they hold; the folders are there. */
static const struct layout_row no_rows[] = {{0}};

const struct layout layouts[] = {
	{"gdb", "gdb", ".build-id", "GDB and elfutils build-id directories", false, gdb_rows},
	{"lldb", "lldb", "", "LLDB UUID directories", false, no_rows},
	{"symstore", "symstore", "", "Microsoft symbol server, one tier", false, symstore_rows},
	{"ssqp", "ssqp", "", "Microsoft symbol server, SSQP casing", false, ssqp_rows},
	{"breakpad", "breakpad", "", "Breakpad symbol directories", false, no_rows},
	{"debuginfod", "debuginfod", "buildid", "debuginfod's web API", false, debuginfod_rows},
	{"unified", "unified", "", "Symbolicator's unified layout", false, unified_rows},
	{"slashsymbols", "slashsymbols", "", "NAME/ID/symbols", false, slashsymbols_rows},
	{"native", "native", "", "each platform's own layout", false, gdb_rows},
	{"perf", "perf", ".build-id", "perf's build-id cache", false, perf_rows},
	/* Last: its two characters in front are the weakest claim to a path at the root. */
	{"symstore_index2", "symstore2", "", "Microsoft symbol server, two tiers", true, symstore_rows},
	{0},
};
