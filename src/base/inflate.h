/* Deflate data, taken apart in memory (zlib): what zip members and embedded debug files are. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>

/* `n` bytes of a raw deflate stream into `out`; *made: how many came of it. 0; -EFBIG when they
 * do not fit `room`; -EBADMSG when the stream is broken or ends too soon; -ENOMEM. */
int inflate_raw(const void *p, size_t n, void *out, size_t room, size_t *made);
