/* Fuzzes obj/ with any bytes as an ELF file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz-obj.h"
#include "obj/plt.h"

FUZZ_TARGET("elf", p, n)
{
	static const enum filetype types[] = {FILETYPE_ELF_CODE, FILETYPE_ELF_DEBUG, FILETYPE_ELF_DWO};

	struct view v = view_of_mem(p, n);
	struct obj_walk w;
	struct obj_span section;
	static char name[PLT_NAME];
	struct err e = {0};
	uint64_t heads[100], base;

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	fuzz_must(obj_walk(&v, &w) < 0 || w.n_tables <= OBJ_TABLES_MOST, "too many tables");
	fuzz_must(obj_heads(&v, heads, ARRAY_SIZE(heads)) <= (int)ARRAY_SIZE(heads), "too many heads");
	fuzz_must(obj_link_base(&v, &base) <= 0, "a base without its address");
	fuzz_must(obj_section(&v, ".text", &section, &e) < 0 ||
			(section.n && section.n <= n && section.off <= n - section.n), "a section outside the file");
	for (unsigned i = 0; i < 64; i++) { /* where linkers place the table, and addresses of the file's own bytes */
		uint64_t addr = 0x1000 + 16 * i, left = 1 << 20, start = 0;

		if (n >= 64 && i >= 56)
			memcpy(&addr, p + n / 8 * (i - 56), sizeof(addr));
		fuzz_must(plt_find(&v, addr, &left, &start, name) <= 0 ||
			(start <= addr && addr - start < 24 && strnlen(name, sizeof(name)) < sizeof(name)),
			"an entry elsewhere");
	}
	return 0;
}
