/* Finds the unwind tables of an ELF file, by libelf. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "base/expand.h"
#include "base/grow.h"
#include "base/util.h"
#include "formats/cfi/private.h"

#include <gelf.h>
#include <libelf.h>

#define SEGMENTS_MOST 65536
#define PACKED_MOST 1032 /* zlib expands a byte to at most so many */
#define EH_PCREL_SDATA4 0x1b /* a signed offset of 4 bytes from its own address */
#define ZSTD 2		 /* older libelfs have no name for it */

/* The lowest loaded address, and the segments with instructions. Debuggers and walkers know no others. */
static int elf_segments(Elf *elf, struct tables *out)
{
	size_t n = 0, room = 0;
	bool loaded = false;

	if (elf_getphdrnum(elf, &n) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < MIN(n, (size_t)SEGMENTS_MOST); i++) {
		GElf_Phdr h;

		if (!gelf_getphdr(elf, (int)i, &h) || h.p_type != PT_LOAD)
			continue;
		out->base = loaded ? MIN(out->base, h.p_vaddr) : h.p_vaddr;
		loaded = true;
		if (!(h.p_flags & PF_X) || !h.p_memsz || h.p_vaddr + h.p_memsz < h.p_vaddr)
			continue;
		if (APPEND(out->ranges, room, out->n_ranges,
			(struct unwind_range){h.p_vaddr, h.p_vaddr + h.p_memsz}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct unwind_range *x = a, *y = b;

	return COMPARE(x->start, y->start);
}

/* Unpacks debug information that is compressed in one of two ways: after a header of ELF, or after "ZLIB" and the
 * size. libelf would write to the section's header, which is in memory that cannot be written to. */
static struct span elf_unpack(struct tables *t, enum rows_table table, struct span in, bool old)
{
	size_t head = old ? 12 : t->rows.address_bytes == 8 ? 24 : 12;
	const uint8_t *h = span_at(in, 0, head);
	bool swap = t->rows.big != HOST_BIG;
	uint32_t method = ELFCOMPRESS_ZLIB;
	uint8_t *out;
	uint64_t n;
	int r;

	if (!h || (old && memcmp(h, "ZLIB", 4) != 0))
		return (struct span){0};
	if (!old)
		method = load32(h, swap);
	n = old ? load64(h + 4, !HOST_BIG) : head == 24 ? load64(h + 8, swap) : load32(h + 4, swap);
	in = (struct span){h + head, in.n - head};
	if (!n || n / PACKED_MOST > in.n || (method != ELFCOMPRESS_ZLIB && method != ZSTD))
		return (struct span){0};
	out = t->unpacked[table] = malloc(n);
	r = !out ? -ENOMEM : method == ZSTD ? expand_zstd(in, out, n) : expand_zlib(in, out, n);
	return r == 0 ? (struct span){out, n} : (struct span){0};
}

static struct span elf_bytes(struct tables *t, enum rows_table table, Elf_Scn *scn, const GElf_Shdr *h, bool old)
{
	Elf_Data *d = h->sh_type == SHT_NOBITS || !h->sh_size ? NULL : elf_rawdata(scn, NULL);
	struct span s = d && d->d_buf ? (struct span){d->d_buf, d->d_size} : (struct span){0};

	return s.n && (old || (h->sh_flags & SHF_COMPRESSED)) ? elf_unpack(t, table, s, old) : s;
}

/* .eh_frame has the type SHT_PROGBITS or SHT_X86_64_UNWIND, so only its name counts. Returns whether the file names
 * it, even if it has none of its bytes, as a debug file. */
static bool elf_sections(Elf *elf, struct tables *out)
{
	size_t names = 0;
	bool named = false;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return false;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr h;
		const char *name = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
		int table = !name ? -1 : !strcmp(name, ".eh_frame") ? ROWS_EH
			: !strcmp(name, ".debug_frame") || !strcmp(name, ".zdebug_frame") ? ROWS_DEBUG : -1;

		named = named || table == ROWS_EH;
		if (table < 0 || out->rows.tables[table].bytes.n)
			continue;
		out->rows.tables[table].bytes = elf_bytes(out, (enum rows_table)table, scn, &h, name[1] == 'z');
		out->rows.tables[table].addr = h.sh_addr;
	}
	return named;
}

/* The bytes of the file that are loaded at an address, up to the end of the segment. */
static struct span elf_loaded(Elf *elf, struct span file, uint64_t at)
{
	size_t n = 0;
	GElf_Phdr h;

	if (elf_getphdrnum(elf, &n) < 0)
		return (struct span){0};
	for (size_t i = 0; i < MIN(n, (size_t)SEGMENTS_MOST); i++)
		if (gelf_getphdr(elf, (int)i, &h) && h.p_type == PT_LOAD && at >= h.p_vaddr &&
			at - h.p_vaddr < h.p_filesz && span_at(file, h.p_offset, h.p_filesz))
			return (struct span){file.p + h.p_offset + (at - h.p_vaddr), h.p_filesz - (at - h.p_vaddr)};
	return (struct span){0};
}

/* Without a section .eh_frame, which strippers can remove from the headers, the index of the table says where it
 * begins, in the form that linkers write. The table ends with an entry without bytes. */
static void elf_indexed(Elf *elf, struct span file, struct tables *out)
{
	bool swap = out->rows.big != HOST_BIG;
	struct span index = {0}, table;
	uint64_t at = 0, len = 0;
	const uint8_t *p;
	GElf_Phdr h;
	size_t n = 0;

	if (elf_getphdrnum(elf, &n) < 0)
		return;
	for (size_t i = 0; !index.n && i < MIN(n, (size_t)SEGMENTS_MOST); i++)
		if (gelf_getphdr(elf, (int)i, &h) && h.p_type == PT_GNU_EH_FRAME)
			index = elf_loaded(elf, file, h.p_vaddr);
	p = span_at(index, 0, 8);
	if (!p || p[0] != 1 || p[1] != EH_PCREL_SDATA4)
		return;
	at = h.p_vaddr + 4 + (uint64_t)(int64_t)(int32_t)load32(p + 4, swap);
	table = elf_loaded(elf, file, at);
	while ((p = span_at(table, len, 4)) && load32(p, swap) && load32(p, swap) < table.n - len)
		len += 4 + (uint64_t)load32(p, swap);
	if (len > table.n)
		return;
	out->rows.tables[ROWS_EH].bytes = (struct span){table.p, len};
	out->rows.tables[ROWS_EH].addr = at;
}

int tables_elf(struct span file, struct tables *out, struct err *e)
{
	GElf_Ehdr h;
	Elf *elf;
	int r;

	elf_version(EV_CURRENT);
	/* libelf does not write to memory that it reads from. */
	elf = out->owner = elf_memory((char *)(uintptr_t)file.p, file.n);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &h))
		return err_set(e, -EBADMSG, "is a broken ELF file");
	if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
		return err_set(e, -ENOMSG, "is neither a program nor a library");
	out->arch[ROWS_EH] = unwind_arch_elf(h.e_machine, h.e_ident[EI_CLASS] == ELFCLASS64);
	out->arch[ROWS_DEBUG] = out->arch[ROWS_EH];
	out->rows.big = h.e_ident[EI_DATA] == ELFDATA2MSB;
	out->rows.address_bytes = h.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	r = elf_segments(elf, out);
	if (r < 0)
		return err_set(e, r, "has broken segments");
	sort_array(out->ranges, out->n_ranges, sizeof(*out->ranges), compare_ranges);
	if (!elf_sections(elf, out))
		elf_indexed(elf, file, out);
	return 0;
}

void tables_release(struct tables *t)
{
	elf_end(t->owner);
	unwind_entries_release(&t->others);
	free(t->ranges);
	for (unsigned i = 0; i < ROWS_TABLES; i++)
		free(t->unpacked[i]);
}
