/* Reads the names of methods from the metadata of a .NET program (ECMA-335, II.22 to II.24). Portable PDBs number
 * methods, and only the program has their names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"

struct method_names;

/* Opens the metadata, which begins with "BSJB" and must outlive the result. 0; -ENODATA: the metadata has no
 * methods; -EBADMSG, -ENOMEM; `e` has the reason. Any thread. */
int method_names_open(struct method_names **out, struct span metadata, struct err *e);
void method_names_free(struct method_names *n); /* NULL is fine */

/* The number of methods. Their rows begin at 1. */
uint32_t method_names_count(const struct method_names *n);

/* Writes the name of the method in this row to `out` (emptied first): `Namespace.Type.Method`, with the types
 * around a nested type. `out` stays empty if the row has no name. Rows must be asked for in ascending order.
 * 0; -EFBIG: the names take far more room than the metadata; -ENOMEM. One thread at a time. */
int method_names_next(struct method_names *n, uint32_t row, struct buf *out);
