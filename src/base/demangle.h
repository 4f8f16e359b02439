/* Demangles names of C++ (in Itanium's form, which all compilers but Microsoft's use) and of Rust. Only
 * this module uses libiberty. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>

/* Writes the demangled name to `out` (emptied first), with parameters and without the return type. False:
 * the form of the name is unknown, or the result is too long; `out` is empty. Any thread. */
bool demangle(const char *name, struct buf *out);
