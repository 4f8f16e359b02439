/* Embeds GSYM in a copy of the file that it was made from. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "derive/convert/make.h"

/* Writes to `out` a copy of `file` (ELF, Mach-O or PE) with a section .gsym (Mach-O: __gsym), which holds
 * the contents of `w`. GSYM shares the strings of an existing section if that section can grow; missing
 * strings are appended to it. That section is .debug_str or .strtab in ELF, whichever lacks fewer strings,
 * __debug_str in a dSYM, and .debug_str in PE. Otherwise a second section holds all strings: .gsymstrtab,
 * __gsym_strtab or .gsymstr. Nothing that is loaded moves, except __LINKEDIT, to which only its own load
 * command refers, and the relocations of a PE file. Returns as gsym_write(); -ENOTSUP: the file has another
 * format, already has such a section, or has no room for it (`e` says which); -EBADMSG: the file is broken. */
int gsym_embed(struct gsym_writer *w, const struct gsym_made *made, struct span file, struct buf *out,
	struct err *e);
