/* Unwind tables that are not DWARF: those of PE files for x64 and arm64 (.pdata), and Mach-O's compact unwind
 * information. Each function has one entry. Most entries hold at calls only: they do not describe epilogs. The bytes
 * are hostile; one thread for each list. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/image/image.h"
#include "formats/unwind/text.h"

struct unwind_entry {
	uint64_t start, end; /* addresses */
	uint32_t info; /* .pdata: the relative address of the codes, or arm64's packed word; compact: the encoding */
};

struct unwind_entries {
	struct unwind_entry *all; /* in order of address */
	size_t n;
	const struct image *image; /* the caller's, until the release */
	uint64_t base;
	struct span text; /* Mach-O: the instructions of __text, and where they are */
	uint64_t text_at;
	void (*write)(const struct unwind_entries *l, const struct unwind_entry *e, struct unwind_text *to);
};

/* Reads the list of a file. 0; -ENODATA: it has none; -EBADMSG, -ENOMEM. */
int unwind_pdata(const struct image *m, struct unwind_entries *out);
/* For unwind_pdata(): the bytes of the function of an entry for arm64, and its rows. */
uint32_t unwind_size_arm64(const struct image *m, struct image_section *last, uint32_t info);
void unwind_write_arm64(const struct unwind_entries *l, const struct unwind_entry *e, struct unwind_text *to);
int unwind_compact(const struct image *m, struct unwind_entries *out);
void unwind_entries_release(struct unwind_entries *l);
