/* Writes GSYM as an object file: sections .gsym and .gsymstrtab, in Mach-O __gsym and __gsym_strtab. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "derive/convert/make.h"

/* Writes to `out` an object file that has only the contents of `w`. It has the format, class, byte order and
 * machine of the input, which `made` describes. If the input was not an object file, the output is 64-bit
 * ELF without a machine. Returns as gsym_write(). */
int gsym_write_object(struct gsym_writer *w, const struct gsym_made *made, struct buf *out, struct err *e);
