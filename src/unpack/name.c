/* Names an unpacked file by the path of the packed file; names inside archives are ignored. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "unpack/unpack.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Finds the path component before the component at `p`. Returns its length. */
static size_t component_before(const char *path, const char *p, const char **start)
{
	const char *end;

	while (p > path && p[-1] == '/')
		p--;
	end = p;
	while (p > path && p[-1] != '/')
		p--;
	*start = p;
	return (size_t)(end - p);
}

/* The directory that names the file in a symbol store; NULL: there is none. In `foo.pdb/IDENTIFIER/foo.pd_`
 * the directory's name has the missing last letter. */
static const char *name_of_store(const char *path, const char *name)
{
	const char *p;
	size_t n = strlen(name);

	component_before(path, name, &p);
	return component_before(path, p, &p) == n && strncasecmp(p, name, n - 1) == 0 ? p : NULL;
}

void unpack_name(const char *path, char *out, size_t room)
{
	static const struct {
		const char *from, *to;
	} ends[] = {{".pd_", ".pdb"}, {".ex_", ".exe"}, {".dl_", ".dll"}, {".sy_", ".sys"}, {".gz", ""},
		{".zst", ""}, {".xz", ""}, {".bz2", ""}, {".cab", ""}};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *whole = NULL;
	size_t n = strlen(name);

	if (n && name[n - 1] == '_')
		whole = name_of_store(path, name);
	snprintf(out, room, "%.*s", (int)n, whole ? whole : name);
	for (size_t i = 0; !whole && i < ARRAY_SIZE(ends); i++) {
		size_t end = strlen(ends[i].from);

		if (n > end && strcasecmp(name + n - end, ends[i].from) == 0)
			snprintf(out, room, "%.*s%s", (int)(n - end), name, ends[i].to);
	}
}
