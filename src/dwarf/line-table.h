/* Shared by the header of a line table and its program: both can define files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "dwarf/forms.h"

int line_table_add(struct dwarf_lines *l, const char *name, uint64_t dir); /* adds a file; 0, -ENOMEM */

/* The text at *p, which moves past the NUL. NULL: the text has no end. */
const char *take_line_text(const uint8_t **p, const uint8_t *end);

/* Reads the fields that follow a file's name: until version 4, and in DW_LNE_define_file. False: they are cut
 * short. */
bool take_line_file(const uint8_t **p, const uint8_t *end, uint64_t *dir);
