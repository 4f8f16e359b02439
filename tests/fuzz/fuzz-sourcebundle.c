/* Fuzzes the reader of source bundles and of the zip archive in them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz-obj.h"

FUZZ_TARGET("sourcebundle", p, n)
{
	static const enum filetype types[] = {FILETYPE_SOURCEBUNDLE};

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	return 0;
}
