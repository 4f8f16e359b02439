/* Fuzzes file.ptr: parsing terminates, and no path leads out of the directories that a source
 * names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "source/ptr.h"

#include <stdlib.h>
#include <string.h>

FUZZ_TARGET("ptr", p, n)
{
	static char unc[] = "\\\\build\\drop=/srv/drop", deeper[] = "\\\\build\\drop\\deep=/srv/deep";
	static char *maps[] = {unc, deeper, NULL};
	struct source s = {.o.ptr_map = maps};
	struct buf rest = BUF_UP_TO(2048);
	char path[1024], *dir = NULL;

	if (ptr_parse((const char *)p, n, path) != PTR_PATH)
		return 0;
	if (strpbrk(path, "\r\n") || !path[0])
		abort();
	if (ptr_resolve(&s, path, &dir, &rest) == 0) {
		const char *text = buf_text(&rest);

		if (!text[0] || text[0] == '/' || strstr(text, "//") || strchr(text, '\\'))
			abort();
		for (const char *part = text, *slash;; part = slash + 1) {
			if (strcmp(part, "..") == 0 || strncmp(part, "../", 3) == 0)
				abort();
			slash = strchr(part, '/');
			if (!slash)
				break;
		}
	}
	free(dir);
	buf_release(&rest);
	return 0;
}
