/* Hides the memory of this process from other processes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "priv/hide.h"
#include "base/sanitized.h"

#include <sys/prctl.h>

void hide_memory(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void hide_memory_end(void)
{
	if (SANITIZED)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}
