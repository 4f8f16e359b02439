/* Writes all bytes to a descriptor. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>

/* Repeats write() until all `n` bytes are written, also after a signal. 0, -errno. Any thread; blocks as write()
 * does. */
int write_all(int fd, const void *bytes, size_t n);
