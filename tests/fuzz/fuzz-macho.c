/* Fuzzes formats/obj/ with any bytes as a Mach-O file, thin or fat. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz-obj.h"

FUZZ_TARGET("macho", p, n)
{
	static const enum filetype types[] = {FILETYPE_MACH_CODE, FILETYPE_MACH_DEBUG};

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	return 0;
}
