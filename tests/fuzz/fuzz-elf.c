/* Any bytes as an ELF file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz-obj.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const enum filetype types[] = {FILETYPE_ELF_CODE, FILETYPE_ELF_DEBUG, FILETYPE_ELF_DWO};

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	return 0;
}
