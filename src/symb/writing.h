/* Helpers of the files that write an answer: a buffer for JSON, and the answers to frames. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "symb/private.h"

#define PATH_MOST 16384

/* The position of the answer to a frame in `parts`, and its place in a list by module. */
struct part {
	uint32_t module; /* index into the request's modules; the number of modules if the frame has none */
	uint32_t number; /* index in its stack */
	uint32_t next;	 /* the next frame of the same module; NO_PART */
	uint32_t n;
	size_t at;
};
#define NO_PART UINT32_MAX

struct writing {
	struct request *q;
	const struct symb_flags *flags;
	struct buf *out, parts;
	struct buf name; /* a demangled function name */
	struct part *part; /* by number of the frame */
	int r; /* the first error; later calls do nothing */
	uint64_t frames, named;
	struct gsym_hit hit;
	char path[PATH_MOST];
};

/* Each adds to w->out, unless w->r says that an error came before. */
void reply_put(struct writing *w, const char *text);
void reply_string(struct writing *w, const char *text); /* in quotes */
void reply_putf(struct writing *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void reply_key(struct writing *w, const struct wanted *m); /* "FILE/ID" */

/* frames.c: writes the frames of all stacks into w->parts, and their positions into w->part. An error goes
 * into w->r. */
void frames_write(struct writing *w, struct symb *s, const struct symb_api *api, uint32_t *first);
/* reply-debug.c: writes what the header Debug asks for. `took`: seconds until the modules were ready. */
void reply_debug(struct writing *w, double took);
