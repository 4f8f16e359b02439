/* Reads and prints one layout pattern. Known to layout.c alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "id/module.h"

/* Adds the path of `m`. 0; -ENOENT: the module lacks a field of the pattern (then `out` is
 * unspecified past its old end); -ENOMEM, -EFBIG. */
int pattern_print(const char *pattern, const struct module *m, struct buf *out);

/* LAYOUT_FILE: the path is one of the pattern, and *m holds its fields. LAYOUT_DIR: it can be
 * the beginning of one. Both: the pattern ends in {path}. `m` is changed in any case. */
unsigned pattern_parse(const char *pattern, const char *path, struct module *m);
