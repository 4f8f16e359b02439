/* What a slice of a file is found by: its keys, the names in its file name, and words for it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "obj/private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- keys --------------------------------------------------------------------------- */

/* What belongs to an ELF file, and goes by its debug id, may be asked for by its build id: then the
 * debug id is the one that follows from that on most machines. Of a big-endian one the file has
 * another, and so has a file that makes up its own. */
int obj_key_by_build_id(enum filetype t, const struct module *m, struct key *out)
{
	const struct filetype_row *row = filetype_row(t);
	struct artifact a = {.type = t, .m = *m};
	bool any_module = row->object == OBJECT_UNKNOWN && row->id == ID_DEBUG;

	if (!any_module || m->object != OBJECT_ELF || !m->code_id[0])
		return -ENOENT;
	memset(&a.m.debug_id, 0, sizeof(a.m.debug_id));
	return key_of(out, &a);
}

static void add_key(const struct artifact *a, struct key *keys, unsigned *n)
{
	if (key_of(&keys[*n], a) == 0)
		++*n;
}

unsigned obj_keys(const struct obj_slice *s, struct key keys[static OBJ_KEYS_MOST])
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n_types; i++) {
		struct artifact a = {.type = s->types[i], .m = s->module};
		bool wasm = filetype_row(a.type)->object == OBJECT_WASM;

		add_key(&a, keys, &n);
		if (obj_key_by_build_id(a.type, &a.m, &keys[n]) == 0 && (!n || !key_equal(&keys[n], &keys[n - 1])))
			n++;
		if (a.type == FILETYPE_PE && a.m.code_id[0]) {
			a.m.code_id[0] = '\0';
			add_key(&a, keys, &n);
		}
		/* Some make a UUID of the first half of its id. */
		if (wasm && strlen(a.m.code_id) > 32) {
			a.m.code_id[32] = '\0';
			add_key(&a, keys, &n);
		}
	}
	return n;
}

/* ---- names -------------------------------------------------------------------------- */

int obj_take_uuid(struct obj_slice *s, const char *base)
{
	const char *dot = strrchr(base, '.');
	size_t n = dot ? (size_t)(dot - base) : strlen(base);
	bool map = s->n_types && obj_is_anonymous(s->types[0]) && filetype_row(s->types[0])->id == ID_UUID;
	struct debug_id id;

	/* With more digits it would be an age that stands there. */
	if (!map || (n == 36 ? base[8] != '-' : n != 32) || debug_id_parse(&id, base, n) < 0 ||
		id.pdb20 || id.age)
		return -ENOENT;
	s->module.debug_id = id;
	return 0;
}

static void take_name(char out[static MODULE_NAME_MAX], const char *base, size_t n)
{
	if (!out[0])
		snprintf(out, MODULE_NAME_MAX, "%.*s", (int)MIN(n, MODULE_NAME_MAX - 1), base);
}

/* Whether the name of a file is the program's, the debug file's, or both: in ELF, Mach-O and WASM both have
 * one name; a PDB has another than its program. "x.src.zip" is neither, but better than no name for files that
 * have only a debug id. */
static void whose_name(const struct obj_slice *s, bool *code, bool *debug)
{
	enum filetype t = s->types[0];
	bool any_module = s->n_types && filetype_row(t)->object == OBJECT_UNKNOWN;

	*code = !s->n_types || filetype_is(t, TYPE_CODE_NAME);
	*debug = !s->n_types || filetype_is(t, TYPE_DEBUG_NAME);
	if (any_module && !*code && s->module.code_id[0])
		*debug = false;
}

/* The program's name within that of its debug file: `x.debug`, `x.debug-zstd` are of x. Not of a PE
 * file, whose name is in its key: it would be taken for the program. Portable PDBs that lie beside
 * other PDBs of their program are called x.pdbx, and asked for as x.pdb. */
static size_t name_length(const struct obj_slice *s, const char *base)
{
	const char *end = strrchr(base, '.');
	size_t n = strlen(base);

	if (!end || end == base)
		return n;
	if (s->types[0] == FILETYPE_ELF_DEBUG && strncmp(end, ".debug", 6) == 0 &&
		(!end[6] || end[6] == '-'))
		return (size_t)(end - base);
	if (s->types[0] == FILETYPE_PORTABLEPDB && strcasecmp(end, ".pdbx") == 0)
		return n - 1;
	return n;
}

/* Whether a symbol server or a debugger has this where the name would be: a word for what the file is, or
 * the end of its id. */
static bool is_no_name(const struct obj_slice *s, const char *base)
{
	static const char *const words[] = {"executable", "debuginfo", "breakpad", "sourcebundle", "symbols",
		"elf", "debug", "_.debug", "_.dwarf"};
	size_t n = strcspn(base, "."), all = strlen(s->module.code_id);

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(base, words[i]) == 0)
			return true;
	return n >= 8 && n <= all && strncasecmp(s->module.code_id + all - n, base, n) == 0;
}

void obj_take_name(struct obj_slice *s, const char *base)
{
	bool code, debug;

	obj_take_uuid(s, base);
	whose_name(s, &code, &debug);
	/* A Breakpad file has a name of its own, `x.sym`; that of a module which it leaves out is this
	 * word to the tools that write and read them. */
	if (debug && s->types[0] == FILETYPE_BREAKPAD)
		base = "<unknown>";
	if (is_no_name(s, base))
		return;
	if (code)
		take_name(s->module.code_file, base, name_length(s, base));
	if (debug)
		take_name(s->module.debug_file, base, name_length(s, base));
}

void obj_complete(struct obj_slice *s, const char *base)
{
	struct module *m = &s->module;

	obj_take_name(s, base);
	if (!m->debug_id.set)
		module_debug_id(m, s->big_endian, &m->debug_id);
	if (!m->debug_file[0])
		snprintf(m->debug_file, sizeof(m->debug_file), "%s", m->code_file);
}

/* ---- words -------------------------------------------------------------------------- */

const char *obj_kind_name(enum obj_kind k)
{
	static const char *const names[] = {
		[OBJ_NONE] = "none",	 [OBJ_EXECUTABLE] = "executable", [OBJ_LIBRARY] = "library",
		[OBJ_DEBUG] = "debug",	 [OBJ_OBJECT] = "object",	  [OBJ_SOURCES] = "sources",
		[OBJ_OTHER] = "other",
	};

	return (unsigned)k < ARRAY_SIZE(names) ? names[k] : "none";
}

const char *obj_features_text(unsigned features, char out[static 64])
{
	static const struct {
		unsigned bit;
		const char *word;
	} rows[] = {
		{OBJ_HAS_SYMTAB, "symtab"},
		{OBJ_HAS_DEBUG, "debug"},
		{OBJ_HAS_UNWIND, "unwind"},
		{OBJ_HAS_SOURCES, "sources"},
	};
	size_t n = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (features & rows[i].bit)
			n += (size_t)snprintf(out + n, 64 - n, "%s%s", n ? "," : "", rows[i].word);
	if (!n)
		snprintf(out, 64, "none");
	return out;
}
