/* Fuzzes formats/obj/ with any bytes as a UUID map, a BCSymbolMap or a perf map. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz-obj.h"

FUZZ_TARGET("maps", p, n)
{
	static const enum filetype types[] = {FILETYPE_UUIDMAP, FILETYPE_BCSYMBOLMAP, FILETYPE_PERFMAP};

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	return 0;
}
