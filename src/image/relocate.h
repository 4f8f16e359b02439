/* Object files that are not linked: where a linker would place their sections, and what their debug
 * information says then. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "image/image.h"

/* Places the sections that would be loaded one after the other, from 0 on, each aligned, as elfutils and
 * gdb do. Sets m->placed; free() *out when `m` is not used any longer. 0; -EBADMSG: the sections are
 * larger than all memory; -ENOMEM. */
int image_place(struct image *m, uint64_t **out, struct err *e);

/* Applies the relocations of section `index` to a copy of its bytes. Then *bytes is the copy, and *mapped
 * the number of bytes to munmap(). If *mapped is not 0 before the call, *bytes is a copy already. Does
 * nothing to a file that was not placed. 0; -ENOTSUP: the relocations of this machine are not supported;
 * -ENOMEM. */
int image_relocate(const struct image *m, uint32_t index, struct span *bytes, size_t *mapped,
	struct err *e);
