/* Converts between artifacts and paths. A layout is a table of patterns, and each pattern works both ways:
 * artifact -> path and path -> artifact. A new layout needs only rows in layouts.c. Pure functions, any
 * thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "names/id/key.h"

#include <stdbool.h>

#define LAYOUT_CANDIDATES 8
#define LAYOUT_PATH_MAX 2048

/* Fields of a pattern are in braces. Lower-case names print lower-case hex, upper-case names upper-case;
 * file names print as given:
 *   code                    the code id
 *   uuid                    the UUID of a Mach-O file: module_uuid()
 *   guid age                of a debug id
 *   sig sig_padded          the signature that a PDB 2.0 has in place of a GUID: in 8 digits, or padded with
 *                           zeros to 32
 *   stamp                   ffffffff in place of a Portable PDB's stamp; when read, also a real stamp
 *   code_file debug_file    base names
 *   section                 the name of a section of an ELF file
 *   path                    the path of a source file: the rest of the path, including slashes
 *   given                   the id as the request spelled it (module.path), if it has one; never read
 * A colon introduces a slice of a value ({code:0-2}, {code:2-}), or a change of a name: a shape
 * of name.h ({debug_file:sym}). A shaped name must come after the plain one. */
struct layout_row {
	enum filetype type;
	enum object_type object; /* OBJECT_UNKNOWN: of any module */
	const char *pattern;
	unsigned flags;
};

enum row_flags {
	ROW_ACCEPTED = 1, /* read but never printed: an old or foreign spelling */
	ROW_PRINTED = 2,  /* printed but never read: such a path means the file of another row */
	ROW_UNLISTED = 4, /* servers are asked for this path, but listings omit it if an earlier row prints a
			     path */
	ROW_VARIANT = 8 | ROW_UNLISTED, /* also left out if an earlier row prints the same path */
	ROW_NO_WASM = 16, /* for all modules except WASM */
	ROW_NO_CODE = 32  /* printed only for a module whose code id is not known */
};

enum layout_flag {
	/* the paths of the layout */
	LAYOUT_TWO_TIER = 1 << 0,     /* the first two characters of the first component form a directory
					 before it */
	LAYOUT_ONE_NAME = 1 << 1,     /* files of several types have the same path */
	LAYOUT_FIXED_PREFIX = 1 << 2, /* no server omits the prefix */
	LAYOUT_LOWER_NAMES = 1 << 12, /* file names are printed in lower case */
	LAYOUT_WINDOWS_NAMES = 1 << 3, /* names of PE files and PDBs can also be in lower case */

	/* the folder of the layout in the mount */
	LAYOUT_DIR_LINKS = 1 << 4, /* below the prefix, the directory of an id is a link to the directory of
				      the same id outside the prefix */
	LAYOUT_MOUNT_ONLY = 1 << 5, /* no server uses it; "all layouts" does not include it */
	LAYOUT_FOLDER_ONLY = 1 << 10, /* read in its folder only, and its folder has no paths of other layouts: they
					 can look alike */
	LAYOUT_JOINS = 1 << 11, /* the first component can be several identifiers, joined by '+': the path is the
				   file of the first of them that has it */

	/* the servers that have the layout */
	LAYOUT_SYMBOL_STORE = 1 << 6, /* they may have index2.txt, 000Admin/ and file.ptr */
	LAYOUT_NO_RANGES = 1 << 7,    /* they send whole files only */
	LAYOUT_CODE_ID_LOOKUP = 1 << 8, /* they redirect from a code id to a Breakpad file's path */
	LAYOUT_TECKEN = 1 << 9, /* for its paths `symfs serve` answers as Mozilla's Tecken does */
};

struct layout {
	const char *name;   /* the name in the configuration: "symstore_index2" */
	const char *folder; /* under the mount: "symstore2" */
	const char *prefix; /* precedes every path in the mount and on most servers; optional when read:
			       ".build-id", "buildid", "" */
	const char *help;
	const struct layout_row *rows; /* ends with a NULL pattern */
	unsigned flags;
	enum filetype links; /* in the layout's folder, files of this type are links into the folder of `dsym` */
	const char *tiered;  /* the layout that a store of this layout may turn out to have (two tiers);
				NULL: no other layout */
};

enum layout_what { LAYOUT_NONE = 0, LAYOUT_DIR = 1, LAYOUT_FILE = 2 };

struct layout_hit {
	unsigned what; /* both LAYOUT_DIR and LAYOUT_FILE: the path alone does not decide */
	unsigned n;
	struct artifact files[LAYOUT_CANDIDATES]; /* best first */
};

enum casing { CASING_DEFAULT, CASING_LOWER, CASING_UPPER };

const struct layout *layout_at(unsigned i);	    /* NULL past the last */
const struct layout *layout_find(const char *name); /* by name or folder; NULL: no such layout */

/* Reads a path of the layout (no leading slash; with or without l->prefix). Letter case does not matter. A
 * path with a trailing slash, empty parts, `.` or `..` has no meaning (LAYOUT_NONE). */
void layout_parse(const struct layout *l, const char *path, struct layout_hit *out);

/* For tree.c, which reads a path by many layouts: adds the files that the path means in one of them. Returns
 * layout_hit.what. */
struct split;
struct layout_files {
	struct artifact *files; /* room for LAYOUT_CANDIDATES */
	unsigned n;
	bool by_type; /* one key can be that of files of two types */
	char keys[LAYOUT_CANDIDATES + 1][KEY_TEXT]; /* key_canon() of the files, and of the file that is being read */
};
unsigned layout_read(const struct layout *l, struct split *s, struct layout_files *out);

/* Gives a file that a path means another code id, of n hex digits. False: a path with this id means no file. */
bool layout_with_code(struct artifact *a, const char *id, size_t n);

/* Adds the nth path (0 first) of an artifact, without l->prefix, in the spellings that the mount lists. 0;
 * -ENOENT past the last; -ENOMEM. */
int layout_path(const struct layout *l, const struct artifact *a, enum casing c, unsigned nth,
	struct buf *out);

/* Calls `each` with every path of an artifact, in the order of layout_path(), and the index of its row.
 * Omits paths that layout_parse() would read as another file or as none. Stops when `each` returns non-zero,
 * and returns that value. 0; -ENOMEM. */
int layout_each(const struct layout *l, const struct artifact *a,
	int (*each)(void *ctx, unsigned row, const char *path), void *ctx);

/* Like layout_each(), but includes paths that do not parse back as the artifact. */
int layout_each_printed(const struct layout *l, const struct artifact *a,
	int (*each)(void *ctx, unsigned row, const char *path), void *ctx);

/* The number of bytes of a name that form the first-tier directory, in a layout of two tiers. */
size_t layout_tier(const char *name);

/* Like layout_path(), but for requests to servers, in the order to try. Includes spellings that only some
 * servers have. After each path of a PE file or PDB comes the compressed one (crash.pd_), which the mount
 * neither lists nor reads. `spelling` may be NULL. */
struct layout_spelling {
	unsigned row;  /* index in layout.rows */
	unsigned tier; /* number of the way to derive the first tier; 0 is the usual way */
	bool compressed;
};
int layout_server_path(const struct layout *l, const struct artifact *a, enum casing c, unsigned nth,
	struct buf *out, struct layout_spelling *spelling);

/* The file name that the layout's paths of the artifact contain: the code file's, the debug file's, or "" if
 * the paths contain only ids. */
const char *layout_name_of(const struct layout *l, const struct artifact *a);

int casing_find(const char *word); /* returns an enum casing; -EINVAL: unknown word */
