/* What a linker, objcopy or a distribution compressed: all of it is in memory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/span.h"

/* How much comes of it was said before, and it must be exactly that. 0; -EBADMSG: broken, or another length; -ENOMEM. */
int expand_zlib(struct span in, uint8_t *out, size_t n);
int expand_zstd(struct span in, uint8_t *out, size_t n);

/* A .xz file. -EFBIG: more comes of it than `out` may hold; -EBADMSG; -ENOMEM. */
int expand_xz(struct span in, struct buf *out);
