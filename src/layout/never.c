/* Names that symfs never requests from a source. Debuggers, file managers and indexers probe for dozens of
 * them for each module; all are refused at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/never.h"
#include "base/util.h"

#include <string.h>
#include <strings.h>

static const char *const names[] = {
	/* debuggers, version control, desktops of Unix */
	".debug", ".directory", ".dwz", ".git", ".hg", ".hidden", ".svn", ".symfs", ".trash",
	".xdg-volume-info", "[kernel.kcore]", "[kernel.kallsyms]",
	/* Microsoft's symbol stores: clients look for these beside files and in parent directories */
	"000admin", "file.ptr", "index2.txt", "pingme.txt", "refs.ptr", "server.txt",
	/* Windows on a share */
	"$recycle.bin", "albumartsmall.jpg", "autorun.inf", "desktop.ini", "ehthumbs.db",
	"ehthumbs_vista.db", "folder.gif", "folder.jpg", "recycled", "recycler",
	"system volume information", "thumbs.db",
	/* macOS on a share */
	".ds_store", ".fseventsd", ".localized", ".metadata_never_index", ".spotlight-v100",
	".temporaryitems", ".trashes",
};

static const char *const endings[] = {
	".dwp", ".dwo", "-gdb.gdb", "-gdb.py", "-gdb.scm", ".ptr", ".gnu_debuglink", ".swp",
	/* A compressed file is another spelling of a file, and symfs unpacks it by itself. */
	".pd_", ".ex_", ".dl_", ".sy_",
	".lnk",
};

/* macOS stores metadata of `foo` in `._foo`. */
static const char *const beginnings[] = {".trash-", "._"};

static bool begins_or_ends(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		size_t end = strlen(endings[i]);

		if (n > end && strncasecmp(endings[i], name + n - end, end) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		size_t begin = strlen(beginnings[i]);

		if (n > begin && strncasecmp(beginnings[i], name, begin) == 0)
			return true;
	}
	return false;
}

bool layout_never(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == n && strncasecmp(names[i], name, n) == 0)
			return true;
	return begins_or_ends(name, n);
}
