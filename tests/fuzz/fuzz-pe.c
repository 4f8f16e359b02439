/* Fuzzes formats/obj/ with any bytes as a PE file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz-obj.h"

FUZZ_TARGET("pe", p, n)
{
	static const enum filetype types[] = {FILETYPE_PE};
	struct view v = view_of_mem(p, n);
	uint64_t base;

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	fuzz_must(obj_link_base(&v, &base) <= 0, "a base without its address");
	return 0;
}
