/* Fuzzes formats/obj/ with any bytes as an ELF file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/plt.h"
#include "fuzz/fuzz-obj.h"

#define PAGES_MOST 4096
#define PAGE 64u
#define ROUNDS_MOST 8

struct pages {
	bool here[PAGES_MOST];
};

static bool has_pages(const void *ctx, uint64_t off, uint64_t n)
{
	const struct pages *pages = ctx;

	for (uint64_t i = off / PAGE; i <= (off + n - 1) / PAGE; i++)
		if (!pages->here[i])
			return false;
	return true;
}

/* A section of a file of which nothing is here at first: a few rounds bring what leads to it, and no more. The result
 * is that of the whole file. */
static void fuzz_section(const uint8_t *p, size_t n, const char *name)
{
	struct view whole = view_of_mem(p, n), v = whole;
	struct pages pages = {0};
	struct obj_span want = {0}, got = {0};
	struct err e = {0};
	unsigned rounds = 0;
	int r = obj_section(&whole, name, &want, &e), is;

	fuzz_must(r <= 0 && r != -EAGAIN, "a whole file lacks bytes");
	fuzz_must(r < 0 || (want.n && want.n <= n && want.off <= n - want.n), "a section outside the file");
	if (n > PAGES_MOST * PAGE)
		return;
	v.has = has_pages;
	v.ctx = &pages;
	while ((is = obj_section(&v, name, &got, &e)) == -EAGAIN) {
		fuzz_must(v.want_len && v.want_off < n && ++rounds <= ROUNDS_MOST, "it waits for more and more");
		for (uint64_t i = v.want_off / PAGE; i * PAGE < MIN(n, v.want_off + MIN(v.want_len, n)); i++)
			pages.here[i] = true;
	}
	fuzz_must(is == r && got.off == want.off && got.n == want.n, "a part has another section");
}

FUZZ_TARGET("elf", p, n)
{
	static const enum filetype types[] = {FILETYPE_ELF_CODE, FILETYPE_ELF_DEBUG, FILETYPE_ELF_DWO};

	struct view v = view_of_mem(p, n);
	struct obj_walk w;
	static char name[PLT_NAME];
	uint64_t heads[100], base;

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	fuzz_must(obj_walk(&v, &w) < 0 || w.n_tables <= OBJ_TABLES_MOST, "too many tables");
	fuzz_must(obj_heads(&v, heads, ARRAY_SIZE(heads)) <= (int)ARRAY_SIZE(heads), "too many heads");
	fuzz_must(obj_link_base(&v, &base) <= 0, "a base without its address");
	fuzz_section(p, n, ".text");
	fuzz_section(p, n, ".strtab");
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
