/* Reads headers and sections of object files in memory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/image/image.h"
#include "base/util.h"
#include "base/bytes.h"

enum {
	SHT_NOTE = 7, SHT_NOBITS = 8, SHF_GROUP = 0x200, SHN_XINDEX = 0xffff, PT_LOAD = 1, NT_GNU_BUILD_ID = 3,
	PE32_PLUS = 0x20b, PE_EXPORTS = 0, PE_UNWIND = 3, LC_SEGMENT = 1, LC_SEGMENT_64 = 0x19, LC_SYMTAB = 2,
	LC_UUID = 0x1b
};

/* Real files have some thousand sections; files built with -ffunction-sections have the most. */
#define SECTIONS_MOST (1u << 20)
#define COMMANDS_MOST (1u << 16)

static bool same_name(const struct image_section *s, const char *name)
{
	return s->name_len == strlen(name) && memcmp(s->name, name, s->name_len) == 0;
}

/* Names a section: the text at `off`, up to its NUL or the end of `all`. */
static void name_at(struct span all, uint64_t off, struct image_section *s)
{
	s->name = off < all.n ? (const char *)all.p + off : "";
	s->name_len = off < all.n ? strnlen(s->name, all.n - off) : 0;
}

/* ---- WebAssembly -------------------------------------------------------------------- */

/* Reads the section at *p, which is not the end, and moves *p past it. A custom section begins with its name. */
static bool wasm_section(struct span file, const uint8_t **p, struct image_section *s)
{
	struct span name;
	const uint8_t *at;

	*s = (struct image_section){.name = "", .type = *(*p)++};
	if (!take_counted(p, file.p + file.n, &s->bytes))
		return false;
	if (s->type == WASM_CUSTOM) {
		at = s->bytes.p;
		if (!take_counted(&at, *p, &name))
			return false;
		s->name = (const char *)name.p;
		s->name_len = name.n;
		s->bytes = (struct span){at, (size_t)(*p - at)};
	}
	s->addr = (uint64_t)(s->bytes.p - file.p);
	s->size = s->bytes.n;
	return true;
}

/* Finds the first section of this type, and of this name if it is a custom section. */
static int wasm_find(struct span file, enum image_wasm_type type, const char *name, struct image_section *s)
{
	for (const uint8_t *p = file.p + 8; p < file.p + file.n;) {
		if (!wasm_section(file, &p, s))
			return -EBADMSG;
		if (s->type == type && (type != WASM_CUSTOM || same_name(s, name)))
			return 0;
	}
	return -ENOENT;
}

static int wasm_open(struct image *m, struct err *e)
{
	struct image_section s;

	m->kind = IMAGE_WASM;
	m->swap = HOST_BIG;
	if (load32(m->file.p + 4, m->swap) != 1)
		return err_set(e, -EBADMSG, "is WebAssembly, but not a module of version 1");
	m->linked = wasm_find(m->file, WASM_CUSTOM, "linking", &s) < 0;
	return 0;
}

int image_wasm_section(const struct image *m, enum image_wasm_type type, struct image_section *out)
{
	return m->kind == IMAGE_WASM ? wasm_find(m->file, type, "", out) : -ENOENT;
}

/* The section has the length of the id before the id. Older tools wrote an id of 16 bytes alone. */
static struct span wasm_build_id(const struct image *m)
{
	struct image_section s;
	bool counted;

	if (wasm_find(m->file, WASM_CUSTOM, "build_id", &s) < 0)
		return (struct span){0};
	counted = s.bytes.n != 16 && s.bytes.n && s.bytes.p[0] == s.bytes.n - 1;
	return (struct span){s.bytes.p + counted, s.bytes.n - counted};
}

/* ---- ELF ---------------------------------------------------------------------------- */

static uint64_t word(const struct image *m, const uint8_t *p)
{
	return m->is64 ? load64(p, m->swap) : load32(p, m->swap);
}

static int elf_section(const struct image *m, uint32_t i, struct image_section *s)
{
	const uint8_t *h = span_at(m->file, m->at + (uint64_t)i * m->entry, m->is64 ? 64 : 40);
	uint64_t off;

	memset(s, 0, sizeof(*s));
	s->index = i;
	if (!h)
		return -EBADMSG;
	name_at(m->names, load32(h, m->swap), s);
	s->type = load32(h + 4, m->swap);
	s->flags = word(m, h + 8);
	s->addr = m->placed ? m->placed[i] : word(m, h + (m->is64 ? 16 : 12));
	off = word(m, h + (m->is64 ? 24 : 16));
	s->size = word(m, h + (m->is64 ? 32 : 20));
	s->link = load32(h + (m->is64 ? 40 : 24), m->swap);
	s->info = load32(h + (m->is64 ? 44 : 28), m->swap);
	s->align = word(m, h + (m->is64 ? 48 : 32));
	s->entry = word(m, h + (m->is64 ? 56 : 36));
	if (s->type == SHT_NOBITS || !s->size)
		return 0;
	if (!span_at(m->file, off, s->size))
		return -EBADMSG;
	s->bytes = (struct span){m->file.p + off, s->size};
	return 0;
}

/* Counts that do not fit in the header are in the first section header. */
static int elf_extended(struct image *m, uint32_t *names, struct err *e)
{
	struct image_section first;

	if (!m->at) {
		m->n_sections = 0;
		return 0;
	}
	if (m->entry != (m->is64 ? 64u : 40u))
		return err_set(e, -EBADMSG, "is broken: its section headers have %u bytes each", m->entry);
	if ((!m->n_sections || *names == SHN_XINDEX) && elf_section(m, 0, &first) == 0) {
		if (!m->n_sections)
			m->n_sections = (uint32_t)MIN(first.size, (uint64_t)UINT32_MAX);
		if (*names == SHN_XINDEX)
			*names = first.link;
	}
	if (m->n_sections > SECTIONS_MOST ||
		!span_at(m->file, m->at, (size_t)m->n_sections * m->entry))
		return err_set(e, -EBADMSG, "is broken: its section headers lie outside");
	return 0;
}

static int elf_open(struct image *m, struct err *e)
{
	const uint8_t *h = span_at(m->file, 0, 16);
	struct image_section s;
	uint32_t names;
	int r;

	m->kind = IMAGE_ELF;
	m->is64 = h && h[4] == 2;
	m->big = h && h[5] == 2;
	m->swap = m->big != HOST_BIG;
	h = span_at(m->file, 0, m->is64 ? 64 : 52);
	if (!h || (h[4] != 1 && h[4] != 2) || (h[5] != 1 && h[5] != 2))
		return err_set(e, -EBADMSG, "is broken: its ELF header is incomplete");
	m->type = load16(h + 16, m->swap);
	m->machine = load16(h + 18, m->swap);
	m->segments_at = word(m, h + (m->is64 ? 32 : 28));
	m->at = word(m, h + (m->is64 ? 40 : 32));
	h += m->is64 ? 54 : 42;
	m->segment_entry = load16(h, m->swap);
	m->n_segments = load16(h + 2, m->swap);
	m->entry = load16(h + 4, m->swap);
	m->n_sections = load16(h + 6, m->swap);
	names = load16(h + 8, m->swap);
	r = elf_extended(m, &names, e);
	if (r < 0)
		return r;
	if (names < m->n_sections && elf_section(m, names, &s) == 0)
		m->names = s.bytes;
	return 0;
}

uint64_t image_base(const struct image *m)
{
	for (uint32_t i = 0; m->kind == IMAGE_ELF && i < m->n_segments; i++) {
		const uint8_t *h = span_at(m->file,
			m->segments_at + (uint64_t)i * m->segment_entry, m->is64 ? 56 : 32);

		/* The first PT_LOAD segment decides: a kernel has a later one at address 0, for
		 * per-CPU data. */
		if (h && load32(h, m->swap) == PT_LOAD)
			return word(m, h + (m->is64 ? 16 : 8));
	}
	return 0;
}

/* The build id among the notes in `s`. */
static struct span id_in(const struct image *m, const struct image_section *s)
{
	uint64_t at = 0, step = s->align == 8 ? 8 : 4;
	const uint8_t *h;

	while ((h = span_at(s->bytes, at, 12))) {
		uint64_t name = load32(h, m->swap), desc = load32(h + 4, m->swap);
		uint64_t body = at + 12 + ((name + 3) & ~3ull);

		body = step == 8 ? (body + 7) & ~7ull : body;
		if (load32(h + 8, m->swap) == NT_GNU_BUILD_ID && name == 4 &&
			span_at(s->bytes, at + 12, 4) && memcmp(h + 12, "GNU", 4) == 0 &&
			span_at(s->bytes, body, desc))
			return (struct span){s->bytes.p + body, desc};
		at = body + ((desc + step - 1) & ~(step - 1));
	}
	return (struct span){0};
}

struct span image_build_id(const struct image *m)
{
	struct image_section s;
	struct span id = {0};

	if (m->kind == IMAGE_WASM)
		return wasm_build_id(m);
	for (uint32_t i = 0; m->kind == IMAGE_ELF && i < m->n_sections && !id.n; i++)
		if (elf_section(m, i, &s) == 0 && s.type == SHT_NOTE)
			id = id_in(m, &s);
	return id;
}

/* ---- Mach-O ------------------------------------------------------------------------- */

static int macho_open(struct image *m, struct err *e)
{
	const uint8_t *h = span_at(m->file, 0, 28);
	uint32_t magic;

	if (!h)
		return err_set(e, -EBADMSG, "is broken: its Mach-O header is incomplete");
	m->kind = IMAGE_MACHO;
	magic = load32(h, false);
	m->swap = magic == 0xcefaedfe || magic == 0xcffaedfe;
	m->big = m->swap != HOST_BIG;
	m->is64 = (m->swap ? bswap_32(magic) : magic) == 0xfeedfacf;
	m->at = m->is64 ? 32 : 28;
	m->machine = load32(h + 4, m->swap);
	m->submachine = load32(h + 8, m->swap);
	m->n_commands = load32(h + 16, m->swap);
	m->commands_size = load32(h + 20, m->swap);
	if (m->n_commands > COMMANDS_MOST || !span_at(m->file, m->at, m->commands_size))
		return err_set(e, -EBADMSG, "is broken: its load commands lie outside of the file");
	return 0;
}

/* Reads the load command at *at, and moves *at to the next one. False: it is broken. */
static bool next_command(const struct image *m, uint64_t *at, uint32_t *type, struct span *command)
{
	struct span all = {m->file.p + m->at, m->commands_size};
	const uint8_t *h = span_at(all, *at, 8);
	uint32_t size = h ? load32(h + 4, m->swap) : 0;

	if (size < 8 || !span_at(all, *at, size))
		return false;
	*type = load32(h, m->swap);
	*command = (struct span){h, size};
	*at += size;
	return true;
}

static int macho_section(const struct image *m, const uint8_t *h, struct image_section *s)
{
	uint64_t off = load32(h + (m->is64 ? 48 : 40), m->swap);

	memset(s, 0, sizeof(*s));
	s->name = (const char *)h;
	s->name_len = strnlen(s->name, 16);
	s->addr = word(m, h + 32);
	s->size = word(m, h + (m->is64 ? 40 : 36));
	if (!span_at(m->file, off, s->size))
		return -EBADMSG;
	s->bytes = (struct span){m->file.p + off, s->size};
	return 0;
}

/* Finds a section by name among the sections of one segment command. */
static int macho_segment(const struct image *m, struct span command, const char *name,
	struct image_section *s)
{
	size_t head = m->is64 ? 72 : 56, each = m->is64 ? 80 : 68;
	const uint8_t *h = span_at(command, 0, head);
	uint32_t n = h ? load32(h + head - 8, m->swap) : 0;

	for (uint32_t i = 0; i < n; i++) {
		h = span_at(command, head + i * each, each);
		if (!h)
			return -EBADMSG;
		if (strncmp((const char *)h, name, 16) == 0)
			return macho_section(m, h, s);
	}
	return -ENOENT;
}

static int macho_find(const struct image *m, const char *name, struct image_section *s)
{
	struct span command;
	uint64_t at = 0;
	uint32_t type;
	int r = -ENOENT;

	for (uint32_t i = 0; r == -ENOENT && i < m->n_commands; i++) {
		if (!next_command(m, &at, &type, &command))
			return -EBADMSG;
		if (type == (m->is64 ? LC_SEGMENT_64 : LC_SEGMENT))
			r = macho_segment(m, command, name, s);
	}
	return r;
}

static void macho_text(const struct image *m, struct span command, struct image_macho *out)
{
	size_t head = m->is64 ? 72 : 56, each = m->is64 ? 80 : 68;
	const uint8_t *h = span_at(command, 0, head);
	uint32_t n = h ? load32(h + head - 8, m->swap) : 0;

	if (!h || strncmp((const char *)h + 8, "__TEXT", 16) != 0)
		return;
	out->base = word(m, h + 24);
	for (uint32_t i = 0; i < n && (h = span_at(command, head + i * each, each)); i++) {
		uint64_t start = word(m, h + 32), size = word(m, h + (m->is64 ? 40 : 36));

		if (strncmp((const char *)h, "__text", 16) != 0 || start + size < start)
			continue;
		out->text_start = start;
		out->text_end = start + size;
	}
}

static void macho_symbols(const struct image *m, struct span command, struct image_macho *out)
{
	const uint8_t *h = span_at(command, 8, 16), *p, *names;
	size_t size;

	if (!h)
		return;
	size = (size_t)load32(h + 4, m->swap) * (m->is64 ? 16 : 12);
	p = span_at(m->file, load32(h, m->swap), size);
	names = span_at(m->file, load32(h + 8, m->swap), load32(h + 12, m->swap));
	if (!p || !names)
		return;
	out->symbols = (struct span){p, size};
	out->names = (struct span){names, load32(h + 12, m->swap)};
}

int image_macho(const struct image *m, struct image_macho *out)
{
	struct span command;
	uint64_t at = 0;
	uint32_t type;

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; m->kind == IMAGE_MACHO && i < m->n_commands; i++) {
		if (!next_command(m, &at, &type, &command))
			return -EBADMSG;
		if (type == (m->is64 ? LC_SEGMENT_64 : LC_SEGMENT))
			macho_text(m, command, out);
		else if (type == LC_UUID && command.n >= 24)
			out->uuid = (struct span){command.p + 8, 16};
		else if (type == LC_SYMTAB)
			macho_symbols(m, command, out);
	}
	return 0;
}

/* ---- COFF and PE -------------------------------------------------------------------- */

static int coff_open(struct image *m, struct err *e)
{
	const uint8_t *h = span_at(m->file, 0, 64);
	uint64_t at = 0, symbols, n;

	m->kind = IMAGE_COFF;
	m->swap = HOST_BIG;
	if (h && memcmp(h, "MZ", 2) == 0) {
		at = load32(h + 60, m->swap);
		h = span_at(m->file, at, 4);
		if (!h || memcmp(h, "PE\0\0", 4) != 0)
			return err_set(e, -EBADMSG, "is broken: it has no PE header");
		at += 4;
		m->linked = true;
	}
	h = span_at(m->file, at, 20);
	if (!h)
		return err_set(e, -EBADMSG, "is broken: its COFF header is incomplete");
	m->machine = load16(h, m->swap);
	m->n_sections = load16(h + 2, m->swap);
	symbols = load32(h + 8, m->swap);
	n = load32(h + 12, m->swap);
	m->optional = at + 20;
	m->optional_size = load16(h + 16, m->swap);
	m->at = m->optional + m->optional_size;
	m->entry = 40;
	h = span_at(m->file, m->optional, 2);
	m->is64 = h && m->optional_size >= 2 && load16(h, m->swap) == PE32_PLUS;
	if (!span_at(m->file, m->at, (size_t)m->n_sections * m->entry))
		return err_set(e, -EBADMSG, "is broken: its section headers lie outside");
	symbols += n * 18;
	h = symbols ? span_at(m->file, symbols, 4) : NULL;
	if (h && span_at(m->file, symbols, load32(h, m->swap)))
		m->names = (struct span){h, load32(h, m->swap)};
	return 0;
}

/* A name that is too long for its header is "/" and its offset in the string table. */
static void coff_name(const struct image *m, const uint8_t *h, struct image_section *s)
{
	uint64_t off = 0;

	s->name = (const char *)h;
	s->name_len = strnlen(s->name, 8);
	if (h[0] != '/')
		return;
	for (size_t i = 1; i < s->name_len && h[i] >= '0' && h[i] <= '9'; i++)
		off = off * 10 + (h[i] - '0');
	name_at(m->names, off, s);
}

int image_coff_section(const struct image *m, uint32_t i, struct image_section *s)
{
	const uint8_t *h = m->kind == IMAGE_COFF && i < m->n_sections
				   ? span_at(m->file, m->at + (uint64_t)i * 40, 40)
				   : NULL;
	uint64_t off, virtual;

	memset(s, 0, sizeof(*s));
	if (!h)
		return -EBADMSG;
	coff_name(m, h, s);
	s->index = i;
	virtual = load32(h + 8, m->swap);
	s->addr = load32(h + 12, m->swap);
	s->size = load32(h + 16, m->swap);
	s->flags = load32(h + 36, m->swap);
	off = load32(h + 20, m->swap);
	/* Linkers round up the number of bytes in the file. */
	if (span_at(m->file, off, s->size))
		s->bytes = (struct span){m->file.p + off, virtual ? MIN(virtual, s->size) : s->size};
	else if (off)
		return -EBADMSG;
	s->size = virtual ? virtual : s->size;
	return 0;
}

static int coff_find(const struct image *m, const char *name, struct image_section *s)
{
	for (uint32_t i = 0; i < m->n_sections; i++) {
		int r = image_coff_section(m, i, s);

		if (same_name(s, name))
			return r;
	}
	return -ENOENT;
}

struct span image_at(const struct image *m, struct image_section *last, uint64_t rva)
{
	for (uint32_t i = 0; rva < last->addr || rva - last->addr >= last->bytes.n; i++)
		if (i == m->n_sections || image_coff_section(m, i, last) < 0) {
			*last = (struct image_section){0};
			return (struct span){0};
		}
	rva -= last->addr;
	return (struct span){last->bytes.p + rva, last->bytes.n - rva};
}

/* The nth data directory of the optional header: address and size. */
static const uint8_t *pe_directory(const struct image *m, unsigned nth)
{
	struct span header = {span_at(m->file, m->optional, m->optional_size), m->optional_size};
	size_t count = m->is64 ? 108 : 92;
	const uint8_t *p = header.p ? span_at(header, count, 4) : NULL;

	return p && nth < load32(p, m->swap) ? span_at(header, count + 4 + nth * 8u, 8) : NULL;
}

struct span image_directory(const struct image *m, unsigned nth)
{
	const uint8_t *p = pe_directory(m, nth);
	struct image_section last = {0};
	struct span bytes = p ? image_at(m, &last, load32(p, m->swap)) : (struct span){0};

	bytes.n = p ? MIN(bytes.n, load32(p + 4, m->swap)) : 0;
	return bytes;
}

void image_pe(const struct image *m, struct image_pe *out)
{
	const uint8_t *head = span_at(m->file, m->optional - 20, 20), *p;
	uint64_t at, n;

	memset(out, 0, sizeof(*out));
	p = m->optional_size >= 32 ? span_at(m->file, m->optional, 32) : NULL;
	if (p)
		out->base = m->is64 ? load64(p + 24, m->swap) : load32(p + 28, m->swap);
	p = pe_directory(m, PE_EXPORTS);
	if (p) {
		out->exports = load32(p, m->swap);
		out->exports_size = load32(p + 4, m->swap);
	}
	out->unwind = image_directory(m, PE_UNWIND);
	at = head ? load32(head + 8, m->swap) : 0;
	n = head ? load32(head + 12, m->swap) * 18ull : 0;
	if (at && span_at(m->file, at, n))
		out->symbols = (struct span){m->file.p + at, n};
}

/* ---- any ---------------------------------------------------------------------------- */

bool image_is_coff(unsigned machine)
{
	static const uint16_t machines[] = {0x14c, 0x8664, 0xaa64, 0x1c0, 0x1c4};

	for (unsigned i = 0; i < ARRAY_SIZE(machines); i++)
		if (machine == machines[i])
			return true;
	return false;
}

static bool is_coff(const uint8_t *h)
{
	return image_is_coff(load16(h, HOST_BIG)) || memcmp(h, "MZ", 2) == 0;
}

int image_open(struct image *m, struct span file, struct err *e)
{
	const uint8_t *h = span_at(file, 0, 20);
	uint32_t magic = h ? load32(h, false) : 0;

	memset(m, 0, sizeof(*m));
	m->file = file;
	if (!h)
		return -ENOMSG;
	if (memcmp(h, "\177ELF", 4) == 0)
		return elf_open(m, e);
	if (magic == 0xfeedface || magic == 0xfeedfacf || magic == 0xcefaedfe ||
		magic == 0xcffaedfe)
		return macho_open(m, e);
	if (memcmp(h, "\0asm", 4) == 0)
		return wasm_open(m, e);
	return is_coff(h) ? coff_open(m, e) : -ENOMSG;
}

int image_section(const struct image *m, uint32_t i, struct image_section *out)
{
	return m->kind == IMAGE_ELF && i < m->n_sections ? elf_section(m, i, out) : -EBADMSG;
}

int image_find(const struct image *m, const char *name, struct image_section *out)
{
	if (m->kind == IMAGE_MACHO)
		return macho_find(m, name, out);
	if (m->kind == IMAGE_COFF)
		return coff_find(m, name, out);
	if (m->kind == IMAGE_WASM) {
		int r = wasm_find(m->file, WASM_CUSTOM, name, out);

		return r == -ENOENT && m->debug.n ? wasm_find(m->debug, WASM_CUSTOM, name, out) : r;
	}
	for (uint32_t i = 0; i < m->n_sections; i++) {
		int r = elf_section(m, i, out);

		/* A section that lies outside of the file is an error only when it is read. An unlinked
		 * file can have further sections of the same name in section groups, such as a .debug_info
		 * for each type unit. These are skipped. */
		if (same_name(out, name) && !(m->placed && out->flags & SHF_GROUP))
			return r;
	}
	return -ENOENT;
}
