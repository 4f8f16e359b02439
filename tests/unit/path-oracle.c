/* The first reader of paths: tries each row of each layout, and reads the text of the pattern anew each time. It is
 * slow and easy to follow. Tests compare layout_parse() and tree_parse() with it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/path-oracle.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "names/id/key.h"
#include "names/layout/layouts.h"
#include "names/layout/name.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names that are never looked up ------------------------------------------------------ */

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

static bool never(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == n && strncasecmp(names[i], name, n) == 0)
			return true;
	return begins_or_ends(name, n);
}

/* ---- patterns --------------------------------------------------------------------------- */

/* The fields of a pattern. Those before FIELD_CODE_FILE are hex digits. */
enum field_kind {
	FIELD_CODE,
	FIELD_UUID,
	FIELD_GUID,
	FIELD_SIG,
	FIELD_SIG_PADDED,
	FIELD_STAMP,
	FIELD_AGE,
	FIELD_CODE_FILE,
	FIELD_DEBUG_FILE,
	FIELD_PATH,
	FIELD_SECTION,
};
#define HEX_FIELDS FIELD_CODE_FILE

static const struct field {
	const char *name;
	enum field_kind kind;
	bool upper;
	size_t digits; /* 0: any number of them */
} fields[] = {
	{"code", FIELD_CODE, false, 0},
	{"CODE", FIELD_CODE, true, 0},
	{"uuid", FIELD_UUID, false, 32},
	{"UUID", FIELD_UUID, true, 32},
	{"guid", FIELD_GUID, false, 32},
	{"GUID", FIELD_GUID, true, 32},
	{"sig", FIELD_SIG, false, 8},
	{"SIG", FIELD_SIG, true, 8},
	{"sig_padded", FIELD_SIG_PADDED, false, 32},
	{"SIG_PADDED", FIELD_SIG_PADDED, true, 32},
	{"stamp", FIELD_STAMP, false, 8},
	{"STAMP", FIELD_STAMP, true, 8},
	{"age", FIELD_AGE, false, 0},
	{"AGE", FIELD_AGE, true, 0},
	{"code_file", FIELD_CODE_FILE, false, 0},
	{"debug_file", FIELD_DEBUG_FILE, false, 0},
	{"path", FIELD_PATH, false, 0},
	{"given", FIELD_SECTION, false, 0},
	{"section", FIELD_SECTION, false, 0},
};

/* One piece of a pattern: a run of literal characters, or a field with its slice. */
struct token {
	const struct field *field; /* NULL: literal */
	const char *text;	   /* the characters of a literal */
	size_t n;
	size_t from, to; /* slice of a hex field, digits; to == 0: to the end */
	bool lower;	 /* {code_file:lower} */
	enum name_shape shape;
};

static bool word_is(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(p, word, n) == 0;
}

/* Parses what follows a colon: a slice, or a change of a name. */
static void token_modifier(const char *p, size_t n, struct token *t)
{
	static const char *const shapes[] = {
		[NAME_SYM] = "sym",
		[NAME_WINSYM] = "winsym",
		[NAME_SRC] = "src",
		[NAME_SYMSRC] = "symsrc",
	};

	if (isdigit((unsigned char)*p)) {
		char *end;

		t->from = strtoul(p, &end, 10);
		t->to = isdigit((unsigned char)end[1]) ? strtoul(end + 1, NULL, 10) : 0;
		return;
	}
	t->lower = t->lower || word_is(p, n, "lower");
	for (unsigned i = NAME_SYM; i < ARRAY_SIZE(shapes); i++)
		if (word_is(p, n, shapes[i]))
			t->shape = i;
}

/* Reads the next token of a pattern. Returns the end of the token. */
static const char *token_next(const char *p, struct token *t)
{
	size_t n;

	memset(t, 0, sizeof(*t));
	if (*p != '{') {
		t->text = p;
		t->n = strcspn(p, "{");
		return p + t->n;
	}
	n = strcspn(++p, ":}");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (word_is(p, n, fields[i].name))
			t->field = &fields[i];
	for (p += n; *p == ':'; p += n) {
		n = strcspn(++p, ":}");
		token_modifier(p, n, t);
	}
	return p + 1;
}

struct digits {
	char text[CODE_ID_MAX + 1];
	size_t n;
};

struct reading {
	struct module *m;
	struct digits hex[HEX_FIELDS];
};

/* Reads digits of a value, which may occur in slices and several times. False: they contradict each
 * other. */
static bool read_digits(struct digits *have, const struct token *t, const char *p, size_t n)
{
	size_t most = t->field->digits		    ? t->field->digits
		      : t->field->kind == FIELD_AGE ? 8
						    : CODE_ID_MAX;

	if (n == 0 || t->from > have->n || t->from + n > most)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t at = t->from + i;
		char c = (char)tolower((unsigned char)p[i]);

		if (hex_value(c) < 0 || (at < have->n && have->text[at] != c))
			return false;
		have->text[at] = c;
	}
	have->n = MAX(have->n, t->from + n);
	have->text[have->n] = '\0';
	return true;
}

/* A base name has no separator of either kind. */
static bool base_name_ok(const char *p, size_t n)
{
	return path_name_ok(p, n) && !memchr(p, '\\', n);
}

/* Reads a name. The plain name comes first; a later name must be derived from it. */
static bool read_name(
	char have[static MODULE_NAME_MAX], const struct token *t, const char *p, size_t n)
{
	char shaped[MODULE_NAME_MAX];

	if (!base_name_ok(p, n))
		return false;
	if (have[0])
		return name_shaped(have, t->shape, shaped) == 0 && strlen(shaped) == n &&
			strncasecmp(shaped, p, n) == 0;
	if (t->shape != NAME_AS_IS)
		return false;
	memcpy(have, p, n);
	have[n] = '\0';
	return true;
}

static bool read_field(struct reading *r, const struct token *t, const char *p, size_t n)
{
	switch (t->field->kind) {
	case FIELD_CODE_FILE:
		return read_name(r->m->code_file, t, p, n);
	case FIELD_DEBUG_FILE:
		return read_name(r->m->debug_file, t, p, n);
	case FIELD_SECTION:
		if (!path_name_ok(p, n))
			return false;
		snprintf(r->m->path, sizeof(r->m->path), "%.*s", (int)n, p);
		return true;
	case FIELD_PATH:
		return false; /* read_rest() reads this field */
	default:
		return read_digits(&r->hex[t->field->kind], t, p, n);
	}
}

/* The number of characters of a token; 0: the token takes the characters that the other tokens of its
 * component leave. */
static size_t token_width(const struct token *t)
{
	size_t end;

	if (!t->field)
		return t->n;
	end = t->to ? t->to : t->field->digits;
	return end ? end - t->from : 0;
}

/* Reads one component: matches pattern[0..pn) with p[0..n). At most one of its tokens has no fixed width. */
static bool read_component(
	struct reading *r, const char *pattern, size_t pn, const char *p, size_t n)
{
	const char *end = pattern + pn;
	struct token t;
	size_t fixed = 0;

	for (const char *q = pattern; q < end;) {
		q = token_next(q, &t);
		if (!t.field && q > end)
			t.n -= (size_t)(q - end);
		fixed += token_width(&t);
	}
	if (n < fixed)
		return false;
	for (const char *q = pattern; q < end;) {
		size_t width;

		q = token_next(q, &t);
		if (!t.field && q > end)
			t.n -= (size_t)(q - end);
		width = token_width(&t);
		if (width == 0)
			width = n - fixed;
		else
			fixed -= width;
		if (width > n)
			return false;
		if (t.field ? !read_field(r, &t, p, width) : strncasecmp(t.text, p, width) != 0)
			return false;
		p += width;
		n -= width;
	}
	return n == 0;
}

/* Reads {path}: the rest of the path, whose components must all be valid names. */
static bool read_rest(struct reading *r, const char *path)
{
	int n = snprintf(r->m->path, sizeof(r->m->path), "/%s", path);

	if (n < 0 || (size_t)n >= sizeof(r->m->path))
		return false;
	while (*path) {
		size_t part = strcspn(path, "/");

		if (!path_name_ok(path, part))
			return false;
		path += part;
		if (*path == '/' && !*++path)
			return false;
	}
	return true;
}

static uint32_t read_number(const struct digits *d)
{
	return (uint32_t)strtoul(d->text, NULL, 16);
}

static bool read_debug_id(const struct reading *r, struct debug_id *out)
{
	const struct digits *sig =
		r->hex[FIELD_SIG].n ? &r->hex[FIELD_SIG] : &r->hex[FIELD_SIG_PADDED];
	const struct digits *id = sig->n ? sig : &r->hex[FIELD_GUID];

	out->age = read_number(&r->hex[r->hex[FIELD_STAMP].n ? FIELD_STAMP : FIELD_AGE]);
	out->set = id->n != 0;
	out->pdb20 = sig->n != 0;
	if (sig->n > 8 && strspn(sig->text + 8, "0") != sig->n - 8)
		return false;
	return !id->n || hex_read(id->text, sig->n ? 8 : 32, out->guid) == 0;
}

static bool reading_done(struct reading *r)
{
	const struct digits *code = &r->hex[r->hex[FIELD_UUID].n ? FIELD_UUID : FIELD_CODE];

	snprintf(r->m->code_id, sizeof(r->m->code_id), "%s", code->text);
	return read_debug_id(r, &r->m->debug_id);
}

static unsigned pattern_parse(const char *pattern, const char *path, struct module *m)
{
	struct reading r = {.m = m};

	memset(m, 0, sizeof(*m));
	for (;;) {
		size_t pn = strcspn(pattern, "/"), n = strcspn(path, "/");

		if (strncmp(pattern, "{path}", 6) == 0)
			return read_rest(&r, path) && reading_done(&r) ? LAYOUT_FILE | LAYOUT_DIR
								       : LAYOUT_NONE;
		if (!read_component(&r, pattern, pn, path, n))
			return LAYOUT_NONE;
		pattern += pn;
		path += n;
		if (!*path)
			return *pattern ? LAYOUT_DIR : reading_done(&r) ? LAYOUT_FILE : LAYOUT_NONE;
		if (!*pattern || !path[1])
			return LAYOUT_NONE;
		pattern++;
		path++;
	}
}

/* ---- layouts ---------------------------------------------------------------------------- */

/* The ways in which writers of stores derive the first-tier directory from a name. */
enum tier { TIER_CHARACTERS, TIER_BYTES, TIER_UNTRIMMED, TIERS };

/* The number of bytes in the first two characters (UTF-8) of a name, without a dot at their end: "cr" of
 * "crash.pdb", "_" of "_.debug". Some writers take two bytes, and omit the directory if that would split a
 * character. Some keep the dot. */
static size_t tier_of(const char *name, size_t n, enum tier tier)
{
	size_t at = 0;

	for (unsigned chars = 0; chars < 2 && at < n; chars++) {
		if (chars == 1 && name[at] == '.' && tier != TIER_UNTRIMMED)
			break;
		at++;
		while (at < n && ((unsigned char)name[at] & 0xc0) == 0x80)
			at++;
		if (tier == TIER_BYTES && at >= 2)
			return at == 2 ? at : 0;
	}
	return at;
}

static void add_candidate(struct layout_hit *out, const struct artifact *a, const struct key *k)
{
	struct key have;

	for (unsigned i = 0; i < out->n; i++) {
		if (out->files[i].type != a->type || key_of(&have, &out->files[i]) < 0 ||
			!key_equal(&have, k))
			continue;
		/* The name of a symbol file can fit several kinds of modules. */
		if (a->m.debug_id.set && out->files[i].m.object != a->m.object)
			out->files[i].m.object = OBJECT_UNKNOWN;
		return;
	}
	if (out->n < LAYOUT_CANDIDATES)
		out->files[out->n++] = *a;
}

/* Whether the name is that of a runtime's companion, which has no id of its own. */
static bool is_companion(const char *name)
{
	static const char *const begins[] = {
		"mscordac", "mscordbi", "sos.", "libmscordac", "libmscordbi", "libsos."};

	for (unsigned i = 0; i < ARRAY_SIZE(begins); i++)
		if (strncasecmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static bool plausible_code(const struct artifact *a, size_t digits)
{
	switch (a->m.object) {
	case OBJECT_ELF: /* whole bytes, and more than one of them */
		return digits >= 4 && digits % 2 == 0;
	case OBJECT_MACHO:
		return digits == 32;
	case OBJECT_WASM:
		return digits >= 16 && digits % 2 == 0 &&
			(!a->m.code_file[0] || name_ends(a->m.code_file, ".wasm"));
	default: /* eight digits of a time, and a size */
		return digits > 8 && digits <= 16 && !name_ends(a->m.code_file, ".pdb");
	}
}

/* Whether a file of the artifact's type can have its debug id. Ids of PDB 2.0, from the nineties, are as short
 * as the code ids of programs, and have small ages. */
static bool plausible_debug(const struct artifact *a)
{
	static const uint8_t zeros[12]; /* the padding after a signature */
	const struct debug_id *d = &a->m.debug_id;

	if (d->pdb20)
		return d->age && d->age <= 0xffff &&
		       (a->type != FILETYPE_PDB || !a->m.debug_file[0] ||
			       name_ends(a->m.debug_file, ".pdb"));
	if (a->type == FILETYPE_PORTABLEPDB)
		return debug_id_stamped(d) || d->age == 0; /* the stamp may be missing */
	if (a->type != FILETYPE_PDB)
		return true;
	return memcmp(d->guid + 4, zeros, sizeof(zeros)) != 0 &&
	       (!debug_id_stamped(d) || d->age == UINT32_MAX);
}

/* Whether the ids and names fit the file type. Checks only what a pattern cannot express. */
static bool plausible(const struct artifact *a)
{
	size_t digits = strlen(a->m.code_id);

	if (a->type == FILETYPE_COMPANION && !is_companion(a->m.code_file))
		return false;
	return (!digits || plausible_code(a, digits)) && (!a->m.debug_id.set || plausible_debug(a));
}

/* Adds the file that a row reads from a path, if it is plausible. A path can match rows of several file types:
 * for example, the code id of a PE file also has the form of an id of PDB 2.0. */
static bool read_file(const struct layout_row *row, struct artifact *a, struct layout_hit *out)
{
	struct key k;

	a->type = row->type;
	a->m.object = row->object;
	if (!plausible(a) || key_of(&k, a) < 0)
		return false;
	add_candidate(out, a, &k);
	return true;
}

/* LLDB's locator for symbol stores prints the age of a PDB in decimal digits; other programs print it in hex.
 * The rows have read the age as hex: this adds the file whose age has the same digits in decimal. */
static void add_decimal_ages(struct layout_hit *out)
{
	unsigned n = out->n;

	for (unsigned i = 0; i < n; i++) {
		struct artifact a = out->files[i];
		char digits[16];
		struct key k;

		snprintf(digits, sizeof(digits), "%x", a.m.debug_id.age);
		if (a.type != FILETYPE_PDB || !a.m.debug_id.set || a.m.debug_id.pdb20 || !digits[1] ||
			strspn(digits, "0123456789") != strlen(digits))
			continue;
		a.m.debug_id.age = (uint32_t)strtoul(digits, NULL, 10);
		if (key_of(&k, &a) == 0)
			add_candidate(out, &a, &k);
	}
}

/* Reads a path by all rows. If the path matches a whole pattern without {path}, it is only a file, even if it
 * could also be a directory: "df/b85de4…" is a file of `native`, not the directory of a PDB named df. */
static void parse_rows(const struct layout *l, const char *path, struct layout_hit *out)
{
	bool ends = false;
	struct artifact a;

	a.via[0] = '\0';
	for (const struct layout_row *row = l->rows; row->pattern; row++) {
		unsigned what = row->flags & ROW_PRINTED ? LAYOUT_NONE
							 : pattern_parse(row->pattern, path, &a.m);

		if (what & LAYOUT_FILE && !read_file(row, &a, out))
			continue;
		ends = ends || what == LAYOUT_FILE;
		out->what |= what;
	}
	if (ends)
		out->what = LAYOUT_FILE;
	if (l->flags & LAYOUT_SYMBOL_STORE)
		add_decimal_ages(out);
}

static bool any_never(const char *path)
{
	for (;;) {
		size_t n = strcspn(path, "/");

		if (never(path, n))
			return true;
		if (!path[n])
			return false;
		path += n + 1;
	}
}

/* Whether the n bytes at `path` are the first tier of `name`, as any writer derives it. */
static bool is_tier(const char *path, size_t n, const char *name)
{
	size_t len = strcspn(name, "/");

	for (enum tier t = 0; t < TIERS; t++)
		if (tier_of(name, len, t) == n && strncasecmp(path, name, n) == 0)
			return true;
	return false;
}

/* "fo/foo.exe/…" -> "foo.exe/…". NULL: the tier does not fit the name. */
static const char *strip_tier(const char *path, bool *only_tier)
{
	size_t n = strcspn(path, "/");

	*only_tier = path[n] == '\0';
	if (n == 0)
		return NULL;
	if (*only_tier)
		return is_tier(path, n, path) ? path : NULL;
	return is_tier(path, n, path + n + 1) ? path + n + 1 : NULL;
}

static void parse_path(const struct layout *l, const char *path, struct layout_hit *out)
{
	bool only_tier = false;

	if (l->flags & LAYOUT_TWO_TIER)
		path = strip_tier(path, &only_tier);
	if (!path)
		return;
	if (only_tier)
		out->what |= LAYOUT_DIR;
	else
		parse_rows(l, path, out);
}

void oracle_layout_parse(const struct layout *l, const char *path, struct layout_hit *out)
{
	size_t n = strlen(l->prefix);

	out->what = LAYOUT_NONE;
	out->n = 0;
	if (!*path) {
		out->what = LAYOUT_DIR;
		return;
	}
	if (strlen(path) >= LAYOUT_PATH_MAX)
		return;
	if (n && strncasecmp(path, l->prefix, n) == 0 && (path[n] == '/' || path[n] == '\0')) {
		if (path[n] == '\0') {
			out->what = LAYOUT_DIR;
			return;
		}
		path += n + 1;
	}
	/* A source path may end in a name that is never looked up elsewhere. */
	if (!any_never(path) || strcasestr(path, "/source/"))
		parse_path(l, path, out);
}

/* ---- the mount -------------------------------------------------------------------------- */

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

static bool source_name_is_file(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	if (!dot || dot == name)
		return cxx_header(path, name);
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++)
		if (strcasecmp(dot + 1, extensions[i]) == 0)
			return true;
	return false;
}

#define GSYM "gsym"
#define PINGME ""
#define README ""
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
		if (strlen(fixed[i].folder) == n && strncasecmp(fixed[i].folder, folder, n) == 0 &&
			strcasecmp(fixed[i].name, name) == 0)
			return &fixed[i];
	return NULL;
}

/* ---- files -------------------------------------------------------------------------- */

static bool key_known(const struct tree_hit *out, const struct artifact *a)
{
	struct key k, have;

	if (key_of(&k, a) < 0)
		return true;
	for (unsigned i = 0; i < out->n; i++)
		if (key_of(&have, &out->files[i]) == 0 && key_equal(&have, &k))
			return true;
	return false;
}

/* Adds the files of a hit. Several rows or layouts may mean the same file, which is added once. */
static void take_hit(const struct layout_hit *hit, struct tree_hit *out)
{
	for (unsigned i = 0; i < hit->n && out->n < LAYOUT_CANDIDATES; i++)
		if (!key_known(out, &hit->files[i]))
			out->files[out->n++] = hit->files[i];
	if (hit->what == (LAYOUT_DIR | LAYOUT_FILE))
		out->what = TREE_EITHER;
	else if (hit->what == LAYOUT_FILE)
		out->what = TREE_LEAF;
	else if (hit->what == LAYOUT_DIR && out->what == TREE_NONE)
		out->what = TREE_DIR;
}

/* Parses with every layout a path that is outside the layouts' folders, or that its folder's layout does not
 * contain. Sets `else_dir` if the path is a file in one layout and a directory in another: NN/REST is a program
 * of `native` and a directory of `unified`. (A first tier does not count as a directory, because any name can
 * begin with one.) */
static void parse_any(const char *path, struct tree_hit *out)
{
	_cleanup_free_ struct layout_hit *hit = malloc(sizeof(*hit));
	bool dir = false;

	for (const struct layout *l = layouts; hit && l->name; l++) {
		if (l->flags & LAYOUT_FOLDER_ONLY)
			continue;
		oracle_layout_parse(l, path, hit);
		take_hit(hit, out);
		dir = dir || (hit->what == LAYOUT_DIR && !(l->flags & LAYOUT_TWO_TIER));
	}
	out->else_dir = dir && out->what == TREE_LEAF;
}

#define BUNDLE ".dSYM"
#define PLIST "/Contents/Info.plist"
#define DWARF "/Contents/Resources/DWARF/"
#define META ".meta"

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

/* Whether the path is that of a text about a file; then `hit` has the file. */
static bool parse_told(const struct layout *l, const char *path, struct layout_hit *hit,
	struct tree_hit *out)
{
	_cleanup_buf_ struct buf of = BUF_UP_TO(LAYOUT_PATH_MAX);

	for (size_t i = 0; i < ARRAY_SIZE(told_rows); i++) {
		const struct told_row *row = &told_rows[i];

		if (strcmp(row->layout, l->name) != 0 || !row->of(path, &of))
			continue;
		oracle_layout_parse(l, buf_text(&of), hit);
		out->told = row->told;
		return hit->what == LAYOUT_FILE && hit->n;
	}
	return false;
}

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

static void link_dir(const struct layout *l, const char *rest, struct tree_hit *out)
{
	const char *id = after_prefix(l, rest, 1);

	if (!id || strlen(id) + sizeof("../../") > sizeof(out->target))
		return;
	snprintf(out->target, sizeof(out->target), "../../%s", id);
	out->what = TREE_LINK;
	out->text = out->target;
}

/* Reads "ID+ID/REST" as the files "ID/REST" in this order, at most LAYOUT_CANDIDATES. False: `rest` does not begin
 * with joined identifiers. Each of them must be one: otherwise the path has no meaning. */
static bool parse_joined(const struct layout *l, const char *rest, struct tree_hit *out)
{
	_cleanup_free_ struct layout_hit *hit = malloc(sizeof(*hit));
	size_t n = strcspn(rest, "/");

	if (!hit || !(l->flags & LAYOUT_JOINS) || !memchr(rest, '+', n))
		return false;
	for (const char *id = rest; id <= rest + n; id += strcspn(id, "+/") + 1) {
		_cleanup_buf_ struct buf one = BUF_UP_TO(LAYOUT_PATH_MAX);

		if (buf_add(&one, id, strcspn(id, "+/")) == 0 && buf_adds(&one, rest + n) == 0)
			oracle_layout_parse(l, buf_text(&one), hit);
		else
			hit->what = LAYOUT_NONE;
		if (hit->what == LAYOUT_NONE) {
			out->what = TREE_NONE;
			out->n = 0;
			break;
		}
		take_hit(hit, out);
	}
	return true;
}

static void parse_folder(const struct layout *l, const char *rest, struct tree_hit *out)
{
	_cleanup_free_ struct layout_hit *hit = malloc(sizeof(*hit));
	bool told;

	if (!hit)
		return;
	out->layout = l;
	out->rest = rest;
	if (parse_joined(l, rest, out))
		return;
	told = parse_told(l, rest, hit, out);
	if (!told)
		oracle_layout_parse(l, rest, hit);
	if (hit->what == LAYOUT_NONE) {
		if (!(l->flags & LAYOUT_FOLDER_ONLY))
			parse_any(rest, out);
		return;
	}
	take_hit(hit, out);
	if (out->what == TREE_LEAF && (told || tree_is_link(l, out->files[0].type)))
		out->what = TREE_TOLD;
	if (out->what == TREE_DIR)
		link_dir(l, rest, out);
}

static const struct layout *folder_find(const char *path, size_t n)
{
	for (const struct layout *l = layouts; l->name; l++)
		if (strlen(l->folder) == n && strncasecmp(l->folder, path, n) == 0)
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
		oracle_tree_parse(buf_text(&of), out);
		keep_inputs(form, out);
	} else {
		oracle_tree_parse(rest, out);
		if ((out->what == TREE_EITHER && !out->file_like) || out->else_dir)
			out->what = TREE_DIR;
		if ((out->what != TREE_DIR && out->what != TREE_LINK) || is_admin(rest))
			out->what = TREE_NONE;
		out->n = 0;
	}
	out->layout = NULL;
	out->rest = rest;
}

void oracle_tree_parse(const char *path, struct tree_hit *out)
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
		out->file_like = source_name_is_file(path);
}
