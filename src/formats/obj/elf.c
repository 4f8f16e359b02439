/* ELF: executables, libraries, and the debug files that were split from them. The identity is the build id,
 * a note. Without a build id, the debug id is made from the first bytes of the code. Reads either word size
 * and either byte order. If bytes are missing, the probe returns -EAGAIN, and runs again when they have
 * arrived. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/elf.h"
#include "base/hash.h"
#include "base/little.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- heads ----------------------------------------------------------------------------------- */

static int elf_walk(struct view *v, struct obj_walk *out)
{
	struct elf elf;
	int r = elf_facts(&elf, v, NULL);

	if (r < 0)
		return r == -EAGAIN ? r : -ENOENT;
	*out = elf.walk;
	if (!elf.index.size && !elf.names_table.size && !elf.aranges.size)
		out->units.n = 0;
	return 0;
}

/* .gdb_index, versions 4 to 9, always little-endian. Its header has the offsets of its lists. The list of
 * units has the offset of each unit in .debug_info, and its length. Only DWARF's 32-bit form is read. */
#define INDEX_HEAD 12
#define INDEX_UNIT 16

struct head_list {
	uint64_t *heads;
	unsigned n, most;
};

static void add_head(const struct elf *elf, struct head_list *l, uint64_t off)
{
	if (off < elf->walk.units.n && l->n < l->most)
		l->heads[l->n++] = elf->walk.units.off + off;
}

/* Reads n numbers of `width` bytes, `step` bytes apart. */
static int read_heads(struct elf *elf, bool big, uint64_t at, unsigned n, unsigned step, unsigned width,
	struct head_list *l)
{
	_cleanup_free_ uint8_t *p = malloc((size_t)n * step + 1);
	int r = p ? elf_read(elf, "its index", at, p, (size_t)n * step) : -ENOMEM;

	for (unsigned i = 0; r == 0 && i < n; i++) {
		const uint8_t *q = p + (size_t)i * step;

		add_head(elf, l, big ? elf_number(elf, q, width) : width == 8 ? le64(q) : le32(q));
	}
	return r;
}

static int heads_by_index(struct elf *elf, struct head_list *l)
{
	uint8_t h[INDEX_HEAD];
	uint32_t from, to;
	int r = elf_read(elf, "its index", elf->index.off, h, sizeof(h));

	if (r < 0)
		return r;
	from = le32(h + 4);
	to = le32(h + 8);
	if (le32(h) < 4 || le32(h) > 9 || from < INDEX_HEAD || to < from || to > elf->index.size)
		return -ENOENT;
	return read_heads(elf, false, elf->index.off + from, MIN((to - from) / INDEX_UNIT, l->most), INDEX_UNIT, 8,
		l);
}

/* .debug_names: only its first table is read; gdb and linkers write only one. */
#define NAMES_HEAD 36

static int heads_by_names(struct elf *elf, struct head_list *l)
{
	uint8_t h[NAMES_HEAD];
	uint64_t length, units, text, from;
	int r = elf_read(elf, "its index", elf->names_table.off, h, sizeof(h));

	if (r < 0)
		return r;
	length = elf_number(elf, h, 4);
	units = elf_number(elf, h + 8, 4);
	text = elf_number(elf, h + 32, 4);
	from = NAMES_HEAD + text + (-text & 3);
	if (length > elf->names_table.size || elf_number(elf, h + 4, 2) != 5 || units > length / 4 ||
		from + units * 4 > length + 4)
		return -ENOENT;
	return read_heads(elf, elf->big, elf->names_table.off + from, (unsigned)MIN(units, (uint64_t)l->most), 4, 4,
		l);
}

/* .debug_aranges: for each unit with code, the length of the unit's address table and the offset of the
 * unit. */
#define ARANGES_HEAD 10
#define ARANGES_MOST (1u << 20)

static int heads_by_aranges(struct elf *elf, struct head_list *l)
{
	size_t n = (size_t)MIN(elf->aranges.size, (uint64_t)ARANGES_MOST), at = 0;
	_cleanup_free_ uint8_t *p = malloc(n + 1);
	int r = p ? elf_read(elf, "its addresses", elf->aranges.off, p, n) : -ENOMEM;

	while (r == 0 && n - at >= ARANGES_HEAD) {
		uint64_t length = elf_number(elf, p + at, 4);

		if (elf_number(elf, p + at + 4, 2) != 2 || length < ARANGES_HEAD - 4)
			return -ENOENT;
		add_head(elf, l, elf_number(elf, p + at + 6, 4));
		if (length > n - at - 4)
			break;
		at += (size_t)length + 4;
	}
	return r;
}

static int elf_heads(struct view *v, uint64_t *heads, unsigned most)
{
	struct head_list l = {heads, 0, most};
	struct elf elf;
	int r = elf_facts(&elf, v, NULL);

	if (r < 0 || !elf.walk.units.n)
		return r == -EAGAIN ? r : -ENOENT;
	r = elf.index.size >= INDEX_HEAD ? heads_by_index(&elf, &l) : -ENOENT;
	if (r < 0 && r != -EAGAIN && elf.names_table.size >= NAMES_HEAD)
		r = heads_by_names(&elf, &l);
	if (r < 0 && r != -EAGAIN && elf.aranges.size >= ARANGES_HEAD)
		r = heads_by_aranges(&elf, &l);
	return r == 0 ? (int)l.n : r == -EAGAIN ? r : -ENOENT;
}

/* ---- the format ------------------------------------------------------------------------------ */

#define DYNAMIC_MOST 4096u
#define TEXT_HASHED 4096

/* The debug id that Breakpad makes of code without a build id. symfs does not use it as a key: programs
 * that begin alike share it, and the file split from the program does not have it. */
static int hash_text(struct elf *elf, struct debug_id *out)
{
	uint8_t text[TEXT_HASHED], hash[16] = {0};
	size_t n = (size_t)MIN(elf->text.size, sizeof(text));
	int r;

	if (!n)
		return 0;
	r = elf_read(elf, "its code", elf->text.off, text, n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		hash[i % 16] ^= text[i];
	debug_id_from_build_id(out, hash, sizeof(hash), elf->big);
	return 0;
}

static void module_of(const struct elf *elf, struct module *m)
{
	memset(m, 0, sizeof(*m));
	m->object = OBJECT_ELF;
	if (!elf->id_found || !elf->id_size)
		return;
	hex_print(elf->id, elf->id_size, m->code_id);
	debug_id_from_build_id(&m->debug_id, elf->id, elf->id_size, elf->big);
}

/* Whether a position-independent file is a program: linkers since 2015 set a flag for that. An interpreter
 * proves nothing: libc.so.6 has one. */
static int is_pie(struct elf *elf, bool *out)
{
	uint64_t entry = elf->is64 ? 16 : 8, half = entry / 2;
	uint64_t n = MIN(elf->dynamic.size / entry, DYNAMIC_MOST);

	*out = false;
	for (uint64_t i = 0; i < n && elf->dynamic.off <= UINT64_MAX - (i + 1) * entry; i++) {
		uint8_t p[16];
		int r = view_read(elf->v, elf->dynamic.off + i * entry, p, (size_t)entry);

		if (r < 0)
			return r == -ENODATA ? 0 : r;
		if (!elf_number(elf, p, (unsigned)half))
			return 0;
		if (elf_number(elf, p, (unsigned)half) == DT_FLAGS_1) {
			*out = elf_number(elf, p + half, (unsigned)half) & DF_1_PIE;
			return 0;
		}
	}
	return 0;
}

/* Other tools take a program without an interpreter for a debug file, and so store every static program
 * under the wrong name. Here, a debug file has the headers of code without its bytes, or symbols and nothing
 * else. */
static int kind_of(struct elf *elf, enum obj_kind *out)
{
	bool pie;
	int r;

	if (!elf_has_image(elf) && elf->type != ET_CORE &&
		(elf->code_hollow || (elf->type != ET_REL && (elf->symtab || elf->debug)))) {
		*out = OBJ_DEBUG;
		return 0;
	}
	switch (elf->type) {
	case ET_REL:
		*out = OBJ_OBJECT;
		return 0;
	case ET_EXEC:
	case ET_SCE_EXEC:
	case ET_SCE_DYNEXEC:
		*out = elf_has_image(elf) ? OBJ_EXECUTABLE : OBJ_OTHER;
		return 0;
	case ET_DYN:
	case ET_SCE_DYNAMIC:
		r = is_pie(elf, &pie);
		if (r < 0)
			return r;
		*out = !elf_has_image(elf) ? OBJ_OTHER : pie ? OBJ_EXECUTABLE : OBJ_LIBRARY;
		return 0;
	default:
		*out = OBJ_OTHER;
		return 0;
	}
}

/* The names are those of Sentry's tools, which call every other architecture "unknown". */
static const char *arch_of(const struct elf *elf)
{
	switch (elf->machine) {
	case 3: return "x86";
	case 8:
	case 10: return elf->is64 ? "mips64" : "mips";
	case 20: return "ppc";
	case 21: return "ppc64";
	case 40: return "arm";
	case 62: return "x86_64";
	case 183: return "arm64";
	default: return "unknown";
	}
}

/* An unstripped program is its own debug file too. The dynamic symbols do not count for that:
 * `strip` leaves them. */
static void set_types(const struct elf *elf, struct obj_slice *s)
{
	if (s->kind == OBJ_OTHER)
		return;
	if (s->code)
		s->types[s->n_types++] = FILETYPE_ELF_CODE;
	if (s->kind == OBJ_DEBUG || elf->symtab || elf->debug)
		s->types[s->n_types++] = FILETYPE_ELF_DEBUG;
}

/* Debug information that was split off a program has no build id, but its units have ids. */
static int find_split(struct elf *elf, struct obj_slice *s)
{
	uint64_t id = 0;
	int r;

	if (elf->id_found || (elf_has_image(elf) && elf->type != ET_REL))
		return 0;
	elf->split.big = elf->big;
	r = dwo_id_of(elf->v, &elf->split, &id);
	if (r < 0 || !id)
		return r;
	snprintf(s->module.code_id, sizeof(s->module.code_id), "%016llx", (unsigned long long)id);
	s->module.debug_id = (struct debug_id){0};
	s->package = elf->split.index.size;
	s->types[0] = FILETYPE_ELF_DWO;
	s->n_types = 1;
	return 0;
}

static int elf_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "elf", .size = v->size};
	struct elf elf;
	int r = elf_facts(&elf, v, e);

	if (r < 0)
		return r;
	module_of(&elf, &s.module);
	if (!elf.id_found && elf.type != ET_CORE)
		r = hash_text(&elf, &s.module.debug_id);
	if (r == 0)
		r = kind_of(&elf, &s.kind);
	if (r < 0)
		return r;
	s.arch = arch_of(&elf);
	s.big_endian = elf.big;
	s.worth = elf.worth;
	s.code = s.kind != OBJ_OTHER && elf_has_image(&elf);
	set_types(&elf, &s);
	r = find_split(&elf, &s);
	if (r == 0)
		*out = s;
	return r;
}

/* A build id in a segment is near the front, and no byte behind it can overrule it. */
static int elf_early(struct view *v, struct module *out)
{
	struct elf elf;
	int r = elf_open(&elf, v, NULL);

	if (r == 0)
		r = elf_segments(&elf);
	if (r < 0)
		return r;
	if (!elf.id_found || !elf.id_size)
		return -ENOENT;
	module_of(&elf, out);
	return 0;
}

/* A debug file keeps the headers of removed segments, with a size of 0. If it keeps their sizes, it looks
 * like a program. Only the sections of a program say whether it has debug information. */
static bool elf_promises(struct view *v, enum filetype t)
{
	bool code = false, hollow = false;
	struct elf elf;

	if (elf_open(&elf, v, NULL) < 0 || v->size == VIEW_UNKNOWN || (elf.type != ET_EXEC && elf.type != ET_DYN))
		return false;
	for (uint32_t i = 0; i < elf.segments.count; i++) {
		struct elf_segment s;

		if (elf_segment_at(&elf, i, &s) < 0)
			return false;
		if (s.type != PT_LOAD || !(s.flags & PF_X))
			continue;
		*(s.file_size ? &code : &hollow) = true;
		if (s.file_size && !view_holds(v, s.off, s.file_size))
			return false; /* it is cut short */
	}
	return t == FILETYPE_ELF_CODE ? code : hollow && !code;
}

/* Debuggers read nearly all of the debug information if it has no index. */
static int elf_sparse(struct view *v, enum filetype t)
{
	struct elf elf;
	int r = elf_facts(&elf, v, NULL);

	if (r < 0)
		return r == -EAGAIN ? r : 0;
	return elf.indexed || (elf_has_image(&elf) && (t == FILETYPE_ELF_CODE || !elf.debug));
}

const struct obj_format obj_elf = {
	.name = "elf",
	.magic = "\177ELF",
	.magic_len = 4,
	.serves = {FILETYPE_ELF_CODE, FILETYPE_ELF_DEBUG, FILETYPE_ELF_DWO},
	.probe = elf_probe,
	.early = elf_early,
	.promises = elf_promises,
	.sparse = elf_sparse,
	.walk = elf_walk,
	.heads = elf_heads,
};
