/* System-call filters. Only this module uses libseccomp. A process filters its own calls, before it starts
 * threads; the programs that it starts inherit the filter. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Allows only the named system calls. Any other call fails with EPERM and does not end the process,
 * because a library may try a call and then continue without it. With `threads`, clone() also works, but
 * only to start threads. Skips a name that this processor's kernel does not have. In a sanitized build, the
 * filter allows every call. 0; -ENOTSUP: this kernel or this processor has no filters; other -errno. */
int filter_set(const char *const *calls, size_t n, bool threads);

/* Sets a filter for a process that stays root without capabilities; it refuses calls that Landlock cannot
 * refuse. The process can then neither create a Unix socket nor give other users rights to a file (by its mode,
 * owner or extended attributes). The process cannot reach the memory, keys or limits of other processes. Call
 * it before the process starts threads. 0; -ENOTSUP and other -errno as filter_set(). */
int filter_set_for_root(void);
