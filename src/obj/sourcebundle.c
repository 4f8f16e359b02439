/* Source bundles: eight bytes, then a zip archive of sources. A manifest in the archive has the ids of the
 * debug file that the sources belong to. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "obj/private.h"
#include "base/hash.h"
#include "base/util.h"
#include "base/zip.h"

#include <stdio.h>
#include <string.h>

/* The largest known manifest, that of a browser, has some twenty megabytes. */
#define MANIFEST_MOST (64u << 20)
#define ENTRIES_MOST (1u << 20)
#define VALUE_MOST 512

struct manifest {
	char debug_id[VALUE_MOST], code_id[VALUE_MOST], object_name[VALUE_MOST], arch[VALUE_MOST];
	bool files;
};

/* ---- the manifest ------------------------------------------------------------------- */

/* A JSON reader that takes some strings of the outermost object, and skips the rest by counting brackets. It
 * checks the strings, but not what it skips. */
struct json {
	const char *p, *end;
	unsigned depth;
	char key[32]; /* of the outermost object; "" between members */
	bool value;   /* the colon was read, so a value follows */
	struct manifest *out;
};

static size_t put_utf8(unsigned c, char out[static 3])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | c >> 12);
	out[1] = (char)(0x80 | (c >> 6 & 0x3f));
	out[2] = (char)(0x80 | (c & 0x3f));
	return 3;
}

static int take_code_point(struct json *j, unsigned *out)
{
	unsigned c = 0;

	if (j->end - j->p < 4)
		return -EBADMSG;
	for (unsigned i = 0; i < 4; i++) {
		char d = *j->p++;

		if (d >= '0' && d <= '9')
			c = c << 4 | (unsigned)(d - '0');
		else if ((d | 32) >= 'a' && (d | 32) <= 'f')
			c = c << 4 | (unsigned)((d | 32) - 'a' + 10);
		else
			return -EBADMSG;
	}
	/* Replaces halves of surrogate pairs: identifiers have none, and few names have any. */
	*out = c >= 0xd800 && c < 0xe000 ? '?' : c;
	return 0;
}

static int take_escape(struct json *j, char out[static 3], size_t *n)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	const char *known;
	unsigned c = 0;
	int r;

	if (j->p == j->end)
		return -EBADMSG;
	if (*j->p == 'u') {
		j->p++;
		r = take_code_point(j, &c);
		*n = put_utf8(c, out);
		return r;
	}
	known = *j->p ? strchr(from, *j->p) : NULL;
	out[0] = known ? to[known - from] : *j->p;
	j->p++;
	*n = 1;
	return 0;
}

/* Reads a string, from behind its opening quote. `out` is "" if the string does not fit or has a NUL. */
static int take_string(struct json *j, char *out, size_t room)
{
	bool fits = true;
	size_t used = 0;

	while (j->p < j->end && *j->p != '"') {
		char piece[3];
		size_t n = 1;

		piece[0] = *j->p++;
		if (piece[0] == '\\' && take_escape(j, piece, &n) < 0)
			return -EBADMSG;
		fits = fits && n < room - used && !memchr(piece, '\0', n);
		if (fits)
			memcpy(out + used, piece, n);
		used += fits ? n : 0;
	}
	if (j->p == j->end)
		return -EBADMSG;
	j->p++;
	out[fits ? used : 0] = '\0';
	return 0;
}

static int on_string(struct json *j)
{
	struct manifest *m = j->out;
	struct {
		const char *key;
		char *value;
	} const rows[] = {{"debug_id", m->debug_id}, {"code_id", m->code_id},
		{"object_name", m->object_name}, {"arch", m->arch}};
	char skipped[VALUE_MOST];

	if (j->depth == 1 && !j->value)
		return take_string(j, j->key, sizeof(j->key));
	if (j->depth == 1)
		for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
			if (strcmp(j->key, rows[i].key) == 0)
				return take_string(j, rows[i].value, VALUE_MOST);
	if (j->depth == 2 && strcmp(j->key, "files") == 0)
		m->files = true;
	return take_string(j, skipped, sizeof(skipped));
}

static int on_mark(struct json *j, char c)
{
	if (c == '{' || c == '[')
		j->depth++;
	if (c == '}' || c == ']')
		j->depth--;
	if (j->depth == 1 && c == ':')
		j->value = true;
	if (j->depth == 1 && c == ',') {
		j->value = false;
		j->key[0] = '\0';
	}
	return 0;
}

static int read_manifest(const char *p, size_t n, struct manifest *out, struct err *e)
{
	struct json j = {.p = p, .end = p + n, .out = out};
	bool begun = false;
	int r = 0;

	memset(out, 0, sizeof(*out));
	while (r == 0 && j.p < j.end && (!begun || j.depth)) {
		char c = *j.p++;

		if (!begun && strchr(" \t\r\n", c) && c)
			continue;
		if (!begun && c != '{')
			break;
		begun = true;
		r = c == '"' ? on_string(&j) : on_mark(&j, c);
	}
	if (r < 0 || !begun || j.depth)
		return err_set(e, -EBADMSG, "is broken: its manifest is not a JSON object");
	return 0;
}

static int load_manifest(struct view *v, struct manifest *out, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	struct zip_entry entry;
	struct zip z;
	size_t n;
	int r = zip_open(&z, v, e);

	if (r == -ENOMSG)
		return err_set(e, -EBADMSG, "is cut short: the archive in it has no end");
	for (unsigned i = 0; r == 0 && i < ENTRIES_MOST; i++) {
		r = zip_next(&z, &entry, e);
		if (r == 0 && strcmp(entry.name, "manifest.json") == 0)
			break;
		if (r == 0 && i == ENTRIES_MOST - 1)
			r = -ENOENT;
	}
	if (r == -ENOENT)
		return err_set(e, -EBADMSG, "is broken: it has no manifest");
	if (r < 0)
		return r;
	r = zip_extract(&z, &entry, MANIFEST_MOST, &text, &n, e);
	if (r == -EFBIG || r == -ENOTSUP) {
		if (e)
			e->code = -EBADMSG;
		return -EBADMSG;
	}
	return r < 0 ? r : read_manifest(text, n, out, e);
}

/* ---- identity and module ---------------------------------------------------------- */

static bool is_build_id(const struct module *m)
{
	uint8_t id[CODE_ID_MAX / 2];
	size_t n = strlen(m->code_id);
	struct debug_id own;

	if (n % 2 || hex_read(m->code_id, n, id) < 0)
		return false;
	for (unsigned big = 0; big < 2; big++) {
		debug_id_from_build_id(&own, id, n / 2, big);
		if (debug_id_equal(&own, &m->debug_id))
			return true;
	}
	return false;
}

/* A bundle does not say what kind of program it belongs to, but its ids do. If both ids are the same UUID,
 * the program is Mach-O or WebAssembly. If the debug id follows from the code id, it is ELF. If the ids are
 * unrelated, it is PE. */
static enum object_type object_of(const struct module *m, const char *arch)
{
	size_t n = strlen(m->code_id);
	uint8_t id[16];

	if (!n || !m->debug_id.set)
		return OBJECT_UNKNOWN;
	if (strcmp(arch, "wasm32") == 0)
		return OBJECT_WASM;
	if (n == 32 && hex_read(m->code_id, n, id) == 0 && memcmp(id, m->debug_id.guid, 16) == 0)
		return OBJECT_MACHO;
	if (is_build_id(m))
		return OBJECT_ELF;
	return n > 8 && n <= 16 ? OBJECT_PE : OBJECT_UNKNOWN;
}

static void module_of(const struct manifest *from, struct module *m, const char *arch)
{
	memset(m, 0, sizeof(*m));
	if (debug_id_parse(&m->debug_id, from->debug_id, strlen(from->debug_id)) < 0 ||
		debug_id_is_nil(&m->debug_id))
		m->debug_id = (struct debug_id){0};
	if (module_set_code_id(m, from->code_id, strlen(from->code_id)) < 0)
		m->code_id[0] = '\0';
	obj_base_name(m->debug_file, from->object_name, strlen(from->object_name));
	m->object = object_of(m, arch);
}

static int sourcebundle_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "sourcebundle", .kind = OBJ_SOURCES, .size = v->size,
		.types = {FILETYPE_SOURCEBUNDLE}, .n_types = 1};
	struct manifest m;
	int r;

	if (index)
		return -ENOENT;
	r = load_manifest(v, &m, e);
	if (r < 0)
		return r;
	s.arch = obj_arch(m.arch, strlen(m.arch));
	s.worth = (struct worth){.known = true, .sources = m.files > 0};
	module_of(&m, &s.module, s.arch);
	*out = s;
	return 0;
}

const struct obj_format obj_sourcebundle = {
	.name = "sourcebundle",
	.magic = "SYSB",
	.magic_len = 4,
	.serves = {FILETYPE_SOURCEBUNDLE},
	.probe = sourcebundle_probe,
};
