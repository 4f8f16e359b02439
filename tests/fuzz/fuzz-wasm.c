/* Fuzzes formats/obj/ with any bytes as a WebAssembly module. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz-obj.h"

FUZZ_TARGET("wasm", p, n)
{
	static const enum filetype types[] = {FILETYPE_WASM_CODE, FILETYPE_WASM_DEBUG};

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	return 0;
}
