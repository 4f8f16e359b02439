/* Names of C++ as people say them: without what the standard library's templates take when nothing is
 * said, and `std::string` for what it stands for. Mangled names have none of that and stay. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

/* Adds the name. 1: it is shorter; 0: there was nothing to leave out, and nothing was added; -ENOMEM. */
int shorten_cpp(const char *p, size_t n, struct buf *out);
