/* Keeps other processes of the same user from reading the memory of a process that holds tokens and keys.
 * Core files lack that memory, too. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Call it before the process reads secrets. Programs that the process starts with exec are not hidden. */
void hide_memory(void);

/* Call it when the secrets are gone. The call has an effect only in a sanitized build, where another
 * process searches for leaks. */
void hide_memory_end(void);
