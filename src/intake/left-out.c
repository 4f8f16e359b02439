/* Recognizes files that lie beside symbol files and are not symbol files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "intake/intake.h"

#include <string.h>
#include <strings.h>

/* Returns the length of the path's last component before `end`, and moves `end` to the first byte of this
 * component. */
static size_t last_component(const char *path, size_t *end)
{
	size_t to = *end, from;

	while (to && path[to - 1] == '/')
		to--;
	for (from = to; from && path[from - 1] != '/';)
		from--;
	*end = from;
	return to - from;
}

bool intake_leaves_out(const char *path)
{
	static const char end[] = ".dSYM";
	size_t at = strlen(path), n = last_component(path, &at);

	if (n != strlen("Info.plist") || strncmp(path + at, "Info.plist", n) != 0)
		return false;
	n = last_component(path, &at);
	if (n != strlen("Contents") || strncmp(path + at, "Contents", n) != 0)
		return false;
	n = last_component(path, &at);
	return n > strlen(end) && strncasecmp(path + at + n - strlen(end), end, strlen(end)) == 0;
}
