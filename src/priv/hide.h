/* Keeps other processes of the same user from reading the memory of a process that holds tokens and keys.
 * Core files lack that memory, too. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/sanitized.h"

#include <sys/prctl.h>

/* Call it before the process reads secrets. Programs that the process starts with exec are not hidden. */
static inline void hide_memory(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Call it when the secrets are gone. The call has an effect only in a sanitized build, where another
 * process searches for leaks. */
static inline void hide_memory_end(void)
{
	if (SANITIZED)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}
