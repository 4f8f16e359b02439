/* What a linker or objcopy compressed: all of it is in memory, how much comes of it was said before,
 * and it must be exactly that. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"

/* 0; -EBADMSG: broken, or another length; -ENOMEM. */
int expand_zlib(struct span in, uint8_t *out, size_t n);
int expand_zstd(struct span in, uint8_t *out, size_t n);
