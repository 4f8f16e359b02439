/* What the header of a line table and its program share: files may stand in both. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "dwarf/forms.h"

int line_table_add(struct dwarf_lines *l, const char *name, uint64_t dir); /* a file; -ENOMEM */

/* The text at *p, which moves behind its NUL. NULL: it does not end. */
const char *take_line_text(const uint8_t **p, const uint8_t *end);

/* What follows a file's name until version 4, and in DW_LNE_define_file. False: it is cut short. */
bool take_line_file(const uint8_t **p, const uint8_t *end, uint64_t *dir);
