/* Shortens demangled names of C++: drops default arguments of the templates of the standard library, and
 * writes `std::string` in place of its full template name. Mangled names stay unchanged. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

/* Appends the short name to `out`. 1: the name became shorter; 0: the name has nothing to drop, and `out` is
 * unchanged; -ENOMEM. */
int shorten_cpp(const char *p, size_t n, struct buf *out);
