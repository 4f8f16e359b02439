/* What a name tells without a file: names derived from that of a module, names that are never requested, and names of
 * source files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/module.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum name_shape {
	NAME_AS_IS,
	NAME_SYM,	/* Breakpad: `.sym` replaces `.pdb`, or is appended */
	NAME_WINSYM,	/* as NAME_SYM, but `.sym` replaces `.exe` and `.dll`, too */
	NAME_SRC,	/* `.src.zip` replaces the last extension */
	NAME_SYMSRC	/* as NAME_SYM, with `.src.zip` instead of `.sym` */
};

/* Writes the derived name to `out`. 0; -ENOENT: that name would be too long. */
int name_shaped(const char *name, enum name_shape shape, char out[static MODULE_NAME_MAX]);

/* Whether debuggers, file managers and indexers probe for the name, and no symbol server has it: `desktop.ini`,
 * `index2.txt`, `foo.pd_`, `x.dwp`, `libfoo.so-gdb.py` and similar names, in any letter case. Such names are probed
 * for each module, so they are refused at once. */
bool layout_never(const char *name, size_t n);

/* Guesses whether a source path is that of a file or of a directory. The kernel looks up one component after the
 * other and does not say which is the last. */
bool name_is_source(const char *path);

/* False: two characters differ not only in letter case. strcasecmp() takes longer to find that out. */
static inline bool name_alike(char a, char b)
{
	return !((a ^ b) & ~0x20);
}

/* Ignores case. False if `name` is only the ending. */
static inline bool name_ends(const char *name, const char *ending)
{
	size_t n = strlen(name), e = strlen(ending);

	return n > e && name_alike(name[n - 1], ending[e - 1]) && strcasecmp(name + n - e, ending) == 0;
}
