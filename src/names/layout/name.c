/* What a name tells: derives file names from the name of a module (crash.sym, crash.src.zip), refuses names that
 * symfs never requests, and guesses which are of source files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/layout/name.h"
#include "base/util.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

/* ---- the names of a module's files ------------------------------------------------------ */

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

/* ---- names that symfs never requests from a source -------------------------------------- */

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

/* ---- source files ----------------------------------------------------------------------- */

static const char *const extensions[] = {
	"ada", "adb", "ads", "asm", "c", "c++", "cc", "cp", "cpp", "cppm", "cs", "cu", "cuh", "cxx",
	"d", "def", "f", "f03", "f08", "f77", "f90", "f95", "for", "gen", "go", "gperf", "h", "h++",
	"hh", "hpp", "hs", "hxx", "i", "idl", "ii", "impl", "in", "inc", "inl", "ino", "ipp", "ixx",
	"java", "jl", "kt", "l", "lex", "ll", "lpp", "m", "ml", "mli", "mm", "mod", "moc", "nim",
	"p", "pas", "pp", "proto", "pyx", "pxd", "qml", "re", "rl", "rs", "s", "sx", "swift", "t",
	"tab", "tbl", "tcc", "td", "tpp", "txx", "v", "vala", "x", "y", "ypp", "yy", "zig",
};

/* Directories of the C++ library. Their names look like those of its headers, which have no extension. */
static const char *const cxx_dirs[] = {
	"backward", "bits", "debug", "decimal", "experimental", "ext", "parallel", "profile",
	"pstl", "tr1", "tr2", "__memory", "__algorithm",
};

static bool cxx_header(const char *path, const char *name)
{
	if (!strstr(path, "/c++/") || strchr(name, '-') || strncmp(name, "__", 2) == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(cxx_dirs); i++)
		if (strcmp(name, cxx_dirs[i]) == 0)
			return false;
	return isalpha((unsigned char)name[0]) && !strchr(name, '.');
}

bool name_is_source(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	if (!dot || dot == name)
		return cxx_header(path, name);
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++)
		if (tolower((unsigned char)dot[1]) == extensions[i][0] && strcasecmp(dot + 1, extensions[i]) == 0)
			return true;
	return false;
}
