/* The first reader of paths, an oracle for layout_parse() and tree_parse(): see path-oracle.c. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/layout/tree.h"

/* As layout_parse() and tree_parse(). Texts of fixed files are "". */
void oracle_layout_parse(const struct layout *l, const char *path, struct layout_hit *out);
void oracle_tree_parse(const char *path, struct tree_hit *out);
