/* Fuzzes the readers of small text files in formats/obj/: UUID maps, BCSymbolMaps and perf maps of .NET. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz-obj.h"

FUZZ_TARGET("obj-text", p, n)
{
	static const enum filetype types[] = {FILETYPE_UUIDMAP, FILETYPE_BCSYMBOLMAP, FILETYPE_PERFMAP};

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	return 0;
}
