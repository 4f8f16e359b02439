/* GSYM in a copy of the file that it is made of. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "gsym/make.h"

/* The ELF file `file` with a section .gsym of what `w` was told. Its strings are those of .debug_str or
 * .strtab, whichever has more of them, and what is missing there comes behind; where neither can grow,
 * because something that is loaded lies behind it or it is compressed, there is .gsymstrtab. Nothing that
 * is loaded moves. -ENOTSUP: no ELF file, or it has such a section; -EBADMSG; and as gsym_write(). */
int gsym_embed(struct gsym_writer *w, const struct gsym_made *made, struct span file, struct buf *out,
	struct err *e);
