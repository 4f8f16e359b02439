/* Object files that were not linked: where their sections would lie, and what their debug information
 * says once they do. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "image/image.h"

/* The sections that would be loaded one after the other, from 0 on, each aligned: where elfutils and
 * gdb have them too. Sets m->placed; free() *out when `m` is not used any longer. 0; -EBADMSG: they
 * are larger than all memory; -ENOMEM. */
int image_place(struct image *m, uint64_t **out, struct err *e);

/* What is said of section `index` is done to its bytes: to a copy, *bytes from then on, of *mapped
 * bytes to munmap(), unless *mapped says that they are such a copy already. Does nothing to a file
 * that was not placed. 0; -ENOTSUP: this machine's relocations are not known here; -ENOMEM. */
int image_relocate(const struct image *m, uint32_t index, struct span *bytes, size_t *mapped,
	struct err *e);
