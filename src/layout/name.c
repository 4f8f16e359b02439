/* Derives file names from the name of a module: crash.sym, crash.src.zip. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/name.h"
#include "base/util.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* The length without the last extension; a leading dot does not begin an extension. */
static size_t stem(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name ? (size_t)(dot - name) : strlen(name);
}

static size_t kept(const char *name, enum name_shape shape)
{
	bool gone = name_ends(name, ".pdb");

	if (shape == NAME_AS_IS)
		return strlen(name);
	if (shape == NAME_WINSYM)
		gone = gone || name_ends(name, ".exe") || name_ends(name, ".dll");
	return gone || shape == NAME_SRC ? stem(name) : strlen(name);
}

int name_shaped(const char *name, enum name_shape shape, char out[static MODULE_NAME_MAX])
{
	static const char *const endings[] = {
		[NAME_AS_IS] = "", [NAME_SYM] = ".sym", [NAME_WINSYM] = ".sym",
		[NAME_SRC] = ".src.zip", [NAME_SYMSRC] = ".src.zip",
	};
	size_t n = kept(name, shape), end = strlen(endings[shape]);

	if (n + end >= MODULE_NAME_MAX)
		return -ENOENT;
	memcpy(out, name, n);
	memcpy(out + n, endings[shape], end + 1);
	return 0;
}
