/* A layout is a table of patterns, each read both ways: artifact -> path and path -> artifact.
 * A new layout is rows in layouts.c and nothing else. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "id/module.h"

#include <stdbool.h>

#define LAYOUT_CANDIDATES 8
#define LAYOUT_PATH_MAX 2048

/* Fields of a pattern stand in braces. Lower-case names print lower-case hex, upper-case names
 * upper-case; file names print as given:
 *   code                    the code id
 *   uuid                    the UUID of a Mach-O file: module_uuid()
 *   guid age                of a debug id; PDB 2.0 has no GUID but
 *   sig sig_padded          a signature, in 8 digits, or with zeros up to 32
 *   stamp                   ffffffff in place of a Portable PDB's stamp; reads its stamp too
 *   code_file debug_file    base names
 *   section path            of an ELF file, of a source; path takes the rest, slashes and all
 *   given                   an id in the request's own spelling (module.path), if it has one; printed only
 * Behind a colon stands a slice of one value ({code:0-2}, {code:2-}), or what becomes of a name:
 * `lower`, and the shapes of name.h ({debug_file:sym}), behind the plain name only. */
struct layout_row {
	enum filetype type;
	enum object_type object; /* OBJECT_UNKNOWN: of any module */
	const char *pattern;
	unsigned flags;
};

enum row_flags {
	ROW_ACCEPTED = 1, /* read, never printed: an old or foreign spelling */
	ROW_PRINTED = 2,  /* printed, never read: other rows' files have the better claim */
	ROW_UNLISTED = 4, /* servers are asked for it, but where a row before it prints, listings
			     show that one alone */
	ROW_VARIANT = 8 | ROW_UNLISTED, /* and it is left out where it says the same */
	ROW_NO_WASM = 16, /* of any module but WASM */
	ROW_NO_CODE = 32  /* printed only for a module whose code id is not known */
};

enum layout_flag {
	/* Its paths */
	LAYOUT_TWO_TIER = 1 << 0,     /* the first two characters of the first part stand before it */
	LAYOUT_ONE_NAME = 1 << 1,     /* files of several types have the same path */
	LAYOUT_FIXED_PREFIX = 1 << 2, /* no server leaves the prefix out */
	LAYOUT_WINDOWS_NAMES = 1 << 3, /* names of PE files and PDBs may stand in lower case, too */

	/* Its folder of the mount */
	LAYOUT_DIR_LINKS = 1 << 4, /* behind the prefix, an id's directory links to the one without the prefix */
	LAYOUT_MOUNT_ONLY = 1 << 5, /* no server has it; "all layouts" leaves it out */

	/* What its servers do */
	LAYOUT_SYMBOL_STORE = 1 << 6, /* they have index2.txt, 000Admin/ and file.ptr */
	LAYOUT_NO_RANGES = 1 << 7,    /* they send whole files only */
	LAYOUT_CODE_ID_LOOKUP = 1 << 8, /* they redirect from a code id to a Breakpad file's path */
	LAYOUT_TECKEN = 1 << 9, /* `symfs serve` answers in its paths as Mozilla's Tecken does */
};

struct layout {
	const char *name;   /* the word of configuration: "symstore_index2" */
	const char *folder; /* under the mount: "symstore2" */
	const char *prefix; /* in front of every path in the mount and on most servers, may be
			       left out when read: ".build-id", "buildid", "" */
	const char *help;
	const struct layout_row *rows; /* ends with a NULL pattern */
	unsigned flags;
	enum filetype links; /* in its folder these are links to where `dsym` has them */
	const char *tiered;  /* a store of this layout may turn out to have that one; or NULL */
};

enum layout_what { LAYOUT_NONE = 0, LAYOUT_DIR = 1, LAYOUT_FILE = 2 };

struct layout_hit {
	unsigned what; /* LAYOUT_DIR and LAYOUT_FILE may both be set: the path alone does not decide */
	unsigned n;
	struct artifact files[LAYOUT_CANDIDATES]; /* best first */
};

enum casing { CASING_DEFAULT, CASING_LOWER, CASING_UPPER };

const struct layout *layout_at(unsigned i);	    /* NULL past the last */
const struct layout *layout_find(const char *name); /* by name or folder; NULL */

/* Reads a path of the layout (no leading slash; with or without l->prefix). Any letter case.
 * A trailing slash, empty parts, `.` and `..` mean nothing. */
void layout_parse(const struct layout *l, const char *path, struct layout_hit *out);

/* Adds the nth path (0 first) of an artifact, without l->prefix: the spellings that the mount
 * lists. -ENOENT past the last. */
int layout_path(const struct layout *l, const struct artifact *a, enum casing c, unsigned nth,
	struct buf *out);

/* All of them, in that order, with the row that each is of (an index), but those that are read as another
 * file or as none. Stops when `each` returns non-zero, and returns that; 0; -ENOMEM. */
int layout_each(const struct layout *l, const struct artifact *a,
	int (*each)(void *ctx, unsigned row, const char *path), void *ctx);
/* Whether keys of one class (key_class()) and one name differ in whether layout_each() lists them, so that one key
 * does not stand for all. */
bool layout_class_varies(unsigned class);

/* The same, also of what is not read so. */
int layout_each_printed(const struct layout *l, const struct artifact *a,
	int (*each)(void *ctx, unsigned row, const char *path), void *ctx);

/* How many bytes of a name make up the directory in front of it, in a layout of two tiers. */
size_t layout_tier(const char *name);

/* The same for a request to a server, in the order to try: also the spellings that only some servers
 * have, and behind each path of a PE file or a PDB its compressed one (crash.pd_), which the
 * mount neither lists nor reads. `compressed` may be NULL. */
int layout_server_path(const struct layout *l, const struct artifact *a, enum casing c, unsigned nth,
	struct buf *out, bool *compressed);

/* The file name that the layout has in its paths of such a file: the code file's, the debug file's, or
 * "" where ids alone make the path. */
const char *layout_name_of(const struct layout *l, const struct artifact *a);

int casing_find(const char *word); /* -EINVAL */
