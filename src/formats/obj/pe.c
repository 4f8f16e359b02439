/* PE: programs and libraries of Windows, of .NET on any system, and of EFI. The identity is the link time
 * and the size in memory. The debug directory says which PDB belongs to the program. Only that directory
 * connects the program's name with the PDB's name, so each of its entries is read and checked. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/private.h"
#include "base/hash.h"
#include "base/inflate.h"
#include "base/little.h"
#include "base/path.h"
#include "base/util.h"
#include "formats/obj/ppdb.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Windows does not load a file with more than 96 sections; linkers of other systems have no such limit. */
#define SECTIONS_MOST 4096u
#define ENTRIES_MOST 256u

#define OPTIONAL_MOST 240 /* all sixteen directories of PE32+ */
#define SECTION_SIZE 40u
#define ENTRY_SIZE 28u
#define SYMBOL_SIZE 18u
#define EXPORTS_SIZE 40u
#define PATH_MOST 1024u
#define DIGEST_LEAST 16u
#define DIGEST_MOST 64u

/* Bytes of a PDB inside the program, packed and unpacked. The PDBs of the largest assemblies have some
 * megabytes. A larger PDB is not read, and only counts as debug information. */
#define EMBEDDED_MOST (16u << 20)

enum {
	MAGIC_PE32 = 0x10b, MAGIC_PE64 = 0x20b,
	FILE_DLL = 0x2000,
	DIRECTORY_EXPORTS = 0, DIRECTORY_EXCEPTIONS = 3, DIRECTORY_DEBUG = 6, DIRECTORY_CLR = 14,
	DIRECTORIES = 16,
	SECTION_CODE = 0x20,
	DEBUG_CODEVIEW = 2, DEBUG_EMBEDDED = 17, DEBUG_CHECKSUM = 19,
	MINOR_PORTABLE = 0x504d
};

struct directory {
	uint32_t rva, size;
};

struct section {
	char name[24]; /* longer names do not matter here */
	uint32_t virtual_size, rva, size, off, flags;
};

struct entry {
	uint32_t stamp, type, size, rva, off;
	unsigned minor;
};

/* If several entries name a PDB, that of the highest rank counts. */
enum rank { RANK_NONE, RANK_TIME, RANK_GUID, RANK_PORTABLE };

struct pe {
	struct view *v;
	struct err *e;
	uint32_t stamp, machine, flags, image_size, headers_size;
	bool has_image_size;
	uint32_t count; /* number of sections */
	uint64_t sections, names, names_size;
	struct directory dir[DIRECTORIES];

	/* found in the sections */
	uint64_t end; /* offset behind the last byte of the sections */
	bool code_here, code_hollow, stub, pdata_empty;
	struct worth worth;

	/* found in the debug directory */
	enum rank rank;
	struct debug_id id;
	char pdb[MODULE_NAME_MAX], checksum[MODULE_CHECKSUM_MAX];
	struct {
		uint64_t off;
		uint32_t size;
	} embedded;
};

static int pe_read(struct pe *pe, const char *what, uint64_t off, void *p, size_t n)
{
	return obj_read(pe->v, what, off, p, n, pe->e);
}

/* ---- headers ------------------------------------------------------------------------ */

static int read_optional(struct pe *pe, uint64_t off, uint32_t size)
{
	uint8_t h[OPTIONAL_MOST] = {0};
	uint32_t n = MIN(size, (uint32_t)sizeof(h)), at, count;
	int r;

	if (!size)
		return 0;
	r = pe_read(pe, "its optional header", off, h, n);
	if (r < 0)
		return r;
	if ((le16(h) != MAGIC_PE32 && le16(h) != MAGIC_PE64) || n < 64)
		return err_set(pe->e, -EBADMSG,
			"is broken: an optional header of kind %#x, %u bytes", le16(h), size);
	pe->image_size = le32(h + 56);
	pe->headers_size = le32(h + 60);
	pe->has_image_size = true;
	at = le16(h) == MAGIC_PE64 ? 112 : 96;
	if (n < at)
		return 0;
	count = MIN(MIN(le32(h + at - 4), (n - at) / 8), (uint32_t)DIRECTORIES);
	for (uint32_t i = 0; i < count; i++)
		pe->dir[i] = (struct directory){le32(h + at + 8 * i), le32(h + at + 8 * i + 4)};
	return 0;
}

/* Names of more than eight characters are in a table behind the symbols, which GNU linkers write. */
static int find_names(struct pe *pe, const uint8_t *coff)
{
	uint32_t symbols = le32(coff + 8);
	uint8_t size[4];
	uint64_t at = symbols + (uint64_t)le32(coff + 12) * SYMBOL_SIZE;
	int r;

	if (!symbols)
		return 0;
	r = view_read(pe->v, at, size, sizeof(size));
	if (r == -ENODATA) /* the symbols were stripped, but the header still refers to them */
		return 0;
	if (r < 0)
		return r == -EAGAIN ? r : pe_read(pe, "its names", at, size, sizeof(size));
	pe->names = at;
	if (at > symbols)
		pe->worth.symbols = WORTH_SYMBOLS;
	pe->names_size = le32(size);
	return 0;
}

static int pe_open(struct pe *pe, struct view *v, struct err *e, uint8_t coff[static 24])
{
	uint8_t dos[64];
	uint64_t at;
	int r;

	memset(pe, 0, sizeof(*pe));
	pe->v = v;
	pe->e = e;
	r = pe_read(pe, "its header", 0, dos, sizeof(dos));
	if (r < 0)
		return r;
	at = le32(dos + 0x3c);
	r = pe_read(pe, "its PE header", at, coff, 24);
	if (r < 0)
		return r;
	if (memcmp(coff, "PE\0\0", 4) != 0)
		return err_set(e, -EBADMSG, "is a DOS program: it has no PE header");
	pe->machine = le16(coff + 4);
	pe->count = le16(coff + 6);
	pe->stamp = le32(coff + 8);
	pe->flags = le16(coff + 22);
	pe->sections = at + 24 + le16(coff + 20);
	if (pe->count > SECTIONS_MOST)
		return err_set(e, -EBADMSG, "is broken: it has %u sections", pe->count);
	return read_optional(pe, at + 24, le16(coff + 20));
}

/* ---- sections ----------------------------------------------------------------------- */

/* Replaces a name like "/123" by the long name at offset 123 of the table of names. */
static int long_name(struct pe *pe, char name[static 24])
{
	uint64_t at = strtoul(name + 1, NULL, 10);
	size_t n;
	int r;

	if (name[0] != '/' || !isdigit((unsigned char)name[1]) || at >= pe->names_size)
		return 0;
	n = (size_t)MIN(pe->names_size - at, (uint64_t)24);
	memset(name, 0, 24);
	r = view_read(pe->v, pe->names + at, name, n);
	if (r == -EAGAIN)
		return r;
	/* A name that fills the buffer is longer than every name that is searched for. */
	if (r < 0 || !memchr(name, '\0', 24))
		name[0] = '\0';
	return 0;
}

static int section_at(struct pe *pe, uint32_t i, struct section *s)
{
	uint8_t h[SECTION_SIZE];
	int r = pe_read(
		pe, "its section table", pe->sections + (uint64_t)i * sizeof(h), h, sizeof(h));

	if (r < 0)
		return r;
	memset(s, 0, sizeof(*s));
	memcpy(s->name, h, 8);
	s->virtual_size = le32(h + 8);
	s->rva = le32(h + 12);
	s->off = le32(h + 20);
	s->size = s->off ? le32(h + 16) : 0;
	s->flags = le32(h + 36);
	return 0;
}

static void take_section(struct pe *pe, const struct section *s)
{
	if (strncmp(s->name, ".stub", 5) == 0)
		pe->stub = true;
	if (strcmp(s->name, ".pdata") == 0 && !s->size)
		pe->pdata_empty = true;
	if (s->flags & SECTION_CODE && s->size)
		pe->code_here = true;
	if (s->flags & SECTION_CODE && !s->size && s->virtual_size)
		pe->code_hollow = true;
	if (s->size && s->name[0] == '.')
		obj_worth_section(&pe->worth, s->name + 1);
	if (s->size)
		pe->end = MAX(pe->end, (uint64_t)s->off + s->size);
}

static int pe_sections(struct pe *pe)
{
	pe->end = pe->sections + (uint64_t)pe->count * SECTION_SIZE;
	for (uint32_t i = 0; i < pe->count; i++) {
		struct section s;
		int r = section_at(pe, i, &s);

		if (r == 0)
			r = long_name(pe, s.name);
		if (r < 0)
			return r;
		take_section(pe, &s);
	}
	return 0;
}

/* Whether the file has these bytes. 0: yes; -ENOENT: no; -EAGAIN: the length of the file is not known yet. */
static int in_file(struct pe *pe, uint64_t off, uint64_t n)
{
	struct view *v = pe->v;

	if (v->size != VIEW_UNKNOWN || off + n <= v->have)
		return view_holds(v, off, n) ? 0 : -ENOENT;
	return view_want(v, v->have, off + n - v->have);
}

/* The offset in the file of `n` bytes of the image. -ENOENT: the file does not have them. A debug file keeps
 * the directories of its program, but not the bytes. */
static int file_offset(struct pe *pe, uint32_t rva, uint32_t n, uint64_t *off)
{
	for (uint32_t i = 0; i < pe->count; i++) {
		struct section s;
		int r = section_at(pe, i, &s);

		if (r < 0)
			return r;
		if (rva < s.rva || rva - s.rva >= s.size)
			continue;
		*off = (uint64_t)s.off + (rva - s.rva);
		return n <= s.size - (rva - s.rva) ? 0 : -ENOENT;
	}
	*off = rva;
	return (uint64_t)rva + n <= pe->headers_size ? in_file(pe, rva, n) : -ENOENT;
}

/* ---- the debug directory ------------------------------------------------------------ */

/* Builds write a path of their own machine; clients request only its last component. */
static void take_pdb_name(struct pe *pe, const uint8_t *p, size_t n)
{
	char path[PATH_MOST + 1];
	const char *name;

	pe->pdb[0] = '\0';
	memcpy(path, p, n);
	path[n] = '\0';
	if (n == PATH_MOST && strlen(path) == n) /* the path is longer, and only its end matters */
		return;
	name = path_base(path);
	if (path_name_ok(name, strlen(name)))
		snprintf(pe->pdb, sizeof(pe->pdb), "%s", name);
}

/* A Portable PDB has the stamp of the entry in place of an age. The entries of a .NET library can also name
 * the PDB that another tool wrote for the native image. Debuggers do not ask for that PDB. Other readers do
 * not know PDBs from before the GUID (NB10), but debuggers still request them by time and age. */
static int take_codeview(struct pe *pe, const struct entry *x, uint64_t off)
{
	uint8_t p[24 + PATH_MOST];
	uint32_t n = MIN(x->size, (uint32_t)sizeof(p)), head;
	bool portable = x->minor == MINOR_PORTABLE;
	enum rank rank;
	int r;

	if (n < 16)
		return 0;
	r = pe_read(pe, "its debug directory", off, p, n);
	if (r < 0)
		return r;
	if (memcmp(p, "RSDS", 4) == 0 && n >= 24)
		rank = portable && pe->dir[DIRECTORY_CLR].rva ? RANK_PORTABLE : RANK_GUID;
	else if (memcmp(p, "NB10", 4) == 0)
		rank = RANK_TIME;
	else
		return 0;
	if (rank <= pe->rank)
		return 0;
	pe->rank = rank;
	head = rank == RANK_TIME ? 16 : 24;
	if (rank == RANK_TIME)
		pe->id = (struct debug_id){.set = true, .pdb20 = true, .age = le32(p + 12),
			.guid = {p[11], p[10], p[9], p[8]}};
	else
		debug_id_from_guid(&pe->id, p + 4, portable ? x->stamp : le32(p + 20));
	take_pdb_name(pe, p + head, MIN(n - head, PATH_MOST));
	return 0;
}

/* The entry has "SHA256", a zero byte, and the digest. */
static int take_checksum(struct pe *pe, const struct entry *x, uint64_t off)
{
	uint8_t p[16 + DIGEST_MOST];
	char digest[2 * DIGEST_MOST + 1];
	const uint8_t *zero;
	size_t word, n;
	int r;

	if (x->size > sizeof(p) || pe->checksum[0])
		return 0;
	r = pe_read(pe, "its debug directory", off, p, x->size);
	if (r < 0)
		return r;
	zero = memchr(p, '\0', MIN(x->size, 16u));
	word = zero ? (size_t)(zero - p) : 0;
	n = x->size - word - 1;
	if (!word || n < DIGEST_LEAST || n > DIGEST_MOST)
		return 0;
	for (size_t i = 0; i < word; i++)
		if (!isalnum(p[i]))
			return 0;
	hex_print(zero + 1, n, digest);
	snprintf(pe->checksum, sizeof(pe->checksum), "%.16s:%s", (const char *)p, digest);
	return 0;
}

/* Skips an entry whose data is outside of the file: stripped files keep the entries of removed data. */
static int take_entry(struct pe *pe, struct entry *x)
{
	uint64_t off = x->off;
	int r = x->off ? 0 : file_offset(pe, x->rva, x->size, &off);

	if (r == 0)
		r = in_file(pe, off, x->size);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	switch (x->type) {
	case DEBUG_CODEVIEW: return take_codeview(pe, x, off);
	case DEBUG_CHECKSUM: return take_checksum(pe, x, off);
	case DEBUG_EMBEDDED:
		pe->embedded.off = off;
		pe->embedded.size = x->size;
		return 0;
	default: return 0;
	}
}

static int pe_debug(struct pe *pe)
{
	struct directory d = pe->dir[DIRECTORY_DEBUG];
	uint32_t n = MIN(d.size / ENTRY_SIZE, ENTRIES_MOST);
	uint64_t off;
	int r = n ? file_offset(pe, d.rva, n * ENTRY_SIZE, &off) : -ENOENT;

	if (r == -ENOENT)
		return 0;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct entry x;
		uint8_t h[ENTRY_SIZE];

		r = pe_read(pe, "its debug directory", off + (uint64_t)i * sizeof(h), h, sizeof(h));
		if (r < 0)
			return r;
		x = (struct entry){.stamp = le32(h + 4),
			.minor = le16(h + 10),
			.type = le32(h + 12),
			.size = le32(h + 16),
			.rva = le32(h + 20),
			.off = le32(h + 24)};
		r = take_entry(pe, &x);
	}
	return r;
}

/* Reads the worth of the PDB inside the program. A broken PDB does not make the program broken. */
static int embedded_worth(struct pe *pe)
{
	_cleanup_free_ uint8_t *packed = NULL, *pdb = NULL;
	uint32_t n = pe->embedded.size, size;
	uint8_t h[8];
	struct worth inside;
	struct view v;
	size_t made;
	int r;

	if (n < sizeof(h))
		return 0;
	r = pe_read(pe, "the PDB inside", pe->embedded.off, h, sizeof(h));
	if (r < 0 || memcmp(h, "MPDB", 4) != 0)
		return r;
	n -= (uint32_t)sizeof(h);
	size = le32(h + 4);
	if (n > EMBEDDED_MOST || size > EMBEDDED_MOST) {
		pe->worth.debug = WORTH_DEBUG;
		return 0;
	}
	packed = malloc(n ? n : 1);
	pdb = malloc(size ? size : 1);
	if (!packed || !pdb)
		return err_set(pe->e, -ENOMEM, "%s", err_text(-ENOMEM));
	r = pe_read(pe, "the PDB inside", pe->embedded.off + sizeof(h), packed, n);
	if (r < 0)
		return r;
	if (inflate_raw(packed, n, pdb, size, &made) < 0 || made != size)
		return 0;
	v = view_of_mem(pdb, made);
	if (ppdb_worth(&v, &inside) == 0) {
		pe->worth.debug = MAX(pe->worth.debug, inside.debug);
		pe->worth.sources |= inside.sources;
	}
	return 0;
}

/* ---- the image's own tables --------------------------------------------------------- */

static int pe_tables(struct pe *pe)
{
	struct directory d = pe->dir[DIRECTORY_EXPORTS];
	uint8_t h[EXPORTS_SIZE];
	uint64_t off;
	int r = d.rva ? file_offset(pe, d.rva, sizeof(h), &off) : -ENOENT;

	if (r == 0)
		r = pe_read(pe, "its exports", off, h, sizeof(h));
	if (r == 0 && le32(h + 24))
		pe->worth.symbols = MAX(pe->worth.symbols, WORTH_EXPORTS);
	if (r < 0 && r != -ENOENT)
		return r;
	d = pe->dir[DIRECTORY_EXCEPTIONS];
	r = d.rva && d.size ? file_offset(pe, d.rva, 8, &off) : -ENOENT;
	pe->worth.unwind = r == 0; /* Windows unwinds by this table, so sections of DWARF do not count */
	pe->worth.known = r == 0 || r == -ENOENT;
	return r == -ENOENT ? 0 : r;
}

/* ---- answers ------------------------------------------------------------------------ */

static int pe_facts(struct pe *pe, struct view *v, struct err *e)
{
	uint8_t coff[24];
	int r = pe_open(pe, v, e, coff);

	if (r == 0)
		r = find_names(pe, coff + 4);
	if (r == 0)
		r = pe_sections(pe);
	if (r == 0)
		r = obj_check_whole(v, pe->end, e); /* the sections say how far the file reaches */
	if (r == 0)
		r = pe_debug(pe);
	if (r == 0)
		r = embedded_worth(pe);
	return r < 0 ? r : pe_tables(pe);
}

/* A packed program has a section .stub and an empty .pdata; its contents cannot be read. A debug file keeps
 * the headers of its removed code. */
static enum obj_kind kind_of(const struct pe *pe)
{
	if ((pe->stub && pe->pdata_empty) || !pe->has_image_size)
		return OBJ_OTHER;
	if (pe->code_hollow && !pe->code_here && pe->worth.debug == WORTH_DEBUG)
		return OBJ_DEBUG;
	return pe->flags & FILE_DLL ? OBJ_LIBRARY : OBJ_EXECUTABLE;
}

static void module_of(const struct pe *pe, struct module *m)
{
	memset(m, 0, sizeof(*m));
	m->object = OBJECT_PE;
	/* Old .NET compilers, and those that mix .NET with machine code, write a PDB that is not
	 * portable. */
	if (pe->dir[DIRECTORY_CLR].rva && (pe->rank == RANK_PORTABLE || pe->rank == RANK_NONE))
		m->object = OBJECT_PE_DOTNET;
	m->debug_id = pe->id;
	if (pe->has_image_size)
		snprintf(m->code_id, sizeof(m->code_id), "%08x%x", pe->stamp, pe->image_size);
	snprintf(m->debug_file, sizeof(m->debug_file), "%s", pe->pdb);
	snprintf(m->checksum, sizeof(m->checksum), "%s", pe->checksum);
}

static int pe_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "pe", .size = v->size};
	struct pe pe;
	int r = pe_facts(&pe, v, e);

	if (r < 0)
		return r;
	module_of(&pe, &s.module);
	s.arch = obj_arch_of_machine(pe.machine);
	s.kind = kind_of(&pe);
	s.worth = pe.worth;
	s.code = pe.code_here;
	if (pe.has_image_size)
		s.types[s.n_types++] = FILETYPE_PE;
	*out = s;
	return 0;
}

/* The code id is in the first block. */
static int pe_early(struct view *v, struct module *out)
{
	uint8_t coff[24];
	struct pe pe;
	int r = pe_open(&pe, v, NULL, coff);

	if (r == 0)
		module_of(&pe, out);
	return r;
}

const struct obj_format obj_pe = {
	.name = "pe",
	.magic = "MZ",
	.magic_len = 2,
	.serves = {FILETYPE_PE},
	.probe = pe_probe,
	.early = pe_early,
	.sparse = obj_always_sparse,
};
