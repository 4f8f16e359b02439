/* Finds the unwind tables of an ELF file, by libelf. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "frames/private.h"

#include <gelf.h>
#include <libelf.h>

#define SEGMENTS_MOST 65536

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
		if (grow(&out->ranges, &room, out->n_ranges, sizeof(*out->ranges)) < 0)
			return -ENOMEM;
		out->ranges[out->n_ranges++] = (struct unwind_range){h.p_vaddr, h.p_vaddr + h.p_memsz};
	}
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct unwind_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The bytes of a section, unpacked. Debug information may be compressed, in one of two ways. */
static struct span elf_bytes(Elf_Scn *scn, const GElf_Shdr *h, const char *name)
{
	Elf_Data *d;

	if (h->sh_type == SHT_NOBITS || !h->sh_size)
		return (struct span){0};
	if ((h->sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
		return (struct span){0};
	if (name[1] == 'z' && elf_compress_gnu(scn, 0, 0) < 0)
		return (struct span){0};
	d = (h->sh_flags & SHF_COMPRESSED) || name[1] == 'z' ? elf_getdata(scn, NULL) : elf_rawdata(scn, NULL);
	return d && d->d_buf ? (struct span){d->d_buf, d->d_size} : (struct span){0};
}

/* .eh_frame has the type SHT_PROGBITS or SHT_X86_64_UNWIND, so only its name counts. */
static void elf_sections(Elf *elf, struct tables *out)
{
	size_t names = 0;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr h;
		const char *name = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
		int table = !name ? -1 : !strcmp(name, ".eh_frame") ? ROWS_EH
			: !strcmp(name, ".debug_frame") || !strcmp(name, ".zdebug_frame") ? ROWS_DEBUG : -1;

		if (table < 0 || out->rows.tables[table].bytes.n)
			continue;
		out->rows.tables[table].bytes = elf_bytes(scn, &h, name);
		out->rows.tables[table].addr = h.sh_addr;
	}
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
	out->arch = unwind_arch_elf(h.e_machine, h.e_ident[EI_CLASS] == ELFCLASS64);
	out->rows.big = h.e_ident[EI_DATA] == ELFDATA2MSB;
	out->rows.address_bytes = h.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	r = elf_segments(elf, out);
	if (r < 0)
		return err_set(e, r, "has broken segments");
	if (out->n_ranges)
		qsort(out->ranges, out->n_ranges, sizeof(*out->ranges), compare_ranges);
	elf_sections(elf, out);
	return 0;
}

void tables_elf_release(struct tables *t)
{
	elf_end(t->owner);
	free(t->ranges);
}
