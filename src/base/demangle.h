/* Demangles names of C++, in Itanium's form and Microsoft's, and names of Rust. Only this module uses libiberty. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>

/* Writes the demangled name to `out` (emptied first), with parameters, without return type, access and calling
 * convention. False: the form of the name is unknown, or the result is too long; `out` is empty. Any thread. */
bool demangle(const char *name, struct buf *out);
/* undname.c: the same for Microsoft's names only. `full`: with all of the type, as Microsoft's undname writes it. */
bool undname(const char *name, bool full, struct buf *out);
