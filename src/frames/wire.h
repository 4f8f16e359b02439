/* The protocol between the program `frames` and the process that starts it (convert/frames.h). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "unwind/text.h"

#include <stdint.h>

/* The program's descriptors: the file, the text, and the struct frames_word at the end. */
enum { FRAMES_IN = 3, FRAMES_OUT = 4, FRAMES_WORD = 5 };

/* Its arguments: seconds of processor time, bytes of memory, and one of these words: whether the program may run
 * without a system-call filter if the system cannot set one. */
#define FRAMES_MAY "may"
#define FRAMES_MUST_NOT "must-not"

#define FRAMES_TEXT_MOST (1u << 30) /* bytes of text */

struct frames_word {
	int r;
	uint8_t bare; /* not 0: the program ran without a filter; not a bool, because the bytes may be any */
	struct unwind_counts counts;
	char text[252];
};
