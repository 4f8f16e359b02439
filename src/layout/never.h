/* Names that tools probe for and that no symbol server holds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* True for `desktop.ini`, `index2.txt`, `foo.pd_`, `x.dwp`, `libfoo.so-gdb.py` and their like, in any
 * case. */
bool layout_never(const char *name, size_t n);
