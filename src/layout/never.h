/* Names that tools probe for but no symbol server has. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* True for `desktop.ini`, `index2.txt`, `foo.pd_`, `x.dwp`, `libfoo.so-gdb.py` and similar names, in any
 * letter case. */
bool layout_never(const char *name, size_t n);
