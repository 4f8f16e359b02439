/* System-call filters. The only user of libseccomp. A process sets one for itself, before it has
 * threads; what it starts inherits it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* From now on only the calls of these names work; any other fails with EPERM and does not end the
 * process, because a library may try a call and do without. With `threads` clone() works as well, but only
 * for threads. A name that this processor's kernel does not have is skipped. In a sanitized build the
 * filter is set and lets everything pass.
 * -ENOTSUP: this kernel or this processor has no filters; other -errno. */
int filter_set(const char *const *calls, size_t n, bool threads);

/* For a process that stays root without capabilities, beside Landlock, which does not close these: it makes
 * no Unix socket, gives other users no rights to a file (modes, owners, attributes), and reaches no other process's
 * memory, keys or limits. Before threads. 0; -ENOTSUP; -errno */
int filter_set_for_root(void);
