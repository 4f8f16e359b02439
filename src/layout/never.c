/* Names that symfs never requests from a source. Debuggers, file managers and indexers probe for dozens of
 * them for each module; all are refused at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/never.h"
#include "base/util.h"
#include "layout/name.h"

#include <strings.h>

struct word {
	size_t n;
	const char *text;
};
#define W(text) {sizeof(text) - 1, text}

/* Names that these look for: debuggers, version control, desktops of Unix; clients of Microsoft's symbol stores,
 * beside files and in parent directories; Windows and macOS on a share. The shortest names are first. */
static const struct word names[] = {
	W(".hg"), W(".dwz"), W(".git"), W(".svn"), W(".debug"), W(".symfs"), W(".trash"), W(".hidden"),
	W(".trashes"), W("000admin"), W("file.ptr"), W("recycled"), W("recycler"), W("refs.ptr"), W(".ds_store"),
	W("thumbs.db"), W(".directory"), W(".fseventsd"), W(".localized"), W("folder.gif"), W("folder.jpg"),
	W("index2.txt"), W("pingme.txt"), W("server.txt"), W("autorun.inf"), W("desktop.ini"), W("ehthumbs.db"),
	W("$recycle.bin"), W("[kernel.kcore]"), W(".spotlight-v100"), W(".temporaryitems"), W(".xdg-volume-info"),
	W("[kernel.kallsyms]"), W("albumartsmall.jpg"), W("ehthumbs_vista.db"), W(".metadata_never_index"),
	W("system volume information"),
};

/* The shortest are first. A compressed file (.pd_) is another spelling of a file, and symfs unpacks it by itself. */
static const struct word endings[] = {
	W(".dl_"), W(".dwo"), W(".dwp"), W(".ex_"), W(".lnk"), W(".pd_"), W(".ptr"), W(".swp"), W(".sy_"),
	W("-gdb.py"), W("-gdb.gdb"), W("-gdb.scm"), W(".gnu_debuglink"),
};

/* macOS stores metadata of `foo` in `._foo`. */
static const struct word beginnings[] = {W("._"), W(".trash-")};

bool layout_never(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(names) && names[i].n <= n; i++)
		if (names[i].n == n && name_alike(*names[i].text, *name) && strncasecmp(names[i].text, name, n) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(endings) && endings[i].n < n; i++) {
		const char *end = name + n - endings[i].n;

		if (name_alike(endings[i].text[1], end[1]) && strncasecmp(endings[i].text, end, endings[i].n) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(beginnings) && beginnings[i].n < n; i++)
		if (*name == '.' && strncasecmp(beginnings[i].text, name, beginnings[i].n) == 0)
			return true;
	return false;
}
