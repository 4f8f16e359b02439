/* Names as compilers write them into files, as people read them: of C++ (Itanium's, which all but
 * Microsoft's compilers have) and Rust. The only user of libiberty. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>

/* Puts it into `out` (emptied first), with parameters and without what is returned. False: the name
 * is none that is known, or grows beyond all reason; `out` is empty. Any thread. */
bool demangle(const char *name, struct buf *out);
