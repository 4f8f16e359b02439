/* Decides which artifacts a source may be asked for. A request reveals to the server what is being
 * debugged. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "formats/obj/obj.h"
#include "source/source.h"

#include <fnmatch.h>
#include <string.h>

static char *with_slashes(const char *text)
{
	char *copy = strdup(text);

	for (char *p = copy; p && *p; p++)
		if (*p == '\\')
			*p = '/';
	return copy;
}

bool source_glob(const char *glob, const char *name)
{
	_cleanup_free_ char *g = with_slashes(glob), *n = with_slashes(name);

	return g && n && fnmatch(g, n, FNM_CASEFOLD | FNM_NOESCAPE) == 0;
}

static bool any_glob(char *const *globs, const char *name)
{
	for (; *globs; globs++)
		if (source_glob(*globs, name))
			return true;
	return false;
}

/* Collects every name that a request could reveal: the names of the module's files, and the path of a source
 * file. */
static unsigned names_of(const struct artifact *a, const char *names[static 4])
{
	unsigned n = 0;

	if (a->m.code_file[0])
		names[n++] = a->m.code_file;
	if (a->m.debug_file[0])
		names[n++] = a->m.debug_file;
	if (a->type == FILETYPE_SOURCE && a->m.path[0]) {
		names[n++] = a->m.path;
		names[n++] = path_base(a->m.path);
	}
	return n;
}

static bool any_name(char *const *globs, const struct artifact *a)
{
	const char *names[4];
	unsigned n = names_of(a, names);

	for (unsigned i = 0; i < n; i++)
		if (any_glob(globs, names[i]))
			return true;
	return false;
}

bool source_allows(const struct source *s, const struct artifact *a)
{
	if (!(s->types >> a->type & 1))
		return false;
	if (!s->o.allow_unverified && obj_is_anonymous(a->type))
		return false;
	if (s->o.requires_checksum && !a->m.checksum[0])
		return false;
	/* With path-patterns, the source is not asked for a file without a name. */
	if (s->o.patterns && !any_name(s->o.patterns, a))
		return false;
	return !s->o.never || !any_name(s->o.never, a);
}
