/* Finds what the first records of a Breakpad file say: system, processor, debug id, name and code id of the
 * module. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/to-breakpad.h"
#include "base/bytes.h"
#include "base/path.h"
#include "base/util.h"
#include "formats/obj/obj.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { EM_RISCV = 243, DT_NULL = 0, DT_SONAME = 14 };

/* ---- the name of a library of ELF ------------------------------------------------------- */

/* Finds DT_SONAME. NULL: the file has none, as a program, or has no bytes of its sections, as a debug file. */
static const char *soname_of(const struct image *m)
{
	struct image_section dynamic, strings;
	size_t half = m->is64 ? 8 : 4;

	if (image_find(m, ".dynamic", &dynamic) < 0 || image_section(m, dynamic.link, &strings) < 0)
		return NULL;
	for (size_t at = 0; at + 2 * half <= dynamic.bytes.n; at += 2 * half) {
		const uint8_t *p = dynamic.bytes.p + at;
		uint64_t tag = m->is64 ? load64(p, m->swap) : load32(p, m->swap),
			 value = m->is64 ? load64(p + 8, m->swap) : load32(p + 4, m->swap);

		if (tag == DT_NULL)
			break;
		if (tag == DT_SONAME && value < strings.bytes.n &&
			memchr(strings.bytes.p + value, 0, strings.bytes.n - value))
			return (const char *)strings.bytes.p + value;
	}
	return NULL;
}

/* Writes the name of a library, if the file is a library of ELF that contains its name. */
static void take_soname(const struct image *m, char out[static MODULE_NAME_MAX])
{
	const char *soname = m->kind == IMAGE_ELF ? soname_of(m) : NULL;
	char name[MODULE_NAME_MAX];

	if (!soname)
		return;
	obj_base_name(name, soname, strnlen(soname, MODULE_NAME_MAX));
	if (name[0])
		memcpy(out, name, sizeof(name));
}

/* ---- the head --------------------------------------------------------------------------- */

static const char *os_of(enum object_type t)
{
	return t == OBJECT_PE || t == OBJECT_PE_DOTNET ? "windows" : t == OBJECT_MACHO ? "mac" : "Linux";
}

/* Breakpad writes the code id in upper case; of a PE file, the size in it stays in lower case. */
static void set_code_id(struct sym_head *h, const char *code_id)
{
	bool pe = strcmp(h->os, "windows") == 0;

	snprintf(h->code_id, sizeof(h->code_id), "%s", code_id);
	for (size_t i = 0; h->code_id[i] && (!pe || i < 8); i++)
		h->code_id[i] = (char)toupper((unsigned char)h->code_id[i]);
}

void sym_head_set_code(struct sym_head *out, const char *code_id, const char *code_file)
{
	if (!out->code_id[0])
		set_code_id(out, code_id);
	snprintf(out->code_file, sizeof(out->code_file), "%s", code_file);
}

static void set_code_file(struct sym_head *h, const struct obj_slice *s, const char *path)
{
	const char *base = path_base(path);

	if (strcmp(s->format, "pe") == 0)
		obj_base_name(h->code_file, base, strlen(base));
}

/* The name for a file of this path: the name that a program has of its PDB, or the base name without `.debug`. */
static void set_name(struct sym_head *h, struct obj_slice *s, const char *path)
{
	const char *base = path_base(path);
	size_t n = strlen(base);

	if (s->module.debug_file[0]) {
		snprintf(h->name, sizeof(h->name), "%s", s->module.debug_file);
		return;
	}
	if (n > 6 && strcmp(base + n - 6, ".debug") == 0)
		n -= 6;
	obj_base_name(h->name, base, n);
}

int sym_head_of(struct sym_head *out, struct span file, const char *path, struct err *e)
{
	struct view v = view_of_mem(file.p, file.n);
	struct obj_slice s;
	struct err ignored = {0};
	struct image m;
	int r = obj_identify(&v, 0, &s, e);

	if (r < 0)
		return r;
	if (!s.module.debug_id.set && (s.module.object != OBJECT_PE || !s.module.code_id[0]))
		return err_set(e, -ENOMSG, "has no debug id");
	*out = (struct sym_head){.os = os_of(s.module.object), .cpu = s.arch};
	s.module.debug_id.set = true; /* a program for Windows without a CodeView record has zeros */
	debug_id_breakpad(&s.module.debug_id, out->id);
	set_code_id(out, s.module.code_id);
	set_code_file(out, &s, path);
	set_name(out, &s, path);
	if (image_open(&m, file, &ignored) < 0)
		return 0;
	take_soname(&m, out->name);
	if (m.kind == IMAGE_ELF && m.machine == EM_RISCV)
		out->cpu = m.is64 ? "riscv64" : "riscv";
	return 0;
}

bool sym_head_add_code(struct sym_head *out, struct span code, const char *path)
{
	struct view v = view_of_mem(code.p, code.n);
	struct err ignored = {0};
	char id[DEBUG_ID_TEXT];
	struct obj_slice s;
	struct image m;

	if (obj_identify(&v, 0, &s, NULL) < 0 || !s.module.debug_id.set ||
		strcmp(debug_id_breakpad(&s.module.debug_id, id), out->id) != 0)
		return false;
	if (!out->code_id[0])
		set_code_id(out, s.module.code_id);
	set_code_file(out, &s, path);
	if (image_open(&m, code, &ignored) == 0 && m.kind == IMAGE_ELF) {
		set_name(out, &s, path);
		take_soname(&m, out->name);
	}
	return true;
}
