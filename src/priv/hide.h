/* Keeps the memory of a process that holds tokens and keys from other processes of its user, and out
 * of core files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Before the secrets are read. What the process starts with exec is not hidden. */
void hide_memory(void);

/* Once they are gone. Only in a sanitized build, whose search for leaks looks from another process. */
void hide_memory_end(void);
