/* Mach-O: executables, libraries, dSYMs, and fat files that hold one for each architecture. The identity is
 * LC_UUID. Reads either word size, either byte order, and fat headers of both widths; other tools know only
 * narrow fat headers. A slice is read through a view of its own, so that no offset in the slice can lead out
 * of it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "formats/obj/private.h"
#include "base/hash.h"
#include "base/span.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

/* The largest real files, kernel collections, have some hundred kilobytes of load commands. */
#define COMMANDS_MOST (4u << 20)

/* A Java class begins with the same four bytes, and then has its version, which has always been 45 or
 * more. No fat file has so many architectures. */
#define FAT_MOST 44

#define MAGIC_FAT 0xcafebabe
#define MAGIC_FAT64 0xcafebabf
#define MAGIC_32 0xfeedface
#define MAGIC_64 0xfeedfacf

enum {
	MH_OBJECT = 1, MH_EXECUTE = 2, MH_FVMLIB = 3, MH_PRELOAD = 5, MH_DYLIB = 6, MH_DYLINKER = 7,
	MH_BUNDLE = 8, MH_DSYM = 10, MH_KEXT_BUNDLE = 11, MH_FILESET = 12,
	LC_SEGMENT = 1, LC_SYMTAB = 2, LC_DYSYMTAB = 11, LC_SEGMENT_64 = 25, LC_UUID = 27,
	ABI64 = 0x01000000, ABI64_32 = 0x02000000,
	CPU_X86 = 7, CPU_ARM = 12, CPU_PPC = 18,
	SECTION_TYPE = 0xff, S_ZEROFILL = 1, S_GB_ZEROFILL = 12, S_THREAD_LOCAL_ZEROFILL = 18
};

struct macho {
	struct view *v;
	struct err *e;
	bool is64, big;
	uint32_t cpu, subtype, type, count;
	uint64_t end;	  /* the end of the last byte that the commands refer to */
	bool code;	  /* the file has instructions, with their bytes */
	bool symbols;	  /* the symbol table has entries */
	bool knows_local; /* the commands say how many symbols are local */
	bool local;	  /* some symbols are local: `strip` removes local symbols */
	bool exports;	  /* some symbols are defined for other modules */
	struct worth worth;
	bool uuid_found;
	uint8_t uuid[16];
};

/* ---- reading ------------------------------------------------------------------------ */

static uint32_t word(const struct macho *m, const uint8_t *p)
{
	return (uint32_t)load_number(p, 4, m->big);
}

/* Notes bytes that must be present for the file to be whole. */
static void reach(struct macho *m, uint64_t off, uint64_t size)
{
	if (size)
		m->end = MAX(m->end, off > UINT64_MAX - size ? UINT64_MAX : off + size);
}

/* ---- load commands ------------------------------------------------------------------ */

static bool is_name(const uint8_t p[static 16], const char *name)
{
	return strncmp((const char *)p, name, 16) == 0;
}

static void take_section(struct macho *m, const uint8_t *p)
{
	char name[17] = "";
	uint64_t size = m->is64 ? load_number(p + 40, 8, m->big) : word(m, p + 36);
	uint32_t off = word(m, p + (m->is64 ? 48 : 40));
	uint32_t type = word(m, p + (m->is64 ? 64 : 56)) & SECTION_TYPE;

	/* A dSYM keeps the headers of its program's sections, at offset 0 or as zeros. */
	if (!size || !off || type == S_ZEROFILL || type == S_GB_ZEROFILL ||
		type == S_THREAD_LOCAL_ZEROFILL)
		return;
	if (m->type == MH_DSYM && !is_name(p + 16, "__DWARF"))
		return;
	reach(m, off, size);
	memcpy(name, p, 16);
	if (name[0] == '_' && name[1] == '_')
		obj_worth_section(&m->worth, name + 2);
	if (is_name(p, "__text") || is_name(p + 16, "__TEXT_EXEC"))
		m->code = true;
}

static int take_segment(struct macho *m, struct span c)
{
	size_t head = m->is64 ? 72 : 56, each = m->is64 ? 80 : 68;
	uint64_t off, size;
	uint32_t count;

	if (c.n < head)
		return err_set(m->e, -EBADMSG, "is broken: a segment of %zu bytes", c.n);
	off = m->is64 ? load_number(c.p + 40, 8, m->big) : word(m, c.p + 32);
	size = m->is64 ? load_number(c.p + 48, 8, m->big) : word(m, c.p + 36);
	count = word(m, c.p + head - 8);
	if (count > (c.n - head) / each)
		return err_set(m->e, -EBADMSG, "is broken: %u sections in a segment of %zu bytes",
			count, c.n);
	/* Old dSYMs keep the sizes that the program's segments had, without their bytes. */
	if (m->type != MH_DSYM || is_name(c.p + 8, "__DWARF") || is_name(c.p + 8, "__LINKEDIT"))
		reach(m, off, size);
	for (uint32_t i = 0; i < count; i++)
		take_section(m, c.p + head + i * each);
	return 0;
}

static int take_command(struct macho *m, uint32_t cmd, struct span c)
{
	switch (cmd) {
	case LC_SEGMENT:
	case LC_SEGMENT_64:
		if ((cmd == LC_SEGMENT_64) != m->is64)
			return err_set(
				m->e, -EBADMSG, "is broken: a segment of the other word size");
		return take_segment(m, c);
	case LC_SYMTAB:
		if (c.n < 24)
			return err_set(
				m->e, -EBADMSG, "is broken: a symbol table of %zu bytes", c.n);
		m->symbols = word(m, c.p + 12) != 0;
		reach(m, word(m, c.p + 8), (uint64_t)word(m, c.p + 12) * (m->is64 ? 16 : 12));
		reach(m, word(m, c.p + 16), word(m, c.p + 20));
		return 0;
	case LC_DYSYMTAB:
		if (c.n < 80)
			return err_set(
				m->e, -EBADMSG, "is broken: a symbol table of %zu bytes", c.n);
		m->knows_local = true;
		m->local = word(m, c.p + 12) != 0;
		m->exports = word(m, c.p + 20) != 0;
		return 0;
	case LC_UUID:
		if (c.n < 24)
			return err_set(m->e, -EBADMSG, "is broken: a UUID of %zu bytes", c.n - 8);
		if (!m->uuid_found) /* the first UUID counts, as for the loader */
			memcpy(m->uuid, c.p + 8, sizeof(m->uuid));
		m->uuid_found = true;
		return 0;
	default:
		return 0;
	}
}

static int walk_commands(struct macho *m, struct span all)
{
	for (uint32_t i = 0; i < m->count; i++) {
		uint32_t size = all.n >= 8 ? word(m, all.p + 4) : 0;
		int r;

		if (size < 8 || size > all.n)
			return err_set(m->e, -EBADMSG,
				"is broken: load command %u has %u bytes, and %zu are left", i,
				size, all.n);
		r = take_command(m, word(m, all.p), (struct span){all.p, size});
		if (r < 0)
			return r;
		all.p += size;
		all.n -= size;
	}
	return 0;
}

static bool thin_magic(const uint8_t p[static 4], bool *is64, bool *big)
{
	for (unsigned i = 0; i < 2; i++) {
		uint32_t magic = (uint32_t)load_number(p, 4, i);

		*big = i;
		*is64 = magic == MAGIC_64;
		if (magic == MAGIC_32 || magic == MAGIC_64)
			return true;
	}
	return false;
}

/* Reads everything that the load commands say. -ENOMSG: not a Mach-O file of one architecture. */
static int macho_open(struct macho *m, struct view *v, struct err *e)
{
	_cleanup_free_ uint8_t *commands = NULL;
	uint8_t h[32];
	size_t head;
	uint32_t n;
	int r;

	memset(m, 0, sizeof(*m));
	m->v = v;
	m->e = e;
	r = obj_read(v, "its header", 0, h, 4, e);
	if (r == 0 && !thin_magic(h, &m->is64, &m->big))
		return -ENOMSG;
	if (r == 0)
		r = obj_read(v, "its header", 0, h, 28, e);
	if (r < 0)
		return r;
	m->cpu = word(m, h + 4);
	m->subtype = word(m, h + 8) & 0xffffff; /* the rest are flags */
	m->type = word(m, h + 12);
	m->count = word(m, h + 16);
	n = word(m, h + 20);
	head = m->is64 ? 32 : 28;
	if (n > COMMANDS_MOST)
		return err_set(e, -EBADMSG, "is broken: %u bytes of load commands", n);
	if (!view_holds(v, head, n))
		return obj_cut_off(e, "its load commands");
	if (v->have < head + n)
		return view_want(v, 0, head + n);
	commands = malloc(n ? n : 1);
	if (!commands)
		return err_set(e, -ENOMEM, "cannot be read: %s", err_text(ENOMEM));
	r = obj_read(v, "its load commands", head, commands, n, e);
	return r < 0 ? r : walk_commands(m, (struct span){commands, n});
}

/* ---- identity, kind, worth -------------------------------------------------------- */

/* The words are those of Sentry's tools. A subtype without such a word is not guessed. */
static const char *arch_of(uint32_t cpu, uint32_t subtype)
{
	static const struct {
		uint32_t cpu, subtype;
		const char *arch;
	} rows[] = {
		{CPU_X86, UINT32_MAX, "x86"},
		{CPU_X86 | ABI64, 8, "x86_64h"},
		{CPU_X86 | ABI64, UINT32_MAX, "x86_64"},
		{CPU_ARM, 6, "armv6"}, {CPU_ARM, 7, "armv5"}, {CPU_ARM, 9, "armv7"},
		{CPU_ARM, 10, "armv7f"}, {CPU_ARM, 11, "armv7s"}, {CPU_ARM, 12, "armv7k"},
		{CPU_ARM, 14, "armv6m"}, {CPU_ARM, 15, "armv7m"}, {CPU_ARM, 16, "armv7em"},
		{CPU_ARM, UINT32_MAX, "arm"},
		{CPU_ARM | ABI64, 1, "arm64v8"}, {CPU_ARM | ABI64, 2, "arm64e"},
		{CPU_ARM | ABI64, UINT32_MAX, "arm64"},
		{CPU_ARM | ABI64_32, 1, "arm64_32v8"}, {CPU_ARM | ABI64_32, UINT32_MAX, "arm64_32"},
		{CPU_PPC, UINT32_MAX, "ppc"}, {CPU_PPC | ABI64, UINT32_MAX, "ppc64"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].cpu == cpu &&
			(rows[i].subtype == subtype || rows[i].subtype == UINT32_MAX))
			return rows[i].arch;
	return "unknown";
}

static enum obj_kind kind_of(uint32_t type)
{
	switch (type) {
	case MH_OBJECT: return OBJ_OBJECT;
	case MH_EXECUTE:
	case MH_PRELOAD:
	case MH_FILESET: return OBJ_EXECUTABLE;
	case MH_FVMLIB:
	case MH_DYLIB:
	case MH_DYLINKER:
	case MH_BUNDLE:
	case MH_KEXT_BUNDLE: return OBJ_LIBRARY;
	case MH_DSYM: return OBJ_DEBUG;
	default: return OBJ_OTHER; /* stubs of libraries, core files */
	}
}

/* A program with its own symbols is also its own debug file, as for ELF. External symbols do not count:
 * `strip` leaves them. */
static void set_types(const struct macho *m, struct obj_slice *s)
{
	bool symbols = m->knows_local ? m->local && m->symbols : m->symbols;

	if (s->kind == OBJ_EXECUTABLE || s->kind == OBJ_LIBRARY)
		s->types[s->n_types++] = FILETYPE_MACH_CODE;
	if (s->kind == OBJ_DEBUG ||
		(s->kind != OBJ_OTHER && (s->worth.debug == WORTH_DEBUG || symbols)))
		s->types[s->n_types++] = FILETYPE_MACH_DEBUG;
}

/* A UUID of zeros is space that the linker reserved and no tool filled in. */
static bool has_uuid(const struct macho *m)
{
	static const uint8_t zeros[16];

	return m->uuid_found && memcmp(m->uuid, zeros, sizeof(zeros)) != 0;
}

static void module_of(const struct macho *m, struct module *out)
{
	memset(out, 0, sizeof(*out));
	out->object = OBJECT_MACHO;
	if (!has_uuid(m))
		return;
	hex_print(m->uuid, sizeof(m->uuid), out->code_id);
	debug_id_from_build_id(&out->debug_id, m->uuid, sizeof(m->uuid), true); /* in unchanged order */
}

/* Old files do not say which symbols are local: their symbol table counts as complete. */
static enum worth_symbols symbols_of(const struct macho *m)
{
	if (!m->symbols)
		return WORTH_NO_SYMBOLS;
	return m->knows_local && !m->local ? m->exports ? WORTH_EXPORTS : WORTH_NO_SYMBOLS : WORTH_SYMBOLS;
}

static int thin_probe(struct view *v, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "macho", .size = v->size};
	struct macho m;
	int r = macho_open(&m, v, e);

	if (r == 0)
		r = obj_check_whole(v, m.end, e); /* the headers say how far the file reaches */
	if (r < 0)
		return r;
	module_of(&m, &s.module);
	s.arch = arch_of(m.cpu, m.subtype);
	s.kind = kind_of(m.type);
	s.big_endian = m.big;
	s.worth = m.worth;
	s.worth.known = true;
	s.worth.symbols = symbols_of(&m);
	s.code = m.code && s.kind != OBJ_DEBUG && s.kind != OBJ_OTHER;
	set_types(&m, &s);
	*out = s;
	return 0;
}

/* ---- fat files ---------------------------------------------------------------------- */

struct fat {
	uint32_t count;
	bool wide;
};

struct fat_slice {
	uint32_t cpu, subtype;
	uint64_t off, size;
};

/* Reads the header of a fat file. 0; -ENOMSG: the file is not fat; -EBADMSG, -EAGAIN, errors of the disk. */
static int fat_open(struct view *v, struct fat *fat, struct err *e)
{
	uint8_t h[8];
	uint32_t magic;
	int r = view_read(v, 0, h, 4);

	if (r < 0)
		return r == -ENODATA ? -ENOMSG : r;
	magic = (uint32_t)load_number(h, 4, true);
	if (magic != MAGIC_FAT && magic != MAGIC_FAT64)
		return -ENOMSG;
	r = obj_read(v, "its header", 0, h, 8, e);
	if (r < 0)
		return r;
	fat->count = (uint32_t)load_number(h + 4, 4, true);
	fat->wide = magic == MAGIC_FAT64;
	if (fat->count > FAT_MOST && !fat->wide)
		return -ENOMSG;
	if (!fat->count || fat->count > FAT_MOST)
		return err_set(e, -EBADMSG, "is broken: a fat file of %u slices", fat->count);
	return 0;
}

static int fat_at(struct view *v, const struct fat *fat, uint32_t i, struct fat_slice *out,
	struct err *e)
{
	unsigned each = fat->wide ? 32 : 20;
	uint8_t p[32];
	int r = obj_read(v, "the table of its slices", 8 + i * each, p, each, e);

	if (r < 0)
		return r;
	out->cpu = (uint32_t)load_number(p, 4, true);
	out->subtype = (uint32_t)load_number(p + 4, 4, true) & 0xffffff;
	out->off = load_number(p + 8, fat->wide ? 8 : 4, true);
	out->size = load_number(p + (fat->wide ? 16 : 12), fat->wide ? 8 : 4, true);
	return 0;
}

/* A fat file is whole if all of its slices are, whichever slice was requested. */
static int fat_whole(struct view *v, const struct fat *fat, struct err *e)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < fat->count; i++) {
		struct fat_slice at;
		int r = fat_at(v, fat, i, &at, e);

		if (r < 0)
			return r;
		end = MAX(end, at.off > UINT64_MAX - at.size ? UINT64_MAX : at.off + at.size);
	}
	return obj_check_whole(v, end, e);
}

/* Fat static libraries contain archives, and hostile files contain fat files. Neither has an identity,
 * and a fat file inside a fat file is not read. */
static int slice_probe(struct view *v, const struct fat_slice *at, struct obj_slice *out,
	struct err *e)
{
	struct obj_slice s = {.format = "macho", .kind = OBJ_OTHER, .module.object = OBJECT_MACHO};
	struct view inner;
	bool is64, big;
	uint8_t magic[4];
	int r = view_slice(v, at->off, at->size, &inner);

	if (r < 0)
		return obj_cut_off(e, "a slice");
	r = view_read(&inner, 0, magic, sizeof(magic));
	if (r == 0 && thin_magic(magic, &is64, &big))
		r = thin_probe(&inner, &s, e);
	if (r == -EAGAIN)
		view_want(v, inner.want_off + at->off, inner.want_len);
	if (r < 0 && r != -ENODATA) /* -ENODATA: the slice is too short for any format */
		return r;
	if (s.kind == OBJ_OTHER)
		s.arch = arch_of(at->cpu, at->subtype);
	s.off = at->off;
	s.size = at->size;
	*out = s;
	return 0;
}

static int macho_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct fat_slice at;
	struct fat fat;
	int r = fat_open(v, &fat, e);

	if (r == -ENOMSG)
		return index ? -ENOENT : thin_probe(v, out, e);
	if (r < 0)
		return r;
	if (index >= fat.count)
		return -ENOENT;
	r = fat_whole(v, &fat, e);
	if (r == 0)
		r = fat_at(v, &fat, index, &at, e);
	return r < 0 ? r : slice_probe(v, &at, out, e);
}

/* The load commands, with the UUID, are at the front of the file. A fat file has several UUIDs. */
static int macho_early(struct view *v, struct module *out)
{
	struct macho m;
	int r = macho_open(&m, v, NULL);

	if (r < 0)
		return r;
	if (!has_uuid(&m))
		return -ENOENT;
	module_of(&m, out);
	return 0;
}

const struct obj_format obj_macho = {
	.name = "macho",
	.magic = "\xcf\xfa\xed\xfe",
	.magic_len = 4,
	.also = {{"\xce\xfa\xed\xfe", 4}, {"\xfe\xed\xfa\xcf", 4}, {"\xfe\xed\xfa\xce", 4},
		{"\xca\xfe\xba\xbe", 4}, {"\xca\xfe\xba\xbf", 4}},
	.shared = true, /* with Java classes */
	.slices = true,
	.serves = {FILETYPE_MACH_CODE, FILETYPE_MACH_DEBUG},
	.probe = macho_probe,
	.early = macho_early,
	.sparse = obj_always_sparse,
};
