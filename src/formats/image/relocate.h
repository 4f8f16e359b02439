/* Places the sections of unlinked object files and relocates their debug information, as a linker would. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/image/image.h"

/* Places the loadable sections one after the other, aligned, from address 0, as elfutils and gdb do. Sets *out
 * and m->placed to a new array of the sections' addresses; free() *out after the last use of `m`. 0; -EBADMSG:
 * the sections do not fit in the address space; -ENOMEM. */
int image_place(struct image *m, uint64_t **out, struct err *e);

/* Applies the relocations of section `index` to a copy of its bytes. Then *bytes is the copy, and *mapped
 * the number of bytes to munmap(). If *mapped is not 0 before the call, *bytes is a copy already. Does
 * nothing to a file that was not placed. 0; -ENOTSUP: the relocations of this machine are not supported;
 * -ENOMEM. */
int image_relocate(const struct image *m, uint32_t index, struct span *bytes, size_t *mapped,
	struct err *e);
