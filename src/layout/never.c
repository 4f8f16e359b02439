/* Names that are never asked for anywhere. Debuggers, file managers and indexers send dozens of
 * such probes for each module; answering them costs nothing and asks nobody. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/never.h"
#include "base/util.h"

#include <string.h>
#include <strings.h>

static const char *const names[] = {
	".debug", ".directory", ".ds_store", ".dwz", ".git", ".hg", ".hidden", ".svn", ".symfs",
	".trash", ".xdg-volume-info", "000admin", "autorun.inf", "desktop.ini", "file.ptr",
	"folder.jpg", "index2.txt", "pingme.txt", "refs.ptr", "server.txt", "thumbs.db",
	"[kernel.kcore]", "[kernel.kallsyms]",
};

static const char *const endings[] = {
	".dwp", ".dwo", "-gdb.gdb", "-gdb.py", "-gdb.scm", ".ptr", ".gnu_debuglink", ".swp",
};

bool layout_never(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == n && strncasecmp(names[i], name, n) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		size_t end = strlen(endings[i]);

		if (n > end && strncasecmp(endings[i], name + n - end, end) == 0)
			return true;
	}
	return n > 6 && strncasecmp(name, ".trash-", 7) == 0;
}
