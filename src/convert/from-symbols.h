/* Functions that a file tells only in its symbol tables, into a writer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "convert/from-dwarf.h"
#include "image/image.h"
#include "image/ranges.h"
#include "gsym/writer.h"

/* .symtab, .dynsym and the one packed in .gnu_debugdata; Mach-O's; of PE the table of symbols and the
 * exports: functions, indirect functions, and what has no type but lies among
 * instructions. A symbol without a size reaches to the next symbol or the end of its section. What
 * the writer knows already from debug information is left alone. Where `strays` has lines a function
 * gets them; they are sorted. Call it last. -ENOMEM, -EFBIG. */
int gsym_from_symbols(
	struct gsym_writer *w, const struct image *m, struct strays *strays, struct err *e);
