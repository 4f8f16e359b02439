/* Finds what a path below the mount point means: a layout's folder, a file, a link, a text, or GSYM. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/layout/tree.h"
#include "base/util.h"
#include "names/id/key.h"
#include "names/layout/layouts.h"
#include "names/layout/name.h"
#include "names/layout/rows.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* symsrv accepts a directory as a store if it contains pingme.txt; other clients also look for 000Admin.
 * index2.txt marks two tiers. symstore.exe writes the same files, and records its transactions in 000Admin;
 * here, these records are empty. lastid.txt is absent on purpose: it tells a client that 000Admin has an index
 * of all files. A client that reads the index (Symbolicator's has_index) requests only files in it, but symfs
 * also serves files that are in no list. Without lastid.txt, such a client reports an unreadable index. */
#define GSYM "gsym"
#define PINGME "symfs\n"
#define README                                                                                     \
	"This is a symfs mount: debug files by every path that debuggers ask for. A file\n"        \
	"is fetched when it is opened. Directories list what is stored and what directory\n"       \
	"sources hold; any other file that a source has is found by its path.\n"                   \
	"\n"                                                                                       \
	"  gdb/           .build-id/NN/REST[.debug]: gdb, LLDB, elfutils, llvm-symbolizer\n"       \
	"  debuginfod/    DEBUGINFOD_URLS=file://MOUNT/debuginfod\n"                               \
	"  perf/          perf --buildid-dir MOUNT/perf\n"                                         \
	"  lldb/          UUID directories of macOS, linked to the bundles in dsym/\n"             \
	"  dsym/          dSYM bundles by UUID\n"                                                  \
	"  source/        BUILDID/usr/src/...: source files, for gdb's substitute-path\n"          \
	"  symstore/      a Microsoft symbol store: NAME/ID/NAME\n"                                \
	"  symstore2/     the same with two tiers: NA/NAME/ID/NAME\n"                              \
	"  ssqp/          the same in lower case, as .NET's tools ask\n"                           \
	"  breakpad/      Breakpad symbol files: NAME/ID/NAME.sym\n"                               \
	"  unified/       Symbolicator's layout: NN/REST/debuginfo, executable, ...\n"             \
	"  native/        the layout of each platform's own tools, in one directory\n"             \
	"  slashsymbols/  NAME/ID/symbols\n"                                                       \
	"  gsym/          PATH.gsym for the paths above: functions, lines, inlined calls\n"        \
	"  .build-id      for debuggers whose debug directory is the mount point itself\n"         \
	"  000Admin/      shows clients, as pingme.txt does, that this is a symbol store\n"        \
	"  .symfs/        status, activity, stats; why/PATH says why a file is not there\n"        \
	"\n"                                                                                       \
	"See symfs(1) and symfs-layouts(7).\n"
#define ADMIN "000Admin"
#define ADMIN_ROWS(folder)                                                                         \
	{folder ADMIN, "server.txt", TREE_TEXT, ""}, {folder ADMIN, "history.txt", TREE_TEXT, ""}

static const struct fixed {
	const char *folder, *name; /* folder "": the root */
	enum tree_what what;
	const char *text;
} fixed[] = {
	{"", ".build-id", TREE_LINK, "gdb/.build-id"},
	{"", ".symfs", TREE_STATE, ""},
	{"", GSYM, TREE_DIR, NULL},
	{"", "README", TREE_TEXT, README},
	{"", "pingme.txt", TREE_TEXT, PINGME},
	{"", ADMIN, TREE_DIR, NULL},
	ADMIN_ROWS(""),
	{"symstore", "pingme.txt", TREE_TEXT, PINGME},
	{"symstore", ADMIN, TREE_DIR, NULL},
	ADMIN_ROWS("symstore/"),
	{"symstore2", "pingme.txt", TREE_TEXT, PINGME},
	{"symstore2", "index2.txt", TREE_TEXT, "symfs: two tiers\n"},
	{"symstore2", ADMIN, TREE_DIR, NULL},
	ADMIN_ROWS("symstore2/"),
};

static const struct fixed *fixed_find(const char *folder, size_t n, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (name_alike(fixed[i].name[0], name[0]) && strcasecmp(fixed[i].name, name) == 0 &&
			strlen(fixed[i].folder) == n && strncasecmp(fixed[i].folder, folder, n) == 0)
			return &fixed[i];
	return NULL;
}

/* ---- files -------------------------------------------------------------------------- */

/* Reads a path by a layout. Several rows or layouts may mean the same file, which is added once. */
static unsigned take_layout(const struct layout *l, struct split *s, struct layout_files *files, struct tree_hit *out)
{
	unsigned what = layout_read(l, s, files);

	out->n = files->n;
	if (what == (LAYOUT_DIR | LAYOUT_FILE))
		out->what = TREE_EITHER;
	else if (what == LAYOUT_FILE)
		out->what = TREE_LEAF;
	else if (what == LAYOUT_DIR && out->what == TREE_NONE)
		out->what = TREE_DIR;
	return what;
}

static void files_begin(struct layout_files *files, struct tree_hit *out)
{
	files->files = out->files;
	files->n = 0;
	files->by_type = false;
}

static unsigned take_path(const struct layout *l, const char *path, struct tree_hit *out)
{
	struct layout_files files;
	struct split s;

	files_begin(&files, out);
	split_path(path, l, &s);
	return take_layout(l, &s, &files, out);
}

/* Parses with every layout a path that is outside the layouts' folders, or that its folder's layout does not
 * contain. Sets `else_dir` if the path is a file in one layout and a directory in another: NN/REST is a program
 * of `native` and a directory of `unified`. (A first tier does not count as a directory, because any name can
 * begin with one.) */
static void parse_any(const char *path, struct tree_hit *out)
{
	struct layout_files files;
	struct split s;
	bool dir = false;

	files_begin(&files, out);
	split_path(path, NULL, &s);
	for (const struct layout *l = layouts; l->name; l++)
		if (!(l->flags & LAYOUT_FOLDER_ONLY) && take_layout(l, &s, &files, out) == LAYOUT_DIR)
			dir = dir || !(l->flags & LAYOUT_TWO_TIER);
	out->else_dir = dir && out->what == TREE_LEAF;
}

/* ---- texts about a file -------------------------------------------------------------- */

#define BUNDLE ".dSYM"
#define PLIST "/Contents/Info.plist"
#define DWARF "/Contents/Resources/DWARF/"
#define META ".meta"

bool tree_is_link(const struct layout *l, enum filetype t)
{
	return l && l->links && l->links == t;
}

/* "UUID/NAME.dSYM/Contents/Info.plist" -> the path of the file that the property list describes. */
static bool of_plist(const char *path, struct buf *out)
{
	size_t n = strlen(path) - (name_ends(path, PLIST) ? strlen(PLIST) : 0);
	const char *bundle = memrchr(path, '/', n);

	if (!path[n] || !bundle || (size_t)(path + n - ++bundle) <= strlen(BUNDLE))
		return false;
	return buf_add(out, path, n) == 0 && buf_adds(out, DWARF) == 0 &&
		buf_add(out, bundle, (size_t)(path + n - bundle) - strlen(BUNDLE)) == 0;
}

/* "xx/rest/executable.meta" -> the path of the file beside it. */
static bool of_meta(const char *path, struct buf *out)
{
	static const char *const have[] = {
		"/executable.meta", "/debuginfo.meta", "/sourcebundle.meta", "/breakpad.meta"};

	for (size_t i = 0; i < ARRAY_SIZE(have); i++)
		if (name_ends(path, have[i]))
			return buf_add(out, path, strlen(path) - strlen(META)) == 0;
	return false;
}

static const struct told_row {
	const char *layout;
	enum tree_told told;
	bool (*of)(const char *path, struct buf *out);
} told_rows[] = {
	{"dsym", TOLD_PLIST, of_plist},
	{"unified", TOLD_META, of_meta},
};

/* Whether the path is that of a text about a file; then `out` has the file. */
static bool parse_told(const struct layout *l, const char *path, struct tree_hit *out)
{
	_cleanup_buf_ struct buf of = BUF_UP_TO(LAYOUT_PATH_MAX);

	for (size_t i = 0; i < ARRAY_SIZE(told_rows); i++) {
		const struct told_row *row = &told_rows[i];

		if (strcmp(row->layout, l->name) != 0 || !row->of(path, &of))
			continue;
		out->told = row->told;
		if (take_path(l, buf_text(&of), out) == LAYOUT_FILE && out->n)
			return true;
		out->what = TREE_NONE;
		return false;
	}
	return false;
}

/* Adds the path of a dSYM in its bundle: with the module's name, unless symfs refuses that name
 * (name.c). */
static int bundle_path(const struct artifact *a, struct buf *out)
{
	_cleanup_free_ struct layout_hit *hit = malloc(sizeof(*hit));
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	const struct layout *l = layout_find("dsym");
	struct artifact known = *a;
	int r = hit ? layout_path(l, &known, CASING_DEFAULT, 0, &path) : -ENOMEM;

	if (r < 0)
		return r;
	layout_parse(l, buf_text(&path), hit);
	if (hit->what != LAYOUT_FILE || strlen(known.m.code_file) + strlen(BUNDLE) > NAME_MAX) {
		known.m.code_file[0] = '\0';
		buf_clear(&path);
		r = layout_path(l, &known, CASING_DEFAULT, 0, &path);
	}
	return r == 0 ? buf_addf(out, "%s/%s", l->folder, buf_text(&path)) : r;
}

int tree_plist(const struct artifact *a, struct buf *path)
{
	_cleanup_buf_ struct buf file = BUF_UP_TO(LAYOUT_PATH_MAX);
	int r = bundle_path(a, &file);

	return r == 0 ? buf_addf(path, "%.*s" PLIST, (int)(strstr(file.p, DWARF) - file.p), file.p) : r;
}

int tree_link(const struct artifact *a, struct buf *path, struct buf *target)
{
	const struct layout *l = layout_find("lldb");
	int r = buf_addf(path, "%s/", l->folder);

	if (r == 0)
		r = layout_path(l, a, CASING_DEFAULT, 0, path);
	for (const char *p = path->p; r == 0 && (p = strchr(p, '/')); p++)
		buf_adds(target, "../");
	return r == 0 ? bundle_path(a, target) : r;
}

/* ---- links to directories ----------------------------------------------------------- */

/* ".build-id/xx/rest" -> "xx/rest": the part after the prefix, if it has exactly that number of slashes. */
static const char *after_prefix(const struct layout *l, const char *rest, unsigned slashes)
{
	size_t n = strlen(l->prefix);

	if (!(l->flags & LAYOUT_DIR_LINKS) || strncasecmp(rest, l->prefix, n) != 0 || rest[n] != '/')
		return NULL;
	rest += n + 1;
	for (const char *p = rest; (p = strchr(p, '/')); p++)
		slashes--;
	return slashes == 0 ? rest : NULL;
}

bool tree_links_dirs(const struct layout *l, const char *rest)
{
	return after_prefix(l, rest, 0);
}

static void link_dir(const struct layout *l, const char *rest, struct tree_hit *out)
{
	const char *id = after_prefix(l, rest, 1);

	if (!id || strlen(id) + sizeof("../../") > sizeof(out->target))
		return;
	snprintf(out->target, sizeof(out->target), "../../%s", id);
	out->what = TREE_LINK;
	out->text = out->target;
}

/* ---- paths -------------------------------------------------------------------------- */

struct joined {
	struct artifact a; /* the file of one identifier */
	uint64_t sums[LAYOUT_CANDIDATES]; /* of the digits of the files; zeros after an identifier add nothing */
};

/* Adds the file of an identifier of n characters. False: it is not an identifier. */
static bool join_id(const char *id, size_t n, struct joined *j, struct tree_hit *out)
{
	uint64_t sum = 0, power = 1;

	for (size_t i = 0; i < n; i++, power *= 0x9e3779b97f4a7c15) {
		if (n > CODE_ID_MAX || !isxdigit((unsigned char)id[i]))
			return false;
		sum += (uint64_t)((id[i] | 0x20) - '0') * power;
	}
	if (out->what == TREE_DIR)
		return true;
	for (unsigned i = 0; i < out->n; i++)
		if (j->sums[i] == sum && strncasecmp(out->files[i].m.code_id, id, n) == 0 &&
			!out->files[i].m.code_id[n])
			return true;
	if (!layout_with_code(&j->a, id, n))
		return false;
	for (unsigned i = 0; i < out->n; i++)
		if (j->sums[i] == sum && build_id_equal(out->files[i].m.code_id, j->a.m.code_id))
			return true;
	if (out->n < LAYOUT_CANDIDATES) {
		j->sums[out->n] = sum;
		out->files[out->n++] = j->a;
	}
	return true;
}

/* Reads "ID+ID/REST" as the files "ID/REST" in this order, at most LAYOUT_CANDIDATES. False: `rest` does not begin
 * with joined identifiers. Each of them must be one: otherwise the path has no meaning. */
static bool parse_joined(const struct layout *l, const char *rest, struct tree_hit *out)
{
	_cleanup_buf_ struct buf one = BUF_UP_TO(LAYOUT_PATH_MAX);
	size_t n = strcspn(rest, "/"), id_n = strcspn(rest, "+/");
	struct joined j;

	if (!(l->flags & LAYOUT_JOINS) || id_n == n)
		return false;
	if (buf_add(&one, rest, id_n) == 0 && buf_adds(&one, rest + n) == 0)
		take_path(l, buf_text(&one), out);
	if (out->n)
		j.a = out->files[0];
	out->n = 0;
	for (const char *id = rest, *end; out->what != TREE_NONE && id <= rest + n; id = end + 1) {
		for (end = id; end < rest + n && *end != '+';)
			end++;
		if (join_id(id, (size_t)(end - id), &j, out))
			continue;
		out->what = TREE_NONE;
		out->n = 0;
	}
	return true;
}

static void parse_folder(const struct layout *l, const char *rest, struct tree_hit *out)
{
	bool told;

	out->layout = l;
	out->rest = rest;
	if (parse_joined(l, rest, out))
		return;
	told = parse_told(l, rest, out);
	if (!told && take_path(l, rest, out) == LAYOUT_NONE) {
		if (!(l->flags & LAYOUT_FOLDER_ONLY))
			parse_any(rest, out);
		return;
	}
	if (out->what == TREE_LEAF && (told || tree_is_link(l, out->files[0].type)))
		out->what = TREE_TOLD;
	if (out->what == TREE_DIR)
		link_dir(l, rest, out);
}

static const struct layout *folder_find(const char *path, size_t n)
{
	for (const struct layout *l = layouts; l->name; l++)
		if (name_alike(l->folder[0], path[0]) && strncasecmp(l->folder, path, n) == 0 && !l->folder[n])
			return l;
	return NULL;
}

static bool parse_fixed(const char *path, size_t first, struct tree_hit *out)
{
	const char *slash = strrchr(path, '/');
	const struct fixed *f = slash ? fixed_find(path, (size_t)(slash - path), slash + 1)
				      : fixed_find("", 0, path);

	if (first == 6 && strncasecmp(path, ".symfs", 6) == 0) {
		out->what = TREE_STATE;
		out->rest = path + first + (path[first] == '/');
		return true;
	}
	if (!f)
		return false;
	out->what = f->what;
	out->text = f->text;
	return true;
}

/* Whether GSYM can be made from the file, and the file has an identifier. */
static bool is_gsym_input(const struct artifact *a)
{
	struct key k;

	return filetypes[a->type].flags & TYPE_GSYM_FROM && key_of(&k, a) == 0;
}

/* The path of a Breakpad file can mean files of several modules. The path of a debug file or program
 * means both files of a module, perhaps on several platforms. */
static unsigned keep_files(unsigned first, struct tree_hit *out)
{
	_cleanup_free_ struct artifact *all = malloc(sizeof(out->files));
	bool alone = filetypes[out->files[first].type].twin == FILETYPE_NONE;
	unsigned n = 0, kept = 0;

	if (!all)
		return 0;
	memcpy(all, out->files, out->n * sizeof(*all));
	for (unsigned i = first; i < out->n; i++) {
		const struct filetype_row *row = &filetypes[all[i].type];
		bool program = row->flags & TYPE_PROGRAM, more = alone ? all[i].type == all[first].type
			: row->twin != FILETYPE_NONE && !(kept >> row->object & 1);

		if (!more || !is_gsym_input(&all[i]) || n + 2 > LAYOUT_CANDIDATES)
			continue;
		kept |= 1u << row->object;
		out->files[n++] = all[i];
		if (alone)
			continue;
		out->files[n] = all[i];
		out->files[n - 1].type = program ? row->twin : all[i].type;
		out->files[n++].type = program ? all[i].type : row->twin;
	}
	return n;
}

static void keep_inputs(enum tree_gsym form, struct tree_hit *out)
{
	unsigned i = 0;

	while (i < out->n && !is_gsym_input(&out->files[i]))
		i++;
	if (!tree_names_file(out) || i == out->n) {
		out->what = TREE_NONE;
		out->n = 0;
		return;
	}
	out->n = keep_files(i, out);
	out->what = TREE_LEAF;
	out->gsym = form;
}

/* Appends to `of` the path of the file that GSYM is made from, and returns the form of GSYM. TREE_GSYM_NONE:
 * `path` is not that of a GSYM file. */
static enum tree_gsym gsym_of(const char *path, struct buf *of)
{
	enum tree_gsym form = name_ends(path, "." GSYM)		 ? TREE_GSYM_V1
			      : name_ends(path, "." GSYM ".o") ? TREE_GSYM_OBJECT
							       : TREE_GSYM_NONE;
	size_t tail = strlen(form == TREE_GSYM_V1 ? "." GSYM : "." GSYM ".o");

	if (form == TREE_GSYM_NONE || buf_add(of, path, strlen(path) - tail) < 0)
		return TREE_GSYM_NONE;
	return form;
}

/* "000Admin" and "symstore/000Admin": GSYM cannot be made from any file there. */
static bool is_admin(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcasecmp(slash ? slash + 1 : path, ADMIN) == 0;
}

/* Under gsym/: the same directories, and for each path PATH.gsym and PATH.gsym.o. */
static void parse_gsym(const char *rest, struct tree_hit *out)
{
	_cleanup_buf_ struct buf of = BUF_UP_TO(LAYOUT_PATH_MAX);
	size_t first = strcspn(rest, "/");
	enum tree_gsym form;

	if ((first == 4 && strncasecmp(rest, GSYM, 4) == 0) || strncasecmp(rest, ".symfs", 6) == 0)
		return;
	form = gsym_of(rest, &of);
	if (!*rest) {
		out->what = TREE_DIR;
	} else if (form != TREE_GSYM_NONE) {
		tree_parse(buf_text(&of), out);
		keep_inputs(form, out);
	} else {
		tree_parse(rest, out);
		if ((out->what == TREE_EITHER && !out->file_like) || out->else_dir)
			out->what = TREE_DIR;
		if ((out->what != TREE_DIR && out->what != TREE_LINK) || is_admin(rest))
			out->what = TREE_NONE;
		out->n = 0;
	}
	out->layout = NULL;
	out->rest = rest;
}

const struct artifact *tree_gsym_input(const struct artifact *files, unsigned n, const struct key *found)
{
	struct key k;

	for (unsigned i = 1; i < n; i++)
		if (files[i].type == files[0].type && key_of(&k, &files[i]) == 0 && key_equal(&k, found))
			return &files[i];
	for (unsigned i = 0; i < n; i++)
		if (filetypes[files[i].type].object == filetypes[found->type].object)
			return &files[i];
	return &files[0];
}

const char *tree_mirrored(const char *path)
{
	size_t first = strcspn(path, "/");

	if (first != strlen(GSYM) || strncasecmp(path, GSYM, first) != 0)
		return NULL;
	return path + first + (path[first] == '/');
}

void tree_parse(const char *path, struct tree_hit *out)
{
	size_t first = strcspn(path, "/");
	const struct layout *l = folder_find(path, first);

	memset(out, 0, offsetof(struct tree_hit, files));
	out->rest = path;
	if (!*path) {
		out->what = TREE_DIR;
		return;
	}
	if (parse_fixed(path, first, out))
		return;
	if (tree_mirrored(path)) {
		parse_gsym(tree_mirrored(path), out);
		return;
	}
	if (l)
		parse_folder(l, path[first] ? path + first + 1 : path + first, out);
	else
		parse_any(path, out);
	if (out->what == TREE_EITHER)
		out->file_like = name_is_source(path);
}

bool tree_names_file(const struct tree_hit *hit)
{
	return hit->n && !hit->gsym && (hit->what != TREE_TOLD || hit->told == TOLD_LINK);
}

/* The file in a directory that no row of the layout describes (Info.plist); NULL: the directory has no such file. */
static const char *extra_entry(const char *path)
{
	size_t n = strcspn(path, "/");

	return folder_find(path, n) == layout_find("dsym") && name_ends(path, BUNDLE "/Contents")
		? strrchr(PLIST, '/') + 1 : NULL;
}

const char *tree_entry(const char *path, unsigned nth, enum tree_what *what)
{
	const char *told = extra_entry(path);

	if (told) {
		if (what)
			*what = TREE_TEXT;
		return nth == 0 ? told : NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (strcasecmp(fixed[i].folder, path) == 0 && nth-- == 0) {
			if (what)
				*what = fixed[i].what;
			return fixed[i].name;
		}
	if (what)
		*what = TREE_DIR;
	if (!*path)
		return layout_at(nth) && nth < 64 ? layout_at(nth)->folder : NULL;
	for (const struct layout *l = layouts; l->name; l++)
		if (strcasecmp(l->folder, path) == 0 && l->prefix[0] && nth == 0)
			return l->prefix;
	return NULL;
}

int tree_path(const struct artifact *a, struct buf *path)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	const struct layout *l;
	struct key wanted, k;

	if (!hit)
		return -ENOMEM;
	if (key_of(&wanted, a) < 0)
		return -ENOENT;
	for (unsigned i = 0; (l = layout_at(i)); i++) {
		buf_clear(path);
		if (buf_addf(path, "%s/%s%s", l->folder, l->prefix, l->prefix[0] ? "/" : "") < 0 ||
			layout_path(l, a, CASING_DEFAULT, 0, path) < 0)
			continue;
		tree_parse(buf_text(path), hit);
		if (tree_names_file(hit) && hit->n && key_of(&k, &hit->files[0]) == 0 && key_equal(&k, &wanted))
			return 0;
	}
	return -ENOENT;
}
