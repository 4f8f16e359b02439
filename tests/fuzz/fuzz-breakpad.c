/* Fuzzes formats/obj/ with any bytes as a Breakpad symbol file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz-obj.h"

FUZZ_TARGET("breakpad", p, n)
{
	static const enum filetype types[] = {FILETYPE_BREAKPAD};

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	return 0;
}
