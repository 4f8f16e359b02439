/* Makes the keys that a slice of a file is found by, takes names from its file name, and describes it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "formats/obj/private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- keys --------------------------------------------------------------------------- */

/* The key has the debug id that follows from the build id on little-endian machines. The debug id in the file
 * can differ: on big-endian machines, or if the tool that wrote the file made up its own. */
int obj_key_by_build_id(enum filetype t, const struct module *m, struct key *out)
{
	const struct filetype_row *row = &filetypes[t];
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
		bool wasm = filetypes[a.type].object == OBJECT_WASM;

		add_key(&a, keys, &n);
		if (obj_key_by_build_id(a.type, &a.m, &keys[n]) == 0 && (!n || !key_equal(&keys[n], &keys[n - 1])))
			n++;
		if (a.type == FILETYPE_PE && a.m.code_id[0]) {
			a.m.code_id[0] = '\0';
			add_key(&a, keys, &n);
		}
		/* Some clients use only the first 16 bytes of the id, as a UUID. */
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
	bool map = s->n_types && obj_is_anonymous(s->types[0]) && filetypes[s->types[0]].id == ID_UUID;
	struct debug_id id;

	/* A name with more digits would have an age. */
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

/* Whether the name of a file is the program's, the debug file's, or both. In ELF, Mach-O and WASM both have
 * the same name; a PDB and its program have different names. "x.src.zip" is the name of neither, but better
 * than no name for files that have only a debug id. */
static void name_belongs_to(const struct obj_slice *s, bool *code, bool *debug)
{
	enum filetype t = s->types[0];
	bool any_module = s->n_types && filetypes[t].object == OBJECT_UNKNOWN;

	*code = !s->n_types || filetypes[t].flags & TYPE_CODE_NAME;
	*debug = !s->n_types || filetypes[t].flags & TYPE_DEBUG_NAME;
	if (any_module && !*code && s->module.code_id[0])
		*debug = false;
}

/* The length of the program's name in the name of its debug file: `x.debug` and `x.debug-zstd` belong to x.
 * The name of a PE file keeps such an ending: the name is a part of the key, so without its ending a debug
 * file would have the key of its program. A Portable PDB beside another PDB of the same program is called
 * x.pdbx, and requested as x.pdb. */
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

/* Whether symbol servers or debuggers use this text in place of a name. Such a text is a word for the kind
 * of file, or the end of its id. */
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
	name_belongs_to(s, &code, &debug);
	/* The name of a Breakpad file, `x.sym`, is not the name of its module. If the file does not name the
	 * module, the tools that write and read such files use this word. */
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
