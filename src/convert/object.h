/* The form of GSYM that lies in an object file: sections .gsym and .gsymstrtab, in Mach-O __gsym and
 * __gsym_strtab. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "convert/make.h"

/* What `w` was told as an object file that has nothing else, of the format, class, byte order and
 * machine of what `made` was made of; of what is no object file, ELF of 64 bits and no machine. As
 * gsym_write(). */
int gsym_write_object(struct gsym_writer *w, const struct gsym_made *made, struct buf *out, struct err *e);
