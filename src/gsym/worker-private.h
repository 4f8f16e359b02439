/* What a worker and who starts it agree on. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Its descriptors. */
enum { WORKER_IN = 3, WORKER_OUT = 4, WORKER_WORDS = 5 };

/* The last that it says. */
struct worker_word {
	int r;
	char text[252];
};
