/* Finds the address ranges of a file that hold instructions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/image/image.h"

/* A range of addresses with instructions. Addresses are those that the file was linked for, not offsets from its
 * base; of WebAssembly, offsets in the section of code. text_ranges() returns all ranges of a file, sorted; the
 * caller frees them. */
struct text_range {
	uint64_t start, end;
};
int text_ranges(const struct image *m, struct text_range **out, size_t *n); /* 0, -ENOMEM */
/* The range that contains the address; NULL: no range does. */
const struct text_range *text_range_of(const struct text_range *all, size_t n, uint64_t addr);
