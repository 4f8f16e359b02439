/* The table of layouts: where each kind of symbol server keeps each kind of file. A new layout needs only
 * rows here. symfs-layouts(7) has the rules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/layout/layouts.h"

#include <stddef.h>

/* ---- rows that several layouts have ------------------------------------------------- */

/* GDB, LLDB and elfutils on Linux: the build id, with its first byte as a directory. */
#define BUILD_ID_ROWS                                                                              \
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code:0-2}/{code:2-}.debug", 0},                         \
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code:0-2}/{code:2-}", 0}

/* LLDB and Spotlight on macOS: the UUID in chunks. */
#define CHUNKS "{UUID:0-4}/{UUID:4-8}/{UUID:8-12}/{UUID:12-16}/{UUID:16-20}/{UUID:20-32}"
#define UUID_ROWS                                                                                  \
	{FILETYPE_MACH_DEBUG, OBJECT_MACHO, CHUNKS, 0},                                            \
	{FILETYPE_MACH_CODE, OBJECT_MACHO, CHUNKS ".app", 0}

/* Microsoft: the time is in upper case, the size in lower case. Microsoft writes ages in upper case.
 * Symbolicator writes them in lower case, and pads the short ids of PDB 2.0. */
#define PE_ROWS {FILETYPE_PE, OBJECT_PE, "{code_file}/{CODE:0-8}{code:8-}/{code_file}", 0}
#define PDB_ROWS                                                                                                     \
	{FILETYPE_PORTABLEPDB, OBJECT_PE_DOTNET, "{debug_file}/{GUID}{STAMP}/{debug_file}", 0},                      \
	{FILETYPE_PORTABLEPDB, OBJECT_PE_DOTNET, "{debug_file}/{GUID}{stamp}/{debug_file}", ROW_VARIANT},            \
	{FILETYPE_PDB, OBJECT_PE, "{debug_file}/{GUID}{AGE}/{debug_file}", 0},                                       \
	{FILETYPE_PDB, OBJECT_PE, "{debug_file}/{GUID}{age}/{debug_file}", ROW_VARIANT},                             \
	{FILETYPE_PDB, OBJECT_PE, "{debug_file}/{SIG}{AGE}/{debug_file}", 0},                                        \
	{FILETYPE_PDB, OBJECT_PE, "{debug_file}/{SIG_PADDED}{age}/{debug_file}", ROW_VARIANT}
#define PDB_SOURCE_ROWS                                                                                              \
	{FILETYPE_SOURCEBUNDLE, OBJECT_PE, "{debug_file}/{GUID}{AGE}/{debug_file:src}", 0},                          \
	{FILETYPE_SOURCEBUNDLE, OBJECT_PE, "{debug_file}/{GUID}{age}/{debug_file:src}", ROW_VARIANT},                \
	{FILETYPE_SOURCEBUNDLE, OBJECT_PE, "{debug_file}/{SIG_PADDED}{age}/{debug_file:src}", 0}

/* Breakpad: on Windows `.sym` replaces .exe, .dll and .pdb; Symbolicator replaces only .pdb. Symbolicator
 * writes ages of two digits in lower case, Breakpad's own dump_syms in upper case. A path without an age
 * means age 0. */
#define BREAKPAD_ROWS                                                                                                \
	{FILETYPE_BREAKPAD, OBJECT_PE, "{debug_file}/{GUID}{age}/{debug_file:winsym}", 0},                           \
	{FILETYPE_BREAKPAD, OBJECT_PE, "{debug_file}/{GUID}{AGE}/{debug_file:winsym}", ROW_VARIANT},                 \
	{FILETYPE_BREAKPAD, OBJECT_PE, "{debug_file}/{SIG}{age}/{debug_file:winsym}", 0},                            \
	{FILETYPE_BREAKPAD, OBJECT_PE, "{debug_file}/{SIG}{AGE}/{debug_file:winsym}", ROW_VARIANT},                  \
	{FILETYPE_BREAKPAD, OBJECT_UNKNOWN, "{debug_file}/{GUID}{age}/{debug_file:sym}", ROW_VARIANT | ROW_NO_WASM}, \
	{FILETYPE_BREAKPAD, OBJECT_UNKNOWN, "{debug_file}/{SIG}{age}/{debug_file:sym}", ROW_VARIANT | ROW_NO_WASM},  \
	{FILETYPE_BREAKPAD, OBJECT_UNKNOWN, "{debug_file}/{GUID}/{debug_file:sym}", ROW_ACCEPTED},                   \
	/* the id in the spelling of the request: few servers ignore case */                                         \
	{FILETYPE_BREAKPAD, OBJECT_UNKNOWN, "{debug_file}/{given}/{debug_file:sym}", ROW_PRINTED | ROW_VARIANT}

/* ---- the layouts -------------------------------------------------------------------- */

static const struct layout_row gdb_rows[] = {
	BUILD_ID_ROWS,
	{0},
};

static const struct layout_row lldb_rows[] = {
	UUID_ROWS,
	{0},
};

/* The bundles that the links in lldb/ lead to. A path has the UUID in place of the name if the name is not
 * known. The file in a bundle may have another name than the bundle (Demo.app.dSYM). */
#define DASHED "{UUID:0-8}-{UUID:8-12}-{UUID:12-16}-{UUID:16-20}-{UUID:20-32}"
#define IN_BUNDLE ".dSYM/Contents/Resources/DWARF/"
#define BUNDLE_ROW(uuid, bundle, name, flags)                                                      \
	{FILETYPE_MACH_DEBUG, OBJECT_MACHO, uuid "/" bundle IN_BUNDLE name, flags}
#define BUNDLE_ROWS(uuid, flags)                                                                   \
	BUNDLE_ROW(uuid, DASHED, DASHED, ROW_ACCEPTED),                                            \
	BUNDLE_ROW(uuid, "{UUID}", "{UUID}", ROW_ACCEPTED),                                        \
	BUNDLE_ROW(uuid, "{code_file}", "{code_file}", flags),                                     \
	BUNDLE_ROW(uuid, "{debug_file}", "{code_file}", ROW_ACCEPTED)
static const struct layout_row dsym_rows[] = {
	BUNDLE_ROWS(DASHED, 0),
	BUNDLE_ROW(DASHED, DASHED, DASHED, ROW_PRINTED | ROW_UNLISTED),
	BUNDLE_ROWS("{UUID}", ROW_ACCEPTED),
	{0},
};

static const struct layout_row breakpad_rows[] = {
	BREAKPAD_ROWS,
	{0},
};

/* The layouts of each platform's own tools, in one directory. */
static const struct layout_row native_rows[] = {
	BUILD_ID_ROWS,
	UUID_ROWS,
	PE_ROWS,
	PDB_ROWS,
	BREAKPAD_ROWS,
	{FILETYPE_WASM_DEBUG, OBJECT_WASM, "{code:0-2}/{code:2-}.debug", 0},
	{FILETYPE_WASM_DEBUG, OBJECT_WASM, "{uuid:0-2}/{uuid:2-}.debug", ROW_VARIANT},
	{FILETYPE_WASM_CODE, OBJECT_WASM, "{code:0-2}/{code:2-}", 0},
	{FILETYPE_WASM_CODE, OBJECT_WASM, "{uuid:0-2}/{uuid:2-}", ROW_VARIANT},
	{FILETYPE_SOURCEBUNDLE, OBJECT_ELF, "{code:0-2}/{code:2-}.src.zip", 0},
	{FILETYPE_SOURCEBUNDLE, OBJECT_WASM, "{code:0-2}/{code:2-}.src.zip", 0},
	{FILETYPE_SOURCEBUNDLE, OBJECT_WASM, "{uuid:0-2}/{uuid:2-}.src.zip", ROW_VARIANT},
	{FILETYPE_SOURCEBUNDLE, OBJECT_MACHO, CHUNKS ".src.zip", 0},
	PDB_SOURCE_ROWS,
	{FILETYPE_SOURCEBUNDLE, OBJECT_PE_DOTNET, "{debug_file}/{GUID}{STAMP}/{debug_file:src}", 0},
	{FILETYPE_SOURCEBUNDLE, OBJECT_PE_DOTNET, "{debug_file}/{GUID}{stamp}/{debug_file:src}", ROW_VARIANT},
	{FILETYPE_SOURCEBUNDLE, OBJECT_UNKNOWN, "{debug_file}/{GUID}{age}/{debug_file:symsrc}",
		ROW_VARIANT | ROW_NO_WASM},
	{FILETYPE_SOURCEBUNDLE, OBJECT_UNKNOWN, "{debug_file}/{SIG}{age}/{debug_file:symsrc}",
		ROW_VARIANT | ROW_NO_WASM},
	{0},
};

/* Programs and debug files of Unix, by .NET's rules for symbol servers. The key of .NET's debugging libraries
 * (companions) has the id of their runtime. So the contents of such a file cannot be checked against its key. */
#define UNIX_ROWS                                                                                               \
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code_file}/elf-buildid-{code}/{code_file}", 0},                       \
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "_.debug/elf-buildid-sym-{code}/_.debug", 0},                          \
	{FILETYPE_MACH_CODE, OBJECT_MACHO, "{code_file}/mach-uuid-{uuid}/{code_file}", 0},                      \
	{FILETYPE_MACH_DEBUG, OBJECT_MACHO, "_.dwarf/mach-uuid-sym-{uuid}/_.dwarf", 0},                         \
	{FILETYPE_PERFMAP, OBJECT_UNKNOWN, "{debug_file}/r2rmap-v{age}-{guid}/{debug_file}", 0},                \
	{FILETYPE_COMPANION, OBJECT_ELF, "{code_file}/elf-buildid-coreclr-{code}/{code_file}", 0},              \
	{FILETYPE_COMPANION, OBJECT_MACHO, "{code_file}/mach-uuid-coreclr-{uuid}/{code_file}", 0}
/* Some clients put the module's own name in place of `_.debug`. */
#define UNIX_NAMED_ROWS                                                                                         \
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code_file}/elf-buildid-sym-{code}/{code_file}", ROW_ACCEPTED},       \
	{FILETYPE_MACH_DEBUG, OBJECT_MACHO, "{code_file}/mach-uuid-sym-{uuid}/{code_file}", ROW_ACCEPTED}

static const struct layout_row symstore_rows[] = {
	PDB_ROWS,
	PDB_SOURCE_ROWS,
	UNIX_ROWS,
	PE_ROWS,
	{FILETYPE_COMPANION, OBJECT_PE, "{code_file}/{CODE:0-8}{code:8-}/{code_file}", 0},
	UNIX_NAMED_ROWS,
	{0},
};

/* Like symstore, but names (LAYOUT_LOWER_NAMES) and ids are in lower case, except for the age. */
static const struct layout_row ssqp_rows[] = {
	{FILETYPE_PORTABLEPDB, OBJECT_PE_DOTNET, "{debug_file}/{guid}{STAMP}/{debug_file}", 0},
	{FILETYPE_PDB, OBJECT_PE, "{debug_file}/{guid}{AGE}/{debug_file}", 0},
	{FILETYPE_PDB, OBJECT_PE, "{debug_file}/{sig}{AGE}/{debug_file}", 0},
	{FILETYPE_PDB, OBJECT_PE, "{debug_file}/{sig_padded}{AGE}/{debug_file}", ROW_VARIANT},
	{FILETYPE_SOURCEBUNDLE, OBJECT_PE, "{debug_file}/{guid}{AGE}/{debug_file:src}", 0},
	{FILETYPE_SOURCEBUNDLE, OBJECT_PE, "{debug_file}/{sig_padded}{AGE}/{debug_file:src}", 0},
	UNIX_ROWS,
	{FILETYPE_PE, OBJECT_PE, "{code_file}/{code}/{code_file}", 0},
	{FILETYPE_COMPANION, OBJECT_PE, "{code_file}/{code}/{code_file}", 0},
	UNIX_NAMED_ROWS,
	{0},
};

static const struct layout_row debuginfod_rows[] = {
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code}/debuginfo", 0},
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code}/executable", 0},
	{FILETYPE_SECTION, OBJECT_ELF, "{code}/section/{section}", 0},
	{FILETYPE_SOURCE, OBJECT_ELF, "{code}/source/{path}", 0},
	{0},
};

/* Sources as a tree, for a debugger's rule that replaces the beginning of a path: PATH of the build machine is
 * source/BUILDID/PATH. */
static const struct layout_row source_rows[] = {
	{FILETYPE_SOURCE, OBJECT_ELF, "{code}/{path}", 0},
	{0},
};

/* Symbolicator's own layout: one directory for all files of a module. The directory's name is the debug id
 * on Windows and the code id elsewhere; an ELF file without a code id has the debug id. */
#define BY_CODE(type, object, name) {type, object, "{code:0-2}/{code:2-}/" name, 0}
#define BY_UUID(type, object, name) {type, object, "{uuid:0-2}/{uuid:2-}/" name, ROW_VARIANT}
#define BY_DEBUG_ALONE(type, object, name, flags)                                                  \
	{type, object, "{guid:0-2}/{guid:2-}{age}/" name, (flags) | ROW_NO_CODE}
#define BY_DEBUG(type, object, name)                                                               \
	{type, object, "{guid:0-2}/{guid:2-}{age}/" name, 0},                                      \
	{type, object, "{sig:0-2}/{sig:2-}{age}/" name, 0}
static const struct layout_row unified_rows[] = {
	BY_UUID(FILETYPE_MACH_CODE, OBJECT_MACHO, "executable"),
	BY_UUID(FILETYPE_MACH_DEBUG, OBJECT_MACHO, "debuginfo"),
	BY_CODE(FILETYPE_ELF_CODE, OBJECT_ELF, "executable"),
	BY_CODE(FILETYPE_ELF_DEBUG, OBJECT_ELF, "debuginfo"),
	BY_CODE(FILETYPE_WASM_CODE, OBJECT_WASM, "executable"),
	BY_UUID(FILETYPE_WASM_CODE, OBJECT_WASM, "executable"),
	BY_CODE(FILETYPE_WASM_DEBUG, OBJECT_WASM, "debuginfo"),
	BY_UUID(FILETYPE_WASM_DEBUG, OBJECT_WASM, "debuginfo"),
	BY_DEBUG_ALONE(FILETYPE_ELF_CODE, OBJECT_ELF, "executable", 0),
	BY_DEBUG_ALONE(FILETYPE_ELF_DEBUG, OBJECT_ELF, "debuginfo", 0),
	BY_DEBUG(FILETYPE_PE, OBJECT_PE, "executable"),
	BY_DEBUG(FILETYPE_PORTABLEPDB, OBJECT_PE_DOTNET, "debuginfo"),
	BY_DEBUG(FILETYPE_PDB, OBJECT_PE, "debuginfo"),
	BY_UUID(FILETYPE_BREAKPAD, OBJECT_MACHO, "breakpad"),
	/* A GUID followed by eight digits (.NET) is tried before the id of a WASM module of the same
	 * length. */
	BY_CODE(FILETYPE_BREAKPAD, OBJECT_ELF, "breakpad"),
	BY_DEBUG(FILETYPE_BREAKPAD, OBJECT_PE, "breakpad"),
	BY_CODE(FILETYPE_BREAKPAD, OBJECT_WASM, "breakpad"),
	BY_UUID(FILETYPE_BREAKPAD, OBJECT_WASM, "breakpad"),
	BY_DEBUG_ALONE(FILETYPE_BREAKPAD, OBJECT_ELF, "breakpad", ROW_PRINTED),
	BY_UUID(FILETYPE_SOURCEBUNDLE, OBJECT_MACHO, "sourcebundle"),
	BY_CODE(FILETYPE_SOURCEBUNDLE, OBJECT_ELF, "sourcebundle"),
	BY_DEBUG(FILETYPE_SOURCEBUNDLE, OBJECT_PE, "sourcebundle"),
	BY_DEBUG(FILETYPE_SOURCEBUNDLE, OBJECT_PE_DOTNET, "sourcebundle"),
	BY_CODE(FILETYPE_SOURCEBUNDLE, OBJECT_WASM, "sourcebundle"),
	BY_UUID(FILETYPE_SOURCEBUNDLE, OBJECT_WASM, "sourcebundle"),
	BY_UUID(FILETYPE_UUIDMAP, OBJECT_MACHO, "uuidmap"),
	BY_UUID(FILETYPE_BCSYMBOLMAP, OBJECT_MACHO, "bcsymbolmap"),
	BY_UUID(FILETYPE_IL2CPP, OBJECT_MACHO, "il2cpp"),
	BY_CODE(FILETYPE_IL2CPP, OBJECT_ELF, "il2cpp"),
	BY_DEBUG(FILETYPE_IL2CPP, OBJECT_PE, "il2cpp"),
	{0},
};

/* Files of every type have the same name, and only their contents show the type. Tools that write such
 * stores use upper case. A path is read only as a program or its debug information: each further type would
 * mean another request for the same path. */
#define SLASH_ROWS(type, object, flags)                                                            \
	{type, object, "{code_file}/{CODE}/symbols", flags},                                       \
	{type, object, "{code_file}/{code}/symbols", (flags) | ROW_UNLISTED}
static const struct layout_row slashsymbols_rows[] = {
	SLASH_ROWS(FILETYPE_MACH_DEBUG, OBJECT_MACHO, 0),
	SLASH_ROWS(FILETYPE_MACH_CODE, OBJECT_MACHO, 0),
	SLASH_ROWS(FILETYPE_PE, OBJECT_PE, 0),
	SLASH_ROWS(FILETYPE_WASM_DEBUG, OBJECT_WASM, 0),
	SLASH_ROWS(FILETYPE_WASM_CODE, OBJECT_WASM, 0),
	SLASH_ROWS(FILETYPE_ELF_DEBUG, OBJECT_ELF, 0),
	SLASH_ROWS(FILETYPE_ELF_CODE, OBJECT_ELF, 0),
	SLASH_ROWS(FILETYPE_PDB, OBJECT_PE, ROW_PRINTED),
	SLASH_ROWS(FILETYPE_PORTABLEPDB, OBJECT_PE_DOTNET, ROW_PRINTED),
	SLASH_ROWS(FILETYPE_BREAKPAD, OBJECT_UNKNOWN, ROW_PRINTED),
	SLASH_ROWS(FILETYPE_SOURCEBUNDLE, OBJECT_UNKNOWN, ROW_PRINTED),
	SLASH_ROWS(FILETYPE_UUIDMAP, OBJECT_MACHO, ROW_PRINTED),
	SLASH_ROWS(FILETYPE_BCSYMBOLMAP, OBJECT_MACHO, ROW_PRINTED),
	SLASH_ROWS(FILETYPE_IL2CPP, OBJECT_UNKNOWN, ROW_PRINTED),
	{0},
};

/* perf's own cache of build ids: xx/REST is a directory here, but a file in gdb's layout. perf makes that
 * directory a link to where the cache has the program, and `perf annotate` requires the link. */
static const struct layout_row perf_rows[] = {
	{FILETYPE_ELF_CODE, OBJECT_ELF, "{code:0-2}/{code:2-}/elf", 0},
	{FILETYPE_ELF_DEBUG, OBJECT_ELF, "{code:0-2}/{code:2-}/debug", 0},
	{0},
};

const struct layout layouts[] = {
	{"gdb", "gdb", ".build-id", "GDB and elfutils build-id directories", gdb_rows},
	{"lldb", "lldb", "", "LLDB UUID directories", lldb_rows, .links = FILETYPE_MACH_DEBUG},
	{"symstore", "symstore", "", "Microsoft symbol server, one tier", symstore_rows,
		LAYOUT_SYMBOL_STORE | LAYOUT_WINDOWS_NAMES, .tiered = "symstore_index2"},
	{"ssqp", "ssqp", "", "Microsoft symbol server, SSQP casing", ssqp_rows, LAYOUT_LOWER_NAMES},
	{"breakpad", "breakpad", "", "Breakpad symbol directories", breakpad_rows,
		LAYOUT_CODE_ID_LOOKUP | LAYOUT_TECKEN},
	{"debuginfod", "debuginfod", "buildid", "debuginfod's web API", debuginfod_rows,
		LAYOUT_FIXED_PREFIX | LAYOUT_NO_RANGES},
	{"unified", "unified", "", "Symbolicator's unified layout", unified_rows},
	{"slashsymbols", "slashsymbols", "", "NAME/ID/symbols", slashsymbols_rows, LAYOUT_ONE_NAME},
	/* LAYOUT_CODE_ID_LOOKUP, because its Breakpad files have Breakpad's paths. */
	{"native", "native", "", "each platform's own layout", native_rows,
		LAYOUT_WINDOWS_NAMES | LAYOUT_CODE_ID_LOOKUP},
	{"perf", "perf", ".build-id", "perf's build-id cache", perf_rows, LAYOUT_DIR_LINKS},
	{"dsym", "dsym", "", "dSYM bundles by UUID", dsym_rows, LAYOUT_MOUNT_ONLY},
	{"source", "source", "", "sources as a tree, by build id", source_rows,
		LAYOUT_MOUNT_ONLY | LAYOUT_FOLDER_ONLY | LAYOUT_JOINS},
	/* Last, because almost any path can begin with a two-character tier. */
	{"symstore_index2", "symstore2", "", "Microsoft symbol server, two tiers", symstore_rows,
		LAYOUT_TWO_TIER | LAYOUT_SYMBOL_STORE | LAYOUT_WINDOWS_NAMES},
	{0},
};
