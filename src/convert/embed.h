/* GSYM in a copy of the file that it is made of. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "convert/make.h"

/* The file `file`, ELF, Mach-O or PE, with a section .gsym (in Mach-O __gsym) of what `w` was told.
 * Its strings are those of a section that the file has already, where that can grow, with what is
 * missing there behind them: of ELF .debug_str or .strtab, whichever has more of them; of the dSYM of
 * a Mach-O file __debug_str; of PE .debug_str. Else there is a second section with them: .gsymstrtab,
 * __gsym_strtab, .gsymstr. Nothing that is loaded moves, but for __LINKEDIT, whose place nothing
 * refers to but its own load command, and the relocations of a PE file. -ENOTSUP: the file is of no
 * such kind, or has such a section, or there is no room for one, which `e` says; -EBADMSG; and as
 * gsym_write(). */
int gsym_embed(struct gsym_writer *w, const struct gsym_made *made, struct span file, struct buf *out,
	struct err *e);
