/* Decompresses, in memory, data that a linker, objcopy or a distribution compressed. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/span.h"

/* Decompresses `in` to `out`. The data must give exactly the n bytes that the file announced. 0; -EBADMSG:
 * the data is broken, or has another length; -ENOMEM. */
int expand_zlib(struct span in, uint8_t *out, size_t n);
int expand_zstd(struct span in, uint8_t *out, size_t n);

/* Appends the content of a .xz file to `out`. 0; -EFBIG: more than `out` may hold; -EBADMSG; -ENOMEM. */
int expand_xz(struct span in, struct buf *out);
