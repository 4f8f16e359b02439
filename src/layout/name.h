/* Names that follow from the name of a module: its symbol file, its source bundle. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "id/module.h"

enum name_shape {
	NAME_AS_IS,
	NAME_SYM,	/* Breakpad: `.pdb` gives way to `.sym`, else that is added */
	NAME_WINSYM,	/* so do `.exe` and `.dll` */
	NAME_SRC,	/* whatever the last extension is, `.src.zip` is in its place */
	NAME_SYMSRC	/* `.src.zip` where NAME_SYM has `.sym` */
};

/* 0, -ENOENT: the name is too long for that. */
int name_shaped(const char *name, enum name_shape shape, char out[static MODULE_NAME_MAX]);

bool name_ends(const char *name, const char *ending); /* any case, and something is in front */
