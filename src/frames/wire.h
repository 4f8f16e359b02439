/* The protocol between the program `frames` and the process that starts it (convert/worker.h). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The program's descriptors, besides WORKER_WORD, in which a struct unwind_counts follows. */
enum { FRAMES_IN = 3, FRAMES_OUT = 4 };

#define FRAMES_TEXT_MOST (1u << 30) /* bytes of text */
