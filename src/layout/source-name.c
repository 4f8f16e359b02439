/* Guesses from a name's ending whether it is that of a source file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/source-name.h"
#include "base/util.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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

bool source_name_is_file(const char *path)
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
