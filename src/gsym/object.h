/* The form of GSYM that lies in an object file: sections .gsym and .gsymstrtab. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "gsym/make.h"

#define GSYM_STRINGS_NAME ".gsymstrtab"

/* An ELF file that has nothing else, of the class, byte order, type and machine of what `made` was
 * made of; of a Breakpad file, 64 bits and no machine. 0, -ENOMEM, -EFBIG. */
int gsym_object(const struct gsym_made *made, const struct buf *main, const struct buf *strings,
	struct buf *out);
