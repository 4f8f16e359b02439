/* Shared by the header of a line table and its program: both can define files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/grow.h"
#include "formats/dwarf/forms.h"

#include <string.h>

/* Adds a file. 0, -ENOMEM. */
static inline int line_table_add(struct dwarf_lines *l, const char *name, uint64_t dir)
{
	return APPEND(l->files, l->files_room, l->n_files, (struct dwarf_line_file){name, dir, UINT32_MAX});
}

/* The text at *p, which moves past the NUL. NULL: the text has no end. */
static inline const char *take_line_text(const uint8_t **p, const uint8_t *end)
{
	const uint8_t *nul = memchr(*p, 0, (size_t)(end - *p));
	const char *s = (const char *)*p;

	if (nul)
		*p = nul + 1;
	return nul ? s : NULL;
}

/* Reads the fields that follow a file's name: until version 4, and in DW_LNE_define_file. False: they are cut
 * short. */
static inline bool take_line_file(const uint8_t **p, const uint8_t *end, uint64_t *dir)
{
	uint64_t skipped;

	return take_uleb(p, end, dir) && take_uleb(p, end, &skipped) &&
	       take_uleb(p, end, &skipped);
}
