/* Converts the functions that only the symbol tables of a file have: passes them to a GSYM writer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "derive/convert/from-dwarf.h"
#include "formats/image/image.h"
#include "formats/image/ranges.h"
#include "formats/gsym/writer.h"

/* Reads .symtab, .dynsym and the table in .gnu_debugdata; the symbol table of Mach-O; the symbol table and exports of
 * PE; the names and exports of WebAssembly. Takes functions, indirect functions, and symbols without a type that lie
 * in code. A symbol without a size reaches to the next symbol or the end of its section. Functions that the writer
 * has from debug information stay as they are. A function gets the lines of `strays` at its addresses; `strays` is
 * sorted here. Call it last. 0, -ENOMEM, -EFBIG. */
int gsym_from_symbols(
	struct gsym_writer *w, const struct image *m, struct strays *strays, struct err *e);
