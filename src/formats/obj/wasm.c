/* WebAssembly modules: a sequence of sections. The custom section `build_id` has the identity. By
 * convention this section has a length byte, then the id; older tools wrote the id alone. Some clients
 * take the length byte for the first byte of the id, so they request another id than linkers print. The
 * comparison of identities accepts such requests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/private.h"
#include "base/hash.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

#define SECTIONS_MOST (1u << 16)
#define ID_MOST (CODE_ID_MAX / 2)
#define NAME_MOST 32
#define UUID_SIZE 16

enum { SECTION_CUSTOM = 0, SECTION_CODE = 10 };

struct wasm {
	struct view *v;
	struct err *e;
	struct worth worth;
	bool code, names;
	bool id_found;
	size_t id_size;
	uint8_t id[ID_MOST];
};

/* ---- reading ------------------------------------------------------------------------ */

static int wasm_read(struct wasm *w, uint64_t off, void *p, size_t n)
{
	return obj_read(w->v, "a section", off, p, n, w->e);
}

/* Reads a LEB128 number of at most 32 bits, and moves *off past it. */
static int read_number(struct wasm *w, uint64_t *off, uint64_t end, uint32_t *out)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t b;
		int r;

		if (*off >= end)
			return err_set(
				w->e, -EBADMSG, "is broken: a number ends behind its section");
		r = wasm_read(w, *off, &b, 1);
		if (r < 0)
			return r;
		++*off;
		value |= (uint64_t)(b & 0x7f) << shift;
		if (b & 0x80)
			continue;
		if (value > UINT32_MAX)
			break;
		*out = (uint32_t)value;
		return 0;
	}
	return err_set(w->e, -EBADMSG, "is broken: a number of more than 32 bits");
}

/* ---- sections ----------------------------------------------------------------------- */

/* Whether the first byte is the number of bytes after it. Sixteen bytes are always a UUID, even if the
 * first byte could be a length: tools without length bytes wrote UUIDs. */
static bool has_length(const uint8_t *p, size_t n)
{
	return n > 1 && n != UUID_SIZE && p[0] == n - 1;
}

static int take_id(struct wasm *w, uint64_t off, uint64_t n)
{
	uint8_t p[ID_MOST + 1];
	bool length;
	int r;

	if (n > sizeof(p))
		return err_set(w->e, -EBADMSG, "is broken: its build id has %llu bytes",
			(unsigned long long)n);
	r = wasm_read(w, off, p, (size_t)n);
	if (r < 0)
		return r;
	length = has_length(p, (size_t)n);
	w->id_size = (size_t)n - length;
	if (n == 1 && p[0] == 0) /* a length byte, and no id */
		w->id_size = 0;
	if (w->id_size > sizeof(w->id))
		return err_set(w->e, -EBADMSG, "is broken: its build id has %zu bytes", w->id_size);
	memcpy(w->id, p + length, w->id_size);
	w->id_found = true;
	return 0;
}

static int take_custom(struct wasm *w, uint64_t off, uint64_t end)
{
	char name[NAME_MOST] = "";
	uint32_t n;
	int r = read_number(w, &off, end, &n);

	if (r < 0)
		return r;
	if (n > end - off)
		return err_set(w->e, -EBADMSG, "is broken: a name ends behind its section");
	if (n >= sizeof(name)) /* longer than every name that is searched for */
		return 0;
	r = wasm_read(w, off, name, n);
	if (r < 0)
		return r;
	off += n;
	if (strcmp(name, "build_id") == 0 && !w->id_found)
		return take_id(w, off, end - off);
	if (off == end)
		return 0;
	if (name[0] == '.')
		obj_worth_section(&w->worth, name + 1);
	if (strcmp(name, "name") == 0)
		w->names = true;
	return 0;
}

static int take_section(struct wasm *w, uint8_t id, uint64_t off, uint64_t end)
{
	uint32_t count;
	int r;

	if (id == SECTION_CUSTOM)
		return take_custom(w, off, end);
	if (id != SECTION_CODE || off == end)
		return 0;
	r = read_number(w, &off, end, &count);
	if (r == 0 && count)
		w->code = true;
	return r;
}

static int walk(struct wasm *w)
{
	uint64_t off = 8;

	for (unsigned i = 0; i < SECTIONS_MOST; i++) {
		uint32_t n;
		uint8_t id;
		int r;

		if (off == w->v->size)
			return 0;
		r = wasm_read(w, off++, &id, 1);
		if (r == 0)
			r = read_number(w, &off, UINT64_MAX, &n);
		if (r < 0)
			return r;
		if (!view_holds(w->v, off, n))
			return err_set(w->e, -EBADMSG,
				"is cut short: it has %llu bytes, and a section ends at %llu",
				(unsigned long long)w->v->size, (unsigned long long)(off + n));
		r = take_section(w, id, off, off + n);
		if (r < 0)
			return r;
		off += n;
	}
	return err_set(w->e, -EBADMSG, "is broken: it has more than %u sections", SECTIONS_MOST);
}

static int wasm_open(struct wasm *w, struct view *v, struct err *e)
{
	uint8_t h[8];
	int r;

	memset(w, 0, sizeof(*w));
	w->v = v;
	w->e = e;
	r = obj_read(v, "its header", 0, h, sizeof(h), e);
	if (r < 0)
		return r;
	if (memcmp(h + 4, "\1\0\0\0", 4) != 0) /* a component has another value here */
		return err_set(e, -EBADMSG, "is WebAssembly, but not a module of version 1");
	return walk(w);
}

/* ---- identity and kind ------------------------------------------------------------ */

/* The debug id is the first sixteen bytes of the build id, unchanged. A shorter build id has no debug id. */
static void module_of(const struct wasm *w, struct module *m)
{
	memset(m, 0, sizeof(*m));
	m->object = OBJECT_WASM;
	if (!w->id_size)
		return;
	hex_print(w->id, w->id_size, m->code_id);
	if (w->id_size >= UUID_SIZE)
		debug_id_from_build_id(&m->debug_id, w->id, w->id_size, true);
}

static int wasm_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "wasm", .arch = "wasm32", .size = v->size};
	struct wasm w;
	int r = wasm_open(&w, v, e);

	if (r < 0)
		return r;
	module_of(&w, &s.module);
	s.worth = w.worth;
	s.worth.known = true;
	s.worth.symbols = w.names ? WORTH_SYMBOLS : WORTH_NO_SYMBOLS;
	s.code = w.code;
	s.kind = w.code ? OBJ_LIBRARY : OBJ_DEBUG;
	if (s.kind == OBJ_LIBRARY)
		s.types[s.n_types++] = FILETYPE_WASM_CODE;
	if (s.kind == OBJ_DEBUG || w.names || w.worth.debug == WORTH_DEBUG)
		s.types[s.n_types++] = FILETYPE_WASM_DEBUG;
	*out = s;
	return 0;
}

const struct obj_format obj_wasm = {
	.name = "wasm",
	.magic = "\0asm",
	.magic_len = 4,
	.serves = {FILETYPE_WASM_CODE, FILETYPE_WASM_DEBUG},
	.probe = wasm_probe,
};
