/* Finds the address ranges of a file that hold instructions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/image/ranges.h"
#include "base/bytes.h"
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"

enum { SHF_ALLOC = 2, SHF_EXECINSTR = 4, SCN_EXECUTE = 0x20000000 };

static int compare_ranges(const void *a, const void *b)
{
	const struct text_range *x = a, *y = b;

	return COMPARE(x->start, y->start) ?: COMPARE(x->end, y->end);
}

static int macho_text_range(const struct image *m, struct text_range **out, size_t *n)
{
	struct image_macho macho;

	*out = malloc(sizeof(**out));
	if (!*out)
		return -ENOMEM;
	if (image_macho(m, &macho) == 0 && macho.text_start < macho.text_end) {
		**out = (struct text_range){macho.text_start, macho.text_end};
		*n = 1;
	}
	return 0;
}

/* Sections of code beyond this number are ignored: a linker does not make so many in a program. */
#define PE_TEXT_MOST 96

static int pe_text_ranges(const struct image *m, struct text_range **out, size_t *n)
{
	struct image_section s;
	struct image_pe pe;

	image_pe(m, &pe);
	*out = calloc(PE_TEXT_MOST, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (uint32_t i = 0; *n < PE_TEXT_MOST && image_coff_section(m, i, &s) == 0; i++)
		if (s.flags & SCN_EXECUTE && s.size)
			(*out)[(*n)++] = (struct text_range){
				pe.base + s.addr, pe.base + s.addr + s.size};
	qsort(*out, *n, sizeof(**out), compare_ranges);
	return 0;
}

/* Offsets in the section of code, behind the number of functions. */
static int wasm_text_range(const struct image *m, struct text_range **out, size_t *n)
{
	struct image_section s;
	const uint8_t *p;

	*out = malloc(sizeof(**out));
	if (!*out)
		return -ENOMEM;
	if (image_wasm_section(m, WASM_CODE, &s) < 0)
		return 0;
	p = s.bytes.p;
	if (take_uleb(&p, p + s.bytes.n, &(uint64_t){0}) && p < s.bytes.p + s.bytes.n) {
		**out = (struct text_range){(uint64_t)(p - s.bytes.p), s.bytes.n};
		*n = 1;
	}
	return 0;
}

int text_ranges(const struct image *m, struct text_range **out, size_t *n)
{
	struct text_range *all = NULL;
	size_t room = 0;

	*n = 0;
	if (m->kind == IMAGE_MACHO)
		return macho_text_range(m, out, n);
	if (m->kind == IMAGE_COFF)
		return pe_text_ranges(m, out, n);
	if (m->kind == IMAGE_WASM)
		return wasm_text_range(m, out, n);
	for (uint32_t i = 0; i < m->n_sections; i++) {
		struct image_section s;

		/* A debug file lacks the bytes of these sections, but has their addresses in the program. */
		if (image_section(m, i, &s) < 0 || !s.size || s.addr + s.size < s.addr)
			continue;
		if ((s.flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR))
			continue;
		if (grow(&all, &room, *n, sizeof(*all)) < 0) {
			free(all);
			return -ENOMEM;
		}
		all[(*n)++] = (struct text_range){s.addr, s.addr + s.size};
	}
	sort_array(all, *n, sizeof(*all), compare_ranges);
	*out = all;
	return 0;
}

const struct text_range *text_range_of(const struct text_range *all, size_t n, uint64_t addr)
{
	size_t from = search_first(i, 0, n, all[i].end <= addr);

	return from < n && all[from].start <= addr ? &all[from] : NULL;
}
